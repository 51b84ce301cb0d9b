//! Tickets: has the mover ended what it was given?

use rust_hdl::prelude::*;

use crate::prim::reg::Reg;

block! {
    /// Counts the works that go to the mover, and tells whether one of them has ended.
    ///
    /// - **Ports** `ended`: works that have ended since reset; `asks`, `asked`: a work's ticket, or 0; `has_ended`: that work has,
    ///   from the next cycle on and held; `issues`: a work goes; `ticket`: its number, from 1.
    /// - **Latency** 1 cycle; `ended` counts a cycle later. **Rate** one question and one work per cycle.
    /// - **Reset** counts from 0.
    pub struct Tickets {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub ended: Signal<In, Bits<48>>,
        pub asks: Signal<In, Bit>,
        pub asked: Signal<In, Bits<48>>,
        pub has_ended: Signal<Out, Bit>,
        pub issues: Signal<In, Bit>,
        pub ticket: Signal<Out, Bits<48>>,
        ended_count: Reg<Bits<48>>,
        issued: Reg<Bits<48>>,
        is_over: Reg<Bit>,
        since: Signal<Local, Bits<48>>,
    }
}

impl Logic for Tickets {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, ended_count, issued, is_over);
        self.ended_count.d.next = self.ended.val();
        self.since.next = self.ended_count.q.val() - self.asked.val();
        if self.asks.val() {
            self.is_over.d.next = !self.since.val().get_bit(47);
        }
        self.has_ended.next = self.is_over.q.val();
        self.ticket.next = self.issued.q.val() + 1;
        self.issued.d.next = self.issued.q.val() + self.issues.val();
        if self.reset.val() {
            self.issued.d.next = 0.into();
        }
    }
}
