//! Gather: beats become rows of whole items.

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::prim::reg::Reg;
use stroma_hw::stream::Beat;

block! {
    /// Puts beats of 64 bits together by two, since an item may have 128; wider ones pass as they are.
    ///
    /// - **Ports** `is_there`: one cycle, a `beat` whose items have the size `item`. `is_row`: one cycle, a `row` of `row_len` bytes, with items of `row_item`.
    /// - **Latency** 1 cycle from the last beat of a row. **Rate** 1 beat per cycle. **Backpressure** none.
    /// - **Reset** forgets what is held; the next beat begins a row.
    /// - **Limits** `W` is `D`, or 128 with `D` = 64.
    pub struct Gather<const D: usize, const W: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub is_there: Signal<In, Bit>,
        pub beat: Signal<In, Beat<D>>,
        pub item: Signal<In, Bits<2>>,
        pub is_row: Signal<Out, Bit>,
        pub row: Signal<Out, Bits<W>>,
        pub row_len: Signal<Out, Bits<7>>,
        pub row_item: Signal<Out, Bits<2>>,
        words: Reg<Bits<W>>,
        len: Reg<Bits<7>>,
        size: Reg<Bits<2>>,
        is_whole: Reg<Bit>,
        /// The first half of a row is there.
        is_half: Reg<Bit>,
        is_wide: Constant<Bit> = Constant::new(D == W),
    }
}

impl<const D: usize, const W: usize> Logic for Gather<D, W> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, words, len, size, is_whole, is_half);
        self.is_row.next = self.is_whole.q.val();
        self.row.next = self.words.q.val();
        self.row_len.next = self.len.q.val();
        self.row_item.next = self.size.q.val();
        self.is_whole.d.next = false;
        if self.is_there.val() {
            self.size.d.next = self.item.val();
            self.words.d.next = bit_cast::<W, D>(self.beat.val().data);
            self.len.d.next = self.beat.val().nbytes;
            if self.is_wide.val() {
                self.is_whole.d.next = true;
            } else if self.is_half.q.val() {
                self.words.d.next = self.words.q.val() | (bit_cast::<W, D>(self.beat.val().data) << 64);
                self.len.d.next = self.beat.val().nbytes + 8;
                self.is_whole.d.next = true;
                self.is_half.d.next = false;
            } else {
                self.is_whole.d.next = self.beat.val().eop;
                self.is_half.d.next = !self.beat.val().eop;
            }
        }
        if self.reset.val() {
            self.is_whole.d.next = false;
            self.is_half.d.next = false;
        }
    }
}
