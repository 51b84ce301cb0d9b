//! What the mailbox asks of the owner of a table, and what the owner answers.

use rust_hdl::prelude::*;

use crate::record;

record! {
    /// A command for the owner of one kind of object; codes and layouts are those of `stroma_abi::desc::mailbox`.
    pub struct ObjectCommand {
        /// A `Verb`, or a code that is none.
        pub verb: Bits<8>,
        /// Number of the object, within the card's capacity or not.
        pub object: Bits<32>,
        /// Attributes to modify.
        pub attributes: Bits<64>,
        /// The body, first byte lowest.
        pub body: Bits<896>,
    }
}

record! {
    /// The owner's answer, one for each command.
    pub struct ObjectReply {
        /// A `CommandStatus`.
        pub status: Bits<16>,
        /// With `BadField`, the byte of the body where the field begins; otherwise 0.
        pub field: Bits<16>,
        /// What a query found; otherwise 0.
        pub body: Bits<896>,
    }
}

/// What a work asks of a memory window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyVerb {
    /// To stand for a part of a region, under a new key.
    Bind = 0,
    /// To end its key, as a work of this host asks.
    Invalidate = 1,
    /// To end its key, as a SEND of the peer asks.
    Part = 2,
}

record! {
    /// A work that changes what a key stands for.
    pub struct KeyWork {
        /// A [`KeyVerb`].
        pub verb: Bits<2>,
        /// The queue pair whose work it is.
        pub qpn: Bits<24>,
        /// Its protection domain.
        pub pd: Bits<16>,
        /// The window's key: its number above the byte that it has or is to get.
        pub key: Bits<32>,
        /// `Bind`: `L_Key` of the region; zero otherwise, as all that follows.
        pub region: Bits<32>,
        /// `Bind`: virtual address of the first byte.
        pub base: Bits<64>,
        /// `Bind`: bytes.
        pub length: Bits<48>,
        /// `Bind`: what peers may do.
        pub rights: Bits<5>,
    }
}

/// Why a [`KeyWork`] was refused. The first that applies is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyCause {
    /// There is no such window in the protection domain.
    Window = 1,
    /// `Bind`: it is bound already. Otherwise: it is not, or its key is another.
    Bound = 2,
    /// `Bind`: there is no such region in the protection domain, its key is another, or windows may not stand for it.
    Region = 3,
    /// `Bind`: the right to write locally, which is no peer's; or to write or apply atomics where not even this host may.
    Rights = 4,
    /// `Bind`: no byte, or a byte outside the region.
    Bounds = 5,
    /// `Part`: it is bound to another queue pair.
    QueuePair = 6,
}
