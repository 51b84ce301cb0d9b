//! Tell: how a work on a key has ended.

use rust_hdl::prelude::*;
use stroma_abi::desc::{Status, WorkOp};

use crate::constant::number;
use crate::host::work::{Done, QpError};
use crate::prim::reg::Reg;
use crate::state::command::{KeyVerb, KeyWork};
use crate::stream::StreamSource;
use crate::transport::records::{KeyJob, Nudge, Occasion};

block! {
    /// Gives the error and the completion of a job, in this order, or the nudge of a part.
    ///
    /// An error is told to the queue pairs before its completion is: who sees the completion finds the queue pair in error.
    ///
    /// - **Ports** `active`: a work has ended; `is_part`: it is `part`, else `job`; `cause`: 0, or why it was refused; all of it stays until
    ///   `ends`: one cycle, the last of what it gives is taken. `done`, `error`, `nudge`: what it gives; `moves`: one of them moves.
    /// - **Latency** 0 cycles from `active`; a completion behind an error 1 after that is taken. **Rate** 1 work per cycle, with an error 1 in 2.
    /// - **Backpressure** stalls the work. `ends` and `moves` follow `ready` of the outputs combinationally.
    /// - **Reset** the next error is told.
    pub struct Tell {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub active: Signal<In, Bit>,
        pub is_part: Signal<In, Bit>,
        pub job: Signal<In, KeyJob>,
        pub part: Signal<In, KeyWork>,
        pub cause: Signal<In, Bits<3>>,
        pub done: StreamSource<Done>,
        pub error: StreamSource<QpError>,
        pub nudge: StreamSource<Nudge>,
        pub ends: Signal<Out, Bit>,
        pub moves: Signal<Out, Bit>,
        /// The error of this work is told.
        is_erred: Reg<Bit>,
        is_job: Signal<Local, Bit>,
        errs: Signal<Local, Bit>,
        tells: Signal<Local, Bit>,
        is_over: Signal<Local, Bit>,
        failed: Constant<Bits<8>> = number(Status::WindowBind as u8),
        bind_verb: Constant<Bits<2>> = number(KeyVerb::Bind as u8),
        bind: Constant<Bits<8>> = number(WorkOp::Bind as u8),
        invalidate: Constant<Bits<8>> = number(WorkOp::Invalidate as u8),
        parted: Constant<Bits<3>> = number(Occasion::Parted as u8),
    }
}

impl Logic for Tell {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, is_erred);
        self.is_job.next = self.active.val() & !self.is_part.val();
        self.errs.next = self.is_job.val() & self.cause.val().any() & !self.is_erred.q.val();
        self.error.valid.next = self.errs.val();
        self.error.payload.next.qpn = self.job.val().qpn;
        self.error.payload.next.status = self.failed.val();
        self.error.payload.next.untold = false;

        self.tells.next = self.cause.val().any() | self.job.val().signaled;
        self.done.valid.next = self.is_job.val() & self.tells.val() & !self.errs.val();
        self.done.payload.next.cq = self.job.val().cq;
        self.done.payload.next.qpn = self.job.val().qpn;
        self.done.payload.next.index = self.job.val().index;
        self.done.payload.next.opcode = self.invalidate.val();
        if self.job.val().verb == self.bind_verb.val() {
            self.done.payload.next.opcode = self.bind.val();
        }
        self.done.payload.next.status = 0.into();
        if self.cause.val().any() {
            self.done.payload.next.status = self.failed.val();
        }
        self.done.payload.next.vendor = bit_cast::<8, 3>(self.cause.val());
        self.done.payload.next.length = 0.into();
        self.done.payload.next.detail = 0.into();
        self.done.payload.next.source_qp = 0.into();
        self.done.payload.next.flags = 0.into();

        self.nudge.valid.next = self.active.val() & self.is_part.val();
        self.nudge.payload.next.again = false;
        self.nudge.payload.next.occasion = self.parted.val();
        self.nudge.payload.next.qpn = self.part.val().qpn;
        self.nudge.payload.next.slot = 0.into();
        self.nudge.payload.next.status = bit_cast::<8, 3>(self.cause.val());
        self.nudge.payload.next.vendor = 0.into();
        self.nudge.payload.next.psn = 0.into();

        self.is_over.next =
            self.is_job.val() & !self.errs.val() & (self.done.ready.val() | !self.tells.val());
        if self.is_part.val() {
            self.is_over.next = self.active.val() & self.nudge.ready.val();
        }
        self.ends.next = self.is_over.val();
        self.moves.next = self.is_over.val() | (self.errs.val() & self.error.ready.val());
        if self.errs.val() & self.error.ready.val() {
            self.is_erred.d.next = true;
        }
        if self.is_over.val() {
            self.is_erred.d.next = false;
        }
        if self.reset.val() {
            self.is_erred.d.next = false;
        }
    }
}
