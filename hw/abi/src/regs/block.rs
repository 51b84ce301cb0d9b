//! The macro behind the register map, and what every block of BAR0 begins with.

use super::reg::{Access::ReadOnly, Reg};
use crate::{Entry, Field};

/// A named part of a register, from bit `low` on.
pub(super) const fn part(name: &'static str, low: usize, width: usize, prose: &'static str) -> Entry {
    Entry { name, field: Field::little(low / 8, low % 8, width), prose }
}

pub(super) const fn head(kind: u32, version: u32, next: usize) -> [Reg; 3] {
    [
        Reg::word("block_type", 0x00, ReadOnly, "Type of this block.").resets_to(kind as u64),
        Reg::word(
            "block_version",
            0x04,
            ReadOnly,
            "Version of this block: major above, minor in the low 16 bits.",
        )
        .resets_to(version as u64),
        Reg::word("block_next", 0x08, ReadOnly, "BAR0 offset of the next block; 0 ends the chain.")
            .resets_to(next as u64),
    ]
}

/// Parts of every version register.
pub(super) const VERSION_PARTS: &[Entry] = &[
    part("minor", 0, 16, "grows when something is added"),
    part("major", 16, 16, "grows when a meaning changes"),
];

/// Declares a module that holds a block of registers: a constant each, and `BLOCK`. With `kind` the block belongs
/// to the chain of BAR0 and begins with type, version and next.
macro_rules! block {
    ($(#[doc = $prose:literal])+
     $module:ident at $offset:literal, $len:expr
     $(, kind $kind:literal version $version:literal next $next:expr)?;
     $($konst:ident = $reg:expr;)*) => {
        $(#[doc = $prose])+
        pub mod $module {
            use super::*;

            $(/// Type of the block: says what its registers mean.
            pub const KIND: u32 = $kind;
            /// Version of the block.
            pub const VERSION: u32 = $version;
            const HEAD: [Reg; 3] = head(KIND, VERSION, $next);
            /// Register `block_type`.
            pub const BLOCK_TYPE: Reg = HEAD[0];
            /// Register `block_version`.
            pub const BLOCK_VERSION: Reg = HEAD[1];
            /// Register `block_next`.
            pub const BLOCK_NEXT: Reg = HEAD[2];)?
            $(#[doc = concat!("Register `", stringify!($konst), "`.")]
            pub const $konst: Reg = $reg;)*
            /// The block.
            pub const BLOCK: Block = Block {
                name: stringify!($module),
                offset: $offset,
                len: $len,
                regs: block!(@regs [$($konst),*] $($kind)?),
                prose: concat!($($prose),+),
            };
        }
    };
    (@regs [$($konst:ident),*] $kind:literal) => { &[BLOCK_TYPE, BLOCK_VERSION, BLOCK_NEXT, $($konst),*] };
    (@regs [$($konst:ident),*]) => { &[$($konst),*] };
}
pub(super) use block;
