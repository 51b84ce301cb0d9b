mod tickets;

use stroma_verilate::{Pause, SplitMix64};

use super::DmaWrite;
use super::rig::{Rig, Write, bytes};
use crate::testing::stalls_of;
use crate::verilog::differential::{assert_agree, differential};

/// Small enough to be reached often.
const FEW: usize = 4;
const USUAL: usize = 32;

const NEVER: Pause = Pause::None;

fn always() -> Pause {
    Pause::Script(vec![true])
}

/// Writes of any length at any place in a few pages, so that later ones cover earlier ones.
fn writes(seed: u64, count: u64, shortest: u64) -> Vec<Write> {
    let mut rng = SplitMix64::new(seed);
    let mut next = |index| {
        let longest = [shortest.max(16), 200, 4096][usize::try_from(rng.below(3)).expect("small")];
        let len = shortest + rng.below(longest + 1 - shortest);
        let iova = 0x1234_ffff_e000 + rng.below(4 * 4096);
        (iova, bytes(seed << 32 | index, usize::try_from(len).expect("small")))
    };
    (0..count).map(&mut next).collect()
}

fn every_alignment_and_length<const D: usize, const K: usize>() {
    let mut rig = Rig::<D, K>::new(USUAL);
    for lane in 0..K {
        let lens =
            [0, 1, 2, K - lane, K - lane + 1, K - 1, K, K + 1, 2 * K - lane, 2 * K + 1, 2048, 4095, 4096];
        // Somewhere in a page, from its last beat on, and up to its end.
        let places = lens.map(|len| [0x1_0100 + lane, 0x3_1000 + lane - K, 0x2_1000 - len]);
        for (len, place) in
            lens.iter().zip(places).flat_map(|(len, places)| places.map(|place| (*len, place)))
        {
            rig.send(&[(place as u64, bytes((place + len) as u64, len))]);
        }
        rig.finish();
        rig.reset();
    }
}

#[test]
fn agrees_with_the_model() {
    every_alignment_and_length::<64, 8>();
    every_alignment_and_length::<512, 64>();
}

fn survive<const D: usize, const K: usize>(outstanding: usize) {
    let mut rig = Rig::<D, K>::new(outstanding);
    for (seed, stall) in (0..).zip(stalls_of::<6>()) {
        rig.pause(stall);
        rig.send(&writes(seed, 40, 0));
        for burst in [0, 1, 5, 6, 20, 33] {
            rig.spoil(burst);
        }
        rig.finish();
        rig.reset();
    }
}

#[test]
fn survives_stalls() {
    survive::<64, 8>(FEW);
    survive::<64, 8>(USUAL);
    survive::<512, 64>(FEW);
}

fn back_to_back<const D: usize, const K: usize>() {
    let mut rig = Rig::<D, K>::new(USUAL);
    for seed in 0..5 {
        let writes = writes(seed, 60, 1);
        let cost = |(iova, bytes): &Write| (iova % K as u64 + bytes.len() as u64).div_ceil(K as u64);
        let beats: u64 = writes.iter().map(cost).sum();
        rig.send(&writes);
        rig.finish();
        let (first, last) = (rig.w_cycles[0], rig.w_cycles[rig.w_cycles.len() - 1]);
        assert_eq!(rig.w_cycles.len() as u64, beats, "no more beats than the bytes touch");
        assert_eq!(last - first + 1, beats, "a beat in every cycle");
        rig.reset();
    }
}

#[test]
fn data_leave_without_a_gap_whatever_the_alignment() {
    back_to_back::<64, 8>();
    back_to_back::<512, 64>();
}

#[test]
fn an_unaligned_page_costs_one_beat_more() {
    let mut rig = Rig::<512, 64>::new(USUAL);
    for (iova, beats) in [(0x1000, 64), (0x1001, 65), (0x103f, 65), (0x1040, 64)] {
        rig.send(&[(iova, bytes(iova, 4096))]);
        rig.finish();
        assert_eq!(rig.w_cycles.len(), beats);
        assert_eq!(rig.w_cycles[beats - 1] - rig.w_cycles[0] + 1, beats as u64);
        rig.reset();
    }
}

#[test]
fn the_latencies_are_those_promised() {
    let mut rig = Rig::<64, 8>::new(USUAL);
    rig.send(&[(0x1003, bytes(1, 5))]);
    rig.step();
    let seen =
        |rig: &Rig<64, 8>| (rig.port::<bool>("aw$valid"), rig.port::<bool>("w$valid"), rig.count("issued"));
    assert_eq!(seen(&rig), (true, false, 1), "the command moved in this cycle");
    rig.step();
    assert_eq!(rig.bench[rig.data].sent(), 1, "the data moved in this cycle");
    rig.step();
    assert_eq!(seen(&rig), (false, false, 1));
    rig.step();
    assert_eq!(seen(&rig), (false, true, 1));
    rig.step();
    assert_eq!((rig.answerable, rig.answered(), rig.done()), (1, 0, 0));
    rig.step();
    assert_eq!((rig.answered(), rig.done()), (1, 1), "the response moved in this cycle");
}

#[test]
fn addresses_and_data_do_not_wait_for_each_other() {
    let mut rig = Rig::<64, 8>::new(USUAL);
    let three = vec![(0x1000, bytes(1, 16)); 3];
    rig.bench[rig.aw].pause(always());
    rig.send(&three);
    rig.run(20);
    assert_eq!((rig.w_cycles.len(), rig.addressed.len()), (6, 0), "data go ahead of their addresses");
    rig.bench[rig.aw].pause(NEVER);
    rig.finish();
    rig.bench[rig.data].pause(always());
    rig.send(&three);
    rig.run(20);
    assert_eq!((rig.w_cycles.len(), rig.addressed.len()), (6, 6), "addresses go ahead of their data");
    rig.bench[rig.data].pause(NEVER);
    rig.finish();
}

/// After reset nothing of the past is left, and the next run is as good as the first.
fn starts_afresh(rig: &mut Rig<64, 8>) {
    assert!(
        rig.bench.is_sent() && rig.port::<bool>("busy"),
        "the engine should hold everything when reset comes"
    );
    rig.pause([NEVER; 6]);
    rig.reset();
    for port in ["aw$valid", "w$valid", "failed$valid", "issued", "done", "missed", "busy"] {
        assert_eq!(rig.count(port), 0, "{port}");
    }
    rig.send(&writes(1, 10, 0));
    rig.finish();
    rig.reset();
}

#[test]
fn recovers_from_reset() {
    let mut rig = Rig::<64, 8>::new(FEW);
    // One failure not taken, a command with a bad burst half answered, and a burst that has one beat to go.
    rig.bench[rig.failed].pause(always());
    rig.send(&[(0x1000, bytes(1, 8)), (0x2ffd, bytes(2, 14)), (0x5003, bytes(3, 14))]);
    rig.spoil(0);
    rig.spoil(1);
    while rig.w_cycles.len() < 2 {
        rig.step();
    }
    rig.bench[rig.w].pause(always());
    rig.run(20);
    assert_eq!((rig.count("issued"), rig.answered(), rig.done()), (3, 2, 1));
    starts_afresh(&mut rig);

    // Addresses not taken, and a command whose second burst has no room.
    rig.bench[rig.aw].pause(always());
    rig.send(&[(0x1000, bytes(1, 8)), (0x1005, bytes(2, 3)), (0x2000, bytes(3, 1)), (0x2fff, bytes(4, 2))]);
    rig.run(20);
    assert_eq!((rig.count("issued"), rig.w_cycles.len()), (4, 4));
    starts_afresh(&mut rig);
}

#[test]
fn rust_and_verilog_agree() {
    let case = differential!(
        "dma_write",
        DmaWrite::<64, 8>::default,
        clock,
        [
            command.payload,
            command.valid,
            data.payload,
            data.valid,
            aw.ready,
            w.ready,
            b.payload,
            b.valid,
            failed.ready
        ]
    );
    assert_agree([case], 500);
}
