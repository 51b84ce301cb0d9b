//! What a row says, before anything is decided.

use rust_hdl::prelude::*;

use super::decide::Known;
use super::table::QueueRow;
use crate::host::work::CqDoorbell;
use crate::prim::reg::Reg;

block! {
    /// Keeps the row of an operation, and the differences that decide about it: a cycle of their own, for they are wide.
    ///
    /// - **Ports** `looks`: `read_row` is that of the operation under way, `is_beyond`: its number is none of the table's. `doorbell`:
    ///   the one on offer, which may be the operation. `row`, `known`: the same from the next cycle on, until another is looked at.
    /// - **Latency** 1 cycle. **Reset** none.
    pub struct Look {
        pub clock: Signal<In, Clock>,
        pub looks: Signal<In, Bit>,
        pub read_row: Signal<In, QueueRow>,
        pub is_beyond: Signal<In, Bit>,
        pub doorbell: Signal<In, CqDoorbell>,
        pub row: Signal<Out, QueueRow>,
        pub known: Signal<Out, Known>,
        kept: Reg<QueueRow>,
        found: Reg<Known>,
    }
}

impl Logic for Look {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, kept, found);
        self.row.next = self.kept.q.val();
        self.known.next = self.found.q.val();
        if self.looks.val() {
            self.kept.d.next = self.read_row.val();
            self.found.d.next.is_beyond = self.is_beyond.val();
            self.found.d.next.is_foreign = self.doorbell.val().page != self.read_row.val().page;
            self.found.d.next.held = self.read_row.val().producer - self.read_row.val().consumer;
            self.found.d.next.moved = self.doorbell.val().consumer - self.read_row.val().consumer;
            self.found.d.next.left = self.read_row.val().producer - self.doorbell.val().consumer;
            self.found.d.next.is_enough = (self.read_row.val().awaited + 1) >= self.read_row.val().count;
        }
    }
}
