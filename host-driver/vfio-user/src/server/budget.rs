//! How much of a server one client may take.
//!
//! What a client shows costs the process of the server descriptors and memory, of which it has only so many for all of its clients.
//! Beyond its budget a client is refused, and keeps what it has.

use std::collections::BTreeMap;
use std::fmt;

use crate::Errno;
use crate::version::MAPS_MAX;

/// Files of which a client shows memory, at a time: a process has one, a virtual machine a few.
pub const FILES_MAX: usize = 64;
/// Bytes that a client shows, at a time: 1 TiB.
pub const BYTES_MAX: u64 = 1 << 40;

/// What a client wanted more of than one may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// Files, each of which is a descriptor of the server: [`FILES_MAX`].
    Files,
    /// Mappings: [`MAPS_MAX`].
    Mappings,
    /// Bytes in all mappings together: [`BYTES_MAX`].
    Bytes,
}

impl Beyond {
    /// How it is refused.
    pub(super) fn errno(self) -> Errno {
        match self {
            Self::Files => Errno::MFILE,
            Self::Mappings => Errno::NOSPC,
            Self::Bytes => Errno::NOMEM,
        }
    }
}

impl fmt::Display for Beyond {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Files => write!(out, "memory of more than {FILES_MAX} files"),
            Self::Mappings => write!(out, "more than {MAPS_MAX} mappings"),
            Self::Bytes => write!(out, "more than {} GiB", BYTES_MAX >> 30),
        }
    }
}

/// What a client has shown.
#[derive(Debug, Default)]
pub(super) struct Budget {
    /// Bytes of each mapping, by its address.
    mappings: BTreeMap<u64, u64>,
    bytes: u64,
}

impl Budget {
    /// Is there room for one more mapping of so many bytes?
    pub(super) fn check(&self, size: u64) -> Result<(), Beyond> {
        if self.mappings.len() >= MAPS_MAX {
            return Err(Beyond::Mappings);
        }
        if self.bytes.checked_add(size).is_none_or(|bytes| bytes > BYTES_MAX) {
            return Err(Beyond::Bytes);
        }
        Ok(())
    }

    /// A mapping was made, where none was.
    pub(super) fn take(&mut self, address: u64, size: u64) {
        self.mappings.insert(address, size);
        self.bytes += size;
    }

    /// All mappings between two addresses have ended; none of them was cut.
    pub(super) fn give_back(&mut self, first: u64, last: u64) {
        while let Some((&address, &size)) = self.mappings.range(first..=last.max(first)).next()
            && address <= last
        {
            self.mappings.remove(&address);
            self.bytes -= size;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_and_bytes_are_counted_until_they_are_given_back() {
        let mut budget = Budget::default();
        for address in 0..MAPS_MAX as u64 {
            budget.check(4096).unwrap();
            budget.take(address << 12, 4096);
        }
        assert_eq!(budget.check(1), Err(Beyond::Mappings));
        budget.give_back(0x1000, 0x1fff);
        budget.check(4096).unwrap();
        budget.give_back(5, 4);
        budget.give_back(0, u64::MAX);
        assert_eq!((budget.mappings.len(), budget.bytes), (0, 0));
        budget.check(BYTES_MAX).unwrap();
        budget.take(0, BYTES_MAX - 1);
        budget.check(1).unwrap();
        assert_eq!([2, u64::MAX].map(|size| budget.check(size)), [Err(Beyond::Bytes); 2]);
    }
}
