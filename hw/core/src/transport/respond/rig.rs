//! The answers on a bench, each operation given to the model in the cycle in which it is taken: none overtakes another.

pub(super) mod book;

use std::collections::{BTreeSet, VecDeque};

use book::Book;
use rust_hdl::prelude::Bits;
use stroma_abi::wire::{RpcStatus, opcode};
use stroma_verilate::{Bench, SinkId, SourceId, SplitMix64};

use super::Respond;
use super::model::Model;
use crate::fabric::records::{ResultRow, STAGES_LOG};
use crate::host::work::{QpChange, QpError};
use crate::pack::Packed;
use crate::testing::{collect, noise, push, read, verilated};
use crate::transport::records::{Answer, Task, TxFailure, TxStep};

/// log2 of the queue pairs, but where a test says otherwise.
const QPS: usize = 2;
const RING: usize = QPS + 4;
/// Tickets done at the start.
const START: u64 = 1 << 20;
/// `now` in cycle 0: it wraps soon.
const BEGIN: u64 = (1 << 32) - 3000;
/// Cycles after which the block counts as stuck.
const LIMIT: u64 = 100_000;

/// What the block did in a cycle.
#[derive(Clone, Debug)]
enum Event {
    Task(Box<(Task, u64)>),
    /// A notice, and the cycle in which it counts.
    Notice(Bits<24>, u64),
    Failure(TxFailure),
    Change(QpChange),
    /// A step of this colour was made, in this cycle; tickets done in the cycle before; its payload is in the staging.
    Step {
        colour: bool,
        cycle: u64,
        done: u64,
        is_staged: bool,
    },
    /// An answer of this queue pair that was asked for again is not sent.
    Outdated(usize),
}

pub(super) struct Rig {
    pub(super) bench: Bench,
    /// log2 of the queue pairs.
    log: usize,
    pub(super) task: SourceId,
    pub(super) notice: SourceId,
    pub(super) failure: SourceId,
    pub(super) change: SourceId,
    pub(super) step: SinkId,
    pub(super) error: SinkId,
    pub(super) model: Model,
    pub(super) rng: SplitMix64,
    /// Tickets, counted from the first ever; only their low 16 bits are seen.
    pub(super) done: u64,
    /// That of the READ sent last.
    pub(super) ticket: u64,
    pub(super) pause: bool,
    /// Every step so far, with the cycle in which it was made.
    pub(super) steps: Vec<(u64, TxStep)>,
    pub(super) errors: Vec<QpError>,
    pub(super) dropped: u64,
    pub(super) cnps: u64,
    /// For each queue pair, how many READs and atomics are over, each number once.
    pub(super) answered: Vec<Vec<u64>>,
    /// RPCs of each queue pair, where its results are, and the places of the staging that are not in use.
    pub(super) books: Vec<Book>,
    pub(super) areas: Vec<ResultRow>,
    pub(super) stages: BTreeSet<u64>,
    pub(super) sent_stages: Vec<u64>,
    pub(super) freed_stages: Vec<u64>,
    pub(super) outdated: u64,
    looked_up: Option<usize>,
    /// Most cycles for which an input has waited.
    pub(super) longest: u64,
    waits: [u64; 4],
    tasks: VecDeque<(Task, u64)>,
    notices: VecDeque<Bits<24>>,
    failures: VecDeque<TxFailure>,
    changes: VecDeque<QpChange>,
    done_before: u64,
    events: VecDeque<Event>,
    taken: VecDeque<TxStep>,
    /// Of the visit under way, and the cycle of its last step.
    burst: VecDeque<TxStep>,
    last_step: u64,
}

impl Default for Rig {
    fn default() -> Self {
        Self::new(verilated("respond", Respond::<QPS, RING>::default), QPS)
    }
}

/// An acknowledgement.
pub(super) fn ack(number: u64, psn: u64, syndrome: u8) -> Task {
    Task {
        qpn: number.into(),
        answer: (Answer::Acknowledge as u64).into(),
        psn: psn.into(),
        msn: (psn + 100).into(),
        syndrome: u64::from(syndrome).into(),
        ..Task::default()
    }
}

/// A READ of so many bytes in packets of 1024, whose data may go at once.
pub(super) fn data(number: u64, psn: u64, length: u64) -> Task {
    Task {
        qpn: number.into(),
        pd: (number + 7).into(),
        path_mtu: 3.into(),
        answer: (Answer::Data as u64).into(),
        psn: psn.into(),
        msn: ((psn + 200) & 0xff_ffff).into(),
        va: (0x1234_5678_9abc_0000 + psn).into(),
        key: (psn + 0x1000).into(),
        length: length.into(),
        fresh: true,
        ..Task::default()
    }
}

/// An RPC, whose answer begins with this PSN.
pub(super) fn result(number: u64, psn: u64, place: u64) -> Task {
    Task {
        answer: (Answer::Result as u64).into(),
        place: place.into(),
        ticket: 0x7fff.into(),
        ..data(number, psn, 0xffff_ffff)
    }
}

/// It has all bytes of its answer in the result area.
pub(super) fn finished(number: u64, place: u64, length: u64) -> Task {
    Task {
        answer: (Answer::Finished as u64).into(),
        length: length.into(),
        status: (RpcStatus::Limit as u64 + (place << 8)).into(),
        ..result(number, 0, place)
    }
}

/// It has them in the staging.
pub(super) fn staged(number: u64, place: u64, length: u64, stage: u64) -> Task {
    Task { staged: true, stage: stage.into(), ..finished(number, place, length) }
}

/// Its answer is to be sent again, from this packet of 1024 bytes on.
pub(super) fn replay(number: u64, psn: u64, place: u64, length: u64, packet: u64) -> Task {
    Task {
        answer: (Answer::Replay as u64).into(),
        psn: psn.into(),
        msn: (psn + 300).into(),
        va: (1024 * packet).into(),
        ..finished(number, place, length)
    }
}

/// It came again, and still runs.
pub(super) fn pending(number: u64, psn: u64, place: u64) -> Task {
    Task { answer: (Answer::Pending as u64).into(), ..result(number, psn, place) }
}

/// Where results may be.
fn any_area(rng: &mut SplitMix64) -> ResultRow {
    let log = 12 + rng.below(5);
    let base = rng.next_u64() >> (log + 4) << (log + 4) >> 12;
    ResultRow { exists: true, base: base.into(), log: log.into(), key: noise(rng) }
}

/// What an atomic found.
pub(super) fn value(number: u64, psn: u64, found: u64) -> Task {
    Task {
        answer: (Answer::Value as u64).into(),
        value: found.into(),
        ticket: 0x7fff.into(),
        ..data(number, psn, 0xffff_ffff)
    }
}

impl Rig {
    /// With eight queue pairs, which are more than the front of the line holds.
    pub(super) fn with_eight() -> Self {
        Self::new(verilated("respond_eight", Respond::<3, 7>::default), 3)
    }

    fn new(mut bench: Bench, log: usize) -> Self {
        let [task, notice, failure, change] = ["task", "notice", "failure", "change"]
            .map(|name| bench.source(name).expect("the stream exists"));
        let [step, error] = ["step", "error"].map(|name| bench.sink(name).expect("the stream exists"));
        let mut rig = Self {
            bench,
            log,
            task,
            notice,
            failure,
            change,
            step,
            error,
            model: Model::new(log),
            rng: SplitMix64::new(0),
            done: START,
            ticket: START,
            pause: false,
            steps: Vec::new(),
            errors: Vec::new(),
            dropped: 0,
            cnps: 0,
            answered: Vec::new(),
            books: Vec::new(),
            areas: Vec::new(),
            stages: BTreeSet::new(),
            sent_stages: Vec::new(),
            freed_stages: Vec::new(),
            outdated: 0,
            looked_up: None,
            longest: 0,
            waits: [0; 4],
            tasks: VecDeque::new(),
            notices: VecDeque::new(),
            failures: VecDeque::new(),
            changes: VecDeque::new(),
            done_before: START,
            events: VecDeque::new(),
            taken: VecDeque::new(),
            burst: VecDeque::new(),
            last_step: 0,
        };
        rig.reset(0);
        rig.run(rig.queue_pairs());
        rig
    }

    /// How many queue pairs there are.
    pub(super) fn queue_pairs(&self) -> u64 {
        1 << self.log
    }

    /// Resets the block. Nothing may be left in a source.
    pub(super) fn reset(&mut self, seed: u64) {
        assert!(self.bench.is_sent(), "a beat of the run before is left");
        self.bench.reset(2);
        for sink in [self.step, self.error] {
            self.bench[sink].take();
        }
        self.model = Model::new(self.log);
        self.rng = SplitMix64::new(seed);
        self.areas = (0..1 << self.log).map(|_| any_area(&mut self.rng)).collect();
        self.model.areas.clone_from(&self.areas);
        self.books = vec![Book::default(); 1 << self.log];
        self.stages = (0..1 << STAGES_LOG).collect();
        (self.outdated, self.looked_up) = (0, None);
        self.sent_stages.clear();
        self.freed_stages.clear();
        (self.done, self.done_before, self.ticket, self.pause) = (START, START, START, false);
        (self.dropped, self.cnps, self.longest, self.waits) = (0, 0, 0, [0; 4]);
        self.answered = vec![Vec::new(); 1 << self.log];
        self.steps.clear();
        self.errors.clear();
        self.events.clear();
        self.taken.clear();
        self.burst.clear();
        assert!(!read::<bool>(&self.bench, "ready"), "the rows are being scrubbed");
    }

    fn set(&mut self, name: &str, value: u64) {
        let port = self.bench.model().port(name).expect("the port exists");
        self.bench.model_mut().set(port, value);
    }

    fn set_wide<T: Packed>(&mut self, name: &str, value: &T) {
        let port = self.bench.model().port(name).expect("the port exists");
        self.bench.model_mut().set_wide(port, &value.to_words());
    }

    pub(super) fn send(&mut self, task: &Task) {
        if task.staged && task.answer == Answer::Finished as u64 {
            assert!(self.stages.remove(&task.stage.into()), "a test uses a stage twice");
        }
        push(&mut self.bench, self.task, &[*task]);
        let (low, done) = (u64::from(task.ticket), self.done & 0xffff);
        // The full ticket whose low bits these are, in the half around `done`.
        let ahead = (low + (3 << 15) - done) % (1 << 16);
        self.tasks.push_back((*task, self.done + ahead - (1 << 15)));
    }

    pub(super) fn notify(&mut self, number: u64) {
        push::<Bits<24>>(&mut self.bench, self.notice, &[number.into()]);
        self.notices.push_back(number.into());
    }

    pub(super) fn fail(&mut self, number: u64, psn: Bits<24>) {
        let failure = TxFailure { is_response: true, qpn: number.into(), psn, ..TxFailure::default() };
        self.fail_with(failure);
    }

    pub(super) fn fail_with(&mut self, failure: TxFailure) {
        push(&mut self.bench, self.failure, &[failure]);
        self.failures.push_back(failure);
    }

    pub(super) fn tell(&mut self, number: u64, stops: bool, resets: bool) {
        self.change_to(QpChange { qpn: number.into(), resets, stops, ..QpChange::default() });
    }

    /// A queue pair is about to go.
    pub(super) fn end(&mut self, number: u64) {
        self.change_to(QpChange { qpn: number.into(), stops: true, ends: true, ..QpChange::default() });
    }

    fn change_to(&mut self, change: QpChange) {
        push(&mut self.bench, self.change, &[change]);
        self.changes.push_back(change);
    }

    /// One cycle.
    pub(super) fn step(&mut self) {
        let (cycle, colour) = (self.bench.cycle(), self.rng.below(2) == 1);
        self.set("done", self.done & 0xffff);
        self.set("pause", self.pause.into());
        self.set("now", (BEGIN + cycle) & 0xffff_ffff);
        self.set("cnp_interval", self.model.cnp_interval);
        self.set("colour", colour.into());
        if let Some(row) = self.looked_up.take().map(|index| self.areas[index]) {
            self.set_wide("area", &row);
        }
        let is_staged = self.watch_stages();
        if read::<bool>(&self.bench, "enters") {
            self.events.push_back(Event::Step { colour, cycle, done: self.done_before, is_staged });
        }
        if read::<bool>(&self.bench, "area_enable") {
            self.looked_up = Some(read::<Bits<24>>(&self.bench, "area_index").index());
        }
        let sources = [self.task, self.notice, self.failure, self.change];
        let sent = |rig: &Self| sources.map(|source| rig.bench[source].sent());
        let before = sent(self);
        self.bench.step();
        let after = sent(self);
        if read::<bool>(&self.bench, "outdated") {
            self.outdated += 1;
            let index = read::<Bits<16>>(&self.bench, "answered_index").index();
            self.events.push_back(Event::Outdated(index));
        }
        let event = match [0, 1, 2, 3].map(|source| before[source] != after[source]) {
            [true, false, false, false] => self.tasks.pop_front().map(|task| Event::Task(Box::new(task))),
            [false, true, false, false] => self.notices.pop_front().map(|qpn| Event::Notice(qpn, cycle + 1)),
            [false, false, true, false] => self.failures.pop_front().map(Event::Failure),
            [false, false, false, true] => self.changes.pop_front().map(Event::Change),
            [false, false, false, false] => None,
            moved => panic!("two operations end in one cycle: {moved:?}"),
        };
        self.events.extend(event);
        for (source, wait) in self.waits.iter_mut().enumerate() {
            let is_waiting = !self.bench[sources[source]].is_empty() || before[source] != after[source];
            *wait = if is_waiting { *wait + 1 } else { 0 };
            self.longest = self.longest.max(*wait);
            if before[source] != after[source] {
                *wait = 0;
            }
        }
        self.done_before = self.done;
        self.dropped += u64::from(read::<bool>(&self.bench, "data_dropped"));
        self.cnps += u64::from(read::<bool>(&self.bench, "cnps_sent"));
        if read::<bool>(&self.bench, "answered_write") {
            let index = read::<Bits<16>>(&self.bench, "answered_index").index();
            let number = read::<Bits<5>>(&self.bench, "answered").into();
            if self.answered[index].last() != Some(&number) {
                self.answered[index].push(number);
            }
        }
        self.taken.extend(collect::<TxStep>(&mut self.bench, self.step));
        self.errors.extend(collect::<QpError>(&mut self.bench, self.error));
        while self.follow() {}
    }

    /// What is told of the staging in this cycle; whether a step takes something from there.
    fn watch_stages(&mut self) -> bool {
        let stage = read::<Bits<5>>(&self.bench, "stage_number").into();
        let [sends, frees] = ["stage_sends", "stage_frees"].map(|port| read::<bool>(&self.bench, port));
        assert!(!(sends && frees), "both in one cycle");
        if sends || frees {
            assert!(self.stages.insert(stage), "stage {stage} is given back twice");
            if sends { &mut self.sent_stages } else { &mut self.freed_stages }.push(stage);
        }
        sends
    }

    /// Gives the model one event, as soon as all of it is known.
    fn follow(&mut self) -> bool {
        if matches!(self.events.front(), Some(Event::Step { .. })) && self.taken.is_empty() {
            return false;
        }
        match self.events.pop_front() {
            Some(Event::Task(task)) => self.model.task(&task.0, task.1),
            Some(Event::Notice(qpn, cycle)) => self.model.notice(qpn, cycle),
            Some(Event::Failure(failure)) => self.model.failure(&failure),
            Some(Event::Change(change)) => self.model.change(&change),
            Some(Event::Step { colour, cycle, done, is_staged }) => {
                self.receive(colour, cycle, done, is_staged);
            }
            Some(Event::Outdated(index)) => self.model.outdate(index),
            None => return false,
        }
        true
    }

    /// A step is what the model sends in that visit, and those of a visit follow each other.
    fn receive(&mut self, colour: bool, cycle: u64, done: u64, is_staged: bool) {
        let step = self.taken.pop_front().expect("a step was taken");
        assert_eq!(step.inline, is_staged, "the staging gives what the step takes from it");
        if self.burst.is_empty() {
            self.burst = self.model.serve(step.qpn.index(), done, cycle).into();
        } else {
            assert_eq!(cycle, self.last_step + 1, "a pause within a visit");
        }
        let expected = self.burst.pop_front().unwrap_or_else(|| panic!("nothing is owed: {step:?}"));
        assert_eq!(step, TxStep { colour, ..expected }, "step of cycle {cycle}");
        self.last_step = cycle;
        if step.op == u64::from(opcode::RPC_RESPONSE_END.code) {
            self.books[step.qpn.index()].end(u64::from(step.a1) >> 32);
        }
        self.steps.push((cycle, step));
    }

    pub(super) fn run(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.step());
    }

    /// Steps until nothing is left, and sees that everything came.
    pub(super) fn settle(&mut self) {
        let start = self.bench.cycle();
        self.step();
        while !self.bench.is_sent() || read::<bool>(&self.bench, "busy") {
            assert!(self.bench.cycle() - start < LIMIT, "the block is stuck");
            self.step();
        }
        assert!(self.events.is_empty() && self.taken.is_empty() && self.burst.is_empty());
        let owing = self.model.owed.iter().filter(|owed| owed.is_some() && !owed.is_held_up()).count();
        assert_eq!(owing, 0, "queue pairs still owe something");
        self.step();
        assert_eq!((self.dropped, self.cnps), (self.model.dropped, self.model.cnps));
        assert_eq!(self.outdated, self.model.outdated);
        assert_eq!(self.sent_stages, self.model.sent_stages, "stages sent from");
        assert_eq!(self.freed_stages, self.model.freed_stages, "stages given back");
        assert_eq!(self.errors, self.model.errors);
        assert_eq!(self.answered, self.model.answered, "READs and atomics that are over");
    }

    /// What was sent, as queue pair, op-code and PSN.
    pub(super) fn sent(&self) -> Vec<(u64, u64, u64)> {
        let brief = |(_, step): &(u64, TxStep)| (step.qpn.into(), step.op.into(), step.psn.into());
        self.steps.iter().map(brief).collect()
    }
}
