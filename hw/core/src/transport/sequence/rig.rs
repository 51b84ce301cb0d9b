//! The sequence between what sends it requests and what takes its errands.

use std::collections::VecDeque;

use stroma_verilate::{Bench, Pause, SinkId, SourceId};

use super::Sequence;
use super::model::{Outcome, Responder};
use crate::host::work::QpChange;
use crate::testing::{collect, push, read, verilated};
use crate::transport::records::{Answer, Arrival, Errand};

/// log2 of the queue pairs.
pub(super) const QPS: usize = 2;
/// Cycles after which the sequence counts as stuck.
const LIMIT: u64 = 100_000;

pub(super) struct Rig {
    pub(super) bench: Bench,
    pub(super) arrival: SourceId,
    pub(super) change: SourceId,
    pub(super) errand: SinkId,
    /// Of what was acted on.
    pub(super) model: Responder,
    arrivals: VecDeque<Arrival>,
    changes: VecDeque<QpChange>,
    /// What must come of the arrivals that were acted on.
    outcomes: Vec<Outcome>,
}

/// The errand without what means nothing.
fn meaning(mut errand: Errand) -> Errand {
    if errand.span.index() == 0 {
        (errand.va, errand.key, errand.need) = (0_u64.into(), 0_u64.into(), 0_u64.into());
    }
    if errand.answer.index() != Answer::Acknowledge as usize {
        errand.syndrome = 0_u64.into();
    }
    errand
}

impl Rig {
    pub(super) fn new() -> Self {
        let mut bench = verilated("sequence", Sequence::<QPS>::default);
        let [arrival, change] =
            ["arrival", "change"].map(|name| bench.source(name).expect("the stream exists"));
        let errand = bench.sink("errand").expect("the stream exists");
        bench.reset(2);
        let mut rig = Self {
            bench,
            arrival,
            change,
            errand,
            model: Responder::default(),
            arrivals: VecDeque::new(),
            changes: VecDeque::new(),
            outcomes: Vec::new(),
        };
        rig.settle();
        rig
    }

    pub(super) fn send(&mut self, arrivals: &[Arrival]) {
        push(&mut self.bench, self.arrival, arrivals);
        self.arrivals.extend(arrivals);
    }

    pub(super) fn send_changes(&mut self, changes: &[QpChange]) {
        push(&mut self.bench, self.change, changes);
        self.changes.extend(changes);
    }

    /// One cycle: what is acted on is acted on by the model, and the pulses are held against it.
    pub(super) fn step(&mut self) {
        let sources = [self.arrival, self.change];
        let before = sources.map(|source| self.bench[source].sent());
        self.bench.step();
        let [came, changed] = sources.map(|source| self.bench[source].sent());
        let mut pulses = (false, false);
        if changed > before[1] {
            let change = self.changes.pop_front().expect("only what was sent moves");
            self.model.change(&change);
        }
        if came > before[0] {
            assert_eq!(changed, before[1], "one at a time");
            let arrival = self.arrivals.pop_front().expect("only what was sent moves");
            let outcome = self.model.arrive(&arrival);
            pulses = (outcome.duplicate, outcome.nak);
            self.outcomes.push(outcome);
        }
        let shown = (read::<bool>(&self.bench, "duplicates"), read::<bool>(&self.bench, "naks"));
        assert_eq!(shown, pulses, "duplicates and naks");
    }

    pub(super) fn is_busy(&self) -> bool {
        read(&self.bench, "busy")
    }

    pub(super) fn settle(&mut self) {
        let start = self.bench.cycle();
        while !self.bench.is_sent() || self.is_busy() {
            assert!(self.bench.cycle() - start < LIMIT, "the sequence is stuck");
            self.step();
        }
    }

    pub(super) fn pause(&mut self, [arrival, change, errand]: [Pause; 3]) {
        self.bench[self.arrival].pause(arrival);
        self.bench[self.change].pause(change);
        self.bench[self.errand].pause(errand);
    }

    /// Holds what came out against the model; gives what it was.
    pub(super) fn compare(&mut self) -> Vec<Outcome> {
        let outcomes = std::mem::take(&mut self.outcomes);
        let found: Vec<Errand> = collect(&mut self.bench, self.errand);
        for (at, (found, expected)) in found.iter().zip(&outcomes).enumerate() {
            assert_eq!(meaning(*found), meaning(expected.errand), "errand {at}");
        }
        assert_eq!(found.len(), outcomes.len(), "errands");
        outcomes
    }

    /// Sends one request; what the model and the card made of it.
    pub(super) fn judge(&mut self, arrival: &Arrival) -> Outcome {
        self.send(std::slice::from_ref(arrival));
        self.settle();
        *self.compare().last().expect("each arrival gives an errand")
    }

    /// After a reset: nothing of the past is known.
    pub(super) fn forget(&mut self) {
        self.model = Responder::default();
        self.outcomes.clear();
        self.bench[self.errand].take();
    }
}
