//! The narrowest shapes: `Bits<1>` and `bool`, where Verilog's operators and Rust's look most alike.

use rust_hdl::prelude::*;

use super::{Case, differential};

#[derive(LogicBlock, Default)]
struct OneBit {
    pub a: Signal<In, Bits<1>>,
    pub b: Signal<In, Bits<1>>,
    pub f: Signal<In, Bit>,
    pub g: Signal<In, Bit>,
    pub sum: Signal<Out, Bits<1>>,
    pub difference: Signal<Out, Bits<1>>,
    pub complement: Signal<Out, Bits<1>>,
    pub below: Signal<Out, Bit>,
    pub equal: Signal<Out, Bit>,
    pub any: Signal<Out, Bit>,
    pub shifted: Signal<Out, Bits<1>>,
    pub widened: Signal<Out, Bits<8>>,
    pub widened_complement: Signal<Out, Bits<8>>,
    pub carried: Signal<Out, Bits<2>>,
    pub mixed: Signal<Out, Bit>,
    pub negated: Signal<Out, Bit>,
    pub compared: Signal<Out, Bit>,
    pub chosen: Signal<Out, Bit>,
}

impl Logic for OneBit {
    #[hdl_gen]
    fn update(&mut self) {
        self.sum.next = self.a.val() + self.b.val();
        self.difference.next = self.a.val() - self.b.val();
        self.complement.next = !self.a.val();
        self.below.next = self.a.val() < self.b.val();
        self.equal.next = !self.a.val() == self.b.val();
        self.any.next = (self.a.val() ^ self.b.val()).any();
        self.shifted.next = self.a.val() << 1;
        self.widened.next = bit_cast::<8, 1>(self.a.val());
        self.widened_complement.next = bit_cast::<8, 1>(!self.a.val());
        self.carried.next = bit_cast::<2, 1>(self.a.val()) + self.f.val();
        self.mixed.next = self.f.val() & !self.g.val() | !self.f.val() & self.g.val() ^ self.a.val().any();
        self.negated.next = !(self.f.val() | self.g.val());
        self.compared.next = (self.f.val() == self.g.val()) != self.b.val().any();
        self.chosen.next = self.g.val();
        if !self.f.val() {
            self.chosen.next = self.a.val().get_bit(0);
        }
    }
}

pub(crate) fn cases() -> Vec<Case> {
    vec![differential!("one_bit", OneBit::default, [a, b, f, g])]
}
