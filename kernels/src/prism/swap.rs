//! Swap: does the comparison hold, and what would take the place of what is there?

use rust_hdl::prelude::*;
use stroma_abi::kernel::prism::{Comparison, SWAP_MAX};
use stroma_hw::block;
use stroma_hw::constant::{constants, number};
use stroma_hw::prim::reg::Reg;

use super::judge::Order;
use super::operands::OPERAND_BITS;

/// Words of the widest.
const WORDS: usize = SWAP_MAX / 8;

block! {
    /// Compares word by word, then all together.
    ///
    /// - **Ports** `begins`: one cycle; `order`, `operands`, `there`, the bytes at the target, `fetched`, data from memory, and `allocated`: from then on until `is_known`; `is_known`: one cycle, `holds` and `fresh`, which
    ///   stay until the next begins.
    /// - **Latency** 2 cycles. **Rate** one every 2 cycles. **Backpressure** none.
    /// - **Reset** forgets what has begun.
    pub struct Swap {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub begins: Signal<In, Bit>,
        pub order: Signal<In, Order>,
        pub operands: Signal<In, Bits<OPERAND_BITS>>,
        pub there: Signal<In, Bits<256>>,
        pub fetched: Signal<In, Bits<256>>,
        pub allocated: Signal<In, Bits<64>>,
        pub is_known: Signal<Out, Bit>,
        pub holds: Signal<Out, Bit>,
        pub fresh: Signal<Out, Bits<256>>,
        /// By word: what is offered is equal, greater.
        equal: Reg<Bits<4>>,
        greater: Reg<Bits<4>>,
        new: Reg<Bits<256>>,
        is_compared: Reg<Bit>,
        is_good: Reg<Bit>,
        is_judged: Reg<Bit>,
        compare: Signal<Local, Bits<256>>,
        compare_mask: Signal<Local, Bits<256>>,
        given: Signal<Local, Bits<256>>,
        given_mask: Signal<Local, Bits<256>>,
        counts: [Signal<Local, Bit>; WORDS] = std::array::from_fn(|_| Signal::default()),
        mask: [Signal<Local, Bits<64>>; WORDS] = std::array::from_fn(|_| Signal::default()),
        offered: [Signal<Local, Bits<64>>; WORDS] = std::array::from_fn(|_| Signal::default()),
        old: [Signal<Local, Bits<64>>; WORDS] = std::array::from_fn(|_| Signal::default()),
        taken: [Signal<Local, Bits<64>>; WORDS] = std::array::from_fn(|_| Signal::default()),
        taken_mask: [Signal<Local, Bits<64>>; WORDS] = std::array::from_fn(|_| Signal::default()),
        word: [Signal<Local, Bits<64>>; WORDS] = std::array::from_fn(|_| Signal::default()),
        equals: Signal<Local, Bits<4>>,
        greaters: Signal<Local, Bits<4>>,
        is_equal: Signal<Local, Bit>,
        is_greater: Signal<Local, Bit>,
        number: [Constant<Bits<2>>; WORDS] = constants(|word| (word as u64).into()),
        begin: [Constant<Bits<13>>; WORDS] = std::array::from_fn(|word| number(8 * word)),
        wants_equal: Constant<Bits<2>> = number(Comparison::Equal as u8),
        wants_less: Constant<Bits<2>> = number(Comparison::Less as u8),
        wants_greater: Constant<Bits<2>> = number(Comparison::Greater as u8),
    }
}

impl Logic for Swap {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, equal, greater, new, is_compared, is_good, is_judged);
        self.equals.next = 0.into();
        self.greaters.next = 0.into();
        self.compare.next = self.operands.val().get_bits::<256>(0);
        self.compare_mask.next = self.operands.val().get_bits::<256>(256);
        self.given.next = self.operands.val().get_bits::<256>(512);
        self.given_mask.next = self.operands.val().get_bits::<256>(768);
        for i in 0..WORDS {
            self.counts[i].next = self.order.val().len > self.begin[i].val();
            self.mask[i].next = 0.into();
            if self.counts[i].val() {
                self.mask[i].next = self.compare_mask.val().get_bits::<64>(i * 64);
            }
            self.offered[i].next = self.compare.val().get_bits::<64>(i * 64) & self.mask[i].val();
            self.old[i].next = self.there.val().get_bits::<64>(i * 64);
            self.equals.next = self
                .equals
                .val()
                .replace_bit(i, self.offered[i].val() == (self.old[i].val() & self.mask[i].val()));
            self.greaters.next = self
                .greaters
                .val()
                .replace_bit(i, self.offered[i].val() > (self.old[i].val() & self.mask[i].val()));
            self.taken[i].next = self.given.val().get_bits::<64>(i * 64);
            if self.order.val().data_indirect {
                self.taken[i].next = self.fetched.val().get_bits::<64>(i * 64);
            } else if self.order.val().forward & (self.order.val().forward_word == self.number[i].val()) {
                self.taken[i].next = self.allocated.val();
            }
            self.taken_mask[i].next = self.given_mask.val().get_bits::<64>(i * 64);
            self.word[i].next = (self.old[i].val() & !self.taken_mask[i].val())
                | (self.taken[i].val() & self.taken_mask[i].val());
        }
        self.equal.d.next = self.equals.val();
        self.greater.d.next = self.greaters.val();
        self.new.d.next = bit_cast::<256, 64>(self.word[0].val())
            | (bit_cast::<256, 64>(self.word[1].val()) << 64)
            | (bit_cast::<256, 64>(self.word[2].val()) << 128)
            | (bit_cast::<256, 64>(self.word[3].val()) << 192);
        self.is_compared.d.next = self.begins.val();

        self.is_equal.next = self.equal.q.val().all();
        self.is_greater.next = false;
        // The highest word that differs decides.
        for i in 0..WORDS {
            if !self.equal.q.val().get_bit(i) {
                self.is_greater.next = self.greater.q.val().get_bit(i);
            }
        }
        if self.order.val().comparison == self.wants_equal.val() {
            self.is_good.d.next = self.is_equal.val();
        } else if self.order.val().comparison == self.wants_less.val() {
            self.is_good.d.next = !self.is_equal.val() & !self.is_greater.val();
        } else if self.order.val().comparison == self.wants_greater.val() {
            self.is_good.d.next = self.is_greater.val();
        } else {
            self.is_good.d.next = !self.is_equal.val();
        }
        self.is_judged.d.next = self.is_compared.q.val();
        self.is_known.next = self.is_judged.q.val();
        self.holds.next = self.is_good.q.val();
        self.fresh.next = self.new.q.val();
        if self.reset.val() {
            self.is_compared.d.next = false;
            self.is_judged.d.next = false;
        }
    }
}
