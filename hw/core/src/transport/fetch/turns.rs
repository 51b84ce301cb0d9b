//! Turns: requests and answers leave on one wire, a packet of each at a time.

use rust_hdl::prelude::*;

use crate::prim::reg::Reg;
use crate::prim::skid::Skid;
use crate::stream::{StreamSink, StreamSource};
use crate::transport::records::TxStep;

block! {
    /// Makes one stream of two, whole packets at a time.
    ///
    /// Whose turn it is stands in a register, so that neither side's `ready` follows the other's `valid`.
    ///
    /// - **Ports** `requests`, `responses`: steps in; `source`: the same steps, those of a packet together; `busy`: a step
    ///   is inside, or the rest of a packet is due.
    /// - **Latency** 1 cycle, 2 for the first packet after the other side's. **Rate** 1 step per cycle; a side that pauses
    ///   within a packet pauses the source.
    /// - **Fairness** if both sides have packets, they alternate.
    /// - **Backpressure** holds two steps, then stalls both. No combinational path from port to port.
    /// - **Reset** empties it; the next step of either side begins a packet, and requests go first.
    pub struct Turns {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub requests: StreamSink<TxStep>,
        pub responses: StreamSink<TxStep>,
        pub source: StreamSource<TxStep>,
        pub busy: Signal<Out, Bit>,
        is_response: Reg<Bit>,
        /// Steps of a packet are due.
        is_open: Reg<Bit>,
        cut: Skid<TxStep>,
        chosen: Signal<Local, TxStep>,
        offers: Signal<Local, Bit>,
        other_offers: Signal<Local, Bit>,
        moves: Signal<Local, Bit>,
    }
}

impl Logic for Turns {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, cut);
        dff_setup!(self, clock, is_response, is_open);
        self.cut.reset.next = self.reset.val();
        if self.is_response.q.val() {
            self.chosen.next = self.responses.payload.val();
            self.offers.next = self.responses.valid.val();
            self.other_offers.next = self.requests.valid.val();
        } else {
            self.chosen.next = self.requests.payload.val();
            self.offers.next = self.requests.valid.val();
            self.other_offers.next = self.responses.valid.val();
        }
        self.moves.next = self.offers.val() & self.cut.sink.ready.val();
        self.requests.ready.next = self.cut.sink.ready.val() & !self.is_response.q.val();
        self.responses.ready.next = self.cut.sink.ready.val() & self.is_response.q.val();
        self.cut.sink.valid.next = self.offers.val();
        self.cut.sink.payload.next = self.chosen.val();
        StreamSource::<TxStep>::link(&mut self.source, &mut self.cut.source);
        self.busy.next = self.cut.source.valid.val() | self.is_open.q.val();

        if self.moves.val() {
            self.is_open.d.next = !self.chosen.val().last;
        }
        // The turn passes on behind a packet, or when the side whose turn it is has none.
        if self.other_offers.val()
            & ((self.moves.val() & self.chosen.val().last) | (!self.offers.val() & !self.is_open.q.val()))
        {
            self.is_response.d.next = !self.is_response.q.val();
        }
        if self.reset.val() {
            self.is_response.d.next = false;
            self.is_open.d.next = false;
        }
    }
}
