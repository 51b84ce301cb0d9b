//! READs that were executed, kept to recognise them when they come again.

use std::collections::VecDeque;

use stroma_abi::Psn;

use super::{Access, Settings};

/// A READ: its PSN, where it reads, how much.
pub(super) struct Read {
    pub(super) first: Psn,
    pub(super) access: Access,
    pub(super) length: u32,
}

/// The last READs of a connection, as many as the peer may have open; an older one makes room.
pub(super) struct Reads {
    settings: Settings,
    kept: VecDeque<Read>,
}

impl Reads {
    pub(super) fn new(settings: &Settings) -> Self {
        Self { settings: settings.clone(), kept: VecDeque::new() }
    }

    pub(super) fn remember(&mut self, read: Read) {
        if self.kept.len() == self.settings.reads_in {
            self.kept.pop_front();
        }
        self.kept.push_back(read);
    }

    /// Is this all or a part of a READ that was executed: the same key, and at each PSN the bytes that PSN had?
    pub(super) fn cover(&self, asked: &Read) -> bool {
        self.kept.iter().any(|read| {
            let index = asked.first.distance(read.first);
            let offset = u64::from(index) * u64::from(self.settings.mtu);
            let address = read.access.address.wrapping_add(offset);
            index < self.settings.packets(read.length)
                && asked.access == Access { address, ..read.access }
                && offset + u64::from(asked.length) <= u64::from(read.length)
        })
    }
}
