//! A ring that the card fills, in memory.

use std::sync::{Arc, atomic::Ordering::Relaxed};

use stroma_abi::Field;

use crate::{DmaMemory, EntryRing, barrier};

const WORD: usize = size_of::<u64>();

/// A ring of `LEN`-byte entries whose phase bit is at the end of the last word.
#[derive(Debug)]
pub struct Entries<const LEN: usize> {
    ring: EntryRing,
    phase: Field,
    memory: Arc<DmaMemory>,
}

impl<const LEN: usize> Entries<LEN> {
    /// The ring in `memory`, which is zero.
    ///
    /// # Panics
    /// When `log` is beyond what an index can count, or the memory is shorter.
    #[must_use]
    pub fn new(log: u8, phase: Field, memory: Arc<DmaMemory>) -> Self {
        let ring = EntryRing::new(log.into()).expect("the card's rings are smaller than indices can count");
        assert!(ring.size() as usize * LEN <= memory.len(), "the ring fits its memory");
        Self { ring, phase, memory }
    }

    /// The next entry, if the card has written it.
    #[expect(clippy::should_implement_trait, reason = "there is no end: the card may write one at any time")]
    pub fn next(&mut self) -> Option<[u8; LEN]> {
        let words = &self.memory.words()[self.ring.slot() * LEN / WORD..][..LEN / WORD];
        let mut entry = [0; LEN];
        let load = |entry: &mut [u8; LEN], index: usize| {
            entry[index * WORD..][..WORD].copy_from_slice(&words[index].load(Relaxed).to_ne_bytes());
        };
        let last = words.len() - 1;
        load(&mut entry, last);
        if !self.ring.is_new(self.phase.get(&entry)) {
            return None;
        }
        barrier::from_device();
        (0..last).for_each(|index| load(&mut entry, index));
        self.ring.take();
        Some(entry)
    }

    /// Where in the ring it is.
    #[must_use]
    pub fn ring(&self) -> &EntryRing {
        &self.ring
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use stroma_abi::desc::{Eqe, phase};

    use super::*;

    #[test]
    fn entries_are_new_once_a_lap() {
        let memory = Arc::new(DmaMemory::allocate(4096, None).unwrap());
        let mut entries = Entries::<{ Eqe::LEN }>::new(4, Eqe::PHASE, Arc::clone(&memory));
        for position in 0..100_u32 {
            assert_eq!(entries.next(), None);
            let written =
                Eqe { data: position.into(), phase: phase(position, 4), ..Eqe::default() }.to_bytes();
            memory.write(position as usize % 16 * Eqe::LEN, &written).unwrap();
            assert_eq!(entries.next(), Some(written));
        }
        assert_eq!((entries.next(), entries.ring().consumer()), (None, 100));
    }
}
