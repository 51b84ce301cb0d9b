//! Rank: a hash chooses a register and what it is to be at least.

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::constant::constants;
use stroma_hw::prim::reg::Reg;

/// The 48 bits behind the register's number, by bytes.
const BYTES: usize = 6;

block! {
    /// Finds the first one in each byte, then in all of them.
    ///
    /// - **Ports** `is_there`, `hash`: of an item; `is_ranked`, `register`, `rank`: as [`stroma_abi::kernel::hyperloglog::place`] has them.
    /// - **Latency** 2 cycles. **Rate** an item per cycle. **Backpressure** none. **Reset** forgets the items.
    pub struct Rank {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub is_there: Signal<In, Bit>,
        pub hash: Signal<In, Bits<64>>,
        pub is_ranked: Signal<Out, Bit>,
        pub register: Signal<Out, Bits<16>>,
        pub rank: Signal<Out, Bits<6>>,
        is_looked_at: Reg<Bit>,
        chosen: Reg<Bits<16>>,
        /// By byte: it has a one, and where the first is, counted from the first byte.
        some: Reg<Bits<BYTES>>,
        first: [Reg<Bits<6>>; BYTES] = std::array::from_fn(|_| Reg::default()),
        is_known: Reg<Bit>,
        place: Reg<Bits<16>>,
        value: Reg<Bits<6>>,
        byte: [Signal<Local, Bits<8>>; BYTES] = std::array::from_fn(|_| Signal::default()),
        within: [Signal<Local, Bits<6>>; BYTES] = std::array::from_fn(|_| Signal::default()),
        has_one: Signal<Local, Bits<BYTES>>,
        all: Signal<Local, Bits<6>>,
        number: [Constant<Bits<6>>; 8] = constants(|bit| (bit as u64).into()),
        start: [Constant<Bits<6>>; 7] = constants(|byte| (8 * byte as u64).into()),
    }
}

impl Logic for Rank {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, is_looked_at, chosen, some, is_known, place, value);
        self.has_one.next = 0.into();
        for i in 0..BYTES {
            self.first[i].clock.next = self.clock.val();
            self.byte[i].next = self.hash.val().get_bits::<8>(16 + i * 8);
            self.within[i].next = 0.into();
            for j in 0..8 {
                if self.byte[i].val().get_bit(7 - j) {
                    self.within[i].next = self.number[7 - j].val();
                }
            }
            self.has_one.next = self.has_one.val().replace_bit(i, self.byte[i].val().any());
            self.first[i].d.next = self.start[i].val() | self.within[i].val();
        }
        self.some.d.next = self.has_one.val();
        self.chosen.d.next = self.hash.val().get_bits::<16>(0);
        self.is_looked_at.d.next = self.is_there.val();

        self.all.next = self.start[6].val();
        for i in 0..BYTES {
            if self.some.q.val().get_bit(5 - i) {
                self.all.next = self.first[5 - i].q.val();
            }
        }
        self.value.d.next = self.all.val() + 1;
        self.place.d.next = self.chosen.q.val();
        self.is_known.d.next = self.is_looked_at.q.val();
        self.is_ranked.next = self.is_known.q.val();
        self.register.next = self.place.q.val();
        self.rank.next = self.value.q.val();
        if self.reset.val() {
            self.is_looked_at.d.next = false;
            self.is_known.d.next = false;
        }
    }
}
