use std::collections::VecDeque;

use stroma_verilate::{Bench, SplitMix64};

use super::Heard;
use crate::testing::{read, verilated};

const STREAMS: usize = 3;

/// Streams, a mixer and somebody who takes; each error is known by the question that it was there before.
struct Rig {
    bench: Bench,
    rng: SplitMix64,
    streams: [VecDeque<u64>; STREAMS],
    mixed: VecDeque<u64>,
    /// Questions so far, and whether the last one is open.
    asked: u64,
    is_open: bool,
    answered: u64,
}

impl Rig {
    fn new() -> Self {
        let mut bench = verilated("heard", Heard::<STREAMS>::default);
        bench.reset(2);
        let (streams, mixed) = Default::default();
        Self { bench, rng: SplitMix64::new(3), streams, mixed, asked: 0, is_open: false, answered: 0 }
    }

    fn set(&mut self, name: &str, value: u64) {
        let port = self.bench.model().port(name).expect("the port exists");
        self.bench.model_mut().set(port, value);
    }

    /// One cycle, in which these streams get an error, a question is asked, and the mixer's oldest is taken.
    fn step(&mut self, comes: [bool; STREAMS], asks: bool, takes: bool) {
        let offered = (0..STREAMS).map(|at| u64::from(!self.streams[at].is_empty()) << at).sum();
        self.set("offered", offered);
        self.set("mixed", u64::from(!self.mixed.is_empty()));
        self.set("begins", asks.into());
        self.bench.model_mut().eval();
        if read::<bool>(&self.bench, "ends") {
            assert!(self.is_open, "an answer without a question");
            let is_old = |question: &u64| *question < self.asked;
            let left = self.streams.iter().flatten().chain(&self.mixed).filter(|question| is_old(question));
            assert_eq!(left.count(), 0, "errors from before the question are left");
            self.is_open = false;
            self.answered += 1;
        }
        self.bench.step();
        if takes {
            self.mixed.pop_front();
        }
        // The mixer holds two, and takes from any that has one.
        let first = usize::try_from(self.rng.below(3)).expect("small");
        let chosen = (0..STREAMS).map(|at| (first + at) % STREAMS).find(|at| offered >> at & 1 == 1);
        if self.mixed.len() < 2
            && let Some(error) = chosen.and_then(|at| self.streams[at].pop_front())
        {
            self.mixed.push_back(error);
        }
        for (stream, _) in self.streams.iter_mut().zip(comes).filter(|(_, comes)| *comes) {
            stream.push_back(self.asked);
        }
        if asks {
            self.asked += 1;
            self.is_open = true;
        }
    }
}

#[test]
fn an_answer_leaves_no_error_from_before_its_question() {
    let mut rig = Rig::new();
    for percent in [5, 15, 30] {
        for _ in 0..4000 {
            let comes = std::array::from_fn(|_| rig.rng.below(100) < percent);
            let (asks, takes) = (!rig.is_open && rig.rng.below(8) == 0, rig.rng.below(3) != 0);
            rig.step(comes, asks, takes);
        }
    }
    assert!(rig.answered > 500, "{} answers", rig.answered);
}

#[test]
fn nothing_under_way_is_answered_in_the_next_cycle() {
    let mut rig = Rig::new();
    for _ in 0..5 {
        rig.step([false; STREAMS], false, false);
        assert!(!read::<bool>(&rig.bench, "ends"));
    }
    rig.step([false; STREAMS], true, false);
    assert!(read::<bool>(&rig.bench, "ends"));
    rig.step([false; STREAMS], false, false);
    assert!(!read::<bool>(&rig.bench, "ends"), "the pulse lasts one cycle");
}

#[test]
fn errors_that_never_cease_do_not_keep_the_question_open() {
    let mut rig = Rig::new();
    // In every cycle one of the streams or the mixer has something on offer.
    for cycle in 0..300 {
        rig.step([cycle % 2 == 0, false, false], cycle % 30 == 10, true);
        assert!(cycle < 10 || !(rig.streams.iter().all(VecDeque::is_empty) && rig.mixed.is_empty()));
    }
    assert_eq!(rig.answered, 10);
}

#[test]
fn a_reset_forgets_the_question() {
    let mut rig = Rig::new();
    rig.step([true; STREAMS], false, false);
    rig.step([true; STREAMS], true, false);
    rig.bench.reset(1);
    rig.is_open = false;
    for _ in 0..20 {
        rig.step([false; STREAMS], false, true);
    }
    assert_eq!(rig.answered, 0);
}
