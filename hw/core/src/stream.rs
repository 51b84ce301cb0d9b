//! How blocks talk: a valid/ready stream of one payload type, and the packet beat.
//!
//! **The stream law.**
//! 1. A beat moves in the cycle in which `valid` and `ready` are both high.
//! 2. An offered beat stays offered and unchanged until it moves.
//! 3. `valid` never waits for `ready`.
//! 4. `ready` may come and go as it likes.
//!
//! Every stream port of every test is watched for rules 2 and 3, and `cargo xtask formal` proves them for the
//! primitives. A link between two blocks ends in a cut ([`crate::prim::skid`]) or a FIFO, so that no combinational
//! path runs from port to port through more than one block.

use rust_hdl::prelude::*;

use crate::pack::{from_bytes, to_bytes};
use crate::record;

/// The consuming end of a stream.
#[derive(LogicInterface, Clone, Debug, Default)]
#[join = "StreamSource"]
pub struct StreamSink<T: Synth> {
    pub payload: Signal<In, T>,
    pub valid: Signal<In, Bit>,
    pub ready: Signal<Out, Bit>,
}

/// The producing end of a stream.
#[derive(LogicInterface, Clone, Debug, Default)]
#[join = "StreamSink"]
pub struct StreamSource<T: Synth> {
    pub payload: Signal<Out, T>,
    pub valid: Signal<Out, Bit>,
    pub ready: Signal<In, Bit>,
}

record! {
    /// One cycle's worth of a packet on a `D`-bit path. Byte 0 of the packet is the least significant byte of the first
    /// beat; only the beat with `eop` may be partial, and bytes past `nbytes` are zero.
    pub struct Beat<const D: usize> {
        /// The bytes, first byte lowest.
        pub data: Bits<D>,
        /// How many of them count: 1 to `D / 8`, and `D / 8` unless `eop`.
        pub nbytes: Bits<7>,
        /// First beat of its packet.
        pub sop: Bit,
        /// Last beat of its packet.
        pub eop: Bit,
        /// The packet is to be thrown away; meaningful with `eop`.
        pub err: Bit,
    }
}

/// Cuts `bytes` into the beats of one packet.
///
/// # Panics
/// If `bytes` is empty: a packet has at least one beat.
#[must_use]
pub fn beats<const D: usize>(bytes: &[u8]) -> Vec<Beat<D>> {
    assert!(!bytes.is_empty(), "a packet has at least one byte");
    let count = bytes.len().div_ceil(D / 8);
    let cut = |(index, chunk): (usize, &[u8])| Beat {
        data: from_bytes(chunk),
        nbytes: (chunk.len() as u64).into(),
        sop: index == 0,
        eop: index + 1 == count,
        err: false,
    };
    bytes.chunks(D / 8).enumerate().map(cut).collect()
}

/// The bytes of a run of beats.
#[must_use]
pub fn bytes<const D: usize>(beats: &[Beat<D>]) -> Vec<u8> {
    let of = |beat: &Beat<D>| {
        let mut bytes = to_bytes(beat.data);
        bytes.resize(beat.nbytes.index(), 0);
        bytes
    };
    beats.iter().flat_map(of).collect()
}
