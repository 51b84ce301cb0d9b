//! Settle: has all that was accepted so far reached the host?

use rust_hdl::prelude::*;

use crate::prim::reg::Reg;

block! {
    /// Notes how many commands there are, and tells when that many are done.
    ///
    /// - **Ports** `issued`: commands accepted, with this cycle's; `done`: commands done; `begins`: one cycle, those
    ///   accepted now are awaited; `ends`: one cycle, they are done.
    /// - **Latency** 0 cycles from `done`, at least 1 from `begins`.
    /// - **Reset** nothing is awaited.
    /// - **Limits** `begins` while something is awaited, and not answered in this cycle, moves the mark: one answer for both.
    pub struct Settle {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub issued: Signal<In, Bits<16>>,
        pub done: Signal<In, Bits<16>>,
        pub begins: Signal<In, Bit>,
        pub ends: Signal<Out, Bit>,
        awaits: Reg<Bit>,
        mark: Reg<Bits<16>>,
        is_reached: Signal<Local, Bit>,
    }
}

impl Logic for Settle {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, awaits, mark);
        // Counts grow by one at most and are compared in every cycle: none is stepped over.
        self.is_reached.next = self.awaits.q.val() & (self.mark.q.val() == self.done.val());
        self.ends.next = self.is_reached.val();
        if self.is_reached.val() {
            self.awaits.d.next = false;
        }
        if self.begins.val() {
            self.awaits.d.next = true;
            self.mark.d.next = self.issued.val();
        }
        if self.reset.val() {
            self.awaits.d.next = false;
        }
    }
}
