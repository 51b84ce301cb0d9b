//! Completion queues: who may be told, where the next entry goes, and whether somebody waits for it.

pub mod admit;
pub mod answer;
pub mod complete;
pub mod consume;
pub mod decide;
pub mod deliver;
#[cfg(test)]
mod model;
#[cfg(test)]
mod rig;
pub mod table;
#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;

use answer::Answer;
use decide::{Decide, Known};
use deliver::Deliver;
use table::{QueueRow, Table};

use super::command::{ObjectCommand, ObjectReply};
use crate::host::work::{CqDoorbell, Done, EntryWrite, EventRecord, QpError};
use crate::prim::reg::Reg;
use crate::prim::round_robin::RoundRobin;
use crate::stream::{StreamSink, StreamSource};

block! {
    /// Owns the table of `2^CQS` completion queues and writes their entries, one operation at a time.
    ///
    /// ```text
    ///   done ─────┐                       ┌ Complete ┐        ┌ entry ─ event
    ///   doorbell ─┼ in turn ─ Table, row ─┼ Consume ─┼ row ─▶─┼ error
    ///   command ──┘                       └ Admit ───┘        └ reply
    /// ```
    ///
    /// An operation is chosen and its row read, then what the row says is registered, then the operation is carried out and
    /// its beat taken: three cycles in which the beat waits at its port.
    ///
    /// - **Ports** `done`: completions; `entry`: their CQEs. `doorbell`: stores of the driver. `event`: completion events
    ///   and overflows; none is offered before the entries written up to then were taken from `entry`. `error`: queue
    ///   pairs that lost a completion. `command`, `reply`: the mailbox. `settle`: everything taken from `entry` is to reach
    ///   host memory; `settled`: it has. `probe`, `exists`: does this CQ exist? Combinational. `wrong_page`, `bad`: a
    ///   doorbell was refused; `overflow`: a completion was lost. `ready`: the table counts. `busy`: something is under way.
    /// - **A completion** for a queue that is full or does not exist is lost: `overflow`, and its queue pair goes into
    ///   error. The first one that a full queue loses gives an overflow event. Later ones are written as soon as the driver
    ///   has made room.
    /// - **An entry** is on offer from the cycle after its completion was taken, and no operation is carried out before it is
    ///   accepted: at most one entry is made and not accepted.
    /// - **A doorbell** that names no queue, or entries that were never written, is `bad`, one through another page is
    ///   `wrong_page`; both change nothing. Arming fires at once while entries are left untaken, also for solicited ones: a
    ///   spurious event is harmless, a missing one is not. `arm` 3 counts as 1.
    /// - **Destroy** clears the row, then has the entries settled, then replies; completions and doorbells go on meanwhile.
    ///   Events of the queue may still be in the event queue.
    /// - **Latency** 3 cycles from `done.valid` to `entry.valid`, 2 more to `event.valid` if `entry` is taken at once; from a
    ///   doorbell 4 to `event.valid`; from a command 3 to `reply.valid`. **Rate** 1 operation each 3 cycles, whatever it is
    ///   and does.
    /// - **Backpressure** an entry not taken, a ninth event or 4 errors stall everything; a reply not taken, or `settled` that
    ///   does not come, stalls `command` alone.
    /// - **Fairness** an operation waits for at most one of each other kind.
    /// - **Reset** clears the table, a row a cycle; `ready` and `exists` are low meanwhile, and all streams wait.
    /// - **Limits** `CQS` from 1 to 24, `PAGES` from 0 to 12.
    pub struct CompletionQueues<const CQS: usize, const PAGES: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub command: StreamSink<ObjectCommand>,
        pub reply: StreamSource<ObjectReply>,
        pub doorbell: StreamSink<CqDoorbell>,
        pub done: StreamSink<Done>,
        pub time: Signal<In, Bits<64>>,
        pub entry: StreamSource<EntryWrite>,
        pub event: StreamSource<EventRecord>,
        pub error: StreamSource<QpError>,
        pub probe: [Signal<In, Bits<24>>; 2],
        pub exists: [Signal<Out, Bit>; 2],
        pub settle: Signal<Out, Bit>,
        pub settled: Signal<In, Bit>,
        pub wrong_page: Signal<Out, Bit>,
        pub bad: Signal<Out, Bit>,
        pub overflow: Signal<Out, Bit>,
        pub ready: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        turn: RoundRobin<3>,
        table: Table<CQS>,
        decide: Decide<PAGES>,
        deliver: Deliver,
        answer: Answer,
        /// The row is being read.
        looks: Reg<Bit>,
        /// The row is known.
        acts: Reg<Bit>,
        /// Bit 0 a completion, 1 a doorbell, 2 a command.
        chosen: Reg<Bits<3>>,
        row: Reg<QueueRow>,
        known: Reg<Known>,
        is_idle: Signal<Local, Bit>,
        request: Signal<Local, Bits<3>>,
        choice: Signal<Local, Bits<3>>,
        number: Signal<Local, Bits<32>>,
        before: Signal<Local, QueueRow>,
        goes: Signal<Local, Bit>,
        completes: Signal<Local, Bit>,
        consumes: Signal<Local, Bit>,
        commands: Signal<Local, Bit>,
    }
}

impl<const CQS: usize, const PAGES: usize> Logic for CompletionQueues<CQS, PAGES> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, turn, table, deliver, answer);
        dff_setup!(self, clock, looks, acts, chosen, row, known);
        self.turn.reset.next = self.reset.val();
        self.table.reset.next = self.reset.val();
        self.deliver.reset.next = self.reset.val();
        self.answer.reset.next = self.reset.val();

        // Choose.
        self.is_idle.next = !self.looks.q.val() & !self.acts.q.val() & self.table.ready.val();
        self.request.next = 0.into();
        if self.is_idle.val() {
            self.request.next = self.request.val().replace_bit(0, self.done.valid.val());
            self.request.next = self.request.val().replace_bit(1, self.doorbell.valid.val());
            self.request.next =
                self.request.val().replace_bit(2, self.command.valid.val() & self.answer.open.val());
        }
        self.turn.request.next = self.request.val();
        self.turn.taken.next = self.request.val().any();
        self.looks.d.next = self.request.val().any();
        self.choice.next = self.chosen.q.val();
        if self.is_idle.val() {
            self.choice.next = self.turn.grant.val();
        }
        self.chosen.d.next = self.choice.val();
        self.number.next = bit_cast::<32, 24>(self.done.payload.val().cq);
        if self.choice.val().get_bit(1) {
            self.number.next = bit_cast::<32, 24>(self.doorbell.payload.val().cq);
        }
        if self.choice.val().get_bit(2) {
            self.number.next = self.command.payload.val().object;
        }
        self.table.number.next = self.number.val();
        self.table.read.next = self.is_idle.val();

        // Look.
        self.before.next = self.table.row.val();
        if self.looks.q.val() {
            self.acts.d.next = true;
            self.row.d.next = self.before.val();
            self.known.d.next.is_beyond = self.table.beyond.val();
            self.known.d.next.is_foreign = self.doorbell.payload.val().page != self.before.val().page;
            self.known.d.next.held = self.before.val().producer - self.before.val().consumer;
            self.known.d.next.moved = self.doorbell.payload.val().consumer - self.before.val().consumer;
        }

        // Act, when there is room for whatever may come of it.
        self.goes.next = self.acts.q.val() & self.deliver.room.val();
        if self.goes.val() {
            self.acts.d.next = false;
        }
        self.completes.next = self.goes.val() & self.chosen.q.val().get_bit(0);
        self.consumes.next = self.goes.val() & self.chosen.q.val().get_bit(1);
        self.commands.next = self.goes.val() & self.chosen.q.val().get_bit(2);
        self.done.ready.next = self.completes.val();
        self.doorbell.ready.next = self.consumes.val();
        self.command.ready.next = self.commands.val();
        self.decide.completes.next = self.completes.val();
        self.decide.consumes.next = self.consumes.val();
        self.decide.commands.next = self.commands.val();
        self.decide.done.next = self.done.payload.val();
        self.decide.doorbell.next = self.doorbell.payload.val();
        self.decide.command.next = self.command.payload.val();
        self.decide.row.next = self.row.q.val();
        self.decide.known.next = self.known.q.val();
        self.decide.now.next = self.time.val();
        self.table.write.next = self.decide.changes.val();
        self.table.write_row.next = self.decide.after.val();
        self.wrong_page.next = self.decide.wrong_page.val();
        self.bad.next = self.decide.bad.val();
        self.overflow.next = self.decide.loses.val();

        self.deliver.writes.next = self.decide.writes.val();
        self.deliver.made.next = self.decide.made.val();
        self.deliver.loses.next = self.decide.loses.val();
        self.deliver.qpn.next = self.done.payload.val().qpn;
        self.deliver.fires.next = self.decide.fires.val();
        self.deliver.overflows.next = self.decide.overflows.val();
        self.deliver.cq.next = bit_cast::<24, 32>(self.number.val());
        StreamSource::<EntryWrite>::link(&mut self.entry, &mut self.deliver.entry);
        StreamSource::<EventRecord>::link(&mut self.event, &mut self.deliver.event);
        StreamSource::<QpError>::link(&mut self.error, &mut self.deliver.error);

        // When a queue ends, its last entry has been taken, for there was room.
        self.answer.answers.next = self.commands.val();
        self.answer.given.next = self.decide.given.val();
        self.answer.ends.next = self.decide.ends.val();
        self.settle.next = self.answer.settle.val();
        self.answer.settled.next = self.settled.val();
        StreamSource::<ObjectReply>::link(&mut self.reply, &mut self.answer.reply);

        for i in 0..2 {
            self.table.probe[i].next = self.probe[i].val();
            self.exists[i].next = self.table.exists[i].val();
        }
        self.ready.next = self.table.ready.val();
        self.busy.next = !self.is_idle.val() | self.deliver.busy.val() | self.answer.busy.val();
        if self.reset.val() {
            self.looks.d.next = false;
            self.acts.d.next = false;
        }
    }
}
