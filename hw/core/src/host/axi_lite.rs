//! The host's way to the card: an AXI4-Lite subordinate of 64 bits, each of its five channels a stream.
//!
//! BAR0 begins at address 0 and BAR2 at `regs::map::BAR2_AT`. An access of 32 bits is one half of eight aligned bytes: a
//! store says which by its strobe; a read always gives all eight bytes, and the bridge picks the half.

use rust_hdl::prelude::*;

use crate::record;

record! {
    /// Where a store or a read goes.
    pub struct LiteAddress {
        /// Byte address; the lowest two bits do not count.
        pub addr: Bits<25>,
    }
}

record! {
    /// What is stored.
    pub struct LiteWrite {
        /// Eight aligned bytes, lowest address lowest.
        pub data: Bits<64>,
        /// Which of them are stored.
        pub strb: Bits<8>,
    }
}

record! {
    /// A store has been carried out.
    pub struct LiteResponse {
        /// AXI's response: 0 is good, and the card gives no other.
        pub resp: Bits<2>,
    }
}

record! {
    /// What was read.
    pub struct LiteRead {
        /// Eight aligned bytes, lowest address lowest.
        pub data: Bits<64>,
        /// AXI's response: 0 is good, and the card gives no other.
        pub resp: Bits<2>,
    }
}
