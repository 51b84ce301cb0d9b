//! Volatile access to a mapped BAR.

#![expect(unsafe_code, reason = "registers are memory the compiler knows nothing about")]

use std::ptr::NonNull;

use memmap2::MmapRaw;
use volatile::VolatilePtr;

use crate::{BarId, Error, Result};

/// Is an access of `width` bytes at `offset` aligned, and inside a BAR of `len` bytes? Every backend asks this
/// before it touches anything.
///
/// # Errors
/// [`Error::Unaligned`] and [`Error::OutsideBar`].
pub fn check(operation: &'static str, bar: BarId, offset: usize, width: usize, len: usize) -> Result<()> {
    if !offset.is_multiple_of(width) {
        return Err(Error::Unaligned { operation, bar, offset, width });
    }
    if offset.checked_add(width).is_none_or(|end| end > len) {
        return Err(Error::OutsideBar { operation, bar, offset, width, len });
    }
    Ok(())
}

/// A BAR in our address space. One call is one access of the card.
#[derive(Debug)]
pub struct Mmio {
    bar: BarId,
    map: MmapRaw,
}

impl Mmio {
    /// Takes a mapping that holds at least the registers `bar` should have.
    ///
    /// # Errors
    /// [`Error::BarTooShort`].
    ///
    /// # Panics
    /// When the mapping does not begin on a multiple of 8, as a view into the middle of a page may.
    pub fn new(bar: BarId, map: MmapRaw) -> Result<Self> {
        assert!(
            map.as_ptr().addr().is_multiple_of(size_of::<u64>()),
            "{bar} is mapped from its first byte on"
        );
        let (len, needed) = (map.len(), bar.layout().len);
        if len < needed {
            return Err(Error::BarTooShort { bar, len, needed });
        }
        Ok(Self { bar, map })
    }

    /// Bytes of the BAR.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a BAR is never empty")]
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// Reads 32 bits.
    ///
    /// # Errors
    /// As [`check`] says.
    pub fn read32(&self, offset: usize) -> Result<u32> {
        Ok(u32::from_le(self.at("read", offset)?.read()))
    }

    /// Reads 64 bits.
    ///
    /// # Errors
    /// As [`check`] says.
    pub fn read64(&self, offset: usize) -> Result<u64> {
        Ok(u64::from_le(self.at("read", offset)?.read()))
    }

    /// Writes 32 bits.
    ///
    /// # Errors
    /// As [`check`] says.
    pub fn write32(&self, offset: usize, value: u32) -> Result<()> {
        self.at("write", offset)?.write(value.to_le());
        Ok(())
    }

    /// Writes 64 bits.
    ///
    /// # Errors
    /// As [`check`] says.
    pub fn write64(&self, offset: usize, value: u64) -> Result<()> {
        self.at("write", offset)?.write(value.to_le());
        Ok(())
    }

    /// The register at `offset`. Private, and so for plain numbers alone: every bit pattern a card returns is one.
    fn at<T: Copy>(&self, operation: &'static str, offset: usize) -> Result<VolatilePtr<'_, T>> {
        check(operation, self.bar, offset, size_of::<T>(), self.map.len())?;
        // SAFETY: the check puts all of T inside the mapping, which lives as long as `self` and is not at address 0.
        let place = unsafe { NonNull::new_unchecked(self.map.as_mut_ptr().add(offset)) };
        // SAFETY: in bounds as above; the mapping begins on a multiple of 8, so a multiple of T's size is aligned for
        // T; it is a device's memory, never a reference, and the result cannot outlive `self`.
        Ok(unsafe { VolatilePtr::new(place.cast()) })
    }
}

#[cfg(test)]
mod tests {
    use memmap2::MmapMut;
    use stroma_abi::regs;

    use super::*;

    fn bar0() -> Mmio {
        Mmio::new(BarId::Bar0, MmapMut::map_anon(regs::BAR0.len).unwrap().into()).unwrap()
    }

    #[test]
    fn registers_are_little_endian_at_both_widths() {
        let mmio = bar0();
        mmio.write64(0x28, 0x0807_0605_0403_0201).unwrap();
        assert_eq!((mmio.read32(0x28).unwrap(), mmio.read32(0x2c).unwrap()), (0x0403_0201, 0x0807_0605));
        mmio.write32(0x2c, 0xffff_fff0).unwrap();
        assert_eq!(mmio.read64(0x28).unwrap(), 0xffff_fff0_0403_0201);
        assert_eq!((mmio.read64(0x20).unwrap(), mmio.read64(0x30).unwrap()), (0, 0), "neighbours stay");
    }

    #[test]
    fn every_register_of_the_map_can_be_reached() {
        for bar in [BarId::Bar0, BarId::Bar2] {
            let len = bar.layout().len;
            for block in bar.layout().blocks {
                for reg in block.regs {
                    let last = block.offset + reg.element(reg.count - 1);
                    assert!(
                        check("read", bar, last, reg.width / 8, len).is_ok(),
                        "{}.{}",
                        block.name,
                        reg.name
                    );
                }
            }
        }
    }

    #[test]
    fn unaligned_accesses_are_refused() {
        let mmio = bar0();
        for offset in [1, 2, 3, 6] {
            assert!(matches!(mmio.read32(offset), Err(Error::Unaligned { operation: "read", width: 4, .. })));
        }
        assert!(matches!(mmio.read64(4), Err(Error::Unaligned { width: 8, .. })));
        let refused = mmio.write64(0x1c, 1).unwrap_err();
        assert_eq!(refused.to_string(), "write of 8 bytes at BAR0 + 0x1c: the offset is no multiple of 8");
        assert_eq!(mmio.read32(0x1c).unwrap(), 0);
    }

    #[test]
    fn accesses_behind_the_end_are_refused() {
        let mmio = bar0();
        let len = mmio.len();
        assert!(mmio.read32(len - 4).is_ok() && mmio.read64(len - 8).is_ok());
        for offset in [len, len + 0x1000, usize::MAX - 7] {
            assert!(matches!(mmio.read64(offset), Err(Error::OutsideBar { .. })), "{offset:#x}");
            assert!(matches!(mmio.write64(offset, 0), Err(Error::OutsideBar { .. })), "{offset:#x}");
        }
    }

    #[test]
    #[should_panic(expected = "BAR2 is mapped from its first byte on")]
    fn a_view_into_the_middle_of_a_word_is_refused() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(0x3000).unwrap();
        let view = memmap2::MmapOptions::new().offset(4).len(0x2000).map_raw(&file).unwrap();
        let _ = Mmio::new(BarId::Bar2, view);
    }

    #[test]
    fn a_bar_smaller_than_its_registers_is_refused() {
        let short = MmapMut::map_anon(regs::BAR0.len / 2).unwrap();
        let refused = Mmio::new(BarId::Bar0, short.into()).unwrap_err();
        assert!(matches!(refused, Error::BarTooShort { len: 0x8000, needed: 0x10000, .. }), "{refused}");
    }
}
