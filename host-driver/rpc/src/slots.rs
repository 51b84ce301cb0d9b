//! A region cut into equal slots.

use std::sync::Arc;

use stroma_verbs::{Access, MemoryRegion, ProtectionDomain, QueuePair, Result, Sge};

/// Slots begin at multiples of so many bytes.
pub(crate) const ALIGNMENT: usize = 64;

#[derive(Debug)]
pub(crate) struct Slots {
    region: MemoryRegion,
    stride: usize,
}

impl Slots {
    pub(crate) fn new(domain: &Arc<ProtectionDomain>, count: usize, bytes: usize) -> Result<Self> {
        let stride = bytes.next_multiple_of(ALIGNMENT);
        Ok(Self { region: domain.allocate(count * stride, Access::LOCAL_WRITE)?, stride })
    }

    /// `length` bytes of slot `index` from `at` on, for a request.
    pub(crate) fn piece(&self, index: usize, at: usize, length: usize) -> Result<Sge> {
        self.region.piece(index * self.stride + at, length)
    }

    pub(crate) fn read(&self, index: usize, at: usize, length: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.region.read(index * self.stride + at, &mut bytes)?;
        Ok(bytes)
    }

    pub(crate) fn write(&self, index: usize, at: usize, bytes: &[u8]) -> Result<()> {
        self.region.write(index * self.stride + at, bytes)
    }

    /// Lets a message of the peer come into slot `index`, which completes with that number.
    pub(crate) fn receive(&self, queue_pair: &QueuePair, index: usize) -> Result<()> {
        let piece = self.piece(index, 0, self.stride)?;
        queue_pair.receives()?.receive(index as u64, &[piece]).post()
    }
}
