//! Where the map puts things: registers are looked up by the eight aligned bytes they lie in.

use rust_hdl::prelude::*;
use stroma_abi::regs::{BAR0, Block, Reg};

use crate::constant::number;
use crate::record;

/// Bits that name eight aligned bytes of BAR0.
pub const PLACE_BITS: usize = 13;

const _: () = assert!(BAR0.len == 8 << PLACE_BITS);

record! {
    /// A store to BAR0.
    pub struct RegisterStore {
        /// There is one in this cycle.
        pub valid: Bit,
        /// The eight bytes it goes to.
        pub place: Bits<PLACE_BITS>,
        /// What is stored there.
        pub data: Bits<64>,
        /// Which bits of it.
        pub mask: Bits<64>,
    }
}

/// Where element `index` of a register lies.
pub(super) fn place(block: &Block, reg: &Reg, index: usize) -> Constant<Bits<PLACE_BITS>> {
    number((block.offset + reg.element(index)) / 8)
}

/// First bit of a register within its eight bytes.
pub(super) const fn bit(block: &Block, reg: &Reg) -> usize {
    block.address(reg) % 8 * 8
}

/// First bit of a named part within its eight bytes.
///
/// # Panics
/// When the register has no such part.
pub(super) fn part(block: &Block, reg: &Reg, name: &str) -> usize {
    let entry = reg.fields.iter().find(|entry| entry.name == name);
    bit(block, reg) + entry.unwrap_or_else(|| panic!("{} has no part {name}", reg.name)).field.offset()
}

/// A mask of one bit.
pub(super) fn flag(bit: usize) -> Constant<Bits<64>> {
    number(1_u64 << bit)
}
