//! Pulses of one clock, counted on the other.

use std::sync::OnceLock;

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_verilate::{SplitMix64, Verilog as Design};

use super::Tally;
use crate::mac::restart::Restart;
use crate::mac::testing::{CLOCKS, CORE, Clocked, MAC, design};

block! {
    /// A tally with the restart that it needs.
    pub struct Counted {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub count: Signal<Out, Bits<32>>,
        pub mac_clock: Signal<In, Clock>,
        pub mac_reset: Signal<In, Bit>,
        pub happens: Signal<In, Bit>,
        restart: Restart,
        tally: Tally,
    }
}

impl Logic for Counted {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, restart, tally);
        self.restart.reset.next = self.reset.val();
        self.tally.reset.next = self.reset.val();
        self.restart.mac_clock.next = self.mac_clock.val();
        self.tally.mac_clock.next = self.mac_clock.val();
        self.restart.mac_reset.next = self.mac_reset.val();
        self.tally.stops.next = self.restart.stops.val();
        self.tally.mac_clears.next = self.restart.mac_clears.val();
        self.tally.happens.next = self.happens.val();
        self.count.next = self.tally.count.val();
    }
}

fn counted(clocks: (u64, u64, u64)) -> Clocked {
    static DESIGN: OnceLock<Design> = OnceLock::new();
    let mut clocked = Clocked::new(DESIGN.get_or_init(|| design("counted", Counted::default)), clocks);
    clocked.set("happens", 0);
    clocked.start();
    clocked
}

/// Some edges, with pulses in a share of the MAC's cycles; how many there were.
fn pulses(clocked: &mut Clocked, rng: &mut SplitMix64, edges: usize, percent: u64) -> u64 {
    let mut count = 0;
    for _ in 0..edges {
        let [_, mac_rises] = clocked.next();
        clocked.edge();
        if mac_rises {
            count += clocked.get("happens");
            clocked.set("happens", (rng.below(100) < percent).into());
        }
    }
    count
}

/// Until no pulse is under way.
fn rest(clocked: &mut Clocked, rng: &mut SplitMix64) -> u64 {
    pulses(clocked, rng, 200, 0)
}

#[test]
fn every_pulse_is_counted_at_every_clock_ratio_and_share() {
    for clocks in CLOCKS {
        let (mut clocked, mut rng, mut sum) = (counted(clocks), SplitMix64::new(1), 0);
        for percent in [1, 30, 100, 5, 0] {
            sum += pulses(&mut clocked, &mut rng, 3000, percent) + rest(&mut clocked, &mut rng);
            assert_eq!(clocked.get("count"), sum, "{clocks:?} {percent}");
        }
        assert!(sum > 1000);
    }
}

#[test]
fn resets_of_either_side_invent_nothing() {
    for clocks in CLOCKS {
        let (mut clocked, mut rng) = (counted(clocks), SplitMix64::new(2));
        for round in 0..60 {
            let before = clocked.get("count");
            let came = pulses(&mut clocked, &mut rng, 300, 40) + rest(&mut clocked, &mut rng);
            assert_eq!(clocked.get("count"), before + came, "{clocks:?} {round}");
            let side = [CORE, MAC][round % 2];
            clocked.pulse(side, 1 + rng.below(4));
            rest(&mut clocked, &mut rng);
            let after = clocked.get("count");
            assert_eq!(after, if side == CORE { 0 } else { before + came }, "{clocks:?} {round}");
        }
    }
}
