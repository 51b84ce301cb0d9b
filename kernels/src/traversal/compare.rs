//! Compare: does a key of the element fit, and where does the walk go?

use rust_hdl::prelude::*;
use stroma_abi::kernel::traversal::Predicate;
use stroma_hw::constant::{constants, number};
use stroma_hw::prim::reg::Reg;
use stroma_hw::{block, record};

use super::parameters::{Task, WORDS};

record! {
    /// What is to be done after an element.
    pub struct Verdict {
        /// How its read ended; if not well, nothing else counts.
        pub ending: Bits<2>,
        /// A key fits.
        pub fits: Bit,
        /// Then: where the value begins.
        pub value: Bits<64>,
        /// Else: the next element.
        pub successor: Bits<64>,
    }
}

block! {
    /// Judges elements: first each word by itself, then all together.
    ///
    /// - **Ports** `wanted`: the task, from the cycle of `is_there` to that of `is_judged`; `is_there`: one cycle, an `element` at `at` and the `ending` of its read, which stay as
    ///   long; `is_judged`: one cycle, its `verdict`.
    /// - **Latency** 2 cycles. **Rate** an element every 2 cycles. **Backpressure** none.
    /// - **Reset** forgets the element.
    pub struct Compare {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub wanted: Signal<In, Task>,
        pub is_there: Signal<In, Bit>,
        pub element: Signal<In, Bits<512>>,
        pub ending: Signal<In, Bits<2>>,
        pub at: Signal<In, Bits<64>>,
        pub is_judged: Signal<Out, Bit>,
        pub verdict: Signal<Out, Verdict>,
        /// By word: it fits, it is above the key that is sought.
        fitting: Reg<Bits<8>>,
        above: Reg<Bits<8>>,
        left: Reg<Bits<64>>,
        right: Reg<Bits<64>>,
        is_compared: Reg<Bit>,
        outcome: Reg<Verdict>,
        is_known: Reg<Bit>,
        word: [Signal<Local, Bits<64>>; WORDS] = std::array::from_fn(|_| Signal::default()),
        is_equal: [Signal<Local, Bit>; WORDS] = std::array::from_fn(|_| Signal::default()),
        is_below: [Signal<Local, Bit>; WORDS] = std::array::from_fn(|_| Signal::default()),
        fits: Signal<Local, Bits<8>>,
        is_above: Signal<Local, Bits<8>>,
        next_place: Signal<Local, Bits<9>>,
        right_place: Signal<Local, Bits<9>>,
        found: Signal<Local, Bits<3>>,
        value_word: Signal<Local, Bits<3>>,
        value_place: Signal<Local, Bits<9>>,
        number: [Constant<Bits<3>>; WORDS] = constants(|word| (word as u64).into()),
        equal: Constant<Bits<2>> = number(Predicate::Equal as u8),
        less: Constant<Bits<2>> = number(Predicate::Less as u8),
        greater: Constant<Bits<2>> = number(Predicate::Greater as u8),
    }
}

impl Logic for Compare {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, fitting, above, left, right, is_compared, outcome, is_known);
        self.fits.next = 0.into();
        self.is_above.next = 0.into();
        for i in 0..WORDS {
            self.word[i].next = self.element.val().get_bits::<64>(i * 64) & self.wanted.val().mask;
            self.is_equal[i].next = self.word[i].val() == self.wanted.val().sought;
            self.is_below[i].next = self.word[i].val() < self.wanted.val().sought;
            self.is_above.next =
                self.is_above.val().replace_bit(i, !self.is_equal[i].val() & !self.is_below[i].val());
            if self.wanted.val().predicate == self.equal.val() {
                self.fits.next = self.fits.val().replace_bit(i, self.is_equal[i].val());
            } else if self.wanted.val().predicate == self.less.val() {
                self.fits.next = self.fits.val().replace_bit(i, self.is_below[i].val());
            } else if self.wanted.val().predicate == self.greater.val() {
                self.fits.next =
                    self.fits.val().replace_bit(i, !self.is_equal[i].val() & !self.is_below[i].val());
            } else {
                self.fits.next = self.fits.val().replace_bit(i, !self.is_equal[i].val());
            }
        }
        self.fitting.d.next = self.fits.val() & self.wanted.val().key_words;
        self.above.d.next = self.is_above.val();
        self.next_place.next = bit_cast::<9, 3>(self.wanted.val().next_at) << 6;
        self.right_place.next = bit_cast::<9, 3>(self.wanted.val().right_at) << 6;
        self.left.d.next = self.element.val().get_bits::<64>(self.next_place.val().index());
        self.right.d.next = self.element.val().get_bits::<64>(self.right_place.val().index());
        self.is_compared.d.next = self.is_there.val();

        self.found.next = 0.into();
        for i in 0..WORDS {
            if self.fitting.q.val().get_bit(7 - i) {
                self.found.next = self.number[7 - i].val();
            }
        }
        self.value_word.next = self.wanted.val().value_at;
        if self.wanted.val().relative {
            self.value_word.next = self.wanted.val().value_at + self.found.val();
        }
        self.value_place.next = bit_cast::<9, 3>(self.value_word.val()) << 6;
        self.outcome.d.next.ending = self.ending.val();
        self.outcome.d.next.fits = self.fitting.q.val().any();
        self.outcome.d.next.value = self.element.val().get_bits::<64>(self.value_place.val().index());
        if self.wanted.val().inline {
            self.outcome.d.next.value = self.at.val() + (bit_cast::<64, 3>(self.value_word.val()) << 3);
        }
        self.outcome.d.next.successor = self.left.q.val();
        if self.wanted.val().tree & !self.above.q.val().get_bit(self.wanted.val().lowest.index()) {
            self.outcome.d.next.successor = self.right.q.val();
        }
        self.is_known.d.next = self.is_compared.q.val();
        self.is_judged.next = self.is_known.q.val();
        self.verdict.next = self.outcome.q.val();
        if self.reset.val() {
            self.is_compared.d.next = false;
            self.is_known.d.next = false;
        }
    }
}
