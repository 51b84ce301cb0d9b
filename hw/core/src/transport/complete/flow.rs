//! Where the arrivals under way stand.

use rust_hdl::prelude::*;

use crate::prim::reg::Reg;

block! {
    /// Leads arrivals through their cycles, two at a time, in step with each other.
    ///
    /// ```text
    ///   cycle         0       1       2       3       4       5       6
    ///   first         begins  reads   loads   weighs  steps
    ///   second                        begins  reads   loads   weighs  steps
    /// ```
    ///
    /// So one loads while the one before it steps, and one reads while the one before it weighs. A step without room waits, and one
    /// that is followed by another step of the same arrival weighs again; in both cases the arrival behind it waits with it,
    /// in the second it reads again, because its message has made way for that of the next step.
    ///
    /// - **Ports** `arrives`: one may begin; `has_room`: for all that a step gives; `continues`: the step is followed by another.
    ///   `passes`: one begins if it may, and the one that loads has what is worked on from the next cycle on. `reads`, `weighs`,
    ///   `steps`: somebody does so, and has room; `walks`: it steps, and `continues`; `waits`: it has no room. `busy`: something is
    ///   under way.
    /// - **Latency** 4 cycles from `passes` to `steps`. **Rate** one every 2 cycles. All outputs hang on registers, `has_room` and
    ///   `continues`.
    /// - **Reset** nothing is under way.
    pub struct Flow {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub arrives: Signal<In, Bit>,
        pub has_room: Signal<In, Bit>,
        pub continues: Signal<In, Bit>,
        pub passes: Signal<Out, Bit>,
        pub reads: Signal<Out, Bit>,
        pub weighs: Signal<Out, Bit>,
        pub steps: Signal<Out, Bit>,
        pub walks: Signal<Out, Bit>,
        pub waits: Signal<Out, Bit>,
        pub is_stepping: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        is_reading: Reg<Bit>,
        is_loading: Reg<Bit>,
        is_weighing: Reg<Bit>,
        at_step: Reg<Bit>,
        moves_on: Signal<Local, Bit>,
        goes_again: Signal<Local, Bit>,
    }
}

impl Logic for Flow {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, is_reading, is_loading, is_weighing, at_step);
        // Nobody reads or weighs: it is the turn of those that begin, load and step.
        self.moves_on.next = !self.is_reading.q.val()
            & !self.is_weighing.q.val()
            & !(self.at_step.q.val() & (!self.has_room.val() | self.continues.val()));
        self.goes_again.next = self.at_step.q.val() & self.has_room.val() & self.continues.val();
        if self.moves_on.val() {
            self.is_reading.d.next = self.arrives.val();
            self.is_weighing.d.next = self.is_loading.q.val();
            self.is_loading.d.next = false;
            self.at_step.d.next = false;
        }
        if self.goes_again.val() {
            self.is_reading.d.next = self.is_loading.q.val();
            self.is_weighing.d.next = true;
            self.is_loading.d.next = false;
            self.at_step.d.next = false;
        }
        if self.is_reading.q.val() | self.is_weighing.q.val() {
            self.is_reading.d.next = false;
            self.is_weighing.d.next = false;
            self.is_loading.d.next = self.is_reading.q.val();
            self.at_step.d.next = self.is_weighing.q.val();
        }
        self.passes.next = self.moves_on.val();
        self.reads.next = self.is_reading.q.val();
        self.weighs.next = self.is_weighing.q.val();
        self.is_stepping.next = self.at_step.q.val();
        self.steps.next = self.at_step.q.val() & self.has_room.val();
        self.walks.next = self.goes_again.val();
        self.waits.next = self.at_step.q.val() & !self.has_room.val();
        self.busy.next = self.is_reading.q.val()
            | self.is_loading.q.val()
            | self.is_weighing.q.val()
            | self.at_step.q.val();
        if self.reset.val() {
            self.is_reading.d.next = false;
            self.is_loading.d.next = false;
            self.is_weighing.d.next = false;
            self.at_step.d.next = false;
        }
    }
}
