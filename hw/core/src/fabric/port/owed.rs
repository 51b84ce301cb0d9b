//! Owed: how many reads and writes of each invocation have not come back.

use rust_hdl::prelude::*;

use crate::prim::reg::Reg;
use crate::slot::{OPEN, TICKET_BITS};

block! {
    /// Counts what is under way, by ticket.
    ///
    /// An answer waits for `is_quiet`, and much follows from it in the same cycle: whether a count is 0 is known before, in a register.
    ///
    /// - **Ports** `begun`, `begun_ticket`, `ended`, `ended_ticket`: of reads and of writes. `of`: the ticket of an invocation, one bit of all;
    ///   `is_quiet`: nothing of it is under way; `some`: something of any is. `clears`: nothing is any more.
    /// - **Latency** 1 cycle; 0 from `of`. **Rate** one of each per cycle. **Limits** 255 of a ticket.
    /// - **Reset** nothing is under way.
    pub struct Owed {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub clears: Signal<In, Bit>,
        pub begun: [Signal<In, Bit>; 2],
        pub begun_ticket: [Signal<In, Bits<TICKET_BITS>>; 2],
        pub ended: [Signal<In, Bit>; 2],
        pub ended_ticket: [Signal<In, Bits<TICKET_BITS>>; 2],
        pub of: Signal<In, Bits<OPEN>>,
        pub is_quiet: Signal<Out, Bit>,
        pub some: Signal<Out, Bit>,
        counts: [Reg<Bits<8>>; OPEN] = std::array::from_fn(|_| Reg::default()),
        /// Those whose count is not 0.
        owing: Reg<Bits<OPEN>>,
        count: Signal<Local, Bits<8>>,
        more: Signal<Local, Bits<2>>,
        less: Signal<Local, Bits<2>>,
        is_paid: Signal<Local, Bit>,
        left: Signal<Local, Bits<OPEN>>,
    }
}

impl Logic for Owed {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, owing);
        self.left.next = 0.into();
        for i in 0..OPEN {
            self.counts[i].clock.next = self.clock.val();
            self.count.next = self.counts[i].q.val();
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
            self.counts[i].d.next =
                self.count.val() + bit_cast::<8, 2>(self.more.val()) - bit_cast::<8, 2>(self.less.val());
            if self.reset.val() | self.clears.val() {
                self.counts[i].d.next = 0.into();
            }
            // No more than two come back in a cycle, so the count's low bits tell whether these were the last.
            self.is_paid.next = !(self.count.val() >> 2).any()
                & ((bit_cast::<3, 8>(self.count.val()) + bit_cast::<3, 2>(self.more.val()))
                    == bit_cast::<3, 2>(self.less.val()));
            self.left.next = self.left.val().replace_bit(i, !self.is_paid.val());
        }
        self.owing.d.next = self.left.val();
        if self.reset.val() | self.clears.val() {
            self.owing.d.next = 0.into();
        }
        self.some.next = self.owing.q.val().any();
        self.is_quiet.next = !(self.owing.q.val() & self.of.val()).any();
    }
}
