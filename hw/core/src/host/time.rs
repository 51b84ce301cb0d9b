//! The card's clock: cycles since reset.

use rust_hdl::prelude::*;

use crate::prim::own_clock::OwnClock;
use crate::prim::reg::Reg;

block! {
    /// Counts cycles.
    ///
    /// - **Ports** `skip`: cycles that the next edge counts on top of itself; 0 on a board, and in a simulation whatever quiet
    ///   time it did not evaluate. `time`: cycles counted.
    /// - **Reset** begins at 0.
    pub struct Time {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub skip: Signal<In, Bits<32>>,
        pub time: Signal<Out, Bits<64>>,
        cycles: Reg<Bits<64>>,
        own_clock: OwnClock,
    }
}

impl Logic for Time {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, cycles);
        self.time.next = self.cycles.q.val();
        self.cycles.d.next = self.cycles.q.val() + bit_cast::<64, 32>(self.skip.val()) + 1;
        if self.reset.val() {
            self.cycles.d.next = 0.into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{read, verilated};

    #[test]
    fn a_skipped_cycle_counts_like_any_other() {
        let mut bench = verilated("time_of_day", Time::default);
        bench.reset(1);
        let skip = bench.model().port("skip").expect("a port");
        for (skipped, expected) in
            [(0, 1), (0, 2), (10, 13), (u64::from(u32::MAX), 13 + (1 << 32)), (0, 14 + (1 << 32))]
        {
            bench.model_mut().set(skip, skipped);
            bench.step();
            assert_eq!(read::<Bits<64>>(&bench, "time_"), Bits::from(expected));
        }
    }
}
