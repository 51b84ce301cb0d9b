//! Statement shapes: choices, loops, arrays, structs, enumerations, signed numbers, values in the making.

use rust_hdl::prelude::*;

use super::{Case, differential};
use crate::record;
use crate::stream::Beat;

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum Phase {
    Idle,
    Run,
    Done,
}

record! {
    pub struct Pair { pub low: Bits<9>, pub flag: Bit, pub high: Bits<40> }
}

block! {
    struct Choices {
        pub a: Signal<In, Bits<8>>,
        pub b: Signal<In, Bits<8>>,
        pub wide: Signal<In, Bits<64>>,
        pub pair: Signal<In, Pair>,
        pub beat: Signal<In, Beat<64>>,
        pub f: Signal<In, Bit>,
        mask: [Constant<Bits<64>>; 8] = std::array::from_fn(|row| { Constant::new((0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(2 * row as u64 + 1)).into()) }),
        on: Constant<Bit> = Constant::new(true),
        position: [Constant<Bits<8>>; 8] = std::array::from_fn(|row| Constant::new((7 - row as u64).into())),
        phase: Signal<Local, Phase>,
        making: Signal<Local, Bits<8>>,
        lane: [Signal<Local, Bits<8>>; 8],
        byte: [Signal<Local, Bits<8>>; 8],
        signed_a: Signal<Local, Signed<8>>,
        signed_b: Signal<Local, Signed<8>>,
        product_a: Signal<Local, Bits<16>>,
        pub chosen: Signal<Out, Bits<8>>,
        pub nested: Signal<Out, Bits<8>>,
        pub matched: Signal<Out, Bits<8>>,
        pub matched_all: Signal<Out, Bits<8>>,
        pub state: Signal<Out, Phase>,
        pub is_running: Signal<Out, Bit>,
        pub early: Signal<Out, Bits<8>>,
        pub late: Signal<Out, Bits<8>>,
        pub parities: Signal<Out, Bits<8>>,
        pub lanes: Signal<Out, Bits<8>>,
        pub first_set: Signal<Out, Bits<8>>,
        pub bytes_reversed: Signal<Out, Bits<64>>,
        pub repacked: Signal<Out, Pair>,
        pub field_sum: Signal<Out, Bits<9>>,
        pub next_beat: Signal<Out, Beat<64>>,
        pub folded: Signal<Out, Bits<8>>,
        pub signed_sum: Signal<Out, Signed<8>>,
        pub signed_difference: Signal<Out, Signed<8>>,
        pub signed_below: Signal<Out, Bit>,
        pub negated: Signal<Out, Signed<8>>,
        pub back_to_bits: Signal<Out, Bits<8>>,
        pub product: Signal<Out, Bits<32>>,
        pub literal_left: Signal<Out, Bits<8>>,
        pub big_literal: Signal<Out, Bits<64>>,
    }
}

impl Logic for Choices {
    #[hdl_gen]
    fn update(&mut self) {
        if self.f.val() {
            self.chosen.next = self.a.val();
        } else if self.a.val() > self.b.val() {
            self.chosen.next = self.b.val() + 3;
        } else {
            self.chosen.next = 0x5a.into();
        }
        self.nested.next = self.b.val();
        if self.a.val().get_bit(0) {
            if self.a.val().get_bit(1) {
                self.nested.next = self.a.val() ^ self.b.val();
            } else {
                self.nested.next = self.a.val() & self.b.val();
            }
        }
        match self.a.val().get_bits::<3>(2).index() {
            0 => self.matched.next = self.b.val(),
            1 => self.matched.next = self.b.val() + 1,
            5 => {
                if self.f.val() {
                    self.matched.next = 0xee.into();
                } else {
                    self.matched.next = 0x11.into();
                }
            }
            _ => self.matched.next = !self.b.val(),
        }
        self.phase.next = Phase::Idle;
        if self.a.val() > 100 {
            self.phase.next = Phase::Run;
        }
        if self.b.val() > 100 {
            self.phase.next = Phase::Done;
        }
        match self.phase.val() {
            Phase::Idle => self.matched_all.next = 1.into(),
            Phase::Run => self.matched_all.next = self.a.val(),
            Phase::Done => self.matched_all.next = self.b.val() - self.a.val(),
        }
        self.state.next = self.phase.val();
        self.is_running.next = self.phase.val() == Phase::Run;
        self.making.next = self.a.val();
        self.early.next = self.making.val() + 1;
        if self.f.val() {
            self.making.next = self.b.val();
        }
        self.late.next = self.making.val() + 1;
        self.parities.next = 0.into();
        for i in 0..8 {
            if (self.wide.val() & self.mask[i].val()).xor() {
                self.parities.next = self.parities.val().replace_bit(i, true);
            }
        }
        self.lane[0].next = self.a.val();
        for i in 1..8 {
            self.lane[i].next = self.lane[i - 1].val() + self.wide.val().get_bits::<8>(i * 8);
        }
        self.lanes.next = self.lane[7].val();
        self.first_set.next = 0xff.into();
        for i in 0..8 {
            if self.a.val().get_bit(7 - i) {
                self.first_set.next = self.position[i].val();
            }
        }
        self.bytes_reversed.next = 0.into();
        for i in 0..8 {
            self.byte[i].next = self.wide.val().get_bits::<8>(i * 8);
            self.bytes_reversed.next =
                (self.bytes_reversed.val() << 8) | self.byte[i].val().get_bits::<64>(0);
        }
        self.repacked.next.low = self.pair.val().low + 1;
        self.repacked.next.flag = !self.pair.val().flag;
        self.repacked.next.high = self.pair.val().high >> 3;
        if self.f.val() {
            self.repacked.next.low = 0x155.into();
        }
        self.field_sum.next = self.pair.val().low + bit_cast::<9, 40>(self.pair.val().high);
        self.next_beat.next = self.beat.val();
        self.next_beat.next.eop = self.beat.val().eop & self.beat.val().nbytes.get_bit(0);
        self.folded.next = self.a.val();
        if self.on.val() {
            self.folded.next = self.b.val();
        }
        self.signed_a.next = signed_cast(self.a.val());
        self.signed_b.next = signed_cast(self.b.val());
        self.signed_sum.next = self.signed_a.val() + self.signed_b.val();
        self.signed_difference.next = self.signed_a.val() - self.signed_b.val();
        self.signed_below.next = self.signed_a.val() < self.signed_b.val();
        self.negated.next = -self.signed_a.val();
        self.back_to_bits.next = unsigned_cast(self.signed_a.val() + self.signed_b.val());
        self.product_a.next = bit_cast::<16, 64>(self.wide.val());
        self.product.next = self.product_a.val() * bit_cast::<16, 64>(self.wide.val() >> 16);
        self.literal_left.next = 200 - self.a.val();
        self.big_literal.next = self.wide.val() ^ 0xdead_beef_0123_4567_u64;
    }
}

pub(crate) fn cases() -> Vec<Case> {
    vec![differential!("choices", Choices::default, [a, b, wide, pair, beat, f])]
}
