use stroma_abi::desc::region::PAGE_LOGS;
use stroma_abi::desc::{CommandStatus, Region, Verb};
use stroma_verilate::SplitMix64;

use super::model::{Ask, fault};
use super::rig::{MRS, Rig, Stage};
use crate::testing::stalls;

const DONE: (u32, u32) = (CommandStatus::Done as u32, 0);

/// Status and field of a refusal.
fn bad(byte: u32) -> (u32, u32) {
    (CommandStatus::BadField as u32, byte)
}

fn small(rng: &mut SplitMix64, bound: u64) -> u8 {
    u8::try_from(rng.below(bound)).expect("small")
}

/// A region that is mostly possible, and often ends near the last address.
fn region(rng: &mut SplitMix64) -> Region {
    let page = small(rng, 3);
    let log = PAGE_LOGS[usize::from(page)];
    let direct = rng.below(2) == 0;
    let length = match rng.below(8) {
        0 => 0,
        1 => rng.below(64),
        _ => rng.next_u64() >> (16 + rng.below(40)),
    };
    // As far from the last address as it takes, and a little more or less.
    let near = |rng: &mut SplitMix64, bytes: u64, log: usize| {
        (bytes >> log << log).wrapping_neg().wrapping_add(rng.below(5) << log).wrapping_sub(2 << log)
    };
    let base = match rng.below(4) {
        0 => near(rng, length, 0),
        _ => rng.next_u64() >> 1,
    };
    let list_log = if direct { log } else { 6 };
    let list = match rng.below(3) {
        0 if direct => near(rng, length, list_log),
        0 => near(rng, (length >> log << 3) + 64, list_log),
        _ => rng.next_u64() >> 1 >> list_log << list_log,
    };
    let region =
        Region { base, length, key: small(rng, 256), page, direct, list, pd: 7, rights: small(rng, 32) };
    match rng.below(12) {
        0 => Region { page: 3, ..region },
        1 => Region { list: list | 1 << rng.below(list_log as u64), ..region },
        _ => region,
    }
}

/// Any command, more often than not one that is legal.
fn any(rig: &mut Rig) -> Ask {
    let rng = &mut rig.rng;
    let object = u32::try_from(rng.below((1 << MRS) + 1)).expect("small");
    let choice = rng.below(20);
    let mut command = match choice {
        0..12 if !rig.owner.regions.contains_key(&object) => Ask::create(object, &region(rng)),
        0..4 => Ask::new(Verb::Query, object),
        4..16 => Ask::new(Verb::Destroy, object),
        16 => Ask::create(object, &region(rng)),
        _ => Ask { verb: small(rng, 9), ..Ask::new(Verb::Query, object) },
    };
    // Bits without a name, and all of the body behind the region.
    for byte in [15, 26, 27, 28, 31, 32, 111] {
        command.body[byte] |= small(rng, 256) & if byte < 27 { 0xe0 } else { 0xff };
    }
    match rng.below(24) {
        0 => command.attributes = 1 << rng.below(64),
        1 => command.object ^= 1 << (MRS as u64 + rng.below(32 - MRS as u64)),
        _ => {}
    }
    command
}

fn run(rig: &mut Rig, count: usize) {
    for _ in 0..count {
        let command = any(rig);
        rig.command(command);
        if rig.rng.below(3) != 0 {
            rig.settle();
        }
    }
    rig.settle();
}

#[test]
fn agrees_with_the_model() {
    use CommandStatus::{BadAttribute, BadField, Done, Exists, NoObject, OutOfRange, UnknownVerb};
    let mut rig = Rig::default();
    for seed in 0..4 {
        rig.reset(seed);
        run(&mut rig, 3000);
    }
    let expected = [
        (
            Verb::Create,
            [(Done, 0), (OutOfRange, 0), (Exists, 0), (BadAttribute, 0), (BadField, 0), (BadField, 15)]
                .as_slice(),
        ),
        (Verb::Create, &[(BadField, 16)]),
        (Verb::Modify, &[(UnknownVerb, 0)]),
        (Verb::Query, &[(Done, 0), (NoObject, 0)]),
        (Verb::Destroy, &[(Done, 0), (NoObject, 0)]),
    ];
    for (verb, answers) in expected {
        for (status, field) in answers {
            let count = rig.seen.get(&(verb as u8, *status as u32, *field)).copied().unwrap_or_default();
            assert!(count > 20, "{verb:?} was answered {count} times with {status:?} at {field}");
        }
    }
}

#[test]
fn survives_stalls() {
    let mut rig = Rig::default();
    for (seed, (idle, pressure)) in (100..).zip(stalls()) {
        rig.reset(seed);
        rig.pause(&idle, &pressure);
        run(&mut rig, 150);
    }
}

#[test]
fn everything_may_end_at_the_last_address_and_not_a_byte_behind() {
    let mut rig = Rig::default();
    let good = Region { base: 0x1000, length: 0x1000, list: 0x4000, ..Region::default() };
    let page = |code: usize| 1_u64 << PAGE_LOGS[code];
    let cases = [
        (Region { base: 0x1000_u64.wrapping_neg(), ..good }, DONE),
        (Region { base: 0x0fff_u64.wrapping_neg(), ..good }, bad(0)),
        (Region { base: u64::MAX, length: 1, ..good }, DONE),
        (Region { base: u64::MAX, length: 2, ..good }, bad(0)),
        (Region { base: u64::MAX, length: 0, ..good }, DONE),
        (Region { length: (1 << 48) - 1, ..good }, DONE),
        (Region { page: 3, ..good }, bad(15)),
        // Eight pages have a line of entries, nine have two; an unaligned base makes one page more.
        (Region { length: 8 * page(0), list: 64_u64.wrapping_neg(), ..good }, DONE),
        (Region { length: 8 * page(0) + 1, list: 64_u64.wrapping_neg(), ..good }, bad(16)),
        (Region { base: 1, length: 8 * page(0), list: 64_u64.wrapping_neg(), ..good }, bad(16)),
        (Region { base: 1, length: 8 * page(2) - 1, page: 2, list: 64_u64.wrapping_neg(), ..good }, DONE),
        (Region { length: 0, list: 64_u64.wrapping_neg(), ..good }, DONE),
        (Region { list: 32, ..good }, bad(16)),
        (Region { direct: true, list: page(0) - 64, ..good }, bad(16)),
        (Region { direct: true, page: 1, list: page(1), ..good }, DONE),
        (Region { direct: true, page: 1, list: page(0), ..good }, bad(16)),
        (Region { direct: true, page: 2, list: page(1), ..good }, bad(16)),
        (Region { direct: true, list: page(0).wrapping_neg(), ..good }, DONE),
        (Region { direct: true, base: 0x1001, list: page(0).wrapping_neg(), ..good }, bad(16)),
        (Region { direct: true, base: 0x1001, length: 0xfff, list: page(0).wrapping_neg(), ..good }, DONE),
        (Region { direct: true, base: 0x1fff, length: 0, list: page(0).wrapping_neg(), ..good }, DONE),
    ];
    for (region, expected) in cases {
        let byte = (expected != DONE).then_some(expected.1 as usize);
        assert_eq!(fault(&region), byte, "the model and thought: {region:x?}");
        assert_eq!(rig.carry_out(Ask::create(2, &region)), expected, "{region:x?}");
        if expected == DONE {
            assert_eq!(rig.carry_out(Ask::new(Verb::Destroy, 2)), DONE);
        }
    }
}

#[test]
fn the_latencies_are_those_promised() {
    let mut rig = Rig::default();
    rig.patience = 1;
    let good = Region { length: 1, ..Region::default() };
    let cycles = |rig: &Rig| rig.offered_at - rig.taken_at;
    assert_eq!(rig.carry_out(Ask::create(0, &good)), DONE);
    assert_eq!(cycles(&rig), 6);
    assert_eq!(rig.carry_out(Ask::new(Verb::Query, 0)), DONE);
    assert_eq!(cycles(&rig), 5);
    assert_eq!(rig.carry_out(Ask::new(Verb::Destroy, 0)), DONE);
    assert_eq!(cycles(&rig), 11);
    assert_eq!(rig.carry_out(Ask::new(Verb::Destroy, 0)), (CommandStatus::NoObject as u32, 0));
    assert_eq!(cycles(&rig), 5);
}

#[test]
fn recovers_from_reset_and_finds_no_region() {
    let mut rig = Rig::default();
    let good = Region { length: 1, ..Region::default() };
    for object in 0..1 << MRS {
        assert_eq!(rig.carry_out(Ask::create(object, &good)), DONE);
    }
    // Under way: an MMU that does not answer.
    rig.patience = 1_000_000;
    rig.command(Ask::new(Verb::Destroy, 3));
    for _ in 0..12 {
        rig.step();
    }
    assert_eq!(rig.stage, Stage::Invalidated);
    rig.patience = 4;
    rig.reset(1);
    let start = rig.bench.cycle();
    while !rig.port::<bool>("ready") {
        assert!(rig.port::<bool>("busy") && !rig.port::<bool>("command$ready"));
        rig.step();
    }
    assert_eq!(rig.bench.cycle() - start, 1 << MRS, "a place a cycle");
    for object in 0..1 << MRS {
        assert_eq!(rig.carry_out(Ask::new(Verb::Query, object)), (CommandStatus::NoObject as u32, 0));
        assert_eq!(rig.carry_out(Ask::create(object, &good)), DONE);
    }
}
