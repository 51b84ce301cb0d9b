//! Buffers that nobody can reach any more are free again.

use std::collections::BTreeSet;

use super::Memory;
use crate::layout::LOCK;
use crate::{Result, Store};

impl<M: Memory> Store<M> {
    /// Frees every buffer that no entry points to, and every lock; how many buffers are free then.
    ///
    /// Buffers of replaced and deleted values stay as they are until then, and so do those that somebody took and did not publish. That is what keeps a
    /// reader safe: what it was led to stays whole while it reads, however long that takes. So **the owner sweeps only when no
    /// operation of any client is under way**, and clients [rest](crate::Client::rest) before they go on. A reader that is led to a buffer which is
    /// given to another value at that moment would see through the CRC that it is torn, but not that it is too new.
    ///
    /// # Errors
    /// When memory cannot be reached.
    pub fn sweep(&mut self) -> Result<u64> {
        let mut reachable = BTreeSet::new();
        for bucket in self.buckets() {
            let bucket = bucket?;
            reachable.extend(bucket.entries.map(|entry| entry.address));
            if bucket.is_locked() {
                self.store(bucket.count_at(), &((bucket.count & !LOCK) + 1).to_le_bytes())?;
            }
        }
        let layout = self.directory.layout;
        let mut giver = self.empty_list()?;
        let mut free = 0;
        for number in 0..layout.buffers() {
            let buffer =
                self.directory.list + (layout.buffers_at() + number * layout.buffer_bytes as usize) as u64;
            if reachable.contains(&buffer) {
                continue;
            }
            // The list has as many places as there are buffers, and nobody takes meanwhile.
            for store in giver.give(buffer, 0).into_iter().flatten() {
                self.store(store.address, &store.word.to_le_bytes())?;
            }
            free += 1;
        }
        Ok(free)
    }
}
