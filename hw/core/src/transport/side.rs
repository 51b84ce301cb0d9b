//! The transport, joined: from checked work to heads, and from heads to host memory.

use rust_hdl::prelude::*;

use super::admit::Admit;
use super::complete::Complete;
use super::fetch::{self, Fetch};
use super::lookup::Lookup;
use super::over::Over;
use super::place::Place;
use super::records::{
    Alarm, Arrival, Errand, Message, Nudge, Occasion, Order, PathRow, PeerRow, Progress, Rewind, Sent,
    SentRow, Task, TxPacket, TxStep,
};
use super::respond::Respond;
use super::segment::Segment;
use super::sequence::Sequence;
use super::template::Template;
use super::timers::Timers;
use crate::constant::number;
use crate::head::Head;
use crate::host::dma_read::{ReadCommand, ReadData};
use crate::host::work::{Done, HostWrite, QpChange, QpError, Work};
use crate::prim::all::All;
use crate::prim::arbiter::Arbiter;
use crate::prim::block_fifo::BlockFifo;
use crate::prim::colours::Colours;
use crate::prim::fifo::Fifo;
use crate::prim::fork::Fork;
use crate::prim::ram::BlockRam;
use crate::prim::reg::Reg;
use crate::state::access::XlatRequest;
use crate::state::mmu::XlatResponse;
use crate::stream::{Beat, StreamSink, StreamSource};

block! {
    /// Reliable connections of `2^QPS` queue pairs. `OUT` is `QPS + 5`, `RING` is `QPS + 4`; `2^LOG` beats of payload are held for packets.
    ///
    /// ```text
    ///   work ─ Admit ─ Segment ─┐
    ///            │ rewind       Fetch ─ Template ─ tx_head, tx_payload
    ///   rx_head ─ Lookup ─┬─ Complete ─┐ Respond ┘
    ///                     └─ Sequence ─ Place ─ task ┘
    ///   rx_payload ────────────────────┘ └─ write, done
    /// ```
    ///
    /// - **Ports** `work`, `units`: checked work; `local`, `local_units`: what of it the copy engine carries out; `finished`: it has
    ///   finished one; `progress`, `kick`: to the scheduler. `change`: queue pairs that change. `peer_*`, `path_*`, `address*`, `mac`:
    ///   tables. `rx_*`, `tx_*`: the front ends. `xlat`, `answer`: the MMU, as clients 3 and 4. `read*`: payload of packets;
    ///   `write*`: payload that arrived; `issued`, `visible`: the writer's tickets. `done`, `error`: completions, and queue pairs that
    ///   fail. `drain`, `drained`: packets either way that were under way are through. `pause`: forget packets, and answer
    ///   nothing. `time`, `wake`: as in [`Timers`]. Pulses for counters. `ready`, `busy`; `moves`: something moved, or works in silence.
    /// - **Latency, rate, back-pressure** those of the parts.
    /// - **Reset** forgets all connections' state; tables are scrubbed, a row a cycle.
    pub struct Transport<const D: usize, const QPS: usize, const OUT: usize, const RING: usize, const LOG: usize> {
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
        pub peer_enable: Signal<Out, Bit>,
        pub peer_index: Signal<Out, Bits<24>>,
        pub peer: Signal<In, PeerRow>,
        pub path_enable: Signal<Out, Bit>,
        pub path_index: Signal<Out, Bits<24>>,
        pub path: Signal<In, PathRow>,
        pub address_index: [Signal<Out, Bits<4>>; 2],
        pub address: [Signal<In, Bits<128>>; 2],
        pub mac: Signal<In, Bits<48>>,
        pub rx_head: StreamSink<Head>,
        pub rx_payload: StreamSink<Beat<D>>,
        pub tx_head: StreamSource<Head>,
        pub tx_payload: StreamSource<Beat<D>>,
        pub xlat: StreamSource<XlatRequest>,
        pub answer: StreamSink<XlatResponse>,
        pub read: StreamSource<ReadCommand>,
        pub read_data: StreamSink<ReadData<D>>,
        pub write: StreamSource<HostWrite>,
        pub write_data: StreamSource<Beat<D>>,
        pub issued: Signal<In, Bits<16>>,
        pub visible: Signal<In, Bits<16>>,
        pub done: StreamSource<Done>,
        pub error: StreamSource<QpError>,
        pub drain: Signal<In, Bit>,
        pub drained: Signal<Out, Bit>,
        pub pause: Signal<In, Bit>,
        pub time: Signal<In, Bits<64>>,
        pub wake: Signal<Out, Bits<64>>,
        pub retransmitted: Signal<Out, Bit>,
        pub timeouts: Signal<Out, Bit>,
        pub naks: [Signal<Out, Bit>; 3],
        pub duplicates: Signal<Out, Bit>,
        pub reads_waiting: Signal<Out, Bit>,
        pub cnps_sent: Signal<Out, Bit>,
        pub cnps_received: Signal<Out, Bit>,
        pub unwanted: Signal<Out, Bit>,
        pub answers_dropped: Signal<Out, Bit>,
        pub ready: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        pub moves: Signal<Out, Bit>,
        admit: Admit<QPS, OUT>,
        segment: Segment<D>,
        fetch: Fetch<D, LOG>,
        template: Template<D>,
        lookup: Lookup,
        sequence: Sequence<QPS>,
        complete: Complete<QPS, OUT>,
        place: Place<D, QPS>,
        respond: Respond<QPS, RING>,
        timers: Timers<QPS>,
        /// Messages on their way, twice: for the requester and for whoever takes the answers.
        sent: [BlockRam<Sent, OUT>; 2],
        sent_rows: BlockRam<SentRow, QPS>,
        over: Over<QPS>,
        /// Local works that the copy engine has finished.
        finished_count: Reg<Bits<48>>,
        requests: Fifo<Arrival, 2>,
        responses: Fifo<Arrival, 2>,
        orders: Fifo<Order, 4>,
        nudges: Arbiter<Nudge, 3>,
        asks: Arbiter<XlatRequest, 2>,
        /// One of each queue pair at most: a queue pair that fails here fails once.
        placed_errors: BlockFifo<QpError, QPS>,
        errors: Arbiter<QpError, 2>,
        rx_colours: Colours<8>,
        request_colours: Colours<8>,
        response_colours: Colours<8>,
        drains: All<3>,
        sending: Fork<QpChange>,
        receiving: Fork<QpChange>,
        judging: Fork<QpChange>,
        answering: Fork<QpChange>,
        placing: Fork<QpChange>,
        is_for_fetch: Signal<Local, Bit>,
        fetch_client: Constant<Bits<3>> = number(fetch::CLIENT),
        failure: Constant<Bits<2>> = number(Occasion::Failure as u64),
    }
}

impl<const D: usize, const QPS: usize, const OUT: usize, const RING: usize, const LOG: usize>
    Transport<D, QPS, OUT, RING, LOG>
{
    /// For a card with this core clock.
    #[must_use]
    pub fn new(clock_khz: u64) -> Self {
        Self { timers: Timers::new(clock_khz), ..Self::default() }
    }
}

impl<const D: usize, const QPS: usize, const OUT: usize, const RING: usize, const LOG: usize> Logic
    for Transport<D, QPS, OUT, RING, LOG>
{
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "joins alone: one line a wire")]
    fn update(&mut self) {
        clock!(
            self, clock, admit, segment, fetch, template, lookup, sequence, complete, place, respond, timers
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
        clock!(self, clock, rx_colours, request_colours, response_colours, drains);
        clock!(self, clock, sending, receiving, judging, answering, placing);
        dff_setup!(self, clock, finished_count);
        self.admit.reset.next = self.reset.val();
        self.segment.reset.next = self.reset.val();
        self.fetch.reset.next = self.reset.val();
        self.template.reset.next = self.reset.val();
        self.lookup.reset.next = self.reset.val();
        self.sequence.reset.next = self.reset.val();
        self.complete.reset.next = self.reset.val();
        self.place.reset.next = self.reset.val();
        self.respond.reset.next = self.reset.val();
        self.timers.reset.next = self.reset.val();
        self.requests.reset.next = self.reset.val();
        self.responses.reset.next = self.reset.val();
        self.orders.reset.next = self.reset.val();
        self.nudges.reset.next = self.reset.val();
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

        // Work becomes packets.
        StreamSink::<Work>::link(&mut self.work, &mut self.admit.work);
        StreamSink::<Bits<512>>::link(&mut self.units, &mut self.admit.units);
        StreamSource::<Work>::link(&mut self.local, &mut self.admit.local);
        StreamSource::<Bits<512>>::link(&mut self.local_units, &mut self.admit.local_units);
        StreamSource::<Progress>::link(&mut self.progress, &mut self.admit.progress);
        StreamSource::<Message>::join(&mut self.admit.message, &mut self.segment.message);
        StreamSource::<Bits<512>>::join(&mut self.admit.message_units, &mut self.segment.units);
        StreamSource::<TxStep>::join(&mut self.segment.step, &mut self.fetch.requests);
        StreamSource::<Beat<D>>::join(&mut self.segment.inline, &mut self.fetch.inline);
        StreamSource::<TxStep>::join(&mut self.respond.step, &mut self.fetch.responses);
        StreamSource::<ReadCommand>::link(&mut self.read, &mut self.fetch.read);
        StreamSink::<ReadData<D>>::link(&mut self.read_data, &mut self.fetch.read_data);
        StreamSource::<TxPacket>::join(&mut self.fetch.packet, &mut self.template.packet);
        StreamSource::<Beat<D>>::join(&mut self.fetch.payload, &mut self.template.payload);
        self.path_enable.next = self.template.path_enable.val();
        self.path_index.next = self.template.path_index.val();
        self.template.path.next = self.path.val();
        self.address_index[1].next = self.template.address_index.val();
        self.template.address.next = self.address[1].val();
        self.template.mac.next = self.mac.val();
        StreamSource::<Head>::link(&mut self.tx_head, &mut self.template.head);
        StreamSource::<Beat<D>>::link(&mut self.tx_payload, &mut self.template.source);
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

        // Packets, and what else concerns those sent, become errands.
        StreamSink::<Head>::link(&mut self.rx_head, &mut self.lookup.head);
        StreamSource::<Nudge>::join(&mut self.timers.nudge, &mut self.nudges.sinks[0]);
        StreamSource::<Nudge>::join(&mut self.admit.nudge, &mut self.nudges.sinks[1]);
        self.nudges.sinks[2].payload.next.occasion = self.failure.val();
        self.nudges.sinks[2].payload.next.qpn = self.fetch.failed.payload.val().qpn;
        self.nudges.sinks[2].payload.next.slot = self.fetch.failed.payload.val().slot;
        self.nudges.sinks[2].payload.next.status = self.fetch.failed.payload.val().status;
        self.nudges.sinks[2].payload.next.vendor = self.fetch.failed.payload.val().vendor;
        self.nudges.sinks[2].valid.next =
            self.fetch.failed.valid.val() & !self.fetch.failed.payload.val().is_response;
        self.respond.failure.payload.next = self.fetch.failed.payload.val();
        self.respond.failure.valid.next =
            self.fetch.failed.valid.val() & self.fetch.failed.payload.val().is_response;
        self.fetch.failed.ready.next = self.nudges.sinks[2].ready.val();
        if self.fetch.failed.payload.val().is_response {
            self.fetch.failed.ready.next = self.respond.failure.ready.val();
        }
        StreamSource::<Nudge>::join(&mut self.nudges.source, &mut self.lookup.nudge);
        self.lookup.pause.next = self.pause.val();
        self.peer_enable.next = self.lookup.row_enable.val();
        self.peer_index.next = self.lookup.row_index.val();
        self.lookup.row.next = self.peer.val();
        self.address_index[0].next = self.lookup.address_index.val();
        self.lookup.address.next = self.address[0].val();
        StreamSource::<Arrival>::join(&mut self.lookup.request, &mut self.requests.sink);
        StreamSource::<Arrival>::join(&mut self.requests.source, &mut self.sequence.arrival);
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

        // Errands are carried out.
        StreamSink::<Beat<D>>::link(&mut self.rx_payload, &mut self.place.payload);
        StreamSource::<HostWrite>::link(&mut self.write, &mut self.place.write);
        StreamSource::<Beat<D>>::link(&mut self.write_data, &mut self.place.write_data);
        self.place.issued.next = self.issued.val();
        StreamSource::<Done>::link(&mut self.done, &mut self.place.done);
        StreamSource::<QpError>::join(&mut self.place.error, &mut self.placed_errors.sink);
        StreamSource::<QpError>::join(&mut self.placed_errors.source, &mut self.errors.sinks[0]);
        StreamSource::<QpError>::join(&mut self.respond.error, &mut self.errors.sinks[1]);
        StreamSource::<QpError>::link(&mut self.error, &mut self.errors.source);
        StreamSource::<Bits<24>>::link(&mut self.kick, &mut self.place.kick);
        StreamSource::<Task>::join(&mut self.place.task, &mut self.respond.task);
        StreamSource::<Bits<24>>::join(&mut self.lookup.notice, &mut self.respond.notice);
        self.respond.done.next = self.visible.val();
        self.respond.pause.next = self.pause.val();

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
        StreamSource::<QpChange>::join(&mut self.sending.left, &mut self.admit.change);
        StreamSource::<QpChange>::join(&mut self.sending.right, &mut self.receiving.sink);
        StreamSource::<QpChange>::join(&mut self.receiving.left, &mut self.judging.sink);
        StreamSource::<QpChange>::join(&mut self.receiving.right, &mut self.answering.sink);
        StreamSource::<QpChange>::join(&mut self.judging.left, &mut self.sequence.change);
        StreamSource::<QpChange>::join(&mut self.judging.right, &mut self.complete.change);
        StreamSource::<QpChange>::join(&mut self.answering.left, &mut self.placing.sink);
        StreamSource::<QpChange>::join(&mut self.placing.left, &mut self.place.change);
        StreamSource::<QpChange>::join(&mut self.placing.right, &mut self.over.change);
        StreamSource::<QpChange>::join(&mut self.answering.right, &mut self.respond.change);

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
        self.request_colours.leaves.next = self.fetch.leaves[0].val();
        self.request_colours.leaves_colour.next = self.fetch.leaves_colour[0].val();
        self.request_colours.drain.next = self.drain.val();
        self.respond.colour.next = self.response_colours.colour.val();
        self.response_colours.enters.next = self.respond.enters.val();
        self.response_colours.enters_colour.next = self.response_colours.colour.val();
        self.response_colours.pending.next = false;
        self.response_colours.leaves.next = self.fetch.leaves[1].val();
        self.response_colours.leaves_colour.next = self.fetch.leaves_colour[1].val();
        self.response_colours.drain.next = self.drain.val();
        self.drains.begins.next = self.drain.val();
        self.drains.ends[0].next = self.rx_colours.drained.val();
        self.drains.ends[1].next = self.request_colours.drained.val();
        self.drains.ends[2].next = self.response_colours.drained.val();
        self.drained.next = self.drains.ended.val();

        // What is counted, and whether anything goes on.
        self.retransmitted.next = self.template.again.val();
        self.timeouts.next = self.complete.timeouts.val();
        self.naks[0].next = self.sequence.naks.val();
        self.naks[1].next = self.place.refused.val();
        self.naks[2].next = self.respond.error.valid.val() & self.errors.sinks[1].ready.val();
        self.duplicates.next = self.sequence.duplicates.val();
        self.reads_waiting.next = self.admit.reads_waiting.val();
        self.cnps_sent.next = self.respond.cnps_sent.val();
        self.cnps_received.next = self.lookup.cnp_received.val();
        self.unwanted.next = self.lookup.dropped.val();
        self.answers_dropped.next = self.respond.data_dropped.val();
        self.ready.next = self.admit.ready.val()
            & self.sequence.ready.val()
            & self.complete.ready.val()
            & self.place.ready.val()
            & self.respond.ready.val()
            & self.timers.ready.val();
        self.busy.next = self.admit.busy.val()
            | self.segment.busy.val()
            | self.fetch.busy.val()
            | self.template.busy.val()
            | self.lookup.busy.val()
            | self.sequence.busy.val()
            | self.complete.busy.val()
            | self.place.busy.val()
            | self.respond.busy.val()
            | self.timers.busy.val()
            | self.requests.source.valid.val()
            | self.responses.source.valid.val()
            | self.orders.source.valid.val()
            | self.nudges.source.valid.val()
            | self.placed_errors.level.val().any()
            | self.errors.source.valid.val();
        // Two parts wait for the host for long; the others are busy while they work, and no longer.
        self.moves.next = self.admit.busy.val()
            | self.segment.busy.val()
            | self.template.busy.val()
            | self.lookup.busy.val()
            | self.sequence.busy.val()
            | self.complete.busy.val()
            | self.respond.busy.val()
            | self.timers.busy.val()
            | self.rx_head.valid.val()
            | self.answer.valid.val()
            | (self.asks.source.valid.val() & self.xlat.ready.val())
            | (self.fetch.read.valid.val() & self.read.ready.val())
            | (self.read_data.valid.val() & self.fetch.read_data.ready.val())
            | (self.fetch.packet.valid.val() & self.template.packet.ready.val())
            | (self.fetch.payload.valid.val() & self.template.payload.ready.val())
            | (self.place.write.valid.val() & self.write.ready.val())
            | (self.place.write_data.valid.val() & self.write_data.ready.val())
            | (self.rx_payload.valid.val() & self.place.payload.ready.val())
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
