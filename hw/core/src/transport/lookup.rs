//! Who a packet is for: the first question to everything that comes from the network, or concerns what was sent to it.

pub mod describe;
pub mod judge;
pub mod model;
#[cfg(test)]
mod rig;
#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;

use describe::Describe;
use judge::{Judge, Judgement};

use super::records::{Arrival, Nudge, Order, PeerRow, Station};
use crate::constant::number;
use crate::head::Head;
use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::stream::{StreamSink, StreamSource};

/// log2 of the requests that wait, and of the answers.
const ARRIVALS_LOG: usize = 2;
/// log2 of the orders that wait.
const ORDERS_LOG: usize = 4;

block! {
    /// Reads the row of the queue pair that a packet or a nudge names, and passes on what is for this card.
    ///
    /// ```text
    ///   head ──┬─ row ─ Judge ─┬─ FIFO ─ request
    ///   nudge ─┘  Describe ────┼─ FIFO ─ response
    ///                          ├─ FIFO ─ order
    ///                          ├─ FIFO ─ notice
    ///                          └─ FIFO ─ first
    /// ```
    ///
    /// Cycle 0 chooses and reads the row. In cycle 1 the row is there: the packet is judged and described, and moves. In cycle 2
    /// what was described is handed out, while the next is chosen.
    ///
    /// A packet is for this card when its frame is for the port or for a group of stations, when its queue pair exists and is a
    /// connection, when it comes from the peer's address to the address that the queue pair has, in its partition, and
    /// when the op-code is one of that kind of connection and the state of the queue pair takes it. A datagram comes from anywhere, to any address of
    /// the port, and knows the queue pair's key; or to a group, and is then for the queue pair that belongs to it. Requests that are not
    /// carried out here pass: their judge refuses them. A raw frame is for the raw queue pair, if that is one and its state
    /// takes requests. A nudge passes when its queue pair exists and may have sent something, one of a departure when
    /// nobody answers what that sends: it becomes an acknowledgement; a datagram astray becomes a failure. A recall passes when its queue pair is a connection,
    /// one for datagrams or a raw one, in error; a request that was deferred when its queue pair is a reliable connection that takes
    /// requests; the end of a key when it is a reliable connection that receives, or has received before its error.
    ///
    /// - **Ports** `head`: good packets; their payload goes past this block. `nudge`: what else concerns a queue pair. `raw_queue_pair`: whose
    ///   raw frames are. `pause`: packets
    ///   are for nobody and nudges are swallowed. `admits`: a packet may begin. `row_enable`, `row_index`, `row`: the queue pair's row, there a cycle later,
    ///   until the next is read; beyond the table none exists. `address_index`, `address`: an address of the port, in
    ///   the same cycle; `mac`: that of its frames. `destination`, `station`: whose an address is, there a cycle later. `request`, `response`: arrivals of requests, recalls and ends of keys, of answers and other nudges; `order`: one entry for each,
    ///   in the order of both, and one with `drops` for each packet for nobody that has payload. `notice`: the queue pair of a
    ///   packet that met congestion. `first`: that of a request on a connection that is in RTR. `lost`: a pulse for each request that was
    ///   deferred and is for nobody any more; it counts as `dropped`. `dropped`, `raw_dropped`, `cnp_received`: a pulse for each packet for nobody, for
    ///   each raw frame for nobody, for each congestion notification of a peer. `busy`: something is under way or waits in a FIFO.
    /// - **Colours** `colour` is taken along in the cycle of `row_enable`; `enters`, `enters_colour`: a pulse for each entry of
    ///   `order`; `pending`: a row was read in the colour before this one, and what it was read for has not entered yet.
    /// - **Latency** 3 cycles from `head` or `nudge` to its arrival and order. **Rate** one every 2 cycles,
    ///   of whatever queue pairs; a datagram for a group takes 1 more.
    /// - **Order** packets and nudges take turns when both wait.
    /// - **Backpressure** 4 requests, 4 answers and 16 orders wait; with one of these full, what is handed out in this cycle
    ///   counted in, nothing begins. A ninth notice or `first`
    ///   is forgotten: the peer's next such packet gives another. `row_enable`, `row_index` and `destination` follow `head`
    ///   and `nudge` combinationally, and `row_index` follows `station`, to save a cycle, as `address_index` follows `row` and `pending` `colour`.
    /// - **Reset** forgets what is under way and empties the FIFOs.
    pub struct Lookup {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub head: StreamSink<Head>,
        pub nudge: StreamSink<Nudge>,
        pub raw_queue_pair: Signal<In, Bits<24>>,
        pub pause: Signal<In, Bit>,
        pub admits: Signal<In, Bit>,
        pub row_enable: Signal<Out, Bit>,
        pub row_index: Signal<Out, Bits<24>>,
        pub row: Signal<In, PeerRow>,
        pub address_index: Signal<Out, Bits<4>>,
        pub address: Signal<In, Bits<128>>,
        pub mac: Signal<In, Bits<48>>,
        pub destination: Signal<Out, Bits<128>>,
        pub station: Signal<In, Station>,
        pub colour: Signal<In, Bit>,
        pub enters: Signal<Out, Bit>,
        pub enters_colour: Signal<Out, Bit>,
        pub pending: Signal<Out, Bit>,
        pub request: StreamSource<Arrival>,
        pub response: StreamSource<Arrival>,
        pub order: StreamSource<Order>,
        pub notice: StreamSource<Bits<24>>,
        pub first: StreamSource<Bits<24>>,
        pub dropped: Signal<Out, Bit>,
        pub lost: Signal<Out, Bit>,
        pub raw_dropped: Signal<Out, Bit>,
        pub cnp_received: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        judge: Judge,
        describe: Describe,
        requests: Fifo<Arrival, ARRIVALS_LOG>,
        responses: Fifo<Arrival, ARRIVALS_LOG>,
        orders: Fifo<Order, ORDERS_LOG>,
        notices: Fifo<Bits<24>, 3>,
        firsts: Fifo<Bits<24>, 3>,
        /// The row is there.
        is_looking: Reg<Bit>,
        /// The judgement is there.
        is_acting: Reg<Bit>,
        is_nudge: Reg<Bit>,
        /// A packet had its turn last.
        is_nudge_due: Reg<Bit>,
        /// The head on offer was there in the cycle before, so that `station` is that of its destination.
        is_seen: Reg<Bit>,
        /// Whose row was read.
        qpn: Reg<Bits<24>>,
        work_colour: Reg<Bit>,
        is_paused: Reg<Bit>,
        judgement: Reg<Judgement>,
        arrival: Reg<Arrival>,
        was_dropped: Reg<Bit>,
        was_raw_dropped: Reg<Bit>,
        was_notified: Reg<Bit>,
        was_lost: Reg<Bit>,
        has_room: Signal<Local, Bit>,
        starts: Signal<Local, Bit>,
        is_for_group: Signal<Local, Bit>,
        has_head: Signal<Local, Bit>,
        head_moves: Signal<Local, Bit>,
        picks_nudge: Signal<Local, Bit>,
        chosen: Signal<Local, Bits<24>>,
        passes: Signal<Local, Bit>,
        is_lost: Signal<Local, Bit>,
        arrives: Signal<Local, Bit>,
        is_in_vain: Signal<Local, Bit>,
        /// One more, and the FIFO is full.
        last_arrival: Constant<Bits<16>> = number((1_u64 << ARRIVALS_LOG) - 1),
        last_order: Constant<Bits<16>> = number((1_u64 << ORDERS_LOG) - 1),
    }
}

impl Logic for Lookup {
    #[hdl_gen]
    #[expect(
        clippy::too_many_lines,
        reason = "the three cycles of a packet or a nudge, and a line a wire of two blocks"
    )]
    fn update(&mut self) {
        clock!(self, clock, requests, responses, orders, notices, firsts);
        dff_setup!(self, clock, is_looking, is_acting, is_nudge, is_nudge_due, qpn, work_colour, is_paused);
        dff_setup!(
            self,
            clock,
            judgement,
            arrival,
            was_dropped,
            was_raw_dropped,
            was_notified,
            was_lost,
            is_seen
        );
        self.requests.reset.next = self.reset.val();
        self.responses.reset.next = self.reset.val();
        self.orders.reset.next = self.reset.val();
        self.notices.reset.next = self.reset.val();
        self.firsts.reset.next = self.reset.val();

        // Choose. Nothing begins without room for all it may give, and for what the one before it gives in this cycle. An input
        // moves when it has been looked at, so its payload is there until then.
        self.has_room.next = self.requests.sink.ready.val()
            & self.responses.sink.ready.val()
            & self.orders.sink.ready.val()
            & !(self.is_acting.q.val()
                & ((self.requests.level.val() == self.last_arrival.val())
                    | (self.responses.level.val() == self.last_arrival.val())
                    | (self.orders.level.val() == self.last_order.val())));
        // Who belongs to a group has to be known first.
        self.destination.next = self.head.payload.val().dst_ip;
        self.is_for_group.next = self.head.payload.val().dqpn.all() & !self.head.payload.val().raw;
        self.has_head.next =
            self.head.valid.val() & self.admits.val() & (self.is_seen.q.val() | !self.is_for_group.val());
        self.starts.next =
            !self.is_looking.q.val() & self.has_room.val() & (self.has_head.val() | self.nudge.valid.val());
        self.picks_nudge.next = self.nudge.valid.val() & (!self.has_head.val() | self.is_nudge_due.q.val());
        self.row_enable.next = self.starts.val();
        self.chosen.next = self.head.payload.val().dqpn;
        if self.is_for_group.val() & self.station.val().is_group {
            self.chosen.next = self.station.val().member;
        }
        if self.picks_nudge.val() {
            self.chosen.next = self.nudge.payload.val().qpn;
        } else if self.head.payload.val().raw {
            self.chosen.next = self.raw_queue_pair.val();
        }
        self.row_index.next = self.chosen.val();
        if self.starts.val() {
            self.qpn.d.next = self.chosen.val();
            self.is_nudge.d.next = self.picks_nudge.val();
            self.is_nudge_due.d.next = !self.picks_nudge.val();
            // Whoever has changed a row turns the colour after that: what was read before has the old one.
            self.work_colour.d.next = self.colour.val();
            self.is_paused.d.next = self.pause.val();
        }
        self.is_looking.d.next = self.starts.val();
        self.is_acting.d.next = self.is_looking.q.val();
        self.pending.next = (self.is_looking.q.val() | self.is_acting.q.val())
            & (self.work_colour.q.val() != self.colour.val());

        // Look.
        self.address_index.next = self.row.val().source_address;
        self.judge.head.next = self.head.payload.val();
        self.judge.nudge.next = self.nudge.payload.val();
        self.judge.is_nudge.next = self.is_nudge.q.val();
        self.judge.row.next = self.row.val();
        self.judge.address.next = self.address.val();
        self.judge.mac.next = self.mac.val();
        self.judge.station.next = self.station.val();
        self.judge.pause.next = self.is_paused.q.val();
        self.judgement.d.next = self.judge.judgement.val();
        self.head_moves.next = self.is_looking.q.val() & !self.is_nudge.q.val();
        self.head.ready.next = self.head_moves.val();
        self.is_seen.d.next = self.head.valid.val() & !self.head_moves.val();
        self.nudge.ready.next = self.is_looking.q.val() & self.is_nudge.q.val();
        self.describe.head.next = self.head.payload.val();
        self.describe.nudge.next = self.nudge.payload.val();
        self.describe.is_nudge.next = self.is_nudge.q.val();
        self.describe.qpn.next = self.qpn.q.val();
        self.describe.row.next = self.row.val();
        self.describe.colour.next = self.work_colour.q.val();
        self.arrival.d.next = self.describe.arrival.val();

        // Act. Another is looked at in the next cycle at the earliest: until then its registers are those of this one.
        self.passes.next = self.judgement.q.val().is_request | self.judgement.q.val().is_response;
        self.is_lost.next = self.is_acting.q.val() & !self.is_nudge.q.val() & !self.passes.val();
        self.arrives.next = self.is_acting.q.val() & (self.passes.val() | self.judgement.q.val().throws);
        self.enters.next = self.arrives.val();
        self.enters_colour.next = self.work_colour.q.val();

        self.requests.sink.valid.next = self.is_acting.q.val() & self.judgement.q.val().is_request;
        self.requests.sink.payload.next = self.arrival.q.val();
        self.responses.sink.valid.next = self.is_acting.q.val() & self.judgement.q.val().is_response;
        self.responses.sink.payload.next = self.arrival.q.val();
        self.orders.sink.valid.next = self.arrives.val();
        self.orders.sink.payload.next.is_request = self.judgement.q.val().is_request;
        self.orders.sink.payload.next.drops = self.judgement.q.val().throws;
        self.orders.sink.payload.next.payload_len = self.arrival.q.val().payload_len;
        self.orders.sink.payload.next.colour = self.work_colour.q.val();
        self.notices.sink.valid.next = self.is_acting.q.val() & self.judgement.q.val().is_marked;
        self.notices.sink.payload.next = self.arrival.q.val().qpn;
        StreamSource::<Arrival>::link(&mut self.request, &mut self.requests.source);
        StreamSource::<Arrival>::link(&mut self.response, &mut self.responses.source);
        StreamSource::<Order>::link(&mut self.order, &mut self.orders.source);
        StreamSource::<Bits<24>>::link(&mut self.notice, &mut self.notices.source);
        self.firsts.sink.valid.next = self.is_acting.q.val() & self.judgement.q.val().is_first;
        self.firsts.sink.payload.next = self.arrival.q.val().qpn;
        StreamSource::<Bits<24>>::link(&mut self.first, &mut self.firsts.source);

        self.was_raw_dropped.d.next = self.is_lost.val() & self.arrival.q.val().raw;
        self.is_in_vain.next =
            self.is_acting.q.val() & self.arrival.q.val().again & !self.judgement.q.val().is_request;
        self.was_lost.d.next = self.is_in_vain.val();
        self.lost.next = self.was_lost.q.val();
        self.was_dropped.d.next = self.is_in_vain.val()
            | (self.is_lost.val() & !self.judgement.q.val().is_notification & !self.arrival.q.val().raw);
        self.was_notified.d.next = self.is_lost.val() & self.judgement.q.val().is_notification;
        self.dropped.next = self.was_dropped.q.val();
        self.raw_dropped.next = self.was_raw_dropped.q.val();
        self.cnp_received.next = self.was_notified.q.val();
        self.busy.next = self.is_looking.q.val()
            | self.is_acting.q.val()
            | self.requests.source.valid.val()
            | self.responses.source.valid.val()
            | self.orders.source.valid.val()
            | self.notices.source.valid.val()
            | self.firsts.source.valid.val();
        if self.reset.val() {
            self.is_looking.d.next = false;
            self.is_acting.d.next = false;
            self.is_nudge_due.d.next = false;
            self.is_seen.d.next = false;
            self.was_dropped.d.next = false;
            self.was_raw_dropped.d.next = false;
            self.was_notified.d.next = false;
            self.was_lost.d.next = false;
        }
    }
}
