//! The first of 32 bits.

use rust_hdl::prelude::*;
use stroma_hw::block;

block! {
    /// Finds the lowest bit that is set, by halves: no carry has to run through all of them.
    ///
    /// - **Ports** `bits`; `index`: of the lowest that is set, 31 if none is.
    /// - **Latency** 0 cycles.
    pub struct First {
        pub bits: Signal<In, Bits<32>>,
        pub index: Signal<Out, Bits<5>>,
        /// Halves of halves, each the one with the bit in it, and how many bits are before it.
        half: Signal<Local, Bits<16>>,
        quarter: Signal<Local, Bits<8>>,
        eighth: Signal<Local, Bits<4>>,
        sixteenth: Signal<Local, Bits<2>>,
        before: [Signal<Local, Bits<5>>; 4] = std::array::from_fn(|_| Signal::default()),
    }
}

impl Logic for First {
    #[hdl_gen]
    fn update(&mut self) {
        self.half.next = self.bits.val().get_bits::<16>(0);
        self.before[0].next = 0.into();
        if !self.bits.val().get_bits::<16>(0).any() {
            self.half.next = self.bits.val().get_bits::<16>(16);
            self.before[0].next = 16.into();
        }
        self.quarter.next = self.half.val().get_bits::<8>(0);
        self.before[1].next = self.before[0].val();
        if !self.half.val().get_bits::<8>(0).any() {
            self.quarter.next = self.half.val().get_bits::<8>(8);
            self.before[1].next = self.before[0].val() | 8;
        }
        self.eighth.next = self.quarter.val().get_bits::<4>(0);
        self.before[2].next = self.before[1].val();
        if !self.quarter.val().get_bits::<4>(0).any() {
            self.eighth.next = self.quarter.val().get_bits::<4>(4);
            self.before[2].next = self.before[1].val() | 4;
        }
        self.sixteenth.next = self.eighth.val().get_bits::<2>(0);
        self.before[3].next = self.before[2].val();
        if !self.eighth.val().get_bits::<2>(0).any() {
            self.sixteenth.next = self.eighth.val().get_bits::<2>(2);
            self.before[3].next = self.before[2].val() | 2;
        }
        self.index.next = self.before[3].val();
        if !self.sixteenth.val().get_bit(0) {
            self.index.next = self.before[3].val() | 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use stroma_hw::testing::settle;
    use stroma_verilate::SplitMix64;

    use super::*;

    #[test]
    fn finds_every_bit() {
        let mut first = First::default();
        first.connect_all();
        let mut rng = SplitMix64::new(1);
        for bit in 0..32_u32 {
            for above in [0, u32::MAX, rng.next_u32(), rng.next_u32()] {
                let bits = (u64::from(above) << bit | 1 << bit) & 0xffff_ffff;
                first.bits.next = bits.into();
                settle(&mut first);
                assert_eq!(first.index.val(), u64::from(bit), "{bits:#x}");
            }
        }
    }
}
