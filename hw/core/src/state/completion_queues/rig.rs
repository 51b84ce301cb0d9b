//! The completion queues on a bench: the model follows the order in which beats are taken.

use std::collections::VecDeque;

use rust_hdl::prelude::Bits;
use stroma_abi::desc::completion_queue::MODERATION_ATTRIBUTE;
use stroma_abi::desc::{CompletionQueue, Verb};
use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

use super::CompletionQueues;
use super::model::{INDICES, Outcome, Queue, Queues, order};
use crate::host::work::{CqDoorbell, Done, EntryWrite, EventRecord, QpError};
use crate::pack::Packed;
use crate::state::command::{ObjectCommand, ObjectReply};
use crate::testing::{collect, noise, push, read, verilated};

/// log2 of the queues.
pub(super) const CQS: usize = 3;
/// log2 of the doorbell pages.
pub(super) const PAGES: usize = 2;
/// A microsecond has 2.6 cycles.
pub(super) const CLOCK_KHZ: u64 = 2600;
/// Cycles after which the block counts as stuck.
const LIMIT: u64 = 100_000;

pub(super) struct Rig {
    pub(super) bench: Bench,
    pub(super) done: SourceId,
    pub(super) doorbell: SourceId,
    pub(super) command: SourceId,
    pub(super) entry: SinkId,
    pub(super) event: SinkId,
    pub(super) error: SinkId,
    pub(super) reply: SinkId,
    pub(super) queues: Queues,
    pub(super) rng: SplitMix64,
    /// The time at cycle 0.
    epoch: u64,
    /// Cycles of visits.
    pub(super) visits: Vec<u64>,
    dones: VecDeque<Done>,
    doorbells: VecDeque<CqDoorbell>,
    commands: VecDeque<ObjectCommand>,
    entries: VecDeque<EntryWrite>,
    /// With the entries that have to be taken before.
    events: VecDeque<(u64, EventRecord)>,
    errors: VecDeque<QpError>,
    /// With: it ends a queue.
    replies: VecDeque<(ObjectReply, bool)>,
    /// Entries made, and taken.
    pub(super) made: u64,
    pub(super) taken: u64,
    pub(super) told: u64,
    /// Expected and seen: bad, wrong page, overflow.
    pulses: [[u64; 2]; 3],
    /// Cycles that settling takes, and the cycle in which it ends.
    pub(super) settling_takes: u64,
    settles_at: Option<u64>,
    /// The last reply, and entries and events in the cycle of their arrival.
    pub(super) last_reply: Option<ObjectReply>,
    pub(super) arrivals: Vec<(&'static str, u64)>,
}

impl Default for Rig {
    /// The block after reset and scrubbing.
    fn default() -> Self {
        let mut bench = verilated("completion_queues", || CompletionQueues::<CQS, PAGES>::new(CLOCK_KHZ));
        let [done, doorbell, command] =
            ["done", "doorbell", "command"].map(|name| bench.source(name).expect("the stream exists"));
        let [entry, event, error, reply] =
            ["entry", "event", "error", "reply"].map(|name| bench.sink(name).expect("the stream exists"));
        let mut rig = Self {
            bench,
            done,
            doorbell,
            command,
            entry,
            event,
            error,
            reply,
            queues: Queues::new(1 << CQS, 1 << PAGES, CLOCK_KHZ),
            rng: SplitMix64::new(1),
            epoch: 0,
            visits: Vec::new(),
            dones: VecDeque::new(),
            doorbells: VecDeque::new(),
            commands: VecDeque::new(),
            entries: VecDeque::new(),
            events: VecDeque::new(),
            errors: VecDeque::new(),
            replies: VecDeque::new(),
            made: 0,
            taken: 0,
            told: 0,
            pulses: [[0; 2]; 3],
            settling_takes: 9,
            settles_at: None,
            last_reply: None,
            arrivals: Vec::new(),
        };
        rig.reset();
        rig
    }
}

impl Rig {
    /// Puts the block through reset and waits until the table is scrubbed; beats that were not taken stay queued.
    pub(super) fn reset(&mut self) {
        self.set("settled", &false);
        self.bench.reset(2);
        for sink in [self.entry, self.event, self.error, self.reply] {
            self.bench[sink].take();
        }
        self.queues = Queues::new(1 << CQS, 1 << PAGES, CLOCK_KHZ);
        self.epoch = self.rng.next_u64() >> 1;
        self.visits.clear();
        self.entries.clear();
        self.events.clear();
        self.errors.clear();
        self.replies.clear();
        self.arrivals.clear();
        (self.made, self.taken, self.told, self.pulses) = (0, 0, 0, [[0; 2]; 3]);
        self.settles_at = None;
        let scrub = self.bench.run_until(|bench| read(bench, "ready"), 1 << (CQS + 1));
        assert_eq!(scrub.expect("the table is scrubbed"), 1 << CQS, "a row a cycle");
    }

    /// Pauses of `done`, `doorbell`, `command`, `entry`, `event`, `error` and `reply`.
    pub(super) fn pause(&mut self, [done, doorbell, command, entry, event, error, reply]: [Pause; 7]) {
        self.bench[self.done].pause(done);
        self.bench[self.doorbell].pause(doorbell);
        self.bench[self.command].pause(command);
        self.bench[self.entry].pause(entry);
        self.bench[self.event].pause(event);
        self.bench[self.error].pause(error);
        self.bench[self.reply].pause(reply);
    }

    pub(super) fn set<T: Packed>(&mut self, port: &str, value: &T) {
        let port = self.bench.model().port(port).expect("the port exists");
        self.bench.model_mut().set_wide(port, &value.to_words());
    }

    pub(super) fn complete(&mut self, done: Done) {
        push(&mut self.bench, self.done, &[done]);
        self.dones.push_back(done);
    }

    pub(super) fn ring(&mut self, doorbell: CqDoorbell) {
        push(&mut self.bench, self.doorbell, &[doorbell]);
        self.doorbells.push_back(doorbell);
    }

    pub(super) fn order(&mut self, command: &ObjectCommand) {
        push(&mut self.bench, self.command, &[*command]);
        self.commands.push_back(*command);
    }

    /// Is nothing of this kind queued?
    pub(super) fn is_quiet(&self) -> [bool; 3] {
        [self.dones.is_empty(), self.doorbells.is_empty(), self.commands.is_empty()]
    }

    /// One cycle.
    pub(super) fn step(&mut self) {
        let now = self.bench.cycle();
        let time = self.epoch + now;
        self.set("time_", &Bits::<64>::from(time));
        // Nothing that is set here has a say in it.
        let visits = read::<bool>(&self.bench, "visits");
        let settles = self.settles_at == Some(now);
        self.set("settled", &settles);
        let sent = [self.done, self.doorbell, self.command].map(|source| self.bench[source].sent());
        self.bench.step();
        let moved = [self.done, self.doorbell, self.command].map(|source| self.bench[source].sent());
        if settles {
            self.settles_at = None;
        }
        let operations = moved.iter().sum::<u64>() - sent.iter().sum::<u64>() + u64::from(visits);
        assert!(operations <= 1, "one operation at a time");
        self.receive(now);
        if moved[0] > sent[0] {
            let done = self.dones.pop_front().expect("it was queued");
            let outcome = self.queues.complete(&done, time);
            self.expect(&outcome);
        }
        if moved[1] > sent[1] {
            let doorbell = self.doorbells.pop_front().expect("it was queued");
            let outcome = self.queues.consume(&doorbell, time);
            self.expect(&outcome);
        }
        if moved[2] > sent[2] {
            let command = self.commands.pop_front().expect("it was queued");
            let reply = self.queues.command(&command);
            self.replies.push_back(reply);
        }
        if visits {
            let outcome = self.queues.visit(time);
            self.expect(&outcome);
            self.visits.push(now);
        }
        if !self.queues.line.is_empty() {
            assert!(read::<bool>(&self.bench, "patrols"), "somebody stands in line");
        }
        // Queue pairs that end rely on it.
        let is_on_offer = read::<bool>(&self.bench, "entry$valid");
        assert_eq!(self.entries.len(), usize::from(is_on_offer), "entries that were made and not taken");
        for (pulse, name) in self.pulses.iter_mut().zip(["bad", "wrong_page", "overflow"]) {
            pulse[1] += u64::from(read::<bool>(&self.bench, name));
        }
        if read::<bool>(&self.bench, "settle") {
            assert!(self.replies.back().is_some_and(|(_, ends)| *ends), "no queue ends");
            assert_eq!(self.taken, self.made, "entries are left outside");
            self.settles_at = Some(now + 1 + self.settling_takes);
        }
    }

    fn expect(&mut self, outcome: &Outcome) {
        self.pulses[0][0] += u64::from(outcome.bad);
        self.pulses[1][0] += u64::from(outcome.wrong_page);
        self.pulses[2][0] += u64::from(outcome.error.is_some());
        self.made += u64::from(outcome.entry.is_some());
        self.entries.extend(outcome.entry);
        self.events.extend(outcome.event.map(|event| (self.made, event)));
        self.errors.extend(outcome.error);
    }

    /// Holds what came out against what was expected. Events first: the entry has to be taken in an earlier cycle.
    fn receive(&mut self, now: u64) {
        for event in collect::<EventRecord>(&mut self.bench, self.event) {
            let (before, expected) = self.events.pop_front().expect("an event is due");
            assert_eq!(event, expected);
            assert!(self.taken >= before, "an event came before its entry");
            self.told += 1;
            self.arrivals.push(("event", now));
        }
        for entry in collect::<EntryWrite>(&mut self.bench, self.entry) {
            assert_eq!(Some(entry), self.entries.pop_front());
            self.taken += 1;
            self.arrivals.push(("entry", now));
        }
        for error in collect::<QpError>(&mut self.bench, self.error) {
            assert_eq!(Some(error), self.errors.pop_front());
        }
        for reply in collect::<ObjectReply>(&mut self.bench, self.reply) {
            let (expected, ends) = self.replies.pop_front().expect("a reply is due");
            assert_eq!(reply, expected);
            assert!(!ends || self.settles_at.is_none(), "the entries have not settled");
            self.last_reply = Some(reply);
            self.arrivals.push(("reply", now));
        }
    }

    pub(super) fn run(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.step());
    }

    /// Steps until nothing is left inside or on its way; everything expected has come.
    pub(super) fn finish(&mut self) {
        let start = self.bench.cycle();
        while !self.bench.is_sent() || read::<bool>(&self.bench, "busy") {
            assert!(self.bench.cycle() - start < LIMIT, "the block is stuck");
            self.step();
        }
        assert!(self.entries.is_empty() && self.events.is_empty(), "entries and events come");
        assert!(self.errors.is_empty() && self.replies.is_empty(), "errors and replies come");
        for (pulse, name) in self.pulses.iter().zip(["bad", "wrong_page", "overflow"]) {
            assert_eq!(pulse[0], pulse[1], "{name}");
        }
    }

    /// Steps until nobody waits for their time.
    pub(super) fn rest(&mut self) {
        self.finish();
        let start = self.bench.cycle();
        while read::<bool>(&self.bench, "patrols") {
            assert!(self.bench.cycle() - start < LIMIT, "a queue waits for ever");
            self.step();
        }
        self.finish();
        assert!(self.queues.line.is_empty(), "those in line are visited");
        assert!(!self.queues.rows.values().any(Queue::is_timed), "an event is missing");
    }

    /// Doorbells that were bad, through a wrong page, and completions lost.
    pub(super) fn counts(&self) -> [u64; 3] {
        self.pulses.map(|pulse| pulse[1])
    }

    /// Creates a queue, and waits for it.
    pub(super) fn create(&mut self, cq: u64, base: u64, log: u8, page: u16) {
        let asked = CompletionQueue { base, log, page, ..CompletionQueue::default() };
        let command = order(Verb::Create as u8, cq, &asked, &noise(&mut self.rng));
        self.order(&command);
        self.finish();
        assert!(self.queues.rows.contains_key(&cq), "the queue exists");
    }

    /// Changes a queue's moderation.
    pub(super) fn moderate(&mut self, cq: u64, count: u16, period: u16) {
        let asked = CompletionQueue { count, period, ..CompletionQueue::default() };
        let command = order(Verb::Modify as u8, cq, &asked, &noise(&mut self.rng));
        self.order(&ObjectCommand { attributes: MODERATION_ATTRIBUTE.into(), ..command });
        self.finish();
    }

    /// Asks for a queue; the reply is held against the model's.
    pub(super) fn query(&mut self, cq: u64) {
        let command = order(Verb::Query as u8, cq, &CompletionQueue::default(), &noise(&mut self.rng));
        self.order(&command);
        self.finish();
    }

    pub(super) fn destroy(&mut self, cq: u64) {
        let asked = CompletionQueue::default();
        let command = order(Verb::Destroy as u8, cq, &asked, &noise(&mut self.rng));
        self.order(&command);
    }

    /// A successful completion with noise for the rest.
    pub(super) fn success(&mut self, cq: u64) -> Done {
        Done { cq: cq.into(), status: 0.into(), flags: 0.into(), ..noise(&mut self.rng) }
    }

    /// A doorbell of the right page that takes so many entries.
    pub(super) fn takes(&self, cq: u64, entries: u64, arm: u64) -> CqDoorbell {
        let queue = self.queues.rows.get(&cq).copied().unwrap_or(Queue::default());
        CqDoorbell {
            cq: cq.into(),
            page: queue.page.into(),
            consumer: ((queue.consumer + entries) % INDICES).into(),
            arm: arm.into(),
        }
    }
}
