//! When has everything ended that was begun before now?

use rust_hdl::prelude::*;

use crate::prim::reg::Reg;

block! {
    /// Counts jobs by colour, and turns the colour to wait for the old ones.
    ///
    /// Whoever has changed a queue pair's row asks for `drain`: a job under the old row has the old colour, because an
    /// operation takes its colour in the cycle in which it reads the row.
    ///
    /// - **Ports** `begins`: an operation reads its rows; `works`: it is under way from the next cycle on, in `colour`;
    ///   `starts`: it starts a job. `retired`, `retired_colour`: a job has ended. `drain`: high for a cycle; `drained`:
    ///   high for a cycle when neither operation nor job of the old colour is left. `busy`: jobs have not ended.
    /// - **Latency** `drained` 1 cycle after `drain` or after the last of the old colour, at the soonest.
    /// - **Reset** forgets all jobs; none of them may be retired any more.
    /// - **Limits** at most 4095 jobs of a colour not retired: far more than fit between here and there. One `drain` at a time.
    pub struct Colours {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub begins: Signal<In, Bit>,
        pub works: Signal<In, Bit>,
        pub starts: Signal<In, Bit>,
        pub colour: Signal<Out, Bit>,
        pub retired: Signal<In, Bit>,
        pub retired_colour: Signal<In, Bit>,
        pub drain: Signal<In, Bit>,
        pub drained: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        shade: Reg<Bit>,
        work_colour: Reg<Bit>,
        is_draining: Reg<Bit>,
        unretired: [Reg<Bits<12>>; 2],
        counts_up: [Signal<Local, Bit>; 2],
        counts_down: [Signal<Local, Bit>; 2],
        is_old_gone: Signal<Local, Bit>,
    }
}

impl Logic for Colours {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, shade, work_colour, is_draining);
        if self.begins.val() {
            self.work_colour.d.next = self.shade.q.val();
        }
        self.colour.next = self.work_colour.q.val();
        self.counts_up[0].next = self.starts.val() & !self.work_colour.q.val();
        self.counts_up[1].next = self.starts.val() & self.work_colour.q.val();
        self.counts_down[0].next = self.retired.val() & !self.retired_colour.val();
        self.counts_down[1].next = self.retired.val() & self.retired_colour.val();
        for i in 0..2 {
            self.unretired[i].clock.next = self.clock.val();
            self.unretired[i].d.next = self.unretired[i].q.val();
            if self.counts_up[i].val() & !self.counts_down[i].val() {
                self.unretired[i].d.next = self.unretired[i].q.val() + 1;
            }
            if self.counts_down[i].val() & !self.counts_up[i].val() {
                self.unretired[i].d.next = self.unretired[i].q.val() - 1;
            }
            if self.reset.val() {
                self.unretired[i].d.next = 0.into();
            }
        }
        self.busy.next = self.unretired[0].q.val().any() | self.unretired[1].q.val().any();

        self.is_old_gone.next = !self.unretired[0].q.val().any();
        if !self.shade.q.val() {
            self.is_old_gone.next = !self.unretired[1].q.val().any();
        }
        if self.works.val() & (self.work_colour.q.val() != self.shade.q.val()) {
            self.is_old_gone.next = false;
        }
        self.drained.next = self.is_draining.q.val() & self.is_old_gone.val();
        if self.is_draining.q.val() & self.is_old_gone.val() {
            self.is_draining.d.next = false;
        }
        if self.drain.val() {
            self.shade.d.next = !self.shade.q.val();
            self.is_draining.d.next = true;
        }
        if self.reset.val() {
            self.shade.d.next = false;
            self.is_draining.d.next = false;
        }
    }
}
