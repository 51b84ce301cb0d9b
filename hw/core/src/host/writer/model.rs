//! The writer in plain Rust: what is visible when, and who is told of what failed.

use std::collections::BTreeSet;

use stroma_abi::desc::{Cqe, Eqe, Event, Status};

use crate::host::dma_write::model::{Run, runs};
use crate::host::work::{EntryWrite, EventRecord, HostWrite, QpError};
use crate::pack::Packed;

/// What a client wants written.
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    /// Payload of a queue pair.
    Payload {
        /// Where it goes.
        iova: u64,
        /// The queue pair.
        qpn: u64,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// An entry of a CQ.
    Completion(EntryWrite),
    /// An entry of the event queue.
    Event(EntryWrite),
}

impl Write {
    /// Where it goes, and which bytes.
    #[must_use]
    pub fn image(&self) -> (u64, Vec<u8>) {
        let entry = |entry: &EntryWrite| {
            let mut bytes: Vec<u8> = entry.data.to_words().into_iter().flat_map(u32::to_le_bytes).collect();
            bytes.truncate(if entry.long { Cqe::LEN } else { Eqe::LEN });
            (entry.iova.into(), bytes)
        };
        match self {
            Self::Payload { iova, bytes, .. } => (*iova, bytes.clone()),
            Self::Completion(of) | Self::Event(of) => entry(of),
        }
    }

    /// The payload client's command.
    ///
    /// # Panics
    /// If it is an entry.
    #[must_use]
    pub fn command(&self) -> HostWrite {
        let Self::Payload { iova, qpn, bytes } = self else { panic!("{self:?} is no payload") };
        HostWrite { iova: (*iova).into(), len: (bytes.len() as u64).into(), qpn: (*qpn).into() }
    }

    /// What is told when it fails.
    #[must_use]
    pub fn news(&self) -> (Option<EventRecord>, Option<QpError>) {
        let event = |object: u64| EventRecord {
            data: self.image().0.into(),
            object: object.into(),
            kind: (Event::CardError as u64).into(),
            subkind: 0.into(),
        };
        let error =
            |qpn: u64| QpError { qpn: qpn.into(), status: (Status::General as u64).into(), untold: true };
        match self {
            Self::Payload { qpn, .. } => (Some(event(*qpn)), Some(error(*qpn))),
            Self::Completion(_) => (Some(event(0)), None),
            Self::Event(_) => (None, None),
        }
    }
}

/// Commands in the order in which they were accepted; the n-th has ticket n.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// All of them.
    pub accepted: Vec<Write>,
    /// Their bursts.
    pub runs: Vec<Run>,
    /// How many bursts there are up to the end of each command.
    pub ends: Vec<u64>,
}

impl Ledger {
    /// Accepts a command for a path with beats of so many bytes.
    pub fn accept(&mut self, write: Write, beat_bytes: usize) {
        let (iova, bytes) = write.image();
        self.runs.extend(runs(iova, bytes.len() as u64, beat_bytes));
        self.ends.push(self.runs.len() as u64);
        self.accepted.push(write);
    }

    /// Commands that are done when so many bursts are answered.
    #[must_use]
    pub fn done(&self, answered: u64) -> u64 {
        self.ends.partition_point(|end| *end <= answered) as u64
    }

    /// The commands that fail when these bursts do, in order.
    #[must_use]
    pub fn failed(&self, bursts: &BTreeSet<u64>) -> Vec<&Write> {
        let ticket = |burst: &u64| self.ends.partition_point(|end| end <= burst);
        let tickets: BTreeSet<usize> = bursts.iter().map(ticket).collect();
        tickets.into_iter().map(|ticket| &self.accepted[ticket]).collect()
    }
}
