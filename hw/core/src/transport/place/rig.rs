//! The block on a bench, between judges, an MMU and a host that takes writes.

use std::collections::VecDeque;
use std::fmt::Debug;

use rust_hdl::prelude::Bits;
use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

use super::Place;
use super::ask::QUESTIONS;
use super::model::{Outcome, Tally, Twin, Visit, Write, translate};
use crate::host::work::{Done, HostWrite, QpChange, QpError};
use crate::state::access::XlatRequest;
use crate::state::mmu::XlatResponse;
use crate::stream::{Beat, beats};
use crate::testing::{collect, push, read, verilated};
use crate::transport::records::{AckedRow, Order, Task};

/// log2 of the queue pairs.
pub(super) const QPS: usize = 3;
/// Streams that may pause.
pub(super) const STREAMS: usize = 12;
/// Cycles after which the block counts as stuck.
const LIMIT: u64 = 400_000;
/// Tickets begin here, so that they wrap.
const TICKETS: u16 = 0xffe0;

/// The next thing to come is the one expected, and all that goes before has gone.
fn expect<T: PartialEq + Debug>(is: &T, expected: &[(T, Tally)], at: usize, what: &str) -> Tally {
    let Some((wanted, before)) = expected.get(at) else { panic!("{what} {at} is one too many: {is:?}") };
    assert_eq!(is, wanted, "{what} {at}");
    *before
}

pub(super) struct Rig<const D: usize> {
    pub(super) bench: Bench,
    pub(super) order: SourceId,
    pub(super) requests: SourceId,
    pub(super) responses: SourceId,
    pub(super) payload: SourceId,
    pub(super) answer: SourceId,
    change: SourceId,
    xlat: SinkId,
    write: SinkId,
    write_data: SinkId,
    task: SinkId,
    done: SinkId,
    error: SinkId,
    kick: SinkId,
    rng: SplitMix64,
    pub(super) twin: Twin,
    pub(super) expected: Outcome,
    /// What has come.
    pub(super) seen: Tally,
    pub(super) asked: usize,
    pub(super) commands: usize,
    kicks: usize,
    pub(super) left: usize,
    refused: usize,
    /// Commands since reset, which tickets count.
    tickets: u16,
    beats: Vec<Beat<D>>,
    /// Questions with the cycle in which their answers come; the same answers, not sent.
    answers: VecDeque<(u64, XlatResponse)>,
    /// Cycles of a translation: at least, and below.
    pub(super) latency: (u64, u64),
    /// When beats moved.
    pub(super) xlat_cycles: Vec<u64>,
    pub(super) command_cycles: Vec<u64>,
    pub(super) data_cycles: Vec<u64>,
    pub(super) task_cycles: Vec<u64>,
    pub(super) done_cycles: Vec<u64>,
    pub(super) kick_cycles: Vec<u64>,
}

impl<const D: usize> Rig<D> {
    pub(super) fn new() -> Self {
        let mut bench = verilated(&format!("place_{D}"), Place::<D, QPS>::default);
        let [order, requests, responses, payload, answer, change] =
            ["order", "requests", "responses", "payload", "answer", "change"]
                .map(|name| bench.source(name).expect("the stream exists"));
        let [xlat, write, write_data, task, done, error, kick] =
            ["xlat", "write", "write_data", "task", "done", "error", "kick"]
                .map(|name| bench.sink(name).expect("the stream exists"));
        let mut rig = Self {
            bench,
            order,
            requests,
            responses,
            payload,
            answer,
            change,
            xlat,
            write,
            write_data,
            task,
            done,
            error,
            kick,
            rng: SplitMix64::new(1),
            twin: Twin::default(),
            expected: Outcome::default(),
            seen: Tally::default(),
            asked: 0,
            commands: 0,
            kicks: 0,
            left: 0,
            refused: 0,
            tickets: 0,
            beats: Vec::new(),
            answers: VecDeque::new(),
            latency: (6, 7),
            xlat_cycles: Vec::new(),
            command_cycles: Vec::new(),
            data_cycles: Vec::new(),
            task_cycles: Vec::new(),
            done_cycles: Vec::new(),
            kick_cycles: Vec::new(),
        };
        rig.reset();
        rig
    }

    /// Resets the block and all around it.
    pub(super) fn reset(&mut self) {
        self.bench.clear();
        self.bench.reset(2);
        self.answers.clear();
        self.beats.clear();
        self.twin = Twin::default();
        self.tickets = 0;
        for sink in [self.xlat, self.write, self.write_data, self.task, self.done, self.error, self.kick] {
            self.bench[sink].take();
        }
        self.expected = Outcome::default();
        self.forget();
        self.issue();
    }

    fn forget(&mut self) {
        self.seen = Tally::default();
        (self.asked, self.commands, self.kicks, self.left, self.refused) = (0, 0, 0, 0, 0);
        self.xlat_cycles.clear();
        self.command_cycles.clear();
        self.data_cycles.clear();
        self.task_cycles.clear();
        self.done_cycles.clear();
        self.kick_cycles.clear();
    }

    fn issue(&mut self) {
        let issued = self.bench.model().port("issued").expect("the port exists");
        self.bench.model_mut().set(issued, TICKETS.wrapping_add(self.tickets).into());
    }

    /// Pauses of order, requests, responses, payload, answer; `xlat`, `write`, `write_data`, task, done, error, kick.
    pub(super) fn pause(&mut self, pauses: [Pause; STREAMS]) {
        let mut pauses = pauses.into_iter();
        for source in [self.order, self.requests, self.responses, self.payload, self.answer] {
            self.bench[source].pause(pauses.next().expect("one for each"));
        }
        for sink in [self.xlat, self.write, self.write_data, self.task, self.done, self.error, self.kick] {
            self.bench[sink].pause(pauses.next().expect("one for each"));
        }
    }

    /// Queues arrivals, once all before them are through: what comes of them is counted from here.
    pub(super) fn send(&mut self, visits: &[Visit]) {
        assert_eq!(self.left, self.expected.leaves.len(), "arrivals before are under way");
        self.forget();
        self.expected = self.twin.run(visits);
        for visit in visits {
            let (is_request, errands) = match visit {
                Visit::Drop(bytes, colour) => {
                    let order = Order {
                        is_request: self.rng.below(2) == 1,
                        drops: true,
                        payload_len: (bytes.len() as u64).into(),
                        colour: *colour,
                    };
                    push(&mut self.bench, self.order, &[order]);
                    push(&mut self.bench, self.payload, &beats::<D>(bytes));
                    continue;
                }
                Visit::Request(errands) => (true, errands),
                Visit::Response(errands) => (false, errands),
            };
            let noise = self.rng.next_u64();
            let order =
                Order { is_request, drops: false, payload_len: (noise >> 51).into(), colour: noise & 1 == 1 };
            push(&mut self.bench, self.order, &[order]);
            for (errand, bytes) in errands {
                push(&mut self.bench, if is_request { self.requests } else { self.responses }, &[*errand]);
                if !bytes.is_empty() {
                    push(&mut self.bench, self.payload, &beats::<D>(bytes));
                }
            }
        }
    }

    /// A queue pair begins anew, or is changed otherwise.
    pub(super) fn change(&mut self, qpn: u64, resets: bool) {
        push(
            &mut self.bench,
            self.change,
            &[QpChange { qpn: qpn.into(), resets, stops: !resets, ends: false }],
        );
        if resets {
            self.twin.failed.remove(&qpn);
        }
    }

    pub(super) fn port(&self, name: &str) -> bool {
        read(&self.bench, name)
    }

    /// One cycle. What comes later is looked at first: what it needs must have come in a cycle before.
    pub(super) fn step(&mut self) {
        self.bench.step();
        assert!(
            self.port("answer$ready") && self.port("change$ready"),
            "answers and changes are always taken"
        );
        let now = self.bench.cycle();
        for kick in collect::<Bits<24>>(&mut self.bench, self.kick) {
            let before = expect(&u64::from(kick), &self.expected.kicks, self.kicks, "kick");
            assert!(self.seen.acked >= before.acked, "a kick comes before its row");
            self.kicks += 1;
            self.kick_cycles.push(now);
        }
        for done in collect::<Done>(&mut self.bench, self.done) {
            let before = expect(&done, &self.expected.dones, self.seen.dones, "completion");
            assert!(self.seen.writes >= before.writes, "a completion comes before its data");
            assert!(self.seen.errors >= before.errors, "a completion comes before its error");
            self.seen.dones += 1;
            self.done_cycles.push(now);
        }
        for error in collect::<QpError>(&mut self.bench, self.error) {
            let before = expect(&error, &self.expected.errors, self.seen.errors, "error");
            assert!(self.seen.tasks >= before.tasks, "an error comes before its answer");
            self.seen.errors += 1;
        }
        self.tasks(now);
        self.writes(now);
        self.translate(now);
        if self.port("acked_write") {
            let index = read::<Bits<QPS>>(&self.bench, "acked_index").into();
            let row = read::<AckedRow>(&self.bench, "acked");
            let before = expect(&(index, row), &self.expected.acked, self.seen.acked, "row");
            assert!(self.seen.dones >= before.dones, "a row comes before its completion");
            self.seen.acked += 1;
        }
        if self.port("leaves") {
            let before = expect(&self.port("leaves_colour"), &self.expected.leaves, self.left, "arrival");
            let seen = Tally { tasks: before.tasks, ..self.seen };
            assert!(
                seen.writes >= before.writes
                    && (seen.errors, seen.dones, seen.acked) == (before.errors, before.dones, before.acked),
                "arrival {} leaves: {seen:?}, not {before:?}",
                self.left
            );
            self.left += 1;
        }
        self.refused += usize::from(self.port("refused"));
        self.issue();
    }

    fn tasks(&mut self, now: u64) {
        for task in collect::<Task>(&mut self.bench, self.task) {
            let ticket = u16::try_from(u64::from(task.ticket)).expect("16 bits").wrapping_sub(TICKETS);
            let bare = Task { ticket: 0.into(), ..task };
            let before = expect(&bare, &self.expected.tasks, self.seen.tasks, "task");
            assert!(self.seen.writes >= before.writes, "a task comes before its data");
            // Of all commands since reset, those of this run are the last.
            let older = self.tickets - u16::try_from(self.commands).expect("few");
            let covered = usize::from(ticket.wrapping_sub(older));
            assert!((before.writes..=self.commands).contains(&covered), "{covered} are covered: {before:?}");
            self.seen.tasks += 1;
            self.task_cycles.push(now);
        }
    }

    /// Host memory: each packet belongs to the next command.
    fn writes(&mut self, now: u64) {
        for command in collect::<HostWrite>(&mut self.bench, self.write) {
            let Write { iova, qpn, bytes } = &self.expected.writes[self.commands];
            let is = (u64::from(command.iova), u64::from(command.len), u64::from(command.qpn));
            assert_eq!(is, (*iova, bytes.len() as u64, *qpn), "command {}", self.commands);
            self.commands += 1;
            self.tickets = self.tickets.wrapping_add(1);
            self.command_cycles.push(now);
        }
        for beat in collect::<Beat<D>>(&mut self.bench, self.write_data) {
            self.data_cycles.push(now);
            self.beats.push(beat);
            if beat.eop {
                let bytes = &self.expected.writes[self.seen.writes].bytes;
                assert!(self.beats == beats::<D>(bytes), "packet {} differs", self.seen.writes);
                self.beats.clear();
                self.seen.writes += 1;
            }
        }
    }

    /// The MMU.
    fn translate(&mut self, now: u64) {
        for request in collect::<XlatRequest>(&mut self.bench, self.xlat) {
            assert_eq!(request, self.expected.questions[self.asked], "question {}", self.asked);
            self.asked += 1;
            self.xlat_cycles.push(now);
            let due = now + self.latency.0 + self.rng.below(self.latency.1 - self.latency.0);
            self.answers.extend(translate(&request).into_iter().map(|answer| (due, answer)));
            let open = self.answers.iter().filter(|(_, answer)| !answer.more).count();
            assert!(open <= usize::from(QUESTIONS), "{open} questions are unanswered");
        }
        // One at a time, so that none counts as answered while it waits for its turn.
        if self.bench[self.answer].is_empty() && self.answers.front().is_some_and(|(due, _)| *due <= now) {
            let (_, answer) = self.answers.pop_front().expect("there is one");
            push(&mut self.bench, self.answer, &[answer]);
        }
    }

    pub(super) fn run(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.step());
    }

    fn is_quiet(&self) -> bool {
        self.bench.is_sent() && !self.port("busy") && self.port("ready")
    }

    /// Steps until all is through, and looks for what did not come.
    pub(super) fn finish(&mut self) {
        let start = self.bench.cycle();
        loop {
            self.step();
            if self.is_quiet() {
                break;
            }
            assert!(self.bench.cycle() - start < LIMIT, "the block is stuck: {}", self.bench.stuck(LIMIT));
        }
        self.run(20);
        assert!(self.is_quiet(), "busy comes back by itself");
        let expected = &self.expected;
        assert_eq!(self.asked, expected.questions.len(), "questions");
        assert_eq!(self.seen.writes, expected.writes.len(), "packets");
        assert_eq!(self.commands, expected.writes.len(), "commands");
        assert_eq!(self.seen.tasks, expected.tasks.len(), "tasks");
        assert_eq!(self.seen.errors, expected.errors.len(), "errors");
        assert_eq!(self.seen.dones, expected.dones.len(), "completions");
        assert_eq!(self.seen.acked, expected.acked.len(), "rows");
        assert_eq!(self.kicks, expected.kicks.len(), "kicks");
        assert_eq!(self.left, expected.leaves.len(), "arrivals");
        assert_eq!(self.refused, expected.refused, "refusals");
    }
}
