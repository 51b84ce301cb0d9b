//! What a store lies in.

use stroma_verbs::MemoryRegion;

use crate::Result;

/// Memory with an address and a key.
pub trait Memory {
    /// Address of its first byte, as clients name it.
    ///
    /// # Errors
    /// When it has none.
    fn address(&self) -> Result<u64>;
    /// What opens it.
    fn key(&self) -> u32;
    /// Copies from byte `at` on to `bytes`.
    ///
    /// # Errors
    /// When some of them lie outside.
    fn read(&self, at: usize, bytes: &mut [u8]) -> Result<()>;
    /// Copies `bytes` to byte `at` and on.
    ///
    /// # Errors
    /// When some of them lie outside.
    fn write(&self, at: usize, bytes: &[u8]) -> Result<()>;
}

impl Memory for MemoryRegion {
    fn address(&self) -> Result<u64> {
        Ok(self.address(0)?)
    }

    fn key(&self) -> u32 {
        self.rkey()
    }

    fn read(&self, at: usize, bytes: &mut [u8]) -> Result<()> {
        Ok(self.read(at, bytes)?)
    }

    fn write(&self, at: usize, bytes: &[u8]) -> Result<()> {
        Ok(self.write(at, bytes)?)
    }
}
