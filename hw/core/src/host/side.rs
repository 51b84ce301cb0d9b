//! The host side of the card, joined: from a store to a BAR to a completion in host memory.

use rust_hdl::prelude::*;

use super::axi::{ReadAddress, ReadBeat, WriteAddress, WriteBeat, WriteResponse};
use super::axi_lite::{LiteAddress, LiteRead, LiteResponse, LiteWrite};
use super::behind::Behind;
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
use super::work::{
    CqDoorbell, Done, EntryWrite, EventRecord, HostWrite, PageStore, QpChange, QpError, Unit, Work,
};
use super::work_path::WorkPath;
use super::writer::HostWriter;
use super::writes::Writes;
use crate::constant::number;
use crate::fabric::dma::readers;
use crate::fabric::join::Fabric;
use crate::fabric::records::{Call, News};
use crate::head::Head;
use crate::prim::all::All;
use crate::prim::arbiter::Arbiter;
use crate::prim::block_fifo::BlockFifo;
use crate::prim::fork::Fork;
use crate::prim::reset_reg::ResetReg;
use crate::slot::{SlotCommand, SlotData, SlotDone, SlotRead, SlotResponse, SlotWrite};
use crate::state::access::XlatRequest;
use crate::state::command::{KeyWork, ObjectCommand, ObjectReply};
use crate::state::tables::Tables;
use crate::state::walker::{Line, LineRequest};
use crate::stream::{Beat, StreamSink, StreamSource};
use crate::transport::fetch;
use crate::transport::records::{Progress, ReceiveDoorbell, TxFailure};
use crate::transport::side::Transport;

/// log2 of the beats that each client of the read engine has buffered.
pub const READ_LOG: usize = 9;
/// log2 of the TLB's sets.
pub const SETS: usize = 9;

block! {
    /// Everything between the host, the front ends of the network, and `KERNELS` kernels. `OUT` is `QPS + 5`, `RING` is `QPS + 4`; `WRITERS`, `PORT`, `BUFFER` and `STAGE` are
    /// those of the [`Fabric`].
    ///
    /// ```text
    ///   AXI4-Lite ─ Control ─┬─ commands ─ Tables ─ rows, translations ─┐
    ///                        └─ stores ─── WorkPath ────────────────────┘
    ///                                        ├─ HostReader ─ ar, r
    ///                     CQEs, payload ─────┴─ HostWriter ─ aw, w, b
    ///                            events ─ Events ─┘└─ irq
    ///                       connections ─ Fabric ─ kernels
    /// ```
    ///
    /// - **Ports** `lite_*`: the BARs, AXI4-Lite; `ar`, `r`, `aw`, `w`, `b`: host memory, AXI4; `irq`: vectors to raise.
    ///   `rx_*`, `tx_*`: packets from and to the front ends; `rx_closed`: frames that begin to arrive are to be dropped; `rx_dropped`: one was; `rx_enters`: one is on its way in. `tx_raw`: whole frames; `raw_enable`: those that are not RoCE are wanted; `raw_dropped`: one was lost. `class_counts`, `tx_frame`, `tx_turned`: what the front ends count; `mac`: the card's address; `link`: the network port is up; `stirs`: something moves there. `time`: cycles; `skip`: cycles that
    ///   a simulation did not evaluate; `quiet`: it may, as long as nobody outside does anything, until `wake`.
    ///   `clears`: everything inside is being forgotten, and kernels have to, too. `kernel_*`: the slots, as [`slot`](crate::slot) says.
    ///   `kernel_clock`: of the fabric, and meant for the kernels; its edges are those of `clock`, less some of those in which `kernel_clock_rests`.
    /// - **Reset** drops everything; the host's side of both buses has to be reset with it. A store to `control.reset` drops
    ///   everything but the buses, after what they carry has ended.
    pub struct HostSide<const D: usize, const K: usize, const QPS: usize, const CQS: usize, const MRS: usize, const SRQS: usize, const PAGES: usize, const WINDOWS: usize, const LOG: usize, const OUT: usize, const RING: usize, const STORE: usize, const KERNELS: usize, const WRITERS: usize, const PORT: usize, const BUFFER: usize, const STAGE: usize> {
        pub clock: Signal<In, Clock>,
        pub kernel_clock: Signal<In, Clock>,
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
        pub rx_head: StreamSink<Head>,
        pub rx_payload: StreamSink<Beat<D>>,
        pub rx_closed: Signal<Out, Bit>,
        pub rx_dropped: Signal<In, Bit>,
        pub rx_enters: Signal<In, Bit>,
        pub tx_head: StreamSource<Head>,
        pub tx_payload: StreamSource<Beat<D>>,
        pub tx_raw: StreamSource<Beat<D>>,
        pub raw_enable: Signal<Out, Bit>,
        pub raw_dropped: Signal<In, Bit>,
        pub tx_turned: Signal<In, Bit>,
        pub mac: Signal<Out, Bits<48>>,
        pub class_counts: [Signal<In, Bits<32>>; 16],
        pub tx_frame: Signal<In, Bit>,
        pub link: Signal<In, Bit>,
        pub stirs: Signal<In, Bit>,
        pub clears: Signal<Out, Bit>,
        pub kernel_clock_rests: Signal<Out, Bit>,
        pub kernel_reset: Signal<Out, Bits<KERNELS>>,
        pub kernel_command: [StreamSource<SlotCommand>; KERNELS] = std::array::from_fn(|_| StreamSource::default()),
        pub kernel_data_in: [StreamSource<Beat<D>>; KERNELS] = std::array::from_fn(|_| StreamSource::default()),
        pub kernel_read: [StreamSink<SlotRead>; KERNELS] = std::array::from_fn(|_| StreamSink::default()),
        pub kernel_read_data: [StreamSource<SlotData<D>>; KERNELS] = std::array::from_fn(|_| StreamSource::default()),
        pub kernel_write: [StreamSink<SlotWrite>; KERNELS] = std::array::from_fn(|_| StreamSink::default()),
        pub kernel_write_data: [StreamSink<Beat<D>>; KERNELS] = std::array::from_fn(|_| StreamSink::default()),
        pub kernel_write_done: [StreamSource<SlotDone>; KERNELS] = std::array::from_fn(|_| StreamSource::default()),
        pub kernel_data_out: [StreamSink<Beat<D>>; KERNELS] = std::array::from_fn(|_| StreamSink::default()),
        pub kernel_response: [StreamSink<SlotResponse>; KERNELS] = std::array::from_fn(|_| StreamSink::default()),
        pub skip: Signal<In, Bits<32>>,
        pub time: Signal<Out, Bits<64>>,
        pub wake: Signal<Out, Bits<64>>,
        pub quiet: Signal<Out, Bit>,
        control: Control,
        tables: Tables<QPS, CQS, MRS, SRQS, PAGES, SETS>,
        work: WorkPath<D, QPS, PAGES, LOG, WINDOWS>,
        transport: Transport<D, QPS, SRQS, OUT, RING, LOG, STORE>,
        /// Changes that not all have heard of: one of each queue pair that fails, and those of a command.
        changes: BlockFifo<QpChange, OUT>,
        change_fork: Fork<QpChange>,
        change_fork_kernels: Fork<QpChange>,
        writes: Writes<D>,
        kernel_writes: Writes<D>,
        fabric: Fabric<D, KERNELS, WRITERS, QPS, RING, PORT, BUFFER, STAGE>,
        dones: Arbiter<Done, 3>,
        behind_event: Behind<EventRecord>,
        behind_emptied: Behind<Bits<24>>,
        asks: Arbiter<XlatRequest, 4>,
        /// Packets and kernels.
        passed: All<2>,
        moved: All<2>,
        reader: HostReader<D, READ_LOG>,
        writer: HostWriter<D, K>,
        events: Events<4>,
        restart: Restart,
        calm: Calm,
        kernel_calm: Calm,
        /// On the clock of those whom it resets, so that they stand still with it.
        kernel_hold: ResetReg,
        cycles: Time,
        counts: Counts,
        hold: Signal<Local, Bit>,
        done_waits: Signal<Local, Bit>,
        done_moves: Signal<Local, Bit>,
        entry_waits: Signal<Local, Bit>,
        is_for_transport: Signal<Local, Bit>,
        is_for_fabric: Signal<Local, Bit>,
        is_asked: Signal<Local, Bit>,
        is_asking: Signal<Local, Bit>,
        is_working: Signal<Local, Bit>,
        /// The first client of the MMU that is the transport's.
        transport_clients: Constant<Bits<3>> = number(fetch::CLIENT),
        /// The first that is the fabric's.
        fabric_clients: Constant<Bits<3>> = number(readers::CLIENT),
        is_busy: Signal<Local, Bit>,
    }
}

impl<
    const D: usize,
    const K: usize,
    const QPS: usize,
    const CQS: usize,
    const MRS: usize,
    const SRQS: usize,
    const PAGES: usize,
    const WINDOWS: usize,
    const LOG: usize,
    const OUT: usize,
    const RING: usize,
    const STORE: usize,
    const KERNELS: usize,
    const WRITERS: usize,
    const PORT: usize,
    const BUFFER: usize,
    const STAGE: usize,
>
    HostSide<
        D,
        K,
        QPS,
        CQS,
        MRS,
        SRQS,
        PAGES,
        WINDOWS,
        LOG,
        OUT,
        RING,
        STORE,
        KERNELS,
        WRITERS,
        PORT,
        BUFFER,
        STAGE,
    >
{
    /// The host side of a card of which these facts are true, and whose kernels have these op-codes.
    #[must_use]
    pub fn new(facts: &Facts, operations: &[Option<u16>; KERNELS]) -> Self {
        Self {
            control: Control::new(facts),
            tables: Tables::new(facts.clock_khz.into()),
            events: Events::new(facts.clock_khz.into()),
            transport: Transport::new(facts.clock_khz.into(), operations),
            ..Self::default()
        }
    }
}

impl<
    const D: usize,
    const K: usize,
    const QPS: usize,
    const CQS: usize,
    const MRS: usize,
    const SRQS: usize,
    const PAGES: usize,
    const WINDOWS: usize,
    const LOG: usize,
    const OUT: usize,
    const RING: usize,
    const STORE: usize,
    const KERNELS: usize,
    const WRITERS: usize,
    const PORT: usize,
    const BUFFER: usize,
    const STAGE: usize,
> Logic
    for HostSide<
        D,
        K,
        QPS,
        CQS,
        MRS,
        SRQS,
        PAGES,
        WINDOWS,
        LOG,
        OUT,
        RING,
        STORE,
        KERNELS,
        WRITERS,
        PORT,
        BUFFER,
        STAGE,
    >
{
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "joins alone: one line a wire")]
    fn update(&mut self) {
        clock!(
            self, clock, control, tables, work, transport, reader, writer, events, counts, restart, calm,
            cycles
        );
        clock!(self, kernel_clock, fabric);
        dff_setup!(self, kernel_clock, kernel_hold);
        clock!(self, clock, kernel_calm, change_fork_kernels, kernel_writes, passed);
        clock!(self, clock, changes, change_fork, writes, dones, asks, moved, behind_event, behind_emptied);
        self.control.reset.next = self.reset.val();
        self.restart.reset.next = self.reset.val();
        self.calm.reset.next = self.reset.val();
        self.kernel_calm.reset.next = self.reset.val();
        self.cycles.reset.next = self.reset.val();
        self.counts.reset.next = self.reset.val();
        self.hold.next = self.reset.val() | self.restart.hold.val();
        self.tables.reset.next = self.hold.val();
        self.work.reset.next = self.hold.val();
        self.transport.reset.next = self.hold.val();
        self.changes.reset.next = self.hold.val();
        self.change_fork.reset.next = self.hold.val();
        self.change_fork_kernels.reset.next = self.hold.val();
        self.kernel_hold.d.next = self.hold.val();
        self.fabric.reset.next = self.kernel_hold.q.val();
        self.kernel_writes.reset.next = self.hold.val();
        self.passed.reset.next = self.hold.val();
        self.writes.reset.next = self.hold.val();
        self.dones.reset.next = self.hold.val();
        self.behind_event.reset.next = self.hold.val();
        self.behind_emptied.reset.next = self.hold.val();
        self.asks.reset.next = self.hold.val();
        self.moved.reset.next = self.hold.val();
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
        self.control.ready.next = self.restart.open.val()
            & self.tables.ready.val()
            & self.work.ready.val()
            & self.transport.ready.val()
            & self.fabric.ready.val();
        self.control.clear.next = self.restart.hold.val();
        for i in 0..4 {
            StreamSource::<ObjectCommand>::join(&mut self.control.command[i], &mut self.tables.command[i]);
            StreamSource::<ObjectReply>::join(&mut self.tables.reply[i], &mut self.control.reply[i]);
        }
        StreamSource::<ObjectCommand>::join(&mut self.control.command[4], &mut self.transport.command);
        StreamSource::<ObjectReply>::join(&mut self.transport.reply, &mut self.control.reply[4]);
        StreamSource::<ObjectCommand>::join(&mut self.control.command[5], &mut self.tables.command[4]);
        StreamSource::<ObjectReply>::join(&mut self.tables.reply[4], &mut self.control.reply[5]);
        self.tables.probe.next = self.transport.probe.val();
        self.transport.exists.next = self.tables.exists.val();
        StreamSource::<PageStore>::join(&mut self.control.store, &mut self.work.store);

        // Work.
        self.tables.row_enable.next = self.work.row_enable.val();
        self.tables.row_index.next = self.work.row_index.val();
        self.work.row.next = self.tables.row.val();
        for i in 0..2 {
            self.tables.ring_enable[i].next = self.transport.ring_enable[i].val();
            self.tables.ring_index[i].next = self.transport.ring_index[i].val();
            self.transport.ring[i].next = self.tables.ring[i].val();
            self.tables.shared_enable[i].next = self.transport.shared_enable[i].val();
            self.tables.shared_index[i].next = self.transport.shared_index[i].val();
            self.transport.shared[i].next = self.tables.shared[i].val();
        }
        self.tables.area_enable[0].next = self.transport.area_enable.val();
        self.tables.area_index[0].next = self.transport.area_index.val();
        self.transport.area.next = self.tables.area[0].val();
        self.tables.area_enable[1].next = self.fabric.area_enable.val();
        self.tables.area_index[1].next = self.fabric.area_index.val();
        self.fabric.area.next = self.tables.area[1].val();
        StreamSource::<Bits<24>>::join(&mut self.tables.shared_change, &mut self.transport.shared_change);
        self.tables.limit_told.next = self.transport.limit_told.val();
        StreamSource::<ReceiveDoorbell>::join(&mut self.work.receive, &mut self.transport.doorbell);
        StreamSource::<QpChange>::join(&mut self.tables.change, &mut self.changes.sink);
        StreamSource::<QpChange>::join(&mut self.changes.source, &mut self.change_fork.sink);
        StreamSource::<QpChange>::join(&mut self.change_fork.left, &mut self.work.change);
        StreamSource::<QpChange>::join(&mut self.change_fork.right, &mut self.change_fork_kernels.sink);
        StreamSource::<QpChange>::join(&mut self.change_fork_kernels.left, &mut self.transport.change);
        StreamSource::<QpChange>::join(&mut self.change_fork_kernels.right, &mut self.fabric.change);
        // A drain that was told before a change must not be taken for one after it.
        self.tables.told.next = !self.changes.level.val().any()
            & !self.transport.emptied_waits.val()
            & !self.behind_emptied.busy.val();
        // Jobs end first: what they had sent was admitted before.
        self.work.drain_jobs.next = self.tables.drain_jobs.val();
        self.work.drain_moves.next = self.tables.drain_moves.val();
        self.transport.drain.next = self.work.jobs_drained.val() | self.tables.drain_moves.val();
        self.fabric.drain.next = self.work.jobs_drained.val() | self.tables.drain_moves.val();
        self.passed.begins.next = self.work.jobs_drained.val() | self.tables.drain_moves.val();
        self.passed.ends[0].next = self.transport.drained.val();
        self.passed.ends[1].next = self.fabric.drained.val();
        self.tables.jobs_drained.next = self.passed.ended.val();
        self.moved.begins.next = self.tables.drain_moves.val();
        self.moved.ends[0].next = self.work.moves_drained.val();
        self.moved.ends[1].next = self.passed.ended.val();
        self.tables.moves_drained.next = self.moved.ended.val();
        StreamSource::<XlatRequest>::join(&mut self.work.xlat, &mut self.asks.sinks[0]);
        StreamSource::<XlatRequest>::join(&mut self.transport.xlat, &mut self.asks.sinks[1]);
        StreamSource::<XlatRequest>::join(&mut self.fabric.read_xlat, &mut self.asks.sinks[2]);
        StreamSource::<XlatRequest>::join(&mut self.fabric.write_xlat, &mut self.asks.sinks[3]);
        StreamSource::<XlatRequest>::join(&mut self.asks.source, &mut self.tables.xlat);
        self.is_for_fabric.next = self.tables.answer.payload.val().client >= self.fabric_clients.val();
        self.is_for_transport.next = self.tables.answer.payload.val().client >= self.transport_clients.val();
        self.work.answer.payload.next = self.tables.answer.payload.val();
        self.work.answer.valid.next = self.tables.answer.valid.val() & !self.is_for_transport.val();
        self.transport.answer.payload.next = self.tables.answer.payload.val();
        self.transport.answer.valid.next =
            self.tables.answer.valid.val() & self.is_for_transport.val() & !self.is_for_fabric.val();
        self.fabric.answer.payload.next = self.tables.answer.payload.val();
        self.fabric.answer.valid.next = self.tables.answer.valid.val() & self.is_for_fabric.val();
        self.tables.answer.ready.next =
            self.work.answer.ready.val() & self.transport.answer.ready.val() & self.fabric.answer.ready.val();
        // Works on keys.
        StreamSource::<KeyWork>::join(&mut self.transport.key_work, &mut self.tables.key_work);
        StreamSource::<Bits<3>>::join(&mut self.tables.key_reply, &mut self.transport.key_reply);
        StreamSource::<CqDoorbell>::join(&mut self.work.cq, &mut self.tables.doorbell);
        StreamSource::<Done>::join(&mut self.work.done, &mut self.dones.sinks[0]);
        StreamSource::<Done>::join(&mut self.transport.done, &mut self.dones.sinks[1]);
        StreamSource::<Done>::join(&mut self.transport.key_done, &mut self.dones.sinks[2]);
        StreamSource::<Done>::join(&mut self.dones.source, &mut self.tables.done);
        // What tells of the end of something comes behind its last entry.
        self.done_waits.next = self.dones.source.valid.val();
        self.done_moves.next = self.dones.source.valid.val() & self.tables.done.ready.val();
        self.entry_waits.next = self.tables.entry.valid.val() & !self.writer.entries[0].ready.val();
        self.behind_event.done_waits.next = self.done_waits.val();
        self.behind_event.done_moves.next = self.done_moves.val();
        self.behind_event.entry_waits.next = self.entry_waits.val();
        self.behind_emptied.done_waits.next = self.done_waits.val();
        self.behind_emptied.done_moves.next = self.done_moves.val();
        self.behind_emptied.entry_waits.next = self.entry_waits.val();
        StreamSource::<EventRecord>::join(&mut self.transport.event, &mut self.behind_event.sink);
        StreamSource::<Bits<24>>::join(&mut self.transport.emptied, &mut self.behind_emptied.sink);
        StreamSource::<Bits<24>>::join(&mut self.behind_emptied.source, &mut self.tables.emptied);
        StreamSource::<QpError>::join(&mut self.work.error, &mut self.tables.error[0]);
        StreamSource::<QpError>::join(&mut self.writer.error, &mut self.tables.error[1]);
        StreamSource::<QpError>::join(&mut self.transport.error, &mut self.tables.error[2]);
        self.work.pause.next = self.restart.pause.val();

        // Connections.
        StreamSource::<Work>::join(&mut self.work.checked, &mut self.transport.work);
        StreamSource::<Bits<512>>::join(&mut self.work.checked_units, &mut self.transport.units);
        StreamSource::<Work>::join(&mut self.transport.local, &mut self.work.local);
        StreamSource::<Bits<512>>::join(&mut self.transport.local_units, &mut self.work.local_units);
        self.transport.finished.next = self.work.finished.val();
        StreamSource::<Progress>::join(&mut self.transport.progress, &mut self.work.progress);
        StreamSource::<Bits<24>>::join(&mut self.transport.kick, &mut self.work.kick);
        self.tables.peer_enable.next = self.transport.peer_enable.val();
        self.tables.peer_index.next = self.transport.peer_index.val();
        self.transport.peer.next = self.tables.peer.val();
        self.tables.path_enable.next = self.transport.path_enable.val();
        self.tables.path_index.next = self.transport.path_index.val();
        self.transport.path.next = self.tables.path.val();
        self.tables.handle_index.next = self.transport.handle_index.val();
        self.transport.handle.next = self.tables.handle.val();
        self.control.destination.next = self.transport.destination.val();
        self.transport.station.next = self.control.station.val();
        self.transport.mac.next = self.control.mac.val();
        self.mac.next = self.control.mac.val();
        for i in 0..2 {
            self.control.address_index[i].next = self.transport.address_index[i].val();
            self.transport.address[i].next = self.control.address[i].val();
        }
        StreamSink::<Head>::link(&mut self.rx_head, &mut self.transport.rx_head);
        StreamSink::<Beat<D>>::link(&mut self.rx_payload, &mut self.transport.rx_payload);
        StreamSource::<Head>::link(&mut self.tx_head, &mut self.transport.tx_head);
        StreamSource::<Beat<D>>::link(&mut self.tx_payload, &mut self.transport.tx_payload);
        StreamSource::<Beat<D>>::link(&mut self.tx_raw, &mut self.transport.tx_raw);
        self.transport.raw_queue_pair.next = self.control.raw_queue_pair.val();
        self.transport.cnp_interval.next = self.control.cnp_interval.val();
        self.raw_enable.next = self.control.raw_enable.val();
        self.transport.pause.next = self.restart.pause.val();
        self.rx_closed.next = self.restart.pause.val();
        self.transport.taken.next = self.kernel_writes.write.valid.val() & self.writer.write.ready.val();
        self.transport.taken_write.next = self.kernel_writes.write.payload.val();
        self.transport.issued.next = self.writer.issued.val();
        self.transport.visible.next = self.writer.done.val();

        // Host memory.
        StreamSource::<ReadCommand>::join(&mut self.work.fetch, &mut self.reader.fetch);
        StreamSource::<Unit>::join(&mut self.reader.units, &mut self.work.units);
        StreamSource::<ReadCommand>::join(&mut self.work.read, &mut self.reader.payload);
        StreamSource::<ReadData<D>>::join(&mut self.reader.payload_data, &mut self.work.read_data);
        StreamSource::<LineRequest>::join(&mut self.tables.line_request, &mut self.reader.line_request);
        StreamSource::<Line>::join(&mut self.reader.line, &mut self.tables.line);
        StreamSource::<ReadAddress>::link(&mut self.ar, &mut self.reader.ar);
        StreamSink::<ReadBeat<D>>::link(&mut self.r, &mut self.reader.r);
        StreamSource::<ReadCommand>::join(&mut self.transport.read, &mut self.reader.packet);
        StreamSource::<ReadData<D>>::join(&mut self.reader.packet_data, &mut self.transport.read_data);
        StreamSource::<ReadCommand>::join(&mut self.transport.list_read, &mut self.reader.list);
        StreamSource::<Unit>::join(&mut self.reader.list_units, &mut self.transport.list_units);
        StreamSource::<ReadCommand>::join(&mut self.transport.word, &mut self.reader.word);
        StreamSource::<ReadData<D>>::join(&mut self.reader.word_data, &mut self.transport.word_data);
        StreamSource::<ReadCommand>::join(&mut self.fabric.read, &mut self.reader.kernel);
        StreamSource::<ReadData<D>>::join(&mut self.reader.kernel_data, &mut self.fabric.read_data);
        StreamSource::<HostWrite>::join(&mut self.work.write, &mut self.writes.writes[0]);
        StreamSource::<Beat<D>>::join(&mut self.work.write_data, &mut self.writes.data[0]);
        StreamSource::<HostWrite>::join(&mut self.transport.write, &mut self.writes.writes[1]);
        StreamSource::<Beat<D>>::join(&mut self.transport.write_data, &mut self.writes.data[1]);
        StreamSource::<HostWrite>::join(&mut self.writes.write, &mut self.kernel_writes.writes[0]);
        StreamSource::<Beat<D>>::join(&mut self.writes.source, &mut self.kernel_writes.data[0]);
        StreamSource::<HostWrite>::join(&mut self.fabric.write, &mut self.kernel_writes.writes[1]);
        StreamSource::<Beat<D>>::join(&mut self.fabric.write_data, &mut self.kernel_writes.data[1]);
        StreamSource::<HostWrite>::join(&mut self.kernel_writes.write, &mut self.writer.write);
        StreamSource::<Beat<D>>::join(&mut self.kernel_writes.source, &mut self.writer.data);
        StreamSource::<EntryWrite>::join(&mut self.tables.entry, &mut self.writer.entries[0]);
        StreamSource::<EntryWrite>::join(&mut self.events.entry, &mut self.writer.entries[1]);
        StreamSource::<WriteAddress>::link(&mut self.aw, &mut self.writer.aw);
        StreamSource::<WriteBeat<D, K>>::link(&mut self.w, &mut self.writer.w);
        StreamSink::<WriteResponse>::link(&mut self.b, &mut self.writer.b);
        for i in 0..3 {
            self.writer.settle[i].next = self.tables.settle[i].val();
            self.tables.settled[i].next = self.writer.settled[i].val();
        }

        // Kernels.
        self.transport.room.next = self.fabric.room.val();
        self.transport.room_more.next = self.fabric.room_more.val();
        self.fabric.asks_qpn.next = self.transport.asks_qpn.val();
        self.fabric.refused.next = self.transport.refused.val();
        self.fabric.refused_qpn.next = self.transport.refused_qpn.val();
        self.fabric.reserves.next = self.transport.reserves.val();
        self.fabric.reserves_kernel.next = self.transport.reserves_kernel.val();
        self.fabric.reserves_begins.next = self.transport.reserves_begins.val();
        self.fabric.reserves_ends.next = self.transport.reserves_ends.val();
        self.fabric.reserves_qpn.next = self.transport.reserves_qpn.val();
        StreamSource::<Beat<D>>::join(&mut self.transport.call_data, &mut self.fabric.call_data);
        self.fabric.call_passage.next = self.transport.call_passage.val();
        StreamSource::<Call>::join(&mut self.transport.call, &mut self.fabric.call);
        StreamSource::<News>::join(&mut self.fabric.news, &mut self.transport.news);
        StreamSource::<TxFailure>::join(&mut self.fabric.failure, &mut self.transport.call_failure);
        self.transport.kernel_read_enters.next = self.fabric.reads_enter.val();
        self.transport.kernel_read_leaves.next = self.fabric.reads_leave.val();
        self.transport.kernel_write_enters.next = self.fabric.writes_enter.val();
        self.transport.kernel_write_leaves.next = self.fabric.writes_leave.val();
        self.fabric.stage_sends.next = self.transport.stage_sends.val();
        self.fabric.stage_frees.next = self.transport.stage_frees.val();
        self.fabric.stage_number.next = self.transport.stage_number.val();
        StreamSource::<Beat<D>>::join(&mut self.fabric.results, &mut self.transport.results);
        self.fabric.issued.next = self.writer.issued.val();
        self.fabric.visible.next = self.writer.done.val();
        self.fabric.limit.next = self.control.kernel_limit.val();
        self.fabric.patience.next = self.control.kernel_patience.val();
        self.control.kernel_invoked.next = self.fabric.invoked.val();
        self.control.kernel_succeeded.next = self.fabric.answered_ok.val();
        self.control.kernel_failed.next = self.fabric.answered_failed.val();
        self.control.kernel_expired.next = self.fabric.expired.val();
        self.control.kernel_aborted.next = self.fabric.aborted.val();
        self.clears.next = self.kernel_hold.q.val();
        self.kernel_reset.next = self.fabric.kernel_reset.val();
        for i in 0..KERNELS {
            StreamSource::<SlotCommand>::link(
                &mut self.kernel_command[i],
                &mut self.fabric.kernel_command[i],
            );
            StreamSource::<Beat<D>>::link(&mut self.kernel_data_in[i], &mut self.fabric.kernel_data_in[i]);
            StreamSink::<SlotRead>::link(&mut self.kernel_read[i], &mut self.fabric.kernel_read[i]);
            StreamSource::<SlotData<D>>::link(
                &mut self.kernel_read_data[i],
                &mut self.fabric.kernel_read_data[i],
            );
            StreamSink::<SlotWrite>::link(&mut self.kernel_write[i], &mut self.fabric.kernel_write[i]);
            StreamSink::<Beat<D>>::link(
                &mut self.kernel_write_data[i],
                &mut self.fabric.kernel_write_data[i],
            );
            StreamSource::<SlotDone>::link(
                &mut self.kernel_write_done[i],
                &mut self.fabric.kernel_write_done[i],
            );
            StreamSink::<Beat<D>>::link(&mut self.kernel_data_out[i], &mut self.fabric.kernel_data_out[i]);
            StreamSink::<SlotResponse>::link(
                &mut self.kernel_response[i],
                &mut self.fabric.kernel_response[i],
            );
        }

        // Events.
        StreamSource::<EventRecord>::join(&mut self.tables.event[0], &mut self.events.sinks[0]);
        StreamSource::<EventRecord>::join(&mut self.tables.event[1], &mut self.events.sinks[1]);
        StreamSource::<EventRecord>::join(&mut self.writer.event, &mut self.events.sinks[2]);
        StreamSource::<EventRecord>::join(&mut self.behind_event.source, &mut self.events.sinks[3]);
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
        self.counts.retransmitted.next = self.transport.retransmitted.val();
        self.counts.timeout.next = self.transport.timeouts.val();
        for i in 0..3 {
            self.counts.nak[i].next = self.transport.naks[i].val();
        }
        self.counts.rnr_nak.next = self.transport.rnr_naks.val();
        self.counts.duplicate.next = self.transport.duplicates.val();
        self.counts.read_waits.next = self.transport.reads_waiting.val();
        self.counts.cnp_sent.next = self.transport.cnps_sent.val();
        self.counts.cnp_received.next = self.transport.cnps_received.val();
        for i in 0..5 {
            self.counts.unwanted[i].next = self.transport.unwanted[i].val();
        }
        for i in 0..2 {
            self.counts.unreliable_drop[i].next = self.transport.unreliable_dropped[i].val();
        }
        self.counts.answer_dropped.next = self.transport.answers_dropped.val();
        self.counts.early.next = self.transport.early.val();
        self.counts.stale.next = self.transport.stale.val();
        self.counts.accepted.next = self.transport.accepted.val();
        self.counts.raw_frame.next = self.transport.raw_taken.val();
        self.counts.raw_drop[0].next = self.raw_dropped.val();
        self.counts.closed_drop.next = self.rx_dropped.val();
        self.counts.turned.next = self.tx_turned.val();
        self.counts.raw_drop[1].next = self.transport.raw_dropped[0].val();
        self.counts.raw_drop[2].next = self.transport.raw_dropped[1].val();
        self.counts.raw_departs.next = self.transport.raw_sent.val();
        self.counts.hits.next = self.tables.hits.val();
        self.counts.misses.next = self.tables.misses.val();
        self.counts.walks.next = self.tables.walks.val();
        self.counts.wrong_page[0].next = self.work.wrong_page.val();
        self.counts.wrong_page[1].next = self.tables.wrong_page.val();
        self.counts.wrong_page[2].next = self.transport.wrong_page.val();
        self.counts.bad_doorbell[0].next = self.work.bad[0].val();
        self.counts.bad_doorbell[1].next = self.work.bad[1].val();
        self.counts.bad_doorbell[2].next = self.tables.bad.val();
        self.counts.bad_doorbell[3].next = self.transport.bad_doorbell.val();
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
        self.transport.time.next = self.cycles.time.val();
        self.wake.next = self.events.wake.val();
        if self.transport.wake.val() < self.events.wake.val() {
            self.wake.next = self.transport.wake.val();
        }
        // Accesses to the BARs are no work: they may come at any time, and must not hold a restart up. Nor are frames that are dropped
        // at the pins; one that is let in is, or its head might reach a block in the cycle in which that forgets.
        self.is_busy.next = self.control.runs.val()
            | self.rx_enters.val()
            | self.tables.busy.val()
            | self.work.busy.val()
            | self.transport.busy.val()
            | self.behind_event.busy.val()
            | self.behind_emptied.busy.val()
            | self.writes.busy.val()
            | self.kernel_writes.busy.val()
            | self.fabric.busy.val()
            | self.reader.busy.val()
            | self.writer.busy.val()
            | self.events.busy.val();
        self.restart.request.next = self.control.restart.val();
        self.restart.busy.next = self.is_busy.val();
        // The fabric and its kernels stand still unless somebody gives them something, they give something, or they work.
        self.is_working.next = self.fabric.busy.val() | !self.fabric.ready.val();
        for i in 0..KERNELS {
            // One that takes no command has not ended yet, though its answer may have left.
            self.is_working.next = self.is_working.val() | !self.kernel_command[i].ready.val();
        }
        self.is_asked.next = self.transport.reserves.val()
            | self.transport.call_data.valid.val()
            | self.transport.call.valid.val()
            | self.transport.stage_sends.val()
            | self.transport.stage_frees.val()
            | self.change_fork_kernels.right.valid.val()
            | self.work.jobs_drained.val()
            | self.tables.drain_moves.val()
            | (self.tables.answer.valid.val() & self.is_for_fabric.val())
            | self.reader.kernel_data.valid.val();
        self.is_asking.next = self.fabric.news.valid.val()
            | self.fabric.failure.valid.val()
            | self.fabric.results.valid.val()
            | self.fabric.read_xlat.valid.val()
            | self.fabric.write_xlat.valid.val()
            | self.fabric.area_enable.val()
            | self.fabric.read.valid.val()
            | self.fabric.write.valid.val()
            | self.fabric.write_data.valid.val();
        self.kernel_calm.moves.next =
            self.hold.val() | self.is_working.val() | self.is_asked.val() | self.is_asking.val();
        self.kernel_clock_rests.next = self.kernel_calm.quiet.val();

        self.calm.moves.next = self.stirs.val()
            | self.behind_event.busy.val()
            | self.behind_emptied.busy.val()
            | self.control.busy.val()
            | self.tables.busy.val()
            | self.tables.patrols.val()
            | self.work.moves.val()
            | self.transport.moves.val()
            | self.is_working.val()
            | self.changes.level.val().any()
            | !self.work.ready.val()
            | !self.transport.ready.val()
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
