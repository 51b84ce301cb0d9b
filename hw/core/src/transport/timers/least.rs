//! The next timer to end: how long nothing can happen.

use rust_hdl::prelude::*;

use crate::prim::own_clock::OwnClock;
use crate::prim::reg::Reg;

block! {
    /// A bound below all deadlines, as high as one look at each row allows.
    ///
    /// An alarm lowers the bound at once. A sweep over all `2^QPS` rows finds the least deadline among them, and with the
    /// alarms that came meanwhile it becomes the bound: so deadlines that do not count any more are forgotten.
    ///
    /// - **Ports** `passes`, `armed`, `deadline`: a row is seen, and its timer runs. `sets`, `set_deadline`: a timer is begun; its
    ///   row may have been read in this cycle without. `jumps`: the rows seen so far are no part of a sweep. `wake`: twice the
    ///   bound, or all ones.
    /// - **Latency** 1 cycle from `sets`, 2 from the last row of a sweep.
    /// - **Reset** no timer runs.
    pub struct Least<const QPS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub jumps: Signal<In, Bit>,
        pub passes: Signal<In, Bit>,
        pub armed: Signal<In, Bit>,
        pub deadline: Signal<In, Bits<63>>,
        pub sets: Signal<In, Bit>,
        pub set_deadline: Signal<In, Bits<63>>,
        pub wake: Signal<Out, Bits<64>>,
        has_row: Reg<Bit>,
        /// The deadline of the row seen last, or all ones.
        seen: Reg<Bits<63>>,
        rows: Reg<Bits<QPS>>,
        /// The least of this sweep.
        sweep: Reg<Bits<63>>,
        bound: Reg<Bits<63>>,
        begun: Signal<Local, Bits<63>>,
        lower: Signal<Local, Bits<63>>,
        lowest: Signal<Local, Bits<63>>,
        ends: Signal<Local, Bit>,
        last: Constant<Bits<QPS>> = Constant::new(Bits::mask()),
        never: Constant<Bits<63>> = Constant::new(Bits::mask()),
        never_at_all: Constant<Bits<64>> = Constant::new(Bits::mask()),
        own_clock: OwnClock,
    }
}

impl<const QPS: usize> Logic for Least<QPS> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, has_row, seen, rows, sweep, bound);
        self.has_row.d.next = self.passes.val() & !self.jumps.val();
        self.seen.d.next = self.never.val();
        if self.armed.val() {
            self.seen.d.next = self.deadline.val();
        }
        self.begun.next = self.never.val();
        if self.sets.val() {
            self.begun.next = self.set_deadline.val();
        }

        self.lower.next = self.sweep.q.val();
        if self.has_row.q.val() & (self.seen.q.val() < self.sweep.q.val()) {
            self.lower.next = self.seen.q.val();
        }
        self.ends.next = self.has_row.q.val() & (self.rows.q.val() == self.last.val()) & !self.jumps.val();
        if self.has_row.q.val() {
            self.rows.d.next = self.rows.q.val() + 1;
        }
        self.lowest.next = self.lower.val();
        if self.begun.val() < self.lower.val() {
            self.lowest.next = self.begun.val();
        }
        self.sweep.d.next = self.lowest.val();
        if self.begun.val() < self.bound.q.val() {
            self.bound.d.next = self.begun.val();
        }
        if self.ends.val() {
            self.bound.d.next = self.lowest.val();
        }
        // What was begun in this cycle may belong to a row that the next sweep has read without it.
        if self.ends.val() | self.jumps.val() {
            self.sweep.d.next = self.begun.val();
        }
        if self.jumps.val() {
            self.rows.d.next = 0.into();
        }

        self.wake.next = bit_cast::<64, 63>(self.bound.q.val()) << 1;
        if self.bound.q.val().get_bit(62) {
            self.wake.next = self.never_at_all.val();
        }
        if self.reset.val() {
            self.has_row.d.next = false;
            self.rows.d.next = 0.into();
            self.sweep.d.next = self.never.val();
            self.bound.d.next = self.never.val();
        }
    }
}
