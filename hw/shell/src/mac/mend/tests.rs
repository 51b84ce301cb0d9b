//! Frames through a mend, whose stops come at random.

use std::collections::VecDeque;

use stroma_hw::pack::Packed;
use stroma_hw::stream::{Beat, beats};
use stroma_hw::testing::{read, stalls, verilated};
use stroma_verilate::{Bench, Model, PortId, SplitMix64};

use super::Mend;

/// The mend by hand: a bench would hold the withdrawn offers against it.
struct Under {
    bench: Bench,
}

/// What one cycle showed.
struct Seen {
    is_taken: bool,
    given: Option<Beat<64>>,
    mended: bool,
}

impl Under {
    fn new() -> Self {
        let mut under = Self { bench: verilated("mend", Mend::<64>::default) };
        for name in ["stops", "clears", "sink$valid", "source$ready"] {
            under.set(name, 0);
        }
        under.bench.reset(2);
        under
    }

    fn port(&self, name: &str) -> PortId {
        self.bench.model().port(name).expect("a port of the mend")
    }

    fn set(&mut self, name: &str, value: u64) {
        let port = self.port(name);
        self.bench.model_mut().set(port, value);
    }

    fn step(&mut self, offer: Option<&Beat<64>>, is_ready: bool, stops: bool, clears: bool) -> Seen {
        self.set("sink$valid", offer.is_some().into());
        if let Some(beat) = offer {
            let port = self.port("sink$payload");
            self.bench.model_mut().set_wide(port, &beat.to_words());
        }
        self.set("source$ready", is_ready.into());
        self.set("stops", stops.into());
        self.set("clears", clears.into());
        Model::eval(self.bench.model_mut());
        let moves = read::<bool>(&self.bench, "source$valid") && is_ready;
        let seen = Seen {
            is_taken: offer.is_some() && read::<bool>(&self.bench, "sink$ready"),
            given: moves.then(|| read(&self.bench, "source$payload")),
            mended: read(&self.bench, "mended"),
        };
        self.bench.step();
        seen
    }
}

/// The twin: what becomes of each beat that is taken, and which ends are owed.
#[derive(Default)]
struct Twin {
    has_begun: bool,
    swallows: bool,
    owes: bool,
}

impl Twin {
    /// What the block does in a cycle: (takes the beat, gives it, gives an end).
    fn step(&mut self, offer: Option<&Beat<64>>, is_ready: bool, stops: bool, clears: bool) -> [bool; 3] {
        let drops = stops || self.swallows;
        let ends = self.owes && is_ready;
        let gives = offer.is_some() && !drops && !self.owes && is_ready;
        let takes = offer.is_some() && (drops || gives);
        let eop = offer.is_some_and(|beat| beat.eop);
        self.owes &= !ends;
        if stops && self.has_begun {
            (self.owes, self.has_begun, self.swallows) = (true, false, true);
        }
        if gives {
            self.has_begun = !eop;
        } else if takes {
            self.swallows = !eop;
        }
        self.swallows &= !clears;
        [takes, gives, ends]
    }
}

fn frames(seed: u64) -> VecDeque<Beat<64>> {
    let mut rng = SplitMix64::new(seed);
    let mut frame = || {
        let len = 1 + rng.below(60);
        beats::<64>(&(0..len).map(|_| rng.next_u64().to_le_bytes()[0]).collect::<Vec<u8>>())
    };
    (0..200).flat_map(|_| frame()).collect()
}

#[test]
fn agrees_with_the_model_and_no_frame_is_left_open() {
    let mut under = Under::new();
    for ((idle, pressure), seed) in stalls().into_iter().zip(1..) {
        let (mut twin, mut rng) = (Twin::default(), SplitMix64::new(seed));
        under.bench.reset(1);
        let mut waiting = frames(seed);
        let all: Vec<Beat<64>> = waiting.iter().copied().collect();
        let (mut given, mut ends, mut stops) = (Vec::new(), 0, false);
        for cycle in 0.. {
            if waiting.is_empty() && !twin.owes {
                break;
            }
            stops ^= rng.below(if stops { 6 } else { 30 }) == 0;
            let offer = waiting.front().copied().filter(|_| !idle.at(cycle));
            let is_ready = !pressure.at(cycle);
            let seen = under.step(offer.as_ref(), is_ready, stops, false);
            let [takes, passes, mends] = twin.step(offer.as_ref(), is_ready, stops, false);
            assert_eq!((seen.is_taken, seen.mended), (takes, mends));
            assert_eq!(seen.given.is_some(), passes || mends);
            ends += usize::from(mends);
            given.extend(seen.given);
            if takes {
                waiting.pop_front();
            }
        }
        let sent: Vec<_> = all.split_inclusive(|beat| beat.eop).collect();
        let (mut candidates, mut cut) = (sent.iter(), 0);
        for frame in given.split_inclusive(|beat| beat.eop) {
            let end = frame.last().expect("a frame has an end");
            assert!(end.eop, "a frame was left open");
            let passed = frame.len() - usize::from(end.err);
            cut += usize::from(end.err);
            let is_it =
                |of: &&[Beat<64>]| of.starts_with(&frame[..passed]) && (end.err || of.len() == passed);
            assert!(candidates.any(is_it), "a frame of two, or out of order");
        }
        assert_eq!(cut, ends);
        assert!(cut > 3, "seed {seed}: {cut}");
    }
}

#[test]
fn behind_clears_the_next_beat_begins_a_frame() {
    let mut under = Under::new();
    let frame = beats::<64>(&[7; 20]);
    assert!(under.step(Some(&frame[0]), true, false, false).given.is_some());
    assert!(under.step(Some(&frame[1]), true, true, false).given.is_none());
    assert!(under.step(None, true, true, true).mended);
    for beat in &frame {
        assert_eq!(under.step(Some(beat), true, false, false).given.as_ref(), Some(beat));
    }
}

#[test]
fn an_end_waits_for_room_and_what_follows_waits_for_the_end() {
    let mut under = Under::new();
    let frame = beats::<64>(&[7; 20]);
    under.step(Some(&frame[0]), true, false, false);
    under.step(Some(&frame[1]), false, true, false);
    assert!(under.step(Some(&frame[2]), false, true, false).is_taken, "a stop takes all, without room too");
    let next = beats::<64>(&[8; 3]);
    assert!(!under.step(Some(&next[0]), false, false, false).is_taken);
    let end = under.step(Some(&next[0]), true, false, false);
    assert!(end.mended && !end.is_taken);
    assert!(end.given.is_some_and(|beat| beat.eop && beat.err && !beat.sop));
    assert_eq!(under.step(Some(&next[0]), true, false, false).given, Some(next[0]));
}

#[test]
fn recovers_from_reset() {
    let mut under = Under::new();
    let frame = beats::<64>(&[7; 20]);
    under.step(Some(&frame[0]), true, false, false);
    under.step(Some(&frame[1]), false, true, false);
    under.set("sink$valid", 0);
    under.set("stops", 0);
    under.bench.reset(1);
    assert_eq!(under.step(Some(&frame[0]), true, false, false).given, Some(frame[0]), "none is owed");
}
