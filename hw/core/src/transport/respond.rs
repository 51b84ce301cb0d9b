//! Answers to the peers: acknowledgements, the data of READs, what atomics found, what kernels answer, congestion
//! notifications.

pub mod calls;
pub mod choose;
pub mod count;
pub mod line;
pub mod locate;
pub mod model;
pub mod note;
#[cfg(test)]
mod rig;
pub mod rows;
pub mod serve;
pub mod sweep;
#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;
use stroma_abi::desc::Status;

use choose::Choose;
use count::Count;
use line::Line;
use note::Note;
use rows::{AnswerRow, Outcome, Rows};
use serve::{BURST, Serve};
use sweep::Sweep;

use super::records::{Answer, Task, TxFailure, TxStep};
use crate::constant::number;
use crate::fabric::records::ResultRow;
use crate::host::work::{QpChange, QpError};
use crate::prim::fifo::Fifo;
use crate::prim::ram::UltraRam;
use crate::prim::reg::Reg;
use crate::stream::{StreamSink, StreamSource};

/// log2 of the steps that wait to be taken, and of the errors.
const STEPS_LOG: usize = 4;
const ERRORS_LOG: usize = 4;

block! {
    /// Owes answers for `2^QPS` queue pairs, and gives them when somebody takes them.
    ///
    /// ```text
    ///   task, notice, failure, change ─┐            ┌ Note ──┬─ Rows ── error
    ///                                  ├─ Choose ───┤        │   │
    ///       ┌─ Line of queue pairs ────┤            └ Serve ─┴───┼── FIFO ─ step
    ///       │              Sweep ──────┘                │        └─ Count ─ answered
    ///       └───────────────────────────────────────────┘
    /// ```
    ///
    /// Whoever brings tasks must never wait for packets to leave, or two cards could wait for each other. So a task
    /// only leaves a note: one acknowledgement a queue pair, which a newer one replaces, and 16 READs, atomics and RPCs; what has no
    /// room is dropped, and the peer asks again. Queue pairs that owe something stand in line, each once, and a visit sends
    /// a notification, or up to four packets of a READ or RPC, or the value of an atomic, or the acknowledgement. READs, atomics
    /// and RPCs are answered in the order of their tasks, and an acknowledgement behind those before it.
    ///
    /// An RPC has its place in that order from its `Result` on, and is answered when it is `Finished`; until then its queue pair
    /// does not stand in line. An answer of one packet may be in the staging before it is in the result area. If it is the RPC's turn
    /// then, all before it being answered, it goes from there; otherwise that stage is given back at once, and the
    /// answer goes from the area when it is all there. What is `Finished` and not waited for is forgotten: its answer has
    /// gone, or was given up, and the peer will ask. `Pending`, the RPC came again and still runs: if it is its turn, the peer hears that
    /// it is busy, once for each, but a newer one takes the place of one that waits; if it is not among those that wait, it comes there
    /// again. `Replay`, its answer is asked for again: it comes behind all that waits, unless the peer goes back, as below. It is not sent, or
    /// no further, when a newer RPC has its place.
    ///
    /// A peer that misses a packet of a READ asks again from there, and for everything behind. Such a READ, `Data` and not
    /// `fresh`, begins behind the first packet of the READ at the head, and not behind the one that comes next. It takes the place of all
    /// that waits, though 16 do: the peer would throw away the rest of the old answer, and lose packets of the new one behind it. A
    /// positive acknowledgement that waits goes too; any other stays, behind that READ. Nothing else does so: what begins
    /// where the head began, or before it, may be a copy that the wire made, and is answered in its turn. A `Replay` goes back likewise, within the
    /// answer of an RPC.
    ///
    /// - **Ports** `task`: what is owed. `notice`: a packet of the peer met congestion; `now`: cycles;
    ///   `cnp_interval`: those from one notification of a queue pair to the next at least. `failure`: the data of a READ could not be had;
    ///   failures of requests are taken and forgotten. `change`: a queue pair stops, or begins anew. `done`: host writes visible so
    ///   far, counted in tickets; a READ waits for its own, an atomic for none. `pause`: no visit begins. `step`: packets. `colour`, `enters`: a step
    ///   takes this colour, in the cycle of `enters`. `error`: a queue pair has failed. `area_enable`, `area_index`,
    ///   `area`: where the results of a queue pair are, the cycle after, and until the next is asked for. `stage_sends`, `stage_number`: in the cycle of `enters`, the
    ///   step's payload is the packet at that place of the staging; `stage_frees`, `stage_number`: what is there is not needed. One of both, once, for each
    ///   `Finished` that is `staged`. High for a cycle each: `cnps_sent`;
    ///   `data_dropped`: a READ, atomic or RPC had no room; `outdated`: an answer that was asked for again, of `answered_index`, ends because of a newer RPC. `answered_write`, `answered_index`, `answered`: news of a queue pair: READs, atomics and RPCs with
    ///   `fresh`, modulo 32, that are answered whole, or dropped, or given up, or whose place was taken. `ready`: the rows are scrubbed. `busy`: something is owed, and `pause` does not hold it, or something is under way or not taken.
    /// - **Latency** from `task` to `step.valid` 5 cycles when idle, 6 for data and values, 7 for those of an RPC, and for busy. **Rate** operations follow each other in a pipeline
    ///   of three stages, one a cycle, of tasks every second one; a visit with n packets of a READ or an atomic takes 1 + n, of an RPC 2 + n, and a failure 2. So a task and
    ///   its answer take 2 cycles, and 3 with data of one packet, of one queue pair as of many: an operation sees what those before it did. One queue pair alone sends a READ of one
    ///   packet, or a value, in 3 cycles, and of longer ones 4 packets in 7; the answer of an RPC in 5, and 4 packets in 8. A visit, a failure, or a `Finished` or `Pending` waits a cycle longer right behind an operation of its queue pair
    ///   after which another READ may be at the head. `answered` comes 1 cycle behind its operation.
    /// - **Fairness** queue pairs are visited in the order in which they stand in line, and behind a visit go to its end. A visit sends, unless the READ at the
    ///   head waits for its ticket, or an RPC there runs or is outdated: that passes the turn. So while a queue pair has something to send, no other sends on two visits.
    /// - **Order** the five kinds of operation take turns; so each input moves within 20 cycles, whatever `step` does. What is taken has happened for
    ///   all that is taken later, and for the steps that enter later.
    /// - **Refusals** a NAK other than for a gap is replaced by nothing but a failure; one that says `not ready` is none of them. A queue pair that `stops`, or has a `failure`,
    ///   owes nothing but a NAK, and what waits before that, from then on, until it `resets`; if an RPC waits, whose kernel is given up, nothing but the NAK. The first failure gives a NAK, remote operational
    ///   error, and an `error`; those behind it nothing.
    /// - **Backpressure** 16 steps wait. A visit begins when no more than 4 do, so there is room for it and for two before it; otherwise the line stands
    ///   still, and queue pairs are only looked at, one after the other, for which tickets are done. 16 errors wait, and further ones are lost: the NAK tells the peer.
    /// - **Reset** forgets everything and scrubs a row a cycle, with `ready` low, and tells each; operations wait.
    /// - **Congestion** a notice is forgotten while a notification is due, and for `cnp_interval` cycles after the step of one.
    /// - **RPCs** the last packet of an answer is an `RPC_RESPONSE_END` with the RPC's status and bytes, those before it are `RPC_RESPONSE`; an answer of no bytes is one End. Data are
    ///   read under the key of the area, which takes no right. Counted as READs, but for acknowledgements: one that waits is not dropped, because a kernel may take long.
    /// - **Limits** a `Result` comes before anything else of its RPC; a queue pair's have their places in turn, and no more than 16 that are not answered. `Finished`
    ///   of an RPC says the same each time, first with `staged` if ever, then with no more than a packet. An answer has 64 KiB at most, and no more than a place of the area holds; a `Replay` begins with
    ///   one of its packets. `QPS` from 1 to 15, `RING` is `QPS + 4`. Queue pairs beyond the table share the rows of those below. The code
    ///   of the path MTU is 1 to 5, and the same in all tasks of a queue pair until it `resets`. The ticket of a READ is at most 32,767 ahead of `done`, those of a queue pair do not fall, and from one visit
    ///   or look to the next, which are at most `28 * 2^QPS` cycles apart unless `pause` is high, fewer than 32,768 are
    ///   done; with `QPS` up to 10 and one a cycle no more could be. A notification that was sent a multiple of `2^32` cycles ago
    ///   looks as if it had just been sent.
    pub struct Respond<const QPS: usize, const RING: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub task: StreamSink<Task>,
        pub notice: StreamSink<Bits<24>>,
        pub failure: StreamSink<TxFailure>,
        pub change: StreamSink<QpChange>,
        pub done: Signal<In, Bits<16>>,
        pub pause: Signal<In, Bit>,
        pub now: Signal<In, Bits<32>>,
        pub cnp_interval: Signal<In, Bits<32>>,
        pub step: StreamSource<TxStep>,
        pub colour: Signal<In, Bit>,
        pub enters: Signal<Out, Bit>,
        pub cnps_sent: Signal<Out, Bit>,
        pub data_dropped: Signal<Out, Bit>,
        pub answered_write: Signal<Out, Bit>,
        pub answered_index: Signal<Out, Bits<QPS>>,
        pub answered: Signal<Out, Bits<5>>,
        pub area_enable: Signal<Out, Bit>,
        pub area_index: Signal<Out, Bits<24>>,
        pub area: Signal<In, ResultRow>,
        pub stage_sends: Signal<Out, Bit>,
        pub stage_frees: Signal<Out, Bit>,
        pub stage_number: Signal<Out, Bits<5>>,
        pub outdated: Signal<Out, Bit>,
        pub error: StreamSource<QpError>,
        pub ready: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        choose: Choose<QPS>,
        rows: Rows<QPS, RING>,
        note: Note,
        serve: Serve<QPS>,
        count: Count<QPS>,
        line: Line<QPS>,
        sweep: Sweep<QPS>,
        /// What RPCs ended with, by queue pair and place.
        outcomes: UltraRam<Outcome, RING>,
        steps: Fifo<TxStep, STEPS_LOG>,
        errors: Fifo<QpError, ERRORS_LOG>,
        was_cnp: Reg<Bit>,
        was_dropped: Reg<Bit>,
        was_outdated: Reg<Bit>,
        frees: Reg<Bit>,
        freed: Reg<Bits<5>>,
        is_paused: Reg<Bit>,
        has_room: Reg<Bit>,
        visits: Signal<Local, Bit>,
        gives: Signal<Local, Bit>,
        ends: Signal<Local, Bit>,
        changed: Signal<Local, AnswerRow>,
        place: Signal<Local, Bits<4>>,
        finished: Constant<Bits<3>> = number(Answer::Finished as u8),
        pending: Constant<Bits<3>> = number(Answer::Pending as u8),
        /// With no more steps than these, a visit that begins has room, and the two that may be under way.
        room: Constant<Bits<16>> = number((1 << STEPS_LOG) - 3 * BURST),
        general: Constant<Bits<8>> = number(Status::General as u8),
    }
}

impl<const QPS: usize, const RING: usize> Logic for Respond<QPS, RING> {
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "a line for each port of six blocks")]
    fn update(&mut self) {
        clock!(self, clock, choose, rows, note, serve, count, line, sweep, steps, errors, outcomes);
        dff_setup!(self, clock, was_cnp, was_dropped, was_outdated, frees, freed, is_paused, has_room);
        self.choose.reset.next = self.reset.val();
        self.line.reset.next = self.reset.val();
        self.steps.reset.next = self.reset.val();
        self.errors.reset.next = self.reset.val();

        // An input moves when its row has been looked at: until then it stays where it is, and then what counts of it is kept.
        self.choose.asked.next = self.task.valid.val();
        self.choose.asked_qpn.next = self.task.payload.val().qpn;
        // These two have to do with the RPC at the head.
        self.choose.asks_head.next = (self.task.payload.val().answer == self.finished.val())
            | (self.task.payload.val().answer == self.pending.val());
        self.choose.notice.next = self.notice.valid.val();
        self.choose.notice_qpn.next = self.notice.payload.val();
        self.choose.failure.next = self.failure.valid.val();
        self.choose.failure_qpn.next = self.failure.payload.val().qpn;
        self.choose.change.next = self.change.valid.val();
        self.choose.change_qpn.next = self.change.payload.val().qpn;
        // Without room nobody leaves the line, or those who find none would lose their turns to those who come when there is some.
        self.choose.line.next =
            self.line.source.valid.val() & (self.has_room.q.val() | self.sweep.due.val()) & !self.pause.val();
        self.choose.line_qpn.next = self.sweep.number.val();
        if self.has_room.q.val() {
            self.choose.line_qpn.next = self.line.source.payload.val();
        }
        self.choose.room.next = self.has_room.q.val();
        self.choose.visits.next = self.has_room.q.val() & !self.line.is_long.val() & !self.pause.val();
        self.task.ready.next = self.choose.takes_task.val();
        self.notice.ready.next = self.choose.takes_notice.val();
        self.failure.ready.next = self.choose.takes_failure.val();
        self.change.ready.next = self.choose.takes_change.val();
        self.line.source.ready.next = self.choose.takes_line.val() & self.has_room.q.val();
        self.sweep.begins.next = self.choose.takes_line.val();
        self.sweep.notes.next = !self.has_room.q.val();
        self.visits.next = self.choose.serves.val();
        self.choose.lengthens.next =
            self.choose.fails.val() | (self.visits.val() & self.serve.lengthens.val());
        self.choose.stays.next = self.visits.val() & self.serve.stays.val();
        self.choose.keeps.next = self.note.keeps.val();
        self.choose.joins.next = !self.rows.row.val().queued;
        self.ends.next = self.choose.ends.val();

        self.note.asked.next = self.task.payload.val();
        self.note.failure.next = self.failure.payload.val();
        self.note.change.next = self.change.payload.val();
        self.note.looks.next = self.choose.looks.val();
        self.note.tasks.next = self.choose.tasks.val();
        self.note.notices.next = self.choose.notices.val();
        self.note.fails.next = self.choose.fails.val();
        self.note.alters.next = self.choose.alters.val();
        self.note.row.next = self.rows.row.val();
        self.note.entry.next = self.rows.entry.val();
        self.serve.number.next = self.choose.index.val();
        self.serve.row.next = self.rows.row.val();
        self.serve.entry.next = self.rows.entry.val();
        self.serve.decides.next = self.choose.decides.val();
        self.serve.continues.next = self.choose.continues.val();
        self.serve.done.next = self.done.val();
        self.serve.colour.next = self.colour.val();
        self.serve.may_send.next = self.choose.may_send.val();
        self.serve.now.next = self.now.val();
        self.note.now.next = self.now.val();
        self.note.interval.next = self.cnp_interval.val();

        self.outcomes.write_enable.next = self.ends.val() & self.note.finishes.val();
        self.outcomes.write_address.next = (bit_cast::<RING, QPS>(self.choose.index.val()) << 4)
            | bit_cast::<RING, 4>(self.note.place.val());
        self.outcomes.write_data.next = self.note.outcome.val();
        self.place.next = bit_cast::<4, 16>(self.rows.entry.val().ticket);
        self.outcomes.read_enable.next = self.choose.decides.val();
        self.outcomes.read_address.next =
            (bit_cast::<RING, QPS>(self.choose.index.val()) << 4) | bit_cast::<RING, 4>(self.place.val());
        self.serve.outcome.next = self.outcomes.read_data.val();
        self.area_enable.next = self.choose.decides.val() & self.visits.val();
        self.area_index.next = bit_cast::<24, QPS>(self.choose.index.val());
        self.serve.area.next = self.area.val();

        self.count.row.next = self.rows.row.val();
        self.count.index.next = self.choose.index.val();
        self.count.ends.next = self.ends.val();
        self.count.comes.next = self.note.comes.val();
        self.count.drops.next = !self.note.enters.val();
        self.count.goes.next = self.visits.val() & self.serve.finishes.val();
        self.count.forgets.next = self.note.forgets.val();
        self.count.resets.next = self.note.resets.val();
        self.count.scrubs.next = self.choose.scrubs.val();
        self.answered_write.next = self.count.answered_write.val();
        self.answered_index.next = self.count.answered_index.val();
        self.answered.next = self.count.answered.val();

        self.changed.next = self.note.changed.val();
        if self.visits.val() {
            self.changed.next = self.serve.changed.val();
        }
        self.changed.next.came = self.count.came.val();
        self.changed.next.over = self.count.over.val();
        self.rows.begins.next = self.choose.begins.val();
        self.rows.chosen.next = self.choose.chosen.val();
        self.rows.looks.next = self.choose.looks.val();
        self.rows.looked.next = self.choose.looked.val();
        self.rows.follows.next = self.choose.follows.val();
        self.rows.index.next = self.choose.index.val();
        self.rows.moves.next = self.choose.moves.val();
        self.rows.writes.next = self.ends.val();
        self.rows.changed.next = self.changed.val();
        self.rows.enters.next = self.ends.val() & self.note.enters.val();
        self.rows.entered.next = self.note.entered.val();
        self.rows.scrubs.next = self.choose.scrubs.val();
        // Each queue pair is in line once, so there is always a place.
        self.line.sink.valid.next = self.ends.val() & self.note.queues.val() & !self.choose.direct.val();
        if self.visits.val() {
            self.line.sink.valid.next =
                (self.choose.decides.val() | self.ends.val()) & self.serve.joins.val();
        }
        self.line.sink.payload.next = self.choose.index.val();

        self.gives.next = self.visits.val() & self.serve.gives.val();
        self.steps.sink.valid.next = self.gives.val();
        self.steps.sink.payload.next = self.serve.step.val();
        // As of the next cycle, but for a step that is taken in this one.
        self.has_room.d.next = (self.steps.level.val() < self.room.val())
            | ((self.steps.level.val() == self.room.val()) & !self.gives.val());
        self.enters.next = self.gives.val();
        StreamSource::<TxStep>::link(&mut self.step, &mut self.steps.source);
        self.errors.sink.valid.next = self.ends.val() & self.note.tells.val();
        self.errors.sink.payload.next.qpn = bit_cast::<24, QPS>(self.choose.index.val());
        self.errors.sink.payload.next.status = self.general.val();
        self.errors.sink.payload.next.untold = true;
        StreamSource::<QpError>::link(&mut self.error, &mut self.errors.source);

        self.was_cnp.d.next = self.visits.val() & self.serve.gives_cnp.val();
        self.was_dropped.d.next = self.ends.val() & self.note.drops.val();
        self.cnps_sent.next = self.was_cnp.q.val();
        self.data_dropped.next = self.was_dropped.q.val();
        self.was_outdated.d.next = self.visits.val() & self.serve.outdates.val();
        self.outdated.next = self.was_outdated.q.val();
        // Between what is freed and what is sent there are cycles enough for one number.
        self.frees.d.next =
            (self.ends.val() & self.note.frees.val()) | (self.visits.val() & self.serve.frees_stage.val());
        self.freed.d.next = self.rows.row.val().stage;
        if !self.visits.val() {
            self.freed.d.next = self.note.stage.val();
        }
        self.stage_sends.next = self.visits.val() & self.serve.sends_stage.val();
        self.stage_frees.next = self.frees.q.val();
        self.stage_number.next = self.rows.row.val().stage;
        if self.frees.q.val() {
            self.stage_number.next = self.freed.q.val();
        }
        self.is_paused.d.next = self.pause.val();
        self.ready.next = !self.choose.scrubs.val();
        self.busy.next = self.choose.scrubs.val()
            | self.choose.works.val()
            | (self.line.level.val().any() & !self.is_paused.q.val())
            | self.steps.level.val().any()
            | self.errors.level.val().any();
        if self.reset.val() {
            self.was_cnp.d.next = false;
            self.was_dropped.d.next = false;
            self.was_outdated.d.next = false;
            self.frees.d.next = false;
        }
    }
}
