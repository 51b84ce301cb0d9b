//! Merge: errands in the order of their arrivals.

use rust_hdl::prelude::*;

use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::stream::{StreamSink, StreamSource};
use crate::transport::records::{Errand, Order};

block! {
    /// Takes the errands of one arrival from the judge who has it, then those of the next.
    ///
    /// - **Ports** `order`: one for each arrival; `requests`, `responses`: the errands, up to and with `ends` for each order;
    ///   `source`: all of them, and for an order that drops an errand that only throws its payload away; `is_request`: of the
    ///   errand on offer; `busy`: an order or an errand is inside.
    /// - **Latency** 1 cycle from an errand, 2 from an order. **Rate** 1 errand per cycle, over the bounds of arrivals.
    /// - **Backpressure** 8 orders wait. `ready` of the judges follows `source.ready` combinationally, and nothing else.
    /// - **Reset** forgets all orders and the errand inside.
    pub struct Merge {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub order: StreamSink<Order>,
        pub requests: StreamSink<Errand>,
        pub responses: StreamSink<Errand>,
        pub source: StreamSource<Errand>,
        pub is_request: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        orders: Fifo<Order, 3>,
        held: Reg<Errand>,
        is_held: Reg<Bit>,
        held_is_request: Reg<Bit>,
        open: Signal<Local, Bit>,
        drops: Signal<Local, Bit>,
        has_request: Signal<Local, Bit>,
        has_response: Signal<Local, Bit>,
        takes: Signal<Local, Bit>,
        chosen: Signal<Local, Errand>,
    }
}

impl Logic for Merge {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, orders);
        dff_setup!(self, clock, held, is_held, held_is_request);
        self.orders.reset.next = self.reset.val();
        StreamSink::<Order>::link(&mut self.order, &mut self.orders.sink);
        self.source.valid.next = self.is_held.q.val();
        self.source.payload.next = self.held.q.val();
        self.is_request.next = self.held_is_request.q.val();
        self.busy.next = self.is_held.q.val() | self.orders.source.valid.val();

        self.open.next = self.source.ready.val() | !self.is_held.q.val();
        self.drops.next = self.orders.source.valid.val() & self.orders.source.payload.val().drops;
        self.has_request.next = self.orders.source.valid.val()
            & !self.orders.source.payload.val().drops
            & self.orders.source.payload.val().is_request;
        self.has_response.next = self.orders.source.valid.val()
            & !self.orders.source.payload.val().drops
            & !self.orders.source.payload.val().is_request;
        self.requests.ready.next = self.open.val() & self.has_request.val();
        self.responses.ready.next = self.open.val() & self.has_response.val();
        self.takes.next = self.open.val()
            & (self.drops.val()
                | (self.has_request.val() & self.requests.valid.val())
                | (self.has_response.val() & self.responses.valid.val()));

        self.chosen.next = self.responses.payload.val();
        if self.has_request.val() {
            self.chosen.next = self.requests.payload.val();
        }
        // Without these nothing of an errand means anything, the queue pair included.
        if self.drops.val() {
            self.chosen.next.ends = true;
            self.chosen.next.is_awaited = false;
            self.chosen.next.unreliable = false;
            self.chosen.next.colour = self.orders.source.payload.val().colour;
            self.chosen.next.payload_len = self.orders.source.payload.val().payload_len;
            self.chosen.next.places = false;
            self.chosen.next.has_value = false;
            self.chosen.next.stores = false;
            self.chosen.next.loads = false;
            self.chosen.next.list = 0.into();
            self.chosen.next.atomic = 0.into();
            self.chosen.next.call = 0.into();
            self.chosen.next.span = 0.into();
            self.chosen.next.answer = 0.into();
            self.chosen.next.completes = false;
            self.chosen.next.fails = false;
            self.chosen.next.retires = false;
            self.chosen.next.last_receive = false;
        }
        self.orders.source.ready.next = self.takes.val() & self.chosen.val().ends;
        if self.open.val() {
            self.is_held.d.next = self.takes.val();
            self.held.d.next = self.chosen.val();
            self.held_is_request.d.next = self.has_request.val();
        }
        if self.reset.val() {
            self.is_held.d.next = false;
        }
    }
}
