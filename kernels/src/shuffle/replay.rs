//! Replay: payload that waits, and that may be asked for once more.

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::prim::reg::Reg;
use stroma_hw::prim::stream_ram::ClockedStream;
use stroma_hw::stream::{Beat, StreamSink, StreamSource};

/// Beats that wait, as a power of two: what comes while the last writes of the payload before it end, and the table is read.
const WAITING_LOG: usize = 12;
/// Bits of a count of beats, modulo twice as many.
const COUNT_BITS: usize = WAITING_LOG + 1;

const _: () = assert!(WAITING_LOG == 12);

block! {
    /// A FIFO in ultra RAM that can go back.
    ///
    /// - **Ports** `sink`: beats in; `source`: the same beats, in the same order. `keeps`: beats that leave are kept; it rises when none has left for two cycles. `rewinds`: one cycle, those that are kept come once more; a
    ///   beat that moves in this cycle comes again too.
    /// - **Latency** 3 cycles. **Rate** 1 beat per cycle, in and out at once.
    /// - **Backpressure** stalls `sink` at 4096 beats, those that are kept among them. `sink.ready`, `source.valid` and the payload are registers.
    /// - **Reset** empties it.
    pub struct Replay<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub sink: StreamSink<Beat<D>>,
        pub source: StreamSource<Beat<D>>,
        pub keeps: Signal<In, Bit>,
        pub rewinds: Signal<In, Bit>,
        memory: ClockedStream<Beat<D>, WAITING_LOG, true>,
        /// Beats that have come, were fetched, have left, and are forgotten.
        come: Reg<Bits<COUNT_BITS>>,
        fetched: Reg<Bits<COUNT_BITS>>,
        left: Reg<Bits<COUNT_BITS>>,
        forgotten: Reg<Bits<COUNT_BITS>>,
        is_some: Reg<Bit>,
        is_full: Reg<Bit>,
        push: Signal<Local, Bit>,
        is_there: Signal<Local, Bit>,
        held: Signal<Local, Bits<COUNT_BITS>>,
    }
}

impl<const D: usize> Logic for Replay<D> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, memory);
        dff_setup!(self, clock, come, fetched, left, forgotten, is_some, is_full);
        self.memory.reset.next = self.reset.val() | self.rewinds.val();
        self.sink.ready.next = !self.is_full.q.val();
        self.push.next = self.sink.valid.val() & !self.is_full.q.val();
        self.memory.write_enable.next = self.push.val();
        self.memory.write_at.next = self.come.q.val().get_bits::<WAITING_LOG>(0);
        self.memory.write_data.next = self.sink.payload.val();
        self.memory.some.next = self.is_some.q.val();
        self.memory.read_at.next = self.fetched.q.val().get_bits::<WAITING_LOG>(0);
        self.is_there.next = self.memory.source.valid.val();
        self.source.valid.next = self.is_there.val();
        self.source.payload.next = self.memory.source.payload.val();
        self.memory.source.ready.next = self.source.ready.val();

        self.come.d.next = self.come.q.val() + self.push.val();
        self.left.d.next = self.left.q.val() + (self.is_there.val() & self.source.ready.val());
        if !self.keeps.val() {
            self.forgotten.d.next = self.left.q.val();
        }
        self.held.next = self.come.q.val() + self.push.val() - self.forgotten.q.val();
        self.is_full.d.next = self.held.val().get_bit(12);
        self.fetched.d.next = self.fetched.q.val() + self.memory.taken.val();
        if self.memory.taken.val() {
            self.is_some.d.next = self.push.val() | ((self.fetched.q.val() + 1) != self.come.q.val());
        } else {
            self.is_some.d.next = self.push.val() | (self.fetched.q.val() != self.come.q.val());
        }
        if self.rewinds.val() {
            self.fetched.d.next = self.forgotten.q.val();
            self.left.d.next = self.forgotten.q.val();
            self.is_some.d.next = false;
        }
        if self.reset.val() {
            self.come.d.next = 0.into();
            self.fetched.d.next = 0.into();
            self.left.d.next = 0.into();
            self.forgotten.d.next = 0.into();
            self.is_some.d.next = false;
            self.is_full.d.next = false;
        }
    }
}
