//! Finish: tells how each work ended.

use rust_hdl::prelude::*;

use super::place::Pass;
use crate::constant::number;
use crate::host::work::{Done, QpError};
use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::stream::{StreamSink, StreamSource};

/// log2 of the works that wait.
const WORKS_LOG: usize = 4;
/// Chunks that may be between judgement and here: one judged, four to be transferred, and one to be judged in this cycle.
const COMING: usize = 6;

block! {
    /// Gives completions, errors, and retired jobs, one work after the other.
    ///
    /// An error is told to the queue pairs before its completion is: who sees the completion finds the queue pair in error.
    ///
    /// - **Ports** `ended`: works whose bytes are through; `room`: one more may be judged, and when it is through it will find
    ///   a place here; `done`: completions; `error`: queue pairs that fail; `retired`,
    ///   `retired_colour`: a job is over, all completions before it were taken; `finished`: a work is over, or the end of a job. `busy`: a work waits.
    /// - **Latency** 1 cycle to `done` or `error`, 2 to `retired`. **Rate** 1 work per cycle, with an error 1 in 2.
    /// - **Backpressure** 16 works wait, then `ended` stalls; `room` falls before, so that it never does for a work judged
    ///   with `room`: bytes whose write command was taken must not wait for completions, which wait for the same writer.
    ///   No combinational path from port to port.
    /// - **Reset** forgets all works.
    pub struct Finish {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub ended: StreamSink<Pass>,
        pub room: Signal<Out, Bit>,
        pub done: StreamSource<Done>,
        pub error: StreamSource<QpError>,
        pub retired: Signal<Out, Bit>,
        pub retired_colour: Signal<Out, Bit>,
        pub finished: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        works: Fifo<Pass, WORKS_LOG>,
        /// The error of the oldest work is told.
        is_erred: Reg<Bit>,
        is_retired: Reg<Bit>,
        is_finished: Reg<Bit>,
        colour: Reg<Bit>,
        has_error: Signal<Local, Bit>,
        goes: Signal<Local, Bit>,
        most: Constant<Bits<16>> = number((1_u64 << WORKS_LOG) - COMING as u64),
    }
}

impl Logic for Finish {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, works);
        dff_setup!(self, clock, is_erred, is_retired, is_finished, colour);
        self.works.reset.next = self.reset.val();
        StreamSink::<Pass>::link(&mut self.ended, &mut self.works.sink);

        self.room.next = self.works.level.val() <= self.most.val();

        self.has_error.next = self.works.source.payload.val().fails & !self.is_erred.q.val();
        self.error.valid.next = self.works.source.valid.val() & self.has_error.val();
        self.error.payload.next.qpn = self.works.source.payload.val().qpn;
        self.error.payload.next.status = self.works.source.payload.val().status;
        self.error.payload.next.untold = false;
        self.done.valid.next =
            self.works.source.valid.val() & self.works.source.payload.val().tells & !self.has_error.val();
        self.done.payload.next.cq = self.works.source.payload.val().cq;
        self.done.payload.next.qpn = self.works.source.payload.val().qpn;
        self.done.payload.next.index = self.works.source.payload.val().index;
        self.done.payload.next.opcode = self.works.source.payload.val().opcode;
        self.done.payload.next.status = self.works.source.payload.val().status;
        self.done.payload.next.vendor = self.works.source.payload.val().vendor;
        self.done.payload.next.length = self.works.source.payload.val().length;
        self.done.payload.next.detail = 0.into();
        self.done.payload.next.source_qp = 0.into();
        self.done.payload.next.flags = 0.into();

        self.goes.next = self.works.source.valid.val()
            & !self.has_error.val()
            & (self.done.ready.val() | !self.works.source.payload.val().tells);
        self.works.source.ready.next = self.goes.val();
        if self.works.source.valid.val() & self.has_error.val() & self.error.ready.val() {
            self.is_erred.d.next = true;
        }
        if self.goes.val() {
            self.is_erred.d.next = false;
        }
        self.is_retired.d.next = self.goes.val() & self.works.source.payload.val().retires;
        self.is_finished.d.next = self.goes.val();
        self.finished.next = self.is_finished.q.val();
        self.colour.d.next = self.works.source.payload.val().job_colour;
        self.retired.next = self.is_retired.q.val();
        self.retired_colour.next = self.colour.q.val();
        self.busy.next = self.works.source.valid.val() | self.is_retired.q.val();
        if self.reset.val() {
            self.is_erred.d.next = false;
            self.is_retired.d.next = false;
            self.is_finished.d.next = false;
        }
    }
}
