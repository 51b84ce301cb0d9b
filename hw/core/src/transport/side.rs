//! The transport, joined: from checked work to heads, and from heads to host memory.

use rust_hdl::prelude::*;
use stroma_abi::wire::opcode;

use super::admit::Admit;
use super::atomics::Atomics;
use super::complete::Complete;
use super::defer::heads::DeferHeads;
use super::defer::payload::DeferPayload;
use super::departures::Departures;
use super::fetch::{self, Fetch};
use super::greet::Greet;
use super::keys::Keys;
use super::lookup::Lookup;
use super::over::Over;
use super::place::Place;
use super::receives::Receives;
use super::records::{
    Alarm, Arrival, Errand, HandleRow, KeyJob, LimitTold, Message, Nudge, Occasion, Operation, Order,
    PLACE_BYTES_LOG, PathRow, PeerRow, Progress, ReceiveDoorbell, Rewind, RingRow, Sent, SentRow, SharedRow,
    Station, Task, TxFailure, TxPacket, TxStep,
};
use super::respond::Respond;
use super::scatter::Scatter;
use super::segment::Segment;
use super::send_drain::SendDrain;
use super::sequence::Sequence;
use super::sieve::Sieve;
use super::statistics::Statistics;
use super::template::Template;
use super::timers::Timers;
use crate::constant::number;
use crate::fabric::records::{Call, KERNEL_BITS, News, Passage, ResultRow, STAGES_LOG};
use crate::head::Head;
use crate::host::dma_read::{ReadCommand, ReadData};
use crate::host::work::{Done, EventRecord, HostWrite, QpChange, QpError, Unit, Work};
use crate::host::writes::Writes;
use crate::prim::all::All;
use crate::prim::arbiter::Arbiter;
use crate::prim::block_fifo::BlockFifo;
use crate::prim::colours::Colours;
use crate::prim::fifo::Fifo;
use crate::prim::fork::Fork;
use crate::prim::ram::BlockRam;
use crate::prim::reg::Reg;
use crate::state::access::XlatRequest;
use crate::state::command::{KeyWork, ObjectCommand, ObjectReply};
use crate::state::mmu::XlatResponse;
use crate::stream::{Beat, StreamSink, StreamSource};

/// Cycles from a packet in Sequence to the word that it was refused for want of room.
const CALLING: usize = 3;

block! {
    /// Reliable connections of `2^QPS` queue pairs. `OUT` is `QPS + 5`, `RING` is `QPS + 4`; `2^LOG` beats of payload are held for packets,
    /// `2^STORE` for requests that are deferred.
    ///
    /// ```text
    ///   work ─ Admit ─ Segment ─ Sieve ─┐
    ///            │ rewind               Fetch ─ Template ─ tx_head, tx_payload
    ///   rx_head ─ Lookup ─┬─ Complete ─┐ Respond ┘
    ///                     └─ Sequence ─ Scatter ─ Place ─┴─ Atomics
    ///                  DeferHeads  DeferPayload
    ///   doorbell ─ Receives ─┘                   │ └─ write, done
    ///   Admit, Sequence ─ Keys ─ key_work, key_done; to Lookup
    ///   rx_payload ──────────────────────────────┘
    /// ```
    ///
    /// - **Ports** `work`, `units`: checked work; `local`, `local_units`: what of it the copy engine carries out; `finished`: it has
    ///   finished one; `progress`, `kick`: to the scheduler. `change`: queue pairs that change. `peer_*`, `path_*`, `handle*`, `ring_*`, `shared_*`, `address*`, `mac`, `destination`, `station`:
    ///   tables; `shared_change`: an SRQ begins anew; `limit_told`: as in [`Receives`]. `doorbell`: of receive queues. `rx_*`, `tx_*`: the front ends; `tx_raw`: whole frames; `raw_queue_pair`: who gets those that come. `xlat`, `answer`: the MMU, as clients 3 and 4. `read*`: payload of packets; `list_*`: entries of receive
    ///   queues and WQEs; `word*`: what atomics find;
    ///   `write*`: payload that arrived; `taken`, `taken_write`: a command of anybody that the
    ///   writer takes in this cycle; `issued`, `visible`: its tickets. `done`, `error`, `event`: completions, queue pairs that
    ///   fail, limits of SRQs and their last receives; `emptied`: queue pairs that have drained; `emptied_waits`: some are inside. `drain`, `drained`: packets either way that were under way are through. `pause`: forget packets, and answer
    ///   nothing. `command`, `reply`, `probe`, `exists`: what queue pairs are doing, as in [`Statistics`]. `time`, `wake`: as in [`Timers`]; `cnp_interval`: as in [`Respond`]. Pulses for counters. `ready`, `busy`; `moves`: something moved, or works in silence.
    ///   `asks_qpn`, `refused*`, `room*`, `reserves*`, `call*`, `news`, `call_failure`, `stage_*`, `results`: the [`Fabric`](crate::fabric::join::Fabric); `area*`: where results are kept.
    ///   `key_work`, `key_reply`: the owner of memory windows, as in [`Keys`]; `key_done`: completions of that, a stream of their own, so
    ///   that who takes completions alone decides on their order; `kernel_read_*`, `kernel_write_*`: what kernels do with memory begins and ends.
    /// - **Latency, rate, back-pressure** those of the parts.
    /// - **Reset** forgets all connections' state; tables are scrubbed, a row a cycle.
    pub struct Transport<const D: usize, const QPS: usize, const SRQS: usize, const OUT: usize, const RING: usize, const LOG: usize, const STORE: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub work: StreamSink<Work>,
        pub units: StreamSink<Bits<512>>,
        pub local: StreamSource<Work>,
        pub local_units: StreamSource<Bits<512>>,
        pub finished: Signal<In, Bit>,
        pub progress: StreamSource<Progress>,
        pub kick: StreamSource<Bits<24>>,
        pub change: StreamSink<QpChange>,
        pub doorbell: StreamSink<ReceiveDoorbell>,
        pub shared_change: StreamSink<Bits<24>>,
        pub ring_enable: [Signal<Out, Bit>; 2],
        pub ring_index: [Signal<Out, Bits<24>>; 2],
        pub ring: [Signal<In, RingRow>; 2],
        pub shared_enable: [Signal<Out, Bit>; 2],
        pub shared_index: [Signal<Out, Bits<24>>; 2],
        pub shared: [Signal<In, SharedRow>; 2],
        pub peer_enable: Signal<Out, Bit>,
        pub peer_index: Signal<Out, Bits<24>>,
        pub peer: Signal<In, PeerRow>,
        pub path_enable: Signal<Out, Bit>,
        pub path_index: Signal<Out, Bits<24>>,
        pub path: Signal<In, PathRow>,
        pub handle_index: Signal<Out, Bits<24>>,
        pub handle: Signal<In, HandleRow>,
        pub destination: Signal<Out, Bits<128>>,
        pub station: Signal<In, Station>,
        pub address_index: [Signal<Out, Bits<4>>; 2],
        pub address: [Signal<In, Bits<128>>; 2],
        pub mac: Signal<In, Bits<48>>,
        pub rx_head: StreamSink<Head>,
        pub rx_payload: StreamSink<Beat<D>>,
        pub tx_head: StreamSource<Head>,
        pub tx_payload: StreamSource<Beat<D>>,
        pub tx_raw: StreamSource<Beat<D>>,
        pub raw_queue_pair: Signal<In, Bits<24>>,
        pub xlat: StreamSource<XlatRequest>,
        pub answer: StreamSink<XlatResponse>,
        pub read: StreamSource<ReadCommand>,
        pub read_data: StreamSink<ReadData<D>>,
        pub list_read: StreamSource<ReadCommand>,
        pub list_units: StreamSink<Unit>,
        pub word: StreamSource<ReadCommand>,
        pub word_data: StreamSink<ReadData<D>>,
        pub write: StreamSource<HostWrite>,
        pub write_data: StreamSource<Beat<D>>,
        pub taken: Signal<In, Bit>,
        pub taken_write: Signal<In, HostWrite>,
        pub issued: Signal<In, Bits<16>>,
        pub visible: Signal<In, Bits<16>>,
        pub done: StreamSource<Done>,
        pub key_work: StreamSource<KeyWork>,
        pub key_reply: StreamSink<Bits<3>>,
        pub key_done: StreamSource<Done>,
        pub kernel_read_enters: Signal<In, Bit>,
        pub kernel_read_leaves: Signal<In, Bit>,
        pub kernel_write_enters: Signal<In, Bit>,
        pub kernel_write_leaves: Signal<In, Bit>,
        pub error: StreamSource<QpError>,
        pub event: StreamSource<EventRecord>,
        pub limit_told: Signal<Out, LimitTold>,
        pub emptied: StreamSource<Bits<24>>,
        pub emptied_waits: Signal<Out, Bit>,
        pub asks_qpn: Signal<Out, Bits<24>>,
        pub refused: Signal<Out, Bit>,
        pub refused_qpn: Signal<Out, Bits<24>>,
        pub room: Signal<In, Bits<16>>,
        pub room_more: Signal<In, Bits<16>>,
        pub reserves: Signal<Out, Bit>,
        pub reserves_kernel: Signal<Out, Bits<KERNEL_BITS>>,
        pub reserves_begins: Signal<Out, Bit>,
        pub reserves_ends: Signal<Out, Bit>,
        pub reserves_qpn: Signal<Out, Bits<24>>,
        pub call_data: StreamSource<Beat<D>>,
        pub call_passage: Signal<Out, Passage>,
        pub call: StreamSource<Call>,
        pub news: StreamSink<News>,
        pub call_failure: StreamSink<TxFailure>,
        pub stage_sends: Signal<Out, Bit>,
        pub stage_frees: Signal<Out, Bit>,
        pub stage_number: Signal<Out, Bits<STAGES_LOG>>,
        pub results: StreamSink<Beat<D>>,
        pub area_enable: Signal<Out, Bit>,
        pub area_index: Signal<Out, Bits<24>>,
        pub area: Signal<In, ResultRow>,
        pub drain: Signal<In, Bit>,
        pub drained: Signal<Out, Bit>,
        pub pause: Signal<In, Bit>,
        pub command: StreamSink<ObjectCommand>,
        pub reply: StreamSource<ObjectReply>,
        pub probe: Signal<Out, Bits<24>>,
        pub exists: Signal<In, Bit>,
        pub time: Signal<In, Bits<64>>,
        pub cnp_interval: Signal<In, Bits<32>>,
        pub wake: Signal<Out, Bits<64>>,
        pub retransmitted: Signal<Out, Bit>,
        pub timeouts: Signal<Out, Bit>,
        pub naks: [Signal<Out, Bit>; 3],
        pub rnr_naks: Signal<Out, Bit>,
        pub duplicates: Signal<Out, Bit>,
        pub reads_waiting: Signal<Out, Bit>,
        pub cnps_sent: Signal<Out, Bit>,
        pub cnps_received: Signal<Out, Bit>,
        pub unwanted: [Signal<Out, Bit>; 5],
        pub unreliable_dropped: [Signal<Out, Bit>; 2],
        pub early: Signal<Out, Bit>,
        pub stale: Signal<Out, Bit>,
        pub accepted: Signal<Out, Bit>,
        pub wrong_page: Signal<Out, Bit>,
        pub bad_doorbell: Signal<Out, Bit>,
        pub answers_dropped: Signal<Out, Bit>,
        pub raw_taken: Signal<Out, Bit>,
        pub raw_dropped: [Signal<Out, Bit>; 2],
        pub raw_sent: Signal<Out, Bit>,
        pub ready: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        pub moves: Signal<Out, Bit>,
        admit: Admit<QPS, OUT>,
        segment: Segment<D>,
        sieve: Sieve<QPS>,
        fetch: Fetch<D, LOG>,
        template: Template<D>,
        lookup: Lookup,
        deferred: DeferHeads,
        deferred_payload: DeferPayload<D, STORE>,
        greet: Greet<QPS>,
        sequence: Sequence<QPS>,
        complete: Complete<QPS, OUT>,
        place: Place<D, QPS>,
        respond: Respond<QPS, RING>,
        receives: Receives<QPS, SRQS>,
        scatter: Scatter,
        atomics: Atomics<D, QPS, RING>,
        keys: Keys<QPS>,
        /// READs and atomics answered, and atomics done, of each queue pair.
        answered: BlockRam<Bits<5>, QPS>,
        applied: BlockRam<Bits<5>, QPS>,
        writes: Writes<D>,
        tasks: Arbiter<Task, 3>,
        answer_failures: Arbiter<TxFailure, 2>,
        events: Arbiter<EventRecord, 3>,
        timers: Timers<QPS>,
        statistics: Statistics<QPS>,
        send_drain: SendDrain<QPS>,
        /// Messages on their way, twice: for the requester and for whoever takes the answers.
        sent: [BlockRam<Sent, OUT>; 2],
        sent_rows: BlockRam<SentRow, QPS>,
        over: Over<QPS>,
        /// Local works that the copy engine has finished.
        finished_count: Reg<Bits<48>>,
        requests: Fifo<Arrival, 2>,
        responses: Fifo<Arrival, 2>,
        orders: Fifo<Order, 4>,
        nudges: Arbiter<Nudge, 7>,
        departures: Departures,
        asks: Arbiter<XlatRequest, 2>,
        /// One of each queue pair at most: a queue pair that fails here fails once.
        placed_errors: BlockFifo<QpError, QPS>,
        errors: Arbiter<QpError, 4>,
        rx_colours: Colours<8>,
        request_colours: Colours<8>,
        response_colours: Colours<8>,
        atomic_colours: Colours<8>,
        drains: All<5>,
        sending: Fork<QpChange>,
        receiving: Fork<QpChange>,
        judging: Fork<QpChange>,
        answering: Fork<QpChange>,
        placing: Fork<QpChange>,
        taking: Fork<QpChange>,
        applying: Fork<QpChange>,
        counting: Fork<QpChange>,
        timing: Fork<QpChange>,
        kicks: Fork<Bits<24>>,
        tallying: Fork<QpChange>,
        keying: Fork<QpChange>,
        deferring: Fork<QpChange>,
        /// What Sequence began one, two and three cycles ago was a packet of an RPC.
        calling: Reg<Bits<CALLING>>,
        is_call: Signal<Local, Bit>,
        greeting: Fork<QpChange>,
        is_for_fetch: Signal<Local, Bit>,
        /// Op-codes of RPCs, without their lowest three bits.
        call_codes: Constant<Bits<5>> = number(opcode::RPC_PARAMS.code >> 3),
        last_calling: Constant<Bits<2>> = number(CALLING - 1),
        fetch_client: Constant<Bits<3>> = number(fetch::CLIENT),
        failure: Constant<Bits<3>> = number(Occasion::Failure as u64),
        departed: Constant<Bits<3>> = number(Occasion::Departed as u64),
        astray: Constant<Bits<3>> = number(Occasion::Astray as u64),
        places: Constant<Bits<7>> = number(((D / 8) << STORE) >> PLACE_BYTES_LOG),
    }
}

impl<
    const D: usize,
    const QPS: usize,
    const SRQS: usize,
    const OUT: usize,
    const RING: usize,
    const LOG: usize,
    const STORE: usize,
> Transport<D, QPS, SRQS, OUT, RING, LOG, STORE>
{
    /// For a card with this core clock, and kernels with these op-codes.
    #[must_use]
    pub fn new(clock_khz: u64, operations: &[Option<u16>]) -> Self {
        let sequence = Sequence::new(operations);
        Self { timers: Timers::new(clock_khz), sequence, ..Self::default() }
    }
}

impl<
    const D: usize,
    const QPS: usize,
    const SRQS: usize,
    const OUT: usize,
    const RING: usize,
    const LOG: usize,
    const STORE: usize,
> Logic for Transport<D, QPS, SRQS, OUT, RING, LOG, STORE>
{
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "joins alone: one line a wire")]
    fn update(&mut self) {
        clock!(
            self, clock, admit, segment, sieve, fetch, template, lookup, sequence, complete, place, respond,
            timers
        );
        clock!(
            self,
            clock,
            sent_rows,
            over,
            requests,
            responses,
            orders,
            nudges,
            asks,
            placed_errors,
            errors
        );
        clock!(self, clock, rx_colours, request_colours, response_colours, atomic_colours, drains);
        clock!(self, clock, sending, receiving, judging, answering, placing, taking, applying, counting);
        clock!(self, clock, deferred, deferred_payload, deferring);
        clock!(self, clock, departures, keying, keys, timing, tallying, kicks, send_drain, statistics);
        clock!(self, clock, receives, scatter, atomics, answered, applied, writes, tasks, events);
        clock!(self, clock, answer_failures, greet, greeting);
        dff_setup!(self, clock, finished_count, calling);
        self.admit.reset.next = self.reset.val();
        self.segment.reset.next = self.reset.val();
        self.sieve.reset.next = self.reset.val();
        self.fetch.reset.next = self.reset.val();
        self.template.reset.next = self.reset.val();
        self.lookup.reset.next = self.reset.val();
        self.sequence.reset.next = self.reset.val();
        self.complete.reset.next = self.reset.val();
        self.place.reset.next = self.reset.val();
        self.respond.reset.next = self.reset.val();
        self.timers.reset.next = self.reset.val();
        self.greet.reset.next = self.reset.val();
        self.requests.reset.next = self.reset.val();
        self.responses.reset.next = self.reset.val();
        self.orders.reset.next = self.reset.val();
        self.nudges.reset.next = self.reset.val();
        self.departures.reset.next = self.reset.val();
        self.asks.reset.next = self.reset.val();
        self.placed_errors.reset.next = self.reset.val();
        self.errors.reset.next = self.reset.val();
        self.rx_colours.reset.next = self.reset.val();
        self.request_colours.reset.next = self.reset.val();
        self.response_colours.reset.next = self.reset.val();
        self.drains.reset.next = self.reset.val();
        self.sending.reset.next = self.reset.val();
        self.receiving.reset.next = self.reset.val();
        self.judging.reset.next = self.reset.val();
        self.answering.reset.next = self.reset.val();
        self.placing.reset.next = self.reset.val();
        self.taking.reset.next = self.reset.val();
        self.applying.reset.next = self.reset.val();
        self.counting.reset.next = self.reset.val();
        self.statistics.reset.next = self.reset.val();
        self.timing.reset.next = self.reset.val();
        self.kicks.reset.next = self.reset.val();
        self.send_drain.reset.next = self.reset.val();
        self.tallying.reset.next = self.reset.val();
        self.keying.reset.next = self.reset.val();
        self.greeting.reset.next = self.reset.val();
        self.keys.reset.next = self.reset.val();
        self.deferred.reset.next = self.reset.val();
        self.deferred_payload.reset.next = self.reset.val();
        self.deferring.reset.next = self.reset.val();
        self.atomic_colours.reset.next = self.reset.val();
        self.receives.reset.next = self.reset.val();
        self.scatter.reset.next = self.reset.val();
        self.atomics.reset.next = self.reset.val();
        self.writes.reset.next = self.reset.val();
        self.tasks.reset.next = self.reset.val();
        self.answer_failures.reset.next = self.reset.val();
        self.events.reset.next = self.reset.val();

        // Work becomes packets.
        StreamSink::<Work>::link(&mut self.work, &mut self.admit.work);
        StreamSink::<Bits<512>>::link(&mut self.units, &mut self.admit.units);
        StreamSource::<Work>::link(&mut self.local, &mut self.admit.local);
        StreamSource::<Bits<512>>::link(&mut self.local_units, &mut self.admit.local_units);
        StreamSource::<Progress>::link(&mut self.progress, &mut self.admit.progress);
        StreamSource::<Message>::join(&mut self.admit.message, &mut self.segment.message);
        StreamSource::<Bits<512>>::join(&mut self.admit.message_units, &mut self.segment.units);
        StreamSource::<TxStep>::join(&mut self.segment.step, &mut self.sieve.step);
        self.sieve.epoch_write.next = self.admit.epoch_write.val();
        self.sieve.epoch_index.next = self.admit.epoch_index.val();
        self.sieve.epoch.next = self.admit.epoch.val();
        StreamSource::<TxStep>::join(&mut self.sieve.source, &mut self.fetch.requests);
        StreamSource::<Beat<D>>::join(&mut self.segment.inline, &mut self.fetch.inline);
        StreamSource::<TxStep>::join(&mut self.respond.step, &mut self.fetch.responses);
        StreamSource::<ReadCommand>::link(&mut self.read, &mut self.fetch.read);
        StreamSink::<ReadData<D>>::link(&mut self.read_data, &mut self.fetch.read_data);
        StreamSource::<TxPacket>::join(&mut self.fetch.packet, &mut self.template.packet);
        StreamSource::<Beat<D>>::join(&mut self.fetch.payload, &mut self.template.payload);
        self.path_enable.next = self.template.path_enable.val();
        self.path_index.next = self.template.path_index.val();
        self.template.path.next = self.path.val();
        self.handle_index.next = self.template.handle_index.val();
        self.template.handle.next = self.handle.val();
        self.address_index[1].next = self.template.address_index.val();
        self.template.address.next = self.address[1].val();
        self.template.mac.next = self.mac.val();
        StreamSource::<Head>::link(&mut self.tx_head, &mut self.template.head);
        StreamSource::<Beat<D>>::link(&mut self.tx_payload, &mut self.template.source);
        StreamSource::<Beat<D>>::link(&mut self.tx_raw, &mut self.template.raw);
        if self.finished.val() {
            self.finished_count.d.next = self.finished_count.q.val() + 1;
        }
        self.admit.ended.next = self.finished_count.q.val();

        // What is on its way.
        for i in 0..2 {
            self.sent[i].clock.next = self.clock.val();
            self.sent[i].write_enable.next = self.admit.out_write.val();
            self.sent[i].write_address.next = self.admit.out_write_index.val();
            self.sent[i].write_data.next = self.admit.out_entry.val();
        }
        self.sent[0].read_enable.next = self.admit.out_enable.val();
        self.sent[0].read_address.next = self.admit.out_index.val();
        self.admit.out_found.next = self.sent[0].read_data.val();
        self.sent[1].read_enable.next = self.complete.out_enable.val();
        self.sent[1].read_address.next = self.complete.out_index.val();
        self.complete.out_entry.next = self.sent[1].read_data.val();
        self.sent_rows.write_enable.next = self.admit.sent_write.val();
        self.sent_rows.write_address.next = self.admit.sent_index.val();
        self.sent_rows.write_data.next = self.admit.sent.val();
        self.sent_rows.read_enable.next = self.complete.sent_enable.val();
        self.sent_rows.read_address.next = self.complete.sent_index.val();
        self.complete.sent.next = self.sent_rows.read_data.val();
        self.over.write.next = self.place.acked_write.val();
        self.over.write_index.next = self.place.acked_index.val();
        self.over.written.next = self.place.acked.val();
        self.over.read.next = self.admit.acked_enable.val();
        self.over.index.next = self.admit.acked_index.val();
        self.admit.acked.next = self.over.row.val();
        self.send_drain.sent_write.next = self.admit.sent_write.val();
        self.send_drain.sent_index.next = self.admit.sent_index.val();
        self.send_drain.head.next = self.admit.sent.val().head;
        self.send_drain.acked_write.next = self.place.acked_write.val();
        self.send_drain.acked_index.next = self.place.acked_index.val();
        self.send_drain.tail.next = self.place.acked.val().tail;
        StreamSource::<Bits<24>>::link(&mut self.emptied, &mut self.send_drain.emptied);
        self.emptied_waits.next = self.send_drain.telling.val();

        // Packets, and what else concerns those sent, become errands.
        StreamSink::<Head>::link(&mut self.rx_head, &mut self.lookup.head);
        StreamSource::<Nudge>::join(&mut self.timers.nudge, &mut self.nudges.sinks[0]);
        StreamSource::<Nudge>::join(&mut self.admit.nudge, &mut self.nudges.sinks[1]);
        self.nudges.sinks[2].payload.next.again = false;
        self.nudges.sinks[2].payload.next.occasion = self.failure.val();
        self.nudges.sinks[2].payload.next.qpn = self.fetch.failed.payload.val().qpn;
        self.nudges.sinks[2].payload.next.slot = self.fetch.failed.payload.val().slot;
        self.nudges.sinks[2].payload.next.status = self.fetch.failed.payload.val().status;
        self.nudges.sinks[2].payload.next.vendor = self.fetch.failed.payload.val().vendor;
        self.nudges.sinks[2].payload.next.psn = 0.into();
        self.nudges.sinks[2].valid.next =
            self.fetch.failed.valid.val() & !self.fetch.failed.payload.val().is_response;
        self.answer_failures.sinks[0].payload.next = self.fetch.failed.payload.val();
        self.answer_failures.sinks[0].valid.next =
            self.fetch.failed.valid.val() & self.fetch.failed.payload.val().is_response;
        StreamSink::<TxFailure>::link(&mut self.call_failure, &mut self.answer_failures.sinks[1]);
        StreamSource::<TxFailure>::join(&mut self.answer_failures.source, &mut self.respond.failure);
        self.fetch.failed.ready.next = self.nudges.sinks[2].ready.val();
        if self.fetch.failed.payload.val().is_response {
            self.fetch.failed.ready.next = self.answer_failures.sinks[0].ready.val();
        }
        StreamSource::<Nudge>::join(&mut self.receives.nudge, &mut self.nudges.sinks[3]);
        // A failure is in the arbiter before the next packet leaves Fetch, so no later frame departs before it.
        StreamSource::<Nudge>::join(&mut self.template.departed, &mut self.nudges.sinks[4]);
        StreamSource::<Nudge>::join(&mut self.keys.nudge, &mut self.nudges.sinks[5]);
        StreamSource::<Nudge>::join(&mut self.deferred.nudge, &mut self.nudges.sinks[6]);
        StreamSource::<Nudge>::join(&mut self.nudges.source, &mut self.lookup.nudge);
        self.lookup.admits.next = self.deferred.admits.val();
        self.lookup.raw_queue_pair.next = self.raw_queue_pair.val();
        self.lookup.pause.next = self.pause.val();
        self.peer_enable.next = self.lookup.row_enable.val();
        self.peer_index.next = self.lookup.row_index.val();
        self.lookup.row.next = self.peer.val();
        self.address_index[0].next = self.lookup.address_index.val();
        self.lookup.address.next = self.address[0].val();
        self.lookup.mac.next = self.mac.val();
        self.destination.next = self.lookup.destination.val();
        self.lookup.station.next = self.station.val();
        StreamSource::<Arrival>::join(&mut self.lookup.request, &mut self.requests.sink);
        StreamSource::<Arrival>::join(&mut self.requests.source, &mut self.deferred.arrival);
        StreamSource::<Arrival>::join(&mut self.deferred.source, &mut self.sequence.arrival);
        self.deferred.places.next = self.places.val();
        self.deferred.acts.next = self.sequence.acts.val();
        self.deferred.acted.next = self.sequence.acted.val();
        self.deferred.deferral.next = self.sequence.deferral.val();
        self.deferred.lost.next = self.lookup.lost.val();
        self.sequence.place.next = self.deferred.place.val();
        self.sequence.roomy.next = self.deferred.roomy.val();
        StreamSource::<Arrival>::join(&mut self.lookup.response, &mut self.responses.sink);
        StreamSource::<Arrival>::join(&mut self.responses.source, &mut self.complete.arrival);
        StreamSource::<Order>::join(&mut self.lookup.order, &mut self.orders.sink);
        StreamSource::<Order>::join(&mut self.orders.source, &mut self.place.order);
        StreamSource::<Errand>::join(&mut self.sequence.errand, &mut self.place.requests);
        StreamSource::<Errand>::join(&mut self.complete.errand, &mut self.place.responses);
        StreamSource::<Rewind>::join(&mut self.complete.rewind, &mut self.admit.rewind);
        StreamSource::<Alarm>::join(&mut self.admit.alarm, &mut self.timers.alarm[0]);
        StreamSource::<Alarm>::join(&mut self.complete.alarm, &mut self.timers.alarm[1]);
        self.timers.time.next = self.time.val();
        self.wake.next = self.timers.wake.val();

        // What is posted to be received.
        StreamSink::<ReceiveDoorbell>::link(&mut self.doorbell, &mut self.receives.doorbell);
        StreamSink::<Bits<24>>::link(&mut self.shared_change, &mut self.receives.shared_change);
        self.limit_told.next = self.receives.limit_told.val();
        self.ring_enable[0].next = self.receives.ring_enable.val();
        self.ring_index[0].next = self.receives.ring_index.val();
        self.receives.ring.next = self.ring[0].val();
        self.shared_enable[0].next = self.receives.shared_enable.val();
        self.shared_index[0].next = self.receives.shared_index.val();
        self.receives.shared.next = self.shared[0].val();
        self.receives.look_enable.next = self.sequence.look_enable.val();
        self.receives.look_shared.next = self.sequence.look_shared.val();
        self.receives.look_number.next = self.sequence.look_number.val();
        self.sequence.stock.next = self.receives.stock.val();
        self.receives.take.next = self.sequence.take.val();
        StreamSource::<EventRecord>::join(&mut self.receives.event, &mut self.events.sinks[0]);

        // What the peer has open.
        self.answered.read_enable.next = self.sequence.counts_enable.val();
        self.answered.read_address.next = self.sequence.counts_index.val();
        self.sequence.answered.next = self.answered.read_data.val();
        self.answered.write_enable.next = self.respond.answered_write.val();
        self.answered.write_address.next = self.respond.answered_index.val();
        self.answered.write_data.next = self.respond.answered.val();
        self.applied.read_enable.next = self.sequence.counts_enable.val();
        self.applied.read_address.next = self.sequence.counts_index.val();
        self.sequence.finished.next = self.applied.read_data.val();
        // Who looks for room is known in the cycle before, and what came of a packet of an RPC two cycles behind.
        self.asks_qpn.next = bit_cast::<24, QPS>(self.sequence.counts_index.val());
        self.is_call.next = self.deferred.source.payload.val().op.get_bits::<5>(3) == self.call_codes.val();
        self.calling.d.next = (self.calling.q.val() << 1).replace_bit(0, self.is_call.val());
        self.refused.next =
            self.sequence.rnr_naks.val() & self.calling.q.val().get_bit(self.last_calling.val().index());
        self.refused_qpn.next = bit_cast::<24, QPS>(self.sequence.tally_index.val());
        self.sequence.room.next = self.room.val();
        self.sequence.room_more.next = self.room_more.val();
        self.reserves.next = self.sequence.reserves.val();
        self.reserves_kernel.next = self.sequence.reserves_kernel.val();
        self.reserves_begins.next = self.sequence.reserves_begins.val();
        self.reserves_ends.next = self.sequence.reserves_ends.val();
        self.reserves_qpn.next = self.sequence.reserves_qpn.val();
        self.applied.write_enable.next = self.atomics.finished_write.val();
        self.applied.write_address.next = self.atomics.finished_index.val();
        self.applied.write_data.next = self.atomics.finished.val();

        // Errands are carried out.
        StreamSink::<Beat<D>>::link(&mut self.rx_payload, &mut self.deferred_payload.payload);
        StreamSource::<Beat<D>>::join(&mut self.deferred_payload.passed, &mut self.place.payload);
        StreamSource::<Errand>::join(&mut self.place.merged, &mut self.deferred_payload.errand);
        self.deferred_payload.is_request.next = self.place.merged_is_request.val();
        StreamSource::<Errand>::join(&mut self.deferred_payload.source, &mut self.scatter.errand);
        self.scatter.is_request.next = self.deferred_payload.source_is_request.val();
        StreamSource::<Errand>::join(&mut self.scatter.piece, &mut self.place.scattered);
        self.place.scattered_is_request.next = self.scatter.piece_is_request.val();
        self.ring_enable[1].next = self.scatter.ring_enable.val();
        self.ring_index[1].next = self.scatter.ring_index.val();
        self.scatter.ring.next = self.ring[1].val();
        self.shared_enable[1].next = self.scatter.shared_enable.val();
        self.shared_index[1].next = self.scatter.shared_index.val();
        self.scatter.shared.next = self.shared[1].val();
        StreamSource::<ReadCommand>::link(&mut self.list_read, &mut self.scatter.read);
        StreamSink::<Unit>::link(&mut self.list_units, &mut self.scatter.units);
        StreamSource::<Beat<D>>::link(&mut self.call_data, &mut self.place.call_data);
        self.call_passage.next = self.place.call_passage.val();
        StreamSource::<Call>::link(&mut self.call, &mut self.place.call);
        StreamSource::<HostWrite>::join(&mut self.place.write, &mut self.writes.writes[0]);
        StreamSource::<Beat<D>>::join(&mut self.place.write_data, &mut self.writes.data[0]);
        StreamSource::<HostWrite>::join(&mut self.atomics.write, &mut self.writes.writes[1]);
        StreamSource::<Beat<D>>::join(&mut self.atomics.write_data, &mut self.writes.data[1]);
        StreamSource::<HostWrite>::link(&mut self.write, &mut self.writes.write);
        StreamSource::<Beat<D>>::link(&mut self.write_data, &mut self.writes.source);
        self.place.issued.next = self.issued.val();
        StreamSource::<Done>::link(&mut self.done, &mut self.place.done);
        StreamSource::<QpError>::join(&mut self.place.error, &mut self.placed_errors.sink);
        StreamSource::<QpError>::join(&mut self.placed_errors.source, &mut self.errors.sinks[0]);
        StreamSource::<QpError>::join(&mut self.respond.error, &mut self.errors.sinks[1]);
        StreamSource::<QpError>::join(&mut self.atomics.error, &mut self.errors.sinks[2]);
        StreamSource::<QpError>::join(&mut self.keys.error, &mut self.errors.sinks[3]);
        StreamSource::<QpError>::link(&mut self.error, &mut self.errors.source);
        StreamSource::<EventRecord>::join(&mut self.place.event, &mut self.events.sinks[1]);
        StreamSource::<Bits<24>>::join(&mut self.lookup.first, &mut self.greet.first);
        StreamSource::<EventRecord>::join(&mut self.greet.event, &mut self.events.sinks[2]);
        StreamSource::<EventRecord>::link(&mut self.event, &mut self.events.source);
        StreamSource::<Bits<24>>::join(&mut self.place.kick, &mut self.kicks.sink);
        StreamSource::<Bits<24>>::link(&mut self.kick, &mut self.kicks.left);
        StreamSource::<Bits<24>>::join(&mut self.kicks.right, &mut self.send_drain.kick);
        StreamSource::<Task>::join(&mut self.place.task, &mut self.tasks.sinks[0]);
        StreamSource::<Task>::join(&mut self.atomics.task, &mut self.tasks.sinks[1]);
        self.tasks.sinks[2].valid.next = self.news.valid.val();
        self.news.ready.next = self.tasks.sinks[2].ready.val();
        self.tasks.sinks[2].payload.next.qpn = self.news.payload.val().qpn;
        self.tasks.sinks[2].payload.next.pd = self.news.payload.val().pd;
        self.tasks.sinks[2].payload.next.path_mtu = self.news.payload.val().path_mtu;
        self.tasks.sinks[2].payload.next.answer = self.news.payload.val().answer;
        self.tasks.sinks[2].payload.next.psn = self.news.payload.val().psn;
        self.tasks.sinks[2].payload.next.msn = self.news.payload.val().msn;
        self.tasks.sinks[2].payload.next.syndrome = 0.into();
        self.tasks.sinks[2].payload.next.va = bit_cast::<64, 17>(self.news.payload.val().before);
        self.tasks.sinks[2].payload.next.key = 0.into();
        self.tasks.sinks[2].payload.next.length = bit_cast::<32, 17>(self.news.payload.val().length);
        self.tasks.sinks[2].payload.next.value = 0.into();
        self.tasks.sinks[2].payload.next.fresh = false;
        self.tasks.sinks[2].payload.next.ticket = 0.into();
        self.tasks.sinks[2].payload.next.place = self.news.payload.val().place;
        self.tasks.sinks[2].payload.next.status = self.news.payload.val().status;
        self.tasks.sinks[2].payload.next.stage = self.news.payload.val().stage;
        self.tasks.sinks[2].payload.next.staged = self.news.payload.val().staged;
        StreamSource::<Task>::join(&mut self.tasks.source, &mut self.respond.task);
        self.stage_sends.next = self.respond.stage_sends.val();
        self.stage_frees.next = self.respond.stage_frees.val();
        self.stage_number.next = self.respond.stage_number.val();
        self.area_enable.next = self.respond.area_enable.val();
        self.area_index.next = self.respond.area_index.val();
        self.respond.area.next = self.area.val();
        StreamSink::<Beat<D>>::link(&mut self.results, &mut self.fetch.results);
        StreamSource::<Operation>::join(&mut self.place.operation, &mut self.atomics.operation);
        StreamSource::<ReadCommand>::link(&mut self.word, &mut self.atomics.read);
        StreamSink::<ReadData<D>>::link(&mut self.word_data, &mut self.atomics.read_data);
        self.atomics.foreign.next =
            self.taken.val() & !(self.atomics.write.valid.val() & self.writes.writes[1].ready.val());
        self.atomics.foreign_write.next = self.taken_write.val();
        self.atomics.issued.next = self.issued.val();
        self.atomics.visible.next = self.visible.val();
        StreamSource::<Bits<24>>::join(&mut self.lookup.notice, &mut self.respond.notice);
        self.respond.done.next = self.visible.val();
        self.respond.pause.next = self.pause.val();
        self.respond.now.next = bit_cast::<32, 64>(self.time.val());
        self.respond.cnp_interval.next = self.cnp_interval.val();

        // Keys begin and end.
        StreamSource::<KeyJob>::join(&mut self.admit.key, &mut self.keys.job);
        StreamSource::<KeyWork>::join(&mut self.sequence.part, &mut self.keys.part);
        StreamSource::<KeyWork>::link(&mut self.key_work, &mut self.keys.work);
        StreamSink::<Bits<3>>::link(&mut self.key_reply, &mut self.keys.reply);
        StreamSource::<Done>::link(&mut self.key_done, &mut self.keys.done);
        self.keys.look.next = self.admit.acked_enable.val();
        self.keys.look_index.next = self.admit.acked_index.val();
        self.admit.keyed.next = self.keys.keyed.val();
        self.keys.arrival_enters.next = self.lookup.enters.val();
        self.keys.arrival_leaves.next = self.place.leaves.val();
        self.keys.atomic_enters.next = self.place.operation_enters.val();
        self.keys.atomic_leaves.next = self.atomics.leaves.val();
        self.keys.answer_enters.next = self.respond.enters.val();
        self.keys.answer_leaves.next = self.fetch.leaves[1].val();
        self.keys.kernel_read_enters.next = self.kernel_read_enters.val();
        self.keys.kernel_read_leaves.next = self.kernel_read_leaves.val();
        self.keys.kernel_write_enters.next = self.kernel_write_enters.val();
        self.keys.kernel_write_leaves.next = self.kernel_write_leaves.val();

        // Addresses: both always take their answers.
        StreamSource::<XlatRequest>::join(&mut self.fetch.xlat, &mut self.asks.sinks[0]);
        StreamSource::<XlatRequest>::join(&mut self.place.xlat, &mut self.asks.sinks[1]);
        StreamSource::<XlatRequest>::link(&mut self.xlat, &mut self.asks.source);
        self.is_for_fetch.next = self.answer.payload.val().client == self.fetch_client.val();
        self.fetch.answer.payload.next = self.answer.payload.val();
        self.fetch.answer.valid.next = self.answer.valid.val() & self.is_for_fetch.val();
        self.place.answer.payload.next = self.answer.payload.val();
        self.place.answer.valid.next = self.answer.valid.val() & !self.is_for_fetch.val();
        self.answer.ready.next = self.fetch.answer.ready.val() & self.place.answer.ready.val();

        // Queue pairs that change.
        StreamSink::<QpChange>::link(&mut self.change, &mut self.sending.sink);
        StreamSource::<QpChange>::join(&mut self.sending.left, &mut self.keying.sink);
        StreamSource::<QpChange>::join(&mut self.keying.left, &mut self.admit.change);
        StreamSource::<QpChange>::join(&mut self.keying.right, &mut self.keys.change);
        StreamSource::<QpChange>::join(&mut self.sending.right, &mut self.receiving.sink);
        StreamSource::<QpChange>::join(&mut self.receiving.left, &mut self.judging.sink);
        StreamSource::<QpChange>::join(&mut self.receiving.right, &mut self.answering.sink);
        StreamSource::<QpChange>::join(&mut self.judging.left, &mut self.taking.sink);
        StreamSource::<QpChange>::join(&mut self.taking.left, &mut self.deferring.sink);
        StreamSource::<QpChange>::join(&mut self.deferring.left, &mut self.sequence.change);
        StreamSource::<QpChange>::join(&mut self.deferring.right, &mut self.deferred.change);
        StreamSource::<QpChange>::join(&mut self.taking.right, &mut self.receives.change);
        StreamSource::<QpChange>::join(&mut self.judging.right, &mut self.complete.change);
        StreamSource::<QpChange>::join(&mut self.answering.left, &mut self.placing.sink);
        StreamSource::<QpChange>::join(&mut self.placing.left, &mut self.place.change);
        StreamSource::<QpChange>::join(&mut self.placing.right, &mut self.counting.sink);
        StreamSource::<QpChange>::join(&mut self.counting.left, &mut self.over.change);
        StreamSource::<QpChange>::join(&mut self.counting.right, &mut self.timing.sink);
        StreamSource::<QpChange>::join(&mut self.timing.left, &mut self.send_drain.change);
        StreamSource::<QpChange>::join(&mut self.timing.right, &mut self.greeting.sink);
        StreamSource::<QpChange>::join(&mut self.greeting.left, &mut self.timers.change);
        StreamSource::<QpChange>::join(&mut self.greeting.right, &mut self.greet.change);
        StreamSource::<QpChange>::join(&mut self.answering.right, &mut self.applying.sink);
        StreamSource::<QpChange>::join(&mut self.applying.left, &mut self.respond.change);
        StreamSource::<QpChange>::join(&mut self.applying.right, &mut self.tallying.sink);
        StreamSource::<QpChange>::join(&mut self.tallying.left, &mut self.atomics.change);
        StreamSource::<QpChange>::join(&mut self.tallying.right, &mut self.statistics.change);

        // What is under way, by colour.
        self.lookup.colour.next = self.rx_colours.colour.val();
        self.rx_colours.enters.next = self.lookup.enters.val();
        self.rx_colours.enters_colour.next = self.lookup.enters_colour.val();
        self.rx_colours.pending.next = self.lookup.pending.val();
        self.rx_colours.leaves.next = self.place.leaves.val();
        self.rx_colours.leaves_colour.next = self.place.leaves_colour.val();
        self.rx_colours.drain.next = self.drain.val();
        self.admit.colour.next = self.request_colours.colour.val();
        self.request_colours.enters.next = self.admit.enters.val();
        self.request_colours.enters_colour.next = self.request_colours.colour.val();
        self.request_colours.pending.next = false;
        // One a cycle: what was thrown away waits for what was sent.
        self.sieve.leaves.next = self.fetch.leaves[0].val();
        self.request_colours.leaves.next = self.fetch.leaves[0].val() | self.sieve.drops.val();
        self.request_colours.leaves_colour.next = self.fetch.leaves_colour[0].val();
        if self.sieve.drops.val() {
            self.request_colours.leaves_colour.next = self.sieve.drops_colour.val();
        }
        self.request_colours.drain.next = self.drain.val();
        self.respond.colour.next = self.response_colours.colour.val();
        self.response_colours.enters.next = self.respond.enters.val();
        self.response_colours.enters_colour.next = self.response_colours.colour.val();
        self.response_colours.pending.next = false;
        self.response_colours.leaves.next = self.fetch.leaves[1].val();
        self.response_colours.leaves_colour.next = self.fetch.leaves_colour[1].val();
        self.response_colours.drain.next = self.drain.val();
        self.drains.begins.next = self.drain.val();
        // What arrived may be applied later: those under way are waited for when all that arrived before has been placed.
        self.place.operation_colour.next = self.atomic_colours.colour.val();
        self.place.applies.next = self.atomics.busy.val();
        self.atomic_colours.enters.next = self.place.operation_enters.val();
        self.atomic_colours.enters_colour.next = self.atomic_colours.colour.val();
        self.atomic_colours.pending.next = false;
        self.atomic_colours.leaves.next = self.atomics.leaves.val();
        self.atomic_colours.leaves_colour.next = self.atomics.leaves_colour.val();
        self.atomic_colours.drain.next = self.rx_colours.drained.val();
        self.drains.ends[0].next = self.atomic_colours.drained.val();
        self.drains.ends[1].next = self.request_colours.drained.val();
        self.drains.ends[2].next = self.response_colours.drained.val();
        // What nobody answers is told when its packet leaves, or has lost its way.
        self.departures.told.next = self.template.told.val();
        self.departures.heard.next = self.nudges.source.valid.val()
            & self.lookup.nudge.ready.val()
            & ((self.nudges.source.payload.val().occasion == self.departed.val())
                | (self.nudges.source.payload.val().occasion == self.astray.val()));
        self.departures.drain.next = self.request_colours.drained.val();
        self.drains.ends[3].next = self.departures.drained.val();
        // A SEND that arrived may have asked for the end of a key: likewise.
        self.keys.drain.next = self.rx_colours.drained.val();
        self.drains.ends[4].next = self.keys.drained.val();
        self.drained.next = self.drains.ended.val();

        // What each queue pair is doing.
        StreamSink::<ObjectCommand>::link(&mut self.command, &mut self.statistics.command);
        StreamSource::<ObjectReply>::link(&mut self.reply, &mut self.statistics.reply);
        self.probe.next = self.statistics.probe.val();
        self.statistics.exists.next = self.exists.val();
        self.statistics.sending_counts.next = self.template.tally.val();
        self.statistics.sending_index.next = bit_cast::<QPS, 24>(self.template.tally_qpn.val());
        self.statistics.requester_counts.next = self.complete.tally.val();
        self.statistics.requester_index.next = self.complete.tally_index.val();
        self.statistics.responder_counts.next = self.sequence.tally.val();
        self.statistics.responder_index.next = self.sequence.tally_index.val();
        self.statistics.requester_write.next = self.admit.requester_write.val();
        self.statistics.requester_at.next = self.admit.requester_index.val();
        self.statistics.requester_row.next = self.admit.requester.val();
        self.statistics.responder_write.next = self.sequence.responder_write.val();
        self.statistics.responder_at.next = self.sequence.responder_index.val();
        self.statistics.responder_row.next = self.sequence.responder.val();
        self.over.look.next = self.statistics.look.val();
        self.over.look_index.next = self.statistics.look_index.val();
        self.statistics.acked.next = self.over.looked.val();
        self.receives.count_enable.next = self.statistics.look.val();
        self.receives.count_index.next = self.statistics.look_index.val();
        self.statistics.posted.next = self.receives.count.val();

        // What is counted, and whether anything goes on.
        self.retransmitted.next = self.template.again.val();
        self.timeouts.next = self.complete.timeouts.val();
        self.naks[0].next = self.sequence.naks.val();
        self.naks[1].next = self.place.refused.val();
        self.naks[2].next = self.respond.error.valid.val() & self.errors.sinks[1].ready.val();
        self.rnr_naks.next = self.sequence.rnr_naks.val();
        self.duplicates.next = self.sequence.duplicates.val();
        self.wrong_page.next = self.receives.wrong_page.val();
        self.bad_doorbell.next = self.receives.bad.val();
        self.reads_waiting.next = self.admit.reads_waiting.val();
        self.cnps_sent.next = self.respond.cnps_sent.val();
        self.cnps_received.next = self.lookup.cnp_received.val();
        self.unwanted[0].next = self.lookup.dropped.val();
        self.unwanted[1].next = self.sequence.unwanted.val();
        self.unwanted[2].next = self.complete.unwanted.val();
        self.unwanted[3].next = self.place.overtaken.val();
        self.unwanted[4].next = self.deferred.purged.val();
        self.unreliable_dropped[0].next = self.sequence.dropped.val();
        self.unreliable_dropped[1].next = self.place.lost.val();
        self.early.next = self.sequence.early.val();
        self.stale.next = self.complete.stale.val();
        self.accepted.next = self.place.accepted.val();
        self.answers_dropped.next = self.respond.data_dropped.val();
        self.raw_taken.next = self.sequence.raw_taken.val();
        self.raw_dropped[0].next = self.lookup.raw_dropped.val();
        self.raw_dropped[1].next = self.sequence.raw_lost.val();
        self.raw_sent.next = self.template.raw_sent.val();
        self.ready.next = self.admit.ready.val()
            & self.sieve.ready.val()
            & self.sequence.ready.val()
            & self.complete.ready.val()
            & self.place.ready.val()
            & self.respond.ready.val()
            & self.receives.ready.val()
            & self.atomics.ready.val()
            & self.statistics.ready.val()
            & self.greet.ready.val()
            & self.timers.ready.val();
        self.busy.next = self.admit.busy.val()
            | self.segment.busy.val()
            | self.sieve.busy.val()
            | self.fetch.busy.val()
            | self.template.busy.val()
            | self.lookup.busy.val()
            | self.greet.busy.val()
            | self.sequence.busy.val()
            | self.complete.busy.val()
            | self.place.busy.val()
            | self.deferred.busy.val()
            | self.deferred_payload.busy.val()
            | self.respond.busy.val()
            | self.receives.busy.val()
            | self.scatter.busy.val()
            | self.atomics.busy.val()
            | self.keys.busy.val()
            | self.writes.busy.val()
            | self.tasks.source.valid.val()
            | self.answer_failures.source.valid.val()
            | self.events.source.valid.val()
            | self.statistics.busy.val()
            | self.timers.busy.val()
            | self.send_drain.busy.val()
            | self.requests.source.valid.val()
            | self.responses.source.valid.val()
            | self.orders.source.valid.val()
            | self.nudges.source.valid.val()
            | self.placed_errors.level.val().any()
            | self.errors.source.valid.val();
        // Two parts wait for the host for long; the others are busy while they work, and no longer.
        self.moves.next = self.admit.busy.val()
            | self.segment.busy.val()
            | self.sieve.busy.val()
            | self.template.busy.val()
            | self.lookup.busy.val()
            | self.sequence.busy.val()
            | self.deferred.busy.val()
            | self.complete.busy.val()
            | self.respond.busy.val()
            | self.receives.busy.val()
            | self.statistics.busy.val()
            | self.timers.busy.val()
            | self.send_drain.busy.val()
            | self.keys.moves.val()
            | self.rx_head.valid.val()
            | self.answer.valid.val()
            | (self.asks.source.valid.val() & self.xlat.ready.val())
            | (self.fetch.read.valid.val() & self.read.ready.val())
            | (self.read_data.valid.val() & self.fetch.read_data.ready.val())
            | (self.fetch.packet.valid.val() & self.template.packet.ready.val())
            | (self.fetch.payload.valid.val() & self.template.payload.ready.val())
            | (self.writes.write.valid.val() & self.write.ready.val())
            | (self.writes.source.valid.val() & self.write_data.ready.val())
            | (self.scatter.read.valid.val() & self.list_read.ready.val())
            | (self.list_units.valid.val() & self.scatter.units.ready.val())
            | (self.atomics.read.valid.val() & self.word.ready.val())
            | (self.word_data.valid.val() & self.atomics.read_data.ready.val())
            | (self.place.operation.valid.val() & self.atomics.operation.ready.val())
            | self.tasks.source.valid.val()
            | (self.events.source.valid.val() & self.event.ready.val())
            | (self.rx_payload.valid.val() & self.deferred_payload.payload.ready.val())
            | (self.deferred_payload.passed.valid.val() & self.place.payload.ready.val())
            | (self.place.done.valid.val() & self.done.ready.val())
            | self.place.task.valid.val()
            | self.place.kick.valid.val()
            | self.placed_errors.level.val().any()
            | self.errors.source.valid.val();
        if self.reset.val() {
            self.finished_count.d.next = 0.into();
        }
    }
}
