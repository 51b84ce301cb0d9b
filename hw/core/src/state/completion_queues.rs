//! Completion queues: who may be told, where the next entry goes, and whether somebody waits for it.

pub mod admit;
pub mod answer;
pub mod choose;
pub mod complete;
pub mod consume;
pub mod decide;
pub mod deliver;
pub mod examine;
pub mod look;
#[cfg(test)]
mod model;
pub mod patrol;
#[cfg(test)]
mod rig;
pub mod table;
#[cfg(test)]
mod tests;
pub mod visit;

use rust_hdl::prelude::*;

use answer::Answer;
use choose::Choose;
use decide::Decide;
use deliver::Deliver;
use look::Look;
use patrol::Patrol;
use table::Table;

use super::command::{ObjectCommand, ObjectReply};
use crate::host::work::{CqDoorbell, Done, EntryWrite, EventRecord, QpError};
use crate::prim::reg::Reg;
use crate::stream::{StreamSink, StreamSource};

block! {
    /// Owns the table of `2^CQS` completion queues and writes their entries, one operation at a time.
    ///
    /// ```text
    ///   done ─────┐                      ┌ Complete ┐        ┌ entry ─ event
    ///   doorbell ─┤                      ├ Consume ─┤        │
    ///   command ──┼ Choose ─ Table, row ─┼ Admit ───┼ row ─▶─┼ error
    ///   Patrol ───┘                      └ Visit ───┘        ├ reply
    ///     ▲                                                  └ numbers of those that wait ┐
    ///     └───────────────────────────────────────────────────────────────────────────────┘
    /// ```
    ///
    /// An operation is chosen and its row read, then what the row says is registered, then the operation is carried out and
    /// its beat taken: three cycles in which the beat waits at its port.
    ///
    /// - **Ports** `done`: completions; `entry`: their CQEs. `doorbell`: stores of the driver. `event`: completion events
    ///   and overflows; none is offered before the entries written up to then were taken from `entry`. `error`: queue
    ///   pairs that lost a completion. `command`, `reply`: the mailbox. `settle`: everything taken from `entry` is to reach
    ///   host memory; `settled`: it has. `probe`, `exists`: does this CQ exist? Combinational. `wrong_page`, `bad`: a
    ///   doorbell was refused; `overflow`: a completion was lost. `visits`: a queue in line is looked at. `ready`: the table counts.
    ///   `busy`: something is under way that was begun outside; `patrols`: queues wait for their time, and `time` has to go on
    ///   cycle by cycle.
    /// - **A completion** for a queue that is full or does not exist is lost: `overflow`, and its queue pair goes into
    ///   error. The first one that a full queue loses gives an overflow event. Later ones are written as soon as the driver
    ///   has made room.
    /// - **An entry** is on offer from the cycle after its completion was taken, and no operation is carried out before it is
    ///   accepted: at most one entry is made and not accepted.
    /// - **A doorbell** that names no queue, or entries that were never written, is `bad`, one through another page is
    ///   `wrong_page`; both change nothing. Arming fires at once while entries are left untaken, also for solicited ones: a
    ///   spurious event is harmless, a missing one is not. `arm` 3 counts as 1.
    /// - **Moderation** an armed queue fires when `count` entries have come that it was armed for, those left untaken when it was
    ///   armed among them, or when its `period` has passed since the first of them, whichever is earlier. Arming it again takes
    ///   away those that were taken; the time goes on while one is left. An event is never early. It is late by up to 64 cycles for
    ///   each queue that waits for its time, or 73 while other operations are never short, and 10 more. Without a period fewer
    ///   entries than the count are told by no event. A command that changes the rule holds from the next entry or visit on: what is
    ///   due by it is told.
    /// - **Destroy** clears the row, then has the entries settled, then replies; completions and doorbells go on meanwhile.
    ///   Events of the queue may still be in the event queue.
    /// - **Latency** 3 cycles from `done.valid` to `entry.valid`, 2 more to `event.valid` if `entry` is taken at once; from a
    ///   doorbell 4 to `event.valid`; from a command 3 to `reply.valid`. **Rate** 1 operation each 3 cycles, whatever it is
    ///   and does; while queues wait for their time, 6 cycles of each 64 are for a visit.
    /// - **Backpressure** an entry not taken, a ninth event or 4 errors stall everything; a reply not taken, or `settled` that
    ///   does not come, stalls `command` alone.
    /// - **Fairness** an operation waits for at most one of each other kind.
    /// - **Reset** clears the table, a row a cycle, and the line; `ready` and `exists` are low meanwhile, and all streams wait.
    /// - **Limits** `CQS` from 1 to 15, `PAGES` from 0 to 12.
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
        pub visits: Signal<Out, Bit>,
        pub ready: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        pub patrols: Signal<Out, Bit>,
        choose: Choose,
        patrol: Patrol<CQS>,
        table: Table<CQS>,
        look: Look<PAGES>,
        decide: Decide,
        deliver: Deliver,
        answer: Answer,
        /// The row is being read.
        looks: Reg<Bit>,
        /// The row is known.
        acts: Reg<Bit>,
        is_idle: Signal<Local, Bit>,
        offers: Signal<Local, Bits<4>>,
        is_visit: Signal<Local, Bit>,
        goes: Signal<Local, Bit>,
        commands: Signal<Local, Bit>,
        checks: Signal<Local, Bit>,
    }
}

impl<const CQS: usize, const PAGES: usize> CompletionQueues<CQS, PAGES> {
    /// On a card with this core clock; `default()` has 250 MHz.
    #[must_use]
    pub fn new(clock_khz: u64) -> Self {
        Self { patrol: Patrol::new(clock_khz), ..Self::default() }
    }
}

impl<const CQS: usize, const PAGES: usize> Logic for CompletionQueues<CQS, PAGES> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, choose, patrol, table, look, deliver, answer);
        dff_setup!(self, clock, looks, acts);
        self.choose.reset.next = self.reset.val();
        self.patrol.reset.next = self.reset.val();
        self.table.reset.next = self.reset.val();
        self.deliver.reset.next = self.reset.val();
        self.answer.reset.next = self.reset.val();

        // Choose.
        self.is_idle.next = !self.looks.q.val() & !self.acts.q.val() & self.table.ready.val();
        self.choose.is_open.next = self.is_idle.val();
        self.offers.next = 0.into();
        self.offers.next = self.offers.val().replace_bit(0, self.done.valid.val());
        self.offers.next = self.offers.val().replace_bit(1, self.doorbell.valid.val());
        self.offers.next =
            self.offers.val().replace_bit(2, self.command.valid.val() & self.answer.open.val());
        self.offers.next = self.offers.val().replace_bit(3, self.patrol.due.val());
        self.choose.offers.next = self.offers.val();
        self.choose.completed.next = self.done.payload.val().cq;
        self.choose.rung.next = self.doorbell.payload.val().cq;
        self.choose.object.next = self.command.payload.val().object;
        self.choose.head.next = bit_cast::<24, CQS>(self.patrol.head.val());
        self.looks.d.next = self.choose.begins.val();
        self.is_visit.next = self.choose.kind.val().get_bit(3);
        self.table.number.next = self.choose.number.val();
        self.table.read.next = self.is_idle.val();

        // Look.
        self.look.looks.next = self.looks.q.val();
        self.look.read_row.next = self.table.row.val();
        self.look.is_beyond.next = self.table.beyond.val();
        self.look.doorbell.next = self.doorbell.payload.val();
        self.look.command.next = self.command.payload.val();

        // Act, when there is room for whatever may come of it.
        self.patrol.begins.next = self.choose.begins.val() & self.choose.choice.val().get_bit(3);
        self.patrol.is_known.next = self.acts.q.val() & self.is_visit.val();
        self.patrol.since.next = self.look.row.val().since;
        self.patrol.period.next = self.look.row.val().period;
        self.patrol.now.next = self.time.val();
        self.goes.next = self.acts.q.val()
            & self.deliver.room.val()
            & (!self.is_visit.val() | self.patrol.is_reckoned.val());
        self.acts.d.next = self.looks.q.val() | (self.acts.q.val() & !self.goes.val());
        self.commands.next = self.goes.val() & self.choose.kind.val().get_bit(2);
        self.checks.next = self.goes.val() & self.is_visit.val();
        self.done.ready.next = self.goes.val() & self.choose.kind.val().get_bit(0);
        self.doorbell.ready.next = self.goes.val() & self.choose.kind.val().get_bit(1);
        self.command.ready.next = self.commands.val();
        self.decide.completes.next = self.choose.kind.val().get_bit(0);
        self.decide.consumes.next = self.choose.kind.val().get_bit(1);
        self.decide.commands.next = self.choose.kind.val().get_bit(2);
        self.decide.visits.next = self.is_visit.val();
        self.decide.goes.next = self.goes.val();
        self.decide.done.next = self.done.payload.val();
        self.decide.doorbell.next = self.doorbell.payload.val();
        self.decide.command.next = self.command.payload.val();
        self.decide.row.next = self.look.row.val();
        self.decide.known.next = self.look.known.val();
        self.decide.sense.next = self.look.sense.val();
        self.decide.is_late.next = self.patrol.is_late.val();
        self.decide.now.next = self.time.val();
        self.table.write.next = self.decide.changes.val();
        self.table.write_number.next = bit_cast::<CQS, 32>(self.choose.queue.val());
        self.table.write_row.next = self.decide.after.val();
        self.patrol.joins.next = self.decide.joins.val();
        self.patrol.number.next = bit_cast::<CQS, 32>(self.choose.queue.val());
        self.patrol.ends.next = self.checks.val();
        self.visits.next = self.checks.val();
        self.wrong_page.next = self.decide.wrong_page.val();
        self.bad.next = self.decide.bad.val();
        self.overflow.next = self.decide.loses.val();

        self.deliver.writes.next = self.decide.writes.val();
        self.deliver.made.next = self.decide.made.val();
        self.deliver.loses.next = self.decide.loses.val();
        self.deliver.qpn.next = self.done.payload.val().qpn;
        self.deliver.fires.next = self.decide.fires.val();
        self.deliver.overflows.next = self.decide.overflows.val();
        self.deliver.cq.next = bit_cast::<24, 32>(self.choose.queue.val());
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
        // Visits are no work: they go on for as long as a queue waits, and must not hold a restart up.
        self.busy.next = !self.table.ready.val()
            | ((self.looks.q.val() | self.acts.q.val()) & !self.is_visit.val())
            | self.deliver.busy.val()
            | self.answer.busy.val();
        self.patrols.next = self.patrol.is_waiting.val();
        if self.reset.val() {
            self.looks.d.next = false;
            self.acts.d.next = false;
        }
    }
}
