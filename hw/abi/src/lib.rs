//! The three languages the card speaks: Ethernet ([`wire`]), PCI Express DMA ([`desc`]) and MMIO ([`regs`]); and what
//! requests tell the kernels on it ([`kernel`]).
//!
//! A value's place is written once, here. RTL, model, driver, printer and `docs/registers.md` all ask
//! the same tables:
//!
//! ```text
//!   layout! { Bth: Big, 12 bytes; ... }      one row a field: name, type, byte, bit, width, meaning
//!        |-- Bth::OPCODE: Field              where it sits: RTL slices, ICRC masks
//!        |-- Bth { opcode, .. }              parse / emit: model, driver, printer
//!        `-- Bth::TABLE                      documents, completeness checks
//! ```
//!
//! Calls that read or write a [`Field`] panic when the slice is shorter than the field reaches, or when a
//! value is wider than its field. Calls named `parse`, `decode` and `classify` never panic, whatever the bytes.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "std")]
extern crate alloc;
#[cfg(test)]
extern crate std;

mod codes;
pub mod desc;
pub mod field;
pub mod kernel;
mod layout;
pub mod psn;
pub mod regs;
pub mod value;
pub mod wire;

pub use field::{Entry, Field, Order};
pub use psn::{Psn, Qpn};
pub use value::Value;
