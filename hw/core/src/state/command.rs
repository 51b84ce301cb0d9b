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
