//! The copy engine on a bench, between an MMU, a read engine and a host that takes writes.

mod around;
mod encode;

use std::collections::VecDeque;

use encode::encode;
use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

use super::Mover;
use super::model::{Item, Outcome, Twin};
use crate::host::dma_read::{ReadCommand, ReadData};
use crate::host::work::{Done, HostWrite, QpChange, QpError};
use crate::state::mmu::XlatResponse;
use crate::stream::Beat;
use crate::testing::{collect, push, read, verilated};

/// log2 of the queue pairs.
pub(super) const QPS: usize = 3;
/// Cycles after which the engine counts as stuck.
const LIMIT: u64 = 400_000;

pub(super) struct Rig<const D: usize, const LOG: usize> {
    pub(super) bench: Bench,
    pub(super) work: SourceId,
    pub(super) units: SourceId,
    pub(super) change: SourceId,
    pub(super) xlat: SinkId,
    answer: SourceId,
    pub(super) read: SinkId,
    read_data: SourceId,
    pub(super) write: SinkId,
    pub(super) write_data: SinkId,
    pub(super) done: SinkId,
    pub(super) error: SinkId,
    rng: SplitMix64,
    pub(super) twin: Twin,
    /// What is to come, and how far it has.
    pub(super) expected: Outcome,
    items: Vec<Item>,
    pub(super) packets: usize,
    /// Cycles in which `write_data` moved, `done` moved.
    pub(super) data_cycles: Vec<u64>,
    pub(super) done_cycles: Vec<u64>,
    pub(super) commands: Vec<HostWrite>,
    beats: Vec<Beat<D>>,
    pub(super) dones: usize,
    errors: usize,
    pub(super) retired: usize,
    finished: usize,
    /// Requests for sources and destinations, and answers on their way, of either.
    asked: [usize; 2],
    answers: [VecDeque<(u64, XlatResponse)>; 2],
    /// Reads that wait for the host, and beats with the cycle in which they come.
    reads: VecDeque<ReadCommand>,
    flights: VecDeque<(u64, ReadData<D>)>,
    /// Cycles of a translation and of a read: at least, and below.
    pub(super) xlat_latency: (u64, u64),
    pub(super) read_latency: (u64, u64),
    /// Writes that have to be through before `drained` comes.
    draining: Option<usize>,
    pub(super) drained: usize,
}

impl<const D: usize, const LOG: usize> Rig<D, LOG> {
    pub(super) fn new() -> Self {
        let mut bench = verilated(&format!("mover_{D}"), Mover::<D, QPS, LOG>::default);
        let [work, units, change, answer, read_data] = ["work", "units", "change", "answer", "read_data"]
            .map(|name| bench.source(name).expect("the stream exists"));
        let [xlat, read, write, write_data, done, error] =
            ["xlat", "read", "write", "write_data", "done", "error"]
                .map(|name| bench.sink(name).expect("the stream exists"));
        let drain = bench.model().port("drain").expect("the port exists");
        bench.model_mut().set(drain, 0);
        bench.reset(2);
        Self {
            bench,
            work,
            units,
            change,
            xlat,
            answer,
            read,
            read_data,
            write,
            write_data,
            done,
            error,
            rng: SplitMix64::new(1),
            twin: Twin::default(),
            expected: Outcome::default(),
            items: Vec::new(),
            packets: 0,
            data_cycles: Vec::new(),
            done_cycles: Vec::new(),
            commands: Vec::new(),
            beats: Vec::new(),
            dones: 0,
            errors: 0,
            retired: 0,
            finished: 0,
            asked: [0; 2],
            answers: [VecDeque::new(), VecDeque::new()],
            reads: VecDeque::new(),
            flights: VecDeque::new(),
            xlat_latency: (6, 7),
            read_latency: (10, 11),
            draining: None,
            drained: 0,
        }
    }

    /// Pauses of work, units, `xlat`, `answer`, `read`, `read_data`, `write`, `write_data`, done, error.
    pub(super) fn pause(&mut self, pauses: [Pause; 10]) {
        let [work, units, xlat, answer, read, read_data, write, write_data, done, error] = pauses;
        for (source, pause) in [self.work, self.units, self.answer, self.read_data]
            .into_iter()
            .zip([work, units, answer, read_data])
        {
            self.bench[source].pause(pause);
        }
        for (sink, pause) in [self.xlat, self.read, self.write, self.write_data, self.done, self.error]
            .into_iter()
            .zip([xlat, read, write, write_data, done, error])
        {
            self.bench[sink].pause(pause);
        }
    }

    /// Queues works, once all before them are through: what comes of them is counted from here.
    pub(super) fn send(&mut self, items: &[Item]) {
        assert_eq!(self.dones, self.expected.dones.len(), "works before are under way");
        self.packets = 0;
        self.commands.clear();
        self.data_cycles.clear();
        self.done_cycles.clear();
        (self.dones, self.errors, self.retired, self.asked) = (0, 0, 0, [0; 2]);
        self.finished = 0;
        self.expected = self.twin.run(items);
        self.items = items.to_vec();
        for item in items {
            let (work, units) = encode(item, &mut self.rng);
            push(&mut self.bench, self.work, &[work]);
            for unit in units {
                self.bench[self.units].send(unit);
            }
        }
    }

    /// A queue pair begins anew, or is changed otherwise.
    pub(super) fn change(&mut self, qpn: u32, resets: bool) {
        push(
            &mut self.bench,
            self.change,
            &[QpChange { qpn: u64::from(qpn).into(), resets, ..QpChange::default() }],
        );
        if resets {
            self.twin.failed.remove(&qpn);
        }
    }

    /// Asks for the chunks so far to be through; the next cycle shows it to the engine.
    pub(super) fn drain(&mut self) {
        assert!(self.draining.is_none(), "one drain at a time");
        let sources = self.expected.chunks.iter().enumerate().filter(|(_, (has_source, _))| *has_source);
        let with_source = sources.map(|(at, _)| at + 1).take(self.asked[0]).last().unwrap_or(0);
        let begun = with_source.max(self.asked[1]);
        self.draining = Some(begun.checked_sub(1).map_or(0, |last| self.expected.chunks[last].1));
        self.set_drain(1);
    }

    fn set_drain(&mut self, value: u64) {
        let drain = self.bench.model().port("drain").expect("the port exists");
        self.bench.model_mut().set(drain, value);
    }

    pub(super) fn port(&self, name: &str) -> bool {
        read(&self.bench, name)
    }

    /// One cycle.
    pub(super) fn step(&mut self) {
        self.bench.step();
        self.set_drain(0);
        let now = self.bench.cycle();
        self.translate(now);
        self.host(now);
        self.writes(now);
        for done in collect::<Done>(&mut self.bench, self.done) {
            let (expected, writes) = self.expected.dones[self.dones];
            assert_eq!(done, expected, "completion {}", self.dones);
            assert!(self.packets >= writes, "completion {} comes before its data are taken", self.dones);
            self.dones += 1;
            self.done_cycles.push(now);
            let failures = self.expected.dones[..self.dones].iter();
            let failures = failures.filter(|(done, _)| ![0, 5].contains(&u64::from(done.status))).count();
            assert!(self.errors + usize::from(!self.bench[self.error].received().is_empty()) >= failures);
        }
        for error in collect::<QpError>(&mut self.bench, self.error) {
            assert_eq!(error, self.expected.errors[self.errors], "error {}", self.errors);
            self.errors += 1;
        }
        self.finished += usize::from(self.port("finished"));
        if self.port("retired") {
            let (colour, dones) = self.expected.retired[self.retired];
            assert_eq!(self.port("retired_colour"), colour, "job {}", self.retired);
            assert_eq!(self.dones, dones, "completions before job {} is retired", self.retired);
            self.retired += 1;
        }
        if self.port("drained") {
            let writes = self.draining.take().expect("drained without drain");
            assert!(self.packets >= writes, "drained before a chunk is through");
            self.drained += 1;
        }
    }

    pub(super) fn run(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.step());
    }

    /// Is there anything still on its way?
    pub(super) fn is_quiet(&self) -> bool {
        self.bench.is_sent() && !self.port("busy") && self.port("ready")
    }

    /// Steps until all is through, and looks for what did not come.
    pub(super) fn finish(&mut self) -> u64 {
        let start = self.bench.cycle();
        loop {
            self.step();
            if self.is_quiet() {
                break;
            }
            assert!(self.bench.cycle() - start < LIMIT, "the engine is stuck");
        }
        let cycles = self.bench.cycle() - start;
        self.run(20);
        assert!(self.is_quiet(), "busy comes back by itself");
        assert_eq!(self.packets, self.expected.writes.len(), "writes");
        assert_eq!(self.commands.len(), self.expected.writes.len(), "write commands");
        assert_eq!(self.dones, self.expected.dones.len(), "completions");
        assert_eq!(self.errors, self.expected.errors.len(), "errors");
        assert_eq!(self.retired, self.expected.retired.len(), "jobs");
        assert_eq!(self.finished, self.items.len(), "works and ends of jobs");
        assert_eq!(self.asked[1], self.expected.chunks.len(), "requests");
        assert!(self.draining.is_none(), "a drain was not answered");
        cycles
    }

    /// Resets the engine and all around it.
    pub(super) fn reset(&mut self) {
        assert!(self.bench.is_sent(), "a beat of the run before is left");
        self.bench.reset(2);
        self.answers.iter_mut().for_each(VecDeque::clear);
        self.reads.clear();
        self.flights.clear();
        self.beats.clear();
        self.draining = None;
        self.twin = Twin::default();
        self.dones = 0;
        self.expected = Outcome::default();
        for sink in [self.xlat, self.read, self.write, self.write_data, self.done, self.error] {
            self.bench[sink].take();
        }
    }
}
