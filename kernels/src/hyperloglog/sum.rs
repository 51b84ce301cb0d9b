//! Sum: the words of four lanes are multiplied, and added up by items.

use rust_hdl::prelude::*;
use stroma_abi::kernel::hyperloglog::hash;
use stroma_hw::block;
use stroma_hw::constant::{constants, number};
use stroma_hw::prim::mul::Mul;
use stroma_hw::prim::reg::Reg;

/// Lanes that an item may take.
pub const LANES: usize = 4;

block! {
    /// The first part of [`hash`]: products, each folded, and their sums.
    ///
    /// - **Ports** `row`: four words, of which those of `is_there` are the first ones of items; `item`: the size of these, `4 << item` bytes. `is_summed`, `sums`:
    ///   the same lanes, and the sum of each item there.
    /// - **Latency** 5 cycles. **Rate** a row per cycle. **Backpressure** none. **Reset** forgets the rows.
    pub struct Sum {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub is_there: Signal<In, Bits<LANES>>,
        pub row: Signal<In, Bits<128>>,
        pub item: Signal<In, Bits<2>>,
        pub is_summed: Signal<Out, Bits<LANES>>,
        pub sums: [Signal<Out, Bits<64>>; LANES] = std::array::from_fn(|_| Signal::default()),
        multiply: [Mul<32, 32, 64>; LANES] = std::array::from_fn(|_| Mul::default()),
        /// By stage: which lanes have items, and how many words those have.
        valid: [Reg<Bits<LANES>>; 5] = std::array::from_fn(|_| Reg::default()),
        size: [Reg<Bits<2>>; 4] = std::array::from_fn(|_| Reg::default()),
        /// Sums of two words, or single ones.
        pair: [Reg<Bits<64>>; LANES] = std::array::from_fn(|_| Reg::default()),
        total: [Reg<Bits<64>>; LANES] = std::array::from_fn(|_| Reg::default()),
        product: [Signal<Local, Bits<64>>; LANES] = std::array::from_fn(|_| Signal::default()),
        folded: [Signal<Local, Bits<64>>; LANES] = std::array::from_fn(|_| Signal::default()),
        factor: [Constant<Bits<32>>; LANES] = constants(|word| u64::from(hash::WORDS[word]).into()),
        four: Constant<Bits<2>> = number(0_u8),
        sixteen: Constant<Bits<2>> = number(2_u8),
    }
}

impl Logic for Sum {
    #[hdl_gen]
    fn update(&mut self) {
        for i in 0..LANES {
            self.multiply[i].clock.next = self.clock.val();
            self.pair[i].clock.next = self.clock.val();
            self.total[i].clock.next = self.clock.val();
            self.size[i].clock.next = self.clock.val();
            self.multiply[i].enable.next = true;
            self.multiply[i].a.next = self.row.val().get_bits::<32>(i * 32);
            self.product[i].next = self.multiply[i].p.val();
            self.folded[i].next = self.product[i].val() ^ (self.product[i].val() >> 32);
            self.sums[i].next = self.total[i].q.val();
        }
        // A factor belongs to the place of its word in the item.
        self.multiply[0].b.next = self.factor[0].val();
        self.multiply[1].b.next = self.factor[1].val();
        self.multiply[2].b.next = self.factor[0].val();
        self.multiply[3].b.next = self.factor[1].val();
        if self.item.val() == self.four.val() {
            self.multiply[1].b.next = self.factor[0].val();
            self.multiply[3].b.next = self.factor[0].val();
        } else if self.item.val() == self.sixteen.val() {
            self.multiply[2].b.next = self.factor[2].val();
            self.multiply[3].b.next = self.factor[3].val();
        }

        self.pair[0].d.next = self.folded[0].val() + self.folded[1].val();
        self.pair[1].d.next = self.folded[1].val();
        self.pair[2].d.next = self.folded[2].val() + self.folded[3].val();
        self.pair[3].d.next = self.folded[3].val();
        if self.size[2].q.val() == self.four.val() {
            self.pair[0].d.next = self.folded[0].val();
            self.pair[2].d.next = self.folded[2].val();
        }
        self.total[0].d.next = self.pair[0].q.val();
        if self.size[3].q.val() == self.sixteen.val() {
            self.total[0].d.next = self.pair[0].q.val() + self.pair[2].q.val();
        }
        self.size[0].d.next = self.item.val();
        for i in 1..LANES {
            self.total[i].d.next = self.pair[i].q.val();
            self.size[i].d.next = self.size[i - 1].q.val();
        }

        self.valid[0].clock.next = self.clock.val();
        self.valid[0].d.next = self.is_there.val();
        for i in 1..5 {
            self.valid[i].clock.next = self.clock.val();
            self.valid[i].d.next = self.valid[i - 1].q.val();
        }
        self.is_summed.next = self.valid[4].q.val();
        if self.reset.val() {
            for i in 0..5 {
                self.valid[i].d.next = 0.into();
            }
        }
    }
}
