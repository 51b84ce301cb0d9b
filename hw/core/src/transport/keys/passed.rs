//! Passed: when has all that was inside at some moment left?

use rust_hdl::prelude::*;

use crate::prim::reg::Reg;

block! {
    /// Waits until what was inside has left, though more keeps coming.
    ///
    /// Who came first leaves first, so nobody has to be told apart: as many have to leave as were inside.
    ///
    /// - **Ports** `enters`, `leaves`: one does, perhaps in the cycle in which it entered; `begins`: one cycle, all that have entered up to and with it are awaited;
    ///   `ended`: one cycle, they have left.
    /// - **Latency** `ended` comes 1 cycle after the last has left, and after `begins` if nothing was inside.
    ///   **Rate** one in, one out per cycle.
    /// - **Reset** nothing is inside, nothing is awaited.
    /// - **Limits** fewer than `2^16` are inside; they leave in the order in which they entered. `begins` while something is
    ///   awaited begins anew, and one answer comes for both.
    pub struct Passed {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub enters: Signal<In, Bit>,
        pub leaves: Signal<In, Bit>,
        pub begins: Signal<In, Bit>,
        pub ended: Signal<Out, Bit>,
        inside: Reg<Bits<16>>,
        awaited: Reg<Bits<16>>,
        is_waiting: Reg<Bit>,
        after: Signal<Local, Bits<16>>,
    }
}

impl Logic for Passed {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, inside, awaited, is_waiting);
        self.after.next = self.inside.q.val();
        if self.enters.val() & !self.leaves.val() {
            self.after.next = self.inside.q.val() + 1;
        }
        if self.leaves.val() & !self.enters.val() {
            self.after.next = self.inside.q.val() - 1;
        }
        self.inside.d.next = self.after.val();
        if self.leaves.val() & self.awaited.q.val().any() {
            self.awaited.d.next = self.awaited.q.val() - 1;
        }
        self.ended.next = self.is_waiting.q.val() & !self.awaited.q.val().any();
        if !self.awaited.q.val().any() {
            self.is_waiting.d.next = false;
        }
        if self.begins.val() {
            self.awaited.d.next = self.after.val();
            self.is_waiting.d.next = true;
        }
        if self.reset.val() {
            self.inside.d.next = 0.into();
            self.awaited.d.next = 0.into();
            self.is_waiting.d.next = false;
        }
    }
}
