//! What a row says, before anything is decided.

use rust_hdl::prelude::*;

use super::decide::Known;
use super::examine::{Examine, Sense};
use super::table::QueueRow;
use crate::host::work::CqDoorbell;
use crate::prim::reg::Reg;
use crate::state::command::ObjectCommand;

block! {
    /// Keeps the row of an operation, and what decides about it: a cycle of their own for sums and differences, which are wide.
    ///
    /// - **Ports** `looks`: `read_row` is that of the operation under way, `is_beyond`: its number is none of the table's. `doorbell`,
    ///   `command`: those on offer, either of which may be the operation. `row`, `known`, `sense`: the same from the next cycle on,
    ///   until another is looked at.
    /// - **Latency** 1 cycle. **Reset** none.
    pub struct Look<const PAGES: usize> {
        pub clock: Signal<In, Clock>,
        pub looks: Signal<In, Bit>,
        pub read_row: Signal<In, QueueRow>,
        pub is_beyond: Signal<In, Bit>,
        pub doorbell: Signal<In, CqDoorbell>,
        pub command: Signal<In, ObjectCommand>,
        pub row: Signal<Out, QueueRow>,
        pub known: Signal<Out, Known>,
        pub sense: Signal<Out, Sense>,
        examine: Examine<PAGES>,
        kept: Reg<QueueRow>,
        found: Reg<Known>,
        understood: Reg<Sense>,
        held: Signal<Local, Bits<24>>,
        rings_held: Signal<Local, Bits<24>>,
    }
}

impl<const PAGES: usize> Logic for Look<PAGES> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, kept, found, understood);
        self.examine.command.next = self.command.val();
        self.row.next = self.kept.q.val();
        self.known.next = self.found.q.val();
        self.sense.next = self.understood.q.val();
        self.held.next = self.read_row.val().producer - self.read_row.val().consumer;
        // A queue never holds more than it has room for: so this is 1 if it is full, and else 0.
        self.rings_held.next = self.held.val() >> self.read_row.val().log;
        if self.looks.val() {
            self.kept.d.next = self.read_row.val();
            self.understood.d.next = self.examine.sense.val();
            self.found.d.next.is_beyond = self.is_beyond.val();
            self.found.d.next.is_foreign = self.doorbell.val().page != self.read_row.val().page;
            self.found.d.next.held = self.held.val();
            self.found.d.next.is_full = self.rings_held.val().get_bit(0);
            self.found.d.next.moved = self.doorbell.val().consumer - self.read_row.val().consumer;
            self.found.d.next.left = self.read_row.val().producer - self.doorbell.val().consumer;
            self.found.d.next.is_enough = (self.read_row.val().awaited + 1) >= self.read_row.val().count;
        }
    }
}
