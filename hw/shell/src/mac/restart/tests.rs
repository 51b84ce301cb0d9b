//! Both sides stop, clear and go on together, whichever reset comes and whenever.

use std::sync::OnceLock;

use stroma_verilate::{SplitMix64, Verilog as Design};

use super::Restart;
use crate::mac::testing::{CLOCKS, CORE, Clocked, MAC, design};

/// Watches the rules at every edge.
struct Watched {
    clocked: Clocked,
    /// Cycles of each clock in which both sides have cleared, in the present restart.
    together: [u64; 2],
    restarts: usize,
}

impl Watched {
    fn new(clocks: (u64, u64, u64)) -> Self {
        static DESIGN: OnceLock<Design> = OnceLock::new();
        let mut clocked = Clocked::new(DESIGN.get_or_init(|| design("restart", Restart::default)), clocks);
        clocked.start();
        Self { clocked, together: [0; 2], restarts: 0 }
    }

    fn levels(&self) -> [bool; 4] {
        ["stops", "clears", "mac_stops", "mac_clears"].map(|name| self.clocked.get(name) == 1)
    }

    fn step(&mut self) {
        let rises = self.clocked.next();
        let [_, was_clearing, _, was_mac_clearing] = self.levels();
        self.clocked.edge();
        let [stops, clears, mac_stops, mac_clears] = self.levels();
        assert!(!clears || (stops && mac_stops), "the core clears while a side runs");
        assert!(!mac_clears || (stops && mac_stops), "the MAC's side clears while a side runs");
        if was_clearing && was_mac_clearing {
            for side in [CORE, MAC] {
                self.together[side] += u64::from(rises[side]);
            }
        }
        if was_mac_clearing && !mac_clears {
            assert!(!clears, "the MAC's side went on first");
            assert!(self.together.iter().all(|cycles| *cycles > 4), "{:?}", self.together);
            self.together = [0; 2];
            self.restarts += 1;
        }
    }

    fn steps(&mut self, count: u64) {
        (0..count).for_each(|_| self.step());
    }
}

#[test]
fn a_reset_of_either_side_restarts_both_once() {
    for clocks in CLOCKS {
        for side in [CORE, MAC] {
            for cycles in [1, 2, 40] {
                let mut watched = Watched::new(clocks);
                assert_eq!(watched.levels(), [false; 4], "{clocks:?}: all runs behind the first");
                watched.clocked.pulse(side, cycles);
                let [stops, _, mac_stops, _] = watched.levels();
                assert!([stops, mac_stops][side], "from the cycle of the reset on");
                watched.steps(400);
                assert_eq!((watched.levels(), watched.restarts), ([false; 4], 1), "{clocks:?}");
            }
        }
    }
}

#[test]
fn a_reset_that_lasts_keeps_both_sides_cleared() {
    for clocks in CLOCKS {
        for side in [CORE, MAC] {
            let mut watched = Watched::new(clocks);
            watched.clocked.pulse(side, 2000);
            watched.steps(500);
            assert_eq!(watched.levels(), [true; 4], "{clocks:?}");
        }
    }
}

#[test]
fn resets_at_any_time_and_in_any_order_end_with_both_sides_running() {
    for (clocks, seed) in CLOCKS.into_iter().zip(1..) {
        let (mut watched, mut rng) = (Watched::new(clocks), SplitMix64::new(seed));
        for _ in 0..300 {
            let side = usize::from(rng.below(2) == 1);
            watched.clocked.pulse(side, 1 + rng.below(5));
            watched.steps(rng.below(150));
        }
        watched.steps(400);
        assert_eq!(watched.levels(), [false; 4], "{clocks:?}");
        assert!(watched.restarts > 60, "{clocks:?}: {}", watched.restarts);
    }
}

#[test]
fn a_clock_that_stands_still_delays_a_restart_and_does_not_spoil_it() {
    for clocks in CLOCKS {
        for side in [CORE, MAC] {
            let mut watched = Watched::new(clocks);
            let period = [clocks.0, clocks.1][1 - side];
            watched.clocked.stand(side, 1000 * period);
            watched.clocked.pulse(1 - side, 2);
            watched.steps(500);
            let levels = watched.levels();
            assert!(levels[2 * (1 - side)] && !levels[2 * (1 - side) + 1], "it waits, stopped");
            watched.steps(1500);
            assert_eq!((watched.levels(), watched.restarts), ([false; 4], 1), "{clocks:?}");
        }
    }
}
