//! READs, atomics and calls that were executed, kept for when they come again.

use std::collections::VecDeque;

use stroma_abi::Psn;
use stroma_kernel_models::Outcome;

use super::super::{Access, Settings};

/// A READ: its PSN, where it reads, how much.
pub(super) struct Read {
    pub(super) first: Psn,
    pub(super) access: Access,
    pub(super) length: u32,
}

/// A call of a kernel: the PSNs of its answer, how often it is still to be called busy, how it ended.
#[derive(Clone)]
pub(super) struct Called {
    pub(super) base: Psn,
    pub(super) count: u32,
    pub(super) busy: u32,
    pub(super) outcome: Outcome,
}

enum Kept {
    Read(Read),
    /// An atomic, with what it found.
    Atomic {
        psn: Psn,
        original: u64,
    },
    Call(Called),
}

/// The last READs, atomics and calls of a connection, as many as the peer may have open; an older one makes room.
pub(super) struct Resources {
    settings: Settings,
    kept: VecDeque<Kept>,
}

impl Resources {
    pub(super) fn new(settings: &Settings) -> Self {
        Self { settings: settings.clone(), kept: VecDeque::new() }
    }

    pub(super) fn keep_read(&mut self, read: Read) {
        self.keep(Kept::Read(read));
    }

    pub(super) fn keep_atomic(&mut self, psn: Psn, original: u64) {
        self.keep(Kept::Atomic { psn, original });
    }

    pub(super) fn keep_call(&mut self, called: Called) {
        self.keep(Kept::Call(called));
    }

    fn keep(&mut self, kept: Kept) {
        if self.kept.len() == self.settings.reads_in {
            self.kept.pop_front();
        }
        self.kept.push_back(kept);
    }

    /// Is this all or a part of a READ that was executed: the same key, and at each PSN the bytes that PSN had?
    pub(super) fn cover(&self, asked: &Read) -> bool {
        self.kept.iter().any(|kept| {
            let Kept::Read(read) = kept else { return false };
            let index = asked.first.distance(read.first);
            let offset = u64::from(index) * u64::from(self.settings.mtu);
            let address = read.access.address.wrapping_add(offset);
            index < self.settings.packets(read.length)
                && asked.access == Access { address, ..read.access }
                && offset + u64::from(asked.length) <= u64::from(read.length)
        })
    }

    /// The newest call whose answer has this PSN: an old one may have had it a lap before.
    pub(super) fn called(&mut self, asked: Psn) -> Option<&mut Called> {
        self.kept.iter_mut().rev().find_map(|kept| match kept {
            Kept::Call(called) if asked.in_window(called.base, called.count) => Some(called),
            _ => None,
        })
    }

    /// What the atomic with this PSN found.
    pub(super) fn original(&self, asked: Psn) -> Option<u64> {
        self.kept.iter().find_map(|kept| match kept {
            Kept::Atomic { psn, original } if *psn == asked => Some(*original),
            _ => None,
        })
    }
}
