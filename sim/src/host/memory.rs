//! What a mapping leads to.

use stroma_device::DmaMemory;

/// Memory of a host: of this process, or of another that may end at any time.
pub trait Memory: Send + Sync {
    /// Bytes of it, not none. They stay as many.
    fn size(&self) -> u64;

    /// Copies from byte `offset` on; `false` when these bytes cannot be had.
    fn read(&self, offset: u64, bytes: &mut [u8]) -> bool;

    /// Copies to byte `offset` and on, the last of them last; `false` when they cannot be stored, not all of them at least.
    fn write(&self, offset: u64, bytes: &[u8]) -> bool;
}

impl Memory for DmaMemory {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read(&self, offset: u64, bytes: &mut [u8]) -> bool {
        usize::try_from(offset).is_ok_and(|offset| DmaMemory::read(self, offset, bytes).is_ok())
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> bool {
        usize::try_from(offset).is_ok_and(|offset| DmaMemory::write(self, offset, bytes).is_ok())
    }
}
