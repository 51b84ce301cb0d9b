//! Retire: an errand that has ended makes news, and its arrival leaves.

use rust_hdl::prelude::*;

use crate::constant::number;
use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::stream::StreamSource;
use crate::transport::records::{AckedRow, Errand};

/// log2 of the kicks that wait.
const KICKS_LOG: usize = 2;

block! {
    /// Writes the rows of errands that retire messages, and kicks once an arrival.
    ///
    /// - **Ports** `errand`: the oldest one; `room`: it may end; `ends`: it does, only with `room`; the rest as in
    ///   [`Place`](super::Place). `busy`: something is to be told.
    /// - **Latency** from `ends` to `acked_write` and `leaves` 1 cycle, to `kick` 2. **Rate** 1 errand per cycle.
    /// - **Backpressure** with 4 kicks waiting an errand that would kick has no `room`. It follows `errand`; once there, it stays
    ///   until it is used, so that no completion is withdrawn for it.
    /// - **Reset** forgets all kicks, and the news of the arrival under way.
    pub struct Retire<const QPS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub errand: Signal<In, Errand>,
        pub room: Signal<Out, Bit>,
        pub ends: Signal<In, Bit>,
        pub kick: StreamSource<Bits<24>>,
        pub acked_write: Signal<Out, Bit>,
        pub acked_index: Signal<Out, Bits<QPS>>,
        pub acked: Signal<Out, AckedRow>,
        pub leaves: Signal<Out, Bit>,
        pub leaves_colour: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        kicks: Fifo<Bits<24>, KICKS_LOG>,
        /// An errand of the arrival that has ended had news.
        has_news: Reg<Bit>,
        is_acked: Reg<Bit>,
        row: Reg<AckedRow>,
        qpn: Reg<Bits<24>>,
        is_left: Reg<Bit>,
        colour: Reg<Bit>,
        is_kick: Reg<Bit>,
        kicks_now: Signal<Local, Bit>,
        due: Signal<Local, Bits<16>>,
        most: Constant<Bits<16>> = number(1_u64 << KICKS_LOG),
    }
}

impl<const QPS: usize> Logic for Retire<QPS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, kicks);
        dff_setup!(self, clock, has_news, is_acked, row, qpn, is_left, colour, is_kick);
        self.kicks.reset.next = self.reset.val();
        self.kicks_now.next = self.errand.val().ends & (self.errand.val().retires | self.has_news.q.val());
        self.due.next = self.kicks.level.val() + self.is_kick.q.val();
        self.room.next = !self.kicks_now.val() | (self.due.val() != self.most.val());

        if self.ends.val() {
            self.has_news.d.next =
                !self.errand.val().ends & (self.errand.val().retires | self.has_news.q.val());
        }
        self.is_acked.d.next = self.ends.val() & self.errand.val().retires;
        self.row.d.next.tail = self.errand.val().tail;
        self.row.d.next.reads = self.errand.val().reads;
        self.row.d.next.failed = self.errand.val().fails | self.errand.val().status.any();
        self.qpn.d.next = self.errand.val().qpn;
        self.is_left.d.next = self.ends.val() & self.errand.val().ends;
        self.colour.d.next = self.errand.val().colour;
        self.is_kick.d.next = self.ends.val() & self.kicks_now.val();
        self.acked_write.next = self.is_acked.q.val();
        self.acked_index.next = bit_cast::<QPS, 24>(self.qpn.q.val());
        self.acked.next = self.row.q.val();
        self.leaves.next = self.is_left.q.val();
        self.leaves_colour.next = self.colour.q.val();
        // The kick goes behind the row.
        self.kicks.sink.valid.next = self.is_kick.q.val();
        self.kicks.sink.payload.next = self.qpn.q.val();
        StreamSource::<Bits<24>>::link(&mut self.kick, &mut self.kicks.source);
        self.busy.next = self.kicks.source.valid.val() | self.is_left.q.val() | self.is_acked.q.val();
        if self.reset.val() {
            self.has_news.d.next = false;
            self.is_acked.d.next = false;
            self.is_left.d.next = false;
            self.is_kick.d.next = false;
        }
    }
}
