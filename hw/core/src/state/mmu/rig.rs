//! The MMU on a bench, with a host memory that answers late and out of order.

use rust_hdl::prelude::Bits;
use stroma_abi::desc::Region;
use stroma_abi::desc::region::{PAGE_LIST_ENTRY, PAGE_LOGS};
use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

use super::model::{Ask, Bond, Table};
use super::{Mmu, XlatResponse};
use crate::pack::Packed;
use crate::state::command::KeyWork;
use crate::state::memory_keys::{RegionRow, RowWrite};
use crate::state::walker::{Line, LineRequest};
use crate::testing::{collect, push, read, verilated};

/// log2 of the regions.
pub(super) const MRS: usize = 4;
/// log2 of the TLB's sets.
const SETS: usize = 2;
/// Translations it holds.
pub(super) const TLB_PAGES: u64 = 32 << SETS;
/// Cycles after which the MMU counts as stuck.
const LIMIT: u64 = 100_000;

/// The bench, its streams, and the model beside it.
pub(super) struct Rig {
    pub(super) bench: Bench,
    pub(super) request: SourceId,
    pub(super) response: SinkId,
    line_request: SinkId,
    line: SourceId,
    pub(super) row: SourceId,
    pub(super) invalidate: SourceId,
    pub(super) done: SinkId,
    pub(super) table: Table,
    pub(super) rng: SplitMix64,
    /// Line requests on their way, with the cycle of their answer.
    waiting: Vec<(u64, LineRequest)>,
    /// Most cycles host memory takes; it takes at least half of them.
    pub(super) latency: u64,
    /// Addresses of all lines asked for.
    pub(super) walked: Vec<u64>,
}

impl Default for Rig {
    /// An MMU after reset.
    fn default() -> Self {
        let mut bench = verilated("mmu", Mmu::<MRS, SETS>::default);
        let input = |bench: &mut Bench, name| bench.source(name).unwrap_or_else(|error| panic!("{error}"));
        let output = |bench: &mut Bench, name| bench.sink(name).unwrap_or_else(|error| panic!("{error}"));
        let (request, response) = (input(&mut bench, "request"), output(&mut bench, "response"));
        let (line, line_request) = (input(&mut bench, "line"), output(&mut bench, "line_request"));
        let (row, invalidate) = (input(&mut bench, "row"), input(&mut bench, "invalidate"));
        let done = output(&mut bench, "done");
        bench.reset(2);
        Self {
            bench,
            request,
            response,
            line_request,
            line,
            row,
            invalidate,
            done,
            table: Table::default(),
            rng: SplitMix64::new(0),
            waiting: Vec::new(),
            latency: 40,
            walked: Vec::new(),
        }
    }
}

impl Rig {
    /// Puts the MMU through reset and chooses what is random from here on; no line comes any more.
    pub(super) fn reset(&mut self, seed: u64) {
        self.rng = SplitMix64::new(seed);
        self.waiting.clear();
        self.walked.clear();
        self.table = Table::default();
        self.bench.reset(1);
    }

    /// Makes host memory and both of its streams slow.
    pub(super) fn slow_memory(&mut self, pause: &Pause) {
        let (line_request, line) = (self.line_request, self.line);
        self.bench[line_request].pause(pause.clone());
        self.bench[line].pause(pause.clone());
    }

    /// One cycle.
    pub(super) fn step(&mut self) {
        self.bench.step();
        let now = self.bench.cycle();
        for request in collect::<LineRequest>(&mut self.bench, self.line_request) {
            assert!(self.waiting.iter().all(|(_, other)| other.id != request.id), "two walks share an id");
            let address = u64::from(request.addr.to_words()[0]) | u64::from(request.addr.to_words()[1]) << 32;
            self.walked.push(address);
            self.waiting.push((now + self.latency / 2 + self.rng.below(self.latency / 2 + 1), request));
        }
        for (_, request) in self.waiting.extract_if(.., |(due, _)| *due <= now) {
            let address = u64::from(request.addr.to_words()[0]) | u64::from(request.addr.to_words()[1]) << 32;
            let data = self.table.line(address);
            let err = data.is_none();
            let data = Bits::from_words(&data.unwrap_or_else(|| self.rng.bits(512)));
            push(&mut self.bench, self.line, &[Line { data, id: request.id, err }]);
        }
    }

    /// Some cycles.
    pub(super) fn run(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.step());
    }

    /// Steps until nothing waits outside and nothing is inside.
    pub(super) fn settle(&mut self) {
        for _ in 0..LIMIT {
            self.step();
            if self.bench.is_sent() && !read::<bool>(&self.bench, "busy") {
                return;
            }
        }
        panic!("the MMU is busy after {LIMIT} cycles");
    }

    /// A region with a random page list of its own; `number` is also where that list is.
    pub(super) fn register(&mut self, number: u32, region: Region) {
        let log = PAGE_LOGS[usize::from(region.page)];
        let region = if region.direct {
            // The first page, anywhere.
            Region { list: self.rng.next_u64() >> 2 >> log << log, ..region }
        } else {
            let pages = ((region.base + region.length - 1) >> log) - (region.base >> log) + 1;
            let list = (u64::from(number) + 1) << 32;
            for page in 0..pages {
                self.table.memory.insert(list + page * PAGE_LIST_ENTRY as u64, self.rng.next_u64());
            }
            Region { list, ..region }
        };
        let row = RowWrite::<MRS> { region: u64::from(number).into(), row: RegionRow::of(number, &region) };
        push(&mut self.bench, self.row, &[row]);
        self.table.regions.insert(number, region);
    }

    /// Ends a region and waits for `done`.
    pub(super) fn deregister(&mut self, number: u32) {
        push(&mut self.bench, self.invalidate, &[Bits::<MRS>::from(u64::from(number))]);
        self.table.regions.remove(&number);
        self.settle();
        assert_eq!(collect::<Bits<MRS>>(&mut self.bench, self.done), [u64::from(number)]);
    }

    /// Binds a window to a part of a region: `part` says base, length, key and rights.
    pub(super) fn bind(&mut self, number: u32, bond: Bond, part: &Region) {
        let region = self.table.regions[&bond.parent];
        let work = KeyWork {
            qpn: u64::from(bond.qpn).into(),
            key: u64::from(number << 8 | u32::from(part.key)).into(),
            base: part.base.into(),
            length: part.length.into(),
            rights: u64::from(part.rights).into(),
            ..KeyWork::default()
        };
        let row = RegionRow::of(bond.parent, &region).window(&work);
        push(&mut self.bench, self.row, &[RowWrite::<MRS> { region: u64::from(number).into(), row }]);
        let (base, length, key, rights) = (part.base, part.length, part.key, part.rights);
        self.table.regions.insert(number, Region { base, length, key, rights, ..region });
        self.table.bonds.insert(number, bond);
    }

    /// Ends a window's key.
    pub(super) fn unbind(&mut self, number: u32) {
        let nothing = RowWrite::<MRS> { region: u64::from(number).into(), row: RegionRow::default() };
        push(&mut self.bench, self.row, &[nothing]);
        self.table.regions.remove(&number);
        self.table.bonds.remove(&number);
    }

    /// Queues requests.
    pub(super) fn send(&mut self, asks: &[Ask]) {
        let requests: Vec<_> = asks.iter().map(Ask::request).collect();
        push(&mut self.bench, self.request, &requests);
    }

    /// Fetches what has been answered.
    pub(super) fn responses(&mut self) -> Vec<XlatResponse> {
        collect(&mut self.bench, self.response)
    }

    /// Sends requests, and holds the answers of each client against the model's.
    pub(super) fn agree(&mut self, asks: &[Ask]) {
        self.send(asks);
        self.settle();
        let responses = self.responses();
        for client in 0..8 {
            let expected: Vec<_> = asks
                .iter()
                .filter(|ask| ask.client == client)
                .flat_map(|ask| self.table.answers(ask))
                .collect();
            let mine: Bits<3> = u64::from(client).into();
            let got: Vec<_> = responses.iter().filter(|response| response.client == mine).copied().collect();
            for (place, (got, expected)) in got.iter().zip(&expected).enumerate() {
                assert_eq!(got, expected, "answer {place} of client {client}");
            }
            assert_eq!(got.len(), expected.len(), "answers of client {client}");
        }
    }

    /// A counter.
    pub(super) fn count(&self, name: &str) -> u32 {
        read::<Bits<64>>(&self.bench, name).to_words()[0]
    }
}
