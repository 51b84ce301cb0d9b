//! Route: units follow their work, or go nowhere.

use rust_hdl::prelude::*;

use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::record;
use crate::stream::{StreamSink, StreamSource};

record! {
    /// Where the next units go.
    pub struct Order {
        /// To the mover.
        pub local: Bit,
        /// To the wire; without either they are thrown away.
        pub message: Bit,
        /// How many, 1 to 8.
        pub units: Bits<4>,
    }
}

block! {
    /// Sends units where their orders say, in order.
    ///
    /// - **Ports** `order`: one for each work with units; `room`: at most one of them waits; `units`: those units; `local`, `message`: where they go; `busy`: an
    ///   order waits.
    /// - **Latency** 1 cycle from the order. **Rate** 1 unit per cycle.
    /// - **Backpressure** stalls `order` when 4 wait. No `valid` follows an input but `units.valid`, which is a register.
    /// - **Reset** forgets all orders.
    pub struct Route {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub order: StreamSink<Order>,
        pub room: Signal<Out, Bit>,
        pub units: StreamSink<Bits<512>>,
        pub local: StreamSource<Bits<512>>,
        pub message: StreamSource<Bits<512>>,
        pub busy: Signal<Out, Bit>,
        orders: Fifo<Order, 2>,
        /// Units of the first order that have gone.
        gone: Reg<Bits<4>>,
        offers: Signal<Local, Bit>,
        is_taken: Signal<Local, Bit>,
        moves: Signal<Local, Bit>,
        is_last: Signal<Local, Bit>,
    }
}

impl Logic for Route {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, orders);
        dff_setup!(self, clock, gone);
        self.orders.reset.next = self.reset.val();
        StreamSink::<Order>::link(&mut self.order, &mut self.orders.sink);
        self.room.next = self.orders.level.val() < 2;
        self.offers.next = self.orders.source.valid.val() & self.units.valid.val();
        self.local.valid.next = self.offers.val() & self.orders.source.payload.val().local;
        self.local.payload.next = self.units.payload.val();
        self.message.valid.next = self.offers.val() & self.orders.source.payload.val().message;
        self.message.payload.next = self.units.payload.val();
        self.is_taken.next = (self.local.ready.val() | !self.orders.source.payload.val().local)
            & (self.message.ready.val() | !self.orders.source.payload.val().message);
        self.units.ready.next = self.orders.source.valid.val() & self.is_taken.val();
        self.moves.next = self.offers.val() & self.is_taken.val();
        self.is_last.next = (self.gone.q.val() + 1) == self.orders.source.payload.val().units;
        self.orders.source.ready.next = self.moves.val() & self.is_last.val();
        if self.moves.val() {
            self.gone.d.next = self.gone.q.val() + 1;
            if self.is_last.val() {
                self.gone.d.next = 0.into();
            }
        }
        self.busy.next = self.orders.source.valid.val();
        if self.reset.val() {
            self.gone.d.next = 0.into();
        }
    }
}
