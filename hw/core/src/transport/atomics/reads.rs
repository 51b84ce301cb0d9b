//! Reads of words, once all writes before them are visible.

use rust_hdl::prelude::*;

use super::words::WORDS_LOG;
use crate::constant::number;
use crate::host::dma_read::ReadCommand;
use crate::prim::fifo::Fifo;
use crate::record;
use crate::stream::StreamSource;

/// Bytes of a word.
pub const WORD_BYTES: u8 = 8;

record! {
    /// A word to be read.
    pub struct Wanted {
        /// Where it is.
        pub iova: Bits<64>,
        /// Its place.
        pub word: Bits<WORDS_LOG>,
        /// Writes that have to be visible first.
        pub ticket: Bits<16>,
    }
}

block! {
    /// Asks for words in the order in which they begin, each when the writes issued until then are visible.
    ///
    /// That is noted as soon as it is so: a ticket that is long past looks like one to come, and the host may take reads as
    /// late as it likes.
    ///
    /// - **Ports** `begins`, `iova`, `word`: a word is wanted; `issued`, `visible`: tickets of writes; `read`: commands, with the place
    ///   of the word as their tag.
    /// - **Latency** 2 cycles. **Rate** a read per cycle.
    /// - **Backpressure** none: there are as many places as words.
    /// - **Reset** forgets all of them; what was asked for before must not come any more.
    pub struct Reads {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub begins: Signal<In, Bit>,
        pub iova: Signal<In, Bits<64>>,
        pub word: Signal<In, Bits<WORDS_LOG>>,
        pub issued: Signal<In, Bits<16>>,
        pub visible: Signal<In, Bits<16>>,
        pub read: StreamSource<ReadCommand>,
        waiting: Fifo<Wanted, WORDS_LOG>,
        due: Fifo<ReadCommand, WORDS_LOG>,
        late_by: Signal<Local, Bits<16>>,
        is_due: Signal<Local, Bit>,
        bytes: Constant<Bits<13>> = number(WORD_BYTES),
    }
}

impl Logic for Reads {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, waiting, due);
        self.waiting.reset.next = self.reset.val();
        self.due.reset.next = self.reset.val();
        self.waiting.sink.valid.next = self.begins.val();
        self.waiting.sink.payload.next.iova = self.iova.val();
        self.waiting.sink.payload.next.word = self.word.val();
        self.waiting.sink.payload.next.ticket = self.issued.val();
        self.late_by.next = self.visible.val() - self.waiting.source.payload.val().ticket;
        self.is_due.next = !self.late_by.val().get_bit(15);
        self.waiting.source.ready.next = self.is_due.val();
        self.due.sink.valid.next = self.waiting.source.valid.val() & self.is_due.val();
        self.due.sink.payload.next.iova = self.waiting.source.payload.val().iova;
        self.due.sink.payload.next.len = self.bytes.val();
        self.due.sink.payload.next.tag = bit_cast::<6, WORDS_LOG>(self.waiting.source.payload.val().word);
        StreamSource::<ReadCommand>::link(&mut self.read, &mut self.due.source);
    }
}
