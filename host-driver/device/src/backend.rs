//! A card within reach of the driver, however it is reached.

use std::{fmt, os::fd::BorrowedFd, path::Path, sync::Arc, time::Duration};

use stroma_abi::regs;

use crate::{DmaMemory, Result};

/// The BARs a driver uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BarId {
    /// Control and state of the card.
    Bar0,
    /// Doorbell pages.
    Bar2,
}

impl BarId {
    /// What the BAR holds.
    #[must_use]
    pub const fn layout(self) -> &'static regs::Bar {
        match self {
            Self::Bar0 => &regs::BAR0,
            Self::Bar2 => &regs::BAR2,
        }
    }
}

impl fmt::Display for BarId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.layout().name)
    }
}

/// An address as the card's DMA uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Iova(pub u64);

impl fmt::Display for Iova {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "IOVA {:#x}", self.0)
    }
}

/// Which card this is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Unique on this machine: a PCI address, or the name of a simulated card.
    pub name: String,
    /// NUMA node the card sits on, where there is one.
    pub numa_node: Option<u32>,
}

/// Where other processes find a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place<'a> {
    /// Served at a socket.
    Socket(&'a Path),
    /// At a PCI address.
    Pci(&'a str),
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// The vector has fired since the last wait for it.
    Fired,
    /// It has not.
    TimedOut,
}

/// A card: registers, DMA, interrupts.
///
/// 1. Reads and writes of one BAR happen in program order of their thread; a read returns after every write before it
///    has reached the card. Each call is one access of exactly its width.
/// 2. An access that is not aligned to its width or leaves the BAR is refused ([`check`](crate::check)).
/// 3. From [`map`](Self::map) to [`unmap`](Self::unmap) the card may read and write the memory at any time. After
///    `unmap` has returned without error it does neither, and the backend has given up its share of the memory.
/// 4. Interrupts are not lost: one that comes before the wait ends the next wait. Several may merge into one.
pub trait Backend: Send + Sync {
    /// Which card this is.
    fn identity(&self) -> &Identity;

    /// Where other processes find it. A card of this process alone has no place.
    fn place(&self) -> Option<Place<'_>> {
        None
    }

    /// Bytes of a BAR.
    fn bar_len(&self, bar: BarId) -> usize;

    /// Reads 32 bits.
    ///
    /// # Errors
    /// By rule 2.
    fn read32(&self, bar: BarId, offset: usize) -> Result<u32>;

    /// Reads 64 bits.
    ///
    /// # Errors
    /// By rule 2.
    fn read64(&self, bar: BarId, offset: usize) -> Result<u64>;

    /// Writes 32 bits.
    ///
    /// # Errors
    /// By rule 2.
    fn write32(&self, bar: BarId, offset: usize, value: u32) -> Result<()>;

    /// Writes 64 bits.
    ///
    /// # Errors
    /// By rule 2.
    fn write64(&self, bar: BarId, offset: usize, value: u64) -> Result<()>;

    /// Shows all of `memory` to the card, from `iova` on. The backend keeps a share of it until it is unmapped.
    ///
    /// # Errors
    /// When the range is not free or the system refuses; then nothing is mapped.
    fn map(&self, iova: Iova, memory: &Arc<DmaMemory>) -> Result<()>;

    /// Ends the mapping that begins at `iova`.
    ///
    /// # Errors
    /// When there is none, or the system refuses; then the memory stays mapped and shared.
    fn unmap(&self, iova: Iova) -> Result<()>;

    /// Interrupt vectors that can be waited for.
    fn vectors(&self) -> usize;

    /// Waits until `vector` fires, `timeout` at most.
    ///
    /// # Errors
    /// When there is no such vector, or the system refuses.
    fn wait(&self, vector: usize, timeout: Duration) -> Result<Wake>;

    /// A descriptor that becomes readable when `vector` fires, where the backend has one. Reading its eight bytes
    /// takes the interrupt, as [`wait`](Self::wait) does.
    fn event_fd(&self, vector: usize) -> Option<BorrowedFd<'_>>;

    /// Called when the driver looked at memory and found nothing new. A simulated card uses the moment to let its clock
    /// run.
    fn idle(&self) {
        std::hint::spin_loop();
    }

    /// Resets the whole function, as at power-up. Mappings stay.
    ///
    /// # Errors
    /// When the system cannot.
    fn reset(&self) -> Result<()>;
}
