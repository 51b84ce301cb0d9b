//! Who has left: write responses by the block's reports.

use rust_hdl::prelude::*;
use stroma_hw::constant::number;
use stroma_hw::host::axi::WriteResponse;
use stroma_hw::prim::fifo::Fifo;
use stroma_hw::prim::reg::Reg;
use stroma_hw::stream::StreamSource;
use stroma_hw::{block, record};

use crate::pcie::requester::fields::WRITE_SEQUENCES;

/// log2 of the transactions, and of bursts without any, that are not answered.
const OPEN_LOG: usize = 6;
/// Those that the level of `order` does not show when `room` is decided: one on its way, one of that cycle, one of the next.
const UNSEEN: usize = 3;

record! {
    /// A report of the block: this transaction has reached a point where nothing sent later can overtake it.
    pub struct Report {
        /// Its sequence number.
        pub sequence: Bits<6>,
        /// There is a report.
        pub valid: Bit,
    }
}

record! {
    /// A transaction under way.
    pub struct Open {
        /// Last of its burst.
        pub ends: Bit,
        /// A burst that sent nothing.
        pub is_empty: Bit,
    }
}

block! {
    /// Numbers transactions, and answers each burst when its last one was reported.
    ///
    /// - **Ports** `starts`, `ends`, `is_empty`: a transaction begins in this cycle, the last of its burst or not, or a burst passes
    ///   that has none; `room`: it may; `sequence`: the number it has. `reports`: of the block, two a cycle, in any order; those of
    ///   numbers that are not under way are not looked at. `b`: a good response for each burst, in order.
    /// - **Latency** 2 cycles from a report to `b`. **Rate** 1 transaction per cycle.
    /// - **Backpressure** `room` falls with 61 transactions not reported, and lets one more begin at once; or when no more than two find a place among the 64 that are not answered;
    ///   responses that nobody takes wait, 63 of them. No combinational path from port to port.
    /// - **Reset** forgets everything, and begins with number 0.
    /// - **Limits** a report that never comes holds up the bursts from there on: the block reports each transaction once.
    pub struct Answers {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub starts: Signal<In, Bit>,
        pub ends: Signal<In, Bit>,
        pub is_empty: Signal<In, Bit>,
        pub room: Signal<Out, Bit>,
        pub sequence: Signal<Out, Bits<6>>,
        pub reports: [Signal<In, Report>; 2],
        pub b: StreamSource<WriteResponse>,
        /// The next number, and that of the oldest transaction.
        fresh: Reg<Bits<6>>,
        oldest: Reg<Bits<6>>,
        numbered: Reg<Bits<6>>,
        has_room: Reg<Bit>,
        /// Numbers that are not reported.
        pending: Reg<Bits<64>>,
        /// What began in the cycle before, on its way into `order`: which transaction begins is known late.
        entering: Reg<Open>,
        enters: Reg<Bit>,
        order: Fifo<Open, OPEN_LOG>,
        owed: Reg<Bits<6>>,
        report: Signal<Local, Report>,
        still_pending: Signal<Local, Bits<64>>,
        begins: Signal<Local, Bit>,
        head: Signal<Local, Open>,
        retires: Signal<Local, Bit>,
        returns: Signal<Local, Bit>,
        owes: Signal<Local, Bit>,
        pays: Signal<Local, Bit>,
        last_number: Constant<Bits<6>> = number(WRITE_SEQUENCES - 1),
        most: Constant<Bits<6>> = number(WRITE_SEQUENCES - 2),
        most_open: Constant<Bits<16>> = number((1 << OPEN_LOG) - UNSEEN),
    }
}

impl Logic for Answers {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, order);
        dff_setup!(self, clock, fresh, oldest, numbered, has_room, pending, entering, enters, owed);
        self.order.reset.next = self.reset.val();
        self.room.next = self.has_room.q.val();
        self.sequence.next = self.fresh.q.val();

        self.enters.d.next = self.starts.val();
        self.entering.d.next.ends = self.ends.val();
        self.entering.d.next.is_empty = self.is_empty.val();
        self.order.sink.valid.next = self.enters.q.val();
        self.order.sink.payload.next = self.entering.q.val();
        self.begins.next = self.starts.val() & !self.is_empty.val();
        self.still_pending.next = self.pending.q.val();
        for i in 0..2 {
            self.report.next = self.reports[i].val();
            if self.report.val().valid {
                self.still_pending.next =
                    self.still_pending.val().replace_bit(self.report.val().sequence.index(), false);
            }
        }
        self.pending.d.next = self.still_pending.val();
        if self.begins.val() {
            self.pending.d.next = self.still_pending.val().replace_bit(self.fresh.q.val().index(), true);
            self.fresh.d.next = self.fresh.q.val() + 1;
            if self.fresh.q.val() == self.last_number.val() {
                self.fresh.d.next = 0.into();
            }
        }

        self.head.next = self.order.source.payload.val();
        self.retires.next = self.order.source.valid.val()
            & (self.head.val().is_empty | !self.pending.q.val().get_bit(self.oldest.q.val().index()))
            & (!self.head.val().ends | !self.owed.q.val().all());
        self.order.source.ready.next = self.retires.val();
        self.returns.next = self.retires.val() & !self.head.val().is_empty;
        if self.returns.val() {
            self.oldest.d.next = self.oldest.q.val() + 1;
            if self.oldest.q.val() == self.last_number.val() {
                self.oldest.d.next = 0.into();
            }
        }
        if self.begins.val() & !self.returns.val() {
            self.numbered.d.next = self.numbered.q.val() + 1;
        }
        if !self.begins.val() & self.returns.val() {
            self.numbered.d.next = self.numbered.q.val() - 1;
        }
        // One may begin before this is seen.
        self.has_room.d.next =
            (self.numbered.q.val() < self.most.val()) & (self.order.level.val() <= self.most_open.val());

        self.b.valid.next = self.owed.q.val().any();
        self.b.payload.next.resp = 0.into();
        self.owes.next = self.retires.val() & self.head.val().ends;
        self.pays.next = self.owed.q.val().any() & self.b.ready.val();
        if self.owes.val() & !self.pays.val() {
            self.owed.d.next = self.owed.q.val() + 1;
        }
        if !self.owes.val() & self.pays.val() {
            self.owed.d.next = self.owed.q.val() - 1;
        }
        if self.reset.val() {
            self.fresh.d.next = 0.into();
            self.oldest.d.next = 0.into();
            self.numbered.d.next = 0.into();
            self.has_room.d.next = false;
            self.pending.d.next = 0.into();
            self.enters.d.next = false;
            self.owed.d.next = 0.into();
        }
    }
}
