//! Catching up: what was acknowledged need not be sent again.

use rust_hdl::prelude::*;

use super::rows::CursorRow;
use crate::host::work::Work;
use crate::transport::records::AckedRow;

block! {
    /// Moves the cursor over messages that are over. Logic only.
    ///
    /// A rewound cursor may be overtaken by answers. It then goes on with the first message that is not over, or behind
    /// all of them. Both distances are taken from `head`, because a distance of 32 between cursor and tail could be either
    /// way round. A queue pair whose last message failed is halted.
    ///
    /// - **Ports** `row`, `acked`: of the work's queue pair; `work`: the work; `follows`: its index is where the cursor goes
    ///   on, because the work before it was local and does not say how long it was. `caught`: the row afterwards;
    ///   `resumes`: its index and PSN are those of the message that `looks` names; `looks`: the message under the cursor, or
    ///   the oldest if the cursor is at the head; `pending`: messages that are not over; `reads`: READs and atomics among
    ///   them.
    /// - **Latency** 0 cycles. **Reset** none.
    pub struct CatchUp {
        pub row: Signal<In, CursorRow>,
        pub acked: Signal<In, AckedRow>,
        pub work: Signal<In, Work>,
        pub follows: Signal<In, Bit>,
        pub caught: Signal<Out, CursorRow>,
        pub resumes: Signal<Out, Bit>,
        pub looks: Signal<Out, Bits<6>>,
        pub pending: Signal<Out, Bits<6>>,
        pub reads: Signal<Out, Bits<5>>,
        base: Signal<Local, CursorRow>,
        moved: Signal<Local, CursorRow>,
        open: Signal<Local, Bits<6>>,
        back: Signal<Local, Bits<6>>,
        is_behind: Signal<Local, Bit>,
    }
}

impl Logic for CatchUp {
    #[hdl_gen]
    fn update(&mut self) {
        self.base.next = self.row.val();
        if !self.row.val().started {
            self.base.next.psn = self.work.val().send_psn;
            self.base.next.frontier = self.work.val().send_psn;
        }
        // The stop may come later than what is fetched then.
        if self.acked.val().failed {
            self.base.next.halted = true;
        }
        self.open.next = self.row.val().head - self.acked.val().tail;
        self.back.next = self.row.val().head - self.row.val().slot;
        self.is_behind.next = self.back.val() > self.open.val();
        self.pending.next = self.open.val();
        self.reads.next = self.row.val().reads - self.acked.val().reads;

        self.moved.next = self.base.val();
        self.resumes.next = false;
        if self.follows.val() | (self.is_behind.val() & !self.open.val().any()) {
            self.moved.next.index = self.base.val().head_index;
            self.moved.next.psn = self.base.val().frontier;
            self.moved.next.sent = 0.into();
            self.moved.next.slot = self.base.val().head;
        } else if self.is_behind.val() {
            self.moved.next.sent = 0.into();
            self.moved.next.slot = self.acked.val().tail;
            self.resumes.next = true;
        }
        if self.follows.val() {
            self.moved.next.index = self.work.val().index;
            self.moved.next.head_index = self.work.val().index;
        }
        self.caught.next = self.moved.val();
        // Wherever the cursor has gone to, that is the oldest or the head.
        self.looks.next = self.row.val().slot;
        if self.follows.val() | self.is_behind.val() | !self.back.val().any() {
            self.looks.next = self.acked.val().tail;
        }
    }
}
