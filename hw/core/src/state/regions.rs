//! The owner of the memory regions: mailbox commands in, rows for the MMU out.
//!
//! ```text
//!   command ─ creation ─ judge ─┬─ row ──────────────────────────────────────────────┬─ reply
//!                               └─ invalidate, done ─ drain, drained ─ settle, settled ─┘
//! ```

pub mod creation;
pub mod judge;
#[cfg(test)]
mod model;
#[cfg(test)]
mod rig;
pub mod table;
#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;
use stroma_abi::desc::Region;

use self::creation::BODY_BITS;
use self::judge::{Judge, Verdict};
use self::table::Table;
use super::command::{ObjectCommand, ObjectReply};
use super::memory_keys::{RegionRow, RowWrite};
use crate::constant::number;
use crate::prim::reg::Reg;
use crate::stream::{StreamSink, StreamSource};

/// What the owner does with the command it holds.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Step {
    /// It holds none.
    Idle,
    /// Asks the table for the region.
    Look,
    /// The checks look at the command.
    Weigh,
    /// Their results decide.
    Judge,
    /// Writes the table.
    Act,
    /// Gives the row to the MMU.
    Begin,
    /// Takes the row from the MMU.
    Invalidate,
    /// Waits until the MMU gives no address under it any more.
    Forget,
    /// Says `drain`.
    Drain,
    /// Waits for `drained`.
    Drained,
    /// Says `settle`.
    Settle,
    /// Waits for `settled`.
    Settled,
    /// Replies.
    Answer,
}

block! {
    /// Makes, shows and ends `2^MRS` memory regions, one command at a time.
    ///
    /// A refused command has changed nothing. A region ends in three waits: for the MMU, behind which no address is given out
    /// under its key; for the work that was begun with such addresses; for the DMA that this work has asked for. So
    /// no byte of the region is touched any more when the reply comes.
    ///
    /// - **Ports** `command`, `reply`: as the mailbox has them, one reply for each command. `row`, `invalidate`, `done`: to the
    ///   MMU, as in [`Maintain`](super::maintain::Maintain). `drain`, `settle`: a pulse each; `drained`, `settled`: the
    ///   pulse, in a later cycle, that answers. `ready`: the table is clean. `busy`: a command is inside, or the table is
    ///   not clean.
    /// - **Latency** from the command to the reply's offer, 5 cycles; 6 if a region begins and `row` is taken at once; if one
    ///   ends, 11 and the cycles more that pass until `invalidate` is taken, `done` comes, and the pulses are answered.
    /// - **Rate** one command at a time.
    /// - **Backpressure** commands wait for the reply before them. No path from port to port.
    /// - **Reset** forgets the command and all regions, which takes `2^MRS` cycles; `ready` is low meanwhile, and commands wait.
    ///   The MMU has to be reset with it.
    /// - **Limits** `MRS` to 24. A number beyond is `OutOfRange` for create, and `NoObject` for the others. Modify is
    ///   unknown.
    pub struct Regions<const MRS: usize> {
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
        pub ready: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        table: Table<MRS>,
        judge: Judge,
        step: Reg<Step>,
        verb: Reg<Bits<8>>,
        object: Reg<Bits<32>>,
        attributes: Reg<Bits<64>>,
        /// The command's body; once judged, the region to be stored or shown.
        body: Reg<Bits<BODY_BITS>>,
        verdict: Reg<Verdict>,
        entry: Signal<Local, RegionRow>,
        key_at: Constant<Bits<8>> = number(Region::KEY.offset()),
        pd_at: Constant<Bits<8>> = number(Region::PD.offset()),
        rights_at: Constant<Bits<8>> = number(Region::RIGHTS.offset()),
        page_at: Constant<Bits<8>> = number(Region::PAGE.offset()),
        direct_at: Constant<Bits<8>> = number(Region::DIRECT.offset()),
        base_at: Constant<Bits<8>> = number(Region::BASE.offset()),
        length_at: Constant<Bits<8>> = number(Region::LENGTH.offset()),
        /// Of the list without its low six bits.
        list_at: Constant<Bits<8>> = number(Region::LIST.offset() + 6),
    }
}

impl<const MRS: usize> Logic for Regions<MRS> {
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "an arm for each step, and what all of them share")]
    fn update(&mut self) {
        clock!(self, clock, table, judge);
        dff_setup!(self, clock, step, verb, object, attributes, body, verdict);
        self.table.reset.next = self.reset.val();
        self.ready.next = self.table.ready.val();
        self.busy.next = !self.table.ready.val() | (self.step.q.val() != Step::Idle);

        self.table.read.next = self.step.q.val() == Step::Look;
        self.table.index.next = self.object.q.val();
        self.table.write.next =
            (self.step.q.val() == Step::Act) & (self.verdict.q.val().begins | self.verdict.q.val().ends);
        self.table.write_index.next = bit_cast::<MRS, 32>(self.object.q.val());
        self.table.write_kept.next.exists = self.verdict.q.val().begins;
        self.table.write_kept.next.body = self.body.q.val();
        self.judge.verb.next = self.verb.q.val();
        self.judge.attributes.next = self.attributes.q.val();
        self.judge.body.next = self.body.q.val();
        self.judge.exists.next = self.table.kept.val().exists;
        self.judge.beyond.next = self.table.beyond.val();

        self.entry.next.valid = true;
        self.entry.next.key = self.body.q.val().get_bits::<8>(self.key_at.val().index());
        self.entry.next.pd = self.body.q.val().get_bits::<16>(self.pd_at.val().index());
        self.entry.next.rights = self.body.q.val().get_bits::<5>(self.rights_at.val().index());
        self.entry.next.page = self.body.q.val().get_bits::<2>(self.page_at.val().index());
        self.entry.next.direct = self.body.q.val().get_bit(self.direct_at.val().index());
        self.entry.next.base = self.body.q.val().get_bits::<64>(self.base_at.val().index());
        self.entry.next.length = self.body.q.val().get_bits::<48>(self.length_at.val().index());
        self.entry.next.list = self.body.q.val().get_bits::<58>(self.list_at.val().index());
        self.row.valid.next = self.step.q.val() == Step::Begin;
        self.row.payload.next.region = bit_cast::<MRS, 32>(self.object.q.val());
        self.row.payload.next.row = self.entry.val();
        self.invalidate.valid.next = self.step.q.val() == Step::Invalidate;
        self.invalidate.payload.next = bit_cast::<MRS, 32>(self.object.q.val());
        self.done.ready.next = self.step.q.val() == Step::Forget;
        self.drain.next = self.step.q.val() == Step::Drain;
        self.settle.next = self.step.q.val() == Step::Settle;

        self.command.ready.next = self.table.ready.val() & (self.step.q.val() == Step::Idle);
        self.reply.valid.next = self.step.q.val() == Step::Answer;
        self.reply.payload.next.status = self.verdict.q.val().status;
        self.reply.payload.next.field = self.verdict.q.val().field;
        self.reply.payload.next.body = 0.into();
        if self.verdict.q.val().shows {
            self.reply.payload.next.body = bit_cast::<896, BODY_BITS>(self.body.q.val());
        }

        match self.step.q.val() {
            Step::Idle => {
                if self.table.ready.val() & self.command.valid.val() {
                    self.verb.d.next = self.command.payload.val().verb;
                    self.object.d.next = self.command.payload.val().object;
                    self.attributes.d.next = self.command.payload.val().attributes;
                    self.body.d.next = bit_cast::<BODY_BITS, 896>(self.command.payload.val().body);
                    self.step.d.next = Step::Look;
                }
            }
            Step::Look => {
                self.step.d.next = Step::Weigh;
            }
            Step::Weigh => {
                self.step.d.next = Step::Judge;
            }
            Step::Judge => {
                self.verdict.d.next = self.judge.verdict.val();
                self.body.d.next = self.judge.stored.val();
                if self.judge.verdict.val().shows {
                    self.body.d.next = self.table.kept.val().body;
                }
                self.step.d.next = Step::Act;
            }
            Step::Act => {
                self.step.d.next = Step::Answer;
                if self.verdict.q.val().begins {
                    self.step.d.next = Step::Begin;
                } else if self.verdict.q.val().ends {
                    self.step.d.next = Step::Invalidate;
                }
            }
            Step::Begin => {
                if self.row.ready.val() {
                    self.step.d.next = Step::Answer;
                }
            }
            Step::Invalidate => {
                if self.invalidate.ready.val() {
                    self.step.d.next = Step::Forget;
                }
            }
            Step::Forget => {
                if self.done.valid.val() {
                    self.step.d.next = Step::Drain;
                }
            }
            Step::Drain => {
                self.step.d.next = Step::Drained;
            }
            Step::Drained => {
                if self.drained.val() {
                    self.step.d.next = Step::Settle;
                }
            }
            Step::Settle => {
                self.step.d.next = Step::Settled;
            }
            Step::Settled => {
                if self.settled.val() {
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
