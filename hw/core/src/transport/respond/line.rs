//! The queue pairs that owe something, in line.

use rust_hdl::prelude::*;

use crate::prim::block_fifo::BlockFifo;
use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::stream::{StreamSink, StreamSource};

/// log2 of the places at the front.
const FRONT_LOG: usize = 2;

/// A line with a place for each of `2^QPS` queue pairs, whose front is quick: most of the time few stand in it.
///
/// - **Ports** `sink`: one joins; `source`: the first; `level`: how many stand in line; `is_long`: some stand behind the front, a
///   cycle late.
/// - **Latency** 1 cycle with up to four in line, 4 otherwise. **Rate** 1 per cycle, in and out.
/// - **Backpressure** stalls `sink` when four more than `2^QPS` are in line: with each queue pair in it once, never.
/// - **Reset** empties it.
/// - **Limits** `QPS` from 1 to 15.
#[derive(LogicBlock, Default)]
pub struct Line<const QPS: usize> {
    pub clock: Signal<In, Clock>,
    pub reset: Signal<In, Bit>,
    pub sink: StreamSink<Bits<QPS>>,
    pub source: StreamSource<Bits<QPS>>,
    pub level: Signal<Out, Bits<16>>,
    pub is_long: Signal<Out, Bit>,
    front: Fifo<Bits<QPS>, FRONT_LOG>,
    back: BlockFifo<Bits<QPS>, QPS>,
    was_long: Reg<Bit>,
    is_short: Signal<Local, Bit>,
}

impl<const QPS: usize> Logic for Line<QPS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, front, back);
        dff_setup!(self, clock, was_long);
        self.front.reset.next = self.reset.val();
        self.back.reset.next = self.reset.val();
        // Who joins goes past the back only if nobody is there.
        self.is_short.next = !self.back.level.val().any() & self.front.sink.ready.val();
        self.back.sink.payload.next = self.sink.payload.val();
        self.back.sink.valid.next = self.sink.valid.val() & !self.is_short.val();
        self.back.source.ready.next = self.front.sink.ready.val();
        self.front.sink.payload.next = self.back.source.payload.val();
        self.front.sink.valid.next = self.back.source.valid.val();
        if self.is_short.val() {
            self.front.sink.payload.next = self.sink.payload.val();
            self.front.sink.valid.next = self.sink.valid.val();
        }
        self.sink.ready.next = self.is_short.val() | self.back.sink.ready.val();
        StreamSource::<Bits<QPS>>::link(&mut self.source, &mut self.front.source);
        self.level.next = self.front.level.val() + self.back.level.val();
        self.was_long.d.next = self.back.level.val().any();
        self.is_long.next = self.was_long.q.val();
    }
}
