//! The card's way to host memory: an AXI4 manager, each of its five channels a stream.
//!
//! Bursts are `INCR` of whole beats, never cross 4 KiB, and are at most 256 beats long. Writes carry one ID: the host
//! makes them visible in the order of their addresses, and a write response says that nothing sent later can overtake it.
//! Reads carry an ID each; data of different IDs may come back in any order and interleaved, data of one ID in order.

use rust_hdl::prelude::*;

use crate::record;

/// Bytes that no burst crosses a multiple of.
pub const BOUNDARY_BYTES: usize = 4096;
/// Beats of the longest burst.
pub const BURST_BEATS: usize = 256;

/// Our bursts of beats of `beat_bytes` end at multiples of this: of 4 KiB, or of the longest burst if that is less.
#[must_use]
pub const fn burst_bytes(beat_bytes: usize) -> usize {
    if BURST_BEATS * beat_bytes < BOUNDARY_BYTES { BURST_BEATS * beat_bytes } else { BOUNDARY_BYTES }
}

record! {
    /// A write burst's address.
    pub struct WriteAddress {
        /// Of its first beat; a multiple of the beat's size.
        pub addr: Bits<64>,
        /// Beats, less one.
        pub len: Bits<8>,
    }
}

record! {
    /// One beat of write data.
    pub struct WriteBeat<const D: usize, const K: usize> {
        /// The bytes, lowest address lowest.
        pub data: Bits<D>,
        /// Which of them are written.
        pub strb: Bits<K>,
        /// Last beat of its burst.
        pub last: Bit,
    }
}

record! {
    /// How a write burst ended.
    pub struct WriteResponse {
        /// AXI's response: 0 is good, anything else is not.
        pub resp: Bits<2>,
    }
}

record! {
    /// A read burst's address.
    pub struct ReadAddress {
        /// Of its first beat; a multiple of the beat's size.
        pub addr: Bits<64>,
        /// Beats, less one.
        pub len: Bits<8>,
        /// Names the burst; no two in flight share one.
        pub id: Bits<6>,
    }
}

record! {
    /// One beat of read data.
    pub struct ReadBeat<const D: usize> {
        /// The bytes, lowest address lowest.
        pub data: Bits<D>,
        /// The burst it belongs to.
        pub id: Bits<6>,
        /// AXI's response: 0 is good, anything else is not.
        pub resp: Bits<2>,
        /// Last beat of its burst.
        pub last: Bit,
    }
}
