//! The desk: works are judged one behind the other, and all that follows from one happens at once.

use rust_hdl::prelude::*;

use super::advance::Advance;
use super::catch_up::CatchUp;
use super::extent::{Extent, Lengths};
use super::intake::Opening;
use super::job::Job;
use super::judge::{Judge, Verdict};
use super::keyed::Keyed;
use super::onward::Onward;
use super::pace::Pace;
use super::patience::Patience;
use super::remain::Remain;
use super::route::Order;
use super::rows::CursorRow;
use super::tickets::Tickets;
use crate::host::work::Work;
use crate::prim::reg::Reg;
use crate::stream::StreamSource;
use crate::transport::records::{AckedRow, Alarm, KeyJob, KeyedRow, Message, Nudge, Progress, Sent};

block! {
    /// Decides what becomes of works.
    ///
    /// A work's rows are read; the cursor catches up, while the message under it is read; the work is judged; and all that follows
    /// is written and sent in one cycle. The next one begins while it is judged, as [`Pace`] has it; [`Patience`] may keep it a little.
    ///
    /// - **Ports** `coming`: a work is shown from the next cycle on; `work`, `opening`: that work, and how its units begin, until `takes`;
    ///   `free`, `room`, `same`: as in [`Pace`]; `begins`: it begins; `row`, `acked`, `keyed`: its rows, a cycle later and in each
    ///   cycle until `takes`, as of the cycle before; `write`, `qpn`, `after`: its row afterwards; `local`, `order`, `message`, `alarm`, `progress`,
    ///   `failure`: into FIFOs that have room for all that has begun; `key`: into one whose `ready` is a register; `rewound`, `forgotten`,
    ///   `changed`: what happened between works, to which queue pair; `out_slot`: the message looked at, with `takes`; `records`:
    ///   `entry` is to be stored at the place of `sent_slot`; `idle`: no work is under way; the rest as in [`Admit`](super::Admit).
    /// - **Latency** 3 cycles from `begins` to what a work gives. **Rate** 2 cycles a work, 3 behind one that goes to the mover or to a key,
    ///   and behind one of the same queue pair that does not leave the cursor behind all messages, or leaves just one unanswered, or 32.
    /// - **Backpressure** a work does not begin while any output lacks room, but for `key`: without room there, work on a key
    ///   does not go.
    /// - **Reset** forgets the works under way and the job, and counts local works from 0.
    pub struct Desk {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub coming: Signal<In, Bit>,
        pub work: Signal<In, Work>,
        pub opening: Signal<In, Opening>,
        pub takes: Signal<Out, Bit>,
        pub free: Signal<In, Bit>,
        pub room: Signal<In, Bit>,
        pub same: Signal<In, Bit>,
        pub begins: Signal<Out, Bit>,
        pub row: Signal<In, CursorRow>,
        pub write: Signal<Out, Bit>,
        pub qpn: Signal<Out, Bits<24>>,
        pub after: Signal<Out, CursorRow>,
        pub acked: Signal<In, AckedRow>,
        pub out_slot: Signal<Out, Bits<6>>,
        pub out_found: Signal<In, Sent>,
        pub records: Signal<Out, Bit>,
        pub sent_slot: Signal<Out, Bits<6>>,
        pub entry: Signal<Out, Sent>,
        pub ended: Signal<In, Bits<48>>,
        pub keyed: Signal<In, KeyedRow>,
        pub colour: Signal<In, Bit>,
        pub rewound: Signal<In, Bit>,
        pub forgotten: Signal<In, Bit>,
        pub changed: Signal<In, Bits<24>>,
        pub local: StreamSource<Work>,
        pub key: StreamSource<KeyJob>,
        pub order: StreamSource<Order>,
        pub message: StreamSource<Message>,
        pub alarm: StreamSource<Alarm>,
        pub progress: StreamSource<Progress>,
        pub failure: StreamSource<Nudge>,
        pub reads_waiting: Signal<Out, Bit>,
        pub idle: Signal<Out, Bit>,
        pace: Pace,
        catch_up: CatchUp,
        patience: Patience,
        onward: Onward,
        extent: Extent,
        remain: Remain,
        judge: Judge,
        advance: Advance,
        job: Job,
        tickets: Tickets,
        keys: Keyed,
        // Of the work that is judged, and then acts.
        held: Reg<Work>,
        held_opening: Reg<Opening>,
        cursor: Reg<CursorRow>,
        resumes: Reg<Bit>,
        pending: Reg<Bits<6>>,
        reads: Reg<Bits<5>>,
        lengths: Reg<Lengths>,
        verdict: Reg<Verdict>,
        ahead: Reg<Bits<24>>,
        skips: Reg<Bits<32>>,
        left: Reg<Bits<32>>,
        acts: Signal<Local, Bit>,
        is_local: Signal<Local, Bit>,
    }
}

impl Logic for Desk {
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "joins of the stages, one line a wire")]
    fn update(&mut self) {
        clock!(self, clock, pace, patience, job, tickets, keys);
        dff_setup!(self, clock, held, held_opening, cursor, resumes, pending, reads, lengths, verdict);
        dff_setup!(self, clock, ahead, skips, left);
        self.pace.reset.next = self.reset.val();
        self.patience.reset.next = self.reset.val();
        self.job.reset.next = self.reset.val();
        self.tickets.reset.next = self.reset.val();
        self.pace.coming.next = self.coming.val();
        self.pace.free.next = self.free.val();
        self.pace.room.next = self.room.val();
        self.pace.same.next = self.same.val();
        self.pace.onward.next = self.onward.can.val();
        self.pace.alone.next = self.onward.alone.val();
        self.pace.keeps.next = self.patience.keeps.val();
        self.begins.next = self.pace.begins.val();
        self.takes.next = self.pace.takes.val();
        self.acts.next = self.pace.acting.val();
        self.idle.next = self.pace.idle.val();

        // Two ways to a cursor: from the row, or from the work before.
        self.catch_up.row.next = self.row.val();
        self.catch_up.acked.next = self.acked.val();
        self.catch_up.work.next = self.work.val();
        self.catch_up.follows.next = self.job.follows.val() & !self.acts.val();
        self.patience.catching.next = self.pace.catching.val() & !self.pace.straight.val();
        self.patience.work.next = self.work.val();
        self.patience.opening.next = self.opening.val();
        self.patience.row.next = self.row.val();
        self.patience.acked.next = self.acked.val();
        self.patience.hurries.next = !self.free.val();
        self.patience.admits.next = self.acts.val() & self.verdict.q.val().message;
        self.onward.row.next = self.cursor.q.val();
        self.onward.before.next = self.pending.q.val();
        self.onward.verdict.next = self.verdict.q.val();
        self.onward.after.next = self.advance.after.val();
        self.onward.acked.next = self.acked.val();
        self.extent.work.next = self.work.val();
        self.extent.opening.next = self.opening.val();
        self.out_slot.next = self.catch_up.looks.val();
        self.tickets.ended.next = self.ended.val();
        self.tickets.asks.next = self.pace.catching.val();
        self.tickets.asked.next = self.row.val().local_ticket;
        self.keys.looks.next = self.pace.catching.val();
        self.keys.turn.next = self.row.val().key_turn;
        self.keys.keyed.next = self.keyed.val();
        self.keys.room.next = self.key.ready.val();
        // Each cycle anew while it catches up: whether it has, is known late, and nobody looks before.
        if self.pace.catching.val() {
            self.held.d.next = self.work.val();
            self.held_opening.d.next = self.opening.val();
            self.lengths.d.next = self.extent.lengths.val();
            self.cursor.d.next = self.catch_up.caught.val();
            self.resumes.d.next = self.catch_up.resumes.val();
            self.pending.d.next = self.catch_up.pending.val();
            self.reads.d.next = self.catch_up.reads.val();
        }
        if self.pace.straight.val() {
            // Neither a ticket nor a turn is new there: else the next one waits.
            self.out_slot.next = self.onward.looks.val();
            self.tickets.asked.next = self.cursor.q.val().local_ticket;
            self.keys.turn.next = self.cursor.q.val().key_turn;
            if self.pace.catching.val() {
                self.cursor.d.next = self.onward.caught.val();
                self.resumes.d.next = false;
                self.pending.d.next = self.onward.pending.val();
                self.reads.d.next = self.onward.reads.val();
            }
        }

        self.judge.row.next = self.cursor.q.val();
        self.judge.resumes.next = self.resumes.q.val();
        self.judge.pending.next = self.pending.q.val();
        self.judge.reads.next = self.reads.q.val();
        self.judge.found.next = self.out_found.val();
        self.judge.work.next = self.held.q.val();
        self.judge.opening.next = self.held_opening.q.val();
        self.judge.lengths.next = self.lengths.q.val();
        self.judge.local_ended.next = self.tickets.has_ended.val();
        self.judge.keys.next = self.keys.standing.val();
        self.judge.bytes.next = self.job.total.val();
        self.remain.length.next = self.held.q.val().length;
        self.remain.sent.next = self.cursor.q.val().sent;
        self.remain.path_mtu.next = self.held.q.val().path_mtu;
        self.ahead.d.next = self.judge.ahead.val();
        self.skips.d.next = self.remain.skips.val();
        self.left.d.next = self.remain.bytes.val();
        if self.pace.judging.val() {
            self.cursor.d.next = self.judge.cursor.val();
            self.verdict.d.next = self.judge.verdict.val();
        }

        self.advance.row.next = self.cursor.q.val();
        self.advance.verdict.next = self.verdict.q.val();
        self.advance.work.next = self.held.q.val();
        self.advance.opening.next = self.held_opening.q.val();
        self.advance.lengths.next = self.lengths.q.val();
        self.advance.ahead.next = self.ahead.q.val();
        self.advance.skips.next = self.skips.q.val();
        self.advance.left.next = self.left.q.val();
        self.advance.ticket.next = self.tickets.ticket.val();
        self.advance.colour.next = self.colour.val();
        self.job.acts.next = self.acts.val();
        self.job.work.next = self.held.q.val();
        self.job.verdict.next = self.verdict.q.val();
        self.job.bytes.next = self.advance.bytes.val();
        self.job.rewound.next = self.rewound.val();
        self.job.forgotten.next = self.forgotten.val();
        self.job.qpn.next = self.changed.val();

        self.qpn.next = self.held.q.val().qpn;
        self.write.next = self.acts.val();
        self.after.next = self.advance.after.val();
        self.records.next = self.acts.val() & self.advance.begins.val();
        self.sent_slot.next = self.cursor.q.val().slot;
        self.entry.next = self.advance.entry.val();
        self.reads_waiting.next = self.acts.val() & self.verdict.q.val().read_waits;
        self.message.valid.next = self.acts.val() & self.verdict.q.val().message;
        self.message.payload.next = self.advance.message.val();
        self.alarm.valid.next = self.acts.val() & self.verdict.q.val().message;
        self.alarm.payload.next = self.advance.alarm.val();

        self.is_local.next = self.verdict.q.val().local | self.held.q.val().ends;
        self.local.valid.next = self.acts.val() & self.is_local.val();
        self.local.payload.next = self.advance.handed.val();
        self.tickets.issues.next = self.acts.val() & self.is_local.val();
        self.key.valid.next = self.acts.val() & self.verdict.q.val().key;
        self.key.payload.next = self.advance.job.val();
        self.order.valid.next = self.acts.val() & self.held_opening.q.val().has_units;
        self.order.payload.next = self.advance.order.val();

        self.progress.valid.next = self.acts.val() & self.held.q.val().ends;
        self.progress.payload.next.qpn = self.held.q.val().qpn;
        self.progress.payload.next.next_index = self.cursor.q.val().index;
        self.progress.payload.next.rewinds = false;
        self.progress.payload.next.blocked = self.job.blocked.val() | self.verdict.q.val().blocked;
        self.progress.payload.next.bytes = self.job.total.val();
        self.failure.valid.next = self.acts.val() & self.verdict.q.val().fails;
        self.failure.payload.next = self.advance.failure.val();
    }
}
