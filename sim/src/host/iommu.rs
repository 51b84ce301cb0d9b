//! The IOMMU: which of the host's memory the card reaches under which addresses, and a record of what leads nowhere.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use super::memory::Memory;

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

/// Why a mapping, or the end of some, was refused.
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
    /// A range to be unmapped begins or ends within a mapping.
    #[error("cannot unmap {first:#x} to {last:#x}: the mapping at {mapping:#x} would be cut")]
    Cut {
        /// First address.
        first: u64,
        /// Last address.
        last: u64,
        /// Start of the mapping.
        mapping: u64,
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
    mappings: BTreeMap<u64, Arc<dyn Memory>>,
    hidden: BTreeSet<u64>,
    is_stopped: bool,
    faults: Vec<Fault>,
}

impl Iommu {
    /// Lets the card see all of `memory` from `iova` on.
    ///
    /// # Errors
    /// When the start is no page or the range overlaps one already mapped; nothing is mapped then.
    pub fn map<M: Memory + 'static>(&mut self, iova: u64, memory: &Arc<M>) -> Result<(), MapError> {
        let length = memory.size();
        if !iova.is_multiple_of(PAGE_BYTES) {
            return Err(MapError::Unaligned { iova, length });
        }
        let last = iova.checked_add(length - 1).ok_or(MapError::Beyond { iova, length })?;
        if let Some((taken, before)) = self.mappings.range(..=last).next_back()
            && taken + (before.size() - 1) >= iova
        {
            return Err(MapError::Taken { iova, length, taken: *taken });
        }
        let memory: Arc<M> = Arc::clone(memory);
        self.mappings.insert(iova, memory);
        Ok(())
    }

    #[cfg(test)]
    fn mappings(&self) -> usize {
        self.mappings.len()
    }

    /// Takes the mapping that begins at `iova` away from the card; `None` when there is none.
    pub fn unmap(&mut self, iova: u64) -> Option<Arc<dyn Memory>> {
        self.mappings.remove(&iova)
    }

    /// Takes all mappings between two addresses away, both included; there may be none.
    ///
    /// # Errors
    /// When one of them lies there in part; then all stay.
    pub fn unmap_between(&mut self, first: u64, last: u64) -> Result<(), MapError> {
        let end = |start: u64, memory: &Arc<dyn Memory>| start + (memory.size() - 1);
        let reaching_in = self.mappings.range(..first).next_back();
        let reaching_in = reaching_in.filter(|(start, memory)| end(**start, memory) >= first);
        // A range that ends before it begins is none, and the map would not have it.
        let inside = self.mappings.range(first..=last.max(first)).map(|(start, _)| *start);
        let inside: Vec<u64> = inside.filter(|start| *start <= last).collect();
        let reaching_out = inside.last().and_then(|start| self.mappings.get_key_value(start));
        let reaching_out = reaching_out.filter(|(start, memory)| end(**start, memory) > last);
        if let Some((mapping, _)) = reaching_in.or(reaching_out) {
            return Err(MapError::Cut { first, last, mapping: *mapping });
        }
        for start in inside {
            self.mappings.remove(&start);
        }
        Ok(())
    }

    /// Makes every access to the page at `iova` fault, mapped or not.
    pub fn hide(&mut self, iova: u64) {
        self.hidden.insert(iova / PAGE_BYTES);
    }

    /// Ends what [`hide`](Self::hide) began.
    pub fn show(&mut self, iova: u64) {
        self.hidden.remove(&(iova / PAGE_BYTES));
    }

    /// Lets nothing through, mapped or not, and takes no notice of it either: the function may not ask. Or ends that.
    pub fn stop(&mut self, stop: bool) {
        self.is_stopped = stop;
    }

    /// Bytes of one page; `None`, and a fault on record, when they are not all there.
    pub fn read(&mut self, iova: u64, length: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; length];
        let target = self.target(iova, length);
        let is_read = target.is_some_and(|(memory, offset)| memory.read(offset, &mut bytes));
        self.note(is_read, Fault { iova, access: Access::Read });
        is_read.then_some(bytes)
    }

    /// Stores bytes into one page; `false`, and a fault on record, when it is not all there.
    pub fn write(&mut self, iova: u64, bytes: &[u8]) -> bool {
        // A thread that sees these bytes sees all that was written before.
        fence(Ordering::Release);
        let target = self.target(iova, bytes.len());
        let is_written = target.is_some_and(|(memory, offset)| memory.write(offset, bytes));
        self.note(is_written, Fault { iova, access: Access::Write });
        is_written
    }

    /// Accesses stopped so far.
    #[must_use]
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// Accesses stopped since the last call.
    pub fn take_faults(&mut self) -> Vec<Fault> {
        std::mem::take(&mut self.faults)
    }

    fn target(&self, iova: u64, length: usize) -> Option<(&dyn Memory, u64)> {
        let (start, memory) = self.mappings.range(..=iova).next_back().filter(|_| !self.is_stopped)?;
        let offset = iova - start;
        let is_inside = offset.checked_add(length as u64)? <= memory.size();
        (is_inside && !self.hidden.contains(&(iova / PAGE_BYTES))).then_some((&**memory, offset))
    }

    fn note(&mut self, is_done: bool, fault: Fault) {
        if !is_done && !self.is_stopped {
            self.faults.push(fault);
        }
    }
}

#[cfg(test)]
mod tests {
    use stroma_device::DmaMemory;

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
    fn a_function_that_may_not_ask_reaches_nothing_and_leaves_no_record() {
        let (mut iommu, memory) = (Iommu::default(), memory(1));
        iommu.map(0, &memory).unwrap();
        iommu.stop(true);
        assert!(iommu.read(0, 8).is_none() && !iommu.write(0, &[1]) && iommu.read(0x1000, 8).is_none());
        assert!(iommu.faults().is_empty());
        iommu.stop(false);
        assert_eq!(iommu.read(0, 1), Some(vec![0]));
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
    #[test]
    fn a_range_is_unmapped_with_all_that_lies_in_it_or_not_at_all() {
        let (mut iommu, memory) = (Iommu::default(), memory(2));
        for iova in [0x2000, 0x4000, 0x8000] {
            iommu.map(iova, &memory).unwrap();
        }
        for (first, last, mapping) in
            [(0x3000, 0x5fff, 0x2000), (0x2000, 0x4fff, 0x4000), (0x8001, 0x8002, 0x8000)]
        {
            let refused = iommu.unmap_between(first, last);
            assert_eq!(refused, Err(MapError::Cut { first, last, mapping }));
        }
        iommu.unmap_between(0x6000, 0x7fff).unwrap();
        iommu.unmap_between(0x10_0000, 0x0).unwrap();
        assert_eq!(iommu.mappings(), 3, "there was nothing");
        iommu.unmap_between(0x2000, 0x5fff).unwrap();
        assert_eq!(
            (iommu.mappings(), iommu.read(0x4000, 1), iommu.read(0x8000, 1)),
            (1, None, Some(vec![0]))
        );
        iommu.unmap_between(0, u64::MAX).unwrap();
        assert_eq!(Arc::strong_count(&memory), 1);
    }

    #[test]
    fn memory_that_is_gone_faults_as_if_it_were_not_mapped() {
        struct Gone;
        impl Memory for Gone {
            fn size(&self) -> u64 {
                PAGE_BYTES
            }
            fn read(&self, _: u64, _: &mut [u8]) -> bool {
                false
            }
            fn write(&self, _: u64, _: &[u8]) -> bool {
                false
            }
        }
        let mut iommu = Iommu::default();
        iommu.map(0x1000, &Arc::new(Gone)).unwrap();
        assert_eq!((iommu.read(0x1008, 8), iommu.write(0x1010, &[1])), (None, false));
        let [read, write] =
            [(0x1008, Access::Read), (0x1010, Access::Write)].map(|(iova, access)| Fault { iova, access });
        assert_eq!(iommu.take_faults(), [read, write]);
        assert_eq!(iommu.faults(), []);
    }
}
