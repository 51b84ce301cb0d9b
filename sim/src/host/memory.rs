//! Host memory: 2^64 bytes, of which those that were touched exist.

use std::collections::HashMap;

/// Bytes of a page, the unit in which memory comes into being.
pub const PAGE_BYTES: u64 = 4096;

/// Sparse memory. What was never written reads as zero.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    pages: HashMap<u64, Box<[u8]>>,
}

impl Memory {
    /// The byte at an address.
    #[must_use]
    pub fn byte(&self, address: u64) -> u8 {
        let offset = offset(address);
        self.pages.get(&(address / PAGE_BYTES)).map_or(0, |page| page[offset])
    }

    /// Stores one byte.
    pub fn set_byte(&mut self, address: u64, value: u8) {
        let blank = || vec![0; offset(PAGE_BYTES - 1) + 1].into_boxed_slice();
        self.pages.entry(address / PAGE_BYTES).or_insert_with(blank)[offset(address)] = value;
    }

    /// The bytes from an address on; addresses wrap at the top.
    #[must_use]
    pub fn read(&self, address: u64, length: usize) -> Vec<u8> {
        (0..length as u64).map(|at| self.byte(address.wrapping_add(at))).collect()
    }

    /// Stores bytes from an address on; addresses wrap at the top.
    pub fn write(&mut self, address: u64, bytes: &[u8]) {
        for (at, byte) in (0_u64..).zip(bytes) {
            self.set_byte(address.wrapping_add(at), *byte);
        }
    }
}

fn offset(address: u64) -> usize {
    usize::try_from(address % PAGE_BYTES).expect("a page is small")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untouched_memory_is_zero_and_writes_cross_pages() {
        let mut memory = Memory::default();
        assert_eq!(memory.read(0xdead_0000, 3), [0, 0, 0]);
        memory.write(PAGE_BYTES - 2, &[1, 2, 3, 4]);
        assert_eq!(memory.read(PAGE_BYTES - 3, 6), [0, 1, 2, 3, 4, 0]);
    }

    #[test]
    fn the_last_byte_is_followed_by_the_first() {
        let mut memory = Memory::default();
        memory.write(u64::MAX, &[7, 8]);
        assert_eq!((memory.byte(u64::MAX), memory.byte(0)), (7, 8));
    }
}
