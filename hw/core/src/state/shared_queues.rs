//! The owner of the shared receive queues: mailbox commands in, rows for whoever takes receives out.

pub mod judge;
#[cfg(test)]
mod model;
pub mod table;
#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;

use judge::Judge;
use table::{Kept, Table};

use super::command::{ObjectCommand, ObjectReply};
use crate::prim::reg::Reg;
use crate::stream::{StreamSink, StreamSource};
use crate::transport::records::{LimitTold, SharedRow};

/// What the owner does with the command it holds.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Step {
    /// It holds none.
    Idle,
    /// The table shows the queue.
    Judge,
    /// Writes the table.
    Act,
    /// Tells that the queue begins anew.
    Change,
    /// Replies.
    Answer,
}

block! {
    /// Makes, changes, shows and ends `2^SRQS` shared receive queues, one command at a time.
    ///
    /// A refused command has changed nothing. Nothing is waited for when a queue ends: the queue pairs that take from it end
    /// before, each when nothing of it is under way any more. One that does not finds no receive there.
    ///
    /// - **Ports** `command`, `reply`: as the mailbox has them, one reply for each command. `row_enable`, `row_index`, `row`: the rows,
    ///   for two readers, there a cycle later until the next is read; beyond the table none exists. `probe`, `exists`: is there such a
    ///   queue? `change`: one begins; the reply follows when it is taken. `limit_told`: an event
    ///   tells of a limit, which is none from then on. `ready`: the table is clean. `busy`: a command is
    ///   inside, or the table is not clean.
    /// - **Latency** from the command to the reply's offer 3 cycles, 4 if a queue begins and `change` is taken at once; `exists` 0.
    /// - **Rate** one command at a time.
    /// - **Backpressure** commands wait for the reply before them. No path from port to port but from `probe` to `exists`.
    /// - **Reset** forgets the command and all queues, which takes `2^SRQS` cycles; `ready` is low meanwhile, and commands wait.
    /// - **Limits** `SRQS` to 24. A number beyond is `OutOfRange` for create, and `NoObject` for the others.
    pub struct SharedQueues<const SRQS: usize, const PAGES: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub command: StreamSink<ObjectCommand>,
        pub reply: StreamSource<ObjectReply>,
        pub row_enable: [Signal<In, Bit>; 2],
        pub row_index: [Signal<In, Bits<24>>; 2],
        pub row: [Signal<Out, SharedRow>; 2],
        pub probe: Signal<In, Bits<24>>,
        pub exists: Signal<Out, Bit>,
        pub change: StreamSource<Bits<24>>,
        pub limit_told: Signal<In, LimitTold>,
        pub ready: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        table: Table<SRQS>,
        judge: Judge<PAGES>,
        step: Reg<Step>,
        asked: Reg<ObjectCommand>,
        answer: Reg<ObjectReply>,
        changes: Reg<Bit>,
        begins: Reg<Bit>,
        after: Reg<Kept>,
        takes: Signal<Local, Bit>,
    }
}

impl<const SRQS: usize, const PAGES: usize> Logic for SharedQueues<SRQS, PAGES> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, table);
        dff_setup!(self, clock, step, asked, answer, changes, begins, after);
        self.table.reset.next = self.reset.val();
        self.ready.next = self.table.ready.val();
        self.busy.next = !self.table.ready.val() | (self.step.q.val() != Step::Idle);

        self.command.ready.next = self.table.ready.val() & (self.step.q.val() == Step::Idle);
        self.takes.next =
            self.command.valid.val() & self.table.ready.val() & (self.step.q.val() == Step::Idle);
        self.table.read.next = self.takes.val();
        self.table.index.next = self.command.payload.val().object;
        self.judge.command.next = self.asked.q.val();
        self.judge.kept.next = self.table.kept.val();
        self.judge.is_beyond.next = self.table.beyond.val();
        self.judge.is_told.next = self.table.is_told.val();
        self.table.limit_told.next = self.limit_told.val();
        self.table.write.next = (self.step.q.val() == Step::Act) & self.changes.q.val();
        self.table.write_index.next = bit_cast::<SRQS, 32>(self.asked.q.val().object);
        self.table.write_kept.next = self.after.q.val();
        for i in 0..2 {
            self.table.row_enable[i].next = self.row_enable[i].val();
            self.table.row_index[i].next = self.row_index[i].val();
            self.row[i].next = self.table.row[i].val();
        }
        self.table.probe.next = self.probe.val();
        self.exists.next = self.table.exists.val();
        self.change.valid.next = self.step.q.val() == Step::Change;
        self.change.payload.next = bit_cast::<24, 32>(self.asked.q.val().object);
        self.reply.valid.next = self.step.q.val() == Step::Answer;
        self.reply.payload.next = self.answer.q.val();

        match self.step.q.val() {
            Step::Idle => {
                if self.takes.val() {
                    self.asked.d.next = self.command.payload.val();
                    self.step.d.next = Step::Judge;
                }
            }
            Step::Judge => {
                self.answer.d.next = self.judge.reply.val();
                self.changes.d.next = self.judge.changes.val();
                self.begins.d.next = self.judge.begins.val();
                self.after.d.next = self.judge.after.val();
                self.step.d.next = Step::Act;
            }
            Step::Act => {
                self.step.d.next = Step::Answer;
                if self.begins.q.val() {
                    self.step.d.next = Step::Change;
                }
            }
            Step::Change => {
                if self.change.ready.val() {
                    self.step.d.next = Step::Answer;
                }
            }
            Step::Answer => {
                if self.reply.ready.val() {
                    self.step.d.next = Step::Idle;
                }
            }
        }
        if self.reset.val() {
            self.step.d.next = Step::Idle;
        }
    }
}
