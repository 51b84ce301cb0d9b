//! What the card asks of the host: its reads and writes of memory.

pub mod fields;
pub mod model;
#[cfg(test)]
mod rig;
pub mod writer;

use rust_hdl::prelude::*;
use stroma_hw::record;

/// Dwords of a beat.
pub const BEAT_DWORDS: usize = 16;

record! {
    /// A beat towards the block, `s_axis_rq_*`. What the sideband has besides is zero.
    pub struct RqBeat {
        /// `tdata`.
        pub data: Bits<512>,
        /// `tkeep`: dwords that count, all but in the last beat.
        pub keep: Bits<16>,
        /// Byte enables of the first dword; the same in all beats of a transaction, as the next two.
        pub first_be: Bits<4>,
        /// Byte enables of the last dword, none if it is the first.
        pub last_be: Bits<4>,
        /// The block reports this number when nothing can overtake the transaction any more.
        pub sequence: Bits<6>,
        /// `tlast`.
        pub last: Bit,
    }
}

record! {
    /// A beat from the block, `m_axis_rc_*`.
    pub struct RcBeat {
        /// `tdata`.
        pub data: Bits<512>,
        /// `tkeep`: dwords that count.
        pub keep: Bits<16>,
        /// The packet is worthless.
        pub discontinue: Bit,
        /// `tlast`.
        pub last: Bit,
    }
}
