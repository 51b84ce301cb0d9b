//! Owed: how many reads and writes of each invocation have not come back.

use rust_hdl::prelude::*;

use crate::prim::reg::Reg;
use crate::slot::{OPEN, TICKET_BITS};

block! {
    /// Counts what is under way, by ticket.
    ///
    /// - **Ports** `begun`, `begun_ticket`, `ended`, `ended_ticket`: of reads and of writes. `ticket`: an invocation; `is_quiet`: nothing of it
    ///   is under way; `some`: something of any is. `clears`: nothing is any more.
    /// - **Latency** 1 cycle; 0 from `ticket`. **Rate** one of each per cycle. **Limits** 255 of a ticket.
    /// - **Reset** nothing is under way.
    pub struct Owed {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub clears: Signal<In, Bit>,
        pub begun: [Signal<In, Bit>; 2],
        pub begun_ticket: [Signal<In, Bits<TICKET_BITS>>; 2],
        pub ended: [Signal<In, Bit>; 2],
        pub ended_ticket: [Signal<In, Bits<TICKET_BITS>>; 2],
        pub ticket: Signal<In, Bits<TICKET_BITS>>,
        pub is_quiet: Signal<Out, Bit>,
        pub some: Signal<Out, Bit>,
        counts: [Reg<Bits<8>>; OPEN] = std::array::from_fn(|_| Reg::default()),
        more: Signal<Local, Bits<2>>,
        less: Signal<Local, Bits<2>>,
        owing: Signal<Local, Bits<OPEN>>,
    }
}

impl Logic for Owed {
    #[hdl_gen]
    fn update(&mut self) {
        self.owing.next = 0.into();
        for i in 0..OPEN {
            self.counts[i].clock.next = self.clock.val();
            self.more.next = 0.into();
            self.less.next = 0.into();
            if self.begun[0].val() & (self.begun_ticket[0].val().index() == i) {
                self.more.next = 1.into();
            }
            if self.begun[1].val() & (self.begun_ticket[1].val().index() == i) {
                self.more.next = self.more.val() + 1;
            }
            if self.ended[0].val() & (self.ended_ticket[0].val().index() == i) {
                self.less.next = 1.into();
            }
            if self.ended[1].val() & (self.ended_ticket[1].val().index() == i) {
                self.less.next = self.less.val() + 1;
            }
            self.counts[i].d.next = self.counts[i].q.val() + bit_cast::<8, 2>(self.more.val())
                - bit_cast::<8, 2>(self.less.val());
            if self.reset.val() | self.clears.val() {
                self.counts[i].d.next = 0.into();
            }
            self.owing.next = self.owing.val().replace_bit(i, self.counts[i].q.val().any());
        }
        self.some.next = self.owing.val().any();
        self.is_quiet.next = !self.owing.val().get_bit(self.ticket.val().index());
    }
}
