//! What one side posts on one queue pair, and what memory must become of it.

use std::collections::VecDeque;
use std::sync::Arc;

use stroma_abi::desc::Status;
use stroma_sim::model::Completion;

use super::{Generator, Kind, OPEN, Operation, Side};

/// One side of a queue pair.
pub(super) struct Poster {
    pub(super) end: usize,
    pub(super) pair: usize,
    source: Arc<Vec<u8>>,
    /// What the far target is when all posted so far is done.
    pub(super) target: Vec<u8>,
    /// The same of the own landing.
    pub(super) landing: Vec<u8>,
    open: VecDeque<Operation>,
    posted: u64,
}

impl Poster {
    pub(super) fn new(
        end: usize,
        pair: usize,
        source: Arc<Vec<u8>>,
        target: Vec<u8>,
        landing: Vec<u8>,
    ) -> Self {
        Self { end, pair, source, target, landing, open: VecDeque::new(), posted: 0 }
    }

    pub(super) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Posts one more operation, if there is room; whether it did. A WRITE must not overtake an open READ of the same bytes:
    /// a READ sent again sees what is there by then, and so the transport promises no order between the two.
    pub(super) fn post(&mut self, generator: &mut Generator, side: &mut dyn Side) -> bool {
        let operation = generator.operation(self.posted);
        let Operation { kind, local, remote, length, .. } = operation;
        let touches = |other: &Operation| {
            other.kind == Kind::Read && other.remote < remote + length && remote < other.remote + other.length
        };
        if self.open.len() >= OPEN || kind == Kind::Write && self.open.iter().any(touches) {
            return false;
        }
        let (local, remote) = (local..local + length, remote..remote + length);
        match kind {
            Kind::Write => self.target[remote].copy_from_slice(&self.source[local]),
            Kind::Read => self.landing[local].copy_from_slice(&self.target[remote]),
        }
        self.posted += 1;
        self.open.push_back(operation);
        side.post(self.pair, &operation);
        true
    }

    /// Takes completions, which must be those of the oldest operations.
    pub(super) fn poll(&mut self, side: &mut dyn Side) {
        while let Some(found) = side.poll(self.pair) {
            let place = format!("side {}, queue pair {}", self.end, self.pair);
            let Some(Operation { id, length, .. }) = self.open.pop_front() else {
                panic!("{place}: {found:?}, and nothing is open");
            };
            let bytes = u32::try_from(length).expect("a megabyte at most");
            assert_eq!(found, Completion { id, status: Status::Success, bytes }, "{place}");
        }
    }
}
