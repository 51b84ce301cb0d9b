//! Colours: when is the last chunk through that was translated before a certain moment?

use rust_hdl::prelude::*;

use crate::prim::reg::Reg;

block! {
    /// Counts chunks of two colours.
    ///
    /// - **Ports** `enters`: a chunk enters, in `colour`; `leaves`, `leaves_colour`: it is through. `drain`: the colour turns;
    ///   `drained`: all chunks of the colour before are through. `busy`: a drain is under way.
    /// - **Latency** the colour turns with the next cycle; `drained` comes 2 cycles after `drain` at the earliest, and 2
    ///   after the last chunk.
    /// - **Reset** forgets all chunks, and a drain under way is not answered.
    /// - **Limits** one drain at a time; at most 255 chunks of a colour.
    pub struct Colours {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub enters: Signal<In, Bit>,
        pub colour: Signal<Out, Bit>,
        pub leaves: Signal<In, Bit>,
        pub leaves_colour: Signal<In, Bit>,
        pub drain: Signal<In, Bit>,
        pub drained: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        shade: Reg<Bit>,
        draining: Reg<Bit>,
        finished: Reg<Bit>,
        inside: [Reg<Bits<8>>; 2],
        counts_up: [Signal<Local, Bit>; 2],
        counts_down: [Signal<Local, Bit>; 2],
        is_old_gone: Signal<Local, Bit>,
    }
}

impl Logic for Colours {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, shade, draining, finished);
        self.colour.next = self.shade.q.val();
        self.counts_up[0].next = self.enters.val() & !self.shade.q.val();
        self.counts_up[1].next = self.enters.val() & self.shade.q.val();
        self.counts_down[0].next = self.leaves.val() & !self.leaves_colour.val();
        self.counts_down[1].next = self.leaves.val() & self.leaves_colour.val();
        for i in 0..2 {
            self.inside[i].clock.next = self.clock.val();
            self.inside[i].d.next = self.inside[i].q.val();
            if self.counts_up[i].val() & !self.counts_down[i].val() {
                self.inside[i].d.next = self.inside[i].q.val() + 1;
            }
            if self.counts_down[i].val() & !self.counts_up[i].val() {
                self.inside[i].d.next = self.inside[i].q.val() - 1;
            }
            if self.reset.val() {
                self.inside[i].d.next = 0.into();
            }
        }
        self.is_old_gone.next = !self.inside[0].q.val().any();
        if !self.shade.q.val() {
            self.is_old_gone.next = !self.inside[1].q.val().any();
        }
        self.finished.d.next = self.draining.q.val() & self.is_old_gone.val();
        if self.draining.q.val() & self.is_old_gone.val() {
            self.draining.d.next = false;
        }
        if self.drain.val() {
            self.shade.d.next = !self.shade.q.val();
            self.draining.d.next = true;
        }
        self.drained.next = self.finished.q.val();
        self.busy.next = self.draining.q.val() | self.finished.q.val();
        if self.reset.val() {
            self.shade.d.next = false;
            self.draining.d.next = false;
            self.finished.d.next = false;
        }
    }
}
