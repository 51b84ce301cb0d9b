//! From a doorbell to checked work, and from local work to its completion: the blocks that carry out work requests, joined.

use rust_hdl::prelude::*;

use super::check::Check;
use super::dma_read::{ReadCommand, ReadData};
use super::doorbells::Doorbells;
use super::mover::Mover;
use super::parse::Parse;
use super::send::Send;
use super::work::{
    CqDoorbell, Done, HostWrite, Job, PageStore, QpChange, QpError, SendDoorbell, SendRow, Unit, Work,
};
use crate::prim::arbiter::Arbiter;
use crate::prim::fork::Fork;
use crate::state::access::XlatRequest;
use crate::state::mmu::XlatResponse;
use crate::stream::{Beat, StreamSink, StreamSource};
use crate::transport::records::{Progress, ReceiveDoorbell};

block! {
    /// Takes stores to doorbell pages, and does what the WQEs they announce ask for.
    ///
    /// ```text
    ///   store ─ Doorbells ─┬─ Send ── job ── Parse ─ Check ─ checked   local ─ Mover ─ done
    ///        cq, receive ──┘   └ fetch, units ┘        └─ xlat ─────────────┘└─ read, write
    /// ```
    ///
    /// - **Ports** `store`: stores; `cq`, `receive`: those that are for CQs and for receive queues. `row_*`: rows of queue pairs; `change`: rows that have changed;
    ///   `drain_jobs`, `jobs_drained`: jobs begun before have ended. `fetch`, `units`: WQEs;
    ///   `checked`, `checked_units`: work that may be carried out or refused; `local`, `local_units`: what of it the Mover carries out,
    ///   `finished`: it has finished one; `progress`, `kick`: as [`Send`]; `read`, `read_data`, `write`,
    ///   `write_data`: payload; `drain_moves`, `moves_drained`: payload asked for before has gone. `xlat`, `answer`: the MMU. `done`,
    ///   `error`: how requests end. `pause`: begin nothing, and forget stores. Pulses `wrong_page`, `bad` (two), `pushes`, `push_fallbacks`.
    ///   `ready`: tables are scrubbed. `busy`: work is inside. `moves`: something moved, or a queue pair stands in line.
    /// - **Latency, rate, back-pressure** those of the parts.
    /// - **Reset** forgets all work; host reads and writes must have ended before.
    pub struct WorkPath<const D: usize, const QPS: usize, const PAGES: usize, const LOG: usize, const WINDOWS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub store: StreamSink<PageStore>,
        pub cq: StreamSource<CqDoorbell>,
        pub receive: StreamSource<ReceiveDoorbell>,
        pub row_enable: Signal<Out, Bit>,
        pub row_index: Signal<Out, Bits<24>>,
        pub row: Signal<In, SendRow>,
        pub change: StreamSink<QpChange>,
        pub drain_jobs: Signal<In, Bit>,
        pub jobs_drained: Signal<Out, Bit>,
        pub fetch: StreamSource<ReadCommand>,
        pub units: StreamSink<Unit>,
        pub read: StreamSource<ReadCommand>,
        pub read_data: StreamSink<ReadData<D>>,
        pub write: StreamSource<HostWrite>,
        pub write_data: StreamSource<Beat<D>>,
        pub drain_moves: Signal<In, Bit>,
        pub moves_drained: Signal<Out, Bit>,
        pub xlat: StreamSource<XlatRequest>,
        pub answer: StreamSink<XlatResponse>,
        pub checked: StreamSource<Work>,
        pub checked_units: StreamSource<Bits<512>>,
        pub local: StreamSink<Work>,
        pub local_units: StreamSink<Bits<512>>,
        pub finished: Signal<Out, Bit>,
        pub progress: StreamSink<Progress>,
        pub kick: StreamSink<Bits<24>>,
        pub done: StreamSource<Done>,
        pub error: StreamSource<QpError>,
        pub pause: Signal<In, Bit>,
        pub time: Signal<In, Bits<64>>,
        pub wrong_page: Signal<Out, Bit>,
        pub bad: [Signal<Out, Bit>; 2],
        pub pushes: Signal<Out, Bit>,
        pub push_fallbacks: Signal<Out, Bit>,
        pub ready: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        pub moves: Signal<Out, Bit>,
        doorbells: Doorbells<PAGES, WINDOWS>,
        send: Send<QPS>,
        changes: Fork<QpChange>,
        parse: Parse,
        check: Check,
        mover: Mover<D, QPS, LOG>,
        asks: Arbiter<XlatRequest, 2>,
        is_for_check: Signal<Local, Bit>,
    }
}

impl<const D: usize, const QPS: usize, const PAGES: usize, const LOG: usize, const WINDOWS: usize> Logic
    for WorkPath<D, QPS, PAGES, LOG, WINDOWS>
{
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, doorbells, send, changes, parse, check, mover, asks);
        self.doorbells.reset.next = self.reset.val();
        self.send.reset.next = self.reset.val();
        self.changes.reset.next = self.reset.val();
        self.parse.reset.next = self.reset.val();
        self.check.reset.next = self.reset.val();
        self.mover.reset.next = self.reset.val();
        self.asks.reset.next = self.reset.val();

        // Doorbells.
        StreamSink::<PageStore>::link(&mut self.store, &mut self.doorbells.store);
        StreamSource::<CqDoorbell>::link(&mut self.cq, &mut self.doorbells.cq);
        StreamSource::<ReceiveDoorbell>::link(&mut self.receive, &mut self.doorbells.receive);
        StreamSource::<SendDoorbell>::join(&mut self.doorbells.send, &mut self.send.doorbell);
        StreamSource::<Bits<512>>::join(&mut self.doorbells.pushed, &mut self.send.units);

        // Rows of queue pairs, and their changes.
        self.row_enable.next = self.send.row_enable.val();
        self.row_index.next = bit_cast::<24, QPS>(self.send.row_index.val());
        self.send.row.next = self.row.val();
        StreamSink::<QpChange>::link(&mut self.change, &mut self.changes.sink);
        StreamSource::<QpChange>::join(&mut self.changes.left, &mut self.send.change);
        StreamSource::<QpChange>::join(&mut self.changes.right, &mut self.mover.change);
        self.send.drain.next = self.drain_jobs.val();
        self.jobs_drained.next = self.send.drained.val();
        self.send.retired.next = self.mover.retired.val();
        self.send.retired_colour.next = self.mover.retired_colour.val();
        self.doorbells.discards.next = self.pause.val();
        self.send.pause.next = self.pause.val();
        self.send.time.next = self.time.val();

        // WQEs.
        StreamSource::<ReadCommand>::link(&mut self.fetch, &mut self.send.read);
        StreamSink::<Unit>::link(&mut self.units, &mut self.parse.fetched);
        StreamSource::<Job>::join(&mut self.send.job, &mut self.parse.job);
        StreamSource::<Bits<512>>::join(&mut self.send.pushed, &mut self.parse.pushed);
        StreamSink::<Progress>::link(&mut self.progress, &mut self.send.progress);
        StreamSink::<Bits<24>>::link(&mut self.kick, &mut self.send.kick);
        StreamSource::<Work>::join(&mut self.parse.work, &mut self.check.work);
        StreamSource::<Bits<512>>::join(&mut self.parse.units, &mut self.check.work_units);
        StreamSource::<Work>::link(&mut self.checked, &mut self.check.checked);
        StreamSource::<Bits<512>>::link(&mut self.checked_units, &mut self.check.units);
        StreamSink::<Work>::link(&mut self.local, &mut self.mover.work);
        StreamSink::<Bits<512>>::link(&mut self.local_units, &mut self.mover.units);
        self.finished.next = self.mover.finished.val();

        // Addresses: the checker is client 0, and both always take their answers.
        StreamSource::<XlatRequest>::join(&mut self.check.xlat, &mut self.asks.sinks[0]);
        StreamSource::<XlatRequest>::join(&mut self.mover.xlat, &mut self.asks.sinks[1]);
        StreamSource::<XlatRequest>::link(&mut self.xlat, &mut self.asks.source);
        self.is_for_check.next = !self.answer.payload.val().client.any();
        self.check.answer.payload.next = self.answer.payload.val();
        self.check.answer.valid.next = self.answer.valid.val() & self.is_for_check.val();
        self.mover.answer.payload.next = self.answer.payload.val();
        self.mover.answer.valid.next = self.answer.valid.val() & !self.is_for_check.val();
        self.answer.ready.next = self.check.answer.ready.val() & self.mover.answer.ready.val();

        // Payload and endings.
        StreamSource::<ReadCommand>::link(&mut self.read, &mut self.mover.read);
        StreamSink::<ReadData<D>>::link(&mut self.read_data, &mut self.mover.read_data);
        StreamSource::<HostWrite>::link(&mut self.write, &mut self.mover.write);
        StreamSource::<Beat<D>>::link(&mut self.write_data, &mut self.mover.write_data);
        self.mover.drain.next = self.drain_moves.val();
        self.moves_drained.next = self.mover.drained.val();
        StreamSource::<Done>::link(&mut self.done, &mut self.mover.done);
        StreamSource::<QpError>::link(&mut self.error, &mut self.mover.error);

        self.wrong_page.next = self.send.wrong_page.val();
        self.bad[0].next = self.doorbells.bad.val();
        self.bad[1].next = self.send.bad.val();
        self.pushes.next = self.send.pushes.val();
        self.push_fallbacks.next = self.send.push_fallbacks.val();
        self.ready.next = self.doorbells.ready.val() & self.send.ready.val() & self.mover.ready.val();
        self.busy.next = self.doorbells.busy.val()
            | self.send.busy.val()
            | self.parse.busy.val()
            | self.check.busy.val()
            | self.mover.busy.val();
        self.moves.next = self.doorbells.busy.val()
            | self.send.in_line.val()
            | (self.send.job.valid.val() & self.parse.job.ready.val())
            | (self.progress.valid.val() & self.send.progress.ready.val())
            | self.kick.valid.val()
            | (self.parse.work.valid.val() & self.check.work.ready.val())
            | (self.check.checked.valid.val() & self.checked.ready.val())
            | (self.local.valid.val() & self.mover.work.ready.val())
            | (self.asks.source.valid.val() & self.xlat.ready.val())
            | self.answer.valid.val()
            | (self.mover.read.valid.val() & self.read.ready.val())
            | (self.read_data.valid.val() & self.mover.read_data.ready.val())
            | (self.mover.write_data.valid.val() & self.write_data.ready.val())
            | (self.mover.done.valid.val() & self.done.ready.val());
    }
}
