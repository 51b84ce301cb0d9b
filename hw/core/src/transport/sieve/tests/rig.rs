//! The sieve between queue pairs that send, and one who takes what is left.

use std::collections::VecDeque;

use rust_hdl::prelude::Bits;
use stroma_verilate::{Bench, SinkId, SourceId, SplitMix64};

use crate::pack::Packed;
use crate::testing::{collect, noise, push, read, verilated};
use crate::transport::records::TxStep;
use crate::transport::sieve::Sieve;
use crate::transport::sieve::model::{Model, Numbered};

pub(super) const QPS: usize = 2;
/// Number of every queue pair's first packet: PSNs come round soon.
const FIRST: u64 = 0xff_ffc0;
/// Cycles after which the sieve counts as stuck.
const LIMIT: u64 = 20_000;

/// A queue pair as Admit has it.
#[derive(Clone, Copy, Debug)]
struct Sender {
    /// The next packet, and the one behind all that were admitted.
    cursor: u64,
    frontier: u64,
}

/// What was met.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Met {
    /// Steps that passed; steps and packets that were thrown away, the latter with `frees`.
    pub(super) passed: usize,
    pub(super) dropped: usize,
    pub(super) drops: usize,
    /// Steps that passed as sent again, and those that were admitted again and are not.
    pub(super) again: usize,
    pub(super) corrected: usize,
    pub(super) anew: usize,
}

pub(super) struct Rig {
    pub(super) bench: Bench,
    pub(super) step: SourceId,
    pub(super) source: SinkId,
    pub(super) model: Model,
    pub(super) met: Met,
    /// Another tells of a packet that leaves, in the next cycle.
    pub(super) leaves: bool,
    /// Queued, and not taken.
    waiting: VecDeque<Numbered>,
    senders: [Sender; 1 << QPS],
    /// Epochs to be told, one a cycle: of a queue pair, and as Admit counts it.
    news: VecDeque<(u64, u64)>,
    epochs: [u64; 1 << QPS],
    expected: Vec<TxStep>,
    expected_drops: VecDeque<bool>,
    rng: SplitMix64,
}

fn place(qpn: u64) -> usize {
    usize::try_from(qpn).expect("small")
}

impl Rig {
    pub(super) fn new() -> Self {
        let mut bench = verilated("sieve", Sieve::<QPS>::default);
        let step = bench.source("step").expect("the stream exists");
        let source = bench.sink("source").expect("the stream exists");
        let mut rig = Self {
            bench,
            step,
            source,
            model: Model::default(),
            met: Met::default(),
            leaves: false,
            waiting: VecDeque::new(),
            senders: [Sender { cursor: FIRST, frontier: FIRST }; 1 << QPS],
            news: VecDeque::new(),
            epochs: [0; 1 << QPS],
            expected: Vec::new(),
            expected_drops: VecDeque::new(),
            rng: SplitMix64::new(7),
        };
        rig.set("epoch_write", &false);
        rig.bench.reset(1);
        rig.bench.run(1 << QPS);
        assert!(rig.get("ready"));
        for qpn in 0..1 << QPS {
            rig.model.left.insert(qpn, FIRST);
        }
        rig
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// A queue pair's next packet, in so many steps; or one with data of its own.
    pub(super) fn send(&mut self, qpn: u64, steps: u64, inline: bool) {
        let common = TxStep { frees: self.rng.below(3) == 0, ..noise(&mut self.rng) };
        self.send_like(qpn, if inline { 1 } else { steps }, &TxStep { inline, ..common });
    }

    /// The same, as `common` has it.
    pub(super) fn send_like(&mut self, qpn: u64, steps: u64, common: &TxStep) {
        let sender = &mut self.senders[place(qpn)];
        let number = sender.cursor;
        let packet = TxStep {
            qpn: qpn.into(),
            psn: (number & 0xff_ffff).into(),
            again: number < sender.frontier,
            epoch: (self.epochs[place(qpn)] % 16).into(),
            ..*common
        };
        sender.cursor += 1;
        sender.frontier = sender.frontier.max(sender.cursor);
        for at in 1..=steps {
            let step = TxStep { last: at == steps, bytes: noise(&mut self.rng), ..packet };
            push(&mut self.bench, self.step, &[step]);
            self.waiting.push_back(Numbered { step, number });
        }
    }

    /// A queue pair sends again, from a packet that has left or from the first that has not: in a new epoch, or in the same.
    pub(super) fn rewind(&mut self, qpn: u64, discards: bool) {
        let most = self.model.left(qpn).min(self.senders[place(qpn)].cursor);
        let back = self.rng.below(8).min(most - FIRST);
        self.senders[place(qpn)].cursor = most - back;
        if discards {
            self.epochs[place(qpn)] += 1;
        }
        self.news.push_back((qpn, self.epochs[place(qpn)] % 16));
    }

    /// A queue pair sends all again, in the same epoch.
    pub(super) fn begin_at_first(&mut self, qpn: u64) {
        self.senders[place(qpn)].cursor = FIRST;
    }

    /// A queue pair begins anew, if nothing of it is under way; its epoch goes on.
    pub(super) fn begin_anew(&mut self, qpn: u64) {
        if self.waiting.iter().all(|numbered| u64::from(numbered.step.qpn) != qpn) {
            self.senders[place(qpn)] = Sender { cursor: FIRST, frontier: FIRST };
            self.model.left.insert(qpn, FIRST);
            self.met.anew += 1;
        }
    }

    /// One cycle, in which one epoch is told at most.
    pub(super) fn cycle(&mut self) {
        let told = self.news.pop_front();
        self.set("epoch_write", &told.is_some());
        if let Some((qpn, epoch)) = told {
            self.set("epoch_index", &Bits::<QPS>::from(qpn));
            self.set("epoch", &Bits::<4>::from(epoch));
        }
        let leaves = self.leaves;
        self.set("leaves", &leaves);
        self.bench.model_mut().eval();
        if self.get("drops") {
            assert!(!self.leaves, "one is told of in a cycle");
            let colour = self.expected_drops.pop_front().expect("one was thrown away");
            assert_eq!(self.get("drops_colour"), colour);
            self.met.drops += 1;
        }
        let sent = self.bench[self.step].sent();
        self.bench.step();
        if self.bench[self.step].sent() > sent {
            let numbered = self.waiting.pop_front().expect("it was queued");
            let outcome = self.model.take(&numbered);
            self.expected.extend(outcome.passed);
            self.expected_drops.extend(outcome.dropped);
            let passed = outcome.passed.is_some_and(|step| step.again);
            self.met.passed += usize::from(outcome.passed.is_some());
            self.met.dropped += usize::from(outcome.passed.is_none());
            self.met.again += usize::from(passed);
            self.met.corrected += usize::from(outcome.passed.is_some() && numbered.step.again && !passed);
        }
        self.model.epochs.extend(told);
    }

    pub(super) fn run(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.cycle());
    }

    /// Steps until nothing is left, and holds what came against the model.
    pub(super) fn finish(&mut self) -> Vec<TxStep> {
        let start = self.bench.cycle();
        while !self.bench.is_sent() || self.get("busy") || !self.news.is_empty() {
            assert!(self.bench.cycle() - start < LIMIT, "{}", self.bench.stuck(LIMIT));
            self.cycle();
        }
        assert!(self.expected_drops.is_empty(), "all are told of");
        let found: Vec<TxStep> = collect(&mut self.bench, self.source);
        for (at, (found, expected)) in found.iter().zip(&self.expected).enumerate() {
            assert_eq!(found, expected, "step {at}");
        }
        assert_eq!(found.len(), self.expected.len());
        self.expected.clear();
        found
    }

    /// Forgets what is under way, with the sieve.
    pub(super) fn reset(&mut self) {
        let met = std::mem::take(&mut self.met);
        assert!(self.bench.is_sent(), "a step of the run before is left");
        self.bench.reset(1);
        collect::<TxStep>(&mut self.bench, self.source);
        self.model = Model::default();
        self.waiting.clear();
        self.news.clear();
        self.expected.clear();
        self.expected_drops.clear();
        self.epochs = [0; 1 << QPS];
        for qpn in 0..1 << QPS {
            self.senders[place(qpn)] = Sender { cursor: FIRST, frontier: FIRST };
            self.model.left.insert(qpn, FIRST);
        }
        self.met = met;
    }

    pub(super) fn get(&self, port: &str) -> bool {
        read(&self.bench, port)
    }

    pub(super) fn set<T: Packed>(&mut self, name: &str, value: &T) {
        let port = self.bench.model().port(name).expect("the port exists");
        self.bench.model_mut().set_wide(port, &value.to_words());
    }
}
