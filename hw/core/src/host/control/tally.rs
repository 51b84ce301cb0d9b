//! A counter for each kernel slot: other blocks tell what happens by pulses, and memory holds the numbers.

use rust_hdl::prelude::*;

use super::kernels::{SLOT_BITS, SLOTS};
use crate::prim::ram::LutRam;
use crate::prim::reg::Reg;

/// Bits for what is new of a slot: two pulses a cycle, from one turn to the next.
const NEWS_BITS: usize = 6;

const _: () = assert!(2 * SLOTS < 1 << NEWS_BITS);

block! {
    /// Counts pulses, for each slot of its own.
    ///
    /// A slot has a few bits for what is new. While anything is, slots take turns, and what is new of the one in turn is added to its number in
    /// memory: one long sum, however many slots there are. A bit for each says that its number is of since reset; without it the number counts
    /// as zero, so nothing has to be scrubbed.
    ///
    /// - **Ports** `pulses`, `others`: a bit for each slot, each of which counts; `look`, `value`: a slot, and how many there were since
    ///   reset; wraps.
    /// - **Latency** 3 to 18 cycles from a pulse to `value`, 0 from `look`. **Rate** two pulses per slot and cycle.
    /// - **Reset** begins at 0.
    pub struct Tally {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub pulses: Signal<In, Bits<SLOTS>>,
        pub others: Signal<In, Bits<SLOTS>>,
        pub look: Signal<In, Bits<SLOT_BITS>>,
        pub value: Signal<Out, Bits<64>>,
        news: [Reg<Bits<NEWS_BITS>>; SLOTS],
        turn: Reg<Bits<SLOT_BITS>>,
        /// The slot whose turn it was, what was new of it, and its number before.
        last: Reg<Bits<SLOT_BITS>>,
        fresh: Reg<Bits<NEWS_BITS>>,
        old: Reg<Bits<64>>,
        is_counted: Reg<Bits<SLOTS>>,
        kept: LutRam<Bits<64>, SLOT_BITS>,
        shown: LutRam<Bits<64>, SLOT_BITS>,
        sum: Signal<Local, Bits<NEWS_BITS>>,
        is_new: Signal<Local, Bit>,
        adds: Signal<Local, Bit>,
        total: Signal<Local, Bits<64>>,
    }
}

impl Logic for Tally {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, kept, shown);
        dff_setup!(self, clock, turn, last, fresh, old, is_counted);
        self.fresh.d.next = 0.into();
        self.is_new.next = false;
        for i in 0..SLOTS {
            self.news[i].clock.next = self.clock.val();
            self.sum.next = 0.into();
            if self.pulses.val().get_bit(i) {
                self.sum.next = 1.into();
            }
            if self.others.val().get_bit(i) {
                self.sum.next = self.sum.val() + 1;
            }
            self.is_new.next = self.is_new.val() | self.news[i].q.val().any();
            self.news[i].d.next = self.news[i].q.val() + self.sum.val();
            if self.turn.q.val().index() == i {
                self.fresh.d.next = self.news[i].q.val();
                self.news[i].d.next = self.sum.val();
            }
            if self.reset.val() {
                self.news[i].d.next = 0.into();
            }
        }
        if self.is_new.val() {
            self.turn.d.next = self.turn.q.val() + 1;
        }

        // The long sum has a cycle of its own; the same slot's next turn is later.
        self.kept.read_address.next = self.turn.q.val();
        self.old.d.next = 0.into();
        if self.is_counted.q.val().get_bit(self.turn.q.val().index()) {
            self.old.d.next = self.kept.read_data.val();
        }
        self.last.d.next = self.turn.q.val();
        self.adds.next = self.fresh.q.val().any();
        self.total.next = self.old.q.val() + bit_cast::<64, 6>(self.fresh.q.val());
        self.kept.write_enable.next = self.adds.val();
        self.kept.write_address.next = self.last.q.val();
        self.kept.write_data.next = self.total.val();
        self.shown.write_enable.next = self.adds.val();
        self.shown.write_address.next = self.last.q.val();
        self.shown.write_data.next = self.total.val();
        if self.adds.val() {
            self.is_counted.d.next = self.is_counted.q.val().replace_bit(self.last.q.val().index(), true);
        }

        self.shown.read_address.next = self.look.val();
        self.value.next = 0.into();
        if self.is_counted.q.val().get_bit(self.look.val().index()) {
            self.value.next = self.shown.read_data.val();
        }
        if self.reset.val() {
            self.turn.d.next = 0.into();
            self.fresh.d.next = 0.into();
            self.is_counted.d.next = 0.into();
        }
    }
}

#[cfg(test)]
mod tests {
    use rust_hdl::prelude::Bits;
    use stroma_verilate::{Bench, SplitMix64};

    use super::*;
    use crate::testing::{read, verilated};

    /// Cycles behind which a pulse is counted.
    const LATENCY: usize = 18;

    fn set(bench: &mut Bench, port: &str, value: u64) {
        let id = bench.model().port(port).expect("the port exists");
        bench.model_mut().set(id, value);
    }

    fn value(bench: &mut Bench, slot: usize) -> u64 {
        set(bench, "look", slot as u64);
        bench.model_mut().eval();
        read::<Bits<64>>(bench, "value").into()
    }

    /// A cycle with these pulses, which the model counts.
    fn step(bench: &mut Bench, counts: &mut [u64; SLOTS], [pulses, others]: [u64; 2]) {
        set(bench, "pulses", pulses);
        set(bench, "others", others);
        bench.step();
        for (slot, count) in counts.iter_mut().enumerate() {
            *count += (pulses >> slot & 1) + (others >> slot & 1);
        }
    }

    fn fresh(bench: &mut Bench) -> [u64; SLOTS] {
        set(bench, "pulses", 0xffff);
        set(bench, "others", 0xffff);
        bench.reset(1);
        [0; SLOTS]
    }

    #[test]
    fn agrees_with_the_model_and_recovers_from_reset() {
        let mut bench = verilated("tally", Tally::default);
        // Out of how many cycles a slot has a pulse.
        for (seed, rarity) in [(1, 1), (2, 2), (3, 40), (4, 1)] {
            let (mut rng, mut counts) = (SplitMix64::new(seed), fresh(&mut bench));
            let mut before = Vec::new();
            for cycle in 0..600 {
                let mut bits =
                    || (0..SLOTS).fold(0, |bits, slot| bits | u64::from(rng.below(rarity) == 0) << slot);
                step(&mut bench, &mut counts, [bits(), bits()]);
                before.push(counts);
                // A number is not ahead of the pulses, nor further behind than promised.
                for slot in 0..SLOTS {
                    let found = value(&mut bench, slot);
                    let least = before.len().checked_sub(LATENCY + 1).map_or(0, |at| before[at][slot]);
                    assert!((least..=counts[slot]).contains(&found), "slot {slot}, cycle {cycle}");
                }
            }
            assert!(counts.iter().all(|count| *count > 5), "hardly anything was counted");
            (0..LATENCY).for_each(|_| step(&mut bench, &mut counts, [0, 0]));
            for (slot, count) in counts.iter().enumerate() {
                assert_eq!(value(&mut bench, slot), *count, "slot {slot}, seed {seed}");
            }
        }
    }

    #[test]
    fn a_pulse_is_counted_in_time_whoever_has_it() {
        let mut bench = verilated("tally", Tally::default);
        let mut counts = fresh(&mut bench);
        let mut latencies = Vec::new();
        for slot in (0..SLOTS).chain((0..SLOTS).rev()) {
            step(&mut bench, &mut counts, [1 << slot, 0]);
            let mut cycles = 1;
            while value(&mut bench, slot) < counts[slot] {
                step(&mut bench, &mut counts, [0, 0]);
                cycles += 1;
            }
            latencies.push(cycles);
            assert_eq!(value(&mut bench, slot), counts[slot]);
        }
        assert_eq!((latencies.iter().min(), latencies.iter().max()), (Some(&3), Some(&LATENCY)));
    }
}
