//! A visit: what a queue pair sends when it is its turn.

use rust_hdl::prelude::*;
use stroma_abi::desc::region::rights;
use stroma_abi::wire::{Syndrome, opcode};

use super::rows::{AnswerRow, EntryKind, Outcome, ReadEntry};
use crate::constant::number;
use crate::fabric::records::ResultRow;
use crate::prim::reg::Reg;
use crate::transport::records::TxStep;

/// Packets of a READ or RPC that a visit sends at most.
pub const BURST: usize = 4;

block! {
    /// Makes the steps of a visit: a congestion notification, or up to four packets of the READ or RPC at the head, or the one of an
    /// atomic there, or the acknowledgement that waits; nothing while the ticket of the READ is not done, or the RPC is not
    /// finished. Each visit notes which tickets are done, and one that may not send does nothing else.
    ///
    /// An RPC that runs may do so for long. Its queue pair leaves the line, and whoever knows that it is finished has it join again;
    /// but not before the tickets of all READs behind it are done, because they are noted by visits alone.
    ///
    /// - **Ports** `number`, `row`: the queue pair, steady. `decides`: the first cycle of the visit, with `entry`; `lengthens`: the data
    ///   of a READ is sent in those behind it, `continues`, while `stays`. Of an RPC the first of them sends nothing: in it
    ///   `outcome` and `area` are there, what it ended with, and where its queue pair's results are. `done`, `colour`: as of
    ///   [`Respond`](super::Respond). `may_send`: the visit may, and its steps have room; otherwise it only notes, and its queue pair stays in line where it is. `now`: cycles. `gives`, `step`: a step of
    ///   this cycle; `gives_cnp`: it is a notification. With the last cycle `changed`: the row from now on, but for the counts. `joins`: something is left, and the queue pair goes to the end of the
    ///   line; with `decides` or in the last cycle, once, as early as it is known. With the last cycle `finishes`: a READ, atomic or RPC that came for the first time is answered.
    ///   `sends_stage`, `frees_stage`: the payload of this cycle's step is at the row's `stage` of the staging; the step needs none from there. `outdates`: an RPC that
    ///   was asked for again is not answered, because its place has been taken by a newer one.
    /// - **Latency** 0 cycles from `decides` to a notification or acknowledgement, 1 to data, 2 to those of an RPC. **Rate** a step per cycle.
    /// - **Reset** none: nothing is kept from one visit to the next.
    pub struct Serve<const QPS: usize> {
        pub clock: Signal<In, Clock>,
        pub number: Signal<In, Bits<QPS>>,
        pub row: Signal<In, AnswerRow>,
        pub entry: Signal<In, ReadEntry>,
        pub decides: Signal<In, Bit>,
        pub continues: Signal<In, Bit>,
        pub done: Signal<In, Bits<16>>,
        pub colour: Signal<In, Bit>,
        pub may_send: Signal<In, Bit>,
        pub now: Signal<In, Bits<32>>,
        pub lengthens: Signal<Out, Bit>,
        pub stays: Signal<Out, Bit>,
        pub gives: Signal<Out, Bit>,
        pub gives_cnp: Signal<Out, Bit>,
        pub step: Signal<Out, TxStep>,
        pub changed: Signal<Out, AnswerRow>,
        pub joins: Signal<Out, Bit>,
        pub finishes: Signal<Out, Bit>,
        pub outcome: Signal<In, Outcome>,
        pub area: Signal<In, ResultRow>,
        pub sends_stage: Signal<Out, Bit>,
        pub frees_stage: Signal<Out, Bit>,
        pub outdates: Signal<Out, Bit>,
        is_due: Reg<Bit>,
        /// Of an RPC: the cycle in which it turns out where its answer is, and what was found.
        prepares: Reg<Bit>,
        is_staged: Reg<Bit>,
        is_busy: Reg<Bit>,
        is_outdated: Reg<Bit>,
        held: Reg<ReadEntry>,
        key: Reg<Bits<32>>,
        /// Of the next packet: its place, its PSN, bytes before it and from it on.
        address: Reg<Bits<64>>,
        psn: Reg<Bits<24>>,
        sent: Reg<Bits<32>>,
        left: Reg<Bits<32>>,
        /// The latter less one, whose top bit says that none are left; those of its bits that count whole packets.
        left_less_one: Reg<Bits<33>>,
        whole: Reg<Bits<33>>,
        before: Signal<Local, Bits<33>>,
        packets: Reg<Bits<2>>,
        late_by: Signal<Local, Bits<16>>,
        last_by: Signal<Local, Bits<16>>,
        are_all_due: Signal<Local, Bit>,
        has_read: Signal<Local, Bit>,
        is_call: Signal<Local, Bit>,
        is_result: Signal<Local, Bit>,
        place: Signal<Local, Bits<4>>,
        mark: Signal<Local, Bits<16>>,
        whole_length: Signal<Local, Bits<17>>,
        offset: Signal<Local, Bits<17>>,
        beyond: Signal<Local, Bits<33>>,
        tells_busy: Signal<Local, Bit>,
        is_outdated_now: Signal<Local, Bit>,
        outdates_now: Signal<Local, Bit>,
        goes: Signal<Local, Bit>,
        ends: Signal<Local, Bit>,
        is_stuck: Signal<Local, Bit>,
        has_result: Signal<Local, Bit>,
        reads: Signal<Local, Bit>,
        /// Something is left, whatever becomes of the READ at the head.
        has_more: Signal<Local, Bit>,
        queues: Signal<Local, Bit>,
        sends: Signal<Local, Bit>,
        answers: Signal<Local, Bit>,
        mtu: Signal<Local, Bits<32>>,
        is_first: Signal<Local, Bit>,
        is_last: Signal<Local, Bit>,
        bytes: Signal<Local, Bits<13>>,
        aeth: Signal<Local, Bits<32>>,
        shortest: Constant<Bits<32>> = number(128),
        /// The bits that count those.
        whole_units: Constant<Bits<33>> = number(u32::MAX - 127),
        syndrome_at: Constant<Bits<6>> = number(24),
        last_packet: Constant<Bits<2>> = number(BURST - 1),
        positive: Constant<Bits<8>> = number(Syndrome::Ack { credits: 31 }.encode()),
        read_right: Constant<Bits<5>> = number(rights::REMOTE_READ),
        notification: Constant<Bits<8>> = number(opcode::CNP.code),
        acknowledgement: Constant<Bits<8>> = number(opcode::RC_ACKNOWLEDGE.code),
        first: Constant<Bits<8>> = number(opcode::RC_READ_RESPONSE_FIRST.code),
        middle: Constant<Bits<8>> = number(opcode::RC_READ_RESPONSE_MIDDLE.code),
        last: Constant<Bits<8>> = number(opcode::RC_READ_RESPONSE_LAST.code),
        only: Constant<Bits<8>> = number(opcode::RC_READ_RESPONSE_ONLY.code),
        atomic: Constant<Bits<8>> = number(opcode::RC_ATOMIC_ACKNOWLEDGE.code),
        response: Constant<Bits<8>> = number(opcode::RPC_RESPONSE.code),
        response_end: Constant<Bits<8>> = number(opcode::RPC_RESPONSE_END.code),
        busy: Constant<Bits<8>> = number(opcode::RPC_BUSY.code),
        value_entry: Constant<Bits<2>> = number(EntryKind::Value as u8),
        result_entry: Constant<Bits<2>> = number(EntryKind::Result as u8),
        one: Constant<Bits<16>> = number(1),
        page_log: Constant<Bits<64>> = number(12),
        status_at: Constant<Bits<64>> = number(32),
        /// An answer of one step.
        blank: Constant<TxStep> =
            Constant::new(TxStep { last: true, is_response: true, frees: true, ..TxStep::default() }),
    }
}

impl<const QPS: usize> Logic for Serve<QPS> {
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "a line for each field of the step, and of the row behind it")]
    fn update(&mut self) {
        dff_setup!(self, clock, is_due, held, address, psn, sent, left, left_less_one, whole, packets);
        dff_setup!(self, clock, prepares, is_staged, is_busy, is_outdated, key);
        self.has_read.next = self.row.val().head != self.row.val().tail;
        self.reads.next = !self.row.val().cnp_due
            & self.has_read.val()
            & !(self.row.val().acks & (self.row.val().ack_after == self.row.val().head));
        self.answers.next = !self.row.val().cnp_due & !self.reads.val() & self.row.val().acks;
        self.lengthens.next = self.reads.val() & self.may_send.val();
        self.has_more.next = self.row.val().acks | ((self.row.val().head + 1) != self.row.val().tail);

        // The READ at the head, from where the last visit ended.
        self.late_by.next = self.done.val() - self.entry.val().ticket;
        // A ticket that is done would look like one to come when as many more are done as half of them: so it is noted.
        self.last_by.next = self.done.val() - self.row.val().last_ticket;
        self.are_all_due.next = !self.last_by.val().get_bit(15);
        self.before.next = bit_cast::<33, 32>(self.row.val().sent);
        if self.decides.val() {
            self.prepares.d.next = self.entry.val().kind.get_bit(1);
            self.is_staged.d.next = false;
            self.is_busy.d.next = false;
            self.is_outdated.d.next = false;
            self.key.d.next = self.entry.val().key;
            self.is_due.d.next = !self.entry.val().kind.get_bit(1)
                & (self.entry.val().kind.get_bit(0)
                    | !self.late_by.val().get_bit(15)
                    | (self.row.val().due_to != self.row.val().head));
            self.held.d.next = self.entry.val();
            self.address.d.next = self.entry.val().va + bit_cast::<64, 32>(self.row.val().sent);
            self.psn.d.next = self.entry.val().psn;
            if self.row.val().sent.any() {
                self.psn.d.next = self.row.val().next_psn;
            }
            self.sent.d.next = self.row.val().sent;
            self.left.d.next = self.entry.val().length - self.row.val().sent;
            // a + !b is a - b - 1.
            self.left_less_one.d.next = bit_cast::<33, 32>(self.entry.val().length) + !self.before.val();
            self.whole.d.next = self.whole_units.val() << bit_cast::<33, 3>(self.entry.val().path_mtu);
            self.packets.d.next = 0.into();
        }
        // The answer of an RPC: in the staging, or in its place of the area, and its status and length where the entry does not have them.
        self.is_call.next = self.held.q.val().kind.get_bit(1);
        self.is_result.next = self.held.q.val().kind == self.result_entry.val();
        self.place.next = bit_cast::<4, 16>(self.held.q.val().ticket);
        self.mark.next = self.one.val() << bit_cast::<16, 4>(self.place.val());
        self.offset.next = bit_cast::<17, 64>(self.address.q.val());
        self.beyond.next = bit_cast::<33, 17>(self.offset.val());
        self.whole_length.next = bit_cast::<17, 32>(self.held.q.val().length);
        if self.is_result.val() {
            self.whole_length.next = self.outcome.val().length;
        }
        self.has_result.next = self.row.val().waits.any();
        self.tells_busy.next = self.is_result.val() & self.row.val().is_busy;
        self.is_outdated_now.next = !self.is_result.val()
            & (self.held.q.val().ticket.get_bit(4)
                ^ self.row.val().lap
                ^ (self.row.val().newest < self.place.val()));
        if self.continues.val() & self.prepares.q.val() {
            self.prepares.d.next = false;
            self.is_due.d.next = !self.tells_busy.val()
                & !self.is_outdated_now.val()
                & (!self.is_result.val()
                    | self.row.val().staged
                    | (self.row.val().finished & self.mark.val()).any());
            self.is_staged.d.next = self.is_result.val() & self.row.val().staged;
            self.is_busy.d.next = self.tells_busy.val();
            self.is_outdated.d.next = self.is_outdated_now.val();
            if self.is_result.val() {
                self.held.d.next.key = self.outcome.val().status;
                self.held.d.next.length = bit_cast::<32, 17>(self.outcome.val().length);
            }
            self.key.d.next = self.area.val().key;
            self.address.d.next = (bit_cast::<64, 52>(self.area.val().base) << self.page_log.val())
                | (bit_cast::<64, 4>(self.place.val()) << bit_cast::<64, 5>(self.area.val().log))
                | bit_cast::<64, 17>(self.offset.val());
            self.left.d.next = bit_cast::<32, 17>(self.whole_length.val() - self.offset.val());
            self.left_less_one.d.next = bit_cast::<33, 17>(self.whole_length.val()) + !self.beyond.val();
        }
        self.mtu.next = self.shortest.val() << self.held.q.val().path_mtu;
        self.is_first.next = !self.sent.q.val().any();
        self.is_last.next =
            self.left_less_one.q.val().get_bit(32) | !(self.left_less_one.q.val() & self.whole.q.val()).any();
        self.bytes.next = bit_cast::<13, 32>(self.mtu.val());
        if self.is_last.val() {
            self.bytes.next = bit_cast::<13, 32>(self.left.q.val());
        }
        if self.continues.val() & !self.prepares.q.val() {
            self.address.d.next = self.address.q.val() + bit_cast::<64, 32>(self.mtu.val());
            self.psn.d.next = self.psn.q.val() + 1;
            self.sent.d.next = self.sent.q.val() + self.mtu.val();
            self.left.d.next = self.left.q.val() - self.mtu.val();
            self.left_less_one.d.next = self.left_less_one.q.val() - bit_cast::<33, 32>(self.mtu.val());
            self.packets.d.next = self.packets.q.val() + 1;
        }
        self.stays.next = self.prepares.q.val()
            | (self.is_due.q.val() & !self.is_last.val() & (self.packets.q.val() != self.last_packet.val()));

        self.aeth.next = (bit_cast::<32, 8>(self.positive.val()) << self.syndrome_at.val())
            | bit_cast::<32, 24>(self.held.q.val().msn);
        self.step.next = self.blank.val();
        self.step.next.qpn = bit_cast::<24, QPS>(self.number.val());
        self.step.next.colour = self.colour.val();
        self.step.next.op = self.notification.val();
        self.gives.next =
            self.decides.val() & self.may_send.val() & (self.row.val().cnp_due | self.answers.val());
        self.gives_cnp.next = self.decides.val() & self.may_send.val() & self.row.val().cnp_due;
        if !self.row.val().cnp_due {
            self.step.next.op = self.acknowledgement.val();
            self.step.next.psn = self.row.val().ack_psn;
            self.step.next.aeth = (bit_cast::<32, 8>(self.row.val().syndrome) << self.syndrome_at.val())
                | bit_cast::<32, 24>(self.row.val().ack_msn);
        }
        if self.continues.val() {
            self.gives.next = self.is_due.q.val() | self.is_busy.q.val();
            self.step.next.psn = self.psn.q.val();
            self.step.next.op = self.middle.val();
            self.step.next.aeth = 0.into();
            if self.is_first.val() | self.is_last.val() {
                self.step.next.aeth = self.aeth.val();
                self.step.next.op = self.last.val();
            }
            if self.is_first.val() {
                self.step.next.op = self.first.val();
                if self.is_last.val() {
                    self.step.next.op = self.only.val();
                }
            }
            if self.is_call.val() {
                self.step.next.op = self.response.val();
                self.step.next.aeth = 0.into();
                if self.is_last.val() {
                    self.step.next.op = self.response_end.val();
                    self.step.next.aeth = self.aeth.val();
                    self.step.next.a1 = (bit_cast::<64, 32>(self.held.q.val().key) << self.status_at.val())
                        | bit_cast::<64, 32>(self.held.q.val().length);
                }
            }
            if self.held.q.val().kind == self.value_entry.val() {
                self.step.next.op = self.atomic.val();
                self.step.next.a1 = self.held.q.val().va;
            } else {
                self.step.next.payload_len = self.bytes.val();
                self.step.next.pd = self.held.q.val().pd;
                self.step.next.address = self.address.q.val();
                self.step.next.key = self.key.q.val();
                // The results' key is the host's own, which takes no right to be read under.
                if !self.is_call.val() {
                    self.step.next.need = self.read_right.val();
                }
                self.step.next.bytes = self.bytes.val();
            }
            if self.is_staged.q.val() {
                self.step.next.inline = self.bytes.val().any();
                self.step.next.pd = 0.into();
                self.step.next.address = 0.into();
                self.step.next.key = 0.into();
                self.step.next.bytes = 0.into();
            }
            if self.is_busy.q.val() {
                self.step.next = self.blank.val();
                self.step.next.qpn = bit_cast::<24, QPS>(self.number.val());
                self.step.next.colour = self.colour.val();
                self.step.next.op = self.busy.val();
                self.step.next.psn = self.row.val().next_psn;
                self.step.next.aeth = self.aeth.val();
            }
        }

        self.changed.next = self.row.val();
        self.changed.next.cnp_due = self.row.val().cnp_due & !self.may_send.val();
        if self.row.val().cnp_due & self.may_send.val() {
            self.changed.next.cnp_sent = true;
            self.changed.next.cnp_at = self.now.val();
        }
        self.changed.next.acks = self.row.val().acks & !(self.answers.val() & self.may_send.val());
        self.queues.next = self.has_read.val() | (self.row.val().acks & !self.answers.val());
        if self.are_all_due.val() {
            self.changed.next.due_to = self.row.val().tail;
        }
        self.goes.next = self.continues.val() & !self.prepares.q.val();
        self.sends.next = self.continues.val() & self.is_due.q.val();
        self.outdates_now.next = self.goes.val() & self.is_outdated.q.val();
        self.ends.next = (self.sends.val() & self.is_last.val()) | self.outdates_now.val();
        self.finishes.next = self.sends.val() & self.is_last.val() & self.held.q.val().fresh;
        self.outdates.next = self.outdates_now.val();
        self.sends_stage.next = self.sends.val() & self.is_staged.q.val() & self.bytes.val().any();
        self.frees_stage.next = self.sends.val() & self.is_staged.q.val() & !self.bytes.val().any();
        self.is_stuck.next = self.goes.val()
            & self.is_call.val()
            & !self.is_due.q.val()
            & !self.is_busy.q.val()
            & !self.is_outdated.q.val();
        if self.is_stuck.val() {
            self.queues.next = !self.are_all_due.val() & (self.row.val().due_to != self.row.val().tail);
        }
        if self.goes.val() & self.is_busy.q.val() {
            self.changed.next.is_busy = false;
        }
        if self.sends.val() {
            self.changed.next.sent = self.sent.q.val() + self.mtu.val();
            self.changed.next.next_psn = self.psn.q.val() + 1;
        }
        if self.ends.val() {
            self.changed.next.sent = 0.into();
            if self.is_result.val() {
                self.changed.next.waits = self.row.val().waits & !self.mark.val();
                self.changed.next.finished = self.row.val().finished & !self.mark.val();
                self.changed.next.staged = false;
            }
            self.changed.next.head = self.row.val().head + 1;
            if !self.are_all_due.val() & (self.row.val().due_to == self.row.val().head) {
                self.changed.next.due_to = self.row.val().head + 1;
            }
            self.queues.next = self.has_more.val();
        }
        self.changed.next.queued = self.row.val().queued;
        if self.may_send.val() {
            self.changed.next.queued = self.queues.val();
        }
        // With an RPC there nothing is known before the head is.
        self.joins.next = self.queues.val() & (!self.has_more.val() | self.has_result.val());
        if self.decides.val() {
            self.joins.next = self.queues.val() & self.may_send.val();
            if self.lengthens.val() {
                self.joins.next = self.has_more.val() & !self.has_result.val();
            }
        }
    }
}
