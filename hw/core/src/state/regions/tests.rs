mod windows;

use stroma_abi::desc::region::PAGE_LOGS;
use stroma_abi::desc::{CommandStatus, Region, Verb};
use stroma_verilate::SplitMix64;

use super::model::{Ask, fault};
use super::rig::{MRS, Rig, Stage};
use super::works::Work;
use crate::state::command::{KeyCause, KeyVerb};
use crate::testing::stalls;

const DONE: (u32, u32) = (CommandStatus::Done as u32, 0);

/// Status and field of a refusal.
fn bad(byte: u32) -> (u32, u32) {
    (CommandStatus::BadField as u32, byte)
}

fn small(rng: &mut SplitMix64, bound: u64) -> u8 {
    u8::try_from(rng.below(bound)).expect("small")
}

/// A protection domain, one more often than the other.
fn domain(rng: &mut SplitMix64) -> u16 {
    7 + u16::from(rng.below(12) == 0)
}

/// A window; one field more than there may be, now and then.
fn window(rng: &mut SplitMix64) -> Region {
    let bare = Region { pd: domain(rng), window: true, ..Region::default() };
    let (long, byte) = (1 << rng.below(48), 1 << rng.below(8));
    match rng.below(24) {
        0 => Region { base: long, key: byte, ..bare },
        1 => Region { length: long, rights: 1 << rng.below(5), ..bare },
        2 => Region { key: byte, ..bare },
        3 => Region { page: 1 + small(rng, 3), list: long << 16, ..bare },
        4 => Region { direct: true, ..bare },
        5 => Region { list: long << 16, bindable: true, ..bare },
        6 => Region { rights: 1 << rng.below(5), ..bare },
        7 => Region { bindable: true, ..bare },
        _ => bare,
    }
}

/// A region that is mostly possible, and often ends near the last address; or a window.
fn region(rng: &mut SplitMix64) -> Region {
    if rng.below(2) == 0 {
        return window(rng);
    }
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
    let (key, rights) = (small(rng, 256), small(rng, 32));
    // Memory that peers may change, its owner may change, but now and then.
    let rights = if rng.below(8) == 0 { rights } else { rights | u8::from(rights & 0b1010 != 0) };
    let (pd, bindable) = (domain(rng), rng.below(8) != 0);
    let region = Region { base, length, key, page, direct, list, pd, rights, bindable, window: false };
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
    for (byte, mask) in [(15, 0xf8), (26, 0x80), (27, 0xff), (28, 0xff), (31, 0xff), (32, 0xff), (111, 0xff)]
    {
        command.body[byte] |= small(rng, 256) & mask;
    }
    match rng.below(24) {
        0 => command.attributes = 1 << rng.below(64),
        1 => command.object ^= 1 << (MRS as u64 + rng.below(32 - MRS as u64)),
        _ => {}
    }
    command
}

/// One of the regions or windows that suit, if there is one.
fn pick(rig: &mut Rig, suits: impl Fn(u32, &Region) -> bool) -> Option<(u32, Region)> {
    let found: Vec<_> = rig.owner.regions.iter().filter(|(number, region)| suits(**number, region)).collect();
    let at = usize::try_from(rig.rng.below(found.len().max(1) as u64)).expect("few");
    found.get(at).map(|(number, region)| (**number, **region))
}

/// Any work, more often than not one that is legal.
fn any_work(rig: &mut Rig) -> Work {
    let bonds = rig.owner.bonds.clone();
    let is_bind = rig.rng.below(2) == 0;
    let (number, window) =
        pick(rig, |number, region| region.window && bonds.contains_key(&number) != is_bind)
            .unwrap_or((1, Region::default()));
    let (parent, region) =
        pick(rig, |_, region| region.bindable && region.length > 0).unwrap_or((2, Region::default()));
    let rng = &mut rig.rng;
    let work = if is_bind {
        let offset = rng.below(region.length.max(1));
        let length = match rng.below(3) {
            0 => region.length - offset,
            _ => 1 + rng.below((region.length - offset).max(1)),
        };
        let local = if region.rights & 1 == 0 && rng.below(4) != 0 { 0b10100 } else { 0b11110 };
        Work {
            verb: KeyVerb::Bind,
            qpn: rng.next_u32() >> (8 + rng.below(24)),
            pd: window.pd,
            key: number << 8 | u32::from(small(rng, 256)),
            region: parent << 8 | u32::from(region.key),
            base: region.base.wrapping_add(offset),
            length,
            rights: small(rng, 32) & local,
        }
    } else {
        let verb = if rng.below(2) == 0 { KeyVerb::Invalidate } else { KeyVerb::Part };
        let qpn = bonds.get(&number).map_or(0, |bond| bond.qpn);
        Work::ending(verb, qpn, window.pd, number << 8 | u32::from(window.key))
    };
    // One thing, or two, may be wrong.
    let spoil = |rng: &mut SplitMix64, work: Work| match rng.below(24) {
        0 => Work { key: work.key ^ 1 << rng.below(32), ..work },
        1 => Work { pd: work.pd ^ 1 << rng.below(16), ..work },
        2 => Work { qpn: work.qpn ^ 1 << rng.below(24), ..work },
        3 if is_bind => Work { region: work.region ^ 1 << rng.below(32), ..work },
        4 if is_bind => Work { rights: work.rights | 1, ..work },
        5 if is_bind => Work { length: 0, ..work },
        6 if is_bind => Work { length: work.length + rng.below(3), ..work },
        7 if is_bind => Work { base: region.base.wrapping_sub(1), ..work },
        8 if is_bind => Work { base: work.base ^ 1 << rng.below(64), ..work },
        _ => work,
    };
    let work = spoil(rng, work);
    spoil(rng, work)
}

fn run(rig: &mut Rig, count: usize) {
    for _ in 0..count {
        let (commands, works) = (rig.rng.below(2), rig.rng.below(3));
        for _ in 0..commands {
            let command = any(rig);
            rig.command(command);
        }
        for _ in 0..works {
            let work = any_work(rig);
            rig.work(work);
        }
        // So that they meet at any distance.
        for _ in 0..rig.rng.below(8) {
            rig.step();
        }
        if rig.rng.below(3) != 0 {
            rig.settle();
        }
    }
    rig.settle();
}

#[test]
fn agrees_with_the_model() {
    use CommandStatus::{BadAttribute, BadField, Done, Exists, InUse, NoObject, OutOfRange, UnknownVerb};
    use KeyCause::{Bound, Bounds, QueuePair, Region, Rights, Window};
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
        (Verb::Create, &[(BadField, 8), (BadField, 14), (BadField, 16), (BadField, 26)]),
        (Verb::Modify, &[(UnknownVerb, 0)]),
        (Verb::Query, &[(Done, 0), (NoObject, 0)]),
        (Verb::Destroy, &[(Done, 0), (NoObject, 0), (InUse, 0)]),
    ];
    for (verb, answers) in expected {
        for (status, field) in answers {
            let count = rig.seen.get(&(verb as u8, *status as u32, *field)).copied().unwrap_or_default();
            assert!(count > 20, "{verb:?} was answered {count} times with {status:?} at {field}");
        }
    }
    let expected = [
        (
            KeyVerb::Bind,
            [None, Some(Window), Some(Bound), Some(Region), Some(Rights), Some(Bounds)].as_slice(),
        ),
        (KeyVerb::Invalidate, &[None, Some(Window), Some(Bound)]),
        (KeyVerb::Part, &[None, Some(Window), Some(Bound), Some(QueuePair)]),
    ];
    for (verb, causes) in expected {
        for cause in causes {
            let code = cause.map_or(0, |cause| cause as u8);
            let count = rig.answers.get(&(verb as u8, code)).copied().unwrap_or_default();
            assert!(count > 20, "{verb:?} was answered {count} times with {cause:?}");
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
fn memory_that_peers_may_change_its_owner_may_change() {
    let mut rig = Rig::default();
    for rights in 0..32 {
        let expected = if rights & 1 == 0 && rights & 0b1010 != 0 { bad(26) } else { DONE };
        let region = Region { length: 8, rights, ..Region::default() };
        assert_eq!(rig.carry_out(Ask::create(2, &region)), expected, "{rights:#x}");
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
