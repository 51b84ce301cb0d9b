//! The IOMMU: which addresses of the card lead where, and a record of those that lead nowhere.

use std::collections::BTreeMap;

use super::memory::PAGE_BYTES;

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
    /// Start, target or length is not a multiple of the page.
    #[error("cannot map {length:#x} bytes at {iova:#x} to {address:#x}: not whole pages")]
    Unaligned {
        /// Where the card would see it.
        iova: u64,
        /// Where it is.
        address: u64,
        /// How long it is.
        length: u64,
    },
    /// Some of the range is mapped already.
    #[error("cannot map {length:#x} bytes at {iova:#x}: the page at {taken:#x} is mapped already")]
    Taken {
        /// Start of the range.
        iova: u64,
        /// Its length.
        length: u64,
        /// The first page in the way.
        taken: u64,
    },
}

#[derive(Clone, Copy, Debug)]
struct Target {
    page: u64,
    writable: bool,
}

/// Page map of one card. Nothing is mapped at first.
#[derive(Clone, Debug, Default)]
pub struct Iommu {
    pages: BTreeMap<u64, Target>,
    faults: Vec<Fault>,
}

impl Iommu {
    /// Lets the card see `length` bytes at `address` under `iova`.
    ///
    /// # Errors
    /// When the range is not whole pages or overlaps one already mapped; nothing is mapped then.
    pub fn map(&mut self, iova: u64, address: u64, length: u64, writable: bool) -> Result<(), MapError> {
        if [iova, address, length].iter().any(|value| value % PAGE_BYTES != 0) {
            return Err(MapError::Unaligned { iova, address, length });
        }
        let pages = length / PAGE_BYTES;
        let first = iova / PAGE_BYTES;
        if let Some((taken, _)) = self.pages.range(first..first + pages).next() {
            return Err(MapError::Taken { iova, length, taken: taken * PAGE_BYTES });
        }
        for page in 0..pages {
            self.pages.insert(first + page, Target { page: address / PAGE_BYTES + page, writable });
        }
        Ok(())
    }

    /// Takes a range away from the card; what of it was not mapped stays so.
    pub fn unmap(&mut self, iova: u64, length: u64) {
        let first = iova / PAGE_BYTES;
        for page in first..first + length.div_ceil(PAGE_BYTES) {
            self.pages.remove(&page);
        }
    }

    /// Where an access leads, or `None`, and then it is recorded.
    pub fn translate(&mut self, iova: u64, access: Access) -> Option<u64> {
        let target = self.pages.get(&(iova / PAGE_BYTES));
        let allowed = target.filter(|target| target.writable || access == Access::Read);
        if allowed.is_none() {
            self.faults.push(Fault { iova, access });
        }
        allowed.map(|target| target.page * PAGE_BYTES + iova % PAGE_BYTES)
    }

    /// Accesses stopped so far.
    #[must_use]
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapped_page_leads_to_its_target_and_an_unmapped_one_faults() {
        let mut iommu = Iommu::default();
        iommu.map(0x1000, 0x7000, 0x2000, true).unwrap();
        assert_eq!(iommu.translate(0x2fff, Access::Write), Some(0x8fff));
        assert_eq!(iommu.translate(0x3000, Access::Read), None);
        iommu.unmap(0x2000, 0x1000);
        assert_eq!(iommu.translate(0x2000, Access::Read), None);
        assert_eq!(iommu.translate(0x1000, Access::Read), Some(0x7000));
        let faulted: Vec<u64> = iommu.faults().iter().map(|fault| fault.iova).collect();
        assert_eq!(faulted, [0x3000, 0x2000]);
    }

    #[test]
    fn a_read_only_page_stops_writes() {
        let mut iommu = Iommu::default();
        iommu.map(0, 0x5000, 0x1000, false).unwrap();
        assert_eq!(iommu.translate(8, Access::Read), Some(0x5008));
        assert_eq!(iommu.translate(8, Access::Write), None);
        assert_eq!(iommu.faults(), [Fault { iova: 8, access: Access::Write }]);
    }

    #[test]
    fn odd_and_overlapping_mappings_change_nothing() {
        let mut iommu = Iommu::default();
        assert!(matches!(iommu.map(0x10, 0, 0x1000, true), Err(MapError::Unaligned { .. })));
        iommu.map(0x4000, 0, 0x1000, true).unwrap();
        let refused = iommu.map(0x3000, 0x9000, 0x2000, true);
        assert_eq!(refused, Err(MapError::Taken { iova: 0x3000, length: 0x2000, taken: 0x4000 }));
        assert_eq!(iommu.translate(0x3000, Access::Read), None);
    }
}
