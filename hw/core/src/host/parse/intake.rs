//! Where the units of jobs arrive.

use rust_hdl::prelude::*;

use super::{HELD_LOG, PLACE_BITS};
use crate::constant::number;
use crate::host::work::Unit;
use crate::prim::reg::Reg;
use crate::record;
use crate::stream::{StreamSink, StreamSource};

record! {
    /// What is to arrive for a job.
    pub struct Expected {
        /// Units.
        pub units: Bits<6>,
        /// They come from a push.
        pub pushed: Bit,
    }
}

block! {
    /// Stores the units of each job, and says when they may be looked at: those of a push from the first on, because they
    /// cannot fail any more, those of a fetch when all are there.
    ///
    /// - **Ports** `expected`: what comes next; `fetched`, `pushed`: units; `write`, `write_at`, `unit`: to the memory, whose
    ///   places before `free_from` are free; `written`: the place behind the last unit that came; `arrived`: one a job,
    ///   true if its units cannot be trusted.
    /// - **Latency** 0 cycles. **Rate** 1 unit per cycle.
    /// - **Backpressure** `fetched.ready` and `pushed.ready` follow `expected`, `free_from` and `arrived.ready`, but neither of
    ///   the other nor of any `valid` of units.
    /// - **Reset** the next unit is the first of its job, and goes to place 0.
    pub struct Intake {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub expected: StreamSink<Expected>,
        pub fetched: StreamSink<Unit>,
        pub pushed: StreamSink<Bits<512>>,
        pub free_from: Signal<In, Bits<PLACE_BITS>>,
        pub write: Signal<Out, Bit>,
        pub write_at: Signal<Out, Bits<HELD_LOG>>,
        pub unit: Signal<Out, Bits<512>>,
        pub written: Signal<Out, Bits<PLACE_BITS>>,
        pub arrived: StreamSource<Bit>,
        place: Reg<Bits<PLACE_BITS>>,
        /// Units of the job that have come.
        came: Reg<Bits<6>>,
        /// Some read command of the job has failed.
        failed: Reg<Bit>,
        is_open: Signal<Local, Bit>,
        is_pushed: Signal<Local, Bit>,
        moves: Signal<Local, Bit>,
        fails: Signal<Local, Bit>,
        is_last: Signal<Local, Bit>,
        arrives: Signal<Local, Bit>,
        capacity: Constant<Bits<PLACE_BITS>> = number(1_u64 << HELD_LOG),
    }
}

impl Logic for Intake {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, place, came, failed);
        self.is_pushed.next = self.expected.payload.val().pushed;
        self.is_open.next = self.expected.valid.val()
            & self.arrived.ready.val()
            & ((self.place.q.val() - self.free_from.val()) != self.capacity.val());
        self.written.next = self.place.q.val();
        self.fetched.ready.next = self.is_open.val() & !self.is_pushed.val();
        self.pushed.ready.next = self.is_open.val() & self.is_pushed.val();
        self.unit.next = self.fetched.payload.val().data;
        self.moves.next = self.is_open.val() & self.fetched.valid.val();
        self.fails.next =
            self.failed.q.val() | (self.fetched.payload.val().last & self.fetched.payload.val().err);
        if self.is_pushed.val() {
            self.unit.next = self.pushed.payload.val();
            self.moves.next = self.is_open.val() & self.pushed.valid.val();
            self.fails.next = false;
        }
        self.write.next = self.moves.val();
        self.write_at.next = bit_cast::<HELD_LOG, PLACE_BITS>(self.place.q.val());
        self.is_last.next = (self.came.q.val() + 1) == self.expected.payload.val().units;
        self.arrives.next = self.is_last.val();
        if self.is_pushed.val() {
            self.arrives.next = !self.came.q.val().any();
        }
        self.arrived.valid.next = self.moves.val() & self.arrives.val();
        self.arrived.payload.next = self.fails.val();
        self.expected.ready.next = self.moves.val() & self.is_last.val();
        if self.moves.val() {
            self.place.d.next = self.place.q.val() + 1;
            self.came.d.next = self.came.q.val() + 1;
            self.failed.d.next = self.fails.val();
            if self.is_last.val() {
                self.came.d.next = 0.into();
                self.failed.d.next = false;
            }
        }
        if self.reset.val() {
            self.place.d.next = 0.into();
            self.came.d.next = 0.into();
            self.failed.d.next = false;
        }
    }
}
