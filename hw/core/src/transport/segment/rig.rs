//! The block between one that admits messages and one that fetches their payload.

mod case;

use stroma_abi::desc::wqe::UNIT;
use stroma_verilate::{Bench, Pause, SinkId, SourceId};

pub(super) use case::{ATOMICS, CARRYING, Case, random};

use super::Segment;
use super::model::Outcome;
use crate::pack::Packed;
use crate::stream::{Beat, beats};
use crate::testing::{collect, push, read, verilated};
use crate::transport::records::TxStep;

/// Cycles after which the block counts as stuck.
const LIMIT: u64 = 40_000;

pub(super) struct Rig<const D: usize> {
    pub(super) bench: Bench,
    pub(super) message: SourceId,
    pub(super) units: SourceId,
    pub(super) step: SinkId,
    pub(super) inline: SinkId,
}

impl<const D: usize> Rig<D> {
    pub(super) fn new() -> Self {
        let mut bench = verilated("segment", Segment::<D>::default);
        let [message, units] =
            ["message", "units"].map(|name| bench.source(name).expect("the stream exists"));
        let [step, inline] = ["step", "inline"].map(|name| bench.sink(name).expect("the stream exists"));
        bench.reset(2);
        Self { bench, message, units, step, inline }
    }

    /// Pauses of message, units, step, inline.
    pub(super) fn pause(&mut self, [message, units, step, inline]: [Pause; 4]) {
        self.bench[self.message].pause(message);
        self.bench[self.units].pause(units);
        self.bench[self.step].pause(step);
        self.bench[self.inline].pause(inline);
    }

    pub(super) fn send(&mut self, cases: &[Case]) {
        for case in cases {
            push(&mut self.bench, self.message, &[case.message]);
            for unit in case.wqe.chunks(UNIT) {
                push(&mut self.bench, self.units, &[crate::pack::from_bytes::<512>(unit)]);
            }
        }
    }

    pub(super) fn is_busy(&self) -> bool {
        read(&self.bench, "busy")
    }

    /// Steps until nothing is inside or on its way.
    pub(super) fn settle(&mut self) {
        let start = self.bench.cycle();
        while !self.bench.is_sent() || self.is_busy() {
            assert!(self.bench.cycle() - start < LIMIT, "{}", self.bench.stuck(LIMIT));
            self.bench.step();
        }
    }

    /// Sends the messages and holds what comes out against the model.
    pub(super) fn check(&mut self, cases: &[Case]) {
        self.send(cases);
        self.settle();
        self.compare(cases);
    }

    pub(super) fn compare(&mut self, cases: &[Case]) {
        let outcomes: Vec<Outcome> = cases.iter().map(Case::outcome).collect();
        let steps: Vec<TxStep> = outcomes.iter().flat_map(|outcome| outcome.steps.clone()).collect();
        let inline: Vec<Beat<D>> = outcomes
            .iter()
            .flat_map(|outcome| outcome.inline.iter().flat_map(|bytes| beats(bytes)))
            .collect();
        let found: Vec<TxStep> = collect(&mut self.bench, self.step);
        for (at, (found, expected)) in found.iter().zip(&steps).enumerate() {
            assert_eq!(found, expected, "step {at}");
        }
        assert_eq!(found.len(), steps.len(), "steps");
        let found: Vec<Beat<D>> = collect(&mut self.bench, self.inline);
        for (at, (found, expected)) in found.iter().zip(&inline).enumerate() {
            assert_eq!(found, expected, "beat {at}");
        }
        assert_eq!(found.len(), inline.len(), "beats");
    }

    /// Sends the messages to a consumer that takes the inline data of a packet between its step and the next one.
    pub(super) fn check_in_turn(&mut self, cases: &[Case]) {
        self.send(cases);
        let start = self.bench.cycle();
        while !self.bench.is_sent() || self.is_busy() {
            assert!(self.bench.cycle() - start < LIMIT, "{}", self.bench.stuck(LIMIT));
            let steps = self.bench[self.step].received().iter();
            let due = steps.filter(|step| TxStep::from_words(step).inline).count();
            let beats = self.bench[self.inline].received().iter();
            let is_due = due > beats.filter(|beat| Beat::<D>::from_words(beat).eop).count();
            self.bench[self.step].pause(if is_due { Pause::Always } else { Pause::None });
            self.bench[self.inline].pause(if is_due { Pause::None } else { Pause::Always });
            self.bench.step();
        }
        self.compare(cases);
    }

    /// Steps until a stream offers a beat; how many cycles that took.
    pub(super) fn until_valid(&mut self, stream: &str) -> u64 {
        let start = self.bench.cycle();
        while !read::<bool>(&self.bench, &format!("{stream}$valid")) {
            assert!(self.bench.cycle() - start < LIMIT, "nothing comes");
            self.bench.step();
        }
        self.bench.cycle() - start
    }
}
