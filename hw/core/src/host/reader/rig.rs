//! The reader between its clients and a host memory.

use stroma_verilate::{Bench, SinkId, SourceId, SplitMix64};

use super::model::{line, units};
use super::{CLIENTS, HostReader, LINE_BYTES};
use crate::host::dma_read::model::answer;
use crate::host::dma_read::{OUTSTANDING, ReadCommand, ReadData};
use crate::host::read_memory::{ReadMemory, broken, byte};
use crate::host::work::Unit;
use crate::state::walker::{Line, LineRequest};
use crate::testing::{collect, push, read, verilated};

const LIMIT: u64 = 100_000;

/// What the seven clients ask for.
#[derive(Clone, Default)]
pub(super) struct Asked {
    pub(super) fetch: Vec<ReadCommand>,
    pub(super) payload: Vec<ReadCommand>,
    pub(super) lines: Vec<LineRequest>,
    pub(super) packets: Vec<ReadCommand>,
    pub(super) lists: Vec<ReadCommand>,
    pub(super) words: Vec<ReadCommand>,
    pub(super) kernels: Vec<ReadCommand>,
}

/// What they get.
#[derive(Debug, PartialEq)]
pub(super) struct Answers<const D: usize> {
    pub(super) units: Vec<Unit>,
    pub(super) payload: Vec<ReadData<D>>,
    pub(super) lines: Vec<Line>,
    pub(super) packets: Vec<ReadData<D>>,
    pub(super) lists: Vec<Unit>,
    pub(super) words: Vec<ReadData<D>>,
    pub(super) kernels: Vec<ReadData<D>>,
}

impl<const D: usize> Answers<D> {
    /// By the model.
    pub(super) fn to(asked: &Asked) -> Self {
        Self {
            units: asked.fetch.iter().flat_map(|command| units::<D>(command, byte, broken)).collect(),
            payload: asked.payload.iter().flat_map(|command| answer::<D>(command, byte, broken)).collect(),
            lines: asked.lines.iter().map(|request| line::<D>(request, byte, broken)).collect(),
            packets: asked.packets.iter().flat_map(|command| answer::<D>(command, byte, broken)).collect(),
            lists: asked.lists.iter().flat_map(|command| units::<D>(command, byte, broken)).collect(),
            words: asked.words.iter().flat_map(|command| answer::<D>(command, byte, broken)).collect(),
            kernels: asked.kernels.iter().flat_map(|command| answer::<D>(command, byte, broken)).collect(),
        }
    }

    pub(super) fn failures(&self) -> usize {
        self.units.iter().filter(|unit| unit.err).count()
            + self.payload.iter().filter(|beat| beat.err).count()
            + self.lines.iter().filter(|line| line.err).count()
            + self.packets.iter().filter(|beat| beat.err).count()
            + self.lists.iter().filter(|unit| unit.err).count()
            + self.words.iter().filter(|beat| beat.err).count()
            + self.kernels.iter().filter(|beat| beat.err).count()
    }

    pub(super) fn counts(&self) -> [usize; CLIENTS] {
        let (lists, words, kernels) = (self.lists.len(), self.words.len(), self.kernels.len());
        [self.units.len(), self.payload.len(), self.lines.len(), self.packets.len(), lists, words, kernels]
    }
}

pub(super) struct Rig<const D: usize, const LOG: usize> {
    pub(super) bench: Bench,
    pub(super) memory: ReadMemory<D>,
    /// Fetch, payload, lines, packets, lists, words, kernels.
    pub(super) commands: [SourceId; CLIENTS],
    pub(super) answers: [SinkId; CLIENTS],
    /// Pulses of `failed` so far.
    pub(super) failed: usize,
}

impl<const D: usize, const LOG: usize> Rig<D, LOG> {
    pub(super) fn new() -> Self {
        let mut bench = verilated(&format!("host_reader_{D}"), HostReader::<D, LOG>::default);
        let commands = ["fetch", "payload", "line_request", "packet", "list", "word", "kernel"]
            .map(|name| bench.source(name).expect("it exists"));
        let answers =
            ["units", "payload_data", "line", "packet_data", "list_units", "word_data", "kernel_data"]
                .map(|name| bench.sink(name).expect("it exists"));
        let memory = ReadMemory::new(&mut bench, OUTSTANDING);
        bench.reset(2);
        Self { bench, memory, commands, answers, failed: 0 }
    }

    pub(super) fn send(&mut self, asked: &Asked) {
        push(&mut self.bench, self.commands[0], &asked.fetch);
        push(&mut self.bench, self.commands[1], &asked.payload);
        push(&mut self.bench, self.commands[2], &asked.lines);
        push(&mut self.bench, self.commands[3], &asked.packets);
        push(&mut self.bench, self.commands[4], &asked.lists);
        push(&mut self.bench, self.commands[5], &asked.words);
        push(&mut self.bench, self.commands[6], &asked.kernels);
    }

    pub(super) fn step(&mut self) {
        self.memory.step(&mut self.bench);
        self.failed += usize::from(read::<bool>(&self.bench, "failed"));
    }

    pub(super) fn run(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.step());
    }

    /// Steps until the clients have so many answers; the cycles that took.
    pub(super) fn wait(&mut self, counts: [usize; CLIENTS]) -> u64 {
        let start = self.bench.cycle();
        while (0..CLIENTS).any(|client| self.bench[self.answers[client]].received().len() < counts[client]) {
            assert!(self.bench.cycle() - start < LIMIT, "stuck before {counts:?} answers");
            self.step();
        }
        self.bench.cycle() - start
    }

    pub(super) fn collect(&mut self) -> Answers<D> {
        Answers {
            units: collect(&mut self.bench, self.answers[0]),
            payload: collect(&mut self.bench, self.answers[1]),
            lines: collect(&mut self.bench, self.answers[2]),
            packets: collect(&mut self.bench, self.answers[3]),
            lists: collect(&mut self.bench, self.answers[4]),
            words: collect(&mut self.bench, self.answers[5]),
            kernels: collect(&mut self.bench, self.answers[6]),
        }
    }

    /// Waits for the answers to what was sent, and holds them against the model's; the cycles that took.
    pub(super) fn check(&mut self, asked: &Asked) -> u64 {
        let expected = Answers::<D>::to(asked);
        let cycles = self.wait(expected.counts());
        self.run(120);
        let found = self.collect();
        assert_eq!(found.counts(), expected.counts());
        assert!(found == expected, "{found:x?}\nis not\n{expected:x?}");
        assert_eq!(std::mem::take(&mut self.failed), expected.failures(), "pulses of `failed`");
        assert!(!read::<bool>(&self.bench, "busy"), "busy with nothing to do");
        cycles
    }
}

pub(super) fn command(iova: u64, len: u64, tag: u64) -> ReadCommand {
    ReadCommand { iova: iova.into(), len: len.into(), tag: tag.into() }
}

/// Requests of all clients, anywhere in 1 MiB.
pub(super) fn random(rng: &mut SplitMix64, count: u64) -> Asked {
    let mut asked = Asked::default();
    for _ in 0..count {
        asked.fetch.push(command(rng.below(1 << 20) & !63, 64 * (1 + rng.below(32)), rng.below(64)));
        let longest = [8, 300, 4096][usize::try_from(rng.below(3)).expect("small")];
        asked.payload.push(command(rng.below(1 << 20), 1 + rng.below(longest), rng.below(64)));
        asked.packets.push(command(rng.below(1 << 20), 1 + rng.below(longest), rng.below(64)));
        asked.lists.push(command(rng.below(1 << 20) & !63, 64 * (1 + rng.below(5)), rng.below(64)));
        asked.words.push(command(rng.below(1 << 20) & !7, 8, rng.below(64)));
        asked.kernels.push(command(rng.below(1 << 20), 1 + rng.below(longest), rng.below(64)));
        for _ in 0..4 {
            let addr = rng.below(1 << 20) & !(LINE_BYTES as u64 - 1);
            asked.lines.push(LineRequest { addr: addr.into(), id: rng.below(8).into() });
        }
    }
    asked
}
