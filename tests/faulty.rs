//! A card and a golden endpoint, or two cards, on a wire with faults: one run of random traffic from a seed.

#![expect(clippy::missing_panics_doc, reason = "a run that is not as expected panics")]

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use stroma_abi::regs::Reg;
use stroma_abi::regs::map::counters;
use stroma_abi::wire::Frame;
use stroma_sim::link::{Chance, Counters, Faults, Hold, LinkConfig, Script, Verdict};
use stroma_sim::peer::Golden;
use stroma_sim::{Shared, World, pcap};
use stroma_top::Profile;
use stroma_verilate::{Options, SplitMix64};

use crate::traffic::{self, Account, CardSide, GoldenSide, Plan, Receivers, Services, Side, Terms, Wire};

/// Who stands at the far end of the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Far {
    /// A golden endpoint, in plain Rust.
    Golden,
    /// Another card.
    Card,
}

/// What became of a run.
#[derive(Clone, Debug)]
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
    /// Packets it threw away, because the messages they belong to may be lost.
    pub dropped: u64,
    /// Packets that were for nobody.
    pub unwanted: u64,
    /// What the card and the far end posted, and what became of it.
    pub accounts: [Account; 2],
}

impl Outcome {
    /// What was posted at both ends together, and what became of it.
    #[must_use]
    pub fn account(&self) -> Account {
        let mut account = Account::default();
        self.accounts.iter().for_each(|one| account.add(one));
        account
    }
}

/// Of a hundred frames, those that are lost by chance alone, and those that are doubled or overtaken, at most.
const MILD: u32 = 5;
/// Frames to one queue pair that a worse wire loses in a row.
const IN_A_ROW: u32 = 2;

/// Loses so many of a hundred frames, but never more than [`IN_A_ROW`] to one queue pair.
///
/// Eight tries are all that a message has. Where chance loses a quarter of the frames, the first request of a try or the answer to it
/// is lost in 44 of a hundred, and one in 750 messages loses all eight: of the thousands of losses in a run a few would end in
/// `RetryExceeded`, as they should, and no run would end well.
fn merciful(seed: u64, percent: u32) -> Script {
    let mut random = SplitMix64::new(seed);
    let mut lost = HashMap::new();
    Box::new(move |bytes| {
        let is_struck = random.below(100) < u64::from(percent);
        let Ok(frame) = Frame::parse(bytes) else { return Verdict::Pass };
        let row: &mut u32 = lost.entry(frame.bth.destination_qp).or_default();
        *row = if is_struck && *row < IN_A_ROW { *row + 1 } else { 0 };
        if *row > 0 { Verdict::Drop } else { Verdict::Pass }
    })
}

/// So many of a hundred frames lost, as many duplicated, and as many overtaken; the latter no more than five.
#[must_use]
pub fn faults(seed: u64, percent: u32) -> Faults {
    let chance = Chance::percent(percent.min(MILD));
    let is_mild = percent <= MILD;
    Faults {
        seed,
        loss: if is_mild { chance } else { Chance::NEVER },
        script: (!is_mild).then(|| merciful(seed, percent)),
        duplication: chance,
        reordering: chance,
        hold: Hold { frames: 3, ns: 20_000 },
        ..Faults::default()
    }
}

/// A run that is to be made; the same one gives the same frames.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Of the cards.
    pub profile: Profile,
    /// Who stands at the far end.
    pub far: Far,
    /// Everything random comes from it.
    pub seed: u64,
    /// Operations of both sides together.
    pub operations: u64,
    /// Of a hundred frames so many meet each kind of fault, as [`faults`] says.
    pub percent: u32,
    /// What queue pairs promise.
    pub services: Services,
    /// How connections and hosts are set up.
    pub terms: Terms,
}

/// Random operations of all kinds of both sides, over 16 queue pairs. Every operation completes once, in order, with success,
/// every message completes one receive, and both memories are as a plain copy says. With the usual terms receives are posted
/// in time on a perfect wire, so that nothing need be sent twice; on a bad one also too late. There, messages of queue pairs that promise less may be lost: those
/// that arrive are whole, and as often and in the order as the wire lets them.
///
/// What passes the card's port is recorded in a file, if one is named. A run that fails leaves it to be read.
#[must_use]
pub fn run(run: &Run, capture: Option<&Path>) -> Outcome {
    let &Run { profile, far, seed, operations, percent, services, terms } = run;
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
    if let Some(timing) = terms.timing() {
        (0..cards).for_each(|card| world.card(card).set_timing(timing));
    }
    if let Some(path) = capture {
        world.start_capture(0, pcap::Writer::create(path).unwrap_or_else(|error| panic!("{error}")));
    }
    let shared = Shared::new(world);
    let mut near = CardSide::new(&shared, 0, 0, &services);
    let start = shared.world().now();
    let receivers = if terms.is_ready(percent == 0) { Receivers::Ready } else { Receivers::Late };
    let wire = if percent == 0 { Wire::InOrder } else { Wire::Unruly };
    let mut far: Box<dyn Side> = match far {
        Far::Golden => Box::new(GoldenSide::new(&shared, 1, 1, &services)),
        Far::Card => Box::new(CardSide::new(&shared, 1, 1, &services)),
    };
    let plan = Plan { seed, operations, services, receivers, wire, terms };
    let accounts = traffic::run(&shared, [&mut near, &mut *far], &plan);
    let outcome = outcome(&shared, &near, start, accounts);
    assert_eq!(outcome.unwanted, 0, "all that was sent had a receiver: {outcome:?}");
    for (line, Account { fate, .. }) in outcome.lines.iter().zip(&outcome.accounts) {
        assert!(
            fate.doubled + fate.overtaken <= line.duplicated + line.held,
            "more than the wire doubled and held back: {outcome:?}"
        );
    }
    outcome
}

fn outcome(shared: &Arc<Shared>, near: &CardSide, start: u64, accounts: [Account; 2]) -> Outcome {
    let count = |reg: &Reg| near.device().card().read(&counters::BLOCK, reg).expect("a register");
    let counts = [
        &counters::RETRANSMITTED,
        &counters::TIMEOUTS,
        &counters::DUPLICATES,
        &counters::UC_DROPPED,
        &counters::RX_UNWANTED,
    ];
    let [retransmitted, timeouts, duplicates, dropped, unwanted] = counts.map(count);
    let mut world = shared.world();
    world.finish_capture(0).unwrap_or_else(|error| panic!("{error}"));
    Outcome {
        cycles: world.now() - start,
        lines: [0, 1].map(|station| world.line(station).counters()),
        retransmitted,
        timeouts,
        duplicates,
        dropped,
        unwanted,
        accounts,
    }
}
