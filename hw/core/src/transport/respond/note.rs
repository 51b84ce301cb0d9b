//! What tasks, notices, failures and changes make of what a queue pair owes.

use rust_hdl::prelude::*;
use stroma_abi::wire::{NakCode, Syndrome};

use super::calls::Calls;
use super::locate::Locate;
use super::rows::{AnswerRow, EntryKind, Outcome, ReadEntry};
use crate::constant::number;
use crate::host::work::QpChange;
use crate::prim::reg::Reg;
use crate::transport::records::{Answer, Task, TxFailure};

block! {
    /// Writes down what is owed. One acknowledgement stands for all before it, so a newer one takes the place of one that
    /// waits; but a refusal ends the connection, and nothing takes its place. A positive one for an older request, which has come
    /// again, does not take that of a NAK either: the NAK acknowledges as much, and nothing but it says what is missing.
    ///
    /// A READ that came before and begins within the packets of the head that have gone, behind their first, or with the next one, is a
    /// requester that goes back: a copy that the wire made of a request begins where that began. It asks again for everything
    /// behind as well. So that READ takes the place of all that waits: READs, atomics, and a positive acknowledgement,
    /// which would come before the data and look like a loss. Another acknowledgement stays, behind it. So does the answer of an RPC
    /// that is asked for again; by its PSN it is that of the RPC at the head.
    ///
    /// An RPC may run for long. So, other than a READ, it does not speak for an acknowledgement that waits. A queue pair that
    /// stops has its RPCs given up, and what waits behind one would wait for ever: all is given up but a refusal.
    ///
    /// A notice leaves a congestion notification to be sent, unless the last one was sent less than `interval` ago.
    ///
    /// - **Ports** `now`: cycles; `interval`: those from one notification to the next. `asked`, `failure`, `change`: payloads, the first of a task, kept with `looks`; `tasks`, `notices`, `fails`, `alters`: from
    ///   the next cycle on, which of them counts. `row`: of the queue pair, steady; `entry`: likewise, in the first cycle. `keeps`: the READ at the head stays what it is. `changed`: its row from now on, but for
    ///   the counts; `queues`: it joins the line; `enters`, `entered`: a READ
    ///   or atomic comes to the tail, which is the head of `changed` when it takes the place of all; `drops`: it had no room; `tells`: the
    ///   queue pair fails. `comes`: one that did not come before; `forgets`, `resets`: those that wait are given up, or
    ///   never were. `finishes`, `place`, `outcome`: an RPC is finished, if it is there. `frees`, `stage`: what is at that place of the staging is not needed.
    /// - **Latency** 1 cycle from `looks`, and 2 to what a failure makes of `entry`. **Rate** an operation a cycle.
    /// - **Reset** none: nothing counts before `looks`.
    pub struct Note {
        pub clock: Signal<In, Clock>,
        pub now: Signal<In, Bits<32>>,
        pub interval: Signal<In, Bits<32>>,
        pub asked: Signal<In, Task>,
        pub failure: Signal<In, TxFailure>,
        pub change: Signal<In, QpChange>,
        pub looks: Signal<In, Bit>,
        pub tasks: Signal<In, Bit>,
        pub notices: Signal<In, Bit>,
        pub fails: Signal<In, Bit>,
        pub alters: Signal<In, Bit>,
        pub row: Signal<In, AnswerRow>,
        pub entry: Signal<In, ReadEntry>,
        pub keeps: Signal<Out, Bit>,
        pub changed: Signal<Out, AnswerRow>,
        pub queues: Signal<Out, Bit>,
        pub enters: Signal<Out, Bit>,
        pub entered: Signal<Out, ReadEntry>,
        pub drops: Signal<Out, Bit>,
        pub tells: Signal<Out, Bit>,
        pub comes: Signal<Out, Bit>,
        pub forgets: Signal<Out, Bit>,
        pub resets: Signal<Out, Bit>,
        pub finishes: Signal<Out, Bit>,
        pub place: Signal<Out, Bits<4>>,
        pub outcome: Signal<Out, Outcome>,
        pub frees: Signal<Out, Bit>,
        pub stage: Signal<Out, Bits<5>>,
        locate: Locate,
        calls: Calls,
        task: Reg<Task>,
        failed: Reg<TxFailure>,
        /// The task brings nothing among the READs; if anything, at the end of them.
        is_no_entry: Reg<Bit>,
        is_last_entry: Reg<Bit>,
        altered: Reg<QpChange>,
        is_acknowledgement: Signal<Local, Bit>,
        depth: Signal<Local, Bits<5>>,
        waiting_kind: Signal<Local, Bits<8>>,
        task_kind: Signal<Local, Bits<8>>,
        is_refusal: Signal<Local, Bit>,
        replaces: Signal<Local, Bit>,
        distance: Signal<Local, Bits<24>>,
        is_older: Signal<Local, Bit>,
        acknowledges: Signal<Local, Bit>,
        is_value: Signal<Local, Bit>,
        is_data: Signal<Local, Bit>,
        loses: Signal<Local, Bit>,
        asks: Signal<Local, Bit>,
        reads: Signal<Local, Bit>,
        takes_over: Signal<Local, Bit>,
        enters_now: Signal<Local, Bit>,
        age: Signal<Local, Bits<32>>,
        notes: Signal<Local, Bit>,
        lead: Signal<Local, Bits<24>>,
        comes_first: Signal<Local, Bit>,
        stops: Signal<Local, Bit>,
        gives_up: Signal<Local, Bit>,
        breaks: Signal<Local, Bit>,
        wants: Signal<Local, Bit>,
        full: Constant<Bits<5>> = number(1 << super::rows::READS_LOG),
        kind_at: Constant<Bits<4>> = number(5),
        positive: Constant<Bits<8>> = number(Syndrome::Ack { credits: 0 }.encode() >> 5),
        refused: Constant<Bits<8>> = number(GAP >> 5),
        gap: Constant<Bits<8>> = number(GAP),
        operational: Constant<Bits<8>> = number(Syndrome::Nak(NakCode::RemoteOperational).encode()),
        acknowledge: Constant<Bits<3>> = number(Answer::Acknowledge as u8),
        data: Constant<Bits<3>> = number(Answer::Data as u8),
        value: Constant<Bits<3>> = number(Answer::Value as u8),
        result: Constant<Bits<3>> = number(Answer::Result as u8),
        finished: Constant<Bits<3>> = number(Answer::Finished as u8),
        replay: Constant<Bits<3>> = number(Answer::Replay as u8),
        pending: Constant<Bits<3>> = number(Answer::Pending as u8),
        data_entry: Constant<Bits<2>> = number(EntryKind::Data as u8),
        value_entry: Constant<Bits<2>> = number(EntryKind::Value as u8),
    }
}

/// The one negative answer after which the connection goes on.
const GAP: u8 = Syndrome::Nak(NakCode::PsnSequence).encode();

impl Logic for Note {
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "a line for each field of the row, and what changes it")]
    fn update(&mut self) {
        clock!(self, clock, locate);
        dff_setup!(self, clock, task, failed, altered, is_no_entry, is_last_entry);
        if self.looks.val() {
            self.task.d.next = self.asked.val();
            self.failed.d.next = self.failure.val();
            self.altered.d.next = self.change.val();
            self.is_no_entry.d.next = (self.asked.val().answer == self.acknowledge.val())
                | (self.asked.val().answer == self.finished.val());
            self.is_last_entry.d.next = ((self.asked.val().answer == self.data.val())
                & self.asked.val().fresh)
                | (self.asked.val().answer == self.value.val())
                | (self.asked.val().answer == self.result.val())
                | (self.asked.val().answer == self.pending.val());
            if self.asked.val().answer == self.value.val() {
                self.task.d.next.va = self.asked.val().value;
                self.task.d.next.length = 0.into();
            }
            if (self.asked.val().answer == self.result.val())
                | (self.asked.val().answer == self.pending.val())
            {
                self.task.d.next.va = 0.into();
                self.task.d.next.length = 0.into();
            }
            if self.asked.val().answer == self.replay.val() {
                self.task.d.next.key = self.asked.val().status;
            }
            if (self.asked.val().answer == self.replay.val())
                | (self.asked.val().answer == self.pending.val())
            {
                self.task.d.next.fresh = false;
            }
        }
        self.calls.tasks.next = self.tasks.val();
        self.calls.asked.next = self.task.q.val();
        self.calls.row.next = self.row.val();
        self.calls.entry.next = self.entry.val();
        self.locate.row.next = self.row.val();
        self.locate.entry.next = self.entry.val();
        self.locate.failed.next = self.failed.q.val().psn;
        self.locate.again.next = self.task.q.val().psn;
        self.locate.path_mtu.next = self.task.q.val().path_mtu;

        self.depth.next = self.row.val().tail - self.row.val().head;
        self.waiting_kind.next = self.row.val().syndrome >> self.kind_at.val();
        self.task_kind.next = self.task.q.val().syndrome >> self.kind_at.val();
        self.is_refusal.next = self.row.val().acks & (self.waiting_kind.val() == self.refused.val());
        self.replaces.next = !self.is_refusal.val() | (self.row.val().syndrome == self.gap.val());
        self.distance.next = self.task.q.val().psn - self.row.val().ack_psn;
        self.is_older.next = self.row.val().acks
            & (self.waiting_kind.val() != self.positive.val())
            & (self.task_kind.val() == self.positive.val())
            & self.distance.val().get_bit(23);
        self.is_acknowledgement.next = self.task.q.val().answer == self.acknowledge.val();
        self.acknowledges.next = self.tasks.val()
            & self.is_acknowledgement.val()
            & self.replaces.val()
            & !self.is_older.val()
            & (!self.row.val().stopped | (self.task_kind.val() == self.refused.val()));
        self.is_value.next = self.task.q.val().answer == self.value.val();
        self.is_data.next = self.task.q.val().answer == self.data.val();
        self.asks.next =
            (self.tasks.val() & (self.is_value.val() | self.is_data.val())) | self.calls.asks.val();
        // Told early in the cycle, and so more often denied than need be.
        self.keeps.next = self.notices.val()
            | (self.tasks.val()
                & (self.is_no_entry.q.val() | (self.is_last_entry.q.val() & self.depth.val().any())));
        self.comes.next = self.asks.val() & self.task.q.val().fresh;
        self.reads.next = self.asks.val() & !self.row.val().stopped;
        self.takes_over.next = self.reads.val()
            & (self.is_data.val() | self.calls.is_replay.val())
            & !self.task.q.val().fresh
            & self.locate.goes_back.val();
        self.enters_now.next = self.reads.val()
            & (self.takes_over.val() | ((self.depth.val() != self.full.val()) & !self.calls.bars.val()));
        self.age.next = self.now.val() - self.row.val().cnp_at;
        self.notes.next = self.notices.val()
            & !self.row.val().stopped
            & !(self.row.val().cnp_sent & (self.age.val() < self.interval.val()));
        // A refusal of what came later must not go first: the peer would take it for a loss of what is missing.
        self.lead.next = self.row.val().ack_psn - self.failed.q.val().psn;
        self.comes_first.next = self.lead.val().any() & !self.lead.val().get_bit(23);
        self.breaks.next = self.fails.val()
            & self.failed.q.val().is_response
            & (self.replaces.val() | self.comes_first.val());
        self.stops.next = self.alters.val() & self.altered.q.val().stops;
        self.gives_up.next = self.breaks.val()
            | (self.stops.val()
                & (self.altered.q.val().ends
                    | self.replaces.val()
                    | !self.row.val().acks
                    | self.row.val().waits.any()));

        // A READ that has no room is no reason either, but a visit to those before it does no harm.
        self.wants.next = self.acknowledges.val()
            | (self.reads.val() & (self.is_value.val() | self.is_data.val()))
            | (self.calls.wakes.val() & !self.row.val().stopped)
            | self.notes.val()
            | self.breaks.val()
            // A refusal that waited behind an RPC goes at once, and its queue pair may not stand in line.
            | (self.stops.val() & self.row.val().waits.any());
        self.queues.next = self.wants.val() & !self.row.val().queued;
        self.drops.next = self.reads.val() & !self.enters_now.val();
        self.tells.next = self.breaks.val();
        self.enters.next = self.enters_now.val();
        self.entered.next.kind = self.calls.kind.val();
        self.entered.next.ticket = self.calls.ticket.val();
        if self.is_data.val() {
            self.entered.next.kind = self.data_entry.val();
            self.entered.next.ticket = self.task.q.val().ticket;
        }
        if self.is_value.val() {
            self.entered.next.kind = self.value_entry.val();
        }
        self.entered.next.fresh = self.task.q.val().fresh;
        self.entered.next.psn = self.task.q.val().psn;
        self.entered.next.msn = self.task.q.val().msn;
        self.entered.next.va = self.task.q.val().va;
        self.entered.next.key = self.task.q.val().key;
        self.entered.next.length = self.task.q.val().length;
        self.entered.next.path_mtu = self.task.q.val().path_mtu;
        self.entered.next.pd = self.task.q.val().pd;

        self.changed.next.acks = self.row.val().acks;
        self.changed.next.ack_psn = self.row.val().ack_psn;
        self.changed.next.ack_msn = self.row.val().ack_msn;
        self.changed.next.syndrome = self.row.val().syndrome;
        self.changed.next.ack_after = self.row.val().ack_after;
        self.changed.next.head = self.row.val().head;
        self.changed.next.tail = self.row.val().tail;
        self.changed.next.sent = self.row.val().sent;
        self.changed.next.next_psn = self.calls.next_psn.val();
        self.changed.next.due_to = self.row.val().due_to;
        self.changed.next.last_ticket = self.row.val().last_ticket;
        self.changed.next.cnp_due = self.row.val().cnp_due | self.notes.val();
        self.changed.next.cnp_sent = self.row.val().cnp_sent;
        self.changed.next.cnp_at = self.row.val().cnp_at;
        self.changed.next.queued = self.row.val().queued | self.wants.val();
        self.changed.next.stopped = self.row.val().stopped;
        self.changed.next.came = self.row.val().came;
        self.changed.next.over = self.row.val().over;
        self.changed.next.waits = self.row.val().waits;
        self.changed.next.finished = self.calls.finished.val();
        self.changed.next.staged = self.calls.staged.val();
        self.changed.next.stage = self.calls.stage.val();
        self.changed.next.is_busy = self.calls.is_busy.val();
        self.changed.next.newest = self.calls.newest.val();
        self.changed.next.lap = self.calls.lap.val();
        if self.acknowledges.val() {
            self.changed.next.acks = true;
            self.changed.next.ack_psn = self.task.q.val().psn;
            self.changed.next.ack_msn = self.task.q.val().msn;
            self.changed.next.syndrome = self.task.q.val().syndrome;
            self.changed.next.ack_after = self.row.val().tail;
        }
        if self.enters_now.val() {
            self.changed.next.tail = self.row.val().tail + 1;
            // Atomics and RPCs wait for no ticket, and must not hide that of the READ before them.
            if self.is_data.val() {
                self.changed.next.last_ticket = self.task.q.val().ticket;
            } else if self.row.val().due_to == self.row.val().tail {
                self.changed.next.due_to = self.row.val().tail + 1;
            }
            if self.calls.marks.val() {
                self.changed.next.waits = self.row.val().waits | self.calls.mark.val();
            }
            // The answer to a new one says that all before it arrived.
            self.changed.next.acks = self.row.val().acks
                & !(((self.task.q.val().fresh & !self.calls.marks.val()) | self.takes_over.val())
                    & (self.waiting_kind.val() == self.positive.val()));
        }
        if self.takes_over.val() {
            self.changed.next.head = self.row.val().tail;
            self.changed.next.due_to = self.row.val().tail;
            if !self.is_data.val() {
                self.changed.next.due_to = self.row.val().tail + 1;
            }
            self.changed.next.sent = 0.into();
            self.changed.next.ack_after = self.row.val().tail + 1;
        }
        if self.stops.val() {
            self.changed.next.cnp_due = false;
            self.changed.next.stopped = true;
        }
        self.forgets.next = self.gives_up.val() | self.takes_over.val();
        if self.gives_up.val() {
            self.changed.next.acks = self.is_refusal.val() & !self.altered.q.val().ends;
            self.changed.next.ack_after = self.row.val().tail;
            self.changed.next.head = self.row.val().tail;
            self.changed.next.due_to = self.row.val().tail;
            self.changed.next.sent = 0.into();
            self.changed.next.cnp_due = false;
            self.changed.next.stopped = true;
        }
        if self.breaks.val() {
            // What failed comes before all that waits.
            self.changed.next.acks = true;
            self.changed.next.ack_psn = self.failed.q.val().psn;
            self.changed.next.ack_msn = 0.into();
            if self.locate.is_of_head.val() {
                self.changed.next.ack_msn = self.locate.msn.val();
            }
            self.changed.next.syndrome = self.operational.val();
        }
        self.resets.next = self.alters.val() & self.altered.q.val().resets;
        if self.alters.val() & self.altered.q.val().resets {
            self.changed.next.acks = false;
            self.changed.next.head = self.row.val().tail;
            self.changed.next.due_to = self.row.val().tail;
            self.changed.next.sent = 0.into();
            self.changed.next.cnp_due = false;
            self.changed.next.cnp_sent = false;
            self.changed.next.stopped = false;
            self.changed.next.newest = 0.into();
            self.changed.next.lap = false;
        }
        self.loses.next = self.gives_up.val() | (self.alters.val() & self.altered.q.val().resets);
        if self.loses.val() | self.takes_over.val() {
            self.changed.next.waits = 0.into();
            self.changed.next.finished = 0.into();
            self.changed.next.staged = false;
            self.changed.next.is_busy = false;
        }
        self.finishes.next = self.tasks.val() & (self.task.q.val().answer == self.finished.val());
        self.place.next = self.task.q.val().place;
        self.outcome.next.length = bit_cast::<17, 32>(self.task.q.val().length);
        self.outcome.next.status = self.task.q.val().status;
        // Nothing has gone of an answer that is to go from the staging, so nobody goes back behind it.
        self.frees.next = self.calls.frees.val() | (self.loses.val() & self.row.val().staged);
        self.stage.next = self.row.val().stage;
        if self.calls.frees.val() {
            self.stage.next = self.task.q.val().stage;
        }
    }
}
