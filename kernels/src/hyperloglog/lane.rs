//! Lane: the registers that one item in each cycle may raise.

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::constant::number;
use stroma_hw::prim::ram::UltraByteRam;
use stroma_hw::prim::reg::Reg;

/// Address bits of the memory, whose words have sixteen registers.
pub const WORD_LOG: usize = 12;

block! {
    /// Keeps a sketch of its own, a byte a register.
    ///
    /// An item's register is read, compared and written back. What the three items before it have made of the same register is not in
    /// the memory when it is read, and is taken from them.
    ///
    /// - **Ports** `is_there`: one cycle, `register` is to be `rank` at least. `sweeps`: the word at `at` is read, and with `wipes` set to 0; `word`: what it was.
    /// - **Latency** 4 cycles from an item until it is stored, 2 from `sweeps` to `word`. **Rate** an item per cycle, whatever the items. **Backpressure** none.
    /// - **Reset** forgets items on their way; the memory stays.
    /// - **Limits** no item in the cycles of a sweep, nor in the 4 before: items are then lost, or outlive it.
    pub struct Lane {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub is_there: Signal<In, Bit>,
        pub register: Signal<In, Bits<16>>,
        pub rank: Signal<In, Bits<6>>,
        pub sweeps: Signal<In, Bit>,
        pub wipes: Signal<In, Bit>,
        pub at: Signal<In, Bits<WORD_LOG>>,
        pub word: Signal<Out, Bits<128>>,
        memory: UltraByteRam<128, 16, WORD_LOG>,
        /// Items: the word is being read, is in `found`, the register is in `held`, has been written, a cycle ago.
        valid: Reg<Bits<4>>,
        place: [Reg<Bits<16>>; 4] = std::array::from_fn(|_| Reg::default()),
        wanted: [Reg<Bits<6>>; 3] = std::array::from_fn(|_| Reg::default()),
        found: Reg<Bits<128>>,
        /// The item whose word is in `found` has the register of the one before it, two before, three before.
        is_same: [Reg<Bit>; 3] = std::array::from_fn(|_| Reg::default()),
        held: Reg<Bits<6>>,
        /// What the last two made of theirs.
        made: [Reg<Bits<6>>; 2] = std::array::from_fn(|_| Reg::default()),
        byte: Signal<Local, Bits<7>>,
        old: Signal<Local, Bits<6>>,
        new: Signal<Local, Bits<6>>,
        is_raised: Signal<Local, Bit>,
        /// The new value, in all bytes.
        twice: Signal<Local, Bits<16>>,
        fourfold: Signal<Local, Bits<32>>,
        eightfold: Signal<Local, Bits<64>>,
        chosen: Signal<Local, Bits<16>>,
        one: Constant<Bits<16>> = number(1_u8),
        every: Constant<Bits<16>> = number(u16::MAX),
    }
}

impl Logic for Lane {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, memory);
        dff_setup!(self, clock, valid, found, held);
        self.memory.read_enable.next = self.is_there.val() | self.sweeps.val();
        self.memory.read_address.next = self.register.val().get_bits::<WORD_LOG>(4);
        if self.sweeps.val() {
            self.memory.read_address.next = self.at.val();
        }
        self.valid.d.next = (self.valid.q.val() << 1).replace_bit(0, self.is_there.val());
        self.place[0].clock.next = self.clock.val();
        self.place[0].d.next = self.register.val();
        for i in 1..4 {
            self.place[i].clock.next = self.clock.val();
            self.place[i].d.next = self.place[i - 1].q.val();
        }
        self.wanted[0].clock.next = self.clock.val();
        self.wanted[0].d.next = self.rank.val();
        for i in 1..3 {
            self.wanted[i].clock.next = self.clock.val();
            self.wanted[i].d.next = self.wanted[i - 1].q.val();
        }

        self.found.d.next = self.memory.read_data.val();
        self.word.next = self.found.q.val();
        for i in 0..3 {
            self.is_same[i].clock.next = self.clock.val();
            self.is_same[i].d.next =
                self.valid.q.val().get_bit(i + 1) & (self.place[i + 1].q.val() == self.place[0].q.val());
        }

        self.byte.next = bit_cast::<7, 4>(self.place[1].q.val().get_bits::<4>(0)) << 3;
        self.old.next = self.found.q.val().get_bits::<6>(self.byte.val().index());
        self.is_raised.next = self.wanted[2].q.val() > self.held.q.val();
        self.new.next = self.held.q.val();
        if self.is_raised.val() {
            self.new.next = self.wanted[2].q.val();
        }
        self.held.d.next = self.old.val();
        if self.is_same[0].q.val() {
            self.held.d.next = self.new.val();
        } else if self.is_same[1].q.val() {
            self.held.d.next = self.made[0].q.val();
        } else if self.is_same[2].q.val() {
            self.held.d.next = self.made[1].q.val();
        }
        self.made[0].clock.next = self.clock.val();
        self.made[1].clock.next = self.clock.val();
        self.made[0].d.next = self.new.val();
        self.made[1].d.next = self.made[0].q.val();

        self.twice.next = bit_cast::<16, 6>(self.new.val()) | (bit_cast::<16, 6>(self.new.val()) << 8);
        self.fourfold.next =
            bit_cast::<32, 16>(self.twice.val()) | (bit_cast::<32, 16>(self.twice.val()) << 16);
        self.eightfold.next =
            bit_cast::<64, 32>(self.fourfold.val()) | (bit_cast::<64, 32>(self.fourfold.val()) << 32);
        self.chosen.next = self.one.val() << self.place[2].q.val().get_bits::<4>(0);
        self.memory.write_enable.next = 0.into();
        self.memory.write_address.next = self.place[2].q.val().get_bits::<WORD_LOG>(4);
        self.memory.write_data.next =
            bit_cast::<128, 64>(self.eightfold.val()) | (bit_cast::<128, 64>(self.eightfold.val()) << 64);
        if self.sweeps.val() {
            self.memory.write_address.next = self.at.val();
            self.memory.write_data.next = 0.into();
            if self.wipes.val() {
                self.memory.write_enable.next = self.every.val();
            }
        } else if self.valid.q.val().get_bit(2) & self.is_raised.val() {
            self.memory.write_enable.next = self.chosen.val();
        }
        if self.reset.val() {
            self.valid.d.next = 0.into();
        }
    }
}
