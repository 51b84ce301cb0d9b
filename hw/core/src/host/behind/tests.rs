use std::collections::VecDeque;

use rust_hdl::prelude::Bits;
use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

use super::Behind;
use crate::testing::{collect, push, read, stalls, verilated};

type Number = Bits<24>;

/// The block, and in plain Rust what it stands beside: a mixer of completions, the CQs, and who accepts their entries.
struct Rig {
    bench: Bench,
    sink: SourceId,
    source: SinkId,
    rng: SplitMix64,
    /// Completions that were handed over, those of them that the mixer holds, and the entry on offer.
    handed: u64,
    mixer: VecDeque<u64>,
    entry: Option<u64>,
    accepted: u64,
    /// Percent of the cycles in which a completion comes, the CQs take one, and an entry is accepted.
    often: [u64; 3],
    passed: u64,
}

impl Rig {
    fn new() -> Self {
        let mut bench = verilated("behind", Behind::<Number>::default);
        let sink = bench.source("sink").expect("the stream exists");
        let source = bench.sink("source").expect("the stream exists");
        bench.reset(2);
        Self {
            bench,
            sink,
            source,
            rng: SplitMix64::new(1),
            handed: 0,
            mixer: VecDeque::new(),
            entry: None,
            accepted: 0,
            often: [0, 100, 100],
            passed: 0,
        }
    }

    fn happens(&mut self, what: usize) -> bool {
        self.rng.below(100) < self.often[what]
    }

    fn set(&mut self, name: &str, value: bool) {
        let port = self.bench.model().port(name).expect("the port exists");
        self.bench.model_mut().set(port, value.into());
    }

    /// A beat that says how many completions were handed over before it.
    fn beat(&mut self) {
        push(&mut self.bench, self.sink, &[Number::from(self.handed)]);
    }

    fn step(&mut self) {
        let takes = !self.mixer.is_empty() && self.entry.is_none() && self.happens(1);
        let accepts = self.entry.is_some() && self.happens(2);
        let comes = self.mixer.len() < 2 && self.happens(0);
        self.set("done_waits", !self.mixer.is_empty());
        self.set("done_moves", takes);
        self.set("entry_waits", self.entry.is_some() && !accepts);
        self.bench.step();
        if accepts {
            self.accepted = self.entry.take().expect("there is one");
        }
        if takes {
            self.entry = self.mixer.pop_front();
        }
        if comes {
            self.handed += 1;
            self.mixer.push_back(self.handed);
        }
        if read::<bool>(&self.bench, "source$valid") {
            let before: Number = read(&self.bench, "source$payload");
            assert!(u64::from(before) <= self.accepted, "{before:?} are before, {} accepted", self.accepted);
        }
        self.passed += collect::<Number>(&mut self.bench, self.source).len() as u64;
    }

    /// Cycles until so many beats have passed.
    fn until(&mut self, passed: u64) -> u64 {
        let start = self.bench.cycle();
        while self.passed < passed {
            self.step();
            assert!(self.bench.cycle() < start + 2000, "a beat is stuck");
        }
        self.bench.cycle() - start
    }
}

#[test]
fn no_beat_comes_before_the_entries_of_completions_handed_over_before_it() {
    let mut rig = Rig::new();
    for (idle, pressure) in stalls() {
        rig.bench[rig.sink].pause(idle);
        rig.bench[rig.source].pause(pressure);
        for often in [[5, 50, 50], [40, 30, 20], [100, 100, 100], [100, 10, 60], [30, 100, 5]] {
            rig.often = often;
            for _ in 0..40 {
                (0..rig.rng.below(12)).for_each(|_| rig.step());
                rig.beat();
                let passed = rig.passed;
                rig.until(passed + 1);
            }
        }
    }
    assert!(rig.accepted > 500);
}

#[test]
fn a_beat_with_nothing_before_it_takes_three_cycles_and_the_next_one_four() {
    let mut rig = Rig::new();
    (0..3).for_each(|_| rig.beat());
    // In the last of them it is taken.
    assert_eq!(rig.until(1), 4);
    assert_eq!(rig.until(3), 8);
}

#[test]
fn a_beat_waits_as_long_as_an_entry_is_not_accepted() {
    let mut rig = Rig::new();
    rig.often = [100, 100, 0];
    (0..5).for_each(|_| rig.step());
    rig.beat();
    (0..100).for_each(|_| rig.step());
    assert!(rig.passed == 0 && read::<bool>(&rig.bench, "busy"));
    rig.often = [100, 100, 100];
    rig.until(1);
}

#[test]
fn recovers_from_reset() {
    let mut rig = Rig::new();
    rig.bench[rig.source].pause(Pause::Always);
    rig.beat();
    (0..9).for_each(|_| rig.step());
    assert!(read::<bool>(&rig.bench, "source$valid"));
    rig.bench[rig.source].pause(Pause::None);
    rig.bench.reset(1);
    assert!(!read::<bool>(&rig.bench, "source$valid") && !read::<bool>(&rig.bench, "busy"));
    rig.beat();
    rig.until(1);
}
