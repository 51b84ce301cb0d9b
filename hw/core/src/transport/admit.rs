//! Admit: what of the send queues may go now, and under which sequence numbers.

pub mod advance;
pub mod amend;
pub mod catch_up;
pub mod desk;
pub mod extent;
pub mod intake;
pub mod job;
pub mod judge;
pub mod keyed;
pub mod kind;
pub mod leads;
pub mod measure;
pub mod model;
pub mod nudges;
pub mod onward;
pub mod pace;
pub mod patience;
pub mod remain;
#[cfg(test)]
mod rig;
pub mod route;
pub mod rows;
#[cfg(test)]
mod tests;
pub mod tickets;

use rust_hdl::prelude::*;

use amend::Amend;
use desk::Desk;
use intake::Intake;
use nudges::Nudges;
use route::{Order, Route};
use rows::{CursorRow, Rows};

use super::records::{
    AckedRow, Alarm, KeyJob, KeyedRow, Message, Nudge, Progress, RequesterRow, Rewind, Sent, SentRow,
};
use crate::host::work::{QpChange, Work};
use crate::prim::fifo::Fifo;
use crate::stream::{StreamSink, StreamSource};

block! {
    /// Admits the work of `2^QPS` queue pairs, one behind the other.
    ///
    /// ```text
    ///   work ──┐        ┌──── Amend ◀─ rewind, change
    ///   units ─ Intake ─┼─▶ Desk ◀──── Rows; AckedRow, Sent
    ///             └─ Route  ├─ FIFOs ─ local, message, alarm, progress, nudge
    ///                 │     └─ key
    ///                 └─ local_units, message_units
    /// ```
    ///
    /// For each queue pair a cursor says what is sent next. A work with another index than the cursor's is passed over in
    /// silence: it was fetched before the queue pair began to send again, or stands behind one that waits, in the same job or
    /// in one that was begun before that was known. The end of such a job names the cursor, and is `blocked` only if the queue
    /// pair rests. Requests become messages and are remembered in the ring of [`Sent`]; long ones in parts. Work on keys goes to
    /// [`Keys`](super::keys::Keys). Everything else goes to the mover, and so does all work of a queue pair that was stopped or
    /// whose last message or work on a key failed, as flushed. A READ, atomic or RPC where none may be in flight is refused.
    /// Local work goes when nothing is unacknowledged, a request when the last local work has ended; one with a fence, when
    /// no READ, atomic nor RPC is unacknowledged. A request that is sent again must be what it was, or else the queue pair fails;
    /// its fence counts no more. An RPC takes a PSN for each packet of its request, and behind them those of its answer but for the
    /// first. One that is sent again from behind its last packet on is asked for the rest of its answer: it becomes a message of
    /// one packet without bytes or parameters. Work on a key goes when all before it is over, be it acknowledged or ended, and all behind it
    /// waits for its end. Of a queue pair in Drained (`Work.drains`) only what has begun goes on; the rest waits, local or
    /// not. After a rewind that `holds`, all requests of the queue pair wait for the next rewind. One that `discards` begins
    /// an epoch: messages say in which they were admitted, and those of another are stale, as [`Sieve`](super::sieve::Sieve) has it.
    ///
    /// - **Ports** `work`, `units`: works, and the units of GATHER, SCATTER, `BIND_MW` and requests without a status, which may come first;
    ///   behind a work with a status the next work's index tells how long it was, be it the end of the job. `local`,
    ///   `local_units`: to the mover, the ends of all jobs among them; `key`: work on keys; `message`, `message_units`: to be sent; `colour`: to put
    ///   into a message, `enters`: in this cycle. `progress`: one at the end of each job, and one for each rewind that
    ///   counts, `blocked` if it `holds`; `rewind`, `change`: news of queue pairs; `nudge`: a failure, or a flush for each
    ///   queue pair that stops; `alarm`: one with each message. `sent_*`, `out_write*`, `out_entry`: rows to be stored, before their message is
    ///   offered; `out_enable`, `out_index`, `out_found` and `acked_enable`, `acked_index`, `acked`: rows to be read, there a
    ///   cycle later, `out_found` until the next, as is `keyed` with `acked`. `ended`: works of `local` that the mover is done with since reset, the
    ///   ends of jobs included. `reads_waiting`: a READ, atomic or RPC has to wait for such. `epoch_write`, `epoch_index`,
    ///   `epoch`: the epoch of a queue pair, with each rewind or change, at least 3 cycles before a message of it. `requester_*`:
    ///   what changes of a queue pair, to be shown. `ready`: the rows are cleared; `busy`: something is inside.
    /// - **Latency** 4 cycles from a work to its message or local work, and to their first unit, 3 to its `key`; 2 from a rewind to its
    ///   progress. **Rate** a work or the end of a job takes 2 cycles, or one for each of its units if there are more. It takes 3 when it goes
    ///   to the mover or to a key; and when the next is of the same queue pair, and it leaves the cursor on a message that was begun before, or leaves
    ///   one message alone unanswered, or 32. A request that finds 32 unanswered waits up to 64 cycles for an answer, and with it all behind
    ///   it, unless a rewind or change waits. A rewind or change takes 2, when the works under way are over, which takes 4 at most.
    /// - **Backpressure** a work begins only when every output has room, so neither rewind nor change waits for them: a
    ///   rewind waits for works under way and for `progress`, and no work begins before it. Work on a key without room at `key` goes not, and its job comes again; so
    ///   room must stay there until it is taken. No combinational path from port to port, but `out_index` and
    ///   `out_enable` follow `acked`, and `acked_index` follows `work`, which must come from a register or FIFO.
    /// - **Reset** forgets everything, and clears the rows here and [`SentRow`]s, one a cycle; `ready` is low meanwhile. All epochs
    ///   are 0 then, and nobody is told.
    ///   `AckedRow` and `KeyedRow` must be zero then, and before a queue pair that was reset has work again.
    /// - **Limits** a queue pair has at most 32 messages unacknowledged, which take at most `2^23` PSNs, and as many READs,
    ///   atomics and RPCs as `reads_out` says; one more waits, and its job is `blocked`. A job admits nothing more once it has
    ///   admitted `QUANTUM_BYTES`, and a part of a SEND or WRITE has no more. Rewinds name messages that were sent, and skip
    ///   less than all of one; or the place behind them, to end a rest. An atomic's length is 8. `OUT = QPS + 5`.
    pub struct Admit<const QPS: usize, const OUT: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub work: StreamSink<Work>,
        pub units: StreamSink<Bits<512>>,
        pub local: StreamSource<Work>,
        pub local_units: StreamSource<Bits<512>>,
        pub key: StreamSource<KeyJob>,
        pub message: StreamSource<Message>,
        pub message_units: StreamSource<Bits<512>>,
        pub colour: Signal<In, Bit>,
        pub enters: Signal<Out, Bit>,
        pub progress: StreamSource<Progress>,
        pub rewind: StreamSink<Rewind>,
        pub change: StreamSink<QpChange>,
        pub nudge: StreamSource<Nudge>,
        pub alarm: StreamSource<Alarm>,
        pub sent_write: Signal<Out, Bit>,
        pub sent_index: Signal<Out, Bits<QPS>>,
        pub sent: Signal<Out, SentRow>,
        pub out_write: Signal<Out, Bit>,
        pub out_write_index: Signal<Out, Bits<OUT>>,
        pub out_entry: Signal<Out, Sent>,
        pub out_enable: Signal<Out, Bit>,
        pub out_index: Signal<Out, Bits<OUT>>,
        pub out_found: Signal<In, Sent>,
        pub acked_enable: Signal<Out, Bit>,
        pub acked_index: Signal<Out, Bits<QPS>>,
        pub acked: Signal<In, AckedRow>,
        pub keyed: Signal<In, KeyedRow>,
        pub ended: Signal<In, Bits<48>>,
        pub reads_waiting: Signal<Out, Bit>,
        pub epoch_write: Signal<Out, Bit>,
        pub epoch_index: Signal<Out, Bits<QPS>>,
        pub epoch: Signal<Out, Bits<4>>,
        pub requester_write: Signal<Out, Bit>,
        pub requester_index: Signal<Out, Bits<QPS>>,
        pub requester: Signal<Out, RequesterRow>,
        pub ready: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        intake: Intake,
        rows: Rows<QPS>,
        amend: Amend<QPS>,
        desk: Desk,
        route: Route,
        locals: Fifo<Work, 2>,
        messages: Fifo<Message, 2>,
        alarms: Fifo<Alarm, 2>,
        reports: Fifo<Progress, 2>,
        nudges: Nudges<QPS>,
        next_qpn: Signal<Local, Bits<QPS>>,
        taken_qpn: Signal<Local, Bits<QPS>>,
        qpn: Signal<Local, Bits<QPS>>,
        changed_at: Signal<Local, Bits<QPS>>,
        changed: Signal<Local, CursorRow>,
        is_open: Signal<Local, Bit>,
        nothing: Constant<SentRow> = Constant::new(SentRow::default()),
    }
}

impl<const QPS: usize, const OUT: usize> Logic for Admit<QPS, OUT> {
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "joins and the rows around them: one line a wire")]
    fn update(&mut self) {
        clock!(self, clock, intake, rows, amend, desk, route, locals, messages, alarms, reports, nudges);
        self.intake.reset.next = self.reset.val();
        self.rows.reset.next = self.reset.val();
        self.amend.reset.next = self.reset.val();
        self.desk.reset.next = self.reset.val();
        self.route.reset.next = self.reset.val();
        self.locals.reset.next = self.reset.val();
        self.messages.reset.next = self.reset.val();
        self.alarms.reset.next = self.reset.val();
        self.reports.reset.next = self.reset.val();
        self.nudges.reset.next = self.reset.val();

        StreamSink::<Work>::link(&mut self.work, &mut self.intake.work);
        StreamSink::<Bits<512>>::link(&mut self.units, &mut self.intake.units);
        self.desk.coming.next = self.intake.coming.val();
        self.desk.work.next = self.intake.work_shown.val();
        self.desk.opening.next = self.intake.opening.val();
        self.intake.takes.next = self.desk.takes.val();
        StreamSource::<Bits<512>>::join(&mut self.intake.held, &mut self.route.units);
        StreamSink::<Rewind>::link(&mut self.rewind, &mut self.amend.rewind);
        StreamSink::<QpChange>::link(&mut self.change, &mut self.amend.change);

        // Amendments go first, when no work is under way; rows are looked at in every cycle, so the one found is the newest.
        self.is_open.next = !self.rows.scrubbing.val();
        self.ready.next = self.is_open.val();
        self.amend.free.next = self.is_open.val() & self.desk.idle.val();
        self.desk.free.next = self.is_open.val() & !self.amend.busy.val() & !self.amend.wants.val();
        self.desk.room.next = (self.locals.level.val() < 2)
            & (self.messages.level.val() < 2)
            & (self.alarms.level.val() < 2)
            & (self.reports.level.val() < 2)
            & self.route.room.val()
            & self.nudges.room.val();
        self.next_qpn.next = bit_cast::<QPS, 24>(self.intake.coming_qpn.val());
        self.taken_qpn.next = bit_cast::<QPS, 24>(self.intake.work_shown.val().qpn);
        self.qpn.next = bit_cast::<QPS, 24>(self.desk.qpn.val());
        self.desk.same.next = self.next_qpn.val() == self.qpn.val();
        self.rows.look.next = true;
        self.rows.look_index.next = self.next_qpn.val();
        if self.amend.begins.val() {
            self.rows.look_index.next = self.amend.index.val();
        }
        self.amend.row.next = self.rows.row.val();
        self.desk.row.next = self.rows.row.val();
        self.rows.write.next = self.amend.write.val() | self.desk.write.val();
        self.changed_at.next = self.qpn.val();
        self.changed.next = self.desk.after.val();
        if self.amend.busy.val() {
            self.changed_at.next = self.amend.write_index.val();
            self.changed.next = self.amend.write_row.val();
        }
        self.rows.write_index.next = self.changed_at.val();
        self.rows.write_row.next = self.changed.val();
        self.requester_write.next = self.amend.write.val() | self.desk.write.val();
        self.requester_index.next = self.changed_at.val();
        self.requester.next.started = self.changed.val().started;
        self.requester.next.stopped = self.changed.val().stopped | self.changed.val().halted;
        self.requester.next.held = self.changed.val().held;
        self.requester.next.frontier = self.changed.val().frontier;
        self.requester.next.head = self.changed.val().head;
        self.requester.next.reads = self.changed.val().reads;
        self.epoch_write.next = self.amend.write.val();
        self.epoch_index.next = self.amend.write_index.val();
        self.epoch.next = self.amend.write_row.val().epoch;
        self.desk.rewound.next = self.amend.rewound.val();
        self.desk.forgotten.next = self.amend.forgotten.val();
        self.desk.changed.next = self.amend.qpn.val();

        self.acked_enable.next = true;
        self.acked_index.next = self.next_qpn.val();
        self.desk.acked.next = self.acked.val();
        self.desk.keyed.next = self.keyed.val();
        self.out_enable.next = self.desk.takes.val();
        self.out_index.next = (bit_cast::<OUT, QPS>(self.taken_qpn.val()) << 5)
            | bit_cast::<OUT, 5>(bit_cast::<5, 6>(self.desk.out_slot.val()));
        self.desk.out_found.next = self.out_found.val();
        self.out_write.next = self.desk.records.val();
        self.out_write_index.next = (bit_cast::<OUT, QPS>(self.qpn.val()) << 5)
            | bit_cast::<OUT, 5>(bit_cast::<5, 6>(self.desk.sent_slot.val()));
        self.out_entry.next = self.desk.entry.val();
        self.desk.ended.next = self.ended.val();
        self.desk.colour.next = self.colour.val();
        self.reads_waiting.next = self.desk.reads_waiting.val();

        self.enters.next = self.desk.message.valid.val();
        self.sent_write.next =
            self.desk.message.valid.val() | self.amend.forgotten.val() | self.rows.scrubbing.val();
        self.sent_index.next = self.qpn.val();
        self.sent.next.head = self.desk.after.val().head;
        self.sent.next.frontier = self.desk.after.val().frontier;
        if self.amend.forgotten.val() {
            self.sent_index.next = self.amend.write_index.val();
            self.sent.next = self.nothing.val();
        }
        if self.rows.scrubbing.val() {
            self.sent_index.next = self.rows.scrub_index.val();
            self.sent.next = self.nothing.val();
        }

        StreamSource::<Work>::join(&mut self.desk.local, &mut self.locals.sink);
        StreamSource::<Order>::join(&mut self.desk.order, &mut self.route.order);
        StreamSource::<Message>::join(&mut self.desk.message, &mut self.messages.sink);
        StreamSource::<Alarm>::join(&mut self.desk.alarm, &mut self.alarms.sink);
        StreamSource::<Nudge>::join(&mut self.desk.failure, &mut self.nudges.failure);
        StreamSource::<Bits<QPS>>::join(&mut self.amend.flush, &mut self.nudges.flush);
        self.desk.progress.ready.next = self.reports.sink.ready.val();
        self.amend.progress.ready.next = self.reports.sink.ready.val();
        self.reports.sink.valid.next = self.desk.progress.valid.val() | self.amend.progress.valid.val();
        self.reports.sink.payload.next = self.desk.progress.payload.val();
        if self.amend.progress.valid.val() {
            self.reports.sink.payload.next = self.amend.progress.payload.val();
        }

        StreamSource::<Work>::link(&mut self.local, &mut self.locals.source);
        StreamSource::<Bits<512>>::link(&mut self.local_units, &mut self.route.local);
        StreamSource::<KeyJob>::link(&mut self.key, &mut self.desk.key);
        StreamSource::<Message>::link(&mut self.message, &mut self.messages.source);
        StreamSource::<Bits<512>>::link(&mut self.message_units, &mut self.route.message);
        StreamSource::<Alarm>::link(&mut self.alarm, &mut self.alarms.source);
        StreamSource::<Progress>::link(&mut self.progress, &mut self.reports.source);
        StreamSource::<Nudge>::link(&mut self.nudge, &mut self.nudges.nudge);

        self.busy.next = self.intake.busy.val()
            | !self.desk.idle.val()
            | self.amend.busy.val()
            | self.route.busy.val()
            | self.locals.source.valid.val()
            | self.messages.source.valid.val()
            | self.alarms.source.valid.val()
            | self.reports.source.valid.val()
            | self.nudges.busy.val();
    }
}
