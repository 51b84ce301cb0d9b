//! Departures: have those that were told before some moment been heard?

use rust_hdl::prelude::*;

use crate::prim::reg::Reg;

block! {
    /// Counts what is told of departed frames, and what is heard of it.
    ///
    /// A queue pair that begins anew gives its first frames the numbers of old ones. So before it does, nothing may be left on
    /// its way that says of an old one that it has gone.
    ///
    /// - **Ports** `told`, `heard`: a departure is told, the oldest is heard; each high for a cycle. `drain`: one cycle; `drained`: one
    ///   cycle, all that were told up to and with the cycle of `drain` are heard.
    /// - **Latency** `drained` comes 1 cycle after the last is heard, or after `drain` if nothing is on its way.
    /// - **Reset** nothing is on its way, no answer is due.
    /// - **Limits** at most 255 are on their way: their queues are shorter. A `drain` while another waits for its answer
    ///   begins the wait anew, for one answer.
    pub struct Departures {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub told: Signal<In, Bit>,
        pub heard: Signal<In, Bit>,
        pub drain: Signal<In, Bit>,
        pub drained: Signal<Out, Bit>,
        told_count: Reg<Bits<8>>,
        heard_count: Reg<Bits<8>>,
        /// As many have to be heard.
        awaited: Reg<Bits<8>>,
        is_waiting: Reg<Bit>,
        ends: Signal<Local, Bit>,
    }
}

impl Logic for Departures {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, told_count, heard_count, awaited, is_waiting);
        self.told_count.d.next = self.told_count.q.val() + self.told.val();
        self.heard_count.d.next = self.heard_count.q.val() + self.heard.val();
        self.ends.next = self.is_waiting.q.val() & (self.heard_count.q.val() == self.awaited.q.val());
        self.drained.next = self.ends.val();
        if self.ends.val() {
            self.is_waiting.d.next = false;
        }
        if self.drain.val() {
            self.is_waiting.d.next = true;
            self.awaited.d.next = self.told_count.q.val() + self.told.val();
        }
        if self.reset.val() {
            self.told_count.d.next = 0.into();
            self.heard_count.d.next = 0.into();
            self.is_waiting.d.next = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use stroma_verilate::{Bench, SplitMix64};

    use super::*;
    use crate::testing::{read, verilated};

    fn step(bench: &mut Bench, inputs: [bool; 3]) -> bool {
        for (name, level) in ["told", "heard", "drain"].into_iter().zip(inputs) {
            let port = bench.model().port(name).expect("a port");
            bench.model_mut().set(port, level.into());
        }
        bench.step();
        read(bench, "drained")
    }

    #[test]
    fn agrees_with_the_model() {
        let mut bench = verilated("departures", Departures::default);
        let mut rng = SplitMix64::new(1);
        for _ in 0..4 {
            bench.reset(1);
            let (mut told, mut heard, mut awaited) = (0_u32, 0_u32, None);
            let mut answers = 0;
            for _ in 0..4000 {
                let is_told = told < heard + 20 && rng.below(3) == 0;
                told += u32::from(is_told);
                let is_heard = heard < told && rng.below(3) == 0;
                heard += u32::from(is_heard);
                let drains = awaited.is_none() && rng.below(9) == 0;
                if drains {
                    awaited = Some(told);
                }
                let drained = awaited.is_some_and(|awaited| heard >= awaited);
                assert_eq!(step(&mut bench, [is_told, is_heard, drains]), drained);
                if drained {
                    (awaited, answers) = (None, answers + 1);
                }
            }
            assert!(answers > 100);
        }
    }

    #[test]
    fn what_is_told_in_the_cycle_of_the_question_counts_and_later_ones_do_not() {
        let mut bench = verilated("departures", Departures::default);
        bench.reset(1);
        assert!(step(&mut bench, [false, false, true]), "nothing is on its way");
        assert!(!step(&mut bench, [true, false, true]));
        assert!(!step(&mut bench, [true, false, false]));
        assert!(step(&mut bench, [false, true, false]));
        assert!(!step(&mut bench, [false, true, false]), "one answer");
        step(&mut bench, [true, false, true]);
        bench.reset(1);
        assert!(step(&mut bench, [false, false, true]), "reset forgets");
    }
}
