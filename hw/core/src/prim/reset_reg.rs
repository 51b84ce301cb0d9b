//! The register from which many blocks are reset.

use rust_hdl::prelude::*;

use super::own_clock::OwnClock;
use super::reg::Reg;

block! {
    /// One bit that shows `d` a cycle later, for a net that goes to many blocks.
    ///
    /// All logic that is reset depends on it. In a clock domain of its own it wakes that logic when it changes, and not whenever
    /// something beside it moves.
    ///
    /// - **Ports** as of [`Reg`]. **Latency** 1 cycle. **Reset** none.
    pub struct ResetReg {
        pub d: Signal<In, Bit>,
        pub q: Signal<Out, Bit>,
        pub clock: Signal<In, Clock>,
        bit: Reg<Bit>,
        own_clock: OwnClock,
    }
}

impl Logic for ResetReg {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, bit);
        self.bit.d.next = self.d.val();
        self.q.next = self.bit.q.val();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{read, verilated};

    #[test]
    fn a_bit_comes_a_cycle_later() {
        let mut bench = verilated("reset_reg", ResetReg::default);
        let port = bench.model().port("d").expect("a port");
        for level in [true, true, false, true, false, false] {
            bench.model_mut().set(port, level.into());
            bench.step();
            assert_eq!(read::<bool>(&bench, "q"), level);
        }
    }
}
