//! Memory shown to a card, and taken back when nobody needs it there.

use std::{fmt, sync::Arc, sync::atomic::Ordering::Relaxed};

use crate::{Backend, DmaMemory, Error, Iova, Result};

const WORD: usize = size_of::<u64>();

/// Memory that the card can reach at an address. Dropped, it is unmapped; when that fails the backend keeps the
/// memory, so that the card can never write to what others got since.
pub struct Mapping {
    backend: Arc<dyn Backend>,
    iova: Iova,
    memory: Arc<DmaMemory>,
    mapped: bool,
}

impl Mapping {
    /// Shows `memory` to the card, from `iova` on.
    ///
    /// # Errors
    /// As [`Backend::map`].
    pub fn new(backend: Arc<dyn Backend>, iova: Iova, memory: Arc<DmaMemory>) -> Result<Self> {
        backend.map(iova, &memory)?;
        Ok(Self { backend, iova, memory, mapped: true })
    }

    /// Where the card finds it.
    #[must_use]
    pub fn iova(&self) -> Iova {
        self.iova
    }

    /// The memory.
    #[must_use]
    pub fn memory(&self) -> &Arc<DmaMemory> {
        &self.memory
    }

    /// Takes the memory back. When this was its last mapping and nobody else has a share,
    /// [`Arc::into_inner`] gives it whole, and with it a slice.
    ///
    /// # Errors
    /// As [`Backend::unmap`].
    pub fn unmap(mut self) -> Result<Arc<DmaMemory>> {
        // Tried once: what the system refuses now, it refuses when dropped.
        self.mapped = false;
        self.backend.unmap(self.iova)?;
        Ok(Arc::clone(&self.memory))
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if self.mapped {
            // A failure leaves a share with the backend: memory is lost, nothing else.
            let _ = self.backend.unmap(self.iova);
        }
    }
}

impl fmt::Debug for Mapping {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "Mapping({} at {}, {:#x} bytes)",
            self.backend.identity().name,
            self.iova,
            self.memory.len()
        )
    }
}

/// Copies in and out, for what is not made of words.
impl DmaMemory {
    /// Copies from byte `offset` on to `bytes`.
    ///
    /// # Errors
    /// [`Error::OutsideMemory`].
    pub fn read(&self, offset: usize, bytes: &mut [u8]) -> Result<()> {
        self.inside(offset, bytes.len())?;
        let mut place = offset;
        let mut rest = bytes;
        while !rest.is_empty() {
            let word = self.words()[place / WORD].load(Relaxed).to_ne_bytes();
            let part = &word[place % WORD..];
            let (now, later) = rest.split_at_mut(part.len().min(rest.len()));
            now.copy_from_slice(&part[..now.len()]);
            place += now.len();
            rest = later;
        }
        Ok(())
    }

    /// Copies `bytes` to byte `offset` and on. Neighbours within a word keep what others store there meanwhile.
    ///
    /// # Errors
    /// [`Error::OutsideMemory`].
    pub fn write(&self, offset: usize, bytes: &[u8]) -> Result<()> {
        self.inside(offset, bytes.len())?;
        let mut place = offset;
        let mut rest = bytes;
        while !rest.is_empty() {
            let first = place % WORD;
            let (now, later) = rest.split_at((WORD - first).min(rest.len()));
            let target = &self.words()[place / WORD];
            let merge = |word: u64| {
                let mut word = word.to_ne_bytes();
                word[first..first + now.len()].copy_from_slice(now);
                u64::from_ne_bytes(word)
            };
            if now.len() == WORD {
                target.store(merge(0), Relaxed);
            } else {
                target.update(Relaxed, Relaxed, merge);
            }
            place += now.len();
            rest = later;
        }
        Ok(())
    }

    fn inside(&self, offset: usize, len: usize) -> Result<()> {
        match offset.checked_add(len) {
            Some(end) if end <= self.len() => Ok(()),
            _ => Err(Error::OutsideMemory { offset, len, memory: self.len() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::mock::{Fault, Mock};

    fn mapped(mock: &Arc<Mock>) -> Mapping {
        let memory = Arc::new(DmaMemory::allocate(4096, None).unwrap());
        Mapping::new(mock.clone(), Iova(0x1_0000), memory).unwrap()
    }

    #[test]
    fn memory_is_a_slice_only_after_it_was_unmapped() {
        let mock = Arc::new(Mock::card());
        let mut mapping = mapped(&mock);
        mock.dma_write(Iova(0x1_0003), b"card").unwrap();
        assert!(Arc::get_mut(&mut mapping.memory).is_none(), "the backend has a share");
        let mut memory = Arc::into_inner(mapping.unmap().unwrap()).expect("no share is left");
        assert_eq!(&memory.bytes_mut().unwrap()[..8], b"\0\0\0card\0");
        assert!(mock.dma_write(Iova(0x1_0003), b"late").is_err(), "the card cannot reach it any more");
    }

    #[test]
    fn dropping_unmaps() {
        let mock = Arc::new(Mock::card());
        drop(mapped(&mock));
        assert!(matches!(mock.unmap(Iova(0x1_0000)), Err(Error::NotMapped { iova: Iova(0x1_0000) })));
        drop(mapped(&mock));
    }

    #[test]
    fn memory_the_system_does_not_unmap_is_never_freed() {
        let mock = Arc::new(Mock::card());
        mock.fail(Fault::Unmap);
        assert!(matches!(mapped(&mock).unmap(), Err(Error::Backend { .. })));
        mock.dma_write(Iova(0x1_0000), b"still there").unwrap();
    }

    #[test]
    fn a_range_is_mapped_once() {
        let mock = Arc::new(Mock::card());
        let first = mapped(&mock);
        for iova in [0x1_0000, 0x1_0ff8, 0xf008, u64::MAX - 4094] {
            let refused = Mapping::new(mock.clone(), Iova(iova), first.memory.clone()).unwrap_err();
            assert!(matches!(refused, Error::RangeTaken { len: 4096, .. }), "{iova:#x}: {refused}");
        }
        Mapping::new(mock.clone(), Iova(0x1_1000), first.memory.clone()).unwrap();
        Mapping::new(mock, Iova(0xf000), first.memory.clone()).unwrap();
    }

    #[test]
    fn copies_stay_inside() {
        let memory = DmaMemory::allocate(4096, None).unwrap();
        assert!(memory.write(4093, &[1, 2, 3]).is_ok() && memory.read(4096, &mut []).is_ok());
        assert!(matches!(memory.write(4093, &[0; 4]), Err(Error::OutsideMemory { offset: 4093, .. })));
        assert!(matches!(memory.read(usize::MAX, &mut [0]), Err(Error::OutsideMemory { .. })));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn copies_move_just_these_bytes(
            writes in proptest::collection::vec((0..200_usize, proptest::collection::vec(any::<u8>(), 0..40)), 1..8),
            from in 0..200_usize, len in 0..56_usize,
        ) {
            let memory = DmaMemory::allocate(4096, None).unwrap();
            let mut model = [0; 256];
            for (offset, bytes) in &writes {
                memory.write(*offset, bytes).unwrap();
                model[*offset..][..bytes.len()].copy_from_slice(bytes);
            }
            let mut found = [0; 256];
            memory.read(0, &mut found).unwrap();
            prop_assert_eq!(found, model);
            let mut part = vec![0; len];
            memory.read(from, &mut part).unwrap();
            prop_assert_eq!(&part[..], &model[from..][..len]);
        }
    }
}
