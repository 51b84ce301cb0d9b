//! Intake: what each stage has to know of a work, to each stage.

use rust_hdl::prelude::*;
use stroma_abi::desc::WorkOp;

use super::entries::Outline;
use crate::constant::number;
use crate::host::work::Work;
use crate::prim::fifo::Fifo;
use crate::record;
use crate::stream::{StreamSink, StreamSource};

record! {
    /// What is to be copied for one work.
    pub struct Plan {
        /// Something is.
        pub has_data: Bit,
        /// It comes from the WQE itself.
        pub is_inline: Bit,
        /// From the one place to the pieces; otherwise from the pieces to the one place.
        pub is_scatter: Bit,
        /// Protection domain.
        pub pd: Bits<16>,
        /// The one place.
        pub remote: Bits<64>,
        /// Its key.
        pub key: Bits<32>,
        /// Bytes.
        pub length: Bits<32>,
    }
}

block! {
    /// Hands each work to the stages that need it.
    ///
    /// - **Ports** `work`: in; `order`: of those works whose units follow, what these hold; `plan`: of every work; `ticket`: every
    ///   work, for the completion; `busy`: an order or a ticket waits.
    /// - **Latency** 1 cycle. **Rate** 1 work per cycle.
    /// - **Backpressure** `work` waits while 4 orders, 4 plans or 32 tickets wait. `work.ready` is made of registers.
    /// - **Reset** empties it.
    /// - **Limits** a data work without entries and without inline data copies nothing.
    pub struct Intake {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub work: StreamSink<Work>,
        pub order: StreamSource<Outline>,
        pub plan: StreamSource<Plan>,
        pub ticket: StreamSource<Work>,
        pub busy: Signal<Out, Bit>,
        orders: Fifo<Outline, 2>,
        plans: Fifo<Plan, 2>,
        tickets: Fifo<Work, 5>,
        is_scatter: Signal<Local, Bit>,
        has_units: Signal<Local, Bit>,
        has_bytes: Signal<Local, Bit>,
        has_entries: Signal<Local, Bit>,
        has_room: Signal<Local, Bit>,
        enters: Signal<Local, Bit>,
        gather: Constant<Bits<8>> = number(WorkOp::Gather as u8),
        scatter: Constant<Bits<8>> = number(WorkOp::Scatter as u8),
    }
}

impl Logic for Intake {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, orders, plans, tickets);
        self.orders.reset.next = self.reset.val();
        self.plans.reset.next = self.reset.val();
        self.tickets.reset.next = self.reset.val();

        self.has_room.next =
            self.orders.sink.ready.val() & self.plans.sink.ready.val() & self.tickets.sink.ready.val();
        self.work.ready.next = self.has_room.val();
        self.enters.next = self.work.valid.val() & self.has_room.val();
        self.is_scatter.next = self.work.payload.val().opcode == self.scatter.val();
        self.has_units.next = !self.work.payload.val().ends
            & !self.work.payload.val().status.any()
            & (self.is_scatter.val() | (self.work.payload.val().opcode == self.gather.val()));

        self.orders.sink.valid.next = self.enters.val() & self.has_units.val();
        self.has_bytes.next = self.work.payload.val().length.any();
        self.has_entries.next = !self.work.payload.val().inline & self.work.payload.val().sge_count.any();
        self.orders.sink.payload.next.units = self.work.payload.val().units;
        self.orders.sink.payload.next.sge_count = self.work.payload.val().sge_count;
        self.orders.sink.payload.next.has_entries = self.has_bytes.val() & self.has_entries.val();
        self.orders.sink.payload.next.is_second = false;
        self.orders.sink.payload.next.has_data = self.has_bytes.val() & self.work.payload.val().inline;
        self.plans.sink.valid.next = self.enters.val();
        self.plans.sink.payload.next.has_data = self.has_units.val()
            & self.has_bytes.val()
            & (self.work.payload.val().inline | self.has_entries.val());
        self.plans.sink.payload.next.is_inline = self.work.payload.val().inline;
        self.plans.sink.payload.next.is_scatter = self.is_scatter.val();
        self.plans.sink.payload.next.pd = self.work.payload.val().pd;
        self.plans.sink.payload.next.remote = self.work.payload.val().remote;
        self.plans.sink.payload.next.key = self.work.payload.val().key;
        self.plans.sink.payload.next.length = self.work.payload.val().length;
        self.tickets.sink.valid.next = self.enters.val();
        self.tickets.sink.payload.next = self.work.payload.val();

        self.busy.next = self.orders.source.valid.val() | self.tickets.source.valid.val();
        StreamSource::<Outline>::link(&mut self.order, &mut self.orders.source);
        StreamSource::<Plan>::link(&mut self.plan, &mut self.plans.source);
        StreamSource::<Work>::link(&mut self.ticket, &mut self.tickets.source);
    }
}
