//! The front ends alone: what stands between MAC and transport, with the transport side open.
//!
//! ```text
//!  network            AXI4-Stream                                         transport
//!   rx_* pins -> AxisIn -> Turn -> RxFront: gather, decode, ICRC, strip -> rx_head, rx_payload (whole, checked packets, raw frames)
//!                           |^  frames for the card itself
//!   tx_* pins <- AxisOut <- Turn <-+- TxFront: ICRC, insert, build      <- tx_head, tx_payload
//!                                  +------------------------------------<- tx_raw (whole frames)
//! ```
//!
//! The card has the same blocks, joined alike; there the transport takes the heads, and nobody outside sees them. Stories
//! about single frames need them to be seen.

use rust_hdl::prelude::*;
use stroma_abi::wire::class::Class;
use stroma_hw::block;
use stroma_hw::head::Head;
use stroma_hw::prim::arbiter::PacketArbiter;
use stroma_hw::rx::RxFront;
use stroma_hw::rx::axis::AxisIn;
use stroma_hw::stream::{Beat, StreamSink, StreamSource};
use stroma_hw::turn::Turn;
use stroma_hw::tx::TxFront;
use stroma_hw::tx::axis::AxisOut;

block! {
    /// Both front ends between MAC and transport.
    ///
    /// - **Ports** `rx_t*`, `tx_t*`: AXI4-Stream to the MAC, frames without FCS; `rx_head`/`rx_payload`: one head a good packet and its
    ///   payload; `tx_head`/`tx_payload`: the same the other way; `tx_raw`: frames that go out as they are, in turn with the others;
    ///   `raw_enable`, `raw_dropped`: as in [`RxFront`]; `rx_counts`: frames of each class; `tx_mismatched`: payloads that
    ///   were not as long as their head said. `rx_closed`: frames that begin at the pins are dropped, `rx_dropped`: one was, as in [`AxisIn`]; `rx_enters`: a
    ///   frame is on its way in, from the pins or back from the card itself. `own`, `turned`, `turns`: frames for the card itself, as in [`Turn`].
    /// - **Rate** one beat a cycle each way, no bubbles between frames.
    /// - **Backpressure** `rx_tready` falls only when the transport side stops taking packets, or while a frame comes back.
    /// - **Reset** synchronous; everything under way is forgotten.
    pub struct Fronts<const D: usize, const K: usize, const LOG: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub rx_tdata: Signal<In, Bits<D>>,
        pub rx_tkeep: Signal<In, Bits<K>>,
        pub rx_tvalid: Signal<In, Bit>,
        pub rx_tlast: Signal<In, Bit>,
        pub rx_tuser: Signal<In, Bit>,
        pub rx_tready: Signal<Out, Bit>,
        pub rx_closed: Signal<In, Bit>,
        pub rx_dropped: Signal<Out, Bit>,
        pub rx_enters: Signal<Out, Bit>,
        pub tx_tdata: Signal<Out, Bits<D>>,
        pub tx_tkeep: Signal<Out, Bits<K>>,
        pub tx_tvalid: Signal<Out, Bit>,
        pub tx_tlast: Signal<Out, Bit>,
        pub tx_tuser: Signal<Out, Bit>,
        pub tx_tready: Signal<In, Bit>,
        pub tx_pause: Signal<In, Bit>,
        pub rx_head: StreamSource<Head>,
        pub rx_payload: StreamSource<Beat<D>>,
        pub tx_head: StreamSink<Head>,
        pub tx_payload: StreamSink<Beat<D>>,
        pub tx_raw: StreamSink<Beat<D>>,
        pub raw_enable: Signal<In, Bit>,
        pub raw_dropped: Signal<Out, Bit>,
        pub rx_counts: [Signal<Out, Bits<32>>; Class::COUNT],
        pub tx_mismatched: Signal<Out, Bits<32>>,
        pub own: Signal<In, Bits<48>>,
        pub turned: Signal<Out, Bit>,
        pub turns: Signal<Out, Bit>,
        mac_in: AxisIn<D, K>,
        rx: RxFront<D>,
        tx: TxFront<D>,
        frames: PacketArbiter<D, 2>,
        turn: Turn<D, LOG>,
        mac_out: AxisOut<D, K>,
    }
}

impl<const D: usize, const K: usize, const LOG: usize> Logic for Fronts<D, K, LOG> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, mac_in, rx, tx, frames, turn, mac_out);
        self.mac_in.reset.next = self.reset.val();
        self.rx.reset.next = self.reset.val();
        self.tx.reset.next = self.reset.val();
        self.frames.reset.next = self.reset.val();
        self.turn.reset.next = self.reset.val();
        self.mac_out.reset.next = self.reset.val();

        self.mac_in.tdata.next = self.rx_tdata.val();
        self.mac_in.tkeep.next = self.rx_tkeep.val();
        self.mac_in.tvalid.next = self.rx_tvalid.val();
        self.mac_in.tlast.next = self.rx_tlast.val();
        self.mac_in.tuser.next = self.rx_tuser.val();
        self.rx_tready.next = self.mac_in.tready.val();
        self.mac_in.closed.next = self.rx_closed.val();
        self.rx_dropped.next = self.mac_in.dropped.val();
        self.rx_enters.next = self.mac_in.enters.val() | self.turn.moves.val();
        StreamSource::<Beat<D>>::join(&mut self.mac_in.source, &mut self.turn.arriving);
        StreamSource::<Beat<D>>::join(&mut self.turn.source, &mut self.rx.sink);
        self.turn.own.next = self.own.val();
        self.turned.next = self.turn.turned.val();
        self.turns.next = self.turn.moves.val();
        StreamSource::<Head>::link(&mut self.rx_head, &mut self.rx.head);
        StreamSource::<Beat<D>>::link(&mut self.rx_payload, &mut self.rx.payload);
        self.rx.raw_enable.next = self.raw_enable.val();
        self.raw_dropped.next = self.rx.raw_dropped.val();
        for i in 0..16 {
            self.rx_counts[i].next = self.rx.counts[i].val();
        }

        StreamSink::<Head>::link(&mut self.tx_head, &mut self.tx.head);
        StreamSink::<Beat<D>>::link(&mut self.tx_payload, &mut self.tx.payload);
        StreamSource::<Beat<D>>::join(&mut self.tx.source, &mut self.frames.sinks[0]);
        StreamSink::<Beat<D>>::link(&mut self.tx_raw, &mut self.frames.sinks[1]);
        StreamSource::<Beat<D>>::join(&mut self.frames.source, &mut self.turn.leaving);
        StreamSource::<Beat<D>>::join(&mut self.turn.out, &mut self.mac_out.sink);
        self.tx_mismatched.next = self.tx.mismatched.val();
        self.tx_tdata.next = self.mac_out.tdata.val();
        self.tx_tkeep.next = self.mac_out.tkeep.val();
        self.tx_tvalid.next = self.mac_out.tvalid.val();
        self.tx_tlast.next = self.mac_out.tlast.val();
        self.tx_tuser.next = self.mac_out.tuser.val();
        self.mac_out.tready.next = self.tx_tready.val();
        self.mac_out.pause.next = self.tx_pause.val();
    }
}
