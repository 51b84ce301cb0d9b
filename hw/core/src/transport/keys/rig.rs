//! Keys between those who ask, the owner of the keys, and traffic that uses them.

use std::collections::VecDeque;

use rust_hdl::prelude::Bits;
use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

use super::Keys;
use super::model::{Item, Told, WAYS, Wait, Ways};
use crate::host::work::{Done, QpChange, QpError};
use crate::pack::Packed;
use crate::state::command::{KeyVerb, KeyWork};
use crate::testing::{collect, noise, push, read, verilated};
use crate::transport::records::{KeyJob, KeyedRow, Nudge};

/// The names of the ways.
pub(super) const NAMES: [&str; WAYS] = ["arrival", "atomic", "answer", "kernel_read", "kernel_write"];
/// log2 of the queue pairs.
pub(super) const QPS: usize = 2;
/// Cycles after which Keys count as stuck.
const LIMIT: u64 = 50_000;

/// The work that the owner has.
#[derive(Debug)]
struct Current {
    item: Item,
    cause: Option<u64>,
    /// Of what was under way when the owner replied.
    wait: Option<Wait>,
    is_settled: bool,
    /// What is still to be told.
    told: Told,
}

pub(super) struct Rig {
    pub(super) bench: Bench,
    /// Job, part, reply, change.
    pub(super) inputs: [SourceId; 4],
    /// Work, done, error, nudge.
    pub(super) outputs: [SinkId; 4],
    /// Queued and not taken.
    jobs: VecDeque<KeyJob>,
    parts: VecDeque<KeyWork>,
    changes: VecDeque<QpChange>,
    /// Taken and not asked; of parts the wait for what was before.
    pub(super) waiting_jobs: VecDeque<KeyJob>,
    pub(super) waiting_parts: VecDeque<(KeyWork, Wait)>,
    current: Option<Current>,
    /// When the owner replies, and what.
    reply: Option<(u64, u64)>,
    pub(super) ways: Ways,
    /// Of 100 cycles so many let one enter on each way, and so many one leave.
    pub(super) traffic: (u64, u64),
    /// One in so many works is refused, and the owner takes up to so many cycles.
    pub(super) refuses: u64,
    pub(super) delay: u64,
    pub(super) drains: bool,
    /// `None`: not known.
    rows: [Option<KeyedRow>; 1 << QPS],
    pub(super) turns: [bool; 1 << QPS],
    looked: usize,
    /// In the order of their ends, with their causes.
    pub(super) ended: Vec<(Item, u64)>,
    pub(super) rng: SplitMix64,
}

impl Rig {
    pub(super) fn new() -> Self {
        let mut bench = verilated("keys", Keys::<QPS>::default);
        let inputs =
            ["job", "part", "reply", "change"].map(|name| bench.source(name).expect("the stream exists"));
        let outputs =
            ["work", "done", "error", "nudge"].map(|name| bench.sink(name).expect("the stream exists"));
        bench.reset(2);
        let mut rig = Self {
            bench,
            inputs,
            outputs,
            jobs: VecDeque::new(),
            parts: VecDeque::new(),
            changes: VecDeque::new(),
            waiting_jobs: VecDeque::new(),
            waiting_parts: VecDeque::new(),
            current: None,
            reply: None,
            ways: Ways::default(),
            traffic: (0, 0),
            refuses: u64::MAX,
            delay: 1,
            drains: false,
            rows: [None; 1 << QPS],
            turns: [false; 1 << QPS],
            looked: 0,
            ended: Vec::new(),
            rng: SplitMix64::new(5),
        };
        (0..1 << QPS).for_each(|qpn| rig.begin_anew(qpn));
        rig.settle();
        rig
    }

    pub(super) fn begin_anew(&mut self, qpn: usize) {
        let change = QpChange { qpn: (qpn as u64).into(), resets: true, ..QpChange::default() };
        self.send_change(change);
        self.turns[qpn] = false;
    }

    pub(super) fn send_change(&mut self, change: QpChange) {
        push(&mut self.bench, self.inputs[3], &[change]);
        self.changes.push_back(change);
    }

    /// Of noise, but for verb, queue pair, and whether success is told.
    pub(super) fn send_job(&mut self, verb: KeyVerb, qpn: usize, signaled: bool) -> KeyJob {
        self.turns[qpn] = !self.turns[qpn];
        let (verb, turn) = ((verb as u64).into(), self.turns[qpn]);
        let job = KeyJob { verb, qpn: (qpn as u64).into(), signaled, turn, ..noise(&mut self.rng) };
        push(&mut self.bench, self.inputs[0], &[job]);
        self.jobs.push_back(job);
        job
    }

    pub(super) fn send_part(&mut self, qpn: usize) -> KeyWork {
        let verb = (KeyVerb::Part as u64).into();
        let part = KeyWork { verb, qpn: (qpn as u64).into(), ..noise(&mut self.rng) };
        push(&mut self.bench, self.inputs[1], &[part]);
        self.parts.push_back(part);
        part
    }

    /// Is no job of this queue pair anywhere?
    pub(super) fn is_free(&self, qpn: usize) -> bool {
        let is_other = |job: &KeyJob| job.qpn.index() != qpn;
        let item = self.current.as_ref().map(|current| current.item);
        self.jobs.iter().all(is_other)
            && self.waiting_jobs.iter().all(is_other)
            && !matches!(item, Some(Item::Job(job)) if !is_other(&job))
            && self.changes.iter().all(|change| change.qpn.index() != qpn)
    }

    pub(super) fn pause(&mut self, pauses: [Pause; 7]) {
        let [job, part, change, outputs @ ..] = pauses;
        for (input, pause) in [0, 1, 3].into_iter().zip([job, part, change]) {
            self.bench[self.inputs[input]].pause(pause);
        }
        for (sink, pause) in self.outputs.into_iter().zip(outputs) {
            self.bench[sink].pause(pause);
        }
    }

    fn set<T: Packed>(&mut self, name: &str, value: &T) {
        let port = self.bench.model().port(name).expect("the port exists");
        self.bench.model_mut().set_wide(port, &value.to_words());
    }

    pub(super) fn get(&self, port: &str) -> bool {
        read(&self.bench, port)
    }

    /// One cycle.
    pub(super) fn step(&mut self) {
        let moved: [(bool, bool); WAYS] = std::array::from_fn(|way| {
            let enters = self.rng.below(100) < self.traffic.0;
            let is_inside = self.ways.entered[way] + u64::from(enters) > self.ways.left[way];
            let leaves = is_inside && self.rng.below(100) < self.traffic.1;
            self.set(&format!("{}_enters", NAMES[way]), &enters);
            self.set(&format!("{}_leaves", NAMES[way]), &leaves);
            (enters, leaves)
        });
        self.looked = usize::try_from(self.rng.below(1 << QPS)).expect("small");
        // What ends without a word is seen by its row alone.
        if let Some(Current { item: Item::Job(job), .. }) = &self.current {
            self.looked = job.qpn.index();
        }
        self.set("look", &true);
        self.set("look_index", &Bits::<QPS>::from(self.looked as u64));
        let drains = std::mem::take(&mut self.drains);
        self.set("drain", &drains);
        if let Some((due, cause)) = self.reply
            && self.bench.cycle() >= due
        {
            push(&mut self.bench, self.inputs[2], &[Bits::<3>::from(cause)]);
            self.reply = None;
        }
        let before = self.inputs.map(|input| self.bench[input].sent());
        self.bench.step();
        let came: [bool; 4] = std::array::from_fn(|at| self.bench[self.inputs[at]].sent() > before[at]);
        for (way, (enters, leaves)) in moved.into_iter().enumerate() {
            self.ways.entered[way] += u64::from(enters);
            self.ways.left[way] += u64::from(leaves);
        }
        self.observe(came);
    }

    fn observe(&mut self, came: [bool; 4]) {
        let keyed: KeyedRow = read(&self.bench, "keyed");
        let mut row = None;
        if came[0] {
            self.waiting_jobs.extend(self.jobs.pop_front());
        }
        if came[1] {
            let part = self.parts.pop_front().expect("it was queued");
            self.waiting_parts.push_back((part, Wait::begin(&self.ways)));
        }
        for (_, wait) in &mut self.waiting_parts {
            wait.look(&self.ways);
        }
        let ways = self.ways;
        if came[2] {
            let current = self.current.as_mut().expect("a reply is to a work");
            current.wait = Some(Wait::begin(&ways));
        }
        if let Some(current) = &mut self.current
            && let (Some(wait), Some(cause)) = (&mut current.wait, current.cause)
        {
            current.is_settled |= wait.look(&ways) || !current.item.settles(cause);
        }
        self.hear(&mut row);
        // A silent end.
        if let Some(current) = &self.current
            && current.is_settled
            && current.cause == Some(0)
            && let Told { error: None, done: None, nudge: None, row: Some((qpn, ended)) } = current.told
            && keyed == ended
        {
            assert_eq!(self.looked, qpn);
            self.rows[qpn] = Some(ended);
            self.end();
        }
        if let Some(expected) = self.rows[self.looked] {
            assert_eq!(keyed, expected, "row {}", self.looked);
        }
        if came[3] {
            let change = self.changes.pop_front().expect("it was queued");
            assert!(row.is_none(), "both in one cycle");
            if change.resets {
                self.rows[change.qpn.index()] = Some(KeyedRow::default());
            }
        }
        if let Some((qpn, ended)) = row {
            self.rows[qpn] = Some(ended);
        }
        self.ask();
    }

    fn end(&mut self) {
        let current = self.current.take().expect("one is under way");
        self.ended.push((current.item, current.cause.expect("it was judged")));
    }

    /// What is told in this cycle is what the model says, and nothing is told too soon.
    fn hear(&mut self, row: &mut Option<(usize, KeyedRow)>) {
        let [_, done, error, nudge] = self.outputs;
        let errors = collect::<QpError>(&mut self.bench, error);
        let dones = collect::<Done>(&mut self.bench, done);
        let nudges = collect::<Nudge>(&mut self.bench, nudge);
        let tells = ["done$valid", "error$valid", "nudge$valid"].iter().any(|port| self.get(port));
        let count = errors.len() + dones.len() + nudges.len();
        if count == 0 && !tells {
            return;
        }
        let current = self.current.as_mut().expect("it is told of a work");
        assert!(current.is_settled, "told too soon: {current:?}");
        assert!(count <= 1, "one after the other");
        for found in errors {
            assert_eq!(Some(found), current.told.error.take());
        }
        for found in dones {
            assert_eq!(current.told.error, None, "the error comes first");
            assert_eq!(Some(found), current.told.done.take());
        }
        for found in nudges {
            assert_eq!(Some(found), current.told.nudge.take());
        }
        let Told { error, done, nudge, row: news } = current.told;
        if count == 1 && error.is_none() && done.is_none() && nudge.is_none() {
            *row = news;
            self.end();
        }
    }

    /// The owner is asked, about the oldest of either kind, and not too soon.
    fn ask(&mut self) {
        let works = collect::<KeyWork>(&mut self.bench, self.outputs[0]);
        for work in works {
            assert!(self.current.is_none(), "one at a time");
            let item = if u64::from(work.verb) == KeyVerb::Part as u64 {
                let (part, mut wait) = self.waiting_parts.pop_front().expect("it was taken");
                assert!(wait.look(&self.ways), "what was before it is under way");
                Item::Part(part)
            } else {
                Item::Job(self.waiting_jobs.pop_front().expect("it was taken"))
            };
            assert_eq!(work, item.work());
            let cause = if self.rng.below(self.refuses) == 0 { 1 + self.rng.below(6) } else { 0 };
            let told = item.told(cause);
            self.current = Some(Current { item, cause: Some(cause), wait: None, is_settled: false, told });
            self.reply = Some((self.bench.cycle() + self.rng.below(self.delay), cause));
        }
    }

    pub(super) fn settle(&mut self) {
        let start = self.bench.cycle();
        while !self.bench.is_sent() || self.get("busy") || self.current.is_some() {
            assert!(self.bench.cycle() - start < LIMIT, "{}", self.bench.stuck(LIMIT));
            self.step();
        }
        self.step();
    }

    /// After a reset: nothing is under way, and no row is known.
    pub(super) fn forget(&mut self) {
        self.waiting_jobs.clear();
        self.waiting_parts.clear();
        (self.current, self.reply) = (None, None);
        self.ways = Ways::default();
        self.rows = [None; 1 << QPS];
        for sink in self.outputs {
            self.bench[sink].take();
        }
    }
}
