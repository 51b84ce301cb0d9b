//! The keeper of raw frames against its plain-Rust twin.

use stroma_abi::wire::Class;
use stroma_verilate::{Bench, Pause, SinkId, SplitMix64};

use super::Raw;
use crate::head::Head;
use crate::pack::Packed;
use crate::stream::{Beat, beats, bytes};
use crate::testing::{collect, read, verilated};

/// A frame on its way in.
#[derive(Clone, Debug)]
struct Frame {
    bytes: Vec<u8>,
    class: Class,
    is_bad: bool,
    /// Its last beat holds no byte.
    ends_empty: bool,
}

struct Rig<const D: usize, const LOG: usize> {
    bench: Bench,
    head: SinkId,
    payload: SinkId,
    dropped: usize,
    rng: SplitMix64,
    /// One in so many cycles nothing passes; 0: in none.
    gaps: u64,
}

impl<const D: usize, const LOG: usize> Rig<D, LOG> {
    fn new() -> Self {
        let mut bench = verilated("raw", Raw::<D, LOG>::default);
        let [head, payload] = ["head", "payload"].map(|name| bench.sink(name).expect("the stream exists"));
        let mut rig = Self { bench, head, payload, dropped: 0, rng: SplitMix64::new(3), gaps: 0 };
        rig.set("moves", &false);
        rig.set("enable", &true);
        rig.bench.reset(2);
        rig
    }

    fn set<T: Packed>(&mut self, name: &str, value: &T) {
        let port = self.bench.model().port(name).expect("the port exists");
        self.bench.model_mut().set_wide(port, &value.to_words());
    }

    fn step(&mut self) {
        self.bench.step();
        self.dropped += usize::from(read::<bool>(&self.bench, "dropped"));
    }

    fn rest(&mut self, cycles: usize) {
        self.set("moves", &false);
        (0..cycles).for_each(|_| self.step());
    }

    /// Lets a frame pass; nobody looks at `sop`.
    fn pass(&mut self, frame: &Frame) {
        let mut beats: Vec<Beat<D>> = beats(&frame.bytes);
        if frame.ends_empty {
            beats.last_mut().expect("a frame has a beat").eop = false;
            beats.push(Beat { eop: true, ..Beat::default() });
        }
        beats.last_mut().expect("a frame has a beat").err = frame.is_bad;
        for beat in beats {
            if self.gaps != 0 && self.rng.below(self.gaps) == 0 {
                self.rest(1);
            }
            let sop = self.rng.below(2) == 0;
            self.set("beat", &Beat { sop, ..beat });
            self.set("frame_class", &rust_hdl::prelude::Bits::<4>::from(frame.class.index() as u64));
            self.set("moves", &true);
            self.step();
        }
        self.set("moves", &false);
    }

    /// What has come out: frames, each with its head.
    fn frames(&mut self) -> Vec<Vec<u8>> {
        let beats: Vec<Beat<D>> = collect(&mut self.bench, self.payload);
        for beat in &beats {
            assert!((1..=D / 8).contains(&beat.nbytes.index()) && !beat.err, "no beat without a byte");
        }
        let starts: Vec<bool> = beats.iter().map(|beat| beat.sop).collect();
        let behind_ends: Vec<bool> =
            [true].into_iter().chain(beats.iter().map(|beat| beat.eop)).take(beats.len()).collect();
        assert_eq!(starts, behind_ends, "sop marks the first beat, and no other");
        let frames: Vec<Vec<u8>> = beats.split_inclusive(|beat| beat.eop).map(bytes).collect();
        let heads: Vec<Head> = collect(&mut self.bench, self.head);
        let head =
            |frame: &Vec<u8>| Head { raw: true, payload_len: (frame.len() as u64).into(), ..Head::default() };
        assert!(heads == frames.iter().map(head).collect::<Vec<_>>(), "a head for each, with its length");
        frames
    }
}

fn random(rng: &mut SplitMix64, longest: u64) -> Frame {
    let len = usize::try_from(1 + rng.below(longest)).expect("small");
    let class = Class::ALL[usize::try_from(rng.below(16)).expect("small")];
    let class = if rng.below(2) == 0 { Class::NotIp } else { class };
    let bytes: Vec<u8> = (0..len).map(|_| rng.next_u64().to_le_bytes()[0]).collect();
    Frame { bytes, class, is_bad: rng.below(8) == 0, ends_empty: rng.below(4) == 0 }
}

/// The twin: is a frame wanted, and does it fit?
fn is_wanted(frame: &Frame) -> bool {
    frame.class.is_raw() && !frame.is_bad
}

/// Only a full beat can be followed by an empty one.
fn full<const D: usize>(mut frame: Frame) -> Frame {
    if frame.ends_empty {
        frame.bytes.resize(frame.bytes.len().next_multiple_of(D / 8), 9);
    }
    frame
}

fn agrees<const D: usize, const LOG: usize>() {
    let mut rig = Rig::<D, LOG>::new();
    let mut rng = SplitMix64::new(1);
    for gaps in [0, 2, 5] {
        rig.gaps = gaps;
        let frames: Vec<Frame> = (0..300).map(|_| full::<D>(random(&mut rng, 500))).collect();
        let before = rig.dropped;
        for frame in &frames {
            rig.pass(frame);
        }
        rig.rest(200);
        let expected: Vec<Vec<u8>> =
            frames.iter().filter(|frame| is_wanted(frame)).map(|frame| frame.bytes.clone()).collect();
        assert!(rig.frames() == expected && rig.dropped == before, "all that are taken at once fit");
        assert!(frames.iter().filter(|frame| is_wanted(frame) && frame.ends_empty).count() > 0);
    }
}

#[test]
fn agrees_with_the_model() {
    agrees::<64, 7>();
    agrees::<512, 7>();
}

/// Frames that find no room are lost whole, the others are there, and none is unaccounted for.
fn survives<const D: usize, const LOG: usize>() {
    let mut rig = Rig::<D, LOG>::new();
    let mut rng = SplitMix64::new(2);
    let mut lost = 0;
    for percent in [50, 90, 98] {
        rig.bench[rig.head]
            .pause(Pause::Random { seed: percent, percent: u8::try_from(percent).expect("small") });
        rig.bench[rig.payload]
            .pause(Pause::Random { seed: 7, percent: u8::try_from(percent).expect("small") });
        let frames: Vec<Frame> = (0..300).map(|_| full::<D>(random(&mut rng, 300))).collect();
        let before = rig.dropped;
        for frame in &frames {
            rig.pass(frame);
        }
        rig.bench[rig.head].pause(Pause::None);
        rig.bench[rig.payload].pause(Pause::None);
        rig.rest(1000);
        let wanted: Vec<&Frame> = frames.iter().filter(|frame| is_wanted(frame)).collect();
        let found = rig.frames();
        let mut due = wanted.iter();
        assert!(found.iter().all(|frame| due.any(|other| other.bytes == *frame)), "whole, and in order");
        assert_eq!(found.len() + rig.dropped - before, wanted.len());
        lost += rig.dropped - before;
    }
    assert!(lost > 20, "{lost} frames found no room");
}

#[test]
fn survives_stalls() {
    survives::<64, 7>();
    survives::<512, 4>();
}

fn plain(len: usize) -> Frame {
    Frame { bytes: vec![7; len], class: Class::NotUdp, is_bad: false, ends_empty: false }
}

#[test]
fn a_frame_of_4096_bytes_is_kept_and_a_longer_one_lost() {
    for ends_empty in [false, true] {
        let mut rig = Rig::<512, 8>::new();
        for len in [4096, 4160, 9000, 60_032, 64] {
            rig.pass(&Frame { ends_empty: ends_empty && len % 64 == 0, ..plain(len) });
        }
        rig.pass(&Frame { is_bad: true, ..plain(64) });
        rig.rest(20);
        assert_eq!(rig.frames(), [vec![7; 4096], vec![7; 64]]);
        assert_eq!(rig.dropped, 3, "one that the MAC calls bad was not wanted");
    }
}

#[test]
fn a_frame_is_wanted_if_it_was_when_it_began() {
    let mut rig = Rig::<64, 7>::new();
    let frame: Vec<Beat<64>> = beats(&[9; 32]);
    for (begins, expected) in [(true, 1), (false, 0)] {
        for (at, beat) in frame.iter().enumerate() {
            rig.set("enable", &((at == 0) == begins));
            rig.set("frame_class", &rust_hdl::prelude::Bits::<4>::from(Class::NotIp.index() as u64));
            rig.set("beat", beat);
            rig.set("moves", &true);
            rig.step();
        }
        rig.rest(20);
        assert_eq!(rig.frames().len(), expected);
    }
    assert_eq!(rig.dropped, 0, "what is not wanted is not missed");
}

#[test]
fn heads_come_three_cycles_behind_a_frame_and_its_bytes_four() {
    let mut rig = Rig::<512, 7>::new();
    rig.pass(&plain(60));
    let seen: Vec<[bool; 2]> = (0..4)
        .map(|_| {
            let shown = ["head$valid", "payload$valid"].map(|port| read::<bool>(&rig.bench, port));
            rig.rest(1);
            shown
        })
        .collect();
    assert_eq!(seen, [[false, false], [false, false], [true, false], [false, true]]);
    // Sixty wait, and then some that were on their way.
    rig.bench[rig.head].pause(Pause::Always);
    rig.bench[rig.payload].pause(Pause::Always);
    rig.frames();
    (0..100).for_each(|_| rig.pass(&plain(60)));
    rig.rest(5);
    assert!((36..=40).contains(&rig.dropped), "{} of 100", rig.dropped);
}

#[test]
fn recovers_from_reset() {
    for cycles in [1, 2, 3, 9] {
        let mut rig = Rig::<64, 7>::new();
        rig.bench[rig.head].pause(Pause::Always);
        rig.pass(&plain(20));
        rig.set("beat", &beats::<64>(&[1; 16])[0]);
        rig.set("moves", &true);
        (0..cycles).for_each(|_| rig.step());
        rig.set("moves", &false);
        rig.bench.reset(1);
        rig.bench[rig.payload].take();
        rig.bench[rig.head].pause(Pause::None);
        rig.pass(&plain(31));
        rig.rest(20);
        assert_eq!((rig.frames(), rig.dropped), (vec![vec![7; 31]], 0));
    }
}
