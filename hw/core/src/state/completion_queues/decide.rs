//! One operation on one row: what becomes of the row, and what is to be told.

use rust_hdl::prelude::*;

use super::admit::Admit;
use super::complete::Complete;
use super::consume::Consume;
use super::examine::Sense;
use super::table::QueueRow;
use super::visit::Visit;
use crate::host::work::{CqDoorbell, Done, EntryWrite};
use crate::record;
use crate::state::command::{ObjectCommand, ObjectReply};

record! {
    /// What is known of the queue an operation is for.
    pub struct Known {
        /// A doorbell came through another page than the queue's.
        pub is_foreign: Bit,
        /// The table does not have its number.
        pub is_beyond: Bit,
        /// Entries written and not taken.
        pub held: Bits<24>,
        /// They are as many as there is room for.
        pub is_full: Bit,
        /// Entries that a doorbell takes.
        pub moved: Bits<24>,
        /// Those that it leaves.
        pub left: Bits<24>,
        /// With one more entry as many are awaited as moderation asks for.
        pub is_enough: Bit,
    }
}

block! {
    /// Has the operation judged by the block for its kind. Logic only.
    ///
    /// - **Ports** `completes`, `consumes`, `commands`, `visits`: one of them says which of `done`, `doorbell`, `command` and a visit
    ///   is under way; `goes`: it is carried out in this cycle, which is known late and so comes last. `row`, `known`: of its queue; `sense`: of the command; `is_late`: its time is over. `changes`: `after` is its
    ///   row from now on; `joins`: its number goes to the end of the line. The rest as in
    ///   [`Complete`], [`Consume`], [`Admit`] and [`Visit`], and low unless the operation is carried out; `made` and `given` mean
    ///   something with `writes` and `commands`.
    /// - **Latency** 0 cycles. **Reset** none.
    pub struct Decide {
        pub completes: Signal<In, Bit>,
        pub consumes: Signal<In, Bit>,
        pub commands: Signal<In, Bit>,
        pub visits: Signal<In, Bit>,
        pub goes: Signal<In, Bit>,
        pub done: Signal<In, Done>,
        pub doorbell: Signal<In, CqDoorbell>,
        pub command: Signal<In, ObjectCommand>,
        pub row: Signal<In, QueueRow>,
        pub known: Signal<In, Known>,
        pub sense: Signal<In, Sense>,
        pub is_late: Signal<In, Bit>,
        pub now: Signal<In, Bits<64>>,
        pub changes: Signal<Out, Bit>,
        pub after: Signal<Out, QueueRow>,
        pub joins: Signal<Out, Bit>,
        pub writes: Signal<Out, Bit>,
        pub made: Signal<Out, EntryWrite>,
        pub loses: Signal<Out, Bit>,
        pub fires: Signal<Out, Bit>,
        pub overflows: Signal<Out, Bit>,
        pub bad: Signal<Out, Bit>,
        pub wrong_page: Signal<Out, Bit>,
        pub given: Signal<Out, ObjectReply>,
        pub ends: Signal<Out, Bit>,
        complete: Complete,
        consume: Consume,
        admit: Admit,
        visit: Visit,
        is_changed: Signal<Local, Bit>,
        is_joining: Signal<Local, Bit>,
        is_told: Signal<Local, Bit>,
        row_after: Signal<Local, QueueRow>,
    }
}

impl Logic for Decide {
    #[hdl_gen]
    fn update(&mut self) {
        self.complete.done.next = self.done.val();
        self.complete.row.next = self.row.val();
        self.complete.is_full.next = self.known.val().is_full;
        self.complete.is_enough.next = self.known.val().is_enough;
        self.complete.now.next = self.now.val();
        self.consume.doorbell.next = self.doorbell.val();
        self.consume.row.next = self.row.val();
        self.consume.is_foreign.next = self.known.val().is_foreign;
        self.consume.moved.next = self.known.val().moved;
        self.consume.held.next = self.known.val().held;
        self.consume.left.next = self.known.val().left;
        self.consume.now.next = self.now.val();
        self.admit.command.next = self.command.val();
        self.admit.sense.next = self.sense.val();
        self.admit.row.next = self.row.val();
        self.admit.is_beyond.next = self.known.val().is_beyond;
        self.visit.row.next = self.row.val();
        self.visit.is_late.next = self.is_late.val();

        self.is_changed.next = (self.completes.val() & self.row.val().exists)
            | (self.consumes.val() & self.consume.accepted.val())
            | (self.commands.val() & self.admit.changes.val())
            | (self.visits.val() & self.visit.leaves.val());
        self.row_after.next = self.complete.after.val();
        if self.consumes.val() {
            self.row_after.next = self.consume.after.val();
        }
        if self.commands.val() {
            self.row_after.next = self.admit.after.val();
        }
        if self.visits.val() {
            self.row_after.next = self.visit.after.val();
        }
        self.changes.next = self.goes.val() & self.is_changed.val();
        self.after.next = self.row_after.val();
        // No queue stands in line twice.
        self.is_joining.next = (self.is_changed.val() & self.row_after.val().lined & !self.row.val().lined)
            | (self.visits.val() & !self.visit.leaves.val());
        self.joins.next = self.goes.val() & self.is_joining.val();
        self.is_told.next = (self.completes.val() & self.complete.fires.val())
            | (self.consumes.val() & self.consume.fires.val())
            | (self.visits.val() & self.visit.fires.val());
        self.fires.next = self.goes.val() & self.is_told.val();
        self.writes.next = self.goes.val() & self.completes.val() & self.complete.written.val();
        self.made.next = self.complete.entry.val();
        self.loses.next = self.goes.val() & self.completes.val() & self.complete.lost.val();
        self.overflows.next = self.goes.val() & self.completes.val() & self.complete.overflows.val();
        self.bad.next = self.goes.val() & self.consumes.val() & self.consume.bad.val();
        self.wrong_page.next = self.goes.val() & self.consumes.val() & self.consume.wrong_page.val();
        self.given.next = self.admit.reply.val();
        self.ends.next = self.goes.val() & self.commands.val() & self.admit.ends.val();
    }
}
