//! Receives: what is posted to the receive queues, who takes it, and who gives it back.

pub mod choose;
pub mod desk;
pub mod judge;
pub mod line;
pub mod model;
pub mod shelf;
#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;
use stroma_abi::desc::eqe::Event;

use desk::Desk;
use line::Line;
use shelf::Shelf;

use super::records::{LimitTold, Nudge, Occasion, ReceiveDoorbell, RingRow, SharedRow, Stock};
use crate::constant::number;
use crate::host::work::{EventRecord, QpChange};
use crate::prim::block_fifo::BlockFifo;
use crate::prim::reg::Reg;
use crate::stream::{StreamSink, StreamSource};

block! {
    /// Counts what is posted to the receive queues of `2^QPS` queue pairs and to `2^SRQS` shared ones.
    ///
    /// ```text
    ///   doorbell, change, shared_change ─ Desk ─┬─ Shelf of queue pairs, Shelf of SRQs ─ look, take
    ///               ring, shared ──────────┘ ▲  ├─ Line of recalls ─┐                         │
    ///                                        ├──│───────────────────┘                         │
    ///                                        └──│─ Line of limits ────────────────────────────┘
    ///                                           └─ nudge, FIFO ─ event
    /// ```
    ///
    /// - **Ports** `doorbell`: receives are posted. `ring_*`, `shared_*`: a row, there a cycle later; beyond its table it does not
    ///   exist. `look_*`: a queue pair's queue or a shared one is looked at, and `stock` shows it from the next cycle on, until
    ///   the next look; `take`: the first receive of the look before this cycle is taken. `count_enable`, `count_index`, `count`: how
    ///   many are in a queue pair's own queue, likewise. `change`, `shared_change`: a queue
    ///   pair stops or resets, an SRQ begins anew: its indices are zero and its limit is untold. `nudge`: a `Recall`.
    ///   `event`: an SRQ's limit; `limit_told`: a cycle for each. High for a cycle each: `bad`, `wrong_page`: a doorbell was refused. `ready`: the rows are
    ///   scrubbed. `busy`: something is under way, in line, or on offer.
    /// - **Doorbells** are bad if there is no such queue, if the queue pair is in RESET or takes from an SRQ, if more would be
    ///   posted than the ring has, or fewer than are.
    /// - **Recalls** a queue pair stands in line, once, after it stops and after a good doorbell in error. A visit nudges if it
    ///   is in error and has receives, and then it joins again; the first behind a stop nudges in any case, unless the
    ///   queue pair resets before. A nudge may be one too many: what it is to recall is taken later.
    /// - **SRQs** are looked at after each take: if fewer than the limit are posted by then, one event a `round` tells. A limit
    ///   that was set 256 times since the last look is in the round of before, and counts as told if that was.
    /// - **Latency** a look that begins 3 cycles or more after a doorbell or a change moved sees it, one from the cycle of
    ///   a take on sees that. A nudge is on offer 10 cycles after a stop has moved, an event 10 after a take, if nobody is in line.
    ///   **Rate** a look and a take per cycle; a doorbell every 3 cycles, on average every 4 with visits in between; a nudge
    ///   every 5 cycles, of one queue pair every 7.
    /// - **Backpressure** looks and takes are never refused. `change` before `shared_change` before three doorbells before a
    ///   visit; no operation waits for an output: while a nudge is not taken, or there is no room among as many events as
    ///   there are SRQs, visits of that kind wait, and nothing else does.
    /// - **Reset** forgets everything and scrubs a row a cycle, as many as the larger table has, with `ready` low.
    /// - **Limits** `QPS` and `SRQS` from 1 to 15. Looks and changes name queues in the tables. A take follows a look that showed a
    ///   receive, at most one each, and does not meet a change that begins its queue anew.
    pub struct Receives<const QPS: usize, const SRQS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub doorbell: StreamSink<ReceiveDoorbell>,
        pub ring_enable: Signal<Out, Bit>,
        pub ring_index: Signal<Out, Bits<24>>,
        pub ring: Signal<In, RingRow>,
        pub shared_enable: Signal<Out, Bit>,
        pub shared_index: Signal<Out, Bits<24>>,
        pub shared: Signal<In, SharedRow>,
        pub look_enable: Signal<In, Bit>,
        pub look_shared: Signal<In, Bit>,
        pub look_number: Signal<In, Bits<24>>,
        pub stock: Signal<Out, Stock>,
        pub take: Signal<In, Bit>,
        pub count_enable: Signal<In, Bit>,
        pub count_index: Signal<In, Bits<QPS>>,
        pub count: Signal<Out, Bits<16>>,
        pub change: StreamSink<QpChange>,
        pub shared_change: StreamSink<Bits<24>>,
        pub nudge: StreamSource<Nudge>,
        pub event: StreamSource<EventRecord>,
        pub limit_told: Signal<Out, LimitTold>,
        pub wrong_page: Signal<Out, Bit>,
        pub bad: Signal<Out, Bit>,
        pub ready: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        desk: Desk<QPS, SRQS>,
        own_shelf: Shelf<QPS>,
        shared_shelf: Shelf<SRQS>,
        recalls: Line<QPS>,
        limits: Line<SRQS>,
        events: BlockFifo<Bits<SRQS>, SRQS>,
        /// Of the last look.
        was_shared: Reg<Bit>,
        has_nudge: Reg<Bit>,
        nudged: Reg<Bits<QPS>>,
        told: Reg<LimitTold>,
        recall: Constant<Bits<3>> = number(Occasion::Recall as u8),
        below_limit: Constant<Bits<8>> = number(Event::SrqLimit as u8),
    }
}

impl<const QPS: usize, const SRQS: usize> Logic for Receives<QPS, SRQS> {
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "joins: one line a wire")]
    fn update(&mut self) {
        clock!(self, clock, desk, own_shelf, shared_shelf, recalls, limits, events);
        dff_setup!(self, clock, was_shared, has_nudge, nudged, told);
        self.desk.reset.next = self.reset.val();
        self.recalls.reset.next = self.reset.val();
        self.limits.reset.next = self.reset.val();
        self.events.reset.next = self.reset.val();

        // Operations.
        StreamSink::<ReceiveDoorbell>::link(&mut self.doorbell, &mut self.desk.doorbell);
        StreamSink::<QpChange>::link(&mut self.change, &mut self.desk.change);
        StreamSink::<Bits<24>>::link(&mut self.shared_change, &mut self.desk.shared_change);
        StreamSource::<Bits<QPS>>::join(&mut self.recalls.source, &mut self.desk.recall);
        StreamSource::<Bits<SRQS>>::join(&mut self.limits.source, &mut self.desk.limit);
        self.desk.nudge_room.next = !self.has_nudge.q.val();
        self.desk.event_room.next = self.events.sink.ready.val();
        self.ring_enable.next = self.desk.ring_enable.val();
        self.ring_index.next = self.desk.number.val();
        self.desk.ring.next = self.ring.val();
        self.shared_enable.next = self.desk.shared_enable.val();
        self.shared_index.next = self.desk.number.val();
        self.desk.shared.next = self.shared.val();
        self.own_shelf.read_enable.next = self.desk.reads.val();
        self.own_shelf.read_index.next = bit_cast::<QPS, 24>(self.desk.number.val());
        self.shared_shelf.read_enable.next = self.desk.reads.val();
        self.shared_shelf.read_index.next = bit_cast::<SRQS, 24>(self.desk.number.val());
        self.desk.own_posted.next = self.own_shelf.posted.val();
        self.desk.own_taken.next = self.own_shelf.taken.val();
        self.desk.shared_posted.next = self.shared_shelf.posted.val();
        self.desk.shared_taken.next = self.shared_shelf.taken.val();
        self.own_shelf.write_enable.next = self.desk.writes.val() & !self.desk.is_shared.val();
        self.own_shelf.write_index.next = bit_cast::<QPS, 24>(self.desk.number.val());
        self.own_shelf.written.next = self.desk.written.val();
        self.shared_shelf.write_enable.next = self.desk.writes.val() & self.desk.is_shared.val();
        self.shared_shelf.write_index.next = bit_cast::<SRQS, 24>(self.desk.number.val());
        self.shared_shelf.written.next = self.desk.written.val();
        self.recalls.joins.next = self.desk.joins.val();
        self.recalls.number.next = bit_cast::<QPS, 24>(self.desk.number.val());
        self.own_shelf.scrubs.next = self.desk.scrubs.val();
        self.shared_shelf.scrubs.next = self.desk.scrubs.val();
        self.recalls.scrubs.next = self.desk.scrubs.val();
        self.recalls.scrub_index.next = bit_cast::<QPS, 24>(self.desk.number.val());
        self.limits.scrubs.next = self.desk.scrubs.val();
        self.limits.scrub_index.next = bit_cast::<SRQS, 24>(self.desk.number.val());
        self.bad.next = self.desk.bad.val();
        self.wrong_page.next = self.desk.wrong_page.val();

        // Looks and takes.
        if self.look_enable.val() {
            self.was_shared.d.next = self.look_shared.val();
        }
        self.own_shelf.look_enable.next = self.look_enable.val() & !self.look_shared.val();
        self.own_shelf.look_index.next = bit_cast::<QPS, 24>(self.look_number.val());
        self.shared_shelf.look_enable.next = self.look_enable.val() & self.look_shared.val();
        self.shared_shelf.look_index.next = bit_cast::<SRQS, 24>(self.look_number.val());
        self.own_shelf.take.next = self.take.val() & !self.was_shared.q.val();
        self.shared_shelf.take.next = self.take.val() & self.was_shared.q.val();
        self.stock.next = self.own_shelf.stock.val();
        if self.was_shared.q.val() {
            self.stock.next = self.shared_shelf.stock.val();
        }
        self.own_shelf.count_enable.next = self.count_enable.val();
        self.own_shelf.count_index.next = self.count_index.val();
        self.count.next = self.own_shelf.count.val();
        self.shared_shelf.count_enable.next = false;
        self.shared_shelf.count_index.next = 0.into();
        self.limits.joins.next = self.take.val() & self.was_shared.q.val();
        self.limits.number.next = self.shared_shelf.looked.val();

        // What leaves.
        self.nudge.valid.next = self.has_nudge.q.val();
        self.nudge.payload.next.again = false;
        self.nudge.payload.next.occasion = self.recall.val();
        self.nudge.payload.next.qpn = bit_cast::<24, QPS>(self.nudged.q.val());
        self.nudge.payload.next.slot = 0.into();
        self.nudge.payload.next.status = 0.into();
        self.nudge.payload.next.vendor = 0.into();
        self.nudge.payload.next.psn = 0.into();
        if self.nudge.ready.val() {
            self.has_nudge.d.next = false;
        }
        if self.desk.nudges.val() {
            self.has_nudge.d.next = true;
            self.nudged.d.next = bit_cast::<QPS, 24>(self.desk.number.val());
        }
        self.events.sink.valid.next = self.desk.tells.val();
        self.events.sink.payload.next = bit_cast::<SRQS, 24>(self.desk.number.val());
        self.told.d.next.valid = self.desk.tells.val();
        self.told.d.next.number = self.desk.number.val();
        self.told.d.next.round = self.desk.round.val();
        self.limit_told.next = self.told.q.val();
        self.event.valid.next = self.events.source.valid.val();
        self.events.source.ready.next = self.event.ready.val();
        self.event.payload.next.data = 0.into();
        self.event.payload.next.object = bit_cast::<24, SRQS>(self.events.source.payload.val());
        self.event.payload.next.kind = self.below_limit.val();
        self.event.payload.next.subkind = 0.into();

        self.ready.next = !self.desk.scrubs.val();
        self.busy.next = self.desk.scrubs.val()
            | self.desk.works.val()
            | self.has_nudge.q.val()
            | self.recalls.busy.val()
            | self.limits.busy.val()
            | self.events.level.val().any();
        if self.reset.val() {
            self.was_shared.d.next = false;
            self.has_nudge.d.next = false;
            self.told.d.next.valid = false;
        }
    }
}
