//! Mix: a sum becomes a hash.

use rust_hdl::prelude::*;
use stroma_abi::kernel::hyperloglog::hash;
use stroma_hw::block;
use stroma_hw::constant::number;
use stroma_hw::prim::mul::Mul;
use stroma_hw::prim::reg::Reg;

/// Cycles from a factor to its product.
const PRODUCT: usize = 3;

block! {
    /// The second part of [`hash`]: two rounds, in each of which one half changes the other.
    ///
    /// - **Ports** `is_there`, `sum`: of an item; `is_hashed`, `hash`: its hash.
    /// - **Latency** 7 cycles. **Rate** an item per cycle. **Backpressure** none. **Reset** forgets the items.
    pub struct Mix {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub is_there: Signal<In, Bit>,
        pub sum: Signal<In, Bits<64>>,
        pub is_hashed: Signal<Out, Bit>,
        pub hash: Signal<Out, Bits<64>>,
        first: Mul<32, 32, 64>,
        second: Mul<32, 32, 64>,
        valid: Reg<Bits<7>>,
        /// Both halves, while the products of either round are made.
        before: [Reg<Bits<64>>; PRODUCT] = std::array::from_fn(|_| Reg::default()),
        between: [Reg<Bits<64>>; PRODUCT] = std::array::from_fn(|_| Reg::default()),
        after: Reg<Bits<64>>,
        seeded: Signal<Local, Bits<64>>,
        low: Signal<Local, Bits<32>>,
        waiting: Signal<Local, Bits<64>>,
        product: Signal<Local, Bits<64>>,
        high: Signal<Local, Bits<32>>,
        turned: Signal<Local, Bits<64>>,
        last_waiting: Signal<Local, Bits<64>>,
        last_product: Signal<Local, Bits<64>>,
        last_low: Signal<Local, Bits<32>>,
        seed: Constant<Bits<64>> = number(hash::SEED),
        first_factor: Constant<Bits<32>> = number(hash::ROUNDS[0]),
        second_factor: Constant<Bits<32>> = number(hash::ROUNDS[1]),
        shift: Constant<Bits<6>> = number(hash::SHIFT),
        ones: Constant<Bits<64>> = number(u32::MAX),
    }
}

impl Logic for Mix {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, first, second);
        dff_setup!(self, clock, valid, after);
        for i in 0..PRODUCT {
            self.before[i].clock.next = self.clock.val();
            self.between[i].clock.next = self.clock.val();
        }
        for i in 1..3 {
            self.before[i].d.next = self.before[i - 1].q.val();
            self.between[i].d.next = self.between[i - 1].q.val();
        }

        self.seeded.next = self.sum.val() ^ self.seed.val();
        self.low.next = self.seeded.val().get_bits::<32>(0);
        self.first.enable.next = true;
        self.first.a.next = self.low.val() ^ (self.low.val() >> self.shift.val());
        self.first.b.next = self.first_factor.val();
        self.before[0].d.next = self.seeded.val();

        self.waiting.next = self.before[2].q.val();
        self.product.next = self.first.p.val();
        self.high.next = self.waiting.val().get_bits::<32>(32)
            ^ self.product.val().get_bits::<32>(0)
            ^ self.product.val().get_bits::<32>(32);
        self.turned.next =
            (bit_cast::<64, 32>(self.high.val()) << 32) | (self.waiting.val() & self.ones.val());
        self.second.enable.next = true;
        self.second.a.next = self.high.val() ^ (self.high.val() >> self.shift.val());
        self.second.b.next = self.second_factor.val();
        self.between[0].d.next = self.turned.val();

        self.last_waiting.next = self.between[2].q.val();
        self.last_product.next = self.second.p.val();
        self.last_low.next =
            self.last_product.val().get_bits::<32>(0) ^ self.last_product.val().get_bits::<32>(32);
        self.after.d.next = self.last_waiting.val() ^ bit_cast::<64, 32>(self.last_low.val());
        self.hash.next = self.after.q.val();

        self.valid.d.next = (self.valid.q.val() << 1).replace_bit(0, self.is_there.val());
        self.is_hashed.next = self.valid.q.val().get_bit(6);
        if self.reset.val() {
            self.valid.d.next = 0.into();
        }
    }
}
