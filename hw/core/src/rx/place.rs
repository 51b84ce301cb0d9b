//! Constants of the receive side, all asked of `stroma_abi`: where a field is, which class.

use rust_hdl::prelude::*;
use stroma_abi::Field;
use stroma_abi::wire::Class;

use crate::constant::number;

/// Where a field ends in a vector of `bytes` header bytes whose first byte is on top: the place to slice it from.
pub(super) fn place(field: Field, bytes: usize) -> Constant<Bits<10>> {
    number(field.low_bit(bytes))
}

/// A class as its number.
pub(super) fn class(class: Class) -> Constant<Bits<4>> {
    number(class.index())
}
