//! The write engine between a driver and a host memory.

use std::collections::BTreeSet;

use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

use super::model::{Run, image, runs};
use super::{DmaWrite, Failed, WriteCommand};
use crate::host::axi::{WriteAddress, WriteBeat, WriteResponse};
use crate::host::memory::WriteMemory;
use crate::pack::Packed;
use crate::stream::beats;
use crate::testing::{collect, push, read, verilated};

/// Bytes to an address; none are a command without data.
pub(super) type Write = (u64, Vec<u8>);

/// Cycles after which the engine counts as stuck.
const LIMIT: u64 = 200_000;

pub(super) struct Rig<const D: usize, const K: usize> {
    pub(super) bench: Bench,
    pub(super) command: SourceId,
    pub(super) data: SourceId,
    pub(super) aw: SinkId,
    pub(super) w: SinkId,
    pub(super) b: SourceId,
    pub(super) failed: SinkId,
    outstanding: u64,
    pub(super) memory: WriteMemory<D, K>,
    /// Bursts seen, by address and by data.
    pub(super) addressed: Vec<Run>,
    pub(super) answerable: u64,
    /// Cycles in which `w` moved.
    pub(super) w_cycles: Vec<u64>,
    sent: Vec<Write>,
    /// What the model makes of it: the bursts, and how many there are up to the end of each command.
    runs: Vec<Run>,
    ends: Vec<u64>,
    /// Bursts, by number, that are to go wrong.
    bad: BTreeSet<u64>,
    answered_before: u64,
}

impl<const D: usize, const K: usize> Rig<D, K> {
    pub(super) fn new(outstanding: usize) -> Self {
        let mut bench = verilated(&format!("dma_write_{D}"), move || DmaWrite::<D, K>::new(outstanding));
        let [command, data, b] =
            ["command", "data", "b"].map(|name| bench.source(name).expect("the stream exists"));
        let [aw, w, failed] = ["aw", "w", "failed"].map(|name| bench.sink(name).expect("the stream exists"));
        bench.reset(2);
        let memory = WriteMemory::default();
        Self {
            bench,
            command,
            data,
            aw,
            w,
            b,
            failed,
            outstanding: outstanding as u64,
            memory,
            addressed: Vec::new(),
            answerable: 0,
            w_cycles: Vec::new(),
            sent: Vec::new(),
            runs: Vec::new(),
            ends: Vec::new(),
            bad: BTreeSet::new(),
            answered_before: 0,
        }
    }

    /// Resets the engine and the memory, for the next run. No beat may be left in a source.
    pub(super) fn reset(&mut self) {
        assert!(self.bench.is_sent(), "a beat of the run before is left");
        self.bench.reset(2);
        self.answered_before = self.bench[self.b].sent();
        self.memory = WriteMemory::default();
        self.addressed.clear();
        self.answerable = 0;
        self.w_cycles.clear();
        self.sent.clear();
        self.runs.clear();
        self.ends.clear();
        self.bad.clear();
        for sink in [self.aw, self.w, self.failed] {
            self.bench[sink].take();
        }
    }

    /// Pauses of command, data, `b`, `aw`, `w`, `failed`.
    pub(super) fn pause(&mut self, [command, data, b, aw, w, failed]: [Pause; 6]) {
        self.bench[self.command].pause(command);
        self.bench[self.data].pause(data);
        self.bench[self.b].pause(b);
        self.bench[self.aw].pause(aw);
        self.bench[self.w].pause(w);
        self.bench[self.failed].pause(failed);
    }

    pub(super) fn send(&mut self, writes: &[Write]) {
        for (iova, bytes) in writes {
            let command = WriteCommand { iova: (*iova).into(), len: (bytes.len() as u64).into() };
            push(&mut self.bench, self.command, &[command]);
            if !bytes.is_empty() {
                push(&mut self.bench, self.data, &beats::<D>(bytes));
            }
            self.runs.extend(runs(*iova, bytes.len() as u64, K));
            self.ends.push(self.runs.len() as u64);
        }
        self.sent.extend_from_slice(writes);
    }

    /// The response to this burst, counted from 0, will say that it failed.
    pub(super) fn spoil(&mut self, burst: u64) {
        self.bad.insert(burst);
    }

    /// One cycle: the memory takes what moved, and queues the responses to the bursts that are whole.
    pub(super) fn step(&mut self) {
        self.bench.step();
        for address in collect::<WriteAddress>(&mut self.bench, self.aw) {
            self.memory.address(&address);
            self.addressed.push(Run { addr: u64::from(address.addr), beats: u64::from(address.len) + 1 });
        }
        for beat in collect::<WriteBeat<D, K>>(&mut self.bench, self.w) {
            self.memory.beat(beat);
            self.w_cycles.push(self.bench.cycle());
        }
        for _ in self.memory.settle() {
            let is_bad = self.bad.contains(&self.answerable);
            // Both of AXI's errors in turn.
            let resp = if is_bad { 2 + self.answerable % 2 } else { 0 };
            push(&mut self.bench, self.b, &[WriteResponse { resp: resp.into() }]);
            self.answerable += 1;
        }
        let in_flight = self.addressed.len() as u64 - self.answered();
        assert!(in_flight <= self.outstanding, "{in_flight} bursts lack their response");
        assert!(self.done() <= self.done_by_model(), "a command is done before its last response");
    }

    pub(super) fn run(&mut self, cycles: u64) {
        for _ in 0..cycles {
            self.step();
        }
    }

    /// Steps until nothing is left inside or on its way, and holds the outcome against the model.
    pub(super) fn finish(&mut self) {
        let start = self.bench.cycle();
        while !self.bench.is_sent() || self.port::<bool>("busy") {
            assert!(self.bench.cycle() - start < LIMIT, "the engine is stuck");
            self.step();
        }
        let count = self.sent.len() as u64;
        assert_eq!((self.count("issued"), self.done()), (count, count));
        assert_eq!(self.addressed, self.runs, "bursts");
        assert_eq!(self.memory.bytes, image(&self.sent), "memory");
        let tickets: Vec<u64> = collect::<Failed>(&mut self.bench, self.failed)
            .iter()
            .map(|failed| u64::from(failed.ticket))
            .collect();
        assert_eq!(tickets, self.failed_by_model(), "failures");
    }

    /// Tickets of the commands with a spoilt burst.
    fn failed_by_model(&self) -> Vec<u64> {
        let ticket = |burst: &u64| self.ends.partition_point(|end| end <= burst) as u64 + 1;
        let tickets: BTreeSet<u64> = self.bad.iter().map(ticket).collect();
        tickets.into_iter().collect()
    }

    /// Commands whose bursts, and those of all before them, are answered.
    fn done_by_model(&self) -> u64 {
        self.ends.partition_point(|end| *end <= self.answered()) as u64
    }

    pub(super) fn answered(&self) -> u64 {
        self.bench[self.b].sent() - self.answered_before
    }

    pub(super) fn done(&self) -> u64 {
        self.count("done")
    }

    pub(super) fn count(&self, port: &str) -> u64 {
        self.bench.model().get(self.bench.model().port(port).expect("the port exists"))
    }

    pub(super) fn port<T: Packed>(&self, name: &str) -> T {
        read(&self.bench, name)
    }
}

/// Bytes that differ from each other and from those of another seed.
pub(super) fn bytes(seed: u64, len: usize) -> Vec<u8> {
    let mut rng = SplitMix64::new(seed);
    (0..len).map(|_| rng.next_u32().to_le_bytes()[0]).collect()
}
