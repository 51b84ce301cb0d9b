//! Atomics in plain Rust: one after the other, on memory that shows every write at once.

use stroma_abi::desc::Status;
use stroma_abi::wire::{NakCode, Syndrome};

use super::reads::WORD_BYTES;
use super::rows::RESULTS;
use crate::host::work::{HostWrite, QpError};
use crate::transport::records::{Answer, Atomic, Operation, Task};

/// A piece of host memory.
#[derive(Clone, Debug)]
pub struct Memory {
    /// Address of its first byte, a multiple of 8.
    pub base: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl Memory {
    fn at(&self, iova: u64) -> usize {
        usize::try_from(iova - self.base).expect("an address of this memory")
    }

    /// The word at `iova`.
    ///
    /// # Panics
    /// When it lies elsewhere.
    #[must_use]
    pub fn word(&self, iova: u64) -> u64 {
        let at = self.at(iova);
        u64::from_le_bytes(self.bytes[at..at + 8].try_into().expect("eight bytes"))
    }

    /// Stores bytes.
    ///
    /// # Panics
    /// When they lie elsewhere.
    pub fn write(&mut self, iova: u64, bytes: &[u8]) {
        let at = self.at(iova);
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }
}

/// The atomics of a queue pair.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// Those that are done.
    pub finished: u64,
    /// PSN and value, by place.
    results: [Option<(u64, u64)>; RESULTS],
    failed: bool,
}

/// What an operation leads to.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// A command, and the value it writes.
    pub write: Option<(HostWrite, u64)>,
    /// An answer to the peer.
    pub task: Option<Task>,
    /// A queue pair that fails.
    pub error: Option<QpError>,
}

/// All queue pairs, and the memory.
#[derive(Clone, Debug)]
pub struct Twin {
    /// What atomics and others make of it.
    pub memory: Memory,
    /// Words that cannot be read.
    pub poison: Vec<u64>,
    /// By number.
    pub rows: Vec<Row>,
}

impl Twin {
    /// `2^log` queue pairs without a past.
    #[must_use]
    pub fn new(log: usize, memory: Memory) -> Self {
        Self { memory, poison: Vec::new(), rows: vec![Row::default(); 1 << log] }
    }

    /// A queue pair begins anew.
    pub fn reset(&mut self, number: usize) {
        self.rows[number] = Row::default();
    }

    /// Carries an operation out.
    ///
    /// # Panics
    /// When its word lies elsewhere.
    pub fn apply(&mut self, operation: &Operation) -> Told {
        let iova = u64::from(operation.iova);
        let row = &mut self.rows[operation.qpn.index()];
        let task = Task {
            qpn: operation.qpn,
            pd: operation.pd,
            path_mtu: operation.path_mtu,
            answer: (Answer::Value as u64).into(),
            psn: operation.psn,
            msn: operation.msn,
            ..Task::default()
        };
        if row.failed {
            return Told::default();
        }
        if operation.atomic == Atomic::Replay as u64 {
            let is_it = |result: &&(u64, u64)| result.0 == u64::from(operation.psn);
            let found = row.results.iter().flatten().find(is_it);
            let task = found.map(|(_, value)| Task { value: (*value).into(), ..task });
            return Told { task, ..Told::default() };
        }
        if self.poison.contains(&iova) {
            row.failed = true;
            let task = Task {
                answer: (Answer::Acknowledge as u64).into(),
                syndrome: u64::from(Syndrome::Nak(NakCode::RemoteOperational).encode()).into(),
                msn: (u64::from(operation.msn).wrapping_sub(1) & 0xff_ffff).into(),
                ..task
            };
            let status = (Status::General as u64).into();
            let error = QpError { qpn: operation.qpn, status, untold: true };
            return Told { write: None, task: Some(task), error: Some(error) };
        }
        let found = self.memory.word(iova);
        row.finished += 1;
        row.results[operation.slot.index()] = Some((operation.psn.into(), found));
        let value = u64::from(operation.value);
        let stored = if operation.atomic == Atomic::Add as u64 {
            Some(found.wrapping_add(value))
        } else {
            (found == u64::from(operation.compare)).then_some(value)
        };
        if let Some(value) = stored {
            self.memory.write(iova, &value.to_le_bytes());
        }
        let command =
            HostWrite { iova: operation.iova, len: u64::from(WORD_BYTES).into(), qpn: operation.qpn };
        let task = Some(Task { value: found.into(), fresh: true, ..task });
        Told { write: stored.map(|value| (command, value)), task, error: None }
    }
}
