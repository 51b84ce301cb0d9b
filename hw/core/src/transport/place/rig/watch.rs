//! What the block gives, held against the model cycle by cycle.

use std::fmt::Debug;

use rust_hdl::prelude::Bits;

use super::{QPS, Rig, TICKETS};
use crate::fabric::records::{Call, Passage};
use crate::host::work::{Done, EventRecord, HostWrite, QpError};
use crate::state::access::XlatRequest;
use crate::stream::{Beat, beats};
use crate::testing::{collect, push, read};
use crate::transport::place::ask::QUESTIONS;
use crate::transport::place::model::memory::translate;
use crate::transport::place::model::{Tally, Write, meaning};
use crate::transport::records::{AckedRow, Atomic, Operation, Task};

/// The next thing to come is the one expected, and all that goes before has gone.
fn expect<T: PartialEq + Debug>(is: &T, expected: &[(T, Tally)], at: usize, what: &str) -> Tally {
    let Some((wanted, before)) = expected.get(at) else { panic!("{what} {at} is one too many: {is:?}") };
    assert_eq!(is, wanted, "{what} {at}");
    *before
}

impl<const D: usize> Rig<D> {
    /// One cycle. What comes later is looked at first: what it needs must have come in a cycle before.
    pub(in crate::transport::place) fn step(&mut self) {
        self.enter();
        let passage = read::<Passage>(&self.bench, "call_passage");
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
        for event in collect::<EventRecord>(&mut self.bench, self.event) {
            let before = expect(&event, &self.expected.events, self.seen.events, "event");
            assert!(self.seen.dones >= before.dones, "an event comes before its completion");
            self.seen.events += 1;
            self.event_cycles.push(now);
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
        self.operations(now);
        self.calls(now);
        self.tasks(now);
        self.feeds(now, passage);
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
            // Answers, operations and calls may wait outside; all else is over.
            let Tally { writes, feeds, tasks, calls, .. } = before;
            let seen = Tally { tasks, calls, operations: self.entered, ..self.seen };
            assert!(
                seen.writes >= writes && seen.feeds >= feeds && Tally { writes, feeds, ..seen } == before,
                "arrival {} leaves: {seen:?}, not {before:?}",
                self.left
            );
            self.left += 1;
        }
        self.refused += usize::from(self.port("refused"));
        self.accepted += usize::from(self.port("accepted"));
        self.overtaken += usize::from(self.port("overtaken"));
        self.lost += usize::from(self.port("lost"));
        self.issue();
    }

    /// An operation is put on offer in the coming cycle, in the colour of that cycle.
    fn enter(&mut self) {
        let colour = self.rng.below(2) == 1;
        let port = self.bench.model().port("operation_colour").expect("the port exists");
        self.bench.model_mut().set(port, colour.into());
        // No atomic is under way: what waits for their end is a story of the whole card.
        let applies = self.bench.model().port("applies").expect("the port exists");
        self.bench.model_mut().set(applies, 0);
        self.bench.model_mut().eval();
        if self.port("operation_enters") {
            let before = self.expected.operations[self.entered].1;
            assert!(self.seen.tasks >= before.tasks, "an operation comes before an answer");
            self.entered += 1;
            self.colours.push_back(colour);
        }
    }

    fn operations(&mut self, now: u64) {
        for operation in collect::<Operation>(&mut self.bench, self.operation) {
            assert_eq!(Some(operation.colour), self.colours.pop_front(), "colour");
            let came_again = operation.atomic.index() == Atomic::Replay as usize;
            let iova = if came_again { 0.into() } else { operation.iova };
            let bare = Operation { colour: false, iova, ..operation };
            let before = expect(&bare, &self.expected.operations, self.seen.operations, "operation");
            assert!(self.seen.writes >= before.writes, "an operation comes before data");
            self.seen.operations += 1;
            self.operation_cycles.push(now);
        }
    }

    /// A call is offered when its payload is taken, and its answer.
    fn calls(&mut self, now: u64) {
        for call in collect::<Call>(&mut self.bench, self.call) {
            let bare = Call { ticket: 0.into(), ..call };
            let before = expect(&meaning(&bare), &self.expected.calls, self.seen.calls, "call");
            self.covers(call.ticket.into(), before);
            self.seen.calls += 1;
            self.call_cycles.push(now);
        }
        if self.port("call$valid") {
            let (_, before) = self.expected.calls[self.seen.calls];
            let seen = self.seen;
            let tasks = seen.tasks + self.bench[self.task].received().len();
            assert!(tasks >= before.tasks, "a call is offered before its answer is taken");
            assert!(seen.feeds >= before.feeds, "a call is offered before its payload is taken");
            assert!(seen.writes >= before.writes, "a call is offered before data");
        }
    }

    /// Kernels.
    fn feeds(&mut self, now: u64, passage: Passage) {
        for beat in collect::<Beat<D>>(&mut self.bench, self.call_data) {
            if beat.sop {
                self.passage = passage;
            }
            assert_eq!(passage, self.passage, "the passage is steady");
            self.feed_cycles.push(now);
            self.fed.push(beat);
            if beat.eop {
                let (wanted, bytes) = &self.expected.feeds[self.seen.feeds];
                assert_eq!(passage, *wanted, "packet {} for a kernel", self.seen.feeds);
                assert!(self.fed == beats::<D>(bytes), "packet {} for a kernel differs", self.seen.feeds);
                self.fed.clear();
                self.seen.feeds += 1;
            }
        }
    }

    fn tasks(&mut self, now: u64) {
        for task in collect::<Task>(&mut self.bench, self.task) {
            let bare = Task { ticket: 0.into(), ..task };
            let before = expect(&bare, &self.expected.tasks, self.seen.tasks, "task");
            assert!(self.seen.writes >= before.writes, "a task comes before its data");
            self.covers(task.ticket.into(), before);
            self.seen.tasks += 1;
            self.task_cycles.push(now);
        }
    }

    /// A ticket covers the writes that go before, and none to come.
    fn covers(&self, ticket: u64, before: Tally) {
        let ticket = u16::try_from(ticket).expect("16 bits").wrapping_sub(TICKETS);
        // Of all commands since reset, those of this run are the last.
        let older = self.tickets - u16::try_from(self.commands).expect("few");
        let covered = usize::from(ticket.wrapping_sub(older));
        assert!((before.writes..=self.commands).contains(&covered), "{covered} are covered: {before:?}");
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
}
