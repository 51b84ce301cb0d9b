//! The block on a bench, between judges, an MMU and a host that takes writes.

mod watch;

use std::collections::VecDeque;

use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

use super::model::{Outcome, Tally, Twin, Visit};
use super::straight::Straight;
use crate::fabric::records::Passage;
use crate::host::work::QpChange;
use crate::state::mmu::XlatResponse;
use crate::stream::{Beat, beats};
use crate::testing::{push, read, verilated};
use crate::transport::records::Order;

/// log2 of the queue pairs.
pub(super) const QPS: usize = 3;
/// Streams that may pause.
pub(super) const STREAMS: usize = 16;
/// Cycles after which the block counts as stuck.
const LIMIT: u64 = 400_000;
/// Tickets begin here, so that they wrap.
const TICKETS: u16 = 0xffe0;

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
    operation: SinkId,
    event: SinkId,
    call_data: SinkId,
    call: SinkId,
    rng: SplitMix64,
    pub(super) twin: Twin,
    pub(super) expected: Outcome,
    /// What has come.
    pub(super) seen: Tally,
    pub(super) asked: usize,
    pub(super) commands: usize,
    kicks: usize,
    /// Operations put on offer; the colours of those that are not taken.
    pub(super) entered: usize,
    colours: VecDeque<bool>,
    pub(super) left: usize,
    refused: usize,
    accepted: usize,
    overtaken: usize,
    lost: usize,
    /// Commands since reset, which tickets count.
    tickets: u16,
    beats: Vec<Beat<D>>,
    /// The same of kernels, with the passage of the first.
    fed: Vec<Beat<D>>,
    passage: Passage,
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
    pub(super) operation_cycles: Vec<u64>,
    pub(super) event_cycles: Vec<u64>,
    pub(super) feed_cycles: Vec<u64>,
    pub(super) call_cycles: Vec<u64>,
}

impl<const D: usize> Rig<D> {
    pub(super) fn new() -> Self {
        let mut bench = verilated(&format!("place_{D}"), Straight::<D, QPS>::default);
        let [order, requests, responses, payload, answer, change] =
            ["order", "requests", "responses", "payload", "answer", "change"]
                .map(|name| bench.source(name).expect("the stream exists"));
        let [xlat, write, write_data, task, done, error, kick, operation, event, call_data, call] = [
            "xlat",
            "write",
            "write_data",
            "task",
            "done",
            "error",
            "kick",
            "operation",
            "event",
            "call_data",
            "call",
        ]
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
            operation,
            event,
            call_data,
            call,
            rng: SplitMix64::new(1),
            twin: Twin::default(),
            expected: Outcome::default(),
            seen: Tally::default(),
            asked: 0,
            commands: 0,
            kicks: 0,
            entered: 0,
            colours: VecDeque::new(),
            left: 0,
            refused: 0,
            accepted: 0,
            overtaken: 0,
            lost: 0,
            tickets: 0,
            beats: Vec::new(),
            fed: Vec::new(),
            passage: Passage::default(),
            answers: VecDeque::new(),
            latency: (6, 7),
            xlat_cycles: Vec::new(),
            command_cycles: Vec::new(),
            data_cycles: Vec::new(),
            task_cycles: Vec::new(),
            done_cycles: Vec::new(),
            kick_cycles: Vec::new(),
            operation_cycles: Vec::new(),
            event_cycles: Vec::new(),
            feed_cycles: Vec::new(),
            call_cycles: Vec::new(),
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
        self.fed.clear();
        self.twin = Twin::default();
        self.tickets = 0;
        self.colours.clear();
        for sink in self.sinks() {
            self.bench[sink].take();
        }
        self.expected = Outcome::default();
        self.forget();
        self.issue();
    }

    fn forget(&mut self) {
        self.seen = Tally::default();
        (self.asked, self.commands, self.kicks, self.left, self.refused) = (0, 0, 0, 0, 0);
        (self.entered, self.accepted, self.overtaken, self.lost) = (0, 0, 0, 0);
        self.xlat_cycles.clear();
        self.command_cycles.clear();
        self.data_cycles.clear();
        self.task_cycles.clear();
        self.done_cycles.clear();
        self.kick_cycles.clear();
        self.operation_cycles.clear();
        self.event_cycles.clear();
        self.feed_cycles.clear();
        self.call_cycles.clear();
    }

    fn sinks(&self) -> [SinkId; 11] {
        [
            self.xlat,
            self.write,
            self.write_data,
            self.task,
            self.done,
            self.error,
            self.kick,
            self.operation,
            self.event,
            self.call_data,
            self.call,
        ]
    }

    fn issue(&mut self) {
        let issued = self.bench.model().port("issued").expect("the port exists");
        self.bench.model_mut().set(issued, TICKETS.wrapping_add(self.tickets).into());
    }

    /// Pauses of order, requests, responses, payload, answer; `xlat`, `write`, `write_data`, task, done, error, kick,
    /// operation, event, `call_data`, call.
    pub(super) fn pause(&mut self, pauses: [Pause; STREAMS]) {
        let mut pauses = pauses.into_iter();
        for source in [self.order, self.requests, self.responses, self.payload, self.answer] {
            self.bench[source].pause(pauses.next().expect("one for each"));
        }
        for sink in self.sinks() {
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
            for (errand, _) in errands {
                push(&mut self.bench, if is_request { self.requests } else { self.responses }, &[*errand]);
            }
            let packet: Vec<u8> = errands.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
            if !packet.is_empty() {
                push(&mut self.bench, self.payload, &beats::<D>(&packet));
            }
        }
    }

    /// A queue pair begins anew, or is changed otherwise.
    pub(super) fn change(&mut self, qpn: u64, resets: bool) {
        push(
            &mut self.bench,
            self.change,
            &[QpChange { qpn: qpn.into(), resets, stops: !resets, ..QpChange::default() }],
        );
        if resets {
            self.twin.failed.remove(&qpn);
            self.twin.spoiled.remove(&qpn);
        }
    }

    pub(super) fn port(&self, name: &str) -> bool {
        read(&self.bench, name)
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
        assert_eq!(self.seen.feeds, expected.feeds.len(), "packets for kernels");
        assert_eq!(self.seen.tasks, expected.tasks.len(), "tasks");
        assert_eq!(self.seen.calls, expected.calls.len(), "calls");
        assert_eq!(self.seen.operations, expected.operations.len(), "operations");
        assert_eq!(self.seen.events, expected.events.len(), "events");
        assert_eq!(self.seen.errors, expected.errors.len(), "errors");
        assert_eq!(self.seen.dones, expected.dones.len(), "completions");
        assert_eq!(self.seen.acked, expected.acked.len(), "rows");
        assert_eq!(self.kicks, expected.kicks.len(), "kicks");
        assert_eq!(self.left, expected.leaves.len(), "arrivals");
        assert_eq!(self.refused, expected.refused, "refusals");
        assert_eq!(self.accepted, expected.accepted, "accepted");
        assert_eq!(self.overtaken, expected.overtaken, "overtaken");
        assert_eq!(self.lost, expected.lost, "lost");
    }
}
