//! Host memory as a read engine sees it: answers in any order, and asserts the rules of the address channel.

use stroma_verilate::{Bench, SinkId, SourceId, SplitMix64};

use super::axi::{BOUNDARY_BYTES, ReadAddress, ReadBeat};
use crate::testing::{collect, push};

/// Which of the bursts that are due gives the next beat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pick {
    /// In the order of their addresses: the fastest host.
    Oldest,
    /// The other way round.
    Youngest,
    /// Any, a new choice for each beat.
    Any,
}

/// A burst asked for.
struct Flight {
    burst: ReadAddress,
    given: u64,
    due: u64,
}

/// The memory behind `ar` and `r` of a bench.
pub(crate) struct ReadMemory<const D: usize> {
    ar: SinkId,
    r: SourceId,
    rng: SplitMix64,
    flights: Vec<Flight>,
    outstanding: usize,
    /// The choice among bursts.
    pub(crate) pick: Pick,
    /// Cycles until a burst may begin to answer: at least, and below.
    pub(crate) latency: (u64, u64),
    /// Percent of cycles without a beat.
    pub(crate) idle: u64,
    /// All bursts so far.
    pub(crate) asked: Vec<ReadAddress>,
    /// Most bursts in flight at one time.
    pub(crate) most: usize,
}

/// The byte at an address.
pub(crate) fn byte(address: u64) -> u8 {
    SplitMix64::at(0xb17e, address).to_le_bytes()[0]
}

/// Is the address in one of the blocks, a few in a hundred, that cannot be read?
pub(crate) fn broken(address: u64) -> bool {
    SplitMix64::at(0xbad, address / 512).is_multiple_of(31)
}

impl<const D: usize> ReadMemory<D> {
    /// A fast memory that asserts a limit of bursts in flight.
    pub(crate) fn new(bench: &mut Bench, outstanding: usize) -> Self {
        Self {
            ar: bench.sink("ar").unwrap_or_else(|error| panic!("{error}")),
            r: bench.source("r").unwrap_or_else(|error| panic!("{error}")),
            rng: SplitMix64::new(1),
            flights: Vec::new(),
            outstanding,
            pick: Pick::Oldest,
            latency: (0, 1),
            idle: 0,
            asked: Vec::new(),
            most: 0,
        }
    }

    /// The stream of addresses, to be stalled.
    pub(crate) fn ar(&self) -> SinkId {
        self.ar
    }

    /// Forgets all bursts in flight: the host's half of a reset.
    pub(crate) fn reset(&mut self) {
        self.flights.clear();
    }

    /// One cycle of the bench with this memory.
    pub(crate) fn step(&mut self, bench: &mut Bench) {
        let beat = self.beat(bench.cycle());
        push(bench, self.r, beat.as_slice());
        bench.step();
        assert!(bench[self.r].is_empty(), "r.ready is low in cycle {}", bench.cycle());
        if let Some(last) = beat.filter(|beat| beat.last) {
            self.flights.retain(|flight| flight.burst.id != last.id);
        }
        for burst in collect::<ReadAddress>(bench, self.ar) {
            self.take(burst, bench.cycle());
        }
    }

    /// The next beat, if one is due.
    fn beat(&mut self, cycle: u64) -> Option<ReadBeat<D>> {
        let due: Vec<usize> = (0..self.flights.len()).filter(|at| self.flights[*at].due <= cycle).collect();
        if due.is_empty() || self.rng.below(100) < self.idle {
            return None;
        }
        let chosen = match self.pick {
            Pick::Oldest => due[0],
            Pick::Youngest => due[due.len() - 1],
            Pick::Any => due[usize::try_from(self.rng.below(due.len() as u64)).expect("few are due")],
        };
        let flight = &mut self.flights[chosen];
        let (beat_len, beats) = (D as u64 / 8, u64::from(flight.burst.len) + 1);
        let at = u64::from(flight.burst.addr) + flight.given * beat_len;
        flight.given += 1;
        let bytes: Vec<u8> = (at..at + beat_len).map(byte).collect();
        Some(ReadBeat {
            data: crate::pack::from_bytes(&bytes),
            id: flight.burst.id,
            resp: if broken(at) { 1 + self.rng.below(3) } else { 0 }.into(),
            last: flight.given == beats,
        })
    }

    /// Takes a burst that keeps the rules.
    fn take(&mut self, burst: ReadAddress, cycle: u64) {
        let (beat_len, page) = (D as u64 / 8, BOUNDARY_BYTES as u64);
        let (first, beats) = (u64::from(burst.addr), u64::from(burst.len) + 1);
        assert!(first.is_multiple_of(beat_len), "{burst:?} does not begin a beat");
        assert_eq!(first / page, (first + beats * beat_len - 1) / page, "{burst:?} crosses 4 KiB");
        assert!(self.flights.iter().all(|flight| flight.burst.id != burst.id), "{burst:?} takes a used ID");
        let due = cycle + self.latency.0 + self.rng.below(self.latency.1 - self.latency.0);
        self.flights.push(Flight { burst, given: 0, due });
        self.asked.push(burst);
        self.most = self.most.max(self.flights.len());
        assert!(self.most <= self.outstanding, "{burst:?} is one too many");
    }
}
