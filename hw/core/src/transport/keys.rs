//! Keys: what works and peers ask of memory windows, one after the other, and what is told of it.

pub mod course;
#[cfg(test)]
mod model;
pub mod passed;
#[cfg(test)]
mod rig;
pub mod settle;
pub mod tell;
#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;

use course::Course;
use passed::Passed;
use settle::Settle;
use tell::Tell;

use super::records::{KeyJob, KeyedRow, Nudge};
use crate::constant::number;
use crate::host::work::{Done, QpChange, QpError};
use crate::prim::all::All;
use crate::prim::fifo::Fifo;
use crate::prim::ram::BlockRam;
use crate::state::command::{KeyVerb, KeyWork};
use crate::stream::{StreamSink, StreamSource};

/// log2 of the works of either kind that wait.
pub const WAITING_LOG: usize = 4;

block! {
    /// Carries out work on keys of `2^QPS` queue pairs, one at a time.
    ///
    /// ```text
    ///   job ── FIFO ─┐           ┌─ work, reply
    ///   part ─ FIFO ─┴── Course ─┤                 ┌─ done, error ─ KeyedRow
    ///   enters, leaves ─ Settle ─┴─────────── Tell ┴─ nudge
    /// ```
    ///
    /// - **Order** the end of a key that a peer asks for must not be the end of what the same peer sent before: it is put to
    ///   the owner when all arrivals of before have left, their own SEND among them, and what came of them. Works of this host have
    ///   seen to that themselves. When the owner says that a key has ended, no *new* question finds it. What was allowed before
    ///   had asked before, so it had entered; what has not entered, be it on its way in, has asked nothing. So the end is told
    ///   when all that had entered up to the reply has left: first arrivals, then the atomics they became; and answers, of which each
    ///   packet asks for itself; and what kernels read and write. The writer has taken all their bytes by then, and a completion that it takes later is visible
    ///   later.
    /// - **Ports** `job`: works of this host; `part`: ends of keys that peers ask for. `work`, `reply`: the owner of the keys, who
    ///   answers each with 0 or a `KeyCause`. `*_enters`, `*_leaves`: an arrival, an atomic, a
    ///   packet of an answer, a read or a write of a kernel begins or ends, those of each kind in order. `done`: completions
    ///   of jobs that were signaled or failed; `error`: queue pairs of those that failed, before their completion. `nudge`: how
    ///   a part has ended. `look`, `look_index`, `keyed`: how far a queue pair's jobs have come, from the next cycle on and held;
    ///   `change`: one that resets begins anew. `drain`, `drained`: a pulse each, what had come up to then has ended. `moves`: something
    ///   moves; `busy`: something is inside.
    /// - **Latency** from `job` to `work` 2 cycles, from `part` 7 if nothing is under way; from `reply` to what is told of it 1
    ///   cycle if it was refused or a `Bind`, otherwise 6 if nothing is under way; from the last taken to `keyed` 2. `drained` comes 2
    ///   cycles after `drain` at least.
    /// - **Rate** one at a time; jobs and parts take turns when both wait.
    /// - **Backpressure** 16 jobs and 16 parts wait; their `ready` is a register, and falls only when one is taken. `change` waits
    ///   for a cycle in which no job ends. No combinational path from port to port.
    /// - **Reset** forgets all works. Rows are not cleared: a queue pair that is created resets.
    /// - **Limits** of a queue pair one job is inside at most, and none when it resets; fewer than `2^16` of each kind
    ///   are under way.
    pub struct Keys<const QPS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub job: StreamSink<KeyJob>,
        pub part: StreamSink<KeyWork>,
        pub work: StreamSource<KeyWork>,
        pub reply: StreamSink<Bits<3>>,
        pub arrival_enters: Signal<In, Bit>,
        pub arrival_leaves: Signal<In, Bit>,
        pub atomic_enters: Signal<In, Bit>,
        pub atomic_leaves: Signal<In, Bit>,
        pub answer_enters: Signal<In, Bit>,
        pub answer_leaves: Signal<In, Bit>,
        pub kernel_read_enters: Signal<In, Bit>,
        pub kernel_read_leaves: Signal<In, Bit>,
        pub kernel_write_enters: Signal<In, Bit>,
        pub kernel_write_leaves: Signal<In, Bit>,
        pub done: StreamSource<Done>,
        pub error: StreamSource<QpError>,
        pub nudge: StreamSource<Nudge>,
        pub look: Signal<In, Bit>,
        pub look_index: Signal<In, Bits<QPS>>,
        pub keyed: Signal<Out, KeyedRow>,
        pub change: StreamSink<QpChange>,
        pub drain: Signal<In, Bit>,
        pub drained: Signal<Out, Bit>,
        pub moves: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        jobs: Fifo<KeyJob, WAITING_LOG>,
        parts: Fifo<KeyWork, WAITING_LOG>,
        course: Course,
        settle: Settle,
        tell: Tell,
        rows: BlockRam<KeyedRow, QPS>,
        job_drain: Passed,
        part_drain: Passed,
        drains: All<2>,
        ends_job: Signal<Local, Bit>,
        ends_part: Signal<Local, Bit>,
        bind: Constant<Bits<2>> = number(KeyVerb::Bind as u64),
        nothing: Constant<KeyedRow> = Constant::new(KeyedRow::default()),
    }
}

impl<const QPS: usize> Logic for Keys<QPS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, jobs, parts, course, settle, tell, rows, job_drain, part_drain, drains);
        self.jobs.reset.next = self.reset.val();
        self.parts.reset.next = self.reset.val();
        self.course.reset.next = self.reset.val();
        self.settle.reset.next = self.reset.val();
        self.tell.reset.next = self.reset.val();
        self.job_drain.reset.next = self.reset.val();
        self.part_drain.reset.next = self.reset.val();
        self.drains.reset.next = self.reset.val();
        StreamSink::<KeyJob>::link(&mut self.job, &mut self.jobs.sink);
        StreamSink::<KeyWork>::link(&mut self.part, &mut self.parts.sink);
        self.settle.arrival_enters.next = self.arrival_enters.val();
        self.settle.arrival_leaves.next = self.arrival_leaves.val();
        self.settle.atomic_enters.next = self.atomic_enters.val();
        self.settle.atomic_leaves.next = self.atomic_leaves.val();
        self.settle.answer_enters.next = self.answer_enters.val();
        self.settle.answer_leaves.next = self.answer_leaves.val();
        self.settle.kernel_read_enters.next = self.kernel_read_enters.val();
        self.settle.kernel_read_leaves.next = self.kernel_read_leaves.val();
        self.settle.kernel_write_enters.next = self.kernel_write_enters.val();
        self.settle.kernel_write_leaves.next = self.kernel_write_leaves.val();

        self.work.payload.next = self.parts.source.payload.val();
        if !self.course.is_part.val() {
            self.work.payload.next.verb = self.jobs.source.payload.val().verb;
            self.work.payload.next.qpn = self.jobs.source.payload.val().qpn;
            self.work.payload.next.pd = self.jobs.source.payload.val().pd;
            self.work.payload.next.key = self.jobs.source.payload.val().key;
            self.work.payload.next.region = self.jobs.source.payload.val().region;
            self.work.payload.next.base = self.jobs.source.payload.val().base;
            self.work.payload.next.length = self.jobs.source.payload.val().length;
            self.work.payload.next.rights = self.jobs.source.payload.val().rights;
        }
        self.course.has_job.next = self.jobs.source.valid.val();
        self.course.has_part.next = self.parts.source.valid.val();
        self.course.is_bind.next = self.jobs.source.payload.val().verb == self.bind.val();
        self.work.valid.next = self.course.asks.val();
        self.course.asked.next = self.work.ready.val();
        self.reply.ready.next = self.course.judges.val();
        self.course.replies.next = self.reply.valid.val();
        self.course.reply.next = self.reply.payload.val();
        self.settle.begins.next = self.course.settles.val();
        self.course.settled.next = self.settle.ended.val();
        self.course.told.next = self.tell.ends.val();

        self.tell.active.next = self.course.tells.val();
        self.tell.is_part.next = self.course.is_part.val();
        self.tell.job.next = self.jobs.source.payload.val();
        self.tell.part.next = self.parts.source.payload.val();
        self.tell.cause.next = self.course.cause.val();
        StreamSource::<Done>::link(&mut self.done, &mut self.tell.done);
        StreamSource::<QpError>::link(&mut self.error, &mut self.tell.error);
        StreamSource::<Nudge>::link(&mut self.nudge, &mut self.tell.nudge);
        self.ends_job.next = self.tell.ends.val() & !self.course.is_part.val();
        self.ends_part.next = self.tell.ends.val() & self.course.is_part.val();
        self.jobs.source.ready.next = self.ends_job.val();
        self.parts.source.ready.next = self.ends_part.val();

        self.change.ready.next = !self.ends_job.val();
        self.rows.write_enable.next =
            self.ends_job.val() | (self.change.valid.val() & self.change.payload.val().resets);
        self.rows.write_address.next = bit_cast::<QPS, 24>(self.change.payload.val().qpn);
        self.rows.write_data.next = self.nothing.val();
        if self.ends_job.val() {
            self.rows.write_address.next = bit_cast::<QPS, 24>(self.jobs.source.payload.val().qpn);
            self.rows.write_data.next.turn = self.jobs.source.payload.val().turn;
            self.rows.write_data.next.failed = self.course.cause.val().any();
        }
        self.rows.read_enable.next = self.look.val();
        self.rows.read_address.next = self.look_index.val();
        self.keyed.next = self.rows.read_data.val();

        self.job_drain.enters.next = self.job.valid.val() & self.jobs.sink.ready.val();
        self.job_drain.leaves.next = self.ends_job.val();
        self.job_drain.begins.next = self.drain.val();
        self.part_drain.enters.next = self.part.valid.val() & self.parts.sink.ready.val();
        self.part_drain.leaves.next = self.ends_part.val();
        self.part_drain.begins.next = self.drain.val();
        self.drains.begins.next = self.drain.val();
        self.drains.ends[0].next = self.job_drain.ended.val();
        self.drains.ends[1].next = self.part_drain.ended.val();
        self.drained.next = self.drains.ended.val();

        self.moves.next = self.job.valid.val()
            | self.part.valid.val()
            | (self.course.asks.val() & self.work.ready.val())
            | (self.course.judges.val() & self.reply.valid.val())
            | self.tell.moves.val();
        self.busy.next = self.jobs.source.valid.val() | self.parts.source.valid.val();
    }
}
