//! The way in: an operation finds its word, and stands in line.

use rust_hdl::prelude::*;

use super::words::WORDS_LOG;
use crate::constant::number;
use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::stream::{StreamSink, StreamSource};
use crate::transport::records::{Atomic, Operation};

/// log2 of the operations in line.
const LINE_LOG: usize = 4;

block! {
    /// Takes operations one after the other: one that came again stands in line at once, any other with its word.
    ///
    /// - **Ports** `sink`: operations; `source`, `word`: the same, in the same order, with the place of the word. `open`: operations
    ///   may come in. `iova`, `looks`, `asks`, `granted`, `number`: as of [`Words`](super::words::Words). `busy`: one is here.
    /// - **Latency** 3 cycles. **Rate** an operation every 2 cycles.
    /// - **Backpressure** stalls `sink` while the word is not granted, or 16 stand in line.
    /// - **Reset** forgets all of them.
    pub struct Enter {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub sink: StreamSink<Operation>,
        pub source: StreamSource<Operation>,
        pub word: Signal<Out, Bits<WORDS_LOG>>,
        pub open: Signal<In, Bit>,
        pub iova: Signal<Out, Bits<64>>,
        pub looks: Signal<Out, Bit>,
        pub asks: Signal<Out, Bit>,
        pub granted: Signal<In, Bit>,
        pub number: Signal<In, Bits<WORDS_LOG>>,
        pub busy: Signal<Out, Bit>,
        line: Fifo<Operation, LINE_LOG>,
        places: Fifo<Bits<WORDS_LOG>, LINE_LOG>,
        held: Reg<Operation>,
        is_held: Reg<Bit>,
        has_looked: Reg<Bit>,
        needs_word: Signal<Local, Bit>,
        decides: Signal<Local, Bit>,
        moves: Signal<Local, Bit>,
        takes: Signal<Local, Bit>,
        replay: Constant<Bits<2>> = number(Atomic::Replay as u8),
    }
}

impl Logic for Enter {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, line, places);
        dff_setup!(self, clock, held, is_held, has_looked);
        self.line.reset.next = self.reset.val();
        self.places.reset.next = self.reset.val();

        self.needs_word.next = self.held.q.val().atomic != self.replay.val();
        self.iova.next = self.held.q.val().iova;
        self.looks.next = self.is_held.q.val() & !self.has_looked.q.val();
        self.decides.next = self.is_held.q.val() & self.has_looked.q.val() & self.line.sink.ready.val();
        self.asks.next = self.decides.val() & self.needs_word.val();
        self.moves.next = self.decides.val() & (self.granted.val() | !self.needs_word.val());
        self.line.sink.valid.next = self.moves.val();
        self.line.sink.payload.next = self.held.q.val();
        // Both have as many places, and move together.
        self.places.sink.valid.next = self.moves.val();
        self.places.sink.payload.next = self.number.val();
        self.word.next = self.places.source.payload.val();
        self.source.valid.next = self.line.source.valid.val();
        self.source.payload.next = self.line.source.payload.val();
        self.line.source.ready.next = self.source.ready.val();
        self.places.source.ready.next = self.source.ready.val();

        self.takes.next = self.open.val() & (!self.is_held.q.val() | self.moves.val());
        self.sink.ready.next = self.takes.val();
        if self.is_held.q.val() {
            self.has_looked.d.next = true;
        }
        if self.moves.val() {
            self.is_held.d.next = false;
        }
        if self.takes.val() {
            self.held.d.next = self.sink.payload.val();
            self.is_held.d.next = self.sink.valid.val();
            self.has_looked.d.next = false;
        }
        self.busy.next = self.is_held.q.val() | self.line.source.valid.val();
        if self.reset.val() {
            self.is_held.d.next = false;
        }
    }
}
