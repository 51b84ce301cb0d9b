//! A beat turned round by bytes: what every shifter of packets begins with.

use rust_hdl::prelude::*;

use crate::constant::{constants, number};

/// Steps of the widest rotation: 64 bytes.
const STEPS: usize = 6;

block! {
    /// Moves a beat up by `shift` bytes; what leaves at the top comes in at the bottom.
    ///
    /// - **Ports** `data`, `shift`: a beat, and by how many bytes it moves; `rotated`: the beat there.
    /// - **Latency** 0 cycles. **Reset** none: it holds nothing. `clock` and `reset` are absent.
    /// - **Limits** `D` from 8 to 512, a power of two; bits of `shift` that are too large for `D` are not read.
    pub struct Rotate<const D: usize> {
        pub data: Signal<In, Bits<D>>,
        pub shift: Signal<In, Bits<6>>,
        pub rotated: Signal<Out, Bits<D>>,
        step: [Signal<Local, Bits<D>>; 7],
        is_step: [Constant<Bit>; STEPS] = constants(|step| 8_usize << step < D),
        up: [Constant<Bits<10>>; STEPS] = constants(|step| (8_u64 << step).into()),
        down: [Constant<Bits<10>>; STEPS] = std::array::from_fn(|step| number(D.saturating_sub(8 << step))),
    }
}

impl<const D: usize> Logic for Rotate<D> {
    #[hdl_gen]
    #[expect(clippy::collapsible_if, reason = "the outer condition is a constant, which the emitter folds")]
    fn update(&mut self) {
        self.step[0].next = self.data.val();
        for i in 0..6 {
            self.step[i + 1].next = self.step[i].val();
            if self.is_step[i].val() {
                if self.shift.val().get_bit(i) {
                    self.step[i + 1].next =
                        (self.step[i].val() << self.up[i].val()) | (self.step[i].val() >> self.down[i].val());
                }
            }
        }
        self.rotated.next = self.step[6].val();
    }
}
