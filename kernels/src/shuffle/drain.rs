//! Drain: rows become writes.

use rust_hdl::prelude::*;
use stroma_hw::constant::number;
use stroma_hw::prim::fifo::Fifo;
use stroma_hw::prim::ram::BlockRam;
use stroma_hw::prim::reg::Reg;
use stroma_hw::slot::LENGTH_BITS;
use stroma_hw::stream::{Beat, StreamSink, StreamSource};
use stroma_hw::{block, record};

use super::fill::{Job, PLACE_BITS, ROW_BITS};
use super::open::Opened;
use super::parameters::PARTITION_BITS;

/// Words of a row.
const ROW_WORDS: usize = 1 << ROW_BITS;

record! {
    /// Where the bytes of a packet go.
    pub struct Header {
        /// There is no packet: all of a payload went before.
        pub is_mark: Bit,
        /// The address.
        pub va: Bits<64>,
        /// How many they are.
        pub len: Bits<LENGTH_BITS>,
        /// The bank.
        pub bank: Bits<3>,
    }
}

record! {
    /// A row that is being read.
    pub struct Reading {
        /// The buffer within the bank.
        pub index: Bits<PARTITION_BITS>,
        /// Which of its two rows.
        pub row: Bits<1>,
        /// The next word, and the last.
        pub at: Bits<ROW_BITS>,
        /// The last.
        pub last: Bits<ROW_BITS>,
    }
}

block! {
    /// Reads rows a word per cycle, and packs the words into beats. It knows where each buffer goes on.
    ///
    /// - **Ports** `is_open`, `opened`: a buffer begins; `jobs`: rows to be written, in this order; `read_*`: of the bank's RAM; `is_freed`, `freed`: one cycle, a full row of this buffer is being read, and may be filled again
    ///   from the front, a word per cycle.
    ///   `headers`: where a packet goes, offered when `beats` has all of it; `beats`: the packets, in the order of headers. `bank`: for headers.
    ///   `is_at_mark`: a mark is the next job whose packet was to be taken, and nothing behind it is offered before `releases`, one cycle.
    /// - **Latency** 6 cycles from a job to its first read, 3 more to the first beat. **Rate** 1 word per cycle, from row to row; a job every 3 cycles.
    /// - **Backpressure** a row is not begun until `beats` has room for it.
    /// - **Reset** forgets all but where buffers go on, which `is_open` tells anew.
    /// - **Limits** `D` is 64 or 512; `I` bits number the buffers of a bank, `A` is `I + 6`; `2^F` beats wait to be taken, 8 more than a row has at least.
    pub struct Drain<const D: usize, const I: usize, const A: usize, const F: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub is_open: Signal<In, Bit>,
        pub opened: Signal<In, Opened>,
        pub bank: Signal<In, Bits<3>>,
        pub jobs: StreamSink<Job>,
        pub read_enable: Signal<Out, Bit>,
        pub read_address: Signal<Out, Bits<A>>,
        pub read_data: Signal<In, Bits<64>>,
        pub is_freed: Signal<Out, Bit>,
        pub freed: Signal<Out, Bits<PARTITION_BITS>>,
        pub headers: StreamSource<Header>,
        pub beats: StreamSource<Beat<D>>,
        pub is_at_mark: Signal<Out, Bit>,
        pub releases: Signal<In, Bit>,
        /// Where buffers go on.
        ends: BlockRam<Bits<64>, I>,
        is_looking: Reg<Bit>,
        ahead: Reg<Reading>,
        header_ahead: Reg<Header>,
        is_ahead: Reg<Bit>,
        now: Reg<Reading>,
        is_reading: Reg<Bit>,
        is_at_first: Reg<Bit>,
        /// The lane of the next word in its beat.
        lane: Reg<Bits<3>>,
        /// The word that the RAM shows, and the one behind it.
        is_shown: Reg<Bit>,
        shown_lane: Reg<Bits<3>>,
        is_shown_last: Reg<Bit>,
        word: Reg<Bits<64>>,
        is_word: Reg<Bit>,
        word_lane: Reg<Bits<3>>,
        is_word_last: Reg<Bit>,
        packed: Reg<Bits<D>>,
        is_first: Reg<Bit>,
        /// Packets that are whole.
        whole: Reg<Bits<8>>,
        told: Fifo<Header, F>,
        given: Fifo<Beat<D>, F>,
        va: Signal<Local, Bits<64>>,
        start: Signal<Local, Bits<PLACE_BITS>>,
        words: Signal<Local, Bits<PLACE_BITS>>,
        len: Signal<Local, Bits<LENGTH_BITS>>,
        is_at_last: Signal<Local, Bit>,
        begins: Signal<Local, Bit>,
        shift: Signal<Local, Bits<9>>,
        filled: Signal<Local, Bits<D>>,
        gives: Signal<Local, Bit>,
        closes: Signal<Local, Bit>,
        takes: Signal<Local, Bit>,
        is_mark: Signal<Local, Bit>,
        is_whole: Signal<Local, Bit>,
        full_lane: Constant<Bits<3>> = number(D / 64 - 1),
        row_last: Constant<Bits<ROW_BITS>> = number(ROW_WORDS - 1),
        enough: Constant<Bits<16>> = number((1 << F) - ROW_WORDS * 64 / D - 4),
    }
}

impl<const D: usize, const I: usize, const A: usize, const F: usize> Logic for Drain<D, I, A, F> {
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "three stages of one pipeline, which share their registers")]
    fn update(&mut self) {
        clock!(self, clock, ends, told, given);
        dff_setup!(
            self,
            clock,
            is_looking,
            ahead,
            header_ahead,
            is_ahead,
            now,
            is_reading,
            is_at_first,
            lane,
            is_shown,
            shown_lane,
            is_shown_last,
            word,
            is_word,
            word_lane,
            is_word_last,
            packed,
            is_first,
            whole
        );
        self.told.reset.next = self.reset.val();
        self.given.reset.next = self.reset.val();

        // A job's place in memory tells its first word, as rows lie at multiples of 256.
        self.ends.read_enable.next = true;
        self.ends.read_address.next = bit_cast::<I, PARTITION_BITS>(self.jobs.payload.val().index);
        self.va.next = self.ends.read_data.val();
        self.start.next = bit_cast::<PLACE_BITS, ROW_BITS>(self.va.val().get_bits::<ROW_BITS>(3));
        self.words.next = self.jobs.payload.val().end - self.start.val();
        self.len.next = bit_cast::<LENGTH_BITS, PLACE_BITS>(self.words.val()) << 3;
        self.jobs.ready.next = self.is_looking.q.val();
        self.is_looking.d.next = self.jobs.valid.val() & !self.is_ahead.q.val() & !self.is_looking.q.val();
        self.ends.write_enable.next = self.is_looking.q.val() & !self.jobs.payload.val().is_mark;
        self.ends.write_address.next = bit_cast::<I, PARTITION_BITS>(self.jobs.payload.val().index);
        self.ends.write_data.next = self.va.val() + bit_cast::<64, LENGTH_BITS>(self.len.val());
        if self.is_looking.q.val() {
            self.is_ahead.d.next = self.words.val().any() | self.jobs.payload.val().is_mark;
            self.ahead.d.next.index = self.jobs.payload.val().index;
            self.ahead.d.next.row = self.jobs.payload.val().row;
            self.ahead.d.next.at = self.start.val().get_bits::<ROW_BITS>(0);
            self.ahead.d.next.last = (self.jobs.payload.val().end - 1).get_bits::<ROW_BITS>(0);
            self.header_ahead.d.next.is_mark = self.jobs.payload.val().is_mark;
            self.header_ahead.d.next.va = self.va.val();
            self.header_ahead.d.next.len = self.len.val();
            self.header_ahead.d.next.bank = self.bank.val();
        }
        if self.is_open.val() {
            self.ends.write_enable.next = true;
            self.ends.write_address.next = bit_cast::<I, PARTITION_BITS>(self.opened.val().index);
            self.ends.write_data.next = self.opened.val().va;
        }

        self.is_at_last.next = self.now.q.val().at == self.now.q.val().last;
        self.begins.next = self.is_ahead.q.val()
            & self.told.sink.ready.val()
            & (self.given.level.val() < self.enough.val())
            & (!self.is_reading.q.val() | self.is_at_last.val());
        self.told.sink.valid.next = self.begins.val();
        self.told.sink.payload.next = self.header_ahead.q.val();
        self.read_enable.next = self.is_reading.q.val();
        self.read_address.next = bit_cast::<A, 16>(
            (bit_cast::<16, PARTITION_BITS>(self.now.q.val().index) << 6)
                | (bit_cast::<16, 1>(self.now.q.val().row) << 5)
                | bit_cast::<16, ROW_BITS>(self.now.q.val().at),
        );
        self.freed.next = self.now.q.val().index;
        // Words come no faster than they are read, so that whoever fills the row never overtakes.
        self.is_freed.next = self.is_reading.q.val()
            & self.is_at_first.q.val()
            & (self.now.q.val().last == self.row_last.val());
        self.is_at_first.d.next = self.begins.val();
        if self.is_reading.q.val() {
            self.now.d.next.at = self.now.q.val().at + 1;
            self.lane.d.next = self.lane.q.val() + 1;
            if self.is_at_last.val() {
                self.is_reading.d.next = false;
            }
            if self.is_at_last.val() | (self.lane.q.val() == self.full_lane.val()) {
                self.lane.d.next = 0.into();
            }
        }
        if self.begins.val() {
            self.is_ahead.d.next = false;
            self.is_reading.d.next = !self.header_ahead.q.val().is_mark;
            self.now.d.next = self.ahead.q.val();
        }

        self.is_shown.d.next = self.is_reading.q.val();
        self.shown_lane.d.next = self.lane.q.val();
        self.is_shown_last.d.next = self.is_at_last.val();
        self.word.d.next = self.read_data.val();
        self.is_word.d.next = self.is_shown.q.val();
        self.word_lane.d.next = self.shown_lane.q.val();
        self.is_word_last.d.next = self.is_shown_last.q.val();

        self.shift.next = bit_cast::<9, 3>(self.word_lane.q.val()) << 6;
        self.filled.next = bit_cast::<D, 64>(self.word.q.val()) << self.shift.val();
        if self.word_lane.q.val().any() {
            self.filled.next =
                self.packed.q.val() | (bit_cast::<D, 64>(self.word.q.val()) << self.shift.val());
        }
        self.gives.next = self.is_word.q.val()
            & (self.is_word_last.q.val() | (self.word_lane.q.val() == self.full_lane.val()));
        self.closes.next = self.is_word.q.val() & self.is_word_last.q.val();
        self.given.sink.valid.next = self.gives.val();
        self.given.sink.payload.next.data = self.filled.val();
        self.given.sink.payload.next.nbytes = (bit_cast::<7, 3>(self.word_lane.q.val()) + 1) << 3;
        self.given.sink.payload.next.sop = self.is_first.q.val();
        self.given.sink.payload.next.eop = self.is_word_last.q.val();
        self.given.sink.payload.next.err = false;
        if self.is_word.q.val() {
            self.packed.d.next = self.filled.val();
        }
        if self.gives.val() {
            self.is_first.d.next = self.is_word_last.q.val();
        }

        self.headers.payload.next = self.told.source.payload.val();
        self.is_mark.next = self.told.source.payload.val().is_mark;
        self.is_whole.next = self.whole.q.val().any() & !self.is_mark.val();
        self.is_at_mark.next = self.told.source.valid.val() & self.is_mark.val();
        self.headers.valid.next = self.told.source.valid.val() & self.is_whole.val();
        self.takes.next = self.told.source.valid.val() & self.is_whole.val() & self.headers.ready.val();
        self.told.source.ready.next =
            (self.headers.ready.val() & self.is_whole.val()) | (self.releases.val() & self.is_mark.val());
        if self.closes.val() & !self.takes.val() {
            self.whole.d.next = self.whole.q.val() + 1;
        } else if self.takes.val() & !self.closes.val() {
            self.whole.d.next = self.whole.q.val() - 1;
        }
        StreamSource::<Beat<D>>::link(&mut self.beats, &mut self.given.source);
        if self.reset.val() {
            self.is_looking.d.next = false;
            self.is_ahead.d.next = false;
            self.is_reading.d.next = false;
            self.lane.d.next = 0.into();
            self.is_shown.d.next = false;
            self.is_word.d.next = false;
            self.is_first.d.next = true;
            self.whole.d.next = 0.into();
        }
    }
}
