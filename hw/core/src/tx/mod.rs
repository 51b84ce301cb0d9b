//! The way out: fields and payload become frames.
//!
//! ```text
//!   head ─ [build] ─ [insert] ─ [icrc] ─ source ─ [axis]
//!   payload ────────────┘
//! ```

pub mod axis;
pub mod build;
pub mod icrc;
pub mod leave;
pub mod model;
pub mod network;
pub mod transport;
pub mod undo;
pub mod wire;

#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;

use crate::head::Head;
use crate::prim::insert::{Insert, Prefix};
use crate::stream::{Beat, StreamSink, StreamSource};
use build::Build;
use icrc::Icrc;

block! {
    /// Builds RoCE v2 frames.
    ///
    /// - **Ports** `head`: the fields of each frame; `payload`: for each head with `payload_len > 0` a packet of that many
    ///   bytes, in the same order; `source`: frames without FCS, from the Ethernet header to the ICRC, padding to the
    ///   least Ethernet length left to the MAC; `mismatched`: payload packets of another length than their head said.
    /// - **Fields** lengths, pad count, IPv4 checksum and ICRC are computed: `head.pad` is not read. The op-code decides which
    ///   extended headers there are. Reserved bits and pad bytes are zero; `head.udp_sum` is sent as it is.
    /// - **Latency** 7 cycles from a head; 5 from the first beat of its payload, which a frame waits for, so that the MAC never waits
    ///   within one. **Rate** 1 beat per cycle, without a gap in a frame whose payload has none, nor between frames, but for frames
    ///   of a single beat: two of them in 3 cycles.
    /// - **Backpressure** two heads and 16 beats wait inside, then both inputs do; drops nothing; no combinational path from any port to any
    ///   other.
    /// - **Reset** empties it and clears `mismatched`, which wraps; the next beat of `payload` begins a packet.
    /// - **Limits** a frame always has the length its head says. A payload packet that ends early is filled up with zeros,
    ///   the surplus of one that ends late is swallowed; `mismatched` counts either. Such a frame, one whose payload ended
    ///   with `err`, and one with an op-code outside the table carry `err` on their last beat: the MAC spoils them, and their
    ///   ICRC means nothing.
    pub struct TxFront<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub head: StreamSink<Head>,
        pub payload: StreamSink<Beat<D>>,
        pub source: StreamSource<Beat<D>>,
        pub mismatched: Signal<Out, Bits<32>>,
        build: Build,
        insert: Insert<D>,
        icrc: Icrc<D>,
    }
}

impl<const D: usize> Logic for TxFront<D> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, build, insert, icrc);
        self.build.reset.next = self.reset.val();
        self.insert.reset.next = self.reset.val();
        self.icrc.reset.next = self.reset.val();
        self.mismatched.next = self.insert.mismatched.val();

        StreamSink::<Head>::link(&mut self.head, &mut self.build.sink);
        StreamSource::<Prefix>::join(&mut self.build.source, &mut self.insert.prefix);
        StreamSink::<Beat<D>>::link(&mut self.payload, &mut self.insert.payload);
        StreamSource::<Beat<D>>::join(&mut self.insert.source, &mut self.icrc.sink);
        self.icrc.kind.next = self.insert.kind.val();
        self.icrc.splits.next = self.insert.splits.val();
        StreamSource::<Beat<D>>::link(&mut self.source, &mut self.icrc.source);
    }
}
