//! Admit with its tables around it, and the model beside it.

mod bed;
mod case;

use std::collections::{BTreeMap, VecDeque};

use rust_hdl::prelude::Bits;
use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

use super::model::{Model, View};
use crate::host::work::{QpChange, Work};
use crate::pack::Packed;
use crate::testing::{collect, push, read, verilated};
use crate::transport::records::{
    AckedRow, Alarm, KeyJob, KeyedRow, Message, Nudge, Progress, RequesterRow, Rewind, SentRow,
};
use bed::Bed;
pub(super) use case::{Case, Seen};

/// log2 of the queue pairs.
pub(super) const QPS: usize = 2;
const OUT: usize = QPS + 5;
/// Cycles after which Admit counts as stuck.
const LIMIT: u64 = 200_000;

pub(super) struct Rig {
    pub(super) bench: Bench,
    pub(super) inputs: [SourceId; 4],
    pub(super) outputs: [SinkId; 8],
    pub(super) model: Model,
    pub(super) expected: Seen,
    pub(super) seen: Seen,
    /// Works, rewinds, changes that were queued and not yet begun.
    works: VecDeque<Case>,
    rewinds: VecDeque<Rewind>,
    changes: VecDeque<QpChange>,
    taken: [u64; 2],
    /// As the tables have it, and as they had it when the work under way began.
    pub(super) acked: BTreeMap<u64, AckedRow>,
    acked_before: BTreeMap<u64, AckedRow>,
    pub(super) keyed: BTreeMap<u64, KeyedRow>,
    keyed_before: BTreeMap<u64, KeyedRow>,
    /// How works on keys end in the next cycles, one a cycle.
    key_ends: VecDeque<(u64, KeyedRow)>,
    /// In the cycle before there was room for work on a key.
    key_room: bool,
    pub(super) ended: u64,
    ended_before: u64,
    colours: VecDeque<bool>,
    /// What is shown of each queue pair.
    requesters: BTreeMap<u64, RequesterRow>,
    /// Cycles in which works began.
    pub(super) begun: Vec<u64>,
    rng: SplitMix64,
}

/// Among the inputs.
pub(super) const WORK: usize = 0;
pub(super) const UNITS: usize = 1;
pub(super) const REWIND: usize = 2;
pub(super) const CHANGE: usize = 3;
/// Among the outputs.
pub(super) const PROGRESS: usize = 4;

impl Rig {
    pub(super) fn new() -> Self {
        let mut bench = verilated("admit", Bed::default);
        let inputs =
            ["work", "units", "rewind", "change"].map(|name| bench.source(name).expect("the stream exists"));
        let outputs =
            ["local", "local_units", "message", "message_units", "progress", "nudge", "alarm", "key"]
                .map(|name| bench.sink(name).expect("the stream exists"));
        let mut rig = Self {
            bench,
            inputs,
            outputs,
            model: Model::default(),
            expected: Seen::default(),
            seen: Seen::default(),
            works: VecDeque::new(),
            rewinds: VecDeque::new(),
            changes: VecDeque::new(),
            taken: [0; 2],
            acked: BTreeMap::new(),
            acked_before: BTreeMap::new(),
            keyed: BTreeMap::new(),
            keyed_before: BTreeMap::new(),
            key_ends: VecDeque::new(),
            key_room: false,
            ended: 0,
            ended_before: 0,
            colours: VecDeque::new(),
            requesters: BTreeMap::new(),
            begun: Vec::new(),
            rng: SplitMix64::new(91),
        };
        rig.reset();
        rig
    }

    /// Resets Admit and all around it. No beat may be left in a source.
    pub(super) fn reset(&mut self) {
        assert!(self.bench.is_sent(), "a beat of the run before is left");
        (self.ended, self.ended_before) = (0, 0);
        self.set("ended", &Bits::<48>::from(0));
        self.bench.reset(1);
        let mut rows = Vec::new();
        for qpn in 0..1_u64 << QPS {
            assert!(!self.is_ready(), "row {qpn} is not cleared");
            self.set("acked_write", &true);
            self.set("acked_index", &Bits::<QPS>::from(qpn));
            self.set("acked_row", &AckedRow::default());
            self.set("keyed_write", &true);
            self.set("keyed_index", &Bits::<QPS>::from(qpn));
            self.set("keyed_row", &KeyedRow::default());
            self.bench.step();
            rows.push((read::<Bits<QPS>>(&self.bench, "sent_index"), read::<SentRow>(&self.bench, "sent")));
            assert!(read::<bool>(&self.bench, "sent_write"), "each row is cleared");
        }
        let zeros: Vec<_> = (0..1_u64 << QPS).map(|qpn| (Bits::from(qpn), SentRow::default())).collect();
        assert_eq!(rows, zeros);
        assert!(self.is_ready());
        self.set("acked_write", &false);
        self.set("keyed_write", &false);
        for sink in self.outputs {
            self.bench[sink].take();
        }
        self.model = Model::default();
        (self.expected, self.seen) = (Seen::default(), Seen::default());
        self.works.clear();
        self.rewinds.clear();
        self.changes.clear();
        self.taken = [REWIND, CHANGE].map(|input| self.bench[self.inputs[input]].sent());
        self.acked.clear();
        self.acked_before.clear();
        self.keyed.clear();
        self.keyed_before.clear();
        self.key_ends.clear();
        self.colours.clear();
        self.requesters.clear();
        self.begun.clear();
    }

    /// Pauses of all inputs, then of all outputs.
    pub(super) fn pause(&mut self, pauses: &[Pause; 12]) {
        for (source, pause) in self.inputs.into_iter().zip(&pauses[..4]) {
            self.bench[source].pause(pause.clone());
        }
        for (sink, pause) in self.outputs.into_iter().zip(&pauses[4..]) {
            self.bench[sink].pause(pause.clone());
        }
    }

    pub(super) fn send(&mut self, case: Case) {
        push(&mut self.bench, self.inputs[WORK], &[case.work]);
        push(&mut self.bench, self.inputs[UNITS], &case.units);
        self.works.push_back(case);
    }

    pub(super) fn rewind(&mut self, rewind: Rewind) {
        push(&mut self.bench, self.inputs[REWIND], &[rewind]);
        self.rewinds.push_back(rewind);
    }

    pub(super) fn change(&mut self, qpn: u64, resets: bool, stops: bool) {
        let change = QpChange { qpn: qpn.into(), resets, stops, ..QpChange::default() };
        push(&mut self.bench, self.inputs[CHANGE], &[change]);
        self.changes.push_back(change);
    }

    /// Nothing of this queue pair waits outside.
    pub(super) fn is_calm(&self, qpn: u64) -> bool {
        let mut waiting =
            self.works.iter().map(|case| case.work.qpn).chain(self.rewinds.iter().map(|rewind| rewind.qpn));
        waiting.all(|other| u64::from(other) != qpn) && !self.is_changing()
    }

    /// A work on a key ends, or a queue pair begins anew, one in a cycle.
    pub(super) fn end_key(&mut self, qpn: u64, row: KeyedRow) {
        self.key_ends.push_back((qpn, row));
    }

    /// Is a rewind of this queue pair on its way?
    pub(super) fn is_rewinding(&self, qpn: u64) -> bool {
        self.rewinds.iter().any(|rewind| u64::from(rewind.qpn) == qpn)
    }

    pub(super) fn is_changing(&self) -> bool {
        !self.changes.is_empty()
    }

    /// One cycle, in which at most one table row is written.
    pub(super) fn step_with(&mut self, row: Option<(u64, AckedRow)>) {
        let colour = self.rng.below(2) == 1;
        self.set("colour", &colour);
        self.set("ended", &Bits::<48>::from(self.ended));
        self.set("acked_write", &row.is_some());
        if let Some((qpn, row)) = row {
            self.set("acked_index", &Bits::<QPS>::from(qpn));
            self.set("acked_row", &row);
        }
        let ends = self.key_ends.pop_front();
        self.set("keyed_write", &ends.is_some());
        if let Some((qpn, row)) = ends {
            self.set("keyed_index", &Bits::<QPS>::from(qpn));
            self.set("keyed_row", &row);
        }
        self.key_room = self.get("key_room");
        self.bench.step();
        self.observe();
        self.keyed_before.clone_from(&self.keyed);
        self.keyed.extend(ends);
        self.acked_before.clone_from(&self.acked);
        self.ended_before = self.ended;
        self.acked.extend(row);
    }

    pub(super) fn step(&mut self) {
        self.step_with(None);
    }

    pub(super) fn run(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.step());
    }

    /// The model does what Admit began in this cycle.
    fn observe(&mut self) {
        for (which, input) in [REWIND, CHANGE].into_iter().enumerate() {
            let taken = self.bench[self.inputs[input]].sent();
            if taken > self.taken[which] {
                self.taken[which] = taken;
                let outcome = if input == REWIND {
                    let rewind = self.rewinds.pop_front().expect("it was queued");
                    self.model.rewind(&rewind)
                } else {
                    let change = self.changes.pop_front().expect("it was queued");
                    self.model.change(&change)
                };
                self.expected.add(&outcome, &[]);
            }
        }
        if self.get("begins") {
            let Case { work, units } = self.works.pop_front().expect("it was queued");
            let qpn = u64::from(work.qpn);
            let view = View {
                acked: self.acked_before.get(&qpn).copied().unwrap_or_default(),
                keyed: self.keyed_before.get(&qpn).copied().unwrap_or_default(),
                has_room: self.key_room,
                ended: self.ended_before,
            };
            let outcome = self.model.work(&work, units.first(), &view);
            self.expected.add(&outcome, &units);
            self.begun.push(self.bench.cycle());
        }
        if self.get("enters") {
            self.colours.push_back(self.get("enters_colour"));
        }
        if self.get("sent_write") {
            let index = u64::from(read::<Bits<QPS>>(&self.bench, "sent_index"));
            self.seen.sent.push((index, read(&self.bench, "sent")));
        }
        if self.get("epoch_write") {
            let index = u64::from(read::<Bits<QPS>>(&self.bench, "epoch_index"));
            self.seen.epochs.push((index, read::<Bits<4>>(&self.bench, "epoch").into()));
        }
        if self.get("requester_write") {
            let index = u64::from(read::<Bits<QPS>>(&self.bench, "requester_index"));
            self.requesters.insert(index, read(&self.bench, "requester"));
        }
        if self.get("out_write") {
            let index = u64::from(read::<Bits<OUT>>(&self.bench, "out_index"));
            self.seen.entries.push((index, read(&self.bench, "out_entry")));
        }
        self.seen.read_waits += u64::from(self.get("waits"));
        let [local, local_units, message, message_units, progress, nudge, alarm, key] = self.outputs;
        self.seen.key.extend(collect::<KeyJob>(&mut self.bench, key));
        self.seen.local.extend(collect::<Work>(&mut self.bench, local));
        self.seen.local_units.extend(collect::<Bits<512>>(&mut self.bench, local_units));
        for mut message in collect::<Message>(&mut self.bench, message) {
            let colour = self.colours.pop_front().expect("a message enters before it is offered");
            assert_eq!(message.colour, colour, "a message has the colour of the cycle in which it entered");
            assert!(self.seen.sent.len() > self.seen.message.len(), "its row is written first");
            message.colour = false;
            self.seen.message.push(message);
        }
        self.seen.message_units.extend(collect::<Bits<512>>(&mut self.bench, message_units));
        self.seen.progress.extend(collect::<Progress>(&mut self.bench, progress));
        for nudge in collect::<Nudge>(&mut self.bench, nudge) {
            self.seen.nudge(nudge);
        }
        self.seen.alarm.extend(collect::<Alarm>(&mut self.bench, alarm));
    }

    /// Steps until nothing is left, and holds the outcome against the model.
    pub(super) fn finish(&mut self) {
        let start = self.bench.cycle();
        while !self.bench.is_sent() || self.get("busy") {
            assert!(self.bench.cycle() - start < LIMIT, "{}", self.bench.stuck(LIMIT));
            self.step();
        }
        assert!(self.works.is_empty() && self.rewinds.is_empty() && self.changes.is_empty());
        self.compare();
    }

    pub(super) fn compare(&mut self) {
        fn same<T: PartialEq + std::fmt::Debug>(name: &str, seen: &[T], expected: &[T]) {
            for (at, (seen, expected)) in seen.iter().zip(expected).enumerate() {
                assert_eq!(seen, expected, "{name} {at}");
            }
            assert_eq!(seen.len(), expected.len(), "{name}");
        }
        let (seen, expected) = (&self.seen, &self.expected);
        same("message", &seen.message, &expected.message);
        same("local", &seen.local, &expected.local);
        same("key", &seen.key, &expected.key);
        same("progress", &seen.progress, &expected.progress);
        same("failure", &seen.failures, &expected.failures);
        same("flush", &seen.flushes, &expected.flushes);
        same("alarm", &seen.alarm, &expected.alarm);
        same("row", &seen.sent, &expected.sent);
        same("entry", &seen.entries, &expected.entries);
        same("epoch", &seen.epochs, &expected.epochs);
        same("unit of local work", &seen.local_units, &expected.local_units);
        same("unit of a message", &seen.message_units, &expected.message_units);
        assert_eq!(seen.read_waits, expected.read_waits, "READs that waited");
        for (qpn, queue) in &self.model.queues {
            let mut shown = self.requesters.get(qpn).copied().unwrap_or_default();
            let mut known = RequesterRow { stopped: queue.is_stopped(), ..RequesterRow::default() };
            if queue.started {
                known = RequesterRow {
                    started: true,
                    held: queue.held,
                    frontier: (queue.frontier & 0xff_ffff).into(),
                    head: (queue.head & 0x3f).into(),
                    reads: (queue.reads & 0x1f).into(),
                    ..known
                };
            } else {
                // The end of a job without a request may have told the first PSN.
                shown.frontier = 0.into();
            }
            assert_eq!(shown, known, "what is shown of queue pair {qpn}");
        }
    }

    /// Finishes, and hands over what came since the last time.
    pub(super) fn outcome(&mut self) -> Seen {
        self.finish();
        self.expected = Seen::default();
        std::mem::take(&mut self.seen)
    }

    /// Answers have come: so many messages are over, so many READs among them.
    pub(super) fn acknowledge(&mut self, qpn: u64, tail: u64, reads: u64) {
        let row = AckedRow { tail: (tail % 64).into(), reads: (reads % 32).into(), failed: false };
        self.step_with(Some((qpn, row)));
    }

    /// So many messages are over, and the last of them has failed.
    pub(super) fn give_up(&mut self, qpn: u64, tail: u64) {
        let row = AckedRow { tail: (tail % 64).into(), reads: 0.into(), failed: true };
        self.step_with(Some((qpn, row)));
    }

    pub(super) fn get(&self, port: &str) -> bool {
        read(&self.bench, port)
    }

    pub(super) fn is_ready(&self) -> bool {
        self.get("ready")
    }

    fn set<T: Packed>(&mut self, name: &str, value: &T) {
        let port = self.bench.model().port(name).expect("the port exists");
        self.bench.model_mut().set_wide(port, &value.to_words());
    }
}
