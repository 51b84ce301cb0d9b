//! The IOMMU: which of the host's memory the card reaches under which addresses, and a record of what leads nowhere.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use stroma_device::DmaMemory;

/// Bytes of a page, the unit of protection.
pub const PAGE_BYTES: u64 = 4096;

/// What the card wants to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read host memory.
    Read,
    /// Write host memory.
    Write,
}

/// An access that was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The address the card used.
    pub iova: u64,
    /// What it wanted.
    pub access: Access,
}

/// Why a mapping was refused.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum MapError {
    /// The start is not a multiple of the page.
    #[error("cannot map {length:#x} bytes at {iova:#x}: not whole pages")]
    Unaligned {
        /// Where the card would see it.
        iova: u64,
        /// How long it is.
        length: u64,
    },
    /// The range leaves the address space.
    #[error("cannot map {length:#x} bytes at {iova:#x}: the addresses end before")]
    Beyond {
        /// Start of the range.
        iova: u64,
        /// Its length.
        length: u64,
    },
    /// Some of the range is mapped already.
    #[error("cannot map {length:#x} bytes at {iova:#x}: {taken:#x} is mapped already")]
    Taken {
        /// Start of the range.
        iova: u64,
        /// Its length.
        length: u64,
        /// Start of the mapping in the way.
        taken: u64,
    },
}

/// Memory map of one card. Nothing is mapped at first.
#[derive(Default)]
pub struct Iommu {
    mappings: BTreeMap<u64, Arc<DmaMemory>>,
    hidden: BTreeSet<u64>,
    faults: Vec<Fault>,
}

impl Iommu {
    /// Lets the card see all of `memory` from `iova` on.
    ///
    /// # Errors
    /// When the start is no page or the range overlaps one already mapped; nothing is mapped then.
    pub fn map(&mut self, iova: u64, memory: &Arc<DmaMemory>) -> Result<(), MapError> {
        let length = memory.len() as u64;
        if !iova.is_multiple_of(PAGE_BYTES) {
            return Err(MapError::Unaligned { iova, length });
        }
        let last = iova.checked_add(length - 1).ok_or(MapError::Beyond { iova, length })?;
        if let Some((taken, before)) = self.mappings.range(..=last).next_back()
            && taken + (before.len() as u64 - 1) >= iova
        {
            return Err(MapError::Taken { iova, length, taken: *taken });
        }
        self.mappings.insert(iova, Arc::clone(memory));
        Ok(())
    }

    /// Takes the mapping that begins at `iova` away from the card; `None` when there is none.
    pub fn unmap(&mut self, iova: u64) -> Option<Arc<DmaMemory>> {
        self.mappings.remove(&iova)
    }

    /// Makes every access to the page at `iova` fault, mapped or not.
    pub fn hide(&mut self, iova: u64) {
        self.hidden.insert(iova / PAGE_BYTES);
    }

    /// Ends what [`hide`](Self::hide) began.
    pub fn show(&mut self, iova: u64) {
        self.hidden.remove(&(iova / PAGE_BYTES));
    }

    /// Bytes of one page; `None`, and a fault on record, when they are not all there.
    ///
    /// # Panics
    /// Never: what is not there is a fault.
    pub fn read(&mut self, iova: u64, length: usize) -> Option<Vec<u8>> {
        let (memory, offset) = self.target(iova, length, Access::Read)?;
        let mut bytes = vec![0; length];
        memory.read(offset, &mut bytes).expect("the target holds the range");
        Some(bytes)
    }

    /// Stores bytes into one page; `false`, and a fault on record, when it is not all there.
    ///
    /// # Panics
    /// Never: what is not there is a fault.
    pub fn write(&mut self, iova: u64, bytes: &[u8]) -> bool {
        let Some((memory, offset)) = self.target(iova, bytes.len(), Access::Write) else { return false };
        // A thread that sees these bytes sees all that was written before.
        fence(Ordering::Release);
        memory.write(offset, bytes).expect("the target holds the range");
        true
    }

    /// Accesses stopped so far.
    #[must_use]
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    fn target(&mut self, iova: u64, length: usize, access: Access) -> Option<(Arc<DmaMemory>, usize)> {
        let found = self.mappings.range(..=iova).next_back().and_then(|(start, memory)| {
            let offset = usize::try_from(iova - start).ok()?;
            let is_inside = offset.checked_add(length)? <= memory.len();
            (is_inside && !self.hidden.contains(&(iova / PAGE_BYTES))).then(|| (Arc::clone(memory), offset))
        });
        if found.is_none() {
            self.faults.push(Fault { iova, access });
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(pages: u64) -> Arc<DmaMemory> {
        let length = usize::try_from(pages * PAGE_BYTES).expect("few pages");
        Arc::new(DmaMemory::allocate(length, None).expect("memory"))
    }

    #[test]
    fn a_mapped_page_leads_to_its_memory_and_an_unmapped_one_faults() {
        let (mut iommu, memory) = (Iommu::default(), memory(2));
        iommu.map(0x1000, &memory).unwrap();
        assert!(iommu.write(0x2ffe, &[7, 8]));
        assert_eq!(iommu.read(0x2ffd, 3), Some(vec![0, 7, 8]));
        let mut last = [0; 2];
        memory.read(memory.len() - 2, &mut last).unwrap();
        assert_eq!(last, [7, 8]);
        assert_eq!(iommu.read(0x3000, 1), None);
        assert!(!iommu.write(0xfff, &[1]));
        iommu.unmap(0x1000).expect("it was mapped");
        assert_eq!(iommu.read(0x2000, 4), None);
        let faulted: Vec<u64> = iommu.faults().iter().map(|fault| fault.iova).collect();
        assert_eq!(faulted, [0x3000, 0xfff, 0x2000]);
    }

    #[test]
    fn a_hidden_page_faults_until_it_is_shown() {
        let (mut iommu, memory) = (Iommu::default(), memory(2));
        iommu.map(0, &memory).unwrap();
        iommu.hide(0x1234);
        assert_eq!(iommu.read(0x1000, 8), None);
        assert_eq!(iommu.faults(), [Fault { iova: 0x1000, access: Access::Read }]);
        assert!(iommu.read(0xff8, 8).is_some());
        iommu.show(0x1fff);
        assert!(iommu.read(0x1000, 8).is_some());
    }

    #[test]
    fn odd_and_overlapping_mappings_change_nothing() {
        let (mut iommu, memory) = (Iommu::default(), memory(2));
        assert!(matches!(iommu.map(0x10, &memory), Err(MapError::Unaligned { .. })));
        let top = 0_u64.wrapping_sub(PAGE_BYTES);
        assert!(matches!(iommu.map(top, &memory), Err(MapError::Beyond { .. })));
        iommu.map(0x4000, &memory).unwrap();
        for iova in [0x3000, 0x4000, 0x5000] {
            assert!(matches!(iommu.map(iova, &memory), Err(MapError::Taken { taken: 0x4000, .. })));
        }
        iommu.map(0x6000, &memory).unwrap();
        iommu.map(0x2000, &memory).unwrap();
        assert_eq!(Arc::strong_count(&memory), 4);
    }
}
