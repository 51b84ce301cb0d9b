//! Host memory that shows writes late, and reads that may be older than they look.

use std::collections::VecDeque;

use super::super::model::Memory;
use crate::host::dma_read::ReadCommand;

/// A write on its way.
struct Pending {
    /// The cycle in which it lands.
    lands: u64,
    iova: u64,
    /// Once they are there.
    bytes: Option<Vec<u8>>,
}

/// A read on its way.
struct Asked {
    /// The cycle in which it is answered.
    due: u64,
    command: ReadCommand,
    /// What was there when it came, if it is to see that.
    seen: Option<u64>,
}

pub(super) struct Host {
    pub(super) memory: Memory,
    pending: VecDeque<Pending>,
    /// When writes that have landed are told.
    landed: VecDeque<u64>,
    asked: VecDeque<Asked>,
    /// Writes that were told, ever.
    pub(super) visible: u64,
}

impl Host {
    pub(super) fn new(memory: Memory, visible: u64) -> Self {
        Self { memory, pending: VecDeque::new(), landed: VecDeque::new(), asked: VecDeque::new(), visible }
    }

    /// Writes taken, ever.
    pub(super) fn issued(&self) -> u64 {
        self.visible + (self.landed.len() + self.pending.len()) as u64
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.pending.is_empty() && self.landed.is_empty() && self.asked.is_empty()
    }

    /// Takes a write; its bytes may follow.
    pub(super) fn issue(&mut self, lands: u64, iova: u64, bytes: Option<Vec<u8>>) {
        self.pending.push_back(Pending { lands, iova, bytes });
    }

    /// The bytes of the first write without.
    pub(super) fn give(&mut self, bytes: &[u8]) {
        let write = self.pending.iter_mut().find(|write| write.bytes.is_none());
        write.expect("a command without data").bytes = Some(bytes.to_vec());
    }

    /// Writes land in order, and are told so much later.
    pub(super) fn land(&mut self, now: u64, lag: u64) {
        while self.pending.front().is_some_and(|write| write.lands <= now && write.bytes.is_some()) {
            let Pending { iova, bytes, .. } = self.pending.pop_front().expect("there is one");
            self.memory.write(iova, &bytes.expect("its bytes"));
            self.landed.push_back(now + lag);
        }
        while self.landed.front().is_some_and(|due| *due <= now) {
            self.landed.pop_front();
            self.visible += 1;
        }
    }

    /// Takes a read, which sees what is there now, or when it is answered.
    pub(super) fn ask(&mut self, due: u64, command: ReadCommand, sees_now: bool) {
        let seen = sees_now.then(|| self.memory.word(command.iova.into()));
        self.asked.push_back(Asked { due, command, seen });
    }

    /// The first read, if it is due.
    pub(super) fn answer(&mut self, now: u64) -> Option<(ReadCommand, u64)> {
        let Asked { command, seen, .. } = self.asked.pop_front_if(|read| read.due <= now)?;
        Some((command, seen.unwrap_or_else(|| self.memory.word(command.iova.into()))))
    }
}
