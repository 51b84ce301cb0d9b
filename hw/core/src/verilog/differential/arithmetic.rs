//! Expression shapes over one width: what stock RustHDL gets wrong first.

use rust_hdl::prelude::*;

use super::{Case, differential};

block! {
    /// `W` bits wide; `N` is narrower, `X` wider, and `2^L <= W`.
    struct Shapes<const W: usize, const N: usize, const X: usize, const L: usize> {
        pub a: Signal<In, Bits<W>>,
        pub b: Signal<In, Bits<W>>,
        pub c: Signal<In, Bits<W>>,
        pub s: Signal<In, Bits<L>>,
        pub f: Signal<In, Bit>,
        half: Constant<Bits<W>> = Constant::new(Bits::from(1) << (W as u64 - 1)),
        ones: Constant<Bits<W>> = Constant::new(Bits::mask()),
        pub sum: Signal<Out, Bits<W>>,
        pub difference: Signal<Out, Bits<W>>,
        pub distance_is_forward: Signal<Out, Bit>,
        pub successor_equals: Signal<Out, Bit>,
        pub sum_then_halved: Signal<Out, Bits<W>>,
        pub sum_of_two_halved: Signal<Out, Bits<W>>,
        pub shifted_equals: Signal<Out, Bit>,
        pub complement: Signal<Out, Bits<W>>,
        pub complement_of_sum: Signal<Out, Bits<W>>,
        pub complement_plus: Signal<Out, Bits<W>>,
        pub complement_equals: Signal<Out, Bit>,
        pub complement_below: Signal<Out, Bit>,
        pub xor_below: Signal<Out, Bit>,
        pub or_equals: Signal<Out, Bit>,
        pub and_of_or: Signal<Out, Bits<W>>,
        pub or_of_and: Signal<Out, Bits<W>>,
        pub xor_of_sum: Signal<Out, Bits<W>>,
        pub nested_difference: Signal<Out, Bits<W>>,
        pub plus_flag: Signal<Out, Bits<W>>,
        pub equal: Signal<Out, Bit>,
        pub unequal: Signal<Out, Bit>,
        pub below: Signal<Out, Bit>,
        pub at_most: Signal<Out, Bit>,
        pub above: Signal<Out, Bit>,
        pub at_least: Signal<Out, Bit>,
        pub left: Signal<Out, Bits<W>>,
        pub right: Signal<Out, Bits<W>>,
        pub left_and_back: Signal<Out, Bits<W>>,
        pub left_twice: Signal<Out, Bits<W>>,
        pub right_twice: Signal<Out, Bits<W>>,
        pub sum_right: Signal<Out, Bits<W>>,
        pub any_of_sum: Signal<Out, Bit>,
        pub all_of_or: Signal<Out, Bit>,
        pub parity: Signal<Out, Bit>,
        pub parity_of_masked: Signal<Out, Bit>,
        pub long_xor: Signal<Out, Bits<W>>,
        pub long_or: Signal<Out, Bits<W>>,
        pub long_and: Signal<Out, Bits<W>>,
        pub flags: Signal<Out, Bit>,
        pub logical: Signal<Out, Bit>,
        pub one_bit: Signal<Out, Bit>,
        pub one_bit_of_sum: Signal<Out, Bit>,
        pub replaced: Signal<Out, Bits<W>>,
        pub narrowed: Signal<Out, Bits<N>>,
        pub narrowed_sum: Signal<Out, Bits<N>>,
        pub narrowed_shift: Signal<Out, Bits<N>>,
        pub widened: Signal<Out, Bits<X>>,
        pub widened_complement: Signal<Out, Bits<X>>,
        pub widened_sum: Signal<Out, Bits<X>>,
        pub wide_sum: Signal<Out, Bits<X>>,
        pub sliced: Signal<Out, Bits<N>>,
        pub sliced_past_the_top: Signal<Out, Bits<X>>,
        pub sliced_sum: Signal<Out, Bits<N>>,
    }
}

#[expect(clippy::precedence, reason = "how Rust binds operators without parentheses is what is tested")]
impl<const W: usize, const N: usize, const X: usize, const L: usize> Logic for Shapes<W, N, X, L> {
    #[hdl_gen]
    fn update(&mut self) {
        self.sum.next = self.a.val() + self.b.val();
        self.difference.next = self.a.val() - self.b.val();
        self.distance_is_forward.next = self.a.val() - self.b.val() < self.half.val();
        self.successor_equals.next = self.a.val() + 1 == self.b.val();
        self.sum_then_halved.next = (self.a.val() + 1) >> 1;
        self.sum_of_two_halved.next = (self.a.val() + self.b.val()) >> 1;
        self.shifted_equals.next = (self.a.val() << 1) == self.half.val();
        self.complement.next = !self.a.val();
        self.complement_of_sum.next = !(self.a.val() + self.b.val());
        self.complement_plus.next = !self.a.val() + self.b.val();
        self.complement_equals.next = !self.a.val() == self.b.val();
        self.complement_below.next = !self.a.val() < self.b.val();
        self.xor_below.next = self.a.val() ^ self.b.val() < self.b.val();
        self.or_equals.next = self.a.val() | self.b.val() == self.c.val();
        self.and_of_or.next = (self.a.val() | self.b.val()) & self.c.val();
        self.or_of_and.next = self.a.val() | self.b.val() & self.c.val();
        self.xor_of_sum.next = self.a.val() + self.b.val() ^ self.c.val();
        self.nested_difference.next = self.a.val() - (self.b.val() - self.c.val());
        self.plus_flag.next = self.a.val() + self.f.val();
        self.equal.next = self.a.val() == self.b.val();
        self.unequal.next = self.a.val() != self.b.val();
        self.below.next = self.a.val() < self.b.val();
        self.at_most.next = self.a.val() <= self.b.val();
        self.above.next = self.a.val() > self.b.val();
        self.at_least.next = self.a.val() >= self.b.val();
        self.left.next = self.a.val() << self.s.val();
        self.right.next = self.a.val() >> self.s.val();
        self.left_twice.next = (self.a.val() << self.s.val()) << self.s.val();
        self.right_twice.next = (self.a.val() >> self.s.val()) >> self.s.val();
        self.left_and_back.next = (self.a.val() << self.s.val()) >> self.s.val();
        self.sum_right.next = (self.a.val() + self.b.val()) >> self.s.val();
        self.any_of_sum.next = (self.a.val() + self.b.val()).any();
        self.all_of_or.next = (self.a.val() | self.b.val()).all();
        self.parity.next = self.a.val().xor();
        self.parity_of_masked.next = (self.a.val() & self.half.val()).xor();
        self.long_xor.next = self.a.val() ^ self.b.val() ^ self.c.val() ^ self.half.val() ^ self.ones.val();
        self.long_or.next = self.a.val() | self.b.val() | self.c.val() | self.half.val();
        self.long_and.next = self.a.val() & self.b.val() & self.c.val() & self.ones.val();
        self.flags.next = self.f.val() ^ self.a.val().any() ^ self.b.val().all() ^ self.c.val().xor();
        self.logical.next = self.f.val() && self.a.val().any() || !self.f.val() && self.b.val().xor();
        self.one_bit.next = self.a.val().get_bit(self.s.val().index());
        self.one_bit_of_sum.next = (self.a.val() + self.b.val()).get_bit(self.s.val().index());
        self.replaced.next = self.a.val().replace_bit(self.s.val().index(), self.f.val());
        self.narrowed.next = bit_cast::<N, W>(self.a.val());
        self.narrowed_sum.next = bit_cast::<N, W>(self.a.val() + self.b.val());
        self.narrowed_shift.next = bit_cast::<N, W>(self.a.val() >> self.s.val());
        self.widened.next = bit_cast::<X, W>(self.a.val());
        self.widened_complement.next = bit_cast::<X, W>(!self.a.val());
        self.widened_sum.next = bit_cast::<X, W>(self.a.val() + self.b.val());
        self.wide_sum.next = bit_cast::<X, W>(self.a.val()) + bit_cast::<X, W>(self.b.val());
        self.sliced.next = self.a.val().get_bits::<N>(self.s.val().index());
        self.sliced_past_the_top.next = self.a.val().get_bits::<X>(self.s.val().index());
        self.sliced_sum.next = (self.a.val() + self.b.val()).get_bits::<N>(self.s.val().index());
    }
}

pub(crate) fn cases() -> Vec<Case> {
    fn shapes<const W: usize, const N: usize, const X: usize, const L: usize>() -> Case {
        differential!(&format!("width_{W}"), Shapes::<W, N, X, L>::default, [a, b, c, s, f])
    }
    vec![
        shapes::<2, 1, 3, 1>(),
        shapes::<8, 5, 16, 3>(),
        shapes::<13, 12, 14, 3>(),
        shapes::<24, 8, 25, 4>(),
        shapes::<31, 16, 32, 4>(),
        shapes::<32, 31, 33, 5>(),
        shapes::<33, 32, 64, 5>(),
        shapes::<64, 33, 65, 6>(),
        shapes::<65, 64, 128, 6>(),
        shapes::<128, 7, 200, 7>(),
        shapes::<512, 64, 520, 9>(),
    ]
}
