//! Where operations on receive queues are carried out, one behind the other.

use rust_hdl::prelude::*;

use super::choose::Choose;
use super::judge::{Judge, Told};
use super::shelf::Posted;
use crate::host::work::QpChange;
use crate::prim::ram::BlockRam;
use crate::prim::reg::Reg;
use crate::stream::StreamSink;
use crate::transport::records::{ReceiveDoorbell, RingRow, SharedRow};

block! {
    /// Takes doorbells, changes and those whose turn has come in a line, and says what is posted, recalled and told.
    ///
    /// - **Ports** `doorbell`, `change`, `shared_change`, `ring*`, `shared*`: as of [`Receives`](super::Receives); both rows are those of
    ///   `number`. `recall`, `limit`: visits; `nudge_room`, `event_room`: what they may say has room, if the one before said
    ///   nothing. `reads`: the queue `number` is read in both tables; a cycle later `*_posted`, `*_taken` are there. High for
    ///   the cycle of an operation: `writes`: what is posted to the queue is `written`, in the table that `is_shared` names;
    ///   `joins`: the queue pair is to be recalled; `nudges`, `tells`: a visit says so, the latter of the limit of that `round`. A cycle later: `bad`, `wrong_page`.
    ///   `scrubs`: everything known of `number` is to be cleared. `works`: an operation is under way.
    /// - **Latency** an input moves in the cycle of `reads`, one cycle after it was chosen; it is carried out 2 cycles later. **Rate**
    ///   and order as of [`Choose`].
    /// - **Backpressure** without room no visit of that kind begins. Nothing else waits for an output.
    /// - **Reset** scrubs.
    pub struct Desk<const QPS: usize, const SRQS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub doorbell: StreamSink<ReceiveDoorbell>,
        pub change: StreamSink<QpChange>,
        pub shared_change: StreamSink<Bits<24>>,
        pub recall: StreamSink<Bits<QPS>>,
        pub limit: StreamSink<Bits<SRQS>>,
        pub nudge_room: Signal<In, Bit>,
        pub event_room: Signal<In, Bit>,
        pub ring_enable: Signal<Out, Bit>,
        pub ring: Signal<In, RingRow>,
        pub shared_enable: Signal<Out, Bit>,
        pub shared: Signal<In, SharedRow>,
        pub reads: Signal<Out, Bit>,
        pub number: Signal<Out, Bits<24>>,
        pub own_posted: Signal<In, Posted>,
        pub own_taken: Signal<In, Bits<16>>,
        pub shared_posted: Signal<In, Posted>,
        pub shared_taken: Signal<In, Bits<16>>,
        pub writes: Signal<Out, Bit>,
        pub is_shared: Signal<Out, Bit>,
        pub written: Signal<Out, Posted>,
        pub joins: Signal<Out, Bit>,
        pub nudges: Signal<Out, Bit>,
        pub tells: Signal<Out, Bit>,
        pub round: Signal<Out, Bits<8>>,
        pub bad: Signal<Out, Bit>,
        pub wrong_page: Signal<Out, Bit>,
        pub scrubs: Signal<Out, Bit>,
        pub works: Signal<Out, Bit>,
        choose: Choose<QPS, SRQS>,
        judge: Judge,
        /// The first nudge behind a stop is due.
        owed: BlockRam<Bit, QPS>,
        told: BlockRam<Told, SRQS>,
        /// Of the change under way.
        resets: Reg<Bit>,
        stops: Reg<Bit>,
        refused: Reg<Bit>,
        refused_page: Reg<Bit>,
        operation: Signal<Local, ReceiveDoorbell>,
        rings: Signal<Local, Bit>,
        changes: Signal<Local, Bit>,
        renews: Signal<Local, Bit>,
        recalls: Signal<Local, Bit>,
        limits: Signal<Local, Bit>,
        visits: Signal<Local, Bit>,
        is_nudged: Signal<Local, Bit>,
    }
}

impl<const QPS: usize, const SRQS: usize> Logic for Desk<QPS, SRQS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, choose, judge, owed, told);
        dff_setup!(self, clock, resets, stops, refused, refused_page);
        self.choose.reset.next = self.reset.val();
        self.operation.next = self.choose.operation.val();
        self.rings.next = self.choose.acts.val() & self.choose.rings.val();
        self.changes.next = self.choose.acts.val() & self.choose.changes.val();
        self.renews.next = self.choose.acts.val() & self.choose.renews.val();
        self.recalls.next = self.choose.acts.val() & self.choose.recalls.val();
        self.limits.next = self.choose.acts.val() & self.choose.limits.val();

        // Choose. While a visit says what it has to say, it is not known whether there is room for another.
        self.visits.next = self.recalls.val() | self.limits.val();
        self.choose.change.next = self.change.valid.val();
        self.choose.change_number.next = self.change.payload.val().qpn;
        self.choose.renewal.next = self.shared_change.valid.val();
        self.choose.renewal_number.next = self.shared_change.payload.val();
        self.choose.doorbell.next = self.doorbell.valid.val();
        self.choose.doorbell_rung.next = self.doorbell.payload.val();
        self.choose.recall.next = self.recall.valid.val() & self.nudge_room.val() & !self.visits.val();
        self.choose.recall_number.next = self.recall.payload.val();
        self.choose.limit.next = self.limit.valid.val() & self.event_room.val() & !self.visits.val();
        self.choose.limit_number.next = self.limit.payload.val();

        // Read. What was chosen is taken.
        self.change.ready.next = self.choose.reads.val() & self.choose.changes.val();
        self.shared_change.ready.next = self.choose.reads.val() & self.choose.renews.val();
        self.doorbell.ready.next = self.choose.reads.val() & self.choose.rings.val();
        self.recall.ready.next = self.choose.reads.val() & self.choose.recalls.val();
        self.limit.ready.next = self.choose.reads.val() & self.choose.limits.val();
        self.number.next = self.operation.val().number;
        self.is_shared.next = self.operation.val().shared;
        self.reads.next = self.choose.reads.val();
        self.ring_enable.next = self.choose.reads.val()
            & ((self.choose.rings.val() & !self.operation.val().shared) | self.choose.recalls.val());
        self.shared_enable.next = self.choose.reads.val()
            & ((self.choose.rings.val() & self.operation.val().shared) | self.choose.limits.val());
        self.owed.read_enable.next = self.choose.reads.val();
        self.owed.read_address.next = bit_cast::<QPS, 24>(self.operation.val().number);
        self.told.read_enable.next = self.choose.reads.val();
        self.told.read_address.next = bit_cast::<SRQS, 24>(self.operation.val().number);
        if self.choose.reads.val() {
            self.resets.d.next = self.change.payload.val().resets;
            self.stops.d.next = self.change.payload.val().stops;
        }

        // Look.
        self.judge.looks.next = self.choose.looks.val();
        self.judge.operation.next = self.operation.val();
        self.judge.ring.next = self.ring.val();
        self.judge.shared.next = self.shared.val();
        self.judge.posted.next = self.own_posted.val();
        self.judge.taken.next = self.own_taken.val();
        if self.operation.val().shared {
            self.judge.posted.next = self.shared_posted.val();
            self.judge.taken.next = self.shared_taken.val();
        }
        self.judge.owes.next = self.owed.read_data.val();
        self.judge.told.next = self.told.read_data.val();

        // Act.
        self.writes.next = (self.rings.val() & self.judge.good.val())
            | (self.changes.val() & self.resets.q.val())
            | self.renews.val();
        self.written.next = self.judge.anew.val();
        if self.choose.rings.val() {
            self.written.next = self.judge.moved.val();
        }
        self.is_nudged.next = self.recalls.val() & self.judge.nudges.val();
        self.nudges.next = self.is_nudged.val();
        self.joins.next = (self.rings.val() & self.judge.good.val() & self.judge.fails.val())
            | (self.changes.val() & self.stops.q.val())
            | (self.recalls.val() & self.judge.recalls.val());
        self.owed.write_enable.next = (self.changes.val() & (self.stops.q.val() | self.resets.q.val()))
            | self.is_nudged.val()
            | self.choose.scrubs.val();
        self.owed.write_address.next = bit_cast::<QPS, 24>(self.operation.val().number);
        self.owed.write_data.next = self.changes.val() & self.stops.q.val();
        self.tells.next = self.limits.val() & self.judge.tells.val();
        self.round.next = self.judge.noted.val().round;
        self.told.write_enable.next = self.limits.val() | self.renews.val() | self.choose.scrubs.val();
        self.told.write_address.next = bit_cast::<SRQS, 24>(self.operation.val().number);
        self.told.write_data.next = self.judge.noted.val();
        if !self.limits.val() {
            self.told.write_data.next.told = false;
        }
        self.refused.d.next = self.rings.val() & self.judge.bad.val();
        self.refused_page.d.next = self.rings.val() & self.judge.wrong_page.val();
        self.bad.next = self.refused.q.val();
        self.wrong_page.next = self.refused_page.q.val();
        self.scrubs.next = self.choose.scrubs.val();
        self.works.next = self.choose.works.val();
        if self.reset.val() {
            self.refused.d.next = false;
            self.refused_page.d.next = false;
        }
    }
}
