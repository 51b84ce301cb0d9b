//! The desk: one work at a time is judged, and all that follows happens at once.

use rust_hdl::prelude::*;

use super::advance::Advance;
use super::catch_up::CatchUp;
use super::intake::Opening;
use super::job::Job;
use super::judge::{Judge, Verdict};
use super::keyed::Keyed;
use super::measure::Measure;
use super::route::Order;
use super::rows::CursorRow;
use super::tickets::Tickets;
use crate::host::work::Work;
use crate::prim::reg::Reg;
use crate::stream::{StreamSink, StreamSource};
use crate::transport::records::{AckedRow, Alarm, KeyJob, KeyedRow, Message, Nudge, Progress, Sent};

block! {
    /// Decides what becomes of works.
    ///
    /// Its rows are read; the cursor catches up, while the message under it is read; the work is judged; and all that follows
    /// is written and sent in one cycle. It begins only when there is room for whatever may follow.
    ///
    /// - **Ports** `work`, `opening`: a work, and how its units begin; `free`: it may begin; `begins`: it does, and looks at its row;
    ///   `row`: that row, a cycle later; `write`, `after`: the row afterwards; `local`, `order`, `message`, `alarm`, `progress`,
    ///   `failure`, `key`: into FIFOs whose `ready` is a register; `rewound`, `forgotten`, `changed`: what happened between
    ///   works, to which queue pair; `out_slot`: the message looked at; `records`: `entry` is to be stored at the place
    ///   of `sent_slot`; `idle`: no work is under way; the rest as in [`Admit`](super::Admit).
    /// - **Latency** 3 cycles from `begins` to what a work gives. **Rate** 4 cycles a work.
    /// - **Backpressure** a work does not begin while any output lacks room, but for `key`: without room there, work on a key
    ///   does not go.
    /// - **Reset** forgets the work under way and the job, and counts local works from 0.
    pub struct Desk {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub work: StreamSink<Work>,
        pub opening: StreamSink<Opening>,
        pub free: Signal<In, Bit>,
        pub begins: Signal<Out, Bit>,
        pub row: Signal<In, CursorRow>,
        pub write: Signal<Out, Bit>,
        pub after: Signal<Out, CursorRow>,
        pub acked: Signal<In, AckedRow>,
        pub out_enable: Signal<Out, Bit>,
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
        catch_up: CatchUp,
        measure: Measure,
        judge: Judge,
        advance: Advance,
        job: Job,
        tickets: Tickets,
        keys: Keyed,
        // At most one of the three.
        catching: Reg<Bit>,
        judging: Reg<Bit>,
        acting: Reg<Bit>,
        cursor: Reg<CursorRow>,
        resumes: Reg<Bit>,
        pending: Reg<Bits<6>>,
        reads: Reg<Bits<5>>,
        packets: Reg<Bits<24>>,
        verdict: Reg<Verdict>,
        is_idle: Signal<Local, Bit>,
        has_room: Signal<Local, Bit>,
        enters: Signal<Local, Bit>,
        is_local: Signal<Local, Bit>,
    }
}

impl Logic for Desk {
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "joins of the stages, one line a wire")]
    fn update(&mut self) {
        clock!(self, clock, job, tickets, keys);
        dff_setup!(self, clock, catching, judging, acting, cursor, resumes, pending, reads, packets, verdict);
        self.job.reset.next = self.reset.val();
        self.tickets.reset.next = self.reset.val();
        self.is_idle.next = !self.catching.q.val() & !self.judging.q.val() & !self.acting.q.val();
        self.idle.next = self.is_idle.val();
        self.has_room.next = self.local.ready.val()
            & self.order.ready.val()
            & self.message.ready.val()
            & self.alarm.ready.val()
            & self.progress.ready.val()
            & self.failure.ready.val();
        self.enters.next = self.is_idle.val()
            & self.free.val()
            & self.has_room.val()
            & self.work.valid.val()
            & self.opening.valid.val();
        self.begins.next = self.enters.val();
        self.catching.d.next = self.enters.val();
        self.judging.d.next = self.catching.q.val();
        self.acting.d.next = self.judging.q.val();

        self.catch_up.row.next = self.row.val();
        self.catch_up.acked.next = self.acked.val();
        self.catch_up.work.next = self.work.payload.val();
        self.catch_up.follows.next = self.job.follows.val();
        self.measure.length.next = self.work.payload.val().length;
        self.measure.path_mtu.next = self.work.payload.val().path_mtu;
        self.out_enable.next = self.catching.q.val();
        self.out_slot.next = self.catch_up.looks.val();
        self.tickets.ended.next = self.ended.val();
        self.tickets.asks.next = self.catching.q.val();
        self.tickets.asked.next = self.row.val().local_ticket;
        self.keys.looks.next = self.catching.q.val();
        self.keys.row.next = self.row.val();
        self.keys.keyed.next = self.keyed.val();
        self.keys.room.next = self.key.ready.val();
        if self.catching.q.val() {
            self.cursor.d.next = self.catch_up.caught.val();
            self.resumes.d.next = self.catch_up.resumes.val();
            self.pending.d.next = self.catch_up.pending.val();
            self.reads.d.next = self.catch_up.reads.val();
            self.packets.d.next = self.measure.packets.val();
        }

        self.judge.row.next = self.cursor.q.val();
        self.judge.resumes.next = self.resumes.q.val();
        self.judge.pending.next = self.pending.q.val();
        self.judge.reads.next = self.reads.q.val();
        self.judge.found.next = self.out_found.val();
        self.judge.work.next = self.work.payload.val();
        self.judge.opening.next = self.opening.payload.val();
        self.judge.packets.next = self.packets.q.val();
        self.judge.local_ended.next = self.tickets.has_ended.val();
        self.judge.keys.next = self.keys.standing.val();
        self.judge.bytes.next = self.job.total.val();
        if self.judging.q.val() {
            self.cursor.d.next = self.judge.cursor.val();
            self.verdict.d.next = self.judge.verdict.val();
        }

        self.advance.row.next = self.cursor.q.val();
        self.advance.verdict.next = self.verdict.q.val();
        self.advance.work.next = self.work.payload.val();
        self.advance.opening.next = self.opening.payload.val();
        self.advance.packets.next = self.packets.q.val();
        self.advance.ticket.next = self.tickets.ticket.val();
        self.advance.colour.next = self.colour.val();
        self.job.acts.next = self.acting.q.val();
        self.job.work.next = self.work.payload.val();
        self.job.verdict.next = self.verdict.q.val();
        self.job.bytes.next = self.advance.bytes.val();
        self.job.rewound.next = self.rewound.val();
        self.job.forgotten.next = self.forgotten.val();
        self.job.qpn.next = self.changed.val();

        self.work.ready.next = self.acting.q.val();
        self.opening.ready.next = self.acting.q.val();
        self.write.next = self.acting.q.val();
        self.after.next = self.advance.after.val();
        self.records.next = self.acting.q.val() & self.advance.begins.val();
        self.sent_slot.next = self.cursor.q.val().slot;
        self.entry.next = self.advance.entry.val();
        self.reads_waiting.next = self.acting.q.val() & self.verdict.q.val().read_waits;
        self.message.valid.next = self.acting.q.val() & self.verdict.q.val().message;
        self.message.payload.next = self.advance.message.val();
        self.alarm.valid.next = self.acting.q.val() & self.verdict.q.val().message;
        self.alarm.payload.next = self.advance.alarm.val();

        self.is_local.next = self.verdict.q.val().local | self.work.payload.val().ends;
        self.local.valid.next = self.acting.q.val() & self.is_local.val();
        self.local.payload.next = self.advance.handed.val();
        self.tickets.issues.next = self.acting.q.val() & self.is_local.val();
        self.key.valid.next = self.acting.q.val() & self.verdict.q.val().key;
        self.key.payload.next = self.advance.job.val();
        self.order.valid.next = self.acting.q.val() & self.opening.payload.val().has_units;
        self.order.payload.next = self.advance.order.val();

        self.progress.valid.next = self.acting.q.val() & self.work.payload.val().ends;
        self.progress.payload.next.qpn = self.work.payload.val().qpn;
        self.progress.payload.next.next_index = self.cursor.q.val().index;
        self.progress.payload.next.rewinds = false;
        self.progress.payload.next.blocked = self.job.blocked.val() | self.verdict.q.val().blocked;
        self.progress.payload.next.bytes = self.job.total.val();
        self.failure.valid.next = self.acting.q.val() & self.verdict.q.val().fails;
        self.failure.payload.next = self.advance.failure.val();
        if self.reset.val() {
            self.catching.d.next = false;
            self.judging.d.next = false;
            self.acting.d.next = false;
        }
    }
}
