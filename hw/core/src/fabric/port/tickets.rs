//! Tickets: the invocations that are open, those that wait, and who asked for them.

use rust_hdl::prelude::*;

use super::records::Caller;
use super::room::HEADERS;
use crate::constant::number;
use crate::host::work::QpChange;
use crate::prim::ram::LutRam;
use crate::prim::reg::Reg;
use crate::slot::{OPEN, TICKET_BITS};

block! {
    /// Gives tickets in turn, and knows of each invocation whether its caller is still there.
    ///
    /// Answers come in the order of commands, so what is open is a run of tickets: from the oldest to the youngest. Headers that wait
    /// have a place of their own in a ring, for their callers may go, too.
    ///
    /// - **Ports** `arrives`, `arrives_qpn`: a header waits from now on. `drops`: the one that has waited longest goes; `opens`: likewise,
    ///   and becomes an invocation of `caller` under the ticket `upcoming`. `commands`: the youngest has had its command. `closes`: the oldest is
    ///   over. `has_room`: a ticket is free; `some`: an invocation is open; `oldest`: its ticket, `oldest_bit`: the same, one bit of all, `oldest_caller`, `is_orphan`: whose it is;
    ///   `is_commanded`: it has had its command; `is_youngest`: it is the only one. `read_ticket`, `write_ticket`: any ticket,
    ///   `read_caller`, `write_caller`: whose it is; `read_refused`, `write_refused`: it has no command, or its caller is gone, or may not.
    ///   `change_valid`, `change`: of queue pairs; with `stops` or `resets` their invocations become orphans, those that wait, too.
    /// - **Latency** 1 cycle; 0 from a ticket to its caller. **Rate** one of each per cycle.
    /// - **Backpressure** none: `opens` needs `has_room`, and no more than 16 headers wait.
    /// - **Reset** nothing is open, nothing waits; tickets begin with 0.
    pub struct Tickets {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub arrives: Signal<In, Bit>,
        pub arrives_qpn: Signal<In, Bits<24>>,
        pub drops: Signal<In, Bit>,
        pub opens: Signal<In, Bit>,
        pub caller: Signal<In, Caller>,
        pub upcoming: Signal<Out, Bits<TICKET_BITS>>,
        pub commands: Signal<In, Bit>,
        pub closes: Signal<In, Bit>,
        pub has_room: Signal<Out, Bit>,
        pub some: Signal<Out, Bit>,
        pub oldest: Signal<Out, Bits<TICKET_BITS>>,
        pub oldest_bit: Signal<Out, Bits<OPEN>>,
        pub oldest_caller: Signal<Out, Caller>,
        pub is_orphan: Signal<Out, Bit>,
        pub is_commanded: Signal<Out, Bit>,
        pub is_youngest: Signal<Out, Bit>,
        pub read_ticket: Signal<In, Bits<TICKET_BITS>>,
        pub read_caller: Signal<Out, Caller>,
        pub read_refused: Signal<Out, Bit>,
        pub write_ticket: Signal<In, Bits<TICKET_BITS>>,
        pub write_caller: Signal<Out, Caller>,
        pub write_refused: Signal<Out, Bit>,
        pub change_valid: Signal<In, Bit>,
        pub change: Signal<In, QpChange>,
        /// For answers, reads and writes.
        callers: [LutRam<Caller, TICKET_BITS>; 3] = std::array::from_fn(|_| LutRam::default()),
        first: Reg<Bits<TICKET_BITS>>,
        /// `first` as one bit of all: what is asked of it is known sooner.
        first_bit: Reg<Bits<OPEN>>,
        behind: Reg<Bits<TICKET_BITS>>,
        youngest: Reg<Bits<TICKET_BITS>>,
        count: Reg<Bits<5>>,
        qpns: [Reg<Bits<24>>; OPEN] = std::array::from_fn(|_| Reg::default()),
        orphans: Reg<Bits<OPEN>>,
        /// Those that have had their command.
        commanded: Reg<Bits<OPEN>>,
        waiters: [Reg<Bits<24>>; HEADERS] = std::array::from_fn(|_| Reg::default()),
        waiting_orphans: Reg<Bits<HEADERS>>,
        waiter_in: Reg<Bits<4>>,
        waiter_out: Reg<Bits<4>>,
        ends: Signal<Local, Bit>,
        bereft: Signal<Local, Bits<OPEN>>,
        bereft_waiters: Signal<Local, Bits<HEADERS>>,
        told: Signal<Local, Bits<OPEN>>,
        left: Signal<Local, Bits<5>>,
        all: Constant<Bits<5>> = number(OPEN),
        one: Constant<Bits<OPEN>> = number(1),
        top: Constant<Bits<TICKET_BITS>> = number(OPEN - 1),
    }
}

impl Logic for Tickets {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, first, first_bit, behind, youngest, count, orphans, commanded);
        dff_setup!(self, clock, waiting_orphans, waiter_in, waiter_out);
        self.upcoming.next = self.behind.q.val();
        self.oldest.next = self.first.q.val();
        self.oldest_bit.next = self.first_bit.q.val();
        self.some.next = self.count.q.val().any();
        self.has_room.next = self.count.q.val() != self.all.val();
        self.is_youngest.next = self.count.q.val() == 1;
        self.is_commanded.next = (self.commanded.q.val() & self.first_bit.q.val()).any();
        self.is_orphan.next = (self.orphans.q.val() & self.first_bit.q.val()).any();
        for i in 0..3 {
            self.callers[i].clock.next = self.clock.val();
            self.callers[i].write_enable.next = self.opens.val();
            self.callers[i].write_address.next = self.behind.q.val();
            self.callers[i].write_data.next = self.caller.val();
        }
        self.callers[0].read_address.next = self.first.q.val();
        self.oldest_caller.next = self.callers[0].read_data.val();
        self.callers[1].read_address.next = self.read_ticket.val();
        self.read_caller.next = self.callers[1].read_data.val();
        self.read_refused.next = !self.callers[1].read_data.val().may_read
            | !self.commanded.q.val().get_bit(self.read_ticket.val().index())
            | self.orphans.q.val().get_bit(self.read_ticket.val().index());
        self.callers[2].read_address.next = self.write_ticket.val();
        self.write_caller.next = self.callers[2].read_data.val();
        self.write_refused.next = !self.callers[2].read_data.val().may_write
            | !self.commanded.q.val().get_bit(self.write_ticket.val().index())
            | self.orphans.q.val().get_bit(self.write_ticket.val().index());

        self.ends.next = self.change_valid.val() & (self.change.val().stops | self.change.val().resets);
        self.bereft_waiters.next = self.waiting_orphans.q.val();
        for i in 0..HEADERS {
            self.waiters[i].clock.next = self.clock.val();
            self.waiters[i].d.next = self.waiters[i].q.val();
            if self.arrives.val() & (self.waiter_in.q.val().index() == i) {
                self.waiters[i].d.next = self.arrives_qpn.val();
                self.bereft_waiters.next = self
                    .bereft_waiters
                    .val()
                    .replace_bit(i, self.ends.val() & (self.arrives_qpn.val() == self.change.val().qpn));
            } else if self.ends.val() & (self.waiters[i].q.val() == self.change.val().qpn) {
                self.bereft_waiters.next = self.bereft_waiters.val().replace_bit(i, true);
            }
        }
        self.waiting_orphans.d.next = self.bereft_waiters.val();
        self.waiter_in.d.next = self.waiter_in.q.val() + self.arrives.val();
        self.waiter_out.d.next = self.waiter_out.q.val() + (self.opens.val() | self.drops.val());

        self.bereft.next = self.orphans.q.val();
        for i in 0..OPEN {
            self.qpns[i].clock.next = self.clock.val();
            self.qpns[i].d.next = self.qpns[i].q.val();
            if self.opens.val() & (self.behind.q.val().index() == i) {
                self.qpns[i].d.next = self.caller.val().qpn;
                self.bereft.next = self
                    .bereft
                    .val()
                    .replace_bit(i, self.bereft_waiters.val().get_bit(self.waiter_out.q.val().index()));
            } else if self.ends.val() & (self.qpns[i].q.val() == self.change.val().qpn) {
                self.bereft.next = self.bereft.val().replace_bit(i, true);
            }
        }
        self.orphans.d.next = self.bereft.val();

        self.told.next = self.commanded.q.val();
        if self.commands.val() {
            self.told.next = self.commanded.q.val() | (self.one.val() << self.youngest.q.val());
        }
        self.commanded.d.next = self.told.val();
        self.left.next = self.count.q.val() + self.opens.val();
        self.count.d.next = self.left.val();
        if self.closes.val() {
            self.commanded.d.next = self.told.val() & !self.first_bit.q.val();
            self.count.d.next = self.left.val() - 1;
            self.first.d.next = self.first.q.val() + 1;
            self.first_bit.d.next =
                (self.first_bit.q.val() << 1) | (self.first_bit.q.val() >> self.top.val());
        }
        if self.opens.val() {
            self.youngest.d.next = self.behind.q.val();
            self.behind.d.next = self.behind.q.val() + 1;
        }
        if self.reset.val() {
            self.first.d.next = 0.into();
            self.first_bit.d.next = self.one.val();
            self.behind.d.next = 0.into();
            self.count.d.next = 0.into();
            self.commanded.d.next = 0.into();
            self.waiter_in.d.next = 0.into();
            self.waiter_out.d.next = 0.into();
        }
    }
}
