//! Pick: the words of a bank, one after the other, each with its buffer.

use rust_hdl::prelude::*;
use stroma_hw::constant::number;
use stroma_hw::prim::fifo::Fifo;
use stroma_hw::prim::reg::Reg;
use stroma_hw::stream::{StreamSink, StreamSource};
use stroma_hw::{block, record};

use super::parameters::{PARTITION_BITS, Task};
use super::route::Slice;

/// Beats that wait, as a power of two: words of a beat go to few banks by chance, and the others make up for it later.
const WAITING_LOG: usize = 5;

record! {
    /// A word on its way to memory.
    pub struct Word {
        /// Its bytes.
        pub word: Bits<64>,
        /// Its buffer within the bank.
        pub index: Bits<PARTITION_BITS>,
    }
}

block! {
    /// Takes the bank's words out of beats, lowest lane first.
    ///
    /// - **Ports** `sink`: beats with words of the bank; `source`: those words; `request`: stays while there are any; `begins`: one cycle, the next word is the
    ///   first of a tuple; `is_empty`: no word is inside.
    /// - **Latency** 3 cycles. **Rate** 1 word per cycle.
    /// - **Backpressure** 32 beats wait before `sink` stalls, by a register; `source.ready` stalls the two stages before it.
    /// - **Reset** forgets all words.
    /// - **Limits** `D` is 64 or 512, `L` is `D / 64`.
    pub struct Pick<const D: usize, const L: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub sink: StreamSink<Slice<D>>,
        pub request: Signal<In, Task>,
        pub begins: Signal<In, Bit>,
        pub is_empty: Signal<Out, Bit>,
        pub source: StreamSource<Word>,
        waiting: Fifo<Slice<D>, WAITING_LOG>,
        /// Lanes of the first beat that have gone.
        gone: Reg<Bits<8>>,
        word: Reg<Bits<64>>,
        is_word: Reg<Bit>,
        is_second: Reg<Bit>,
        found: Reg<Word>,
        is_found: Reg<Bit>,
        data: Signal<Local, Bits<D>>,
        left: Signal<Local, Bits<8>>,
        lowest: Signal<Local, Bits<8>>,
        advances: Signal<Local, Bit>,
        moved: Signal<Local, Bits<64>>,
        partition: Signal<Local, Bits<PARTITION_BITS>>,
        bank_log: Constant<Bits<4>> = number(L.ilog2()),
    }
}

impl<const D: usize, const L: usize> Logic for Pick<D, L> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, waiting);
        dff_setup!(self, clock, gone, word, is_word, is_second, found, is_found);
        self.waiting.reset.next = self.reset.val();
        StreamSink::<Slice<D>>::link(&mut self.sink, &mut self.waiting.sink);
        self.is_empty.next =
            !self.waiting.source.valid.val() & !self.is_word.q.val() & !self.is_found.q.val();
        self.advances.next = self.source.ready.val() | !self.is_found.q.val();

        self.data.next = self.waiting.source.payload.val().data;
        self.left.next = self.waiting.source.payload.val().lanes & !self.gone.q.val();
        // x & -x is the lowest bit of x.
        self.lowest.next = self.left.val() & (!self.left.val() + 1);
        self.waiting.source.ready.next = false;
        if self.advances.val() {
            self.is_word.d.next = self.waiting.source.valid.val();
            for i in 0..L {
                if self.lowest.val().get_bit(i) {
                    self.word.d.next = self.data.val().get_bits::<64>(i * 64);
                }
            }
            if self.waiting.source.valid.val() {
                self.gone.d.next = self.gone.q.val() | self.lowest.val();
                if self.left.val() == self.lowest.val() {
                    self.gone.d.next = 0.into();
                    self.waiting.source.ready.next = true;
                }
            }
        }

        self.moved.next = self.word.q.val() >> self.request.val().first_bit;
        self.partition.next = self.moved.val().get_bits::<PARTITION_BITS>(0) & self.request.val().last;
        if self.advances.val() {
            self.is_found.d.next = self.is_word.q.val();
            if self.is_word.q.val() {
                self.found.d.next.word = self.word.q.val();
                self.is_second.d.next = self.request.val().wide & !self.is_second.q.val();
                if !self.is_second.q.val() {
                    self.found.d.next.index = self.partition.val() >> self.bank_log.val();
                }
            }
        }
        self.source.valid.next = self.is_found.q.val();
        self.source.payload.next = self.found.q.val();
        if self.begins.val() {
            self.is_second.d.next = false;
        }
        if self.reset.val() {
            self.gone.d.next = 0.into();
            self.is_word.d.next = false;
            self.is_found.d.next = false;
        }
    }
}
