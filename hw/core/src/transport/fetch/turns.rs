//! Turns: requests and answers leave on one wire, a packet of each at a time.

use rust_hdl::prelude::*;

use crate::prim::reg::Reg;
use crate::stream::{StreamSink, StreamSource};
use crate::transport::records::TxStep;

block! {
    /// Makes one stream of two, whole packets at a time.
    ///
    /// The side that was not served last goes first, and the other if that has nothing: so no turn costs a cycle.
    ///
    /// - **Ports** `requests`, `responses`: steps in; `source`: the same steps, those of a packet together; `has_bytes`,
    ///   `has_payload`: the step on offer has bytes of its own, its packet has a payload. `busy`: the rest of a packet is due.
    /// - **Latency** 0 cycles: who comes next has the register. **Rate** 1 step per cycle; a side that pauses within a packet
    ///   pauses the source.
    /// - **Fairness** if both sides have packets, they alternate.
    /// - **Backpressure** stalls both. Every port follows the others combinationally, each `ready` the other side's `valid` too; a first
    ///   step on offer that is not taken gives way to the side whose turn it is.
    /// - **Reset** the next step of either side begins a packet, and requests go first.
    pub struct Turns {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub requests: StreamSink<TxStep>,
        pub responses: StreamSink<TxStep>,
        pub source: StreamSource<TxStep>,
        pub has_bytes: Signal<Out, Bit>,
        pub has_payload: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        /// Whose turn it is: of a packet under way, or of the next.
        is_response: Reg<Bit>,
        /// Steps of a packet are due.
        is_open: Reg<Bit>,
        serves_response: Signal<Local, Bit>,
        last: Signal<Local, Bit>,
        offers: Signal<Local, Bit>,
        moves: Signal<Local, Bit>,
    }
}

impl Logic for Turns {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, is_response, is_open);
        self.serves_response.next = self.is_response.q.val();
        if !self.is_open.q.val() & self.is_response.q.val() {
            self.serves_response.next = self.responses.valid.val() | !self.requests.valid.val();
        }
        if !self.is_open.q.val() & !self.is_response.q.val() {
            self.serves_response.next = self.responses.valid.val() & !self.requests.valid.val();
        }
        // What is counted of a step is counted before the choice, which comes late.
        self.source.payload.next = self.requests.payload.val();
        self.has_bytes.next = self.requests.payload.val().bytes.any();
        self.has_payload.next = self.requests.payload.val().payload_len.any();
        self.offers.next = self.requests.valid.val();
        self.last.next = self.requests.payload.val().last;
        if self.serves_response.val() {
            self.source.payload.next = self.responses.payload.val();
            self.has_bytes.next = self.responses.payload.val().bytes.any();
            self.has_payload.next = self.responses.payload.val().payload_len.any();
            self.offers.next = self.responses.valid.val();
            self.last.next = self.responses.payload.val().last;
        }
        self.source.valid.next = self.offers.val();
        self.requests.ready.next = self.source.ready.val() & !self.serves_response.val();
        self.responses.ready.next = self.source.ready.val() & self.serves_response.val();
        self.busy.next = self.is_open.q.val();

        self.moves.next = self.offers.val() & self.source.ready.val();
        if self.moves.val() {
            self.is_open.d.next = !self.last.val();
            // Behind a packet the turn passes on.
            self.is_response.d.next = self.serves_response.val() ^ self.last.val();
        }
        if self.reset.val() {
            self.is_response.d.next = false;
            self.is_open.d.next = false;
        }
    }
}
