//! The card's address space: where memory is shown to the card.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use stroma_abi::desc::RING_ALIGN;
use stroma_device::{Backend, Backing, DmaMemory, Iova, Mapping};

use crate::{Error, Result, lock};

/// From here on. Below 4 GiB lie the doorbells of interrupt controllers, which an IOMMU keeps to itself.
const FIRST: u64 = 1 << 32;
/// Up to here: what every IOMMU can count.
const END: u64 = 1 << 39;
/// Granularity of mappings.
const PAGE: u64 = 4096;

const _: () = assert!(PAGE.is_multiple_of(RING_ALIGN), "every mapping can hold a ring");

/// What was left to cards, for as long as the process lives.
static LEFT: Mutex<Vec<Mapping>> = Mutex::new(Vec::new());

/// Which addresses are in use: first byte to the byte behind the last.
#[derive(Debug, Default)]
pub(crate) struct Space {
    taken: Mutex<BTreeMap<u64, u64>>,
}

impl Space {
    /// The lowest free `len` bytes that begin `offset` bytes behind a multiple of `page`.
    fn take(&self, len: usize, page: u64, offset: u64) -> Result<Iova> {
        let mut taken = lock(&self.taken);
        let size = (len as u64).next_multiple_of(PAGE);
        let place = |from: u64| {
            let aligned = from.saturating_sub(offset).next_multiple_of(page) + offset;
            if aligned < from { aligned + page } else { aligned }
        };
        let mut start = place(FIRST);
        for (first, end) in taken.iter() {
            if start + size <= *first {
                break;
            }
            start = place(start.max(*end));
        }
        if start.checked_add(size).is_none_or(|end| end > END) {
            return Err(Error::NoAddresses { len });
        }
        taken.insert(start, start + size);
        Ok(Iova(start))
    }

    fn free(&self, iova: Iova) {
        lock(&self.taken).remove(&iova.0);
    }
}

/// Memory that the card can reach. Dropped, it is unmapped and its addresses are free.
#[derive(Debug)]
pub(crate) struct Mapped {
    mapping: Option<Mapping>,
    iova: Iova,
    memory: Arc<DmaMemory>,
    space: Arc<Space>,
}

impl Mapped {
    /// Shows `memory` to the card, at an address that has the same place in a page as its address in this process.
    pub(crate) fn new(
        backend: &Arc<dyn Backend>,
        space: &Arc<Space>,
        memory: Arc<DmaMemory>,
        page: Backing,
    ) -> Result<Self> {
        let page = page.page() as u64;
        let iova = space.take(memory.len(), page, address(&memory) % page)?;
        match Mapping::new(Arc::clone(backend), iova, Arc::clone(&memory)) {
            Ok(mapping) => Ok(Self { mapping: Some(mapping), iova, memory, space: Arc::clone(space) }),
            Err(error) => {
                space.free(iova);
                Err(error.into())
            }
        }
    }

    pub(crate) fn iova(&self) -> u64 {
        self.iova.0
    }

    pub(crate) fn memory(&self) -> &Arc<DmaMemory> {
        &self.memory
    }

    /// Leaves the memory to the card for ever: it may still use it.
    pub(crate) fn abandon(mut self) {
        lock(&LEFT).extend(self.mapping.take());
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // Without a mapping it was abandoned. What the system does not unmap keeps its addresses.
        if self.mapping.take().is_some_and(|mapping| mapping.unmap().is_ok()) {
            self.space.free(self.iova);
        }
    }
}

/// Where memory begins in this process.
pub(crate) fn address(memory: &DmaMemory) -> u64 {
    memory.start().as_ptr().addr() as u64
}

#[cfg(test)]
mod tests {
    use stroma_device::mock::{Fault, Mock};

    use super::*;

    #[test]
    fn ranges_do_not_meet_and_gaps_are_used_again() {
        let space = Space::default();
        let take = |len, page, offset| space.take(len, page, offset).unwrap().0 - FIRST;
        assert_eq!(take(4096, PAGE, 0), 0);
        assert_eq!(take(4097, PAGE, 0), 0x1000);
        assert_eq!(take(4096, PAGE, 0), 0x3000);
        assert_eq!(take(4096, 1 << 21, 0), 1 << 21);
        space.free(Iova(FIRST + 0x1000));
        assert_eq!(take(0x3000, PAGE, 0), 0x4000, "the gap is too small");
        assert_eq!(take(0x1000, PAGE, 0), 0x1000);
        assert_eq!(take(0x1000, PAGE, 0), 0x2000);
    }

    #[test]
    fn a_range_begins_at_the_place_in_a_page_it_was_asked_for() {
        let space = Space::default();
        for _ in 0..3 {
            let iova = space.take(0x5000, 1 << 21, 0x1f_f000).unwrap().0;
            assert_eq!(iova % (1 << 21), 0x1f_f000);
            assert!(iova >= FIRST);
        }
        assert_eq!(lock(&space.taken).len(), 3);
    }

    #[test]
    fn an_address_space_has_an_end() {
        let space = Space::default();
        let half = usize::try_from((END - FIRST) / 2).unwrap();
        space.take(half, PAGE, 0).unwrap();
        assert!(matches!(space.take(half + 1, PAGE, 0), Err(Error::NoAddresses { .. })));
        space.take(half, PAGE, 0).unwrap();
        assert!(matches!(space.take(1, PAGE, 0), Err(Error::NoAddresses { len: 1 })));
    }

    #[test]
    fn addresses_are_free_after_unmapping_and_not_when_that_failed() {
        let (mock, space) = (Arc::new(Mock::card()), Arc::new(Space::default()));
        let backend: Arc<dyn Backend> = mock.clone();
        let map = || {
            let memory = Arc::new(DmaMemory::allocate(4096, None).unwrap());
            Mapped::new(&backend, &space, memory, Backing::Small).unwrap()
        };
        assert_eq!(map().iova(), FIRST);
        assert_eq!(map().iova(), FIRST);
        map().abandon();
        assert_eq!(map().iova(), FIRST + 0x1000);
        mock.fail(Fault::Unmap);
        assert_eq!(map().iova(), FIRST + 0x1000);
        assert_eq!(map().iova(), FIRST + 0x2000);
    }
}
