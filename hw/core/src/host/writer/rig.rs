//! The writer between its clients and a host memory, with the ledger beside it.

use std::collections::{BTreeSet, VecDeque};

use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

use super::model::{Ledger, Write};
use super::{HostWriter, SETTLERS};
use crate::host::axi::{WriteAddress, WriteBeat, WriteResponse};
use crate::host::dma_write::model::{Run, image};
use crate::host::memory::WriteMemory;
use crate::host::work::{EntryWrite, EventRecord, QpError};
use crate::pack::Packed;
use crate::stream::beats;
use crate::testing::{collect, push, read, verilated};

/// Cycles after which the writer counts as stuck.
const LIMIT: u64 = 100_000;

pub(super) struct Rig<const D: usize, const K: usize> {
    pub(super) bench: Bench,
    /// Commands: payload, CQEs, EQEs.
    pub(super) clients: [SourceId; 3],
    pub(super) data: SourceId,
    pub(super) b: SourceId,
    pub(super) aw: SinkId,
    pub(super) w: SinkId,
    pub(super) event: SinkId,
    pub(super) error: SinkId,
    /// What each client still has to get accepted.
    queued: [VecDeque<Write>; 3],
    pub(super) ledger: Ledger,
    /// Some command had no bytes: it is done when its turn comes, a cycle or two later than the ledger says.
    has_empty: bool,
    /// Which client had each command.
    pub(super) order: Vec<usize>,
    pub(super) memory: WriteMemory<D, K>,
    pub(super) addressed: Vec<Run>,
    /// Cycles in which `w` moved.
    pub(super) w_cycles: Vec<u64>,
    /// Bursts whose response was queued, and moved.
    pub(super) answerable: u64,
    pub(super) answered: u64,
    /// Bursts, by number, that go wrong.
    pub(super) bad: BTreeSet<u64>,
    /// Pulses of `failed`, and of `settled`, so far.
    pub(super) failed: u64,
    pub(super) settled: [u64; SETTLERS],
    /// Tickets that `settled` is to wait for.
    marks: [Option<u64>; SETTLERS],
    asked: [bool; SETTLERS],
}

impl<const D: usize, const K: usize> Rig<D, K> {
    pub(super) fn new() -> Self {
        let mut bench = verilated(&format!("host_writer_{D}"), HostWriter::<D, K>::default);
        let [write, cqes, eqes, data, b] = ["write", "entries$0", "entries$1", "data", "b"]
            .map(|name| bench.source(name).expect("the stream exists"));
        let [aw, w, event, error] =
            ["aw", "w", "event", "error"].map(|name| bench.sink(name).expect("the stream exists"));
        let mut rig = Self {
            bench,
            clients: [write, cqes, eqes],
            data,
            b,
            aw,
            w,
            event,
            error,
            queued: Default::default(),
            ledger: Ledger::default(),
            has_empty: false,
            order: Vec::new(),
            memory: WriteMemory::default(),
            addressed: Vec::new(),
            w_cycles: Vec::new(),
            answerable: 0,
            answered: 0,
            bad: BTreeSet::new(),
            failed: 0,
            settled: [0; SETTLERS],
            marks: [None; SETTLERS],
            asked: [false; SETTLERS],
        };
        rig.reset();
        rig
    }

    /// Resets the writer and the host, for the next run. No beat may be left in a source.
    pub(super) fn reset(&mut self) {
        assert!(self.bench.is_sent(), "a beat of the run before is left");
        self.bench.reset(2);
        (self.ledger, self.memory) = (Ledger::default(), WriteMemory::default());
        self.has_empty = false;
        self.order.clear();
        self.addressed.clear();
        self.w_cycles.clear();
        (self.answerable, self.answered, self.failed) = (0, 0, 0);
        self.bad.clear();
        (self.settled, self.marks, self.asked) = ([0; SETTLERS], [None; SETTLERS], [false; SETTLERS]);
        for sink in [self.aw, self.w, self.event, self.error] {
            self.bench[sink].take();
        }
    }

    pub(super) fn send(&mut self, writes: &[Write]) {
        for write in writes {
            let client = match write {
                Write::Payload { bytes, .. } => {
                    push(&mut self.bench, self.clients[0], &[write.command()]);
                    if !bytes.is_empty() {
                        push(&mut self.bench, self.data, &beats::<D>(bytes));
                    }
                    0
                }
                Write::Completion(entry) => self.entry(1, entry),
                Write::Event(entry) => self.entry(2, entry),
            };
            self.queued[client].push_back(write.clone());
        }
    }

    fn entry(&mut self, client: usize, entry: &EntryWrite) -> usize {
        push(&mut self.bench, self.clients[client], &[*entry]);
        client
    }

    /// Asks, in the next cycle, to be told when all is done.
    pub(super) fn settle(&mut self, of: usize) {
        self.asked[of] = true;
    }

    /// One cycle, held against the ledger.
    pub(super) fn step(&mut self) {
        for of in 0..SETTLERS {
            let port = self.bench.model().port(&format!("settle${of}")).expect("the port exists");
            self.bench.model_mut().set(port, self.asked[of].into());
        }
        let ticket = self.count("ticket");
        let before = self.clients.map(|client| self.bench[client].sent());
        let answered = self.bench[self.b].sent();
        self.bench.step();

        let moved: Vec<usize> =
            (0..3).filter(|client| self.bench[self.clients[*client]].sent() > before[*client]).collect();
        assert!(moved.len() < 2, "{moved:?} are accepted in one cycle");
        for client in moved {
            let write = self.queued[client].pop_front().expect("only what was queued moves");
            self.has_empty |= write.image().1.is_empty();
            self.ledger.accept(write, K);
            self.order.push(client);
            assert_eq!(ticket, self.issued() & 0xffff, "ticket");
        }
        assert_eq!(self.count("issued"), self.issued() & 0xffff, "issued");
        self.answered += self.bench[self.b].sent() - answered;
        let done = self.ledger.done(self.answered);
        let is_plain = !self.has_empty;
        assert!(!is_plain || self.count("done") == done & 0xffff, "done");

        for of in 0..SETTLERS {
            if std::mem::take(&mut self.asked[of]) {
                self.marks[of] = Some(self.issued());
            }
            let is_due = self.marks[of].is_some_and(|mark| mark <= done);
            let is_told = read::<bool>(&self.bench, &format!("settled${of}"));
            assert!(!is_plain || is_told == is_due, "settled[{of}] is {is_told}, not {is_due}");
            if is_told {
                self.settled[of] += 1;
                self.marks[of] = None;
            }
        }
        self.failed += u64::from(read::<bool>(&self.bench, "failed"));
        self.serve();
    }

    /// The memory takes what moved, and queues the responses to the bursts that are whole.
    fn serve(&mut self) {
        for address in collect::<WriteAddress>(&mut self.bench, self.aw) {
            self.memory.address(&address);
            self.addressed.push(Run { addr: u64::from(address.addr), beats: u64::from(address.len) + 1 });
        }
        for beat in collect::<WriteBeat<D, K>>(&mut self.bench, self.w) {
            self.memory.beat(beat);
            self.w_cycles.push(self.bench.cycle());
        }
        for _ in self.memory.settle() {
            let resp = if self.bad.contains(&self.answerable) { 2 + self.answerable % 2 } else { 0 };
            push(&mut self.bench, self.b, &[WriteResponse { resp: resp.into() }]);
            self.answerable += 1;
        }
    }

    pub(super) fn run(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.step());
    }

    /// Steps until nothing is left inside or on its way.
    pub(super) fn settle_down(&mut self) {
        let start = self.bench.cycle();
        while !self.bench.is_sent() || read::<bool>(&self.bench, "busy") || self.marks != [None; SETTLERS] {
            assert!(self.bench.cycle() - start < LIMIT, "the writer is stuck");
            self.step();
        }
    }

    /// Lets all of it happen, and holds the outcome against the ledger.
    pub(super) fn finish(&mut self) {
        self.settle_down();
        assert_eq!(self.count("done"), self.issued() & 0xffff);
        assert_eq!(self.addressed, self.ledger.runs, "bursts in the order of acceptance");
        let images: Vec<(u64, Vec<u8>)> = self.ledger.accepted.iter().map(Write::image).collect();
        assert_eq!(self.memory.bytes, image(&images), "memory");
        let failed = self.ledger.failed(&self.bad);
        let events: Vec<EventRecord> = failed.iter().filter_map(|write| write.news().0).collect();
        let errors: Vec<QpError> = failed.iter().filter_map(|write| write.news().1).collect();
        assert_eq!(self.failed, failed.len() as u64, "pulses of `failed`");
        assert_eq!(collect::<EventRecord>(&mut self.bench, self.event), events, "events");
        assert_eq!(collect::<QpError>(&mut self.bench, self.error), errors, "errors");
    }

    fn issued(&self) -> u64 {
        self.ledger.accepted.len() as u64
    }

    pub(super) fn count(&self, port: &str) -> u64 {
        self.bench.model().get(self.bench.model().port(port).expect("the port exists"))
    }

    /// The same pause for some streams.
    pub(super) fn pause_sinks(&mut self, pause: &Pause) {
        for sink in [self.aw, self.w, self.event, self.error] {
            self.bench[sink].pause(pause.clone());
        }
    }
}

pub(super) fn payload(iova: u64, qpn: u64, len: usize) -> Write {
    let mut rng = SplitMix64::new(iova << 13 | len as u64);
    Write::Payload { iova, qpn, bytes: (0..len).map(|_| rng.next_u32().to_le_bytes()[0]).collect() }
}

/// An entry of 32 or 16 bytes; the bytes behind a short one are noise.
pub(super) fn entry(iova: u64, long: bool) -> EntryWrite {
    let data = Packed::from_words(&SplitMix64::new(iova).bits(256));
    EntryWrite { iova: iova.into(), data, long }
}
