//! Colours: when has everything gone that was inside at some moment, though more keeps coming?

#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;

use super::reg::Reg;

block! {
    /// Colours what enters, turns the colour on request, and tells when the last of the old colour has left.
    ///
    /// - **Ports** `colour`: who comes now takes this one along. `enters`, `enters_colour`: one enters, in the colour it
    ///   took; `leaves`, `leaves_colour`: one of that colour leaves, perhaps in the cycle in which it entered. `pending`:
    ///   one that took the colour before this one has not entered yet. `drain`: one cycle; `drained`: one cycle, all that
    ///   had taken their colour up to and with the cycle of `drain` have left. `busy`: something is inside.
    /// - **Latency** `drained` comes 1 cycle after the last has left, in the cycle in which the last is no longer
    ///   `pending`, and 1 cycle after `drain` if nothing was inside.
    ///   **Rate** one in, one out per cycle; a `drain` in the cycle of `drained` begins the next one.
    /// - **Reset** nothing is inside, no answer is due.
    /// - **Limits** at most `2^W - 1` of a colour inside: the owner sees to it, for the next one makes the count 0. A
    ///   `drain` while another waits for its answer is not seen: there are two colours only.
    pub struct Colours<const W: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub colour: Signal<Out, Bit>,
        pub enters: Signal<In, Bit>,
        pub enters_colour: Signal<In, Bit>,
        pub pending: Signal<In, Bit>,
        pub leaves: Signal<In, Bit>,
        pub leaves_colour: Signal<In, Bit>,
        pub drain: Signal<In, Bit>,
        pub drained: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        shade: Reg<Bit>,
        draining: Reg<Bit>,
        /// How many of either colour are inside.
        inside: [Reg<Bits<W>>; 2] = std::array::from_fn(|_| Reg::default()),
        counts_up: [Signal<Local, Bit>; 2],
        counts_down: [Signal<Local, Bit>; 2],
        are_old_inside: Signal<Local, Bit>,
        ends: Signal<Local, Bit>,
    }
}

impl<const W: usize> Logic for Colours<W> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, shade, draining);
        self.colour.next = self.shade.q.val();
        self.counts_up[0].next = self.enters.val() & !self.enters_colour.val();
        self.counts_up[1].next = self.enters.val() & self.enters_colour.val();
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
        self.busy.next = self.inside[0].q.val().any() | self.inside[1].q.val().any();

        self.are_old_inside.next = self.inside[0].q.val().any();
        if !self.shade.q.val() {
            self.are_old_inside.next = self.inside[1].q.val().any();
        }
        self.ends.next = self.draining.q.val() & !self.are_old_inside.val() & !self.pending.val();
        self.drained.next = self.ends.val();
        if self.ends.val() {
            self.draining.d.next = false;
        }
        // The colour that becomes new has nothing inside: either no drain is under way, or it has just ended.
        if self.drain.val() & (!self.draining.q.val() | self.ends.val()) {
            self.draining.d.next = true;
            self.shade.d.next = !self.shade.q.val();
        }
        if self.reset.val() {
            self.shade.d.next = false;
            self.draining.d.next = false;
        }
    }
}
