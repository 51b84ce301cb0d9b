//! What tasks, notices, failures and changes make of what a queue pair owes.

use rust_hdl::prelude::*;
use stroma_abi::wire::{NakCode, Syndrome};

use super::rows::{AnswerRow, ReadEntry};
use crate::constant::number;
use crate::host::work::QpChange;
use crate::prim::reg::Reg;
use crate::transport::records::{Answer, Task, TxFailure};

block! {
    /// Writes down what is owed. One acknowledgement stands for all before it, so a newer one takes the place of one that
    /// waits; but a refusal ends the connection, and nothing takes its place.
    ///
    /// - **Ports** `asked`, `failure`, `change`: payloads, the first of a task; `tasks`, `notices`, `fails`, `alters`: which of them
    ///   counts. `row`, `entry`: of the queue pair, steady. `changed`: its row from now on; `queues`: it joins the line; `enters`, `entered`: a READ
    ///   or atomic comes to the tail; `drops`: it had no room; `tells`: the queue pair fails. `comes`: one that did not
    ///   come before; `forgets`, `resets`: those that wait are given up, or never were.
    /// - **Latency** 0 cycles, but 1 from `entry` to what a failure makes of it.
    /// - **Reset** none: nothing is kept beyond a cycle.
    pub struct Note {
        pub clock: Signal<In, Clock>,
        pub asked: Signal<In, Task>,
        pub failure: Signal<In, TxFailure>,
        pub change: Signal<In, QpChange>,
        pub tasks: Signal<In, Bit>,
        pub notices: Signal<In, Bit>,
        pub fails: Signal<In, Bit>,
        pub alters: Signal<In, Bit>,
        pub row: Signal<In, AnswerRow>,
        pub entry: Signal<In, ReadEntry>,
        pub changed: Signal<Out, AnswerRow>,
        pub queues: Signal<Out, Bit>,
        pub enters: Signal<Out, Bit>,
        pub entered: Signal<Out, ReadEntry>,
        pub drops: Signal<Out, Bit>,
        pub tells: Signal<Out, Bit>,
        pub comes: Signal<Out, Bit>,
        pub forgets: Signal<Out, Bit>,
        pub resets: Signal<Out, Bit>,
        /// Packets from the first of the READ at the head to the one that failed.
        away: Reg<Bits<24>>,
        length: Reg<Bits<32>>,
        msn: Reg<Bits<24>>,
        path_mtu: Reg<Bits<3>>,
        depth: Signal<Local, Bits<5>>,
        waiting_kind: Signal<Local, Bits<8>>,
        task_kind: Signal<Local, Bits<8>>,
        is_refusal: Signal<Local, Bit>,
        replaces: Signal<Local, Bit>,
        acknowledges: Signal<Local, Bit>,
        is_value: Signal<Local, Bit>,
        asks: Signal<Local, Bit>,
        reads: Signal<Local, Bit>,
        enters_now: Signal<Local, Bit>,
        notes: Signal<Local, Bit>,
        lead: Signal<Local, Bits<24>>,
        comes_first: Signal<Local, Bit>,
        stops: Signal<Local, Bit>,
        gives_up: Signal<Local, Bit>,
        breaks: Signal<Local, Bit>,
        bytes_before: Signal<Local, Bits<40>>,
        is_of_head: Signal<Local, Bit>,
        wants: Signal<Local, Bit>,
        full: Constant<Bits<5>> = number(1 << super::rows::READS_LOG),
        /// `128 << code` bytes a packet.
        unit_log: Constant<Bits<6>> = number(7),
        kind_at: Constant<Bits<4>> = number(5),
        positive: Constant<Bits<8>> = number(Syndrome::Ack { credits: 0 }.encode() >> 5),
        refused: Constant<Bits<8>> = number(GAP >> 5),
        gap: Constant<Bits<8>> = number(GAP),
        operational: Constant<Bits<8>> = number(Syndrome::Nak(NakCode::RemoteOperational).encode()),
        acknowledge: Constant<Bits<2>> = number(Answer::Acknowledge as u8),
        data: Constant<Bits<2>> = number(Answer::Data as u8),
        value: Constant<Bits<2>> = number(Answer::Value as u8),
    }
}

/// The one negative answer after which the connection goes on.
const GAP: u8 = Syndrome::Nak(NakCode::PsnSequence).encode();

impl Logic for Note {
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "a line for each field of the row, and what changes it")]
    fn update(&mut self) {
        dff_setup!(self, clock, away, length, msn, path_mtu);
        self.away.d.next = self.failure.val().psn - self.entry.val().psn;
        self.length.d.next = self.entry.val().length;
        self.msn.d.next = self.entry.val().msn;
        self.path_mtu.d.next = self.entry.val().path_mtu;
        self.bytes_before.next = (bit_cast::<40, 24>(self.away.q.val()) << self.unit_log.val())
            << bit_cast::<6, 3>(self.path_mtu.q.val());
        self.is_of_head.next = (self.row.val().head != self.row.val().tail)
            & (!self.away.q.val().any()
                | (self.bytes_before.val() < bit_cast::<40, 32>(self.length.q.val())));

        self.depth.next = self.row.val().tail - self.row.val().head;
        self.waiting_kind.next = self.row.val().syndrome >> self.kind_at.val();
        self.task_kind.next = self.asked.val().syndrome >> self.kind_at.val();
        self.is_refusal.next = self.row.val().acks & (self.waiting_kind.val() == self.refused.val());
        self.replaces.next = !self.is_refusal.val() | (self.row.val().syndrome == self.gap.val());
        self.acknowledges.next = self.tasks.val()
            & (self.asked.val().answer == self.acknowledge.val())
            & self.replaces.val()
            & (!self.row.val().stopped | (self.task_kind.val() == self.refused.val()));
        self.is_value.next = self.asked.val().answer == self.value.val();
        self.asks.next =
            self.tasks.val() & (self.is_value.val() | (self.asked.val().answer == self.data.val()));
        self.comes.next = self.asks.val() & self.asked.val().fresh;
        self.reads.next = self.asks.val() & !self.row.val().stopped;
        self.enters_now.next = self.reads.val() & (self.depth.val() != self.full.val());
        self.notes.next = self.notices.val() & !self.row.val().stopped;
        // A refusal of what came later must not go first: the peer would take it for a loss of what is missing.
        self.lead.next = self.row.val().ack_psn - self.failure.val().psn;
        self.comes_first.next = self.lead.val().any() & !self.lead.val().get_bit(23);
        self.breaks.next = self.fails.val()
            & self.failure.val().is_response
            & (self.replaces.val() | self.comes_first.val());
        self.stops.next = self.alters.val() & self.change.val().stops;
        self.gives_up.next = self.breaks.val()
            | (self.stops.val() & (self.change.val().ends | self.replaces.val() | !self.row.val().acks));

        self.wants.next =
            self.acknowledges.val() | self.enters_now.val() | self.notes.val() | self.breaks.val();
        self.queues.next = self.wants.val() & !self.row.val().queued;
        self.drops.next = self.reads.val() & !self.enters_now.val();
        self.tells.next = self.breaks.val();
        self.enters.next = self.enters_now.val();
        self.entered.next.is_value = self.is_value.val();
        self.entered.next.fresh = self.asked.val().fresh;
        self.entered.next.psn = self.asked.val().psn;
        self.entered.next.msn = self.asked.val().msn;
        self.entered.next.va = self.asked.val().va;
        self.entered.next.key = self.asked.val().key;
        self.entered.next.length = self.asked.val().length;
        self.entered.next.path_mtu = self.asked.val().path_mtu;
        self.entered.next.pd = self.asked.val().pd;
        self.entered.next.ticket = self.asked.val().ticket;
        if self.is_value.val() {
            self.entered.next.va = self.asked.val().value;
            self.entered.next.length = 0.into();
        }

        self.changed.next.acks = self.row.val().acks;
        self.changed.next.ack_psn = self.row.val().ack_psn;
        self.changed.next.ack_msn = self.row.val().ack_msn;
        self.changed.next.syndrome = self.row.val().syndrome;
        self.changed.next.ack_after = self.row.val().ack_after;
        self.changed.next.head = self.row.val().head;
        self.changed.next.tail = self.row.val().tail;
        self.changed.next.sent = self.row.val().sent;
        self.changed.next.next_psn = self.row.val().next_psn;
        self.changed.next.due_to = self.row.val().due_to;
        self.changed.next.last_ticket = self.row.val().last_ticket;
        self.changed.next.cnp_due = self.row.val().cnp_due | self.notes.val();
        self.changed.next.queued = self.row.val().queued | self.wants.val();
        self.changed.next.stopped = self.row.val().stopped;
        if self.acknowledges.val() {
            self.changed.next.acks = true;
            self.changed.next.ack_psn = self.asked.val().psn;
            self.changed.next.ack_msn = self.asked.val().msn;
            self.changed.next.syndrome = self.asked.val().syndrome;
            self.changed.next.ack_after = self.row.val().tail;
        }
        if self.enters_now.val() {
            self.changed.next.tail = self.row.val().tail + 1;
            // An atomic waits for no ticket, and must not hide that of the READ before it.
            if !self.is_value.val() {
                self.changed.next.last_ticket = self.asked.val().ticket;
            }
            // The answer to a new one says that all before it arrived.
            self.changed.next.acks = self.row.val().acks
                & !(self.asked.val().fresh & (self.waiting_kind.val() == self.positive.val()));
        }
        if self.stops.val() {
            self.changed.next.cnp_due = false;
            self.changed.next.stopped = true;
        }
        self.forgets.next = self.gives_up.val();
        if self.gives_up.val() {
            self.changed.next.acks = self.is_refusal.val() & !self.change.val().ends;
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
            self.changed.next.ack_psn = self.failure.val().psn;
            self.changed.next.ack_msn = 0.into();
            if self.is_of_head.val() {
                self.changed.next.ack_msn = self.msn.q.val();
            }
            self.changed.next.syndrome = self.operational.val();
        }
        self.resets.next = self.alters.val() & self.change.val().resets;
        if self.alters.val() & self.change.val().resets {
            self.changed.next.acks = false;
            self.changed.next.head = self.row.val().tail;
            self.changed.next.due_to = self.row.val().tail;
            self.changed.next.sent = 0.into();
            self.changed.next.cnp_due = false;
            self.changed.next.stopped = false;
        }
    }
}
