//! Pack: words of registers become the answer.

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::constant::number;
use stroma_hw::prim::reg::Reg;
use stroma_hw::prim::skid::Skid;
use stroma_hw::stream::{Beat, StreamSink, StreamSource};

use super::lane::WORD_LOG;

block! {
    /// Makes one packet of all words of a sketch.
    ///
    /// - **Ports** `sink`: the words; `source`: 65,536 bytes; `ends`: one cycle, the last of them has left.
    /// - **Latency** 1 cycle from the last word of a beat; 1 from the last beat's leaving to `ends`. **Rate** a word per cycle, at `D` = 64 every 2 cycles.
    /// - **Backpressure** `source` stalls `sink` two beats later. No combinational path from port to port.
    /// - **Reset** the next word is the first.
    /// - **Limits** `D` is 64 or 512.
    pub struct Pack<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub sink: StreamSink<Bits<128>>,
        pub source: StreamSource<Beat<D>>,
        pub ends: Signal<Out, Bit>,
        /// Words taken.
        at: Reg<Bits<WORD_LOG>>,
        /// The words before, the last one on top; at `D` = 64 nothing.
        held: Reg<Bits<D>>,
        /// The first half of the word has gone.
        is_half: Reg<Bit>,
        has_ended: Reg<Bit>,
        cut: Skid<Beat<D>>,
        word: Signal<Local, Bits<128>>,
        joined: Signal<Local, Bits<D>>,
        is_whole: Signal<Local, Bit>,
        takes: Signal<Local, Bit>,
        is_wide: Constant<Bit> = Constant::new(D == 512),
        bytes: Constant<Bits<7>> = number(D / 8),
        top: Constant<Bits<10>> = number(384_u16),
        one: Constant<Bits<10>> = number(128_u8),
    }
}

impl<const D: usize> Logic for Pack<D> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, cut);
        dff_setup!(self, clock, at, held, is_half, has_ended);
        self.cut.reset.next = self.reset.val();
        self.word.next = self.sink.payload.val();
        self.joined.next =
            (self.held.q.val() >> self.one.val()) | (bit_cast::<D, 128>(self.word.val()) << self.top.val());
        self.is_whole.next = self.at.q.val().get_bits::<2>(0).all();
        self.cut.sink.payload.next.nbytes = self.bytes.val();
        self.cut.sink.payload.next.err = false;
        if self.is_wide.val() {
            self.sink.ready.next = self.cut.sink.ready.val() | !self.is_whole.val();
            self.takes.next = self.sink.valid.val() & (self.cut.sink.ready.val() | !self.is_whole.val());
            self.cut.sink.valid.next = self.sink.valid.val() & self.is_whole.val();
            self.cut.sink.payload.next.data = self.joined.val();
            self.cut.sink.payload.next.sop = !self.at.q.val().get_bits::<10>(2).any();
            self.cut.sink.payload.next.eop = self.at.q.val().all();
        } else {
            self.sink.ready.next = self.cut.sink.ready.val() & self.is_half.q.val();
            self.takes.next = self.sink.valid.val() & self.cut.sink.ready.val() & self.is_half.q.val();
            self.cut.sink.valid.next = self.sink.valid.val();
            self.cut.sink.payload.next.data = bit_cast::<D, 128>(self.word.val());
            if self.is_half.q.val() {
                self.cut.sink.payload.next.data = bit_cast::<D, 128>(self.word.val() >> 64);
            }
            self.cut.sink.payload.next.sop = !self.at.q.val().any() & !self.is_half.q.val();
            self.cut.sink.payload.next.eop = self.at.q.val().all() & self.is_half.q.val();
            if self.sink.valid.val() & self.cut.sink.ready.val() {
                self.is_half.d.next = !self.is_half.q.val();
            }
        }
        if self.takes.val() {
            self.at.d.next = self.at.q.val() + 1;
            self.held.d.next = self.joined.val();
        }
        self.has_ended.d.next =
            self.cut.source.valid.val() & self.source.ready.val() & self.cut.source.payload.val().eop;
        self.ends.next = self.has_ended.q.val();
        StreamSource::<Beat<D>>::link(&mut self.source, &mut self.cut.source);
        if self.reset.val() {
            self.at.d.next = 0.into();
            self.is_half.d.next = false;
            self.has_ended.d.next = false;
        }
    }
}
