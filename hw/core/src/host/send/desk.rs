//! Where operations on send queues are carried out, one behind the other.

use rust_hdl::prelude::*;

use super::act::Act;
use super::choose::Choose;
use super::rows::Rows;
use super::verdict::Verdict;
use crate::host::work::{QpChange, SendDoorbell, SendRow};
use crate::prim::block_fifo::BlockFifo;
use crate::stream::StreamSink;
use crate::transport::records::Progress;

block! {
    /// Takes doorbells, progress, changes and kicks, keeps the line of queue pairs that wait, and says which jobs start.
    ///
    /// - **Ports** `doorbell`, `change`, `progress`, `kick`, `row*`, `now`, `pause`: as of [`Send`](super::Send). `hold`: begin
    ///   no operation; `fetch_room`, `push_room`: a job of either kind has room, the second with the units of this doorbell,
    ///   looked at when rows are read.
    ///   `begins`: rows are read; `works`: an operation is under way; `scrubs`: the rows are being cleared; `has_line`:
    ///   queue pairs wait. `looks`: the cycle before that of the operation; then, with
    ///   `pushes`, the doorbell is a commit whose units are kept: their job starts. High for the cycle of the operation:
    ///   `fetches`: a job starts, and its WQEs are fetched; `drops`: the doorbell is a commit whose units are not kept; `bad`,
    ///   `wrong_page`, `falls_back`, `has_pushed`: what became of it. `units`, `next_index`: of the job that starts, of `number`,
    ///   under `held_row`, or the row itself with `looks`, with a ring of `capacity` units; it `flushes`, or `drains`.
    /// - **Latency** 2 cycles from a doorbell to its job, 1 to a pushed one. **Rate** and **Order** as of [`Send`](super::Send).
    /// - **Backpressure** none from the jobs: without room, queue pairs stay in line.
    /// - **Reset** empties the line and scrubs the rows.
    pub struct Desk<const QPS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub doorbell: StreamSink<SendDoorbell>,
        pub change: StreamSink<QpChange>,
        pub progress: StreamSink<Progress>,
        pub kick: StreamSink<Bits<24>>,
        pub row_enable: Signal<Out, Bit>,
        pub row_index: Signal<Out, Bits<QPS>>,
        pub row: Signal<In, SendRow>,
        pub now: Signal<In, Bits<64>>,
        pub pause: Signal<In, Bit>,
        pub hold: Signal<In, Bit>,
        pub fetch_room: Signal<In, Bit>,
        pub push_room: Signal<In, Bit>,
        pub begins: Signal<Out, Bit>,
        pub looks: Signal<Out, Bit>,
        pub works: Signal<Out, Bit>,
        pub scrubs: Signal<Out, Bit>,
        pub has_line: Signal<Out, Bit>,
        pub fetches: Signal<Out, Bit>,
        pub pushes: Signal<Out, Bit>,
        pub flushes: Signal<Out, Bit>,
        pub drains: Signal<Out, Bit>,
        pub units: Signal<Out, Bits<6>>,
        pub number: Signal<Out, Bits<QPS>>,
        pub next_index: Signal<Out, Bits<16>>,
        pub held_row: Signal<Out, SendRow>,
        pub capacity: Signal<Out, Bits<16>>,
        pub drops: Signal<Out, Bit>,
        pub bad: Signal<Out, Bit>,
        pub wrong_page: Signal<Out, Bit>,
        pub falls_back: Signal<Out, Bit>,
        pub has_pushed: Signal<Out, Bit>,
        choose: Choose<QPS>,
        rows: Rows<QPS>,
        verdict: Verdict,
        act: Act,
        line: BlockFifo<Bits<QPS>, QPS>,
        acts: Signal<Local, Bit>,
        rings: Signal<Local, Bit>,
    }
}

impl<const QPS: usize> Logic for Desk<QPS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, choose, rows, line);
        self.choose.reset.next = self.reset.val();
        self.line.reset.next = self.reset.val();

        // Choose. An input moves when it has been acted on, so its payload is there all the while.
        self.choose.progress.next = self.progress.valid.val();
        self.choose.progress_qpn.next = self.progress.payload.val().qpn;
        self.choose.change.next = self.change.valid.val();
        self.choose.change_qpn.next = self.change.payload.val().qpn;
        self.choose.kick.next = self.kick.valid.val();
        self.choose.kick_qpn.next = self.kick.payload.val();
        self.choose.doorbell.next = self.doorbell.valid.val();
        self.choose.doorbell_qpn.next = self.doorbell.payload.val().qpn;
        self.choose.line.next = self.line.source.valid.val() & self.fetch_room.val() & !self.pause.val();
        self.choose.line_qpn.next = self.line.source.payload.val();
        self.choose.hold.next = self.hold.val();
        self.choose.paced.next = self.row.val().pace.any();
        self.acts.next = self.choose.acts.val();
        self.rings.next = self.choose.acts.val() & self.choose.rings.val();
        self.progress.ready.next = self.acts.val() & self.choose.progresses.val();
        self.change.ready.next = self.acts.val() & self.choose.changes.val();
        self.kick.ready.next = self.acts.val() & self.choose.kicks.val();
        self.doorbell.ready.next = self.rings.val();
        self.line.source.ready.next = self.acts.val() & self.choose.serves.val();
        self.begins.next = self.choose.begins.val();
        self.looks.next = self.choose.looks.val();
        self.works.next = self.choose.works.val();
        self.scrubs.next = self.choose.scrubs.val();
        self.number.next = self.choose.index.val();

        // Look.
        self.row_enable.next = self.choose.begins.val();
        self.row_index.next = self.choose.index.val();
        self.rows.begins.next = self.choose.begins.val();
        self.rows.index.next = self.choose.index.val();
        self.rows.looks.next = self.choose.looks.val();
        self.rows.rings.next = self.choose.rings.val();
        self.rows.pause.next = self.pause.val();
        self.rows.row.next = self.row.val();
        self.rows.doorbell.next = self.doorbell.payload.val();
        self.rows.progress.next = self.progress.payload.val();
        self.rows.now.next = self.now.val();
        self.rows.fetch_room.next = self.fetch_room.val();
        self.rows.push_room.next = self.push_room.val();
        self.rows.scrubs.next = self.choose.scrubs.val();
        self.held_row.next = self.rows.held_row.val();
        self.pushes.next = self.rows.pushes.val();
        self.capacity.next = self.rows.sight.val().capacity;

        // Act.
        self.verdict.sight.next = self.rows.sight.val();
        self.act.progresses.next = self.choose.progresses.val();
        self.act.changes.next = self.choose.changes.val();
        self.act.kicks.next = self.choose.kicks.val();
        self.act.rings.next = self.choose.rings.val();
        self.act.serves.next = self.choose.serves.val();
        self.act.state.next = self.rows.state.val();
        self.act.sight.next = self.rows.sight.val();
        self.act.doorbell.next = self.doorbell.payload.val();
        self.act.good.next = self.verdict.good.val();
        self.act.advances.next = self.verdict.advances.val();
        self.act.progress.next = self.progress.payload.val();
        self.act.delay.next = self.rows.delay.val();
        self.act.resets.next = self.change.payload.val().resets;
        self.act.is_alone.next = !self.line.level.val().any();
        self.act.now.next = self.now.val();
        self.rows.writes.next = self.acts.val();
        self.rows.changed.next = self.act.changed.val();
        // Each queue pair is in line once, so there is always a place.
        self.line.sink.valid.next = self.acts.val() & self.act.queues.val();
        self.line.sink.payload.next = self.choose.index.val();
        self.has_line.next = self.line.level.val().any();

        self.fetches.next = self.acts.val() & self.act.fetches.val();
        self.next_index.next = self.rows.state.val().fetched;
        self.units.next = self.act.units.val();
        self.flushes.next = self.rows.sight.val().is_flushed;
        self.drains.next = self.rows.sight.val().is_drained;
        // A push is one of a queue pair that is ready to send.
        if self.choose.looks.val() {
            self.next_index.next = self.rows.start.val();
            self.units.next = bit_cast::<6, 3>(self.doorbell.payload.val().units);
            self.flushes.next = false;
            self.drains.next = false;
        }
        self.drops.next =
            self.rings.val() & self.doorbell.payload.val().commits & !self.rows.sight.val().is_push;
        self.has_pushed.next = self.rings.val() & self.rows.sight.val().is_push;
        self.bad.next = self.rings.val() & self.verdict.bad.val();
        self.wrong_page.next = self.rings.val() & self.verdict.wrong_page.val();
        self.falls_back.next = self.rings.val() & self.act.falls_back.val();
    }
}
