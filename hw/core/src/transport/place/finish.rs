//! Finish: what happens behind the payload of an errand.

use rust_hdl::prelude::*;

use super::ask::WAITING_LOG;
use super::retire::Retire;
use crate::host::work::{Done, QpError};
use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::prim::skid::Skid;
use crate::stream::{StreamSink, StreamSource};
use crate::transport::records::{AckedRow, Errand, Task};

block! {
    /// Gives the answer, the error and the completion of each errand, in this order, and then tells that it is over.
    ///
    /// An errand has its place here before its write command is given: bytes whose command was taken must not wait for
    /// completions, which wait for the same writer. An error comes behind its answer, because a queue pair in error
    /// answers nothing; and before its completion, so that who sees that finds the queue pair in error.
    ///
    /// - **Ports** `judged`, `untold`: errands; `over`: the bytes of one more are through; `issued`: the last write command taken;
    ///   the rest as in [`Place`](super::Place). `busy`: an errand waits, or something of it is on offer.
    /// - **Latency** from `over` to `error`, `done` 1 cycle, to `task` 2; from the last of them taken, or from `over` + 1, to
    ///   `acked_write` and `leaves` 1, to `kick` 2. **Rate** 1 errand per cycle; an error takes 1 or 2 more.
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
        pub done: StreamSource<Done>,
        pub error: StreamSource<QpError>,
        pub kick: StreamSource<Bits<24>>,
        pub acked_write: Signal<Out, Bit>,
        pub acked_index: Signal<Out, Bits<QPS>>,
        pub acked: Signal<Out, AckedRow>,
        pub leaves: Signal<Out, Bit>,
        pub leaves_colour: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        errands: Fifo<Errand, WAITING_LOG>,
        untolds: Fifo<Bit, WAITING_LOG>,
        tasks: Skid<Task>,
        retire: Retire<QPS>,
        /// Errands whose bytes are through.
        count: Reg<Bits<5>>,
        /// The answer of the oldest one is given; its error is.
        is_answered: Reg<Bit>,
        is_erred: Reg<Bit>,
        now: Signal<Local, Errand>,
        has_errand: Signal<Local, Bit>,
        needs_task: Signal<Local, Bit>,
        needs_error: Signal<Local, Bit>,
        gives_error: Signal<Local, Bit>,
        goes: Signal<Local, Bit>,
        came: Signal<Local, Bits<5>>,
    }
}

impl<const QPS: usize> Logic for Finish<QPS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, errands, untolds, tasks, retire);
        dff_setup!(self, clock, count, is_answered, is_erred);
        self.errands.reset.next = self.reset.val();
        self.untolds.reset.next = self.reset.val();
        self.tasks.reset.next = self.reset.val();
        self.retire.reset.next = self.reset.val();
        StreamSink::<Errand>::link(&mut self.judged, &mut self.errands.sink);
        self.untolds.sink.valid.next = self.judged.valid.val() & self.errands.sink.ready.val();
        self.untolds.sink.payload.next = self.untold.val();

        self.now.next = self.errands.source.payload.val();
        self.has_errand.next = self.errands.source.valid.val() & self.count.q.val().any();
        self.needs_task.next = self.now.val().answer.any() & !self.is_answered.q.val();
        self.needs_error.next = self.now.val().fails & !self.is_erred.q.val();
        // The ticket is noted when the command of this errand has been counted, and stays with the task.
        self.tasks.sink.valid.next = self.has_errand.val() & self.needs_task.val();
        self.tasks.sink.payload.next.qpn = self.now.val().qpn;
        self.tasks.sink.payload.next.pd = self.now.val().pd;
        self.tasks.sink.payload.next.path_mtu = self.now.val().path_mtu;
        self.tasks.sink.payload.next.answer = self.now.val().answer;
        self.tasks.sink.payload.next.psn = self.now.val().psn;
        self.tasks.sink.payload.next.msn = self.now.val().msn;
        self.tasks.sink.payload.next.syndrome = self.now.val().syndrome;
        self.tasks.sink.payload.next.va = self.now.val().va;
        self.tasks.sink.payload.next.key = self.now.val().key;
        self.tasks.sink.payload.next.length = self.now.val().span;
        self.tasks.sink.payload.next.fresh = self.now.val().fresh;
        self.tasks.sink.payload.next.ticket = self.issued.val();
        self.gives_error.next = self.has_errand.val()
            & self.needs_error.val()
            & !self.needs_task.val()
            & !self.tasks.source.valid.val();
        self.error.valid.next = self.gives_error.val();
        self.error.payload.next.qpn = self.now.val().qpn;
        self.error.payload.next.status = self.now.val().status;
        self.error.payload.next.untold = self.untolds.source.payload.val();

        self.done.valid.next = self.has_errand.val()
            & self.now.val().completes
            & self.retire.room.val()
            & !self.needs_task.val()
            & !self.needs_error.val();
        self.done.payload.next.cq = self.now.val().cq;
        self.done.payload.next.qpn = self.now.val().qpn;
        self.done.payload.next.index = self.now.val().index;
        self.done.payload.next.opcode = self.now.val().opcode;
        self.done.payload.next.status = self.now.val().status;
        self.done.payload.next.vendor = self.now.val().vendor;
        self.done.payload.next.length = self.now.val().length;
        self.done.payload.next.detail = 0.into();
        self.done.payload.next.source_qp = 0.into();
        self.done.payload.next.flags = 0.into();

        self.goes.next = self.has_errand.val()
            & self.retire.room.val()
            & !self.needs_error.val()
            & (!self.needs_task.val() | (self.tasks.sink.ready.val() & !self.now.val().completes))
            & (self.done.ready.val() | !self.now.val().completes);
        self.errands.source.ready.next = self.goes.val();
        self.untolds.source.ready.next = self.goes.val();
        if self.has_errand.val() & self.needs_task.val() & self.tasks.sink.ready.val() {
            self.is_answered.d.next = true;
        }
        if self.gives_error.val() & self.error.ready.val() {
            self.is_erred.d.next = true;
        }
        self.came.next = self.count.q.val() + self.over.val();
        self.count.d.next = self.came.val();
        if self.goes.val() {
            self.count.d.next = self.came.val() - 1;
            self.is_answered.d.next = false;
            self.is_erred.d.next = false;
        }
        self.retire.errand.next = self.now.val();
        self.retire.ends.next = self.goes.val();
        self.acked_write.next = self.retire.acked_write.val();
        self.acked_index.next = self.retire.acked_index.val();
        self.acked.next = self.retire.acked.val();
        self.leaves.next = self.retire.leaves.val();
        self.leaves_colour.next = self.retire.leaves_colour.val();
        StreamSource::<Bits<24>>::link(&mut self.kick, &mut self.retire.kick);
        StreamSource::<Task>::link(&mut self.task, &mut self.tasks.source);
        self.busy.next =
            self.errands.source.valid.val() | self.tasks.source.valid.val() | self.retire.busy.val();
        if self.reset.val() {
            self.count.d.next = 0.into();
            self.is_answered.d.next = false;
            self.is_erred.d.next = false;
        }
    }
}
