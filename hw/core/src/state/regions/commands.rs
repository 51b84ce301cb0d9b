//! What the mailbox asks of regions and windows.

use rust_hdl::prelude::*;
use stroma_abi::desc::Region;

use super::creation::BODY_BITS;
use super::ending::Ending;
use super::judge::{Judge, Verdict};
use super::row_of::RowOf;
use super::table::{Kept, TableUse};
use crate::constant::number;
use crate::prim::reg::Reg;
use crate::state::command::{ObjectCommand, ObjectReply};
use crate::state::memory_keys::RowWrite;
use crate::stream::{StreamSink, StreamSource};

/// What the owner does with the command it holds.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Step {
    /// It holds none.
    Idle,
    /// Asks the table for the region, when it is its turn.
    Look,
    /// The checks look at the command.
    Weigh,
    /// Their results decide.
    Judge,
    /// Writes the table.
    Act,
    /// Counts a window less for the region it was bound to.
    Part,
    /// Gives the row to the MMU.
    Begin,
    /// Waits until the key is forgotten everywhere.
    End,
    /// Replies.
    Answer,
}

block! {
    /// Carries out one command at a time, as [`Regions`](super::Regions) promises.
    ///
    /// - **Ports** `command`, `reply`, `row`, `invalidate`, `done`, `drain`, `drained`, `settle`, `settled`: as there. `open`:
    ///   the table is clean. `free`: nobody else is at the table. `holds`: its command is, or will be when it is free: from
    ///   `Look` on until the table and the MMU's row are written, but no longer, so that others go on while a region
    ///   ends. `parts`: a bound window ends. `turn`, `kept`, `bound_count`, `beyond`: to the table and from it. `busy`: a command is inside.
    /// - **Latency, rate, back-pressure** as there.
    /// - **Reset** forgets the command.
    pub struct Commands<const MRS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub command: StreamSink<ObjectCommand>,
        pub reply: StreamSource<ObjectReply>,
        pub row: StreamSource<RowWrite<MRS>>,
        pub invalidate: StreamSource<Bits<MRS>>,
        pub done: StreamSink<Bits<MRS>>,
        pub drain: Signal<Out, Bit>,
        pub drained: Signal<In, Bit>,
        pub settle: Signal<Out, Bit>,
        pub settled: Signal<In, Bit>,
        pub open: Signal<In, Bit>,
        pub free: Signal<In, Bit>,
        pub holds: Signal<Out, Bit>,
        pub turn: Signal<Out, TableUse<MRS>>,
        pub kept: Signal<In, Kept<MRS>>,
        pub bound_count: Signal<In, Bits<MRS>>,
        pub beyond: Signal<In, Bit>,
        pub parts: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        judge: Judge,
        row_of: RowOf,
        ending: Ending<MRS>,
        step: Reg<Step>,
        verb: Reg<Bits<8>>,
        object: Reg<Bits<32>>,
        attributes: Reg<Bits<64>>,
        /// The command's body; once judged, the region to be stored or shown.
        body: Reg<Bits<BODY_BITS>>,
        verdict: Reg<Verdict>,
        /// The region that the window is bound to.
        parent: Reg<Bits<MRS>>,
        stored: Signal<Local, Kept<MRS>>,
        is_window: Signal<Local, Bit>,
        window_at: Constant<Bits<8>> = number(Region::WINDOW.offset()),
    }
}

impl<const MRS: usize> Logic for Commands<MRS> {
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "an arm for each step, and what all of them share")]
    fn update(&mut self) {
        clock!(self, clock, judge, ending);
        self.ending.reset.next = self.reset.val();
        dff_setup!(self, clock, step, verb, object, attributes, body, verdict, parent);
        self.busy.next = self.step.q.val() != Step::Idle;
        self.holds.next = (self.step.q.val() == Step::Look)
            | (self.step.q.val() == Step::Weigh)
            | (self.step.q.val() == Step::Judge)
            | (self.step.q.val() == Step::Act)
            | (self.step.q.val() == Step::Part)
            | (self.step.q.val() == Step::Begin);

        // A window that ends has its region looked up, for the count there.
        self.turn.next.read = (self.step.q.val() == Step::Look) | (self.step.q.val() == Step::Act);
        self.turn.next.index = self.object.q.val();
        if self.step.q.val() == Step::Act {
            self.turn.next.index = bit_cast::<32, MRS>(self.parent.q.val());
        }
        self.stored.next.exists = self.verdict.q.val().begins;
        self.stored.next.bound = false;
        self.stored.next.parent = 0.into();
        self.stored.next.qpn = 0.into();
        self.stored.next.body = self.body.q.val();
        self.turn.next.write =
            (self.step.q.val() == Step::Act) & (self.verdict.q.val().begins | self.verdict.q.val().ends);
        self.turn.next.write_index = bit_cast::<MRS, 32>(self.object.q.val());
        self.turn.next.write_kept = self.stored.val();
        self.parts.next = self.step.q.val() == Step::Part;
        self.turn.next.count = self.step.q.val() == Step::Part;
        self.turn.next.count_index = self.parent.q.val();
        self.turn.next.count_windows = self.bound_count.val() - 1;
        self.judge.verb.next = self.verb.q.val();
        self.judge.attributes.next = self.attributes.q.val();
        self.judge.body.next = self.body.q.val();
        self.judge.exists.next = self.kept.val().exists;
        self.judge.is_bound.next = self.kept.val().bound;
        self.judge.in_use.next = self.bound_count.val().any();
        self.judge.beyond.next = self.beyond.val();

        self.is_window.next = self.body.q.val().get_bit(self.window_at.val().index());
        self.row_of.number.next = bit_cast::<24, 32>(self.object.q.val());
        self.row_of.body.next = self.body.q.val();
        self.row.valid.next = self.step.q.val() == Step::Begin;
        self.row.payload.next.region = bit_cast::<MRS, 32>(self.object.q.val());
        self.row.payload.next.row = self.row_of.row.val();
        self.ending.begins.next =
            ((self.step.q.val() == Step::Act) & self.verdict.q.val().ends & !self.verdict.q.val().parts)
                | (self.step.q.val() == Step::Part);
        self.ending.region.next = bit_cast::<MRS, 32>(self.object.q.val());
        StreamSource::<Bits<MRS>>::link(&mut self.invalidate, &mut self.ending.invalidate);
        StreamSink::<Bits<MRS>>::link(&mut self.done, &mut self.ending.done);
        self.drain.next = self.ending.drain.val();
        self.ending.drained.next = self.drained.val();
        self.settle.next = self.ending.settle.val();
        self.ending.settled.next = self.settled.val();

        self.command.ready.next = self.open.val() & (self.step.q.val() == Step::Idle);
        self.reply.valid.next = self.step.q.val() == Step::Answer;
        self.reply.payload.next.status = self.verdict.q.val().status;
        self.reply.payload.next.field = self.verdict.q.val().field;
        self.reply.payload.next.body = 0.into();
        if self.verdict.q.val().shows {
            self.reply.payload.next.body = bit_cast::<896, BODY_BITS>(self.body.q.val());
        }

        match self.step.q.val() {
            Step::Idle => {
                if self.open.val() & self.command.valid.val() {
                    self.verb.d.next = self.command.payload.val().verb;
                    self.object.d.next = self.command.payload.val().object;
                    self.attributes.d.next = self.command.payload.val().attributes;
                    self.body.d.next = bit_cast::<BODY_BITS, 896>(self.command.payload.val().body);
                    self.step.d.next = Step::Look;
                }
            }
            Step::Look => {
                if self.free.val() {
                    self.step.d.next = Step::Weigh;
                }
            }
            Step::Weigh => {
                self.step.d.next = Step::Judge;
            }
            Step::Judge => {
                self.verdict.d.next = self.judge.verdict.val();
                self.parent.d.next = self.kept.val().parent;
                self.body.d.next = self.judge.stored.val();
                if self.judge.verdict.val().shows {
                    self.body.d.next = self.kept.val().body;
                }
                self.step.d.next = Step::Act;
            }
            Step::Act => {
                self.step.d.next = Step::Answer;
                if self.verdict.q.val().begins & !self.is_window.val() {
                    self.step.d.next = Step::Begin;
                } else if self.verdict.q.val().parts {
                    self.step.d.next = Step::Part;
                } else if self.verdict.q.val().ends {
                    self.step.d.next = Step::End;
                }
            }
            Step::Part => {
                self.step.d.next = Step::End;
            }
            Step::Begin => {
                if self.row.ready.val() {
                    self.step.d.next = Step::Answer;
                }
            }
            Step::End => {
                if self.ending.over.val() {
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
