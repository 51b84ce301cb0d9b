//! Fill: words into the rows of their buffers.

use rust_hdl::prelude::*;
use stroma_hw::constant::number;
use stroma_hw::prim::fifo::Fifo;
use stroma_hw::prim::ram::LutRam;
use stroma_hw::prim::reg::Reg;
use stroma_hw::stream::{StreamSink, StreamSource};
use stroma_hw::{block, record};

use super::open::Opened;
use super::parameters::PARTITION_BITS;
use super::pick::Word;

/// Bits of a word's place in a row: 256 bytes.
pub const ROW_BITS: usize = 5;
/// Bits of a word's place in both rows.
pub const PLACE_BITS: usize = ROW_BITS + 1;
/// Rows that may wait to be written, as a power of two: one of each buffer of a bank in eight. More stall the bank.
const JOBS_LOG: usize = 7;

record! {
    /// A row to be written, or a mark.
    pub struct Job {
        /// All rows of a payload went before: there is none here.
        pub is_mark: Bit,
        /// The buffer within the bank.
        pub index: Bits<PARTITION_BITS>,
        /// Which of its two rows.
        pub row: Bits<1>,
        /// Words up to its last: 1 to 32.
        pub end: Bits<PLACE_BITS>,
    }
}

block! {
    /// Counts words and gives each a place. A buffer has two rows of 256 bytes, which lie in memory at multiples of 256: one fills while the other waits or is written.
    ///
    /// - **Ports** `is_open`, `opened`: a buffer begins; `sink`: words; `write_*`: to the bank's RAM, by buffer, row and word; `jobs`: rows that are full, and after `flushes`, one cycle, those that are
    ///   not, of buffers up to `last`, none unless `is_used`, and a mark; more words go on behind them. `is_freed`, `freed`: a full row of this buffer is being read. `asked`: this buffer's bytes in use are shown on `used`, as they were
    ///   at the last of `flushes`. `overflows`: one cycle, a word had no room.
    /// - **Latency** none from `sink` to `write_*`, 1 cycle to `jobs`. **Rate** 1 word per cycle; a cycle for each buffer behind `flushes`.
    /// - **Backpressure** stalls `sink` while both rows of its buffer wait, or 128 jobs, and behind `flushes` until the mark has gone to the jobs.
    /// - **Reset** forgets jobs; buffers begin anew by `is_open` alone.
    /// - **Limits** `I` bits number the buffers of a bank, `A` is `I + 6`.
    pub struct Fill<const I: usize, const A: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub is_open: Signal<In, Bit>,
        pub opened: Signal<In, Opened>,
        pub sink: StreamSink<Word>,
        pub write_enable: Signal<Out, Bit>,
        pub write_address: Signal<Out, Bits<A>>,
        pub write_data: Signal<Out, Bits<64>>,
        pub flushes: Signal<In, Bit>,
        pub last: Signal<In, Bits<PARTITION_BITS>>,
        pub is_used: Signal<In, Bit>,
        pub jobs: StreamSource<Job>,
        pub is_freed: Signal<In, Bit>,
        pub freed: Signal<In, Bits<PARTITION_BITS>>,
        pub asked: Signal<In, Bits<PARTITION_BITS>>,
        pub used: Signal<Out, Bits<32>>,
        pub overflows: Signal<Out, Bit>,
        /// By buffer: where the next word goes, below how many rows were filled, modulo 4.
        places: LutRam<Bits<7>, I>,
        /// How many were read, modulo 4; twice, for two who look.
        emptied: LutRam<Bits<2>, I>,
        emptied_too: LutRam<Bits<2>, I>,
        uses: LutRam<Bits<32>, I>,
        limits: LutRam<Bits<32>, I>,
        /// Bytes in use behind the last payload: those of the next are not to be told yet.
        counted: LutRam<Bits<32>, I>,
        waiting: Fifo<Job, JOBS_LOG>,
        is_walking: Reg<Bit>,
        marks: Reg<Bit>,
        walked: Reg<Bits<PARTITION_BITS>>,
        looks_at: Signal<Local, Bits<PARTITION_BITS>>,
        place: Signal<Local, Bits<7>>,
        rows: Signal<Local, Bits<2>>,
        use_now: Signal<Local, Bits<32>>,
        more: Signal<Local, Bits<33>>,
        fits: Signal<Local, Bit>,
        goes: Signal<Local, Bit>,
        walks: Signal<Local, Bit>,
        is_full: Signal<Local, Bit>,
        has_part: Signal<Local, Bit>,
        two: Constant<Bits<2>> = number(2),
        step: Constant<Bits<33>> = number(8),
        most: Constant<Bits<32>> = number(u32::MAX),
        row_end: Constant<Bits<PLACE_BITS>> = number(1 << ROW_BITS),
    }
}

impl<const I: usize, const A: usize> Logic for Fill<I, A> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, places, emptied, emptied_too, uses, limits, counted, waiting);
        dff_setup!(self, clock, is_walking, marks, walked);
        self.waiting.reset.next = self.reset.val();

        self.looks_at.next = self.sink.payload.val().index;
        if self.is_walking.q.val() {
            self.looks_at.next = self.walked.q.val();
        }
        self.places.read_address.next = bit_cast::<I, PARTITION_BITS>(self.looks_at.val());
        self.emptied.read_address.next = bit_cast::<I, PARTITION_BITS>(self.looks_at.val());
        self.uses.read_address.next = bit_cast::<I, PARTITION_BITS>(self.looks_at.val());
        self.limits.read_address.next = bit_cast::<I, PARTITION_BITS>(self.looks_at.val());
        self.place.next = self.places.read_data.val();
        self.use_now.next = self.uses.read_data.val();
        self.fits.next = self.use_now.val() < self.limits.read_data.val();
        self.rows.next = self.place.val().get_bits::<2>(5) - self.emptied.read_data.val();

        // Whether it fits or not: the row it waits for will be read in any case.
        self.goes.next = self.sink.valid.val()
            & !self.is_walking.q.val()
            & !self.marks.q.val()
            & self.waiting.sink.ready.val()
            & (self.rows.val() != self.two.val());
        self.sink.ready.next = self.goes.val();
        self.overflows.next = self.goes.val() & !self.fits.val();
        self.write_enable.next = self.goes.val() & self.fits.val();
        self.write_address.next = bit_cast::<A, 16>(
            (bit_cast::<16, PARTITION_BITS>(self.looks_at.val()) << 6)
                | bit_cast::<16, PLACE_BITS>(self.place.val().get_bits::<PLACE_BITS>(0)),
        );
        self.write_data.next = self.sink.payload.val().word;
        self.more.next = bit_cast::<33, 32>(self.use_now.val()) + self.step.val();
        self.uses.write_enable.next = self.goes.val();
        self.uses.write_address.next = bit_cast::<I, PARTITION_BITS>(self.looks_at.val());
        self.uses.write_data.next = self.more.val().get_bits::<32>(0);
        if self.more.val().get_bit(32) {
            self.uses.write_data.next = self.most.val();
        }
        self.places.write_enable.next = self.goes.val() & self.fits.val();
        self.places.write_address.next = bit_cast::<I, PARTITION_BITS>(self.looks_at.val());
        self.places.write_data.next = self.place.val() + 1;

        // Behind the last word of the payload come the rows that are not full.
        self.walks.next = self.is_walking.q.val() & self.waiting.sink.ready.val();
        self.has_part.next = self.is_used.val() & self.place.val().get_bits::<ROW_BITS>(0).any();
        self.is_full.next =
            self.goes.val() & self.fits.val() & self.place.val().get_bits::<ROW_BITS>(0).all();
        self.waiting.sink.valid.next =
            self.is_full.val() | (self.walks.val() & self.has_part.val()) | self.marks.q.val();
        self.waiting.sink.payload.next.is_mark = self.marks.q.val();
        self.waiting.sink.payload.next.index = self.looks_at.val();
        self.waiting.sink.payload.next.row = self.place.val().get_bits::<1>(5);
        self.waiting.sink.payload.next.end = self.row_end.val();
        if self.is_walking.q.val() {
            self.waiting.sink.payload.next.end =
                bit_cast::<PLACE_BITS, ROW_BITS>(self.place.val().get_bits::<ROW_BITS>(0));
        }
        if self.walks.val() {
            self.walked.d.next = self.walked.q.val() + 1;
            if self.walked.q.val() == self.last.val() {
                self.is_walking.d.next = false;
                self.marks.d.next = true;
            }
        }
        if self.marks.q.val() & self.waiting.sink.ready.val() {
            self.marks.d.next = false;
        }
        self.counted.read_address.next = bit_cast::<I, PARTITION_BITS>(self.asked.val());
        self.used.next = self.counted.read_data.val();
        self.counted.write_enable.next = self.is_walking.q.val();
        self.counted.write_address.next = bit_cast::<I, PARTITION_BITS>(self.walked.q.val());
        self.counted.write_data.next = self.use_now.val();
        if self.flushes.val() {
            self.is_walking.d.next = true;
            self.walked.d.next = 0.into();
        }
        StreamSource::<Job>::link(&mut self.jobs, &mut self.waiting.source);

        self.emptied_too.read_address.next = bit_cast::<I, PARTITION_BITS>(self.freed.val());
        self.emptied.write_enable.next = self.is_freed.val() | self.is_open.val();
        self.emptied.write_address.next = bit_cast::<I, PARTITION_BITS>(self.freed.val());
        self.emptied.write_data.next = self.emptied_too.read_data.val() + 1;
        self.emptied_too.write_enable.next = self.is_freed.val() | self.is_open.val();
        self.emptied_too.write_address.next = bit_cast::<I, PARTITION_BITS>(self.freed.val());
        self.emptied_too.write_data.next = self.emptied_too.read_data.val() + 1;
        self.limits.write_enable.next = self.is_open.val();
        self.limits.write_address.next = bit_cast::<I, PARTITION_BITS>(self.opened.val().index);
        self.limits.write_data.next = self.opened.val().limit;
        if self.is_open.val() {
            self.emptied.write_address.next = bit_cast::<I, PARTITION_BITS>(self.opened.val().index);
            self.emptied.write_data.next = 0.into();
            self.emptied_too.write_address.next = bit_cast::<I, PARTITION_BITS>(self.opened.val().index);
            self.emptied_too.write_data.next = 0.into();
            self.uses.write_enable.next = true;
            self.uses.write_address.next = bit_cast::<I, PARTITION_BITS>(self.opened.val().index);
            self.uses.write_data.next = self.opened.val().used;
            self.places.write_enable.next = true;
            self.places.write_address.next = bit_cast::<I, PARTITION_BITS>(self.opened.val().index);
            self.places.write_data.next =
                bit_cast::<7, ROW_BITS>(self.opened.val().va.get_bits::<ROW_BITS>(3));
        }
        if self.reset.val() {
            self.is_walking.d.next = false;
            self.marks.d.next = false;
        }
    }
}
