//! The way out: fields and payload become frames.
//!
//! ```text
//!   head ──── cut ─ [build] ─┬─ FIFO ─ [insert] ─ cut ─ [icrc] ─ cut ─── source ─ [axis]
//!                            │            │                │
//!   payload ─ cut ───────────┼────────────┘                │
//!                            └─ FIFO (kind of frame) ──────┘
//! ```

pub mod axis;
pub mod build;
pub mod icrc;
pub mod model;
pub mod network;
pub mod transport;
pub mod wire;

#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;

use crate::head::Head;
use crate::mask::Kind;
use crate::prim::fifo::Fifo;
use crate::prim::insert::{Insert, Prefix};
use crate::prim::skid::Skid;
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
    /// - **Latency** 17 cycles. **Rate** 1 beat per cycle, without a gap between frames.
    /// - **Backpressure** stalls both inputs, drops nothing; no combinational path from any port to any other.
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
        head_cut: Skid<Head>,
        build: Build,
        prefixes: Fifo<Prefix, 2>,
        kinds: Fifo<Kind, 4>,
        payload_cut: Skid<Beat<D>>,
        insert: Insert<D>,
        frame_cut: Skid<Beat<D>>,
        icrc: Icrc<D>,
        source_cut: Skid<Beat<D>>,
        has_room: Signal<Local, Bit>,
    }
}

impl<const D: usize> Logic for TxFront<D> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, head_cut, payload_cut, frame_cut, source_cut);
        clock!(self, clock, build, prefixes, kinds, insert, icrc);
        self.head_cut.reset.next = self.reset.val();
        self.build.reset.next = self.reset.val();
        self.prefixes.reset.next = self.reset.val();
        self.kinds.reset.next = self.reset.val();
        self.payload_cut.reset.next = self.reset.val();
        self.insert.reset.next = self.reset.val();
        self.frame_cut.reset.next = self.reset.val();
        self.icrc.reset.next = self.reset.val();
        self.source_cut.reset.next = self.reset.val();
        self.mismatched.next = self.insert.mismatched.val();

        StreamSink::<Head>::link(&mut self.head, &mut self.head_cut.sink);
        StreamSource::<Head>::join(&mut self.head_cut.source, &mut self.build.sink);
        // Both FIFOs take a frame or neither does, so that beats always find the kind of their frame waiting.
        self.has_room.next = self.prefixes.sink.ready.val() & self.kinds.sink.ready.val();
        self.build.source.ready.next = self.has_room.val();
        self.prefixes.sink.valid.next = self.build.source.valid.val() & self.has_room.val();
        self.prefixes.sink.payload.next = self.build.source.payload.val();
        self.kinds.sink.valid.next = self.build.source.valid.val() & self.has_room.val();
        self.kinds.sink.payload.next = self.build.kind.val();
        StreamSource::<Prefix>::join(&mut self.prefixes.source, &mut self.insert.prefix);
        StreamSink::<Beat<D>>::link(&mut self.payload, &mut self.payload_cut.sink);
        StreamSource::<Beat<D>>::join(&mut self.payload_cut.source, &mut self.insert.payload);
        StreamSource::<Beat<D>>::join(&mut self.insert.source, &mut self.frame_cut.sink);
        StreamSource::<Beat<D>>::join(&mut self.frame_cut.source, &mut self.icrc.sink);
        StreamSource::<Kind>::join(&mut self.kinds.source, &mut self.icrc.kind);
        StreamSource::<Beat<D>>::join(&mut self.icrc.source, &mut self.source_cut.sink);
        StreamSource::<Beat<D>>::link(&mut self.source, &mut self.source_cut.source);
    }
}
