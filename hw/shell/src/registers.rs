//! How the shell's own registers are reached: the host's accesses of eight aligned bytes, each answered, in order.

use rust_hdl::prelude::*;
use stroma_hw::record;

record! {
    /// An access.
    pub struct RegRequest {
        /// Byte address from where these registers begin; the lowest three bits do not count.
        pub addr: Bits<12>,
        /// What is stored, lowest address lowest.
        pub data: Bits<64>,
        /// Which bytes of it are.
        pub strb: Bits<8>,
        /// It is a store.
        pub is_write: Bit,
    }
}

record! {
    /// It has been carried out.
    pub struct RegAnswer {
        /// Eight aligned bytes; of a store they mean nothing.
        pub data: Bits<64>,
    }
}
