//! The sending side's scheduler: who may fetch WQEs, which, and when.

pub mod act;
pub mod choose;
pub mod desk;
pub mod fetch;
pub mod look;
pub mod model;
#[cfg(test)]
mod rig;
pub mod rows;
#[cfg(test)]
mod tests;
pub mod units;
pub mod verdict;

use rust_hdl::prelude::*;

use desk::Desk;
use fetch::Fetch;
use units::Units;

use super::dma_read::ReadCommand;
use super::work::{Job, QpChange, SendDoorbell, SendRow};
use crate::prim::colours::Colours;
use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::stream::{StreamSink, StreamSource};
use crate::transport::records::Progress;

block! {
    /// Owns the send queues of `2^QPS` queue pairs, one operation at a time.
    ///
    /// ```text
    ///   doorbell, progress, change, kick ─ Desk ─┬─ Fetch ─ read
    ///                                row ───┘    └─ FIFO ── job ─┐
    ///   units ─ Units ─ pushed                      Colours ─────┴─ retired
    /// ```
    ///
    /// A job has up to 32 units from the next to fetch on, never beyond the producer nor over the same place of the ring
    /// twice. A doorbell starts it when nobody waits; otherwise the queue pair stands in line, once, and each visit gives it
    /// one job. The job's progress says where the next begins.
    ///
    /// A queue pair has two jobs at most. The second begins where the first is expected to end, and starts before it has
    /// ended. Whoever admits work passes over what is not next; so if the first has ended earlier, all of the second goes
    /// for nothing, and is fetched again when it has ended, too. Lest that happens often, a second job starts only
    /// while the queue pair is ready to send, has no pace, and its last job ended where it was expected and not `blocked`; a
    /// queue that begins anew is trusted. So messages that take a visit each have one job at a time. A job that leaves a WQE
    /// which goes on behind its end makes the next ones as much shorter: WQEs of one length end with their jobs. One that is
    /// `blocked` or has spent its quantum tells nothing about that.
    ///
    /// A queue pair in Drained has jobs like any other, which say so: what it has begun may have to be sent on, or again. The
    /// first WQE that has not begun blocks it.
    ///
    /// A queue pair whose progress is `blocked` has no job, and its doorbells are noted, until a kick, a change or a
    /// rewind; what of these comes while jobs are under way counts as well, so that none is lost. A rewind moves the next
    /// unit to fetch back, at once without a job, and otherwise by the progress of the jobs. One that is `blocked` itself does
    /// only that: the queue pair stays out of line, and jobs under way are expected to end `blocked`.
    ///
    /// - **Ports** `doorbell`, `units`: doorbells and commits, and the units of commits; `row_enable`, `row_index`, `row`: the queue
    ///   pair's row, there a cycle later; `change`: a row has changed; `progress`: of each job, one, in order, and rewinds;
    ///   `kick`: a queue pair's peer has answered, and whoever asks will see it; `retired`, `retired_colour`: a job has ended;
    ///   `drain`, `drained`: all jobs begun under rows read until `drain` have ended; `pause`: no job starts; `time`: cycles.
    ///   `read`: fetches, tag 0; `job`: jobs, in the order of their fetches; `pushed`: units of pushed jobs, in job order. A commit may come
    ///   before its units, if these do not wait for anything. High
    ///   for a cycle each: `wrong_page`, `bad`: a doorbell was refused; `pushes`: a push started without a fetch;
    ///   `push_fallbacks`: a good commit did not. `ready`: the rows are scrubbed. `in_line`: queue pairs are in line. `busy`:
    ///   something is under way, or a job has not ended, or queue pairs are in line and `pause` does not hold them.
    /// - **Latency** 3 cycles from `doorbell` to `read` and `job` when idle and nobody is in line, 2 to the `job` of a push; 8 from
    ///   progress, a rewind or a kick. The second job of a queue pair follows its first after 5 cycles. **Rate** an operation
    ///   every 3 cycles; progress of a paced queue pair 5, a fetch over the ring's end 4; a push of n units n + 2, a commit
    ///   of n units that is none n + 3.
    /// - **Order** progress, changes, kicks, then doorbells and visits in turn. No operation waits for an output: without room,
    ///   or with `pause`, visits do not begin and doorbells are noted. So all inputs always move on. A job that is about to
    ///   start when `pause` rises does so in the next cycle at the latest.
    /// - **Pace** between the starts of two jobs at least `bytes * pace / 2^18` cycles pass, for the bytes of the first.
    ///   Flushed WQEs are not paced.
    /// - **Backpressure** 16 jobs, 16 pushed units and 4 fetches wait. `row_enable` and `row_index` follow `doorbell`, `change`,
    ///   `progress`, `kick` and `pause` combinationally, to save a cycle; no other output does so.
    /// - **Reset** forgets everything and scrubs a row a cycle, with `ready` low; operations wait.
    /// - **Limits** `QPS` from 1 to 15. A doorbell beyond the table is bad. `change`, `progress` and `kick` name queue pairs in the
    ///   table. Behind a change that `resets` comes no progress of before. Kicks in every third cycle leave no time for doorbells.
    pub struct Send<const QPS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub doorbell: StreamSink<SendDoorbell>,
        pub units: StreamSink<Bits<512>>,
        pub row_enable: Signal<Out, Bit>,
        pub row_index: Signal<Out, Bits<QPS>>,
        pub row: Signal<In, SendRow>,
        pub change: StreamSink<QpChange>,
        pub progress: StreamSink<Progress>,
        pub kick: StreamSink<Bits<24>>,
        pub drain: Signal<In, Bit>,
        pub drained: Signal<Out, Bit>,
        pub retired: Signal<In, Bit>,
        pub retired_colour: Signal<In, Bit>,
        pub pause: Signal<In, Bit>,
        pub time: Signal<In, Bits<64>>,
        pub read: StreamSource<ReadCommand>,
        pub job: StreamSource<Job>,
        pub pushed: StreamSource<Bits<512>>,
        pub wrong_page: Signal<Out, Bit>,
        pub bad: Signal<Out, Bit>,
        pub pushes: Signal<Out, Bit>,
        pub push_fallbacks: Signal<Out, Bit>,
        pub ready: Signal<Out, Bit>,
        pub in_line: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        desk: Desk<QPS>,
        fetch: Fetch,
        mover: Units,
        /// Jobs that have not ended: far fewer than 4095 fit between here and there.
        colours: Colours<12>,
        jobs: Fifo<Job, 4>,
        /// Of the operation under way.
        work_colour: Reg<Bit>,
        is_paused: Reg<Bit>,
        refused_page: Reg<Bit>,
        refused: Reg<Bit>,
        was_pushed: Reg<Bit>,
        fell_back: Reg<Bit>,
        starts: Signal<Local, Bit>,
        shown: Signal<Local, SendRow>,
    }
}

impl<const QPS: usize> Logic for Send<QPS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, desk, fetch, mover, colours, jobs);
        dff_setup!(self, clock, work_colour, is_paused, refused_page, refused, was_pushed, fell_back);
        self.desk.reset.next = self.reset.val();
        self.fetch.reset.next = self.reset.val();
        self.mover.reset.next = self.reset.val();
        self.colours.reset.next = self.reset.val();
        self.jobs.reset.next = self.reset.val();

        StreamSink::<SendDoorbell>::link(&mut self.doorbell, &mut self.desk.doorbell);
        StreamSink::<QpChange>::link(&mut self.change, &mut self.desk.change);
        StreamSink::<Progress>::link(&mut self.progress, &mut self.desk.progress);
        StreamSink::<Bits<24>>::link(&mut self.kick, &mut self.desk.kick);
        self.row_enable.next = self.desk.row_enable.val();
        self.row_index.next = self.desk.row_index.val();
        self.desk.row.next = self.row.val();
        self.desk.now.next = self.time.val();
        self.desk.pause.next = self.pause.val();
        self.desk.hold.next = self.fetch.holds.val() | self.mover.holds.val();
        self.desk.fetch_room.next = self.jobs.sink.ready.val() & self.fetch.room.val();
        self.desk.push_room.next = self.jobs.sink.ready.val() & self.mover.room.val();

        self.fetch.starts.next = self.desk.fetches.val();
        self.fetch.base.next = self.desk.held_row.val().base;
        self.fetch.next_index.next = self.desk.next_index.val();
        self.fetch.capacity.next = self.desk.capacity.val();
        self.fetch.units.next = self.desk.units.val();
        StreamSource::<ReadCommand>::link(&mut self.read, &mut self.fetch.read);
        self.mover.starts.next = self.desk.pushes.val() | self.desk.drops.val();
        self.mover.keeps.next = self.desk.pushes.val();
        self.mover.count.next = self.doorbell.payload.val().units;
        StreamSink::<Bits<512>>::link(&mut self.units, &mut self.mover.sink);
        StreamSource::<Bits<512>>::link(&mut self.pushed, &mut self.mover.source);

        // A push starts while the rows are looked at, a fetch a cycle later, when they are held.
        self.shown.next = self.desk.held_row.val();
        if self.desk.looks.val() {
            self.shown.next = self.row.val();
        }
        self.starts.next = self.desk.fetches.val() | self.desk.pushes.val();
        self.jobs.sink.valid.next = self.starts.val();
        self.jobs.sink.payload.next.qpn = bit_cast::<24, QPS>(self.desk.number.val());
        self.jobs.sink.payload.next.index = self.desk.next_index.val();
        self.jobs.sink.payload.next.units = self.desk.units.val();
        self.jobs.sink.payload.next.pushed = self.desk.looks.val();
        self.jobs.sink.payload.next.colour = self.work_colour.q.val();
        self.jobs.sink.payload.next.flush = self.desk.flushes.val();
        self.jobs.sink.payload.next.drains = self.desk.drains.val();
        self.jobs.sink.payload.next.kind = self.shown.val().kind;
        self.jobs.sink.payload.next.pd = self.shown.val().pd;
        self.jobs.sink.payload.next.cq = self.shown.val().cq;
        self.jobs.sink.payload.next.path_mtu = self.shown.val().path_mtu;
        self.jobs.sink.payload.next.send_psn = self.shown.val().send_psn;
        self.jobs.sink.payload.next.reads_out = self.shown.val().reads_out;
        self.jobs.sink.payload.next.timeout = self.shown.val().timeout;
        StreamSource::<Job>::link(&mut self.job, &mut self.jobs.source);

        // Whoever has changed a queue pair's row asks for `drain`: a job under the old row has the old colour, because an
        // operation takes its colour in the cycle in which it reads the row. It starts a job later, or none.
        if self.desk.begins.val() {
            self.work_colour.d.next = self.colours.colour.val();
        }
        self.colours.enters.next = self.starts.val();
        self.colours.enters_colour.next = self.work_colour.q.val();
        self.colours.pending.next =
            self.desk.works.val() & (self.work_colour.q.val() != self.colours.colour.val());
        self.colours.leaves.next = self.retired.val();
        self.colours.leaves_colour.next = self.retired_colour.val();
        self.colours.drain.next = self.drain.val();
        self.drained.next = self.colours.drained.val();

        self.refused_page.d.next = self.desk.wrong_page.val();
        self.refused.d.next = self.desk.bad.val();
        self.was_pushed.d.next = self.desk.has_pushed.val();
        self.fell_back.d.next = self.desk.falls_back.val();
        self.wrong_page.next = self.refused_page.q.val();
        self.bad.next = self.refused.q.val();
        self.pushes.next = self.was_pushed.q.val();
        self.push_fallbacks.next = self.fell_back.q.val();

        self.is_paused.d.next = self.pause.val();
        self.ready.next = !self.desk.scrubs.val();
        self.in_line.next = self.desk.has_line.val();
        self.busy.next = self.desk.scrubs.val()
            | self.desk.works.val()
            | self.fetch.busy.val()
            | self.mover.busy.val()
            | self.colours.busy.val()
            | self.jobs.level.val().any()
            | (self.desk.has_line.val() & !self.is_paused.q.val());
        if self.reset.val() {
            self.refused_page.d.next = false;
            self.refused.d.next = false;
            self.was_pushed.d.next = false;
            self.fell_back.d.next = false;
        }
    }
}
