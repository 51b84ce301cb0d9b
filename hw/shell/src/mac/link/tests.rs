//! The link comes up in the order that the MAC wants, and the core hears of each time it goes down.

use std::sync::OnceLock;

use stroma_verilate::{SplitMix64, Verilog as Design};

use super::Link;
use crate::mac::testing::{CLOCKS, CORE, Clocked, MAC, design};

const STATUS: [&str; 3] = ["stat_rx_aligned", "stat_rx_local_fault", "stat_rx_remote_fault"];
const WELL: [u64; 3] = [1, 0, 0];

/// The twin, on the MAC's clock: its registers, one cycle after the other.
#[derive(Default)]
struct Twin {
    status: [u64; 3],
    was_aligned: bool,
    steady: u64,
    is_up: bool,
    /// How often `is_up` fell.
    falls: u64,
}

impl Twin {
    fn step(&mut self, pins: [u64; 3]) {
        let is_well = self.status == WELL;
        let was_up = self.is_up;
        self.is_up = is_well && self.steady == 255;
        self.steady = if is_well { (self.steady + 1).min(255) } else { 0 };
        self.falls += u64::from(was_up && !self.is_up);
        self.was_aligned = self.status[0] == 1;
        self.status = pins;
    }

    fn reset(&mut self) {
        *self = Self { falls: self.falls + u64::from(self.is_up), ..Self::default() };
    }
}

fn link(clocks: (u64, u64, u64)) -> Clocked {
    static DESIGN: OnceLock<Design> = OnceLock::new();
    let mut clocked = Clocked::new(DESIGN.get_or_init(|| design("link", Link::default)), clocks);
    for name in STATUS {
        clocked.set(name, 0);
    }
    clocked.set("pauses", 0);
    clocked.start();
    clocked
}

fn show(clocked: &mut Clocked, pins: [u64; 3]) {
    STATUS.into_iter().zip(pins).for_each(|(name, level)| clocked.set(name, level));
}

fn steps(clocked: &mut Clocked, count: usize) {
    (0..count).for_each(|_| clocked.edge());
}

#[test]
fn agrees_with_the_model_and_every_fall_is_counted() {
    for (clocks, seed) in CLOCKS.into_iter().zip(1..) {
        let (mut clocked, mut rng, mut twin) = (link(clocks), SplitMix64::new(seed), Twin::default());
        let before = clocked.get("downs");
        let (mut pins, mut left) = ([0; 3], 0);
        for _ in 0..60_000 {
            let [_, mac_rises] = clocked.next();
            clocked.edge();
            if !mac_rises {
                continue;
            }
            twin.step(pins);
            let levels =
                ["ctl_rx_enable", "ctl_tx_enable", "ctl_tx_send_rfi", "is_up"].map(|name| clocked.get(name));
            let aligned = u64::from(twin.was_aligned);
            assert_eq!(levels, [1, aligned, 1 - aligned, twin.is_up.into()], "{clocks:?}");
            if left == 0 {
                // Well for long enough that the core sees it, or almost, or some fault for a cycle or more.
                let is_well = pins != WELL;
                let steady =
                    [200 + rng.below(50), 300 + rng.below(50)][usize::try_from(rng.below(2)).unwrap()];
                left = if is_well { steady } else { 1 + rng.below(20) };
                let fault =
                    [[0, 0, 0], [0, 1, 0], [1, 1, 0], [1, 0, 1]][usize::try_from(rng.below(4)).unwrap()];
                pins = if is_well { WELL } else { fault };
                show(&mut clocked, pins);
            }
            left -= 1;
        }
        show(&mut clocked, WELL);
        steps(&mut clocked, 2000);
        assert_eq!(clocked.get("link_up"), 1);
        assert_eq!(clocked.get("downs"), before + twin.falls, "{clocks:?}");
        assert!(twin.falls > 20, "{}", twin.falls);
    }
}

#[test]
fn the_core_sees_every_level() {
    for clocks in CLOCKS {
        let mut clocked = link(clocks);
        for pins in [[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 0, 0]] {
            show(&mut clocked, pins);
            steps(&mut clocked, 100);
            assert_eq!(["aligned", "local_fault", "remote_fault"].map(|name| clocked.get(name)), pins);
        }
        for level in [1, 0] {
            clocked.set("pauses", level);
            steps(&mut clocked, 100);
            assert_eq!(clocked.get("tx_pause"), level);
        }
    }
}

#[test]
fn a_reset_of_the_mac_takes_the_link_down_and_one_of_the_core_forgets_the_count() {
    for clocks in CLOCKS {
        let (mut clocked, mut twin) = (link(clocks), Twin::default());
        show(&mut clocked, WELL);
        (0..400).for_each(|_| twin.step(WELL));
        steps(&mut clocked, 2500);
        // Noise in the registers may have looked like a link.
        let before = clocked.get("downs");
        assert_eq!((clocked.get("link_up"), twin.is_up), (1, true));
        clocked.pulse(MAC, 5);
        twin.reset();
        clocked.edge();
        while !clocked.next()[MAC] {
            clocked.edge();
        }
        clocked.edge();
        assert_eq!(
            ["ctl_rx_enable", "ctl_tx_enable", "ctl_tx_send_rfi", "is_up"].map(|name| clocked.get(name)),
            [0, 0, 1, 0]
        );
        steps(&mut clocked, 2500);
        assert_eq!((clocked.get("link_up"), clocked.get("downs")), (1, before + twin.falls), "{clocks:?}");
        clocked.pulse(CORE, 2);
        steps(&mut clocked, 20);
        assert_eq!((clocked.get("link_up"), clocked.get("downs")), (1, 0), "the link stays as it is");
    }
}
