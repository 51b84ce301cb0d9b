//! The tables and their owners, joined.

use rust_hdl::prelude::*;

use super::access::XlatRequest;
use super::address_handles::AddressHandles;
use super::command::{KeyWork, ObjectCommand, ObjectReply};
use super::completion_queues::CompletionQueues;
use super::heard::Heard;
use super::memory_keys::RowWrite;
use super::mmu::{Mmu, XlatResponse};
use super::queue_pairs::QueuePairs;
use super::regions::Regions;
use super::shared_queues::SharedQueues;
use super::walker::{Line, LineRequest};
use crate::fabric::records::ResultRow;
use crate::host::work::{CqDoorbell, Done, EntryWrite, EventRecord, QpChange, QpError, SendRow};
use crate::prim::arbiter::Arbiter;
use crate::stream::{StreamSink, StreamSource};
use crate::transport::records::{HandleRow, LimitTold, PathRow, PeerRow, RingRow, SharedRow};

block! {
    /// Queue pairs, completion queues, memory regions, shared receive queues and address handles: what the mailbox makes, and what work asks of it.
    ///
    /// - **Ports** `command`, `reply`: the mailbox, in the order queue pairs, CQs, regions, SRQs, address handles, of which there are as many as queue pairs. `row_*`, `peer_*`, `path_*`, `ring_*`, `area_*`, `probe`, `exists`, `change`, `told`,
    ///   `drain_jobs`, `jobs_drained`: queue pairs, as [`QueuePairs`]. `shared_*`, `shared_change`, `limit_told`: SRQs, as [`SharedQueues`]. `handle_index`, `handle`: an address handle, read with `path_enable`. `error`: queue pairs that fail, from three others; CQs are a fourth. `emptied`: those that have drained.
    ///   `doorbell`, `done`, `entry`: as [`CompletionQueues`]. `xlat`, `answer`, `line_request`, `line`: as [`Mmu`]. `key_work`, `key_reply`: works on windows, as
    ///   [`Regions`] has them. `drain_moves`,
    ///   `moves_drained`: payload under a key that ends has gone. `settle`, `settled`: writes made before are visible; for CQs,
    ///   regions and queue pairs. `event`: of queue pairs and of CQs. Pulses `wrong_page`, `bad`, `overflow`. `hits`, `misses`,
    ///   `walks`: counted. `ready`: scrubbed. `busy`, `moves`: a command, an entry or a translation is under way. `patrols`: CQs wait for
    ///   their time.
    /// - **Latency, rate, back-pressure** those of the parts.
    /// - **Reset** forgets everything and scrubs all tables at once, a row a cycle.
    pub struct Tables<const QPS: usize, const CQS: usize, const MRS: usize, const SRQS: usize, const PAGES: usize, const SETS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub command: [StreamSink<ObjectCommand>; 5] = std::array::from_fn(|_| StreamSink::default()),
        pub reply: [StreamSource<ObjectReply>; 5] = std::array::from_fn(|_| StreamSource::default()),
        pub row_enable: Signal<In, Bit>,
        pub row_index: Signal<In, Bits<24>>,
        pub row: Signal<Out, SendRow>,
        pub peer_enable: Signal<In, Bit>,
        pub peer_index: Signal<In, Bits<24>>,
        pub peer: Signal<Out, PeerRow>,
        pub path_enable: Signal<In, Bit>,
        pub path_index: Signal<In, Bits<24>>,
        pub path: Signal<Out, PathRow>,
        pub handle_index: Signal<In, Bits<24>>,
        pub handle: Signal<Out, HandleRow>,
        pub ring_enable: [Signal<In, Bit>; 2],
        pub ring_index: [Signal<In, Bits<24>>; 2],
        pub ring: [Signal<Out, RingRow>; 2],
        pub area_enable: [Signal<In, Bit>; 2],
        pub area_index: [Signal<In, Bits<24>>; 2],
        pub area: [Signal<Out, ResultRow>; 2],
        pub probe: Signal<In, Bits<24>>,
        pub exists: Signal<Out, Bit>,
        pub shared_enable: [Signal<In, Bit>; 2],
        pub shared_index: [Signal<In, Bits<24>>; 2],
        pub shared: [Signal<Out, SharedRow>; 2],
        pub shared_change: StreamSource<Bits<24>>,
        pub limit_told: Signal<In, LimitTold>,
        pub change: StreamSource<QpChange>,
        pub told: Signal<In, Bit>,
        pub drain_jobs: Signal<Out, Bit>,
        pub jobs_drained: Signal<In, Bit>,
        pub error: [StreamSink<QpError>; 3],
        pub emptied: StreamSink<Bits<24>>,
        pub doorbell: StreamSink<CqDoorbell>,
        pub done: StreamSink<Done>,
        pub entry: StreamSource<EntryWrite>,
        pub xlat: StreamSink<XlatRequest>,
        pub answer: StreamSource<XlatResponse>,
        pub line_request: StreamSource<LineRequest>,
        pub line: StreamSink<Line>,
        pub key_work: StreamSink<KeyWork>,
        pub key_reply: StreamSource<Bits<3>>,
        pub drain_moves: Signal<Out, Bit>,
        pub moves_drained: Signal<In, Bit>,
        pub settle: [Signal<Out, Bit>; 3],
        pub settled: [Signal<In, Bit>; 3],
        pub event: [StreamSource<EventRecord>; 2],
        pub time: Signal<In, Bits<64>>,
        pub wrong_page: Signal<Out, Bit>,
        pub bad: Signal<Out, Bit>,
        pub overflow: Signal<Out, Bit>,
        pub hits: Signal<Out, Bits<64>>,
        pub misses: Signal<Out, Bits<64>>,
        pub walks: Signal<Out, Bits<64>>,
        pub ready: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        pub patrols: Signal<Out, Bit>,
        queue_pairs: QueuePairs<QPS, CQS, PAGES>,
        completion_queues: CompletionQueues<CQS, PAGES>,
        regions: Regions<MRS>,
        shared_queues: SharedQueues<SRQS, PAGES>,
        address_handles: AddressHandles<QPS>,
        mmu: Mmu<MRS, SETS>,
        errors: Arbiter<QpError, 4>,
        heard: Heard<4>,
        offered: Signal<Local, Bits<4>>,
    }
}

impl<
    const QPS: usize,
    const CQS: usize,
    const MRS: usize,
    const SRQS: usize,
    const PAGES: usize,
    const SETS: usize,
> Tables<QPS, CQS, MRS, SRQS, PAGES, SETS>
{
    /// For a card with this core clock.
    #[must_use]
    pub fn new(clock_khz: u64) -> Self {
        Self { completion_queues: CompletionQueues::new(clock_khz), ..Self::default() }
    }
}

impl<
    const QPS: usize,
    const CQS: usize,
    const MRS: usize,
    const SRQS: usize,
    const PAGES: usize,
    const SETS: usize,
> Logic for Tables<QPS, CQS, MRS, SRQS, PAGES, SETS>
{
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "joins alone: one line a wire")]
    fn update(&mut self) {
        clock!(self, clock, queue_pairs, completion_queues, regions, shared_queues, mmu, errors, heard);
        clock!(self, clock, address_handles);
        self.queue_pairs.reset.next = self.reset.val();
        self.completion_queues.reset.next = self.reset.val();
        self.regions.reset.next = self.reset.val();
        self.shared_queues.reset.next = self.reset.val();
        self.address_handles.reset.next = self.reset.val();
        self.mmu.reset.next = self.reset.val();
        self.errors.reset.next = self.reset.val();
        self.heard.reset.next = self.reset.val();

        StreamSink::<ObjectCommand>::link(&mut self.command[0], &mut self.queue_pairs.command);
        StreamSource::<ObjectReply>::link(&mut self.reply[0], &mut self.queue_pairs.reply);
        StreamSink::<ObjectCommand>::link(&mut self.command[1], &mut self.completion_queues.command);
        StreamSource::<ObjectReply>::link(&mut self.reply[1], &mut self.completion_queues.reply);
        StreamSink::<ObjectCommand>::link(&mut self.command[2], &mut self.regions.command);
        StreamSource::<ObjectReply>::link(&mut self.reply[2], &mut self.regions.reply);
        StreamSink::<ObjectCommand>::link(&mut self.command[3], &mut self.shared_queues.command);
        StreamSource::<ObjectReply>::link(&mut self.reply[3], &mut self.shared_queues.reply);
        StreamSink::<ObjectCommand>::link(&mut self.command[4], &mut self.address_handles.command);
        StreamSource::<ObjectReply>::link(&mut self.reply[4], &mut self.address_handles.reply);

        // Queue pairs.
        self.queue_pairs.row_enable.next = self.row_enable.val();
        self.queue_pairs.row_index.next = self.row_index.val();
        self.row.next = self.queue_pairs.row.val();
        self.queue_pairs.peer_enable.next = self.peer_enable.val();
        self.queue_pairs.peer_index.next = self.peer_index.val();
        self.peer.next = self.queue_pairs.peer.val();
        self.queue_pairs.path_enable.next = self.path_enable.val();
        self.queue_pairs.path_index.next = self.path_index.val();
        self.path.next = self.queue_pairs.path.val();
        self.address_handles.row_enable.next = self.path_enable.val();
        self.address_handles.row_index.next = self.handle_index.val();
        self.handle.next = self.address_handles.row.val();
        for i in 0..2 {
            self.queue_pairs.ring_enable[i].next = self.ring_enable[i].val();
            self.queue_pairs.ring_index[i].next = self.ring_index[i].val();
            self.ring[i].next = self.queue_pairs.ring[i].val();
            self.queue_pairs.area_enable[i].next = self.area_enable[i].val();
            self.queue_pairs.area_index[i].next = self.area_index[i].val();
            self.area[i].next = self.queue_pairs.area[i].val();
            self.shared_queues.row_enable[i].next = self.shared_enable[i].val();
            self.shared_queues.row_index[i].next = self.shared_index[i].val();
            self.shared[i].next = self.shared_queues.row[i].val();
        }
        self.queue_pairs.probe.next = self.probe.val();
        self.exists.next = self.queue_pairs.exists.val();
        StreamSource::<Bits<24>>::link(&mut self.shared_change, &mut self.shared_queues.change);
        self.shared_queues.limit_told.next = self.limit_told.val();
        self.shared_queues.probe.next = self.queue_pairs.probe_srq.val();
        self.queue_pairs.srq_exists.next = self.shared_queues.exists.val();
        self.queue_pairs.told.next = self.told.val();
        for i in 0..2 {
            self.completion_queues.probe[i].next = self.queue_pairs.probe_cq[i].val();
            self.queue_pairs.probe_exists[i].next = self.completion_queues.exists[i].val();
        }
        for i in 0..3 {
            StreamSink::<QpError>::link(&mut self.error[i], &mut self.errors.sinks[i]);
        }
        StreamSource::<QpError>::join(&mut self.completion_queues.error, &mut self.errors.sinks[3]);
        StreamSource::<QpError>::join(&mut self.errors.source, &mut self.queue_pairs.error);
        StreamSink::<Bits<24>>::link(&mut self.emptied, &mut self.queue_pairs.emptied);
        StreamSource::<QpChange>::link(&mut self.change, &mut self.queue_pairs.change);
        self.drain_jobs.next = self.queue_pairs.drain.val();
        self.queue_pairs.drained.next = self.jobs_drained.val();
        self.queue_pairs.entry_waits.next = self.completion_queues.entry.valid.val();
        self.settle[2].next = self.queue_pairs.settle.val();
        // A write that failed is told no later than a cycle after it has settled, and heard before the reply.
        self.offered.next = 0.into();
        for i in 0..3 {
            self.offered.next = self.offered.val().replace_bit(i, self.error[i].valid.val());
        }
        self.offered.next = self.offered.val().replace_bit(3, self.completion_queues.error.valid.val());
        self.heard.begins.next = self.settled[2].val();
        self.heard.offered.next = self.offered.val();
        self.heard.mixed.next = self.errors.source.valid.val();
        // Windows that were bound to it end behind all that used them.
        self.regions.leaves.next = self.heard.ends.val();
        self.regions.leaver.next = self.queue_pairs.ending.val();
        self.queue_pairs.settled.next = self.regions.left.val();
        StreamSource::<EventRecord>::link(&mut self.event[0], &mut self.queue_pairs.event);

        // Completion queues.
        StreamSink::<CqDoorbell>::link(&mut self.doorbell, &mut self.completion_queues.doorbell);
        StreamSink::<Done>::link(&mut self.done, &mut self.completion_queues.done);
        self.completion_queues.time.next = self.time.val();
        StreamSource::<EntryWrite>::link(&mut self.entry, &mut self.completion_queues.entry);
        StreamSource::<EventRecord>::link(&mut self.event[1], &mut self.completion_queues.event);
        self.settle[0].next = self.completion_queues.settle.val();
        self.completion_queues.settled.next = self.settled[0].val();
        self.wrong_page.next = self.completion_queues.wrong_page.val();
        self.bad.next = self.completion_queues.bad.val();
        self.overflow.next = self.completion_queues.overflow.val();
        self.patrols.next = self.completion_queues.patrols.val();

        // Memory.
        StreamSource::<RowWrite<MRS>>::join(&mut self.regions.row, &mut self.mmu.row);
        StreamSource::<Bits<MRS>>::join(&mut self.regions.invalidate, &mut self.mmu.invalidate);
        StreamSource::<Bits<MRS>>::join(&mut self.mmu.done, &mut self.regions.done);
        StreamSink::<KeyWork>::link(&mut self.key_work, &mut self.regions.work);
        StreamSource::<Bits<3>>::link(&mut self.key_reply, &mut self.regions.answer);
        self.drain_moves.next = self.regions.drain.val();
        self.regions.drained.next = self.moves_drained.val();
        self.settle[1].next = self.regions.settle.val();
        self.regions.settled.next = self.settled[1].val();
        StreamSink::<XlatRequest>::link(&mut self.xlat, &mut self.mmu.request);
        StreamSource::<XlatResponse>::link(&mut self.answer, &mut self.mmu.response);
        StreamSource::<LineRequest>::link(&mut self.line_request, &mut self.mmu.line_request);
        StreamSink::<Line>::link(&mut self.line, &mut self.mmu.line);
        self.hits.next = self.mmu.hits.val();
        self.misses.next = self.mmu.misses.val();
        self.walks.next = self.mmu.walks.val();

        self.ready.next = self.queue_pairs.ready.val()
            & self.completion_queues.ready.val()
            & self.regions.ready.val()
            & self.shared_queues.ready.val()
            & self.address_handles.ready.val();
        self.busy.next = self.queue_pairs.busy.val()
            | self.completion_queues.busy.val()
            | self.regions.busy.val()
            | self.shared_queues.busy.val()
            | self.address_handles.busy.val()
            | self.mmu.busy.val()
            | self.errors.source.valid.val();
    }
}
