//! A card and a golden endpoint, or two cards, on a wire with faults: one run of random traffic from a seed.

#![expect(clippy::missing_panics_doc, reason = "a run that is not as expected panics")]

use std::sync::Arc;

use stroma_abi::regs::Reg;
use stroma_abi::regs::map::counters;
use stroma_sim::link::{Chance, Counters, Faults, Hold, LinkConfig};
use stroma_sim::peer::Golden;
use stroma_sim::{Shared, World};
use stroma_top::Profile;
use stroma_verilate::Options;

use crate::traffic::{self, CardSide, GoldenSide, Receivers};

/// Who stands at the far end of the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Far {
    /// A golden endpoint, in plain Rust.
    Golden,
    /// Another card.
    Card,
}

/// What became of a run.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// Cycles it took.
    pub cycles: u64,
    /// What became of the frames of either line.
    pub lines: [Counters; 2],
    /// Packets that the card sent again.
    pub retransmitted: u64,
    /// Its timers that ran out.
    pub timeouts: u64,
    /// Requests it received again.
    pub duplicates: u64,
}

/// So many of a hundred frames lost, as many duplicated, and as many overtaken.
#[must_use]
pub fn faults(seed: u64, percent: u32) -> Faults {
    let chance = Chance::percent(percent);
    Faults {
        seed,
        loss: chance,
        duplication: chance,
        reordering: chance,
        hold: Hold { frames: 3, ns: 20_000 },
        ..Faults::default()
    }
}

/// Random operations of all kinds of both sides, over 16 queue pairs. Every operation completes once, in order, with success,
/// every message completes one receive, and both memories are as a plain copy says. On a perfect wire receives are posted
/// in time, so that nothing need be sent twice; on a bad one also too late.
#[must_use]
pub fn run(profile: Profile, far: Far, seed: u64, operations: u64, percent: u32) -> Outcome {
    let options = Options { seed, ..Options::default() };
    let cards = if far == Far::Card { 2 } else { 1 };
    let mut world = World::new(profile, cards, &options).unwrap_or_else(|error| panic!("{error}"));
    if far == Far::Golden {
        world.add_peer(Box::new(Golden::default()));
    }
    world.cable(0, 1, LinkConfig::cable(profile));
    for station in 0..2 {
        world.line(station).set_faults(faults(2 * seed + station as u64, percent));
    }
    let shared = Shared::new(world);
    let mut near = CardSide::new(&shared, 0, 0);
    let start = shared.world().now();
    let receivers = if percent == 0 { Receivers::Ready } else { Receivers::Late };
    match far {
        Far::Golden => {
            let mut far = GoldenSide::new(&shared, 1, 1);
            traffic::run(&shared, [&mut near, &mut far], seed, operations, receivers);
        }
        Far::Card => {
            let mut far = CardSide::new(&shared, 1, 1);
            traffic::run(&shared, [&mut near, &mut far], seed, operations, receivers);
        }
    }
    outcome(&shared, &near, start)
}

fn outcome(shared: &Arc<Shared>, near: &CardSide, start: u64) -> Outcome {
    let count = |reg: &Reg| near.device().card().read(&counters::BLOCK, reg).expect("a register");
    let (retransmitted, timeouts, duplicates) =
        (count(&counters::RETRANSMITTED), count(&counters::TIMEOUTS), count(&counters::DUPLICATES));
    let mut world = shared.world();
    Outcome {
        cycles: world.now() - start,
        lines: [0, 1].map(|station| world.line(station).counters()),
        retransmitted,
        timeouts,
        duplicates,
    }
}
