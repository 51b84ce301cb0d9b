//! The driver's bottom half: all that touches a card, and nothing that knows what a queue pair is.
//!
//! ```text
//!   verbs ──▶ Card ──▶ Backend ◀── Vfio (kernel VFIO) ──▶ Mmio (BARs)
//!     │                   ▲  ▲                              MSI-X event descriptors, IOMMU
//!     │                   │  └── VfioUser ──▶ a card in another process, over a socket
//!     │                   └───── the simulated card, the mock
//!     ├──▶ WorkRing, EntryRing    arithmetic alone
//!     └──▶ Mapping ──▶ DmaMemory  memory the card may read and write
//! ```
//!
//! - [`Backend`] is a card within reach: registers, DMA mappings, interrupts, reset. The driver cannot tell one from
//!   another.
//! - [`Card`] opens a backend: is it a Stroma card, does it speak our version, where are its register blocks, how large
//!   is it, is it ready?
//! - [`DmaMemory`] is memory on large pages near the card; a [`Mapping`] shows it to the card.
//! - [`ring`] counts; [`barrier`] orders.
//!
//! ```
//! # use std::{sync::Arc, time::Duration};
//! # use stroma_device::{Backend, Card, DmaMemory, Iova, Mapping, Result};
//! fn bring_up(backend: Arc<dyn Backend>) -> Result<(Card, Mapping)> {
//!     let card = Card::open(backend, Duration::from_secs(1))?;
//!     let memory = DmaMemory::allocate(2 << 20, card.backend().identity().numa_node)?;
//!     if let Some(missed) = memory.missed() {
//!         eprintln!("no free pages of {} KiB: the card will miss its TLB more often", missed.page() >> 10);
//!     }
//!     let mapping = Mapping::new(card.backend().clone(), Iova(0x1_0000_0000), Arc::new(memory))?;
//!     Ok((card, mapping))
//! }
//! ```
//!
//! # Safety model
//!
//! Unsafe code is in `mmio`, `dma` and `vfio`. A card may write to mapped memory at any time, so safe code reaches it
//! through atomics only. A backend holds a share of the memory for as long as it is mapped: memory is never freed under
//! the card, and a slice of it, which needs the only share, can be had before mapping and after unmapping alone.

#![deny(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]
#![expect(unexpected_cfgs, reason = "tests/loom compiles some files once more, without their tests")]

pub mod backend;
pub mod barrier;
mod board;
mod capabilities;
mod card;
mod chain;
mod command;
mod dma;
mod entries;
mod error;
mod event;
mod mac;
mod mapping;
mod mmio;
#[cfg(any(test, feature = "mock"))]
pub mod mock;
mod parts;
#[cfg(target_arch = "x86_64")]
mod pci;
pub mod ring;
mod sync;
mod version;
#[cfg(target_arch = "x86_64")]
mod vfio;
mod vfio_user;

pub use backend::{Backend, BarId, Identity, Iova, Place, Wake};
pub use board::Board;
pub use capabilities::{Capabilities, Features};
pub use card::Card;
pub use dma::{Backing, DmaMemory};
pub use entries::Entries;
pub use error::{Advice, Error, Result};
pub use mac::local_mac;
pub use mapping::Mapping;
pub use mmio::{Mmio, check};
pub use parts::{compose, part};
pub use ring::{EntryRing, WorkRing};
pub use version::Version;
#[cfg(target_arch = "x86_64")]
pub use vfio::Vfio;
pub use vfio_user::VfioUser;
