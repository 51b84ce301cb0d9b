//! Protection domains: who may use which key.

use std::sync::Arc;

use stroma_device::DmaMemory;

use crate::{
    Access, CompletionQueue, Device, MemoryRegion, MemoryWindow, QueuePairBuilder, RegionBuilder, Result,
    SharedReceiveQueue, numbers::Number,
};

/// A protection domain. Queue pairs reach regions of their own domain alone.
#[derive(Debug)]
pub struct ProtectionDomain {
    device: Arc<Device>,
    number: Number,
}

impl ProtectionDomain {
    pub(crate) fn new(device: &Arc<Device>, number: Number) -> Arc<Self> {
        Arc::new(Self { device: Arc::clone(device), number })
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// Number of the domain.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number.value()
    }

    pub(crate) fn body_number(&self) -> u16 {
        u16::try_from(self.number()).expect("domains are counted by 16 bits")
    }

    /// Begins to register memory.
    pub fn region(self: &Arc<Self>, access: Access) -> RegionBuilder {
        RegionBuilder::new(self, access)
    }

    /// Allocates memory near the card, at least `len` bytes, and registers it.
    ///
    /// # Errors
    /// When there is no memory, or as [`RegionBuilder::register`].
    pub fn allocate(self: &Arc<Self>, len: usize, access: Access) -> Result<MemoryRegion> {
        let node = self.device.card().backend().identity().numa_node;
        self.region(access).register(Arc::new(DmaMemory::allocate(len, node)?))
    }

    /// Makes a memory window, bound to nothing.
    ///
    /// # Errors
    /// [`NoneLeft`](crate::Error::NoneLeft): regions and windows share their numbers; when the card refuses.
    pub fn memory_window(self: &Arc<Self>) -> Result<MemoryWindow> {
        MemoryWindow::new(self)
    }

    /// Makes a shared receive queue of at least so many entries, each for up to `pieces` pieces.
    ///
    /// # Errors
    /// [`TooLarge`](crate::Error::TooLarge), [`NoneLeft`](crate::Error::NoneLeft); when there is no memory; when the card refuses.
    pub fn shared_receive_queue(
        self: &Arc<Self>,
        entries: usize,
        pieces: usize,
    ) -> Result<Arc<SharedReceiveQueue>> {
        SharedReceiveQueue::new(self, entries, pieces)
    }

    /// Begins to make a queue pair, whose requests complete to `completions`.
    pub fn queue_pair(self: &Arc<Self>, completions: &Arc<CompletionQueue>) -> QueuePairBuilder {
        QueuePairBuilder::new(self, completions)
    }
}
