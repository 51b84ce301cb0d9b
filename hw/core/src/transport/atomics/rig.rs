//! The block on a bench, between those who ask and a host that shows writes late.

mod host;

use std::collections::VecDeque;

use rust_hdl::prelude::Bits;
use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

use host::Host;

use super::Atomics;
use super::model::{Memory, Twin};
use crate::host::dma_read::{ReadCommand, ReadData};
use crate::host::work::{HostWrite, QpChange, QpError};
use crate::pack::Packed;
use crate::stream::{Beat, beats};
use crate::testing::{collect, push, read, verilated};
use crate::transport::records::{Atomic, Operation, Task};

/// log2 of the queue pairs.
pub(super) const QPS: usize = 2;
const RING: usize = QPS + 4;
/// Words of memory, over the end of a page.
pub(super) const PLACES: u64 = 40;
pub(super) const BASE: u64 = 0x1_2345_6fc0;
/// Streams that may pause.
pub(super) const STREAMS: usize = 7;
/// Cycles after which the block counts as stuck.
const LIMIT: u64 = 200_000;

pub(super) struct Rig<const D: usize> {
    pub(super) bench: Bench,
    pub(super) operation: SourceId,
    read_data: SourceId,
    pub(super) change: SourceId,
    pub(super) read: SinkId,
    pub(super) write: SinkId,
    write_data: SinkId,
    pub(super) task: SinkId,
    pub(super) error: SinkId,
    pub(super) rng: SplitMix64,
    pub(super) twin: Twin,
    host: Host,
    /// Cycles of a read, and of a write: at least, and below.
    pub(super) read_time: (u64, u64),
    pub(super) write_time: (u64, u64),
    foreign: Option<HostWrite>,
    /// What is expected, in order.
    writes: VecDeque<(HostWrite, u64)>,
    values: VecDeque<u64>,
    tasks: VecDeque<Task>,
    errors: VecDeque<QpError>,
    /// Operations that are not over, and the writes up to and with theirs.
    pub(super) open: VecDeque<(Operation, u64)>,
    finished: [VecDeque<(u64, u64)>; 1 << QPS],
    pub(super) mirror: [u64; 1 << QPS],
    /// Writes expected ever, and those whose command was taken.
    wanted: u64,
    written: u64,
    /// Operations of each queue pair since it began.
    passed: [u64; 1 << QPS],
    psns: [u64; 1 << QPS],
    /// When what came: reads, commands, tasks with their values, and operations that were over.
    pub(super) read_cycles: Vec<u64>,
    pub(super) write_cycles: Vec<u64>,
    pub(super) told: Vec<(u64, Task)>,
    pub(super) left_cycles: Vec<u64>,
    pub(super) error_count: usize,
}

pub(super) fn word(place: u64) -> u64 {
    BASE + 8 * place
}

fn memory() -> Memory {
    Memory {
        base: BASE,
        bytes: (0..PLACES * 8).map(|byte| u8::try_from(byte % 251).expect("small")).collect(),
    }
}

impl<const D: usize> Rig<D> {
    pub(super) fn new() -> Self {
        let mut bench = verilated(&format!("atomics_{D}"), Atomics::<D, QPS, RING>::default);
        let [operation, read_data, change] =
            ["operation", "read_data", "change"].map(|name| bench.source(name).expect("the stream exists"));
        let [read, write, write_data, task, error] = ["read", "write", "write_data", "task", "error"]
            .map(|name| bench.sink(name).expect("the stream exists"));
        let mut rig = Self {
            bench,
            operation,
            read_data,
            change,
            read,
            write,
            write_data,
            task,
            error,
            rng: SplitMix64::new(0),
            twin: Twin::new(QPS, memory()),
            host: Host::new(memory(), 0xfff0),
            read_time: (20, 21),
            write_time: (20, 21),
            foreign: None,
            writes: VecDeque::new(),
            values: VecDeque::new(),
            tasks: VecDeque::new(),
            errors: VecDeque::new(),
            open: VecDeque::new(),
            finished: Default::default(),
            mirror: [0; 1 << QPS],
            wanted: 0,
            written: 0,
            passed: [0; 1 << QPS],
            psns: [0xff_fff0; 1 << QPS],
            read_cycles: Vec::new(),
            write_cycles: Vec::new(),
            told: Vec::new(),
            left_cycles: Vec::new(),
            error_count: 0,
        };
        rig.reset(0);
        rig
    }

    /// Resets the block and its host, and waits for the rows.
    pub(super) fn reset(&mut self, seed: u64) {
        self.bench.clear();
        self.drive();
        self.bench.reset(2);
        for sink in [self.read, self.write, self.write_data, self.task, self.error] {
            self.bench[sink].take();
        }
        self.rng = SplitMix64::new(seed);
        self.twin = Twin::new(QPS, memory());
        self.host = Host::new(memory(), self.host.issued());
        (self.wanted, self.written, self.error_count) = (0, 0, 0);
        (self.passed, self.foreign) = ([0; 1 << QPS], None);
        self.open.clear();
        self.writes.clear();
        self.values.clear();
        self.tasks.clear();
        self.errors.clear();
        self.finished = Default::default();
        self.mirror = [1; 1 << QPS];
        for list in [&mut self.read_cycles, &mut self.write_cycles, &mut self.left_cycles] {
            list.clear();
        }
        self.told.clear();
        assert!(!self.port("ready"), "the rows are being scrubbed");
        let mut scrubbed = 0;
        while !self.port("ready") || self.port("finished_write") {
            self.bench.step();
            if self.port("finished_write") {
                self.mirror[read::<Bits<QPS>>(&self.bench, "finished_index").index()] =
                    read::<Bits<5>>(&self.bench, "finished").into();
                scrubbed += 1;
            }
        }
        assert_eq!((scrubbed, self.mirror), (1 << QPS, [0; 1 << QPS]), "every row is told");
    }

    pub(super) fn port(&self, name: &str) -> bool {
        read(&self.bench, name)
    }

    pub(super) fn pause(&mut self, pauses: [Pause; STREAMS]) {
        let [operation, read_data, read, write, write_data, task, error] = pauses;
        self.bench[self.operation].pause(operation);
        self.bench[self.read_data].pause(read_data);
        for (sink, pause) in [self.read, self.write, self.write_data, self.task, self.error]
            .into_iter()
            .zip([read, write, write_data, task, error])
        {
            self.bench[sink].pause(pause);
        }
    }

    fn drive(&mut self) {
        let foreign = self.foreign.unwrap_or_default();
        for (name, value) in [
            ("issued", self.host.issued() & 0xffff),
            ("visible", self.host.visible & 0xffff),
            ("foreign", u64::from(self.foreign.is_some())),
        ] {
            let port = self.bench.model().port(name).expect("the port exists");
            self.bench.model_mut().set(port, value);
        }
        let port = self.bench.model().port("foreign_write").expect("the port exists");
        self.bench.model_mut().set_wide(port, &foreign.to_words());
    }

    /// A fresh atomic of a queue pair.
    pub(super) fn send(
        &mut self,
        number: u64,
        atomic: Atomic,
        iova: u64,
        value: u64,
        compare: u64,
    ) -> Operation {
        let at = usize::try_from(number).expect("small");
        let operation = Operation {
            atomic: (atomic as u64).into(),
            iova: iova.into(),
            value: value.into(),
            compare: compare.into(),
            slot: (self.passed[at] % 16).into(),
            psn: self.psns[at].into(),
            msn: (self.psns[at].wrapping_mul(3) & 0xff_ffff).into(),
            ..self.blank(number)
        };
        self.passed[at] += 1;
        self.psns[at] = (self.psns[at] + 1) & 0xff_ffff;
        self.push(&operation);
        operation
    }

    pub(super) fn add(&mut self, number: u64, place: u64, value: u64) -> Operation {
        self.send(number, Atomic::Add, word(place), value, 0)
    }

    /// One that came again; nothing but its PSN says which.
    pub(super) fn replay(&mut self, number: u64, psn: u64) {
        let atomic = (Atomic::Replay as u64).into();
        let noise = self.rng.next_u64();
        let operation = Operation {
            atomic,
            psn: psn.into(),
            iova: (noise >> 1).into(),
            slot: (noise & 15).into(),
            ..self.blank(number)
        };
        self.push(&operation);
    }

    fn blank(&mut self, number: u64) -> Operation {
        let noise = self.rng.next_u64();
        Operation {
            qpn: number.into(),
            pd: (noise & 0xffff).into(),
            path_mtu: (1 + (noise >> 16) % 5).into(),
            msn: (noise >> 40).into(),
            colour: noise & (1 << 30) != 0,
            ..Operation::default()
        }
    }

    fn push(&mut self, operation: &Operation) {
        let number = operation.qpn.index();
        let before = self.twin.rows[number].finished;
        let told = self.twin.apply(operation);
        self.wanted += u64::from(told.write.is_some());
        if self.twin.rows[number].finished != before {
            self.finished[number].push_back(((before + 1) % 32, self.wanted));
        }
        self.values.extend(told.write.map(|(_, value)| value));
        self.writes.extend(told.write);
        self.tasks.extend(told.task);
        self.errors.extend(told.error);
        self.open.push_back((*operation, self.wanted));
        push(&mut self.bench, self.operation, &[*operation]);
    }

    pub(super) fn change(&mut self, number: u64, resets: bool) {
        let change = QpChange { qpn: number.into(), resets, stops: !resets, ..QpChange::default() };
        push(&mut self.bench, self.change, &[change]);
        let at = usize::try_from(number).expect("small");
        if resets {
            if !self.twin.rows[at].finished.is_multiple_of(32) {
                self.finished[at].push_back((0, 0));
            }
            self.twin.reset(at);
            self.passed[at] = 0;
        }
    }

    /// Is an operation on this range not over?
    pub(super) fn is_open(&self, iova: u64, len: u64) -> bool {
        let meets = |(operation, _): &(Operation, u64)| {
            let word = u64::from(operation.iova);
            word + 8 > iova && word < iova + len
        };
        self.open.iter().any(meets)
    }

    /// Somebody else writes, in the next cycle.
    pub(super) fn write_by_another(&mut self, iova: u64, bytes: &[u8]) {
        self.twin.memory.write(iova, bytes);
        let len = (bytes.len() as u64).into();
        self.foreign = Some(HostWrite { iova: iova.into(), len, qpn: 0.into() });
        self.issue(iova, Some(bytes.to_vec()));
    }

    /// A write of something that no atomic is about, such as a completion.
    pub(super) fn write_elsewhere(&mut self) {
        self.issue(BASE, Some(Vec::new()));
    }

    fn issue(&mut self, iova: u64, bytes: Option<Vec<u8>>) {
        let lands = self.bench.cycle() + self.time(self.write_time);
        self.host.issue(lands, iova, bytes);
    }

    fn time(&mut self, (least, below): (u64, u64)) -> u64 {
        least + self.rng.below(below - least)
    }

    /// One cycle.
    pub(super) fn step(&mut self) {
        self.drive();
        self.bench.step();
        self.foreign = None;
        let now = self.bench.cycle();
        self.check_writes(now);
        for task in collect::<Task>(&mut self.bench, self.task) {
            assert_eq!(Some(task), self.tasks.pop_front(), "task {}", self.told.len());
            self.told.push((now, task));
        }
        for error in collect::<QpError>(&mut self.bench, self.error) {
            assert_eq!(Some(error), self.errors.pop_front(), "error");
            self.error_count += 1;
        }
        if self.port("leaves") {
            let (operation, writes) = self.open.pop_front().expect("an operation is open");
            assert_eq!(self.port("leaves_colour"), operation.colour);
            assert!(self.written >= writes, "it leaves before its write is taken");
            self.left_cycles.push(now);
        }
        if self.port("finished_write") {
            let index = read::<Bits<QPS>>(&self.bench, "finished_index").index();
            let finished = read::<Bits<5>>(&self.bench, "finished").into();
            if finished != self.mirror[index] {
                let (expected, writes) = self.finished[index].pop_front().expect("an atomic is done");
                assert_eq!(finished, expected, "of queue pair {index}");
                assert!(self.written >= writes, "it is done before its write is taken");
                self.mirror[index] = finished;
            }
        }
        let lag = self.time(self.write_time) - self.write_time.0;
        self.host.land(now, lag);
        self.answer(now);
    }

    fn check_writes(&mut self, now: u64) {
        for command in collect::<HostWrite>(&mut self.bench, self.write) {
            let expected = self.writes.pop_front().map(|(command, _)| command);
            assert_eq!(Some(command), expected, "command {}", self.written);
            self.written += 1;
            self.write_cycles.push(now);
            self.issue(command.iova.into(), None);
        }
        for beat in collect::<Beat<D>>(&mut self.bench, self.write_data) {
            let value = self.values.pop_front().expect("a value is due").to_le_bytes();
            assert_eq!([beat].as_slice(), beats::<D>(&value), "value of a write");
            self.host.give(&value);
        }
    }

    /// Reads are answered in order, some with what was there when they came.
    fn answer(&mut self, now: u64) {
        for command in collect::<ReadCommand>(&mut self.bench, self.read) {
            assert_eq!(command.len.index(), 8);
            let due = now + self.time(self.read_time);
            self.host.ask(due, command, self.rng.below(2) == 0);
            self.read_cycles.push(now);
        }
        if !self.bench[self.read_data].is_empty() {
            return;
        }
        if let Some((command, value)) = self.host.answer(now) {
            let data = ReadData::<D> {
                data: value.into(),
                nbytes: 8.into(),
                sop: true,
                eop: true,
                err: self.twin.poison.contains(&command.iova.into()),
                tag: command.tag,
            };
            push(&mut self.bench, self.read_data, &[data]);
        }
    }

    pub(super) fn run(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.step());
    }

    /// Steps until all is through, and sees that everything came, and that memory is as it should be.
    pub(super) fn settle(&mut self) {
        let start = self.bench.cycle();
        self.step();
        while !self.bench.is_sent() || self.port("busy") || !self.host.is_quiet() {
            assert!(self.bench.cycle() - start < LIMIT, "the block is stuck: {}", self.bench.stuck(LIMIT));
            self.step();
        }
        self.run(5);
        assert!(!self.port("busy"), "busy comes back by itself");
        assert_eq!(
            (self.writes.len(), self.values.len(), self.tasks.len()),
            (0, 0, 0),
            "something did not come"
        );
        assert!(self.open.is_empty(), "operations are not over");
        assert!(self.errors.is_empty(), "errors did not come");
        assert!(self.finished.iter().all(VecDeque::is_empty), "{:?}", self.finished);
        assert_eq!(self.host.memory.bytes, self.twin.memory.bytes);
    }

    /// Values told so far.
    pub(super) fn values(&self) -> Vec<u64> {
        self.told.iter().map(|(_, task)| task.value.into()).collect()
    }

    /// Errors that nobody will get.
    pub(super) fn lose_errors(&mut self, kept: usize) {
        self.errors.truncate(kept);
    }
}
