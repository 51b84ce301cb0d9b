//! Intake: what each stage has to know of a message, to each stage.

use rust_hdl::prelude::*;

use super::MTU_BASE;
use super::opening::{Opening, Plan};
use super::window::Reach;
use crate::constant::number;
use crate::host::mover::entries::Outline;
use crate::prim::fifo::Fifo;
use crate::stream::{StreamSink, StreamSource};
use crate::transport::records::Message;

block! {
    /// Hands each message to the stages that need it.
    ///
    /// - **Ports** `message`: in; `plan`: every message, opened, for its packets; `order`: of every message, what its units
    ///   hold; `reach`: of messages with entries, which bytes of them are sent; `busy`: one of these waits.
    /// - **Latency** 1 cycle. **Rate** 1 message per cycle.
    /// - **Backpressure** `message` waits while 4 plans, 4 orders or 4 reaches wait. `message.ready` is made of registers.
    /// - **Reset** empties it.
    pub struct Intake {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub message: StreamSink<Message>,
        pub plan: StreamSource<Plan>,
        pub order: StreamSource<Outline>,
        pub reach: StreamSource<Reach>,
        pub busy: Signal<Out, Bit>,
        opening: Opening,
        plans: Fifo<Plan, 2>,
        outlines: Fifo<Outline, 2>,
        reaches: Fifo<Reach, 2>,
        has_room: Signal<Local, Bit>,
        enters: Signal<Local, Bit>,
        packets: Signal<Local, Bits<36>>,
        base_log: Constant<Bits<4>> = number(MTU_BASE.ilog2()),
    }
}

impl Logic for Intake {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, plans, outlines, reaches);
        self.plans.reset.next = self.reset.val();
        self.outlines.reset.next = self.reset.val();
        self.reaches.reset.next = self.reset.val();

        self.has_room.next =
            self.plans.sink.ready.val() & self.outlines.sink.ready.val() & self.reaches.sink.ready.val();
        self.message.ready.next = self.has_room.val();
        self.enters.next = self.message.valid.val() & self.has_room.val();
        self.opening.message.next = self.message.payload.val();

        self.plans.sink.valid.next = self.enters.val();
        self.plans.sink.payload.next = self.opening.plan.val();
        self.outlines.sink.valid.next = self.enters.val();
        self.outlines.sink.payload.next.units = self.message.payload.val().units;
        self.outlines.sink.payload.next.sge_count = self.message.payload.val().sge_count;
        // The entries of a READ or an atomic are where its answer goes: nothing is sent of them.
        self.outlines.sink.payload.next.has_entries =
            self.opening.plan.val().fetched & self.message.payload.val().sge_count.any();
        self.outlines.sink.payload.next.is_second = self.opening.plan.val().is_call;
        self.outlines.sink.payload.next.has_data = self.opening.plan.val().inline;
        self.reaches.sink.valid.next = self.enters.val() & self.opening.plan.val().fetched;
        self.reaches.sink.payload.next.skips = self.message.payload.val().skips;
        self.packets.next = bit_cast::<36, 24>(self.message.payload.val().packets);
        self.reaches.sink.payload.next.bytes =
            (self.packets.val() << self.base_log.val()) << self.message.payload.val().path_mtu;

        StreamSource::<Plan>::link(&mut self.plan, &mut self.plans.source);
        StreamSource::<Reach>::link(&mut self.reach, &mut self.reaches.source);
        StreamSource::<Outline>::link(&mut self.order, &mut self.outlines.source);
        self.busy.next = self.plans.source.valid.val()
            | self.outlines.source.valid.val()
            | self.reaches.source.valid.val();
    }
}
