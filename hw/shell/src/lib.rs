//! The shell: what stands between the card and the vendor's IP on an Alveo board.
//!
//! The card speaks AXI and knows one clock. A board has a MAC with a clock of its own that cannot wait, and a PCIe block
//! that speaks transactions. [`mac`] and [`pcie`] lead from the one to the other.

#![forbid(unsafe_code)]
#![expect(missing_docs, reason = "RustHDL's derives emit public items without documentation")]

pub mod board;
pub mod mac;
pub mod pcie;
pub mod shell;
