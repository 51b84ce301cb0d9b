//! Frames of the card on the pins of the MAC.

use std::sync::OnceLock;

use stroma_hw::testing::stalls;
use stroma_verilate::{Pause, SplitMix64, Verilog as Design};

use super::Transmit;
use super::model::{LONGEST, leaves};
use crate::mac::testing::{CLOCKS, CORE, Frame, MAC, Path, Transfer, assert_among, design};

/// As the MAC demands it: no gap inside a frame, 60 bytes and more, nothing bad.
fn path(clocks: (u64, u64, u64)) -> Path {
    static DESIGN: OnceLock<Design> = OnceLock::new();
    let design = DESIGN.get_or_init(|| design("transmit", Transmit::default));
    let mut path = Path::new(design, clocks, CORE);
    path.is_gapless = true;
    path.clocked.set("is_up", 1);
    path.clocked.start();
    path
}

/// Lengths around every edge, a fifth of them bad.
fn frames(seed: u64, count: usize) -> Vec<Frame> {
    let mut rng = SplitMix64::new(seed);
    let lens = [1, 2, 14, 42, 59, 60, 61, 63, 64, 65, 66, 127, 128, 129, 700, 1514, 4178];
    let mut one = |_| {
        let len = lens[usize::try_from(rng.below(lens.len() as u64)).expect("small")];
        let is_bad = rng.below(5) == 0;
        Frame::random(&mut rng, len, is_bad)
    };
    (0..count).map(&mut one).collect()
}

/// What the twin says of them.
fn expected(frames: &[Frame]) -> Vec<Frame> {
    frames.iter().filter_map(|frame| leaves(&frame.bytes, frame.is_bad)).map(Frame::good).collect()
}

#[test]
fn agrees_with_the_model_under_stalls_at_every_clock_ratio() {
    for (clocks, seed) in CLOCKS.into_iter().zip(1..) {
        let mut path = path(clocks);
        for (idle, pressure) in stalls() {
            let frames = frames(seed, 25);
            (path.idle, path.pressure) = (idle, pressure);
            path.send_all(&frames);
            path.drain();
            assert_eq!(std::mem::take(&mut path.taken), expected(&frames), "{clocks:?}");
        }
        assert_eq!(path.clocked.get("overflowed"), 0);
    }
}

#[test]
fn every_length_around_the_shortest_and_around_a_beat_leaves_as_the_model_says() {
    let mut path = path(CLOCKS[0]);
    let mut rng = SplitMix64::new(1);
    let frames: Vec<Frame> = (1..=200).map(|len| Frame::random(&mut rng, len, false)).collect();
    path.send_all(&frames);
    path.drain();
    assert_eq!(path.taken, expected(&frames));
}

#[test]
fn a_frame_that_just_fits_leaves_and_longer_ones_are_counted() {
    for clocks in CLOCKS {
        let mut path = path(clocks);
        let mut rng = SplitMix64::new(2);
        let lens = [LONGEST, 100, LONGEST + 1, 100, 3 * LONGEST, LONGEST, LONGEST + 64, 100];
        let frames: Vec<Frame> = lens.into_iter().map(|len| Frame::random(&mut rng, len, false)).collect();
        path.send_all(&frames);
        path.drain();
        assert_eq!(path.taken, expected(&frames));
        assert_eq!(path.clocked.get("overflowed"), 3);
    }
}

#[test]
fn a_tkeep_that_is_none_never_reaches_the_mac() {
    let mut path = path(CLOCKS[0]);
    let mut rng = SplitMix64::new(3);
    let good = Frame::random(&mut rng, 150, false);
    let with = |change: &dyn Fn(&mut Vec<Transfer>)| {
        let mut transfers = good.transfers();
        change(&mut transfers);
        transfers
    };
    path.send(&good);
    path.send_transfers(&with(&|transfers| transfers[2].keep = 0));
    path.send_transfers(&with(&|transfers| transfers[1].keep = 0xff));
    path.send_transfers(&with(&|transfers| transfers[2].keep = 0b101));
    path.send_transfers(&with(&|transfers| {
        transfers.truncate(1);
        (transfers[0].keep, transfers[0].last) = (0, true);
    }));
    path.send(&good);
    path.drain();
    assert_eq!(path.taken, [good.clone(), good]);
}

#[test]
fn the_slower_clock_moves_a_beat_in_every_cycle() {
    for clocks in CLOCKS {
        let mut path = path(clocks);
        let frames: Vec<Frame> = (0..40).map(|_| Frame::good(vec![7; 20 * 64])).collect();
        path.send_all(&frames);
        let slower = |path: &Path| path.clocked.cycle(CORE).min(path.clocked.cycle(MAC));
        let start = slower(&path);
        while path.taken.len() < 40 {
            path.step();
        }
        let cycles = slower(&path) - start;
        assert!(cycles <= 800 + 50, "{clocks:?}: 800 beats took {cycles} cycles of the slower clock");
    }
}

#[test]
fn a_link_that_is_down_takes_all_and_shows_nothing_new() {
    for clocks in CLOCKS {
        let mut path = path(clocks);
        let mut before = vec![Frame::random(&mut SplitMix64::new(4), 4178, false)];
        before.extend(frames(4, 20));
        path.send_all(&before);
        // The MAC takes nothing any more: something waits in every place when the link goes down, and the frame on the pins has beats in
        // all of them.
        path.pressure = Pause::Always;
        path.steps(4000);
        assert!(path.is_open() && path.taken.is_empty());
        path.clocked.set("is_up", 0);
        let meanwhile = frames(5, 100);
        path.send_all(&meanwhile);
        path.steps(20_000);
        assert!(path.is_sent(), "{clocks:?}: the card hangs on a link that is down");
        // The frame on offer goes on; what was there behind it is old when the link comes back.
        path.pressure = Pause::None;
        path.steps(2000);
        assert_eq!(path.taken, expected(&before)[..1], "{clocks:?}");
        path.clocked.set("is_up", 1);
        let after = frames(6, 20);
        path.send_all(&after);
        path.drain();
        assert_eq!(path.taken[1..], expected(&after), "{clocks:?}");
    }
}

#[test]
fn a_link_that_comes_and_goes_loses_whole_frames_only() {
    for (clocks, seed) in CLOCKS.into_iter().zip(10..) {
        for pressure in [Pause::None, Pause::Random { seed, percent: 50 }] {
            let (mut path, mut rng) = (path(clocks), SplitMix64::new(seed));
            path.pressure = pressure;
            let frames = frames(seed, 300);
            path.send_all(&frames);
            let mut is_up = true;
            while !path.is_sent() {
                is_up ^= rng.below(200) == 0;
                path.clocked.set("is_up", is_up.into());
                path.step();
            }
            path.clocked.set("is_up", 1);
            path.drain();
            let count = path.taken.len();
            assert!((20..230).contains(&count), "{clocks:?}: {count} frames, the test tries too little");
            assert_among(&path.taken, &expected(&frames));
        }
    }
}

fn resets(side: usize) {
    for (clocks, seed) in CLOCKS.into_iter().zip(20..) {
        for (idle, pressure) in [
            (Pause::None, Pause::None),
            (Pause::None, Pause::Random { seed, percent: 60 }),
            // In the middle of a frame the card may rest for longer than a restart takes.
            (Pause::Burst { go: 2, pause: 150 }, Pause::None),
        ] {
            let (mut path, mut rng) = (path(clocks), SplitMix64::new(seed));
            (path.idle, path.pressure) = (idle, pressure);
            let mut sent = Vec::new();
            for round in 0..25 {
                let frames = frames(100 * seed + round, 12);
                path.send_all(&frames);
                sent.extend(frames);
                path.steps(usize::try_from(rng.below(400)).expect("small"));
                path.pulse(side, 1 + rng.below(6));
            }
            path.drain();
            assert_among(&path.taken, &expected(&sent));
            let count = path.taken.len();
            assert!(count < expected(&sent).len(), "{clocks:?}: no reset came in the middle");
            // Afterwards all is as at the beginning.
            (path.idle, path.pressure) = (Pause::None, Pause::None);
            let frames = frames(seed, 30);
            path.send_all(&frames);
            path.drain();
            assert_eq!(path.taken[count..], expected(&frames), "{clocks:?}");
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
