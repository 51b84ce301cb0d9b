//! Onward: the next work of a queue pair need not wait for the row that the one before it writes.

use rust_hdl::prelude::*;

use super::judge::Verdict;
use super::rows::CursorRow;
use crate::constant::number;
use crate::transport::records::{AckedRow, OUTSTANDING_LOG};

block! {
    /// Where the next work of the same queue pair goes on, told while the one before it acts. Logic only.
    ///
    /// That is simple where all that was sent is new: the cursor stands behind the last message and has nothing to catch up
    /// with. Every other case waits for the row; and so does one in which as many may be unanswered as may be, because a
    /// work can be kept only with its row.
    ///
    /// - **Ports** `row`, `verdict`, `after`: of the work that acts, as in [`Advance`](super::advance::Advance); `before`: messages unanswered
    ///   when it was looked at; `acked`: of its queue pair. `can`: the next may go on so; `alone`: no other work may be looked at meanwhile, because it could find out about room or
    ///   about an index what is true no more; `caught`, `looks`, `pending`, `reads`: as [`CatchUp`](super::catch_up::CatchUp) gives them.
    /// - **Latency** 0 cycles. **Reset** none.
    /// - **Limits** `can` counts if not `alone`.
    pub struct Onward {
        pub row: Signal<In, CursorRow>,
        pub verdict: Signal<In, Verdict>,
        pub after: Signal<In, CursorRow>,
        pub before: Signal<In, Bits<6>>,
        pub acked: Signal<In, AckedRow>,
        pub can: Signal<Out, Bit>,
        pub alone: Signal<Out, Bit>,
        pub caught: Signal<Out, CursorRow>,
        pub looks: Signal<Out, Bits<6>>,
        pub pending: Signal<Out, Bits<6>>,
        pub reads: Signal<Out, Bits<5>>,
        is_nearly_full: Signal<Local, Bit>,
        is_new: Signal<Local, Bit>,
        is_newest: Signal<Local, Bit>,
        is_oldest: Signal<Local, Bit>,
        sends: Signal<Local, Bit>,
        stays: Signal<Local, Bit>,
        nearly: Constant<Bits<6>> = number((1_u64 << OUTSTANDING_LOG) - 1),
    }
}

impl Logic for Onward {
    #[hdl_gen]
    fn update(&mut self) {
        self.alone.next = self.verdict.val().local | self.verdict.val().key;
        self.is_new.next = self.row.val().slot == self.row.val().head;
        self.is_newest.next = (self.row.val().slot + 1) == self.row.val().head;
        // The oldest message is the one to be looked at, and this one is being stored.
        self.is_oldest.next = self.row.val().slot == self.acked.val().tail;
        self.sends.next = self.verdict.val().message
            & self.verdict.val().finishes
            & (self.is_newest.val() | (self.is_new.val() & !self.is_oldest.val()));
        self.stays.next = !self.verdict.val().message
            & !self.verdict.val().fails
            & self.is_new.val()
            & self.row.val().started;
        self.is_nearly_full.next = self.before.val() >= self.nearly.val();
        self.can.next = (self.sends.val() | self.stays.val()) & !self.is_nearly_full.val();
        self.caught.next = self.after.val();
        self.caught.next.halted = self.after.val().halted | self.acked.val().failed;
        self.looks.next = self.acked.val().tail;
        self.pending.next = self.after.val().head - self.acked.val().tail;
        self.reads.next = self.after.val().reads - self.acked.val().reads;
    }
}
