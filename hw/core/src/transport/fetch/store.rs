//! Store: payloads that are here as a whole.

use rust_hdl::prelude::*;

use crate::prim::packet_fifo::PacketFifo;
use crate::prim::reg::Reg;
use crate::prim::splice::{PieceBeat, Splice};
use crate::state::access::LEN_MAX;
use crate::stream::{Beat, StreamSink, StreamSource};

block! {
    /// Joins pieces to payloads, and keeps those that are good until they are taken.
    ///
    /// - **Ports** `pieces`: in; `payload`: a packet for each whose pieces are all good; `busy`: a beat is inside.
    /// - **Latency** 6 cycles from the last beat to the first. **Rate** 1 beat per cycle, without a gap inside a payload
    ///   or between two that are here.
    /// - **Backpressure** stalls `pieces` when `2^LOG` beats are held. No combinational path from port to port.
    /// - **Reset** empties it.
    /// - **Limits** `2^LOG` beats hold 4 KiB and one beat more, otherwise building panics. A longer payload is swallowed.
    pub struct Store<const D: usize, const LOG: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub pieces: StreamSink<PieceBeat<D>>,
        pub payload: StreamSource<Beat<D>>,
        pub busy: Signal<Out, Bit>,
        splice: Splice<D>,
        packets: PacketFifo<D, LOG> = whole_payloads(),
        /// Payloads that have entered the FIFO and have not left it.
        inside: Reg<Bits<16>>,
        enters: Signal<Local, Bit>,
        leaves: Signal<Local, Bit>,
    }
}

/// A FIFO that holds payloads whole.
///
/// # Panics
/// When it could not hold the longest, and a beat.
fn whole_payloads<const D: usize, const LOG: usize>() -> PacketFifo<D, LOG> {
    let bytes = (D / 8) << LOG;
    assert!(bytes >= LEN_MAX + D / 8, "2^{LOG} beats of {D} bits do not hold a payload and a beat");
    PacketFifo::new(false)
}

impl<const D: usize, const LOG: usize> Logic for Store<D, LOG> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, splice, packets);
        dff_setup!(self, clock, inside);
        self.splice.reset.next = self.reset.val();
        self.packets.reset.next = self.reset.val();
        StreamSink::<PieceBeat<D>>::link(&mut self.pieces, &mut self.splice.sink);
        StreamSource::<Beat<D>>::join(&mut self.splice.source, &mut self.packets.sink);
        StreamSource::<Beat<D>>::link(&mut self.payload, &mut self.packets.source);

        self.enters.next = self.splice.source.valid.val()
            & self.packets.sink.ready.val()
            & self.splice.source.payload.val().eop
            & !self.splice.source.payload.val().err;
        self.leaves.next = self.packets.source.valid.val()
            & self.payload.ready.val()
            & self.packets.source.payload.val().eop;
        if self.enters.val() & !self.leaves.val() {
            self.inside.d.next = self.inside.q.val() + 1;
        }
        if !self.enters.val() & self.leaves.val() {
            self.inside.d.next = self.inside.q.val() - 1;
        }
        self.busy.next = self.splice.busy.val() | self.inside.q.val().any();
        if self.reset.val() {
            self.inside.d.next = 0.into();
        }
    }
}
