//! Gather: two words of each row are read, and added up if the first says so.

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::constant::number;
use stroma_hw::prim::reg::Reg;
use stroma_hw::slot::{LENGTH_BITS, SlotData, SlotRead};
use stroma_hw::stream::{StreamSink, StreamSource};

use crate::call::WORD_LEN;
use crate::judge::Task;

/// Bits of a count of reads: all of them may be open.
const OPEN_BITS: usize = 34;

block! {
    /// Reads filter and column of one row after the other, and adds up.
    ///
    /// - **Ports** `begins`: one cycle, while `is_idle`: the rows of the task `wanted` are to be read, which stays. `read`, `read_data`: as [`slot`](stroma_hw::slot) says, 8 bytes a read. `is_idle`: no read is
    ///   open, and none will be; then `sum`, `matching` are those of the last task, and `ending` tells how the first of its reads ended that did not end well.
    /// - **Order** of each row the filter first. Behind a failure at most one read more is asked for.
    /// - **Latency** 1 cycle from `begins` to `read`, 1 from the last word to `is_idle`. **Rate** a read, and a word, in each cycle.
    /// - **Backpressure** a read waits for as long as it has to; none on `read_data`. No combinational path from port to port.
    /// - **Reset** forgets the task; data of its reads must not come any more.
    pub struct Gather<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub begins: Signal<In, Bit>,
        pub wanted: Signal<In, Task>,
        pub read: StreamSource<SlotRead>,
        pub read_data: StreamSink<SlotData<D>>,
        pub is_idle: Signal<Out, Bit>,
        pub ending: Signal<Out, Bits<2>>,
        pub sum: Signal<Out, Bits<64>>,
        pub matching: Signal<Out, Bits<32>>,
        /// Rows not asked for yet, the first of them, and whether its filter was.
        left: Reg<Bits<32>>,
        row: Reg<Bits<64>>,
        asks_column: Reg<Bit>,
        /// Reads that have not come back.
        open: Reg<Bits<OPEN_BITS>>,
        /// The next word is that of a column, whose row matches.
        takes_column: Reg<Bit>,
        fits: Reg<Bit>,
        how: Reg<Bits<2>>,
        total: Reg<Bits<64>>,
        count: Reg<Bits<32>>,
        asks: Signal<Local, Bit>,
        takes: Signal<Local, Bit>,
        at: Signal<Local, Bits<16>>,
        word: Signal<Local, Bits<64>>,
        is_below: Signal<Local, Bit>,
        is_same: Signal<Local, Bit>,
        word_len: Constant<Bits<LENGTH_BITS>> = number(WORD_LEN),
    }
}

impl<const D: usize> Logic for Gather<D> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, left, row, asks_column, open, takes_column, fits, how, total, count);
        self.is_idle.next = !self.left.q.val().any() & !self.open.q.val().any();
        self.ending.next = self.how.q.val();
        self.sum.next = self.total.q.val();
        self.matching.next = self.count.q.val();

        // Reads go out. One that is offered stays, so that a failure ends the next.
        self.at.next = self.wanted.val().filter_at;
        if self.asks_column.q.val() {
            self.at.next = self.wanted.val().column_at;
        }
        self.read.valid.next = self.left.q.val().any();
        self.read.payload.next.ticket = self.wanted.val().ticket;
        self.read.payload.next.va = self.row.q.val() + bit_cast::<64, 16>(self.at.val());
        self.read.payload.next.key = self.wanted.val().key;
        self.read.payload.next.len = self.word_len.val();
        self.asks.next = self.left.q.val().any() & self.read.ready.val();
        if self.asks.val() {
            self.asks_column.d.next = !self.asks_column.q.val();
            if self.asks_column.q.val() {
                self.left.d.next = self.left.q.val() - 1;
                self.row.d.next = self.row.q.val() + bit_cast::<64, 16>(self.wanted.val().stride);
            }
            if self.how.q.val().any() {
                self.left.d.next = 0.into();
            }
        }

        // Words come in, in the same order.
        self.read_data.ready.next = true;
        self.takes.next = self.read_data.valid.val();
        self.word.next = self.read_data.payload.val().data.get_bits::<64>(0);
        self.is_below.next = self.word.val() < self.wanted.val().operand;
        self.is_same.next = self.word.val() == self.wanted.val().operand;
        if self.takes.val() {
            self.takes_column.d.next = !self.takes_column.q.val();
            self.fits.d.next = (self.is_below.val() & self.wanted.val().comparison.get_bit(0))
                | (self.is_same.val() & self.wanted.val().comparison.get_bit(1))
                | (!self.is_below.val() & !self.is_same.val() & self.wanted.val().comparison.get_bit(2));
            if self.takes_column.q.val() & self.fits.q.val() {
                self.total.d.next = self.total.q.val() + self.word.val();
                self.count.d.next = self.count.q.val() + 1;
            }
            if !self.how.q.val().any() {
                self.how.d.next = self.read_data.payload.val().err;
            }
        }
        if self.asks.val() & !self.takes.val() {
            self.open.d.next = self.open.q.val() + 1;
        } else if self.takes.val() & !self.asks.val() {
            self.open.d.next = self.open.q.val() - 1;
        }

        if self.begins.val() {
            self.left.d.next = self.wanted.val().rows;
            self.row.d.next = self.wanted.val().address;
            self.asks_column.d.next = false;
            self.takes_column.d.next = false;
            self.how.d.next = 0.into();
            self.total.d.next = 0.into();
            self.count.d.next = 0.into();
        }
        if self.reset.val() {
            self.left.d.next = 0.into();
            self.open.d.next = 0.into();
        }
    }
}
