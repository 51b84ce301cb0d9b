use stroma_verilate::effort::share;
use stroma_verilate::{Pause, SplitMix64};

use super::rig::{READERS, Rig, STREAMS, WRITERS};
use super::{gather, landing, settle, store};
use crate::fabric::records::Access;
use crate::slot::Ending;
use crate::stream::beats;
use crate::testing::{noise, push, read, stalls_of};
use crate::transport::fetch::model::{BROKEN, LISTLESS, PAGE, REFUSED};
use crate::verilog::differential::{assert_agree, differential};

type Wide = Rig<512, 9>;
type Narrow = Rig<64, 12>;

/// Bytes of an access: few, around a beat, around a page, the most.
fn any_length(rng: &mut SplitMix64) -> u64 {
    match rng.below(8) {
        0 => 1 + rng.below(4),
        1..4 => 62 + rng.below(5),
        4 => 4096 - rng.below(2),
        5 => 1 + rng.below(4096),
        _ => 1 + rng.below(300),
    }
}

/// An access of client `way`: no two clients have a page in common, and no page is written twice, for the order of two clients' writes is not told.
fn any_access(rng: &mut SplitMix64, way: usize, number: u64) -> Access {
    let keys = [0, 0, 0, REFUSED, LISTLESS, BROKEN];
    let key =
        keys[usize::try_from(rng.below(6)).expect("small")] | 0x0100 | u32::try_from(way).expect("small");
    let near_end = if rng.below(3) == 0 { PAGE - 1 - rng.below(200) } else { rng.below(PAGE) };
    Access {
        va: (number * 4 * PAGE + near_end).into(),
        key: u64::from(key).into(),
        len: any_length(rng).into(),
        refused: rng.below(12) == 0,
        ..noise(rng)
    }
}

fn good(va: u64, len: u64) -> Access {
    let mut rng = SplitMix64::new(9);
    Access { va: va.into(), key: 0x100_u64.into(), len: len.into(), refused: false, ..noise(&mut rng) }
}

fn any_bytes(rng: &mut SplitMix64, len: u64) -> Vec<u8> {
    (0..len).map(|_| rng.next_u64().to_le_bytes()[0]).collect()
}

/// Accesses of all clients at random; some packets have another length than their write.
fn live<const D: usize, const LOG: usize>(rig: &mut Rig<D, LOG>, count: u64) {
    for number in 0..count {
        let number = number + rig.bench.cycle();
        let mut rng = SplitMix64::new(rig.rng.next_u64());
        if rng.below(2) == 0 {
            let way = usize::try_from(rng.below(READERS as u64)).expect("small");
            let access = any_access(&mut rng, way, number);
            rig.reads(way, &access);
        } else {
            let way = usize::try_from(rng.below(WRITERS as u64)).expect("small");
            let access = any_access(&mut rng, way, number);
            let wrong = if rng.below(10) == 0 { rng.below(6000) } else { 0 };
            let packet = any_bytes(&mut rng, u64::from(access.len) + wrong);
            rig.writes(way, &access, &packet);
        }
        let cycles = rng.below(40);
        rig.run(cycles);
    }
    rig.settle();
}

fn counts(endings: &[Ending]) -> [usize; 3] {
    [Ending::Good, Ending::Refused, Ending::Failed]
        .map(|ending| endings.iter().filter(|&&told| told == ending).count())
}

#[test]
fn agrees_with_the_model_under_stalls() {
    let mut wide = Wide::new();
    let mut narrow = Narrow::new();
    for (seed, pauses) in (0..).zip(stalls_of::<STREAMS>()) {
        wide.rng = SplitMix64::new(seed);
        wide.latency = [10, 300, 2000][usize::try_from(seed % 3).expect("small")];
        wide.pause(pauses.clone());
        live(&mut wide, share(80) as u64);
        if seed % 3 == 0 {
            narrow.rng = SplitMix64::new(seed);
            narrow.pause(pauses);
            live(&mut narrow, share(40) as u64);
        }
    }
    for told in [counts(&wide.endings), counts(&narrow.endings)] {
        assert!(told.iter().all(|count| *count > share(10)), "{told:?}");
    }
}

#[test]
fn a_read_takes_as_many_cycles_as_the_contract_says() {
    let mut rig = Wide::new();
    rig.reads(0, &good(0x1_0000, 64));
    let start = rig.bench.cycle();
    rig.settle();
    let at = &rig.at;
    // Taken in the first cycle; each of the moments is the cycle behind it.
    assert_eq!(at.question[0] - start, 2, "to the MMU");
    assert_eq!(at.command[0] - at.answer[0], 2, "from the answer to the host");
    assert_eq!(at.given[0] - at.came[0], 1, "from the host to the kernel");
}

#[test]
fn reads_and_writes_run_at_a_beat_a_cycle() {
    let mut rig = Wide::new();
    for number in 0..24 {
        let way = usize::try_from(number % 2).expect("small");
        rig.reads(way, &good(0x10_0000 + number * 4096, 4096));
        let mut rng = SplitMix64::new(number);
        let packet = any_bytes(&mut rng, 4096);
        rig.writes(way, &good(0x80_0000 + number * 4096, 4096), &packet);
    }
    rig.settle();
    let spread = |moments: &[u64]| moments[moments.len() - 1] - moments[0] + 1;
    assert!(spread(&rig.at.came) <= 24 * 64 + 8, "reads take {}", spread(&rig.at.came));
    assert!(spread(&rig.at.bytes) <= 24 * 64 + 8, "writes take {}", spread(&rig.at.bytes));
}

#[test]
fn small_writes_take_a_cycle_each() {
    let mut rig = Wide::new();
    for number in 0..30 {
        rig.writes(usize::try_from(number % 3).expect("small"), &good(0x80_0000 + number * 64, 64), &[7; 64]);
    }
    rig.settle();
    let spread = rig.at.write[29] - rig.at.write[0];
    assert!(spread <= 29 + 4, "30 writes take {spread} cycles");
}

#[test]
fn who_takes_and_gives_nothing_stops_nobody_else() {
    let mut rig = Wide::new();
    rig.bench[rig.read_data[0]].pause(Pause::Always);
    rig.bench[rig.write_done[0]].pause(Pause::Always);
    rig.bench[rig.write_data[2]].pause(Pause::Always);
    for number in 0..30 {
        rig.reads(0, &good(0x10_0000 + number * 4096, 4096));
        rig.writes(0, &good(0x20_0000 + number * 64, 64), &[1; 64]);
        rig.writes(2, &good(0x30_0000 + number * 64, 64), &[2; 64]);
    }
    rig.run(3000);
    let before = rig.endings.len();
    for number in 0..30 {
        rig.reads(1, &good(0x40_0000 + number * 4096, 4096));
        rig.writes(1, &good(0x50_0000 + number * 64, 64), &[3; 64]);
    }
    rig.run(4000);
    assert_eq!(rig.endings.len() - before, 60, "the other kernel went on");
    for sink in [rig.read_data[0], rig.write_done[0]] {
        rig.bench[sink].pause(Pause::None);
    }
    rig.bench[rig.write_data[2]].pause(Pause::None);
    rig.settle();
}

#[test]
fn a_packet_of_another_length_is_refused_and_nothing_of_it_written() {
    let mut rig = Wide::new();
    for (told, given) in [(64, 63), (64, 65), (1, 64), (4096, 4095), (4096, 4097), (4096, 9000), (1, 20_000)]
    {
        rig.writes(0, &good(0x10_0ff0, told), &vec![9; given]);
    }
    rig.writes(0, &good(0x20_0000, 70), &[4; 70]);
    rig.settle();
    assert_eq!(counts(&rig.endings), [1, 7, 0]);
    assert_eq!(rig.memory.len(), 70);
}

#[test]
fn a_held_client_is_forgotten_when_nothing_of_it_is_under_way() {
    let mut rig = Wide::new();
    rig.latency = 200;
    rig.bench[rig.read_data[0]].pause(Pause::Random { seed: 3, percent: 95 });
    for number in 0..8 {
        rig.reads(0, &good(0x10_0000 + number * 4096, 4096));
        rig.reads(1, &good(0x50_0000 + number * 4096, 4096));
    }
    rig.run(60);
    rig.hold = 2;
    rig.forget(0);
    rig.step();
    assert_eq!(rig.get("idle") & 2, 0, "reads are under way");
    let start = rig.bench.cycle();
    while rig.get("idle") & 2 == 0 {
        rig.step();
        assert!(rig.bench.cycle() - start < 2000, "it never becomes idle");
    }
    rig.run(20);
    rig.hold = 0;
    rig.step();
    rig.bench[rig.read_data[0]].pause(Pause::None);
    rig.reads(0, &good(0x90_0000, 100));
    rig.writes(1, &good(0xa0_0000, 100), &[6; 100]);
    rig.settle();
}

#[test]
fn half_a_write_of_a_held_client_is_forgotten() {
    let mut rig = Wide::new();
    push(&mut rig.bench, rig.write_access[0], &[good(0x10_0000, 4096)]);
    push(&mut rig.bench, rig.write_data[0], &beats::<512>(&[1; 4096])[..40]);
    rig.run(60);
    rig.hold = 1;
    rig.run(5);
    assert_eq!(rig.get("idle") & 1, 1, "nothing was begun");
    rig.hold = 0;
    rig.step();
    rig.writes(0, &good(0x20_0000, 65), &[2; 65]);
    rig.settle();
    assert_eq!(rig.memory.len(), 65);
}

#[test]
fn a_drain_waits_for_what_had_begun_and_for_nothing_else() {
    let mut rig = Wide::new();
    rig.latency = 300;
    rig.reads(0, &good(0x10_0000, 4096));
    rig.writes(1, &good(0x20_0000, 4096), &[5; 4096]);
    rig.run(100);
    rig.set("drain", 1);
    rig.step();
    let start = rig.bench.cycle();
    let mut drained = None;
    for number in 0..600 {
        // New ones all the while.
        if number % 8 == 0 {
            rig.reads(1, &good(0x40_0000 + number * 4096, 64));
        }
        rig.step();
        if read::<bool>(&rig.bench, "drained") {
            assert_eq!(drained.replace(rig.bench.cycle() - start), None, "told twice");
        }
    }
    let drained = drained.expect("it is told");
    assert!((200..330).contains(&drained), "after {drained} cycles");
    rig.settle();
}

#[test]
fn recovers_from_reset() {
    let mut rig = Wide::new();
    rig.reads(0, &good(0x10_0000, 4096));
    rig.run(4);
    rig.reset();
    rig.run(3);
    assert!(!read::<bool>(&rig.bench, "busy"));
    live(&mut rig, 30);
}

#[test]
fn rust_and_verilog_agree() {
    let cases = vec![
        differential!("dma_landing", landing::Landing::<64, 2>::default, clock, [comes, beat, source.ready]),
        differential!(
            "dma_gather",
            gather::Gather::<64, 2>::default,
            clock,
            [part.payload, part.valid, reader.payload, reader.valid, read_data.payload, read_data.valid]
        ),
        differential!(
            "dma_store",
            store::Store::<512, 7>::default,
            clock,
            [access.payload, access.valid, data.payload, data.valid, offer.ready, bytes.ready]
        ),
        differential!("dma_settle", settle::Settle::<2>::default, clock, [comes, written, visible, clear]),
    ];
    assert_agree(cases, 300);
}
