//! Reply: what an errand gives to the peer, and the error that ends its queue pair.

use rust_hdl::prelude::*;

use super::invoke::Invoke;
use crate::fabric::records::Call;
use crate::host::work::QpError;
use crate::prim::reg::Reg;
use crate::prim::skid::Skid;
use crate::stream::StreamSource;
use crate::transport::records::{Errand, Operation, Task};

block! {
    /// Gives the answer, the call, the operation and the error of the oldest errand, in this order.
    ///
    /// Operation and error come when the answers of all before are taken: the operation's answer goes another way and must
    /// not overtake them, and a queue pair in error answers nothing. So does a call: who answers it must know of it before it can
    /// be over.
    ///
    /// - **Ports** `errand`, `untold`: the oldest one; `has_errand`: its bytes are through; `goes`: it does, only with both `has_errand` and `is_giving`;
    ///   `is_given`: nothing of it is left to give; `is_giving`: nothing is behind this cycle, if `has_errand`; `busy`: an answer or operation is on
    ///   offer; the rest as in [`Place`](super::Place).
    /// - **Latency** from `has_errand` to `error` 0 cycles, to `task`, `call` and `operation` 1; from the answer taken to its call 1.
    ///   **Rate** 1 errand per cycle; an error takes 1 or 2 more, a call with an answer 1; an operation or a call as many as the answer
    ///   before it waits.
    /// - **Backpressure** 2 answers, 2 operations and 2 calls wait untaken; then the errand does. `error`, `operation_enters`,
    ///   `is_given` and `is_giving` follow `errand`, `untold` and `has_errand`; no other path runs from port to port.
    /// - **Reset** forgets all that is on offer.
    pub struct Reply {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub errand: Signal<In, Errand>,
        pub untold: Signal<In, Bit>,
        pub has_errand: Signal<In, Bit>,
        pub goes: Signal<In, Bit>,
        pub issued: Signal<In, Bits<16>>,
        pub task: StreamSource<Task>,
        pub error: StreamSource<QpError>,
        pub operation: StreamSource<Operation>,
        pub operation_colour: Signal<In, Bit>,
        pub operation_enters: Signal<Out, Bit>,
        pub applies: Signal<In, Bit>,
        pub call: StreamSource<Call>,
        pub is_given: Signal<Out, Bit>,
        pub is_giving: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        tasks: Skid<Task>,
        operations: Skid<Operation>,
        invoke: Invoke,
        /// The answer of the oldest errand is given; its operation; its error.
        is_answered: Reg<Bit>,
        is_ordered: Reg<Bit>,
        is_erred: Reg<Bit>,
        needs_task: Signal<Local, Bit>,
        needs_call: Signal<Local, Bit>,
        needs_operation: Signal<Local, Bit>,
        needs_error: Signal<Local, Bit>,
        is_quiet: Signal<Local, Bit>,
        must_wait: Signal<Local, Bit>,
        offers_task: Signal<Local, Bit>,
        may_call: Signal<Local, Bit>,
        calls: Signal<Local, Bit>,
        offers_operation: Signal<Local, Bit>,
        answers: Signal<Local, Bit>,
        orders: Signal<Local, Bit>,
        errs: Signal<Local, Bit>,
    }
}

impl Logic for Reply {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, tasks, operations, invoke);
        dff_setup!(self, clock, is_answered, is_ordered, is_erred);
        self.tasks.reset.next = self.reset.val();
        self.operations.reset.next = self.reset.val();
        self.invoke.reset.next = self.reset.val();
        self.needs_task.next = self.errand.val().answer.any() & !self.is_answered.q.val();
        self.needs_call.next = self.invoke.is_due.val();
        self.needs_operation.next = self.errand.val().atomic.any() & !self.is_ordered.q.val();
        self.needs_error.next = self.errand.val().fails & !self.is_erred.q.val();
        self.is_quiet.next = !self.needs_task.val() & !self.tasks.source.valid.val();
        self.is_given.next = !self.needs_task.val()
            & !self.needs_call.val()
            & !self.needs_operation.val()
            & !self.needs_error.val();
        // A refusal ends the queue pair: it may not overtake the answers to atomics that were carried out before.
        self.must_wait.next =
            self.errand.val().fails & (self.applies.val() | self.operations.source.valid.val());
        self.offers_task.next = self.has_errand.val() & self.needs_task.val() & !self.must_wait.val();
        self.answers.next = self.offers_task.val() & self.tasks.sink.ready.val();
        self.offers_operation.next = self.has_errand.val() & self.needs_operation.val() & self.is_quiet.val();
        self.orders.next = self.offers_operation.val() & self.operations.sink.ready.val();
        self.errs.next = self.has_errand.val()
            & self.needs_error.val()
            & !self.needs_operation.val()
            & self.is_quiet.val();
        // The last answer before may be taken in this cycle; then the spare register of its cut is free.
        self.may_call.next = self.invoke.room.val()
            & (!self.tasks.source.valid.val() | (self.task.ready.val() & self.tasks.sink.ready.val()));
        self.calls.next =
            self.has_errand.val() & self.needs_call.val() & !self.needs_task.val() & self.may_call.val();
        // With an errand, the answer, the call or the operation that is left is taken in this cycle.
        self.is_giving.next = !self.needs_error.val()
            & (!self.needs_task.val() | (!self.must_wait.val() & self.tasks.sink.ready.val()));
        if self.needs_call.val() {
            self.is_giving.next = !self.needs_error.val() & !self.needs_task.val() & self.may_call.val();
        }
        if self.needs_operation.val() {
            self.is_giving.next =
                !self.needs_error.val() & self.is_quiet.val() & self.operations.sink.ready.val();
        }

        // The ticket is noted when the command of this errand has been counted, and stays with the task.
        self.tasks.sink.valid.next = self.offers_task.val();
        self.tasks.sink.payload.next.qpn = self.errand.val().qpn;
        self.tasks.sink.payload.next.pd = self.errand.val().pd;
        self.tasks.sink.payload.next.path_mtu = self.errand.val().path_mtu;
        self.tasks.sink.payload.next.answer = self.errand.val().answer;
        self.tasks.sink.payload.next.psn = self.errand.val().psn;
        self.tasks.sink.payload.next.msn = self.errand.val().msn;
        self.tasks.sink.payload.next.syndrome = self.errand.val().syndrome;
        self.tasks.sink.payload.next.va = self.errand.val().va;
        self.tasks.sink.payload.next.key = self.errand.val().key;
        self.tasks.sink.payload.next.length = self.errand.val().span;
        self.tasks.sink.payload.next.value = 0.into();
        self.tasks.sink.payload.next.fresh = self.errand.val().fresh;
        self.tasks.sink.payload.next.ticket = self.issued.val();
        self.tasks.sink.payload.next.place = self.errand.val().place;
        self.tasks.sink.payload.next.status = 0.into();
        self.tasks.sink.payload.next.stage = 0.into();
        self.tasks.sink.payload.next.staged = false;
        StreamSource::<Task>::link(&mut self.task, &mut self.tasks.source);

        self.operations.sink.valid.next = self.offers_operation.val();
        self.operations.sink.payload.next.qpn = self.errand.val().qpn;
        self.operations.sink.payload.next.pd = self.errand.val().pd;
        self.operations.sink.payload.next.path_mtu = self.errand.val().path_mtu;
        self.operations.sink.payload.next.atomic = self.errand.val().atomic;
        self.operations.sink.payload.next.iova = self.errand.val().va;
        self.operations.sink.payload.next.value = self.errand.val().value;
        self.operations.sink.payload.next.compare = self.errand.val().compare;
        self.operations.sink.payload.next.slot = self.errand.val().place;
        self.operations.sink.payload.next.psn = self.errand.val().psn;
        self.operations.sink.payload.next.msn = self.errand.val().msn;
        self.operations.sink.payload.next.colour = self.operation_colour.val();
        self.operation_enters.next = self.orders.val();
        StreamSource::<Operation>::link(&mut self.operation, &mut self.operations.source);

        self.invoke.errand.next = self.errand.val();
        self.invoke.issued.next = self.issued.val();
        self.invoke.gives.next = self.calls.val();
        self.invoke.goes.next = self.goes.val();
        StreamSource::<Call>::link(&mut self.call, &mut self.invoke.call);

        self.error.valid.next = self.errs.val();
        self.error.payload.next.qpn = self.errand.val().qpn;
        self.error.payload.next.status = self.errand.val().status;
        self.error.payload.next.untold = self.untold.val();

        if self.answers.val() {
            self.is_answered.d.next = true;
        }
        if self.orders.val() {
            self.is_ordered.d.next = true;
        }
        if self.errs.val() & self.error.ready.val() {
            self.is_erred.d.next = true;
        }
        if self.goes.val() {
            self.is_answered.d.next = false;
            self.is_ordered.d.next = false;
            self.is_erred.d.next = false;
        }
        self.busy.next =
            self.tasks.source.valid.val() | self.operations.source.valid.val() | self.invoke.busy.val();
        if self.reset.val() {
            self.is_answered.d.next = false;
            self.is_ordered.d.next = false;
            self.is_erred.d.next = false;
        }
    }
}
