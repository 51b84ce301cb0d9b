//! Nudges: failures and flushes leave on one stream, and nobody here waits for it.

use rust_hdl::prelude::*;

use crate::constant::number;
use crate::prim::arbiter::Arbiter;
use crate::prim::block_fifo::BlockFifo;
use crate::prim::fifo::Fifo;
use crate::stream::{StreamSink, StreamSource};
use crate::transport::records::{Nudge, Occasion};

block! {
    /// Keeps failures, and one flush for each of `2^QPS` queue pairs, until they are taken.
    ///
    /// - **Ports** `failure`: as it is to be sent; `room`: at most one of them waits; `flush`: a queue pair whose messages are to be given up; `nudge`: both;
    ///   `busy`: something is inside.
    /// - **Latency** 2 cycles for a failure, 4 for a flush. **Rate** 1 per cycle, in turn.
    /// - **Backpressure** stalls `failure` at 4, `flush` at `2^QPS`. Each `ready` is a register.
    /// - **Reset** empties it.
    pub struct Nudges<const QPS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub failure: StreamSink<Nudge>,
        pub room: Signal<Out, Bit>,
        pub flush: StreamSink<Bits<QPS>>,
        pub nudge: StreamSource<Nudge>,
        pub busy: Signal<Out, Bit>,
        failures: Fifo<Nudge, 2>,
        flushes: BlockFifo<Bits<QPS>, QPS>,
        mixed: Arbiter<Nudge, 2>,
        occasion: Constant<Bits<3>> = number(Occasion::Flush as u64),
    }
}

impl<const QPS: usize> Logic for Nudges<QPS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, failures, flushes, mixed);
        self.failures.reset.next = self.reset.val();
        self.flushes.reset.next = self.reset.val();
        self.mixed.reset.next = self.reset.val();
        StreamSink::<Nudge>::link(&mut self.failure, &mut self.failures.sink);
        self.room.next = self.failures.level.val() < 2;
        StreamSink::<Bits<QPS>>::link(&mut self.flush, &mut self.flushes.sink);
        StreamSource::<Nudge>::join(&mut self.failures.source, &mut self.mixed.sinks[0]);
        self.mixed.sinks[1].valid.next = self.flushes.source.valid.val();
        self.mixed.sinks[1].payload.next.again = false;
        self.mixed.sinks[1].payload.next.occasion = self.occasion.val();
        self.mixed.sinks[1].payload.next.qpn = bit_cast::<24, QPS>(self.flushes.source.payload.val());
        self.mixed.sinks[1].payload.next.slot = 0.into();
        self.mixed.sinks[1].payload.next.status = 0.into();
        self.mixed.sinks[1].payload.next.vendor = 0.into();
        self.mixed.sinks[1].payload.next.psn = 0.into();
        self.flushes.source.ready.next = self.mixed.sinks[1].ready.val();
        StreamSource::<Nudge>::link(&mut self.nudge, &mut self.mixed.source);
        self.busy.next =
            self.failures.source.valid.val() | self.flushes.level.val().any() | self.mixed.source.valid.val();
    }
}
