//! The card joined together, in both profiles, and its Verilog.
//!
//! | profile | datapath | core clock | network |
//! |---|---|---|---|
//! | `10g` | 64 bit | 156.25 MHz | 10 GbE |
//! | `100g` | 512 bit | 250 MHz | 100 GbE |

#![forbid(unsafe_code)]
#![expect(missing_docs, reason = "RustHDL's derives emit public items without documentation")]

mod blocks;
mod describe;
pub mod fronts;
pub mod kernels;
pub mod nic;
pub mod profile;

/// A hash of all sources that the text of a card depends on.
pub const SOURCES: &str = env!("STROMA_SOURCES");

pub use blocks::{BLOCKS, NamedBlock, emit_impatient_shell, emit_shell};
pub use describe::describe;
pub use profile::{Capacity, Profile};
