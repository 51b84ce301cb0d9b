//! A card in its shell, as on a board: the Verilated RTL of both, and around them models of the MAC and of the PCIe block.
//!
//! [`Board`] joins a shell to the 100g card, with a [`PciBlock`](pcie::PciBlock) and a [`Mac`](mac::Mac) at its pins; a [`Pair`] has two of
//! them on a cable, and [`BoardBackend`] lets the driver run one. The models check whatever the real parts would punish: a shell
//! that breaks a rule of theirs panics.

#![forbid(unsafe_code)]

mod backend;
mod board;
pub mod mac;
mod pair;
pub mod pcie;

pub use backend::BoardBackend;
pub use board::{Board, CORE_PS, Error, JoinError, MAC_PS};
pub use pair::Pair;
