//! A counter that the host may read: other blocks tell what happens by pulses.

use rust_hdl::prelude::*;

use crate::prim::reg::Reg;

block! {
    /// Counts the pulses of `N` inputs together.
    ///
    /// - **Ports** `pulses`: any number of them in one cycle; `value`: how many there were since reset; wraps.
    /// - **Latency** 2 cycles. **Rate** `N` pulses per cycle.
    /// - **Reset** begins at 0.
    /// - **Limits** `N` at most 127.
    pub struct Counter<const N: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub pulses: [Signal<In, Bit>; N] = std::array::from_fn(|_| Signal::default()),
        pub value: Signal<Out, Bits<64>>,
        /// Pulses of the cycle before: the long sum has a cycle of its own.
        fresh: Reg<Bits<7>>,
        total: Reg<Bits<64>>,
        sum: Signal<Local, Bits<7>>,
    }
}

impl<const N: usize> Logic for Counter<N> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, fresh, total);
        self.sum.next = 0.into();
        for i in 0..N {
            if self.pulses[i].val() {
                self.sum.next = self.sum.val() + 1;
            }
        }
        self.fresh.d.next = self.sum.val();
        self.total.d.next = self.total.q.val() + bit_cast::<64, 7>(self.fresh.q.val());
        self.value.next = self.total.q.val();
        if self.reset.val() {
            self.fresh.d.next = 0.into();
            self.total.d.next = 0.into();
        }
    }
}

#[cfg(test)]
mod tests {
    use stroma_verilate::SplitMix64;

    use super::Counter;
    use crate::testing::{read, verilated};
    use rust_hdl::prelude::Bits;

    const INPUTS: usize = 5;

    #[test]
    fn agrees_with_the_model_and_recovers_from_reset() {
        let mut bench = verilated("counter", Counter::<INPUTS>::default);
        let pulses: Vec<_> = (0..INPUTS)
            .map(|input| bench.model().port(&format!("pulses${input}")).expect("the port exists"))
            .collect();
        for seed in 0..3 {
            for port in &pulses {
                bench.model_mut().set(*port, 1);
            }
            bench.reset(1);
            let (mut rng, mut total, mut fresh) = (SplitMix64::new(seed), 0_u64, 0);
            for cycle in 0..300 {
                let mut now = 0;
                for port in &pulses {
                    let pulse = rng.below(2);
                    bench.model_mut().set(*port, pulse);
                    now += pulse;
                }
                bench.step();
                total += std::mem::replace(&mut fresh, now);
                assert_eq!(u64::from(read::<Bits<64>>(&bench, "value")), total, "cycle {cycle}");
            }
            assert!(total > 500, "hardly anything was counted");
        }
    }
}
