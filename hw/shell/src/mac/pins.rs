//! What the pins of the MAC show in one cycle, in either direction.

use rust_hdl::prelude::*;
use stroma_hw::record;

record! {
    /// One transfer of AXI4-Stream on 512 bits.
    pub struct Pins {
        /// `tdata`: byte 0 of the frame is the lowest of the first transfer.
        pub data: Bits<512>,
        /// `tkeep`: a bit for each byte that counts.
        pub keep: Bits<64>,
        /// `tlast`.
        pub last: Bit,
        /// `tuser`: with `last`, the frame is bad.
        pub user: Bit,
    }
}
