//! Frames of the MAC on the pins of the card.

use std::sync::OnceLock;

use stroma_hw::testing::stalls;
use stroma_verilate::{Pause, SplitMix64, Verilog as Design};

use super::Receive;
use crate::mac::testing::{CLOCKS, CORE, Frame, MAC, Path, Transfer, assert_among, design};

fn path(clocks: (u64, u64, u64)) -> Path {
    static DESIGN: OnceLock<Design> = OnceLock::new();
    let design = DESIGN.get_or_init(|| design("receive", Receive::default));
    let mut path = Path::new(design, clocks, MAC);
    path.clocked.start();
    path
}

fn choose(rng: &mut SplitMix64, lens: &[usize]) -> usize {
    lens[usize::try_from(rng.below(lens.len() as u64)).expect("small")]
}

/// Frames of these lengths, a fifth of them bad.
fn frames(seed: u64, count: usize, lens: &[usize]) -> Vec<Frame> {
    let mut rng = SplitMix64::new(seed);
    let mut one = |_| {
        let (len, is_bad) = (choose(&mut rng, lens), rng.below(5) == 0);
        Frame::random(&mut rng, len, is_bad)
    };
    (0..count).map(&mut one).collect()
}

const LENS: [usize; 14] = [1, 14, 59, 60, 63, 64, 65, 66, 127, 128, 129, 700, 1514, 4178];

/// Sends them all; how many were lost. Whatever is not lost is there, byte for byte, in order.
fn carry(path: &mut Path, frames: &[Frame]) -> usize {
    let before = path.clocked.get("overrun");
    path.send_all(frames);
    path.drain();
    let taken = std::mem::take(&mut path.taken);
    assert_among(&taken, frames);
    let lost = usize::try_from(path.clocked.get("overrun") - before).expect("a count");
    assert_eq!(taken.len() + lost, frames.len(), "each frame is given to the card or counted");
    lost
}

#[test]
fn every_frame_is_given_to_the_card_or_counted_under_stalls_at_every_clock_ratio() {
    for (clocks, seed) in CLOCKS.into_iter().zip(1..) {
        let (mut path, mut lost) = (path(clocks), 0);
        for (idle, pressure) in stalls() {
            (path.idle, path.pressure) = (idle, pressure);
            lost += carry(&mut path, &frames(seed, 120, &LENS));
        }
        assert!(lost > 0, "{clocks:?}: the test tries too little");
    }
}

#[test]
fn nothing_is_lost_while_the_card_keeps_up() {
    for (clocks, seed) in CLOCKS.into_iter().zip(1..) {
        let mut path = path(clocks);
        // At most three beats in ten cycles: less than the slowest core takes.
        path.idle = Pause::Burst { go: 2, pause: 8 };
        assert_eq!(carry(&mut path, &frames(seed, 150, &LENS)), 0, "{clocks:?}");
    }
}

#[test]
fn line_rate_passes_at_the_clocks_of_a_board() {
    // 100 Gb/s are 38.8 bytes in a cycle of the MAC: a frame of 1514 bytes, with what Ethernet adds, is 24 beats in 39.6 cycles. The
    // longest run of beats without a gap that the MAC can give is a frame of its longest.
    let mut path = path(CLOCKS[0]);
    for (len, pause) in [(1514, 15), (4178, 42), (9018, 91)] {
        path.idle = Pause::Burst { go: (len as u64).div_ceil(64), pause };
        assert_eq!(carry(&mut path, &frames(5, 60, &[len])), 0, "{len}");
    }
}

#[test]
fn short_frames_without_a_pause_are_cut_in_the_crossing_and_counted() {
    // Two beats each, in every cycle of a MAC that is faster than the core: the store has room, the crossing has not.
    let lens = [65, 66, 100, 128, 190];
    for clocks in [CLOCKS[0], (7, 2, 1), (4000, 3103, 1999)] {
        let mut path = path(clocks);
        let lost = carry(&mut path, &frames(7, 1200, &lens));
        assert!(lost > 30, "{clocks:?}: {lost} lost, the test tries too little");
    }
}

#[test]
fn a_burst_of_losses_is_counted_though_no_frame_follows() {
    let mut path = path((20, 2, 1));
    path.send_all(&frames(8, 500, &[60]));
    path.pressure = Pause::Always;
    while !path.is_sent() {
        path.step();
    }
    path.steps(1000);
    let lost = path.clocked.get("overrun");
    assert!(lost > 300);
    path.pressure = Pause::None;
    path.drain();
    assert_eq!(path.taken.len() as u64 + lost, 500);
    assert_eq!(path.clocked.get("overrun"), lost);
}

#[test]
fn thirty_two_kib_wait_for_the_card() {
    for clocks in CLOCKS {
        let mut path = path(clocks);
        path.idle = Pause::Burst { go: 1, pause: 7 };
        path.pressure = Pause::Always;
        let all = frames(9, 9, &[4096]);
        path.send_all(&all);
        while !path.is_sent() {
            path.step();
        }
        path.steps(1000);
        // Of the first, four beats have left the store towards the card: the ninth frame finds four places.
        assert_eq!(path.clocked.get("overrun"), 1);
        path.pressure = Pause::None;
        path.drain();
        assert_eq!(path.taken, all[..8]);
    }
}

#[test]
fn a_bad_frame_goes_to_the_card_with_its_mark() {
    let mut path = path(CLOCKS[0]);
    let mut rng = SplitMix64::new(10);
    let good = Frame::random(&mut rng, 150, false);
    let bad = Frame { is_bad: true, ..good.clone() };
    let with = |index: usize, keep| {
        let mut transfers: Vec<Transfer> = good.transfers();
        transfers[index].keep = keep;
        transfers
    };
    path.idle = Pause::Every(2);
    path.send(&bad);
    path.send_transfers(&with(0, u64::MAX - 1));
    path.send_transfers(&with(2, 0b1011));
    // A last beat without a byte: the frame ends with the beat before.
    path.send_transfers(&with(2, 0));
    path.send(&good);
    path.drain();
    let marks: Vec<bool> = path.taken.iter().map(|frame| frame.is_bad).collect();
    assert_eq!(marks, [true, true, true, false, false]);
    assert_eq!((&path.taken[0], &path.taken[4]), (&bad, &good));
    assert_eq!(path.taken[3].bytes, good.bytes[..128]);
    assert_eq!(path.clocked.get("overrun"), 0);
}

#[test]
fn a_frame_longer_than_the_store_is_lost_whole() {
    let mut path = path(CLOCKS[0]);
    path.idle = Pause::Every(2);
    let mut rng = SplitMix64::new(11);
    let frames: Vec<Frame> =
        [100, 40_000, 200].into_iter().map(|len| Frame::random(&mut rng, len, false)).collect();
    assert_eq!(carry(&mut path, &frames), 1);
}

fn resets(side: usize) {
    for (clocks, seed) in CLOCKS.into_iter().zip(20..) {
        for (idle, pressure) in [
            (Pause::None, Pause::None),
            (Pause::Burst { go: 2, pause: 8 }, Pause::None),
            (Pause::Burst { go: 2, pause: 8 }, Pause::Random { seed, percent: 50 }),
            (Pause::None, Pause::Random { seed, percent: 80 }),
        ] {
            let (mut path, mut rng) = (path(clocks), SplitMix64::new(seed));
            (path.idle, path.pressure) = (idle, pressure);
            let mut sent = Vec::new();
            for round in 0..20 {
                let frames = frames(100 * seed + round, 12, &LENS);
                path.send_all(&frames);
                sent.extend(frames);
                path.steps(usize::try_from(rng.below(500)).expect("small"));
                path.pulse(side, 1 + rng.below(6));
            }
            path.drain();
            assert_among(&path.taken, &sent);
            let (count, overrun) = (path.taken.len(), path.clocked.get("overrun"));
            assert!((1..sent.len()).contains(&count), "{clocks:?}: no reset came in the middle");
            assert!(count as u64 + overrun <= sent.len() as u64, "{clocks:?}: a frame was counted twice");
            // Afterwards all is as at the beginning.
            (path.idle, path.pressure, path.taken) =
                (Pause::Burst { go: 2, pause: 8 }, Pause::None, Vec::new());
            assert_eq!(carry(&mut path, &frames(seed, 40, &LENS)), 0, "{clocks:?}");
        }
    }
}

#[test]
fn resets_of_the_core_in_mid_frame_lose_whole_frames_only() {
    resets(CORE);
}

#[test]
fn resets_of_the_mac_in_mid_frame_lose_whole_frames_only() {
    resets(MAC);
}

#[test]
fn a_frame_that_a_reset_of_the_mac_cuts_is_no_overrun() {
    for clocks in CLOCKS {
        let mut path = path(clocks);
        path.idle = Pause::Burst { go: 2, pause: 8 };
        path.send(&Frame::good(vec![7; 4000]));
        while path.clocked.cycle(CORE) < 160 || path.clocked.cycle(MAC) < 160 {
            path.step();
        }
        assert!(!path.is_sent());
        path.pulse(MAC, 3);
        path.steps(1000);
        assert_eq!(path.clocked.get("overrun"), 0, "{clocks:?}");
        assert!(path.taken.is_empty() && path.is_sent(), "{clocks:?}");
    }
}

#[test]
fn a_reset_of_the_mac_leaves_what_waits_for_the_card() {
    let mut path = path(CLOCKS[0]);
    path.pressure = Pause::Always;
    path.idle = Pause::Every(2);
    let waiting = frames(12, 5, &[1514]);
    path.send_all(&waiting);
    path.steps(1000);
    path.pulse(MAC, 3);
    path.steps(500);
    path.pressure = Pause::None;
    path.drain();
    assert_eq!(path.taken, waiting);
}

#[test]
fn what_the_pins_show_during_a_reset_begins_no_frame() {
    let mut path = path(CLOCKS[0]);
    path.clocked.pulse(MAC, 3);
    path.clocked.set("mac_tvalid", 1);
    path.clocked.set("mac_tlast", 0);
    while path.clocked.is_reset(MAC) {
        path.clocked.edge();
    }
    path.clocked.set("mac_tvalid", 0);
    path.steps(1000);
    path.idle = Pause::Every(2);
    assert_eq!(carry(&mut path, &frames(13, 5, &[200])), 0);
}
