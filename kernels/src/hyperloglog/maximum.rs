//! Maximum: two sketches become one.

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::constant::constants;
use stroma_hw::prim::reg::Reg;

/// Registers of a word.
const REGISTERS: usize = 16;

block! {
    /// The larger of each two registers.
    ///
    /// - **Ports** `left`, `right`: sixteen registers each, a byte a register, of which six bits count; `larger`: sixteen.
    /// - **Latency** 1 cycle. **Rate** a word per cycle. **Backpressure**, **Reset** none.
    pub struct Maximum {
        pub clock: Signal<In, Clock>,
        pub left: Signal<In, Bits<128>>,
        pub right: Signal<In, Bits<128>>,
        pub larger: Signal<Out, Bits<128>>,
        word: Reg<Bits<128>>,
        is_left: [Signal<Local, Bit>; REGISTERS] = std::array::from_fn(|_| Signal::default()),
        chosen: [Signal<Local, Bits<128>>; REGISTERS] = std::array::from_fn(|_| Signal::default()),
        all: Signal<Local, Bits<128>>,
        mask: [Constant<Bits<128>>; REGISTERS] = constants(|register| Bits::<128>::from(0x3f_u64) << (8 * register as u64)),
    }
}

impl Logic for Maximum {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, word);
        self.all.next = 0.into();
        for i in 0..REGISTERS {
            self.is_left[i].next =
                self.left.val().get_bits::<6>(i * 8) > self.right.val().get_bits::<6>(i * 8);
            self.chosen[i].next = self.right.val() & self.mask[i].val();
            if self.is_left[i].val() {
                self.chosen[i].next = self.left.val() & self.mask[i].val();
            }
            self.all.next = self.all.val() | self.chosen[i].val();
        }
        self.word.d.next = self.all.val();
        self.larger.next = self.word.q.val();
    }
}
