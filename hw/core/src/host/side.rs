//! The host side of the card, joined: from a store to a BAR to a completion in host memory.

use rust_hdl::prelude::*;

use super::axi::{ReadAddress, ReadBeat, WriteAddress, WriteBeat, WriteResponse};
use super::axi_lite::{LiteAddress, LiteRead, LiteResponse, LiteWrite};
use super::calm::Calm;
use super::control::Control;
use super::control::facts::Facts;
use super::control::live::COUNTS;
use super::counts::Counts;
use super::dma_read::{ReadCommand, ReadData};
use super::events::Events;
use super::reader::HostReader;
use super::restart::Restart;
use super::time::Time;
use super::work::{CqDoorbell, Done, EntryWrite, EventRecord, HostWrite, PageStore, QpChange, QpError, Unit};
use super::work_path::WorkPath;
use super::writer::HostWriter;
use crate::state::access::XlatRequest;
use crate::state::command::{ObjectCommand, ObjectReply};
use crate::state::mmu::XlatResponse;
use crate::state::tables::Tables;
use crate::state::walker::{Line, LineRequest};
use crate::stream::{Beat, StreamSink, StreamSource};

/// log2 of the beats that each client of the read engine has buffered.
pub const READ_LOG: usize = 9;
/// log2 of the TLB's sets.
pub const SETS: usize = 9;

block! {
    /// Everything between the host and the transport.
    ///
    /// ```text
    ///   AXI4-Lite ─ Control ─┬─ commands ─ Tables ─ rows, translations ─┐
    ///                        └─ stores ─── WorkPath ────────────────────┘
    ///                                        ├─ HostReader ─ ar, r
    ///                     CQEs, payload ─────┴─ HostWriter ─ aw, w, b
    ///                            events ─ Events ─┘└─ irq
    /// ```
    ///
    /// - **Ports** `lite_*`: the BARs, AXI4-Lite; `ar`, `r`, `aw`, `w`, `b`: host memory, AXI4; `irq`: vectors to raise.
    ///   `class_counts`, `tx_frame`: what the front ends count; `link`: the network port is up; `stirs`: something moves there. `time`: cycles; `skip`: cycles that
    ///   a simulation did not evaluate; `quiet`: it may, as long as nobody outside does anything, until `wake`.
    /// - **Reset** drops everything; the host's side of both buses has to be reset with it. A store to `control.reset` drops
    ///   everything but the buses, after what they carry has ended.
    pub struct HostSide<const D: usize, const K: usize, const QPS: usize, const CQS: usize, const MRS: usize, const PAGES: usize, const WINDOWS: usize, const LOG: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub lite_aw: StreamSink<LiteAddress>,
        pub lite_w: StreamSink<LiteWrite>,
        pub lite_b: StreamSource<LiteResponse>,
        pub lite_ar: StreamSink<LiteAddress>,
        pub lite_r: StreamSource<LiteRead>,
        pub ar: StreamSource<ReadAddress>,
        pub r: StreamSink<ReadBeat<D>>,
        pub aw: StreamSource<WriteAddress>,
        pub w: StreamSource<WriteBeat<D, K>>,
        pub b: StreamSink<WriteResponse>,
        pub irq: StreamSource<Bits<5>>,
        pub class_counts: [Signal<In, Bits<32>>; 16],
        pub tx_frame: Signal<In, Bit>,
        pub link: Signal<In, Bit>,
        pub stirs: Signal<In, Bit>,
        pub skip: Signal<In, Bits<32>>,
        pub time: Signal<Out, Bits<64>>,
        pub wake: Signal<Out, Bits<64>>,
        pub quiet: Signal<Out, Bit>,
        control: Control,
        tables: Tables<QPS, CQS, MRS, PAGES, SETS>,
        work: WorkPath<D, QPS, PAGES, LOG, WINDOWS>,
        reader: HostReader<D, READ_LOG>,
        writer: HostWriter<D, K>,
        events: Events<3>,
        restart: Restart,
        calm: Calm,
        cycles: Time,
        counts: Counts,
        hold: Signal<Local, Bit>,
        is_busy: Signal<Local, Bit>,
    }
}

impl<
    const D: usize,
    const K: usize,
    const QPS: usize,
    const CQS: usize,
    const MRS: usize,
    const PAGES: usize,
    const WINDOWS: usize,
    const LOG: usize,
> HostSide<D, K, QPS, CQS, MRS, PAGES, WINDOWS, LOG>
{
    /// The host side of a card of which these facts are true.
    #[must_use]
    pub fn new(facts: &Facts) -> Self {
        Self { control: Control::new(facts), events: Events::new(facts.clock_khz.into()), ..Self::default() }
    }
}

impl<
    const D: usize,
    const K: usize,
    const QPS: usize,
    const CQS: usize,
    const MRS: usize,
    const PAGES: usize,
    const WINDOWS: usize,
    const LOG: usize,
> Logic for HostSide<D, K, QPS, CQS, MRS, PAGES, WINDOWS, LOG>
{
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "joins alone: one line a wire")]
    fn update(&mut self) {
        clock!(self, clock, control, tables, work, reader, writer, events, counts, restart, calm, cycles);
        self.control.reset.next = self.reset.val();
        self.restart.reset.next = self.reset.val();
        self.calm.reset.next = self.reset.val();
        self.cycles.reset.next = self.reset.val();
        self.counts.reset.next = self.reset.val();
        self.hold.next = self.reset.val() | self.restart.hold.val();
        self.tables.reset.next = self.hold.val();
        self.work.reset.next = self.hold.val();
        self.reader.reset.next = self.hold.val();
        self.writer.reset.next = self.hold.val();
        self.events.reset.next = self.hold.val();

        // The BARs.
        StreamSink::<LiteAddress>::link(&mut self.lite_aw, &mut self.control.aw);
        StreamSink::<LiteWrite>::link(&mut self.lite_w, &mut self.control.w);
        StreamSource::<LiteResponse>::link(&mut self.lite_b, &mut self.control.b);
        StreamSink::<LiteAddress>::link(&mut self.lite_ar, &mut self.control.ar);
        StreamSource::<LiteRead>::link(&mut self.lite_r, &mut self.control.r);
        self.control.link.next = self.link.val();
        self.control.ready.next = self.restart.open.val() & self.tables.ready.val() & self.work.ready.val();
        self.control.clear.next = self.restart.hold.val();
        for i in 0..3 {
            StreamSource::<ObjectCommand>::join(&mut self.control.command[i], &mut self.tables.command[i]);
            StreamSource::<ObjectReply>::join(&mut self.tables.reply[i], &mut self.control.reply[i]);
        }
        StreamSource::<PageStore>::join(&mut self.control.store, &mut self.work.store);

        // Work.
        self.tables.row_enable.next = self.work.row_enable.val();
        self.tables.row_index.next = self.work.row_index.val();
        self.work.row.next = self.tables.row.val();
        StreamSource::<QpChange>::join(&mut self.tables.change, &mut self.work.change);
        self.work.drain_jobs.next = self.tables.drain_jobs.val();
        self.tables.jobs_drained.next = self.work.jobs_drained.val();
        self.work.drain_moves.next = self.tables.drain_moves.val();
        self.tables.moves_drained.next = self.work.moves_drained.val();
        StreamSource::<XlatRequest>::join(&mut self.work.xlat, &mut self.tables.xlat);
        StreamSource::<XlatResponse>::join(&mut self.tables.answer, &mut self.work.answer);
        StreamSource::<CqDoorbell>::join(&mut self.work.cq, &mut self.tables.doorbell);
        StreamSource::<Done>::join(&mut self.work.done, &mut self.tables.done);
        StreamSource::<QpError>::join(&mut self.work.error, &mut self.tables.error[0]);
        StreamSource::<QpError>::join(&mut self.writer.error, &mut self.tables.error[1]);
        self.work.pause.next = self.restart.pause.val();

        // Host memory.
        StreamSource::<ReadCommand>::join(&mut self.work.fetch, &mut self.reader.fetch);
        StreamSource::<Unit>::join(&mut self.reader.units, &mut self.work.units);
        StreamSource::<ReadCommand>::join(&mut self.work.read, &mut self.reader.payload);
        StreamSource::<ReadData<D>>::join(&mut self.reader.payload_data, &mut self.work.read_data);
        StreamSource::<LineRequest>::join(&mut self.tables.line_request, &mut self.reader.line_request);
        StreamSource::<Line>::join(&mut self.reader.line, &mut self.tables.line);
        StreamSource::<ReadAddress>::link(&mut self.ar, &mut self.reader.ar);
        StreamSink::<ReadBeat<D>>::link(&mut self.r, &mut self.reader.r);
        StreamSource::<HostWrite>::join(&mut self.work.write, &mut self.writer.write);
        StreamSource::<Beat<D>>::join(&mut self.work.write_data, &mut self.writer.data);
        StreamSource::<EntryWrite>::join(&mut self.tables.entry, &mut self.writer.entries[0]);
        StreamSource::<EntryWrite>::join(&mut self.events.entry, &mut self.writer.entries[1]);
        StreamSource::<WriteAddress>::link(&mut self.aw, &mut self.writer.aw);
        StreamSource::<WriteBeat<D, K>>::link(&mut self.w, &mut self.writer.w);
        StreamSink::<WriteResponse>::link(&mut self.b, &mut self.writer.b);
        for i in 0..3 {
            self.writer.settle[i].next = self.tables.settle[i].val();
            self.tables.settled[i].next = self.writer.settled[i].val();
        }

        // Events.
        StreamSource::<EventRecord>::join(&mut self.tables.event[0], &mut self.events.sinks[0]);
        StreamSource::<EventRecord>::join(&mut self.tables.event[1], &mut self.events.sinks[1]);
        StreamSource::<EventRecord>::join(&mut self.writer.event, &mut self.events.sinks[2]);
        self.events.base.next = self.control.event_base.val();
        self.events.log.next = self.control.event_log.val();
        self.events.vector.next = self.control.event_vector.val();
        self.events.enable.next = self.control.event_enable.val();
        self.events.consumer.next = self.control.consumer.val();
        self.events.consumer_stored.next = self.control.consumer_stored.val();
        self.control.producer.next = self.events.producer.val();
        self.control.overflows.next = self.events.overflows.val();
        self.control.vector_index.next = self.events.vector_index.val();
        self.events.moderation.next = self.control.vector_moderation.val();
        self.events.ticket.next = self.writer.ticket.val();
        self.events.done.next = self.writer.done.val();
        StreamSource::<Bits<5>>::link(&mut self.irq, &mut self.events.irq);

        // What is counted.
        for i in 0..16 {
            self.control.class_counts[i].next = self.class_counts[i].val();
        }
        self.counts.tx_frame.next = self.tx_frame.val();
        self.counts.hits.next = self.tables.hits.val();
        self.counts.misses.next = self.tables.misses.val();
        self.counts.walks.next = self.tables.walks.val();
        self.counts.wrong_page[0].next = self.work.wrong_page.val();
        self.counts.wrong_page[1].next = self.tables.wrong_page.val();
        self.counts.bad_doorbell[0].next = self.work.bad[0].val();
        self.counts.bad_doorbell[1].next = self.work.bad[1].val();
        self.counts.bad_doorbell[2].next = self.tables.bad.val();
        self.counts.push.next = self.work.pushes.val();
        self.counts.push_fallback.next = self.work.push_fallbacks.val();
        self.counts.cq_overflow.next = self.tables.overflow.val();
        self.counts.dma_error[0].next = self.reader.failed.val();
        self.counts.dma_error[1].next = self.writer.failed.val();
        for i in 0..COUNTS {
            self.control.counts[i].next = self.counts.values[i].val();
        }

        // Time, rest and restart.
        self.cycles.skip.next = self.skip.val();
        self.time.next = self.cycles.time.val();
        self.control.time.next = self.cycles.time.val();
        self.work.time.next = self.cycles.time.val();
        self.tables.time.next = self.cycles.time.val();
        self.events.time.next = self.cycles.time.val();
        self.wake.next = self.events.wake.val();
        // Accesses to the BARs are no work: they may come at any time, and must not hold a restart up.
        self.is_busy.next = self.control.runs.val()
            | self.tables.busy.val()
            | self.work.busy.val()
            | self.reader.busy.val()
            | self.writer.busy.val()
            | self.events.busy.val();
        self.restart.request.next = self.control.restart.val();
        self.restart.busy.next = self.is_busy.val();
        self.calm.moves.next = self.stirs.val()
            | self.control.busy.val()
            | self.tables.busy.val()
            | self.work.moves.val()
            | !self.work.ready.val()
            | !self.tables.ready.val()
            | !self.restart.open.val()
            | self.r.valid.val()
            | self.b.valid.val()
            | (self.reader.ar.valid.val() & self.ar.ready.val())
            | (self.writer.aw.valid.val() & self.aw.ready.val())
            | (self.writer.w.valid.val() & self.w.ready.val())
            | (self.reader.units.valid.val() & self.work.units.ready.val())
            | (self.events.entry.valid.val() & self.writer.entries[1].ready.val())
            | self.events.irq.valid.val();
        self.quiet.next = self.calm.quiet.val();
    }
}
