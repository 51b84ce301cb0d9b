//! What crosses PCI Express by MMIO: the registers of BAR0 and the doorbell pages of BAR2.

mod block;
#[cfg(feature = "std")]
pub mod doc;
pub mod map;
pub mod reg;

pub use map::{BAR0, BAR2, BOARD};
pub use reg::{Access, Bar, Block, Reg};
