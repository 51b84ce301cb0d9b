//! What each queue pair is doing and what has happened to it, for the mailbox.

#[cfg(test)]
mod model;
pub mod show;
pub mod tally;
#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;
use stroma_abi::Field;
use stroma_abi::desc::statistics::{REQUESTER_COUNTERS, RESPONDER_COUNTERS, SENDING_COUNTERS};
use stroma_abi::desc::{CommandStatus, Statistics as Layout, Verb};

use self::show::{REQUESTER_BITS, RESPONDER_BITS, SENDING_BITS, Show};
use self::tally::Tally;
use super::records::{AckedRow, RequesterRow, ResponderRow};
use crate::constant::number;
use crate::host::work::QpChange;
use crate::prim::ram::BlockRam;
use crate::prim::reg::Reg;
use crate::state::command::{ObjectCommand, ObjectReply};
use crate::stream::{StreamSink, StreamSource};

/// Place of a counter among all.
pub(super) const fn counter(field: Field) -> usize {
    (field.offset() - Layout::SENT_PKTS.offset()) / 32
}

/// What is done with the command that is held.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Step {
    /// There is none.
    Idle,
    /// All tables are looked at,
    Look,
    /// once more, for those who counted in that cycle;
    LookAgain,
    /// and have their answer.
    Collect,
    /// Replies.
    Answer,
}

block! {
    /// Shows `2^QPS` queue pairs.
    ///
    /// ```text
    ///   sending, requester, responder ─ tallies ─┐
    ///   requester_row, responder_row ── mirrors ─┼─ Show ─ reply
    ///   look ─ acked, posted ────────────────────┘
    /// ```
    ///
    /// Each source of counts has a [`Tally`] of its own, which keeps up with it; so there are no queues, and no source ever waits.
    /// Live values are copies, written by whoever owns them at the same time as his own, and differ by a few cycles from each other.
    ///
    /// - **Ports** `command`, `reply`: as the mailbox has them, one reply for each command. `probe`, `exists`: is there such a
    ///   queue pair, answered in the same cycle. `change`: one that resets counts from zero. `sending_*`, `requester_*`,
    ///   `responder_*`: what counts, a bit for each of the abi's counters, and for whom; `*_write`, `*_at`, `*_row`: what a queue
    ///   pair's requester or responder is doing from now on. `look`, `look_index`: a queue pair's `acked` and `posted` are
    ///   there a cycle later, until the next look. `ready`: all is scrubbed. `busy`: it is not, or a command or change is inside.
    /// - **Latency** 4 cycles from the command to the reply's offer. What counted or was written before the cycle in which the
    ///   command is taken is shown; what does so in that cycle or the next may be.
    /// - **Rate** one command at a time; a change takes 2 cycles; of each source a count every 2 cycles, of rows one per cycle.
    /// - **Backpressure** commands wait for the reply before them, changes for the one before. No path from port to port, but
    ///   `reply` follows `acked` and `posted`, which rest.
    /// - **Reset** forgets the command, and scrubs counters and rows, one a cycle, with `ready` low; commands and changes wait.
    /// - **Limits** counts, rows and changes name queue pairs in the table. Of counts in two cycles that follow each other the
    ///   second is lost: Template counts every 2 cycles at most, Sequence every 3, Complete every 5. A verb that is not query is
    ///   `UnknownVerb`, a number beyond the table `OutOfRange`, one without a queue pair `NoObject`.
    pub struct Statistics<const QPS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub command: StreamSink<ObjectCommand>,
        pub reply: StreamSource<ObjectReply>,
        pub probe: Signal<Out, Bits<24>>,
        pub exists: Signal<In, Bit>,
        pub change: StreamSink<QpChange>,
        pub sending_counts: Signal<In, Bits<SENDING_COUNTERS>>,
        pub sending_index: Signal<In, Bits<QPS>>,
        pub requester_counts: Signal<In, Bits<REQUESTER_COUNTERS>>,
        pub requester_index: Signal<In, Bits<QPS>>,
        pub responder_counts: Signal<In, Bits<RESPONDER_COUNTERS>>,
        pub responder_index: Signal<In, Bits<QPS>>,
        pub requester_write: Signal<In, Bit>,
        pub requester_at: Signal<In, Bits<QPS>>,
        pub requester_row: Signal<In, RequesterRow>,
        pub responder_write: Signal<In, Bit>,
        pub responder_at: Signal<In, Bits<QPS>>,
        pub responder_row: Signal<In, ResponderRow>,
        pub look: Signal<Out, Bit>,
        pub look_index: Signal<Out, Bits<QPS>>,
        pub acked: Signal<In, AckedRow>,
        pub posted: Signal<In, Bits<16>>,
        pub ready: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        sending: Tally<QPS, SENDING_COUNTERS, SENDING_BITS>,
        requester: Tally<QPS, REQUESTER_COUNTERS, REQUESTER_BITS>,
        responder: Tally<QPS, RESPONDER_COUNTERS, RESPONDER_BITS>,
        requesters: BlockRam<RequesterRow, QPS>,
        responders: BlockRam<ResponderRow, QPS>,
        show: Show,
        step: Reg<Step>,
        verb: Reg<Bits<8>>,
        object: Reg<Bits<32>>,
        does_exist: Reg<Bit>,
        /// The change on offer has cleared for a cycle.
        is_second: Reg<Bit>,
        is_scrubbing: Reg<Bit>,
        scrubbed: Reg<Bits<QPS>>,
        takes: Signal<Local, Bit>,
        looks: Signal<Local, Bit>,
        index: Signal<Local, Bits<QPS>>,
        clears: Signal<Local, Bit>,
        cleared: Signal<Local, Bits<QPS>>,
        log: Constant<Bits<5>> = number(QPS),
        last: Constant<Bits<QPS>> = Constant::new(Bits::mask()),
        no_requester: Constant<RequesterRow> = Constant::new(RequesterRow::default()),
        no_responder: Constant<ResponderRow> = Constant::new(ResponderRow::default()),
        query: Constant<Bits<8>> = number(Verb::Query as u64),
        done: Constant<Bits<16>> = number(CommandStatus::Done as u64),
        unknown_verb: Constant<Bits<16>> = number(CommandStatus::UnknownVerb as u64),
        out_of_range: Constant<Bits<16>> = number(CommandStatus::OutOfRange as u64),
        no_object: Constant<Bits<16>> = number(CommandStatus::NoObject as u64),
    }
}

impl<const QPS: usize> Logic for Statistics<QPS> {
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "three tallies and two mirrors are joined, a line a wire")]
    fn update(&mut self) {
        clock!(self, clock, sending, requester, responder, requesters, responders);
        dff_setup!(self, clock, step, verb, object, does_exist, is_second, is_scrubbing, scrubbed);
        self.sending.reset.next = self.reset.val();
        self.requester.reset.next = self.reset.val();
        self.responder.reset.next = self.reset.val();
        self.ready.next = !self.is_scrubbing.q.val();
        self.busy.next =
            self.is_scrubbing.q.val() | (self.step.q.val() != Step::Idle) | self.change.valid.val();

        // Queue pairs that begin anew.
        self.is_second.d.next =
            self.change.valid.val() & !self.is_second.q.val() & !self.is_scrubbing.q.val();
        self.change.ready.next = self.is_second.q.val();
        self.clears.next = self.change.valid.val() & self.change.payload.val().resets;
        self.cleared.next = bit_cast::<QPS, 24>(self.change.payload.val().qpn);
        if self.is_scrubbing.q.val() {
            self.clears.next = true;
            self.cleared.next = self.scrubbed.q.val();
            self.scrubbed.d.next = self.scrubbed.q.val() + 1;
            self.is_scrubbing.d.next = self.scrubbed.q.val() != self.last.val();
        }

        // Counts.
        self.looks.next = (self.step.q.val() == Step::Look) | (self.step.q.val() == Step::LookAgain);
        self.index.next = bit_cast::<QPS, 32>(self.object.q.val());
        self.sending.counts.next = self.sending_counts.val();
        self.sending.index.next = self.sending_index.val();
        self.sending.looks.next = self.looks.val();
        self.sending.look_index.next = self.index.val();
        self.sending.clears.next = self.clears.val();
        self.sending.clear_index.next = self.cleared.val();
        self.requester.counts.next = self.requester_counts.val();
        self.requester.index.next = self.requester_index.val();
        self.requester.looks.next = self.looks.val();
        self.requester.look_index.next = self.index.val();
        self.requester.clears.next = self.clears.val();
        self.requester.clear_index.next = self.cleared.val();
        self.responder.counts.next = self.responder_counts.val();
        self.responder.index.next = self.responder_index.val();
        self.responder.looks.next = self.looks.val();
        self.responder.look_index.next = self.index.val();
        self.responder.clears.next = self.clears.val();
        self.responder.clear_index.next = self.cleared.val();

        // Rows. Those of a queue pair that resets are written by their owners.
        self.requesters.write_enable.next = self.requester_write.val() | self.is_scrubbing.q.val();
        self.requesters.write_address.next = self.requester_at.val();
        self.requesters.write_data.next = self.requester_row.val();
        self.responders.write_enable.next = self.responder_write.val() | self.is_scrubbing.q.val();
        self.responders.write_address.next = self.responder_at.val();
        self.responders.write_data.next = self.responder_row.val();
        if self.is_scrubbing.q.val() {
            self.requesters.write_address.next = self.scrubbed.q.val();
            self.requesters.write_data.next = self.no_requester.val();
            self.responders.write_address.next = self.scrubbed.q.val();
            self.responders.write_data.next = self.no_responder.val();
        }
        self.requesters.read_enable.next = self.looks.val();
        self.requesters.read_address.next = self.index.val();
        self.responders.read_enable.next = self.looks.val();
        self.responders.read_address.next = self.index.val();
        self.look.next = self.looks.val();
        self.look_index.next = self.index.val();

        // Commands.
        self.takes.next = (self.step.q.val() == Step::Idle) & !self.is_scrubbing.q.val();
        self.command.ready.next = self.takes.val();
        self.probe.next = bit_cast::<24, 32>(self.object.q.val());
        match self.step.q.val() {
            Step::Idle => {
                if self.takes.val() & self.command.valid.val() {
                    self.verb.d.next = self.command.payload.val().verb;
                    self.object.d.next = self.command.payload.val().object;
                    self.step.d.next = Step::Look;
                }
            }
            Step::Look => {
                self.does_exist.d.next = self.exists.val();
                self.step.d.next = Step::LookAgain;
            }
            Step::LookAgain => {
                self.step.d.next = Step::Collect;
            }
            Step::Collect => {
                self.step.d.next = Step::Answer;
            }
            Step::Answer => {
                if self.reply.ready.val() {
                    self.step.d.next = Step::Idle;
                }
            }
        }
        self.show.requester.next = self.requesters.read_data.val();
        self.show.acked.next = self.acked.val();
        self.show.responder.next = self.responders.read_data.val();
        self.show.posted.next = self.posted.val();
        self.show.sending_counts.next = self.sending.shown.val();
        self.show.requester_counts.next = self.requester.shown.val();
        self.show.responder_counts.next = self.responder.shown.val();
        self.reply.valid.next = self.step.q.val() == Step::Answer;
        self.reply.payload.next.field = 0.into();
        self.reply.payload.next.body = 0.into();
        if self.verb.q.val() != self.query.val() {
            self.reply.payload.next.status = self.unknown_verb.val();
        } else if (self.object.q.val() >> self.log.val()).any() {
            self.reply.payload.next.status = self.out_of_range.val();
        } else if !self.does_exist.q.val() {
            self.reply.payload.next.status = self.no_object.val();
        } else {
            self.reply.payload.next.status = self.done.val();
            self.reply.payload.next.body = self.show.body.val();
        }
        if self.reset.val() {
            self.step.d.next = Step::Idle;
            self.is_second.d.next = false;
            self.is_scrubbing.d.next = true;
            self.scrubbed.d.next = 0.into();
        }
    }
}
