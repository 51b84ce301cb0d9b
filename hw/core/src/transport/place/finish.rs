//! Finish: what happens behind the payload of an errand.

use rust_hdl::prelude::*;
use stroma_abi::desc::{Cqe, Event, Status};

use super::ask::WAITING_LOG;
use super::reply::Reply;
use super::retire::Retire;
use crate::constant::number;
use crate::fabric::records::Call;
use crate::host::work::{Done, EventRecord, QpError};
use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::stream::{StreamSink, StreamSource};
use crate::transport::records::{AckedRow, Errand, Operation, Task};

block! {
    /// Gives what goes to the peer, the error, the completion and the event of each errand, in this order, and then tells that it
    /// is over.
    ///
    /// An errand has its place here before its write command is given: bytes whose command was taken must not wait for
    /// completions, which wait for the same writer. An error comes behind its answer, because a queue pair in error
    /// answers nothing; and before its completion, so that who sees that finds the queue pair in error.
    ///
    /// - **Ports** `judged`, `untold`: errands; `over`: the bytes of one more are through; `issued`: the last write command taken;
    ///   the rest as in [`Place`](super::Place). `busy`: an errand waits, or something of it is on offer.
    /// - **Untold** the completion of an errand whose error an event has to tell is `Flushed`.
    /// - **Latency** from `over` to `error`, `done`, `event` 1 cycle, to `task`, `call`, `operation` 2; from the last of them taken, or from
    ///   `over` + 1, to `acked_write` and `leaves` 1, to `kick` 2. **Rate** 1 errand per cycle; an error takes 1 or 2 more, an event
    ///   behind a completion 1, a call with an answer 1, an operation or a call as many as the answer before it waits.
    /// - **Backpressure** 16 errands wait, then `judged` does. No combinational path from port to port.
    /// - **Reset** forgets all errands.
    pub struct Finish<const QPS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub judged: StreamSink<Errand>,
        pub untold: Signal<In, Bit>,
        pub over: Signal<In, Bit>,
        pub issued: Signal<In, Bits<16>>,
        pub task: StreamSource<Task>,
        pub call: StreamSource<Call>,
        pub operation: StreamSource<Operation>,
        pub operation_colour: Signal<In, Bit>,
        pub applies: Signal<In, Bit>,
        pub operation_enters: Signal<Out, Bit>,
        pub error: StreamSource<QpError>,
        pub done: StreamSource<Done>,
        pub event: StreamSource<EventRecord>,
        pub kick: StreamSource<Bits<24>>,
        pub acked_write: Signal<Out, Bit>,
        pub acked_index: Signal<Out, Bits<QPS>>,
        pub acked: Signal<Out, AckedRow>,
        pub leaves: Signal<Out, Bit>,
        pub leaves_colour: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        errands: Fifo<Errand, WAITING_LOG>,
        untolds: Fifo<Bit, WAITING_LOG>,
        reply: Reply,
        retire: Retire<QPS>,
        /// Errands whose bytes are through.
        count: Reg<Bits<5>>,
        /// The completion of the oldest one is given.
        is_told: Reg<Bit>,
        now: Signal<Local, Errand>,
        has_errand: Signal<Local, Bit>,
        is_open: Signal<Local, Bit>,
        needs_done: Signal<Local, Bit>,
        goes: Signal<Local, Bit>,
        came: Signal<Local, Bits<5>>,
        flushed: Constant<Bits<8>> = number(Status::Flushed as u8),
        last_receive: Constant<Bits<8>> = number(Event::LastReceive as u8),
        grh_at: Constant<Bits<3>> = number(Cqe::HAS_GRH.bit),
    }
}

impl<const QPS: usize> Logic for Finish<QPS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, errands, untolds, reply, retire);
        dff_setup!(self, clock, count, is_told);
        self.errands.reset.next = self.reset.val();
        self.untolds.reset.next = self.reset.val();
        self.reply.reset.next = self.reset.val();
        self.retire.reset.next = self.reset.val();
        StreamSink::<Errand>::link(&mut self.judged, &mut self.errands.sink);
        self.untolds.sink.valid.next = self.judged.valid.val() & self.errands.sink.ready.val();
        self.untolds.sink.payload.next = self.untold.val();

        self.now.next = self.errands.source.payload.val();
        self.has_errand.next = self.errands.source.valid.val() & self.count.q.val().any();
        self.reply.errand.next = self.now.val();
        self.reply.untold.next = self.untolds.source.payload.val();
        self.reply.has_errand.next = self.has_errand.val();
        self.reply.issued.next = self.issued.val();
        self.reply.operation_colour.next = self.operation_colour.val();
        self.reply.applies.next = self.applies.val();
        self.operation_enters.next = self.reply.operation_enters.val();
        StreamSource::<Task>::link(&mut self.task, &mut self.reply.task);
        StreamSource::<Call>::link(&mut self.call, &mut self.reply.call);
        StreamSource::<Operation>::link(&mut self.operation, &mut self.reply.operation);
        StreamSource::<QpError>::link(&mut self.error, &mut self.reply.error);

        self.is_open.next = self.has_errand.val() & self.retire.room.val() & self.reply.is_given.val();
        self.needs_done.next = self.now.val().completes & !self.is_told.q.val();
        self.done.valid.next = self.is_open.val() & self.needs_done.val();
        self.done.payload.next.cq = self.now.val().cq;
        self.done.payload.next.qpn = self.now.val().qpn;
        self.done.payload.next.index = self.now.val().index;
        self.done.payload.next.opcode = self.now.val().opcode;
        self.done.payload.next.status = self.now.val().status;
        if self.now.val().fails & self.untolds.source.payload.val() {
            self.done.payload.next.status = self.flushed.val();
        }
        self.done.payload.next.vendor = self.now.val().vendor;
        self.done.payload.next.length = self.now.val().length;
        self.done.payload.next.detail = self.now.val().detail;
        self.done.payload.next.source_qp = 0.into();
        if self.now.val().flags.get_bit(self.grh_at.val().index()) {
            self.done.payload.next.source_qp = bit_cast::<24, 64>(self.now.val().value);
        }
        self.done.payload.next.flags = self.now.val().flags;
        self.event.valid.next = self.is_open.val() & self.now.val().last_receive & !self.needs_done.val();
        self.event.payload.next.data = 0.into();
        self.event.payload.next.object = self.now.val().qpn;
        self.event.payload.next.kind = self.last_receive.val();
        self.event.payload.next.subkind = 0.into();

        // What is told to this side waits until the peer's part is given; without it that may be given in this cycle.
        self.goes.next = self.has_errand.val() & self.retire.room.val() & self.reply.is_giving.val();
        if self.now.val().last_receive {
            self.goes.next = self.is_open.val() & !self.needs_done.val() & self.event.ready.val();
        } else if self.now.val().completes {
            self.goes.next = self.is_open.val() & self.done.ready.val();
        }
        if self.is_open.val() & self.needs_done.val() & self.done.ready.val() {
            self.is_told.d.next = true;
        }
        self.errands.source.ready.next = self.goes.val();
        self.untolds.source.ready.next = self.goes.val();
        self.came.next = self.count.q.val() + self.over.val();
        self.count.d.next = self.came.val();
        if self.goes.val() {
            self.count.d.next = self.came.val() - 1;
            self.is_told.d.next = false;
        }
        self.reply.goes.next = self.goes.val();
        self.retire.errand.next = self.now.val();
        self.retire.ends.next = self.goes.val();
        self.acked_write.next = self.retire.acked_write.val();
        self.acked_index.next = self.retire.acked_index.val();
        self.acked.next = self.retire.acked.val();
        self.leaves.next = self.retire.leaves.val();
        self.leaves_colour.next = self.retire.leaves_colour.val();
        StreamSource::<Bits<24>>::link(&mut self.kick, &mut self.retire.kick);
        self.busy.next = self.errands.source.valid.val() | self.reply.busy.val() | self.retire.busy.val();
        if self.reset.val() {
            self.count.d.next = 0.into();
            self.is_told.d.next = false;
        }
    }
}
