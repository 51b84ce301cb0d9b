//! All: several answers are awaited, and one is given.

use rust_hdl::prelude::*;

use super::reg::Reg;

block! {
    /// Waits for one pulse of each of `N`, from a beginning on.
    ///
    /// - **Ports** `begins`: one cycle; `ends[i]`: a pulse of each, in the cycle of `begins` or later; `ended`: one cycle, the last of them has come.
    /// - **Latency** 1 cycle. **Rate** one wait at a time; the next may begin in the cycle of `ended`.
    /// - **Reset** nothing is awaited.
    /// - **Limits** pulses that nobody awaits are not seen.
    pub struct All<const N: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub begins: Signal<In, Bit>,
        pub ends: [Signal<In, Bit>; N] = std::array::from_fn(|_| Signal::default()),
        pub ended: Signal<Out, Bit>,
        awaited: Reg<Bits<N>>,
        is_waiting: Reg<Bit>,
        left: Signal<Local, Bits<N>>,
        waits: Signal<Local, Bit>,
        everyone: Constant<Bits<N>> = Constant::new(Bits::mask()),
    }
}

impl<const N: usize> Logic for All<N> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, awaited, is_waiting);
        self.ended.next = self.is_waiting.q.val() & !self.awaited.q.val().any();
        self.waits.next = self.is_waiting.q.val() & self.awaited.q.val().any();
        self.left.next = self.awaited.q.val();
        if self.begins.val() {
            self.waits.next = true;
            self.left.next = self.everyone.val();
        }
        for i in 0..N {
            if self.ends[i].val() {
                self.left.next = self.left.val().replace_bit(i, false);
            }
        }
        self.awaited.d.next = self.left.val();
        self.is_waiting.d.next = self.waits.val();
        if self.reset.val() {
            self.is_waiting.d.next = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use stroma_verilate::{Bench, SplitMix64};

    use super::*;
    use crate::testing::{read, verilated};

    const N: usize = 3;

    fn step(bench: &mut Bench, begins: bool, ends: [bool; N]) -> bool {
        let mut set = |name: &str, level: bool| {
            let port = bench.model().port(name).expect("a port");
            bench.model_mut().set(port, level.into());
        };
        set("begins", begins);
        (0..N).for_each(|way| set(&format!("ends${way}"), ends[way]));
        bench.step();
        read(bench, "ended")
    }

    #[test]
    fn one_answer_comes_a_cycle_after_the_last_of_all() {
        let mut bench = verilated("all", All::<N>::default);
        bench.reset(1);
        let mut rng = SplitMix64::new(1);
        assert!(!step(&mut bench, false, [true; N]), "nobody waits");
        for _ in 0..500 {
            let due: [u64; N] = std::array::from_fn(|_| rng.below(6));
            let last = due.into_iter().max().expect("some");
            for cycle in 0..=last {
                let ends = due.map(|due| due == cycle);
                assert_eq!(step(&mut bench, cycle == 0, ends), cycle == last);
            }
            for _ in 0..rng.below(3) {
                assert!(!step(&mut bench, false, [false; N]), "one answer only");
            }
        }
    }
}
