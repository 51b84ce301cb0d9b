//! The receive front end: frames in, heads and payloads out, everything counted.
//!
//! ```text
//!   sink ─ skid ─ fork ─┬─ gather ─ decode ─┬─ heads ────────────────────────────┐
//!                       │                   └─ plans ─┐                          │
//!                       └─ beats (delay FIFO) ────────┴─ fork ─┬─ icrc ─ verdict ┤
//!                                                      │       └─ strip ─ body ──┴─ gate ─┬─ heads ───┐
//!                                                      │                                  └─ store ─┐ │
//!                                                      └─ raw ────────────────────────────────── merge ─ preface ─ head, payload
//! ```
//!
//! The beats of a frame wait until its headers are decoded; from there on each travels with its frame's
//! [`settle::Plan`]. The CRC and the payload go separate ways and meet at the [`gate`], where a frame is accepted whole
//! or not at all. What is not RoCE, and wanted, is kept by [`raw`] as a whole. A datagram's payload is cut off 40 bytes early, and
//! [`preface`] writes the IP header over what is there.

pub mod axis;
pub mod decode;
#[cfg(test)]
mod differential;
pub mod fields;
pub mod gate;
pub mod gather;
pub mod grh;
pub mod icrc;
pub mod invariant;
pub mod link;
pub mod merge;
pub mod model;
pub mod network;
pub mod opcode;
mod place;
pub mod preface;
pub mod raw;
pub mod settle;
#[cfg(test)]
mod tests;
pub mod transport;

use rust_hdl::prelude::*;

use self::decode::{Decode, STEPS};
use self::gate::Gate;
use self::gather::Gather;
use self::icrc::Icrc;
use self::merge::Merge;
use self::preface::Preface;
use self::raw::Raw;
use self::settle::Plan;
use crate::constant::number;
use crate::head::Head;
use crate::prim::fifo::Fifo;
use crate::prim::fork::Fork;
use crate::prim::packet_fifo::PacketFifo;
use crate::prim::reg::Reg;
use crate::prim::skid::Skid;
use crate::prim::strip::Strip;
use crate::stream::{Beat, StreamSink, StreamSource};

/// log2 of the heads and plans that wait: for the CRC, at a frame a cycle, and to be told that there is no room.
const WAITING_LOG: usize = 5;
/// Windows that have moved, or do, and whose heads are not among those known to wait: in the steps, one that joins them, one that moves.
const UNDER_WAY: usize = STEPS + 2;
/// Two payloads of the largest path MTU, in the narrowest beats; of datagrams, one and most of another.
const STORE_LOG: usize = 10;

block! {
    /// Sorts frames as `stroma_abi::wire::classify` does, and takes the good ones apart.
    ///
    /// - **Ports** `sink`: Ethernet frames without FCS, `err` on `eop` when the MAC found them bad; the last beat
    ///   may hold no byte, so a frame may have none. `sop` is not looked at: a frame begins behind the last one's
    ///   `eop`. `raw_enable`: frames of the classes `Class::RAW` are wanted. `head`: one per frame of class 0, and one with `raw` for
    ///   each that is wanted and kept, those of either kind in their order; `payload`: its payload from byte 0 on, or the whole frame, for
    ///   heads with `payload_len > 0` and in their order, of a datagram behind the IP header that it came with, as [`Preface`] has
    ///   it; `counts`: frames by `stroma_abi::wire::Class`. `raw_dropped`: high for
    ///   a cycle, a frame that was wanted is lost.
    /// - **Latency** 10 cycles from `eop` to `head.valid`, and one for each beat of the frame within the first
    ///   [`WINDOW_BYTES`](crate::head::WINDOW_BYTES); `payload.valid` 2 later, but not before its head has moved. Raw frames as
    ///   [`Raw`]. **Rate** 1 beat per cycle, none lost between frames, however short.
    /// - **Backpressure** of `head` or `payload` stalls `sink` when their buffers are full (16 heads, 8 KiB of
    ///   payload or more); raw frames are lost instead. Every port ends in a register or a FIFO.
    /// - **Reset** forgets everything inside and clears the counters, which wrap.
    pub struct RxFront<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub sink: StreamSink<Beat<D>>,
        pub raw_enable: Signal<In, Bit>,
        pub head: StreamSource<Head>,
        pub payload: StreamSource<Beat<D>>,
        pub raw_dropped: Signal<Out, Bit>,
        pub counts: [Signal<Out, Bits<32>>; 16],
        skid: Skid<Beat<D>>,
        arrival: Fork<Beat<D>>,
        gather: Gather<D>,
        decode: Decode,
        /// Long enough for the beats that arrive while the first of them are gathered and decoded.
        beats: Fifo<Beat<D>, 5>,
        heads: Fifo<Head, WAITING_LOG>,
        plans: Fifo<Plan, WAITING_LOG>,
        has_room: Reg<Bit>,
        planned: Fork<Beat<D>>,
        icrc: Icrc<D>,
        strip: Strip<D>,
        /// Long enough for the beats that arrive while the CRC is worked out.
        body: Fifo<Beat<D>, 4>,
        gate: Gate<D>,
        accepted: Fifo<Head, 4>,
        store: PacketFifo<D, STORE_LOG> = PacketFifo::new(false),
        raw: Raw<D, STORE_LOG>,
        merge: Merge<D>,
        preface: Preface<D>,
        plan: Signal<Local, Plan>,
        ends: Signal<Local, Bit>,
        room: Constant<Bits<16>> = number((1 << WAITING_LOG) - UNDER_WAY),
    }
}

impl<const D: usize> Logic for RxFront<D> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, skid, arrival, gather, decode, beats, heads, plans, planned);
        clock!(self, clock, icrc, strip, body, gate, accepted, store, raw, merge, preface);
        dff_setup!(self, clock, has_room);
        self.skid.reset.next = self.reset.val();
        self.arrival.reset.next = self.reset.val();
        self.gather.reset.next = self.reset.val();
        self.decode.reset.next = self.reset.val();
        self.beats.reset.next = self.reset.val();
        self.heads.reset.next = self.reset.val();
        self.plans.reset.next = self.reset.val();
        self.planned.reset.next = self.reset.val();
        self.icrc.reset.next = self.reset.val();
        self.strip.reset.next = self.reset.val();
        self.body.reset.next = self.reset.val();
        self.gate.reset.next = self.reset.val();
        self.accepted.reset.next = self.reset.val();
        self.store.reset.next = self.reset.val();
        self.raw.reset.next = self.reset.val();
        self.merge.reset.next = self.reset.val();
        self.preface.reset.next = self.reset.val();

        StreamSink::<Beat<D>>::link(&mut self.sink, &mut self.skid.sink);
        StreamSource::<Beat<D>>::join(&mut self.skid.source, &mut self.arrival.sink);
        StreamSource::<Beat<D>>::join(&mut self.arrival.left, &mut self.gather.sink);
        StreamSource::<Beat<D>>::join(&mut self.arrival.right, &mut self.beats.sink);

        // A plan leaves before its head, so there is room for it where there is room for that.
        self.has_room.d.next = self.heads.level.val() <= self.room.val();
        self.gather.source.ready.next = self.has_room.q.val();
        self.decode.some.next = self.gather.source.valid.val() & self.has_room.q.val();
        self.decode.window.next = self.gather.source.payload.val();
        self.heads.sink.payload.next = self.decode.head.val();
        self.plans.sink.payload.next = self.decode.plan.val();
        self.heads.sink.valid.next = self.decode.valid.val();
        self.plans.sink.valid.next = self.decode.valid.val();

        // Beats move on under their plan, which leaves with the last of them.
        self.plan.next = self.plans.source.payload.val();
        self.ends.next = self.beats.source.payload.val().eop;
        self.planned.sink.payload.next = self.beats.source.payload.val();
        self.planned.sink.valid.next = self.beats.source.valid.val() & self.plans.source.valid.val();
        self.beats.source.ready.next = self.planned.sink.ready.val() & self.plans.source.valid.val();
        self.plans.source.ready.next =
            self.planned.sink.ready.val() & self.beats.source.valid.val() & self.ends.val();

        self.raw.moves.next =
            self.beats.source.valid.val() & self.plans.source.valid.val() & self.planned.sink.ready.val();
        self.raw.beat.next = self.beats.source.payload.val();
        self.raw.frame_class.next = self.plan.val().class;
        self.raw.enable.next = self.raw_enable.val();
        self.raw_dropped.next = self.raw.dropped.val();

        StreamSource::<Beat<D>>::join(&mut self.planned.left, &mut self.icrc.sink);
        self.icrc.plan.next = self.plan.val();
        StreamSource::<icrc::Verdict>::join(&mut self.icrc.source, &mut self.gate.verdict);
        StreamSource::<Beat<D>>::join(&mut self.planned.right, &mut self.strip.sink);
        self.strip.skip.next = self.plan.val().skip;
        self.strip.keep.next = self.plan.val().keep;
        StreamSource::<Beat<D>>::join(&mut self.strip.source, &mut self.body.sink);
        StreamSource::<Beat<D>>::join(&mut self.body.source, &mut self.gate.payload);
        StreamSource::<Head>::join(&mut self.heads.source, &mut self.gate.head);

        StreamSource::<Head>::join(&mut self.gate.good_head, &mut self.accepted.sink);
        StreamSource::<Beat<D>>::join(&mut self.gate.judged_payload, &mut self.store.sink);
        StreamSource::<Head>::join(&mut self.accepted.source, &mut self.merge.roce);
        StreamSource::<Beat<D>>::join(&mut self.store.source, &mut self.merge.roce_payload);
        StreamSource::<Head>::join(&mut self.raw.head, &mut self.merge.raw);
        StreamSource::<Beat<D>>::join(&mut self.raw.payload, &mut self.merge.raw_payload);
        StreamSource::<Head>::join(&mut self.merge.head, &mut self.preface.sink);
        StreamSource::<Beat<D>>::join(&mut self.merge.payload, &mut self.preface.body);
        StreamSource::<Head>::link(&mut self.head, &mut self.preface.head);
        StreamSource::<Beat<D>>::link(&mut self.payload, &mut self.preface.payload);
        for i in 0..16 {
            self.counts[i].next = self.gate.counts[i].val();
        }
        if self.reset.val() {
            self.has_room.d.next = false;
        }
    }
}
