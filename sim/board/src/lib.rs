//! A card in its shell, as on a board: the Verilated RTL of both, and around them models of the MAC and of the PCIe block.

#![forbid(unsafe_code)]

pub mod mac;
pub mod pcie;
