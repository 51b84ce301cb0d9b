//! Random operations of all kinds between two sides of a wire, and a plain copy of what they must leave behind.
//!
//! A [`Side`] is whoever posts operations and has memory: a golden peer ([`GoldenSide`]), or a card behind its driver. Both
//! sides post on every queue pair, so each is requester and responder at once; a few queue pairs of a side share a receive
//! queue, a few add to one word of the far side together, and most of them reach the far side's memory through windows. What a queue pair
//! promises is its [`Service`]; of one that may lose messages, those that arrive are held against those that were sent.

#![expect(
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    reason = "a story that is not as expected panics"
)]

mod both;
mod card_side;
mod envelope;
mod gate;
mod generator;
mod golden_side;
mod kind;
mod ledger;
mod lossy;
mod operation;
mod plan;
mod poster;
mod receiver;
mod service;
mod side;
mod tally;
mod terms;

use stroma_sim::Shared;
use stroma_verilate::SplitMix64;

use both::Traffic;
pub use card_side::CardSide;
pub use gate::Grant;
pub use generator::{Generator, Scope};
pub use golden_side::GoldenSide;
pub use kind::Kind;
pub use lossy::Fate;
pub use operation::{Operation, Piece};
pub use plan::{Plan, Receivers, Wire};
pub use receiver::Receive;
pub use service::{Service, Services};
pub use side::{Area, Offer, Queue, Side, first_psn};
pub use tally::Tally;
pub use terms::{PairTerms, Terms};

/// Queue pairs between the sides.
pub const PAIRS: usize = 16;
/// Queue pairs from this one on take their receives from one queue.
pub const SHARED: usize = 12;
/// Queue pairs below this one add to one word together.
pub const CONTENDERS: usize = 4;
/// Reliable queue pairs from this one on have windows over their targets, whose regions grant the far side nothing.
pub const WINDOWED: usize = 6;
/// Bytes of an area for WRITE and READ: the longest operation fits, at many places, in pieces that lie apart.
pub const AREA: usize = LENGTH_MAX + 4096;
/// Bytes of the longest operation.
const LENGTH_MAX: usize = 1 << 20;
/// Bytes of the longest SEND: three packets of the longest MTU.
const MESSAGE_MAX: usize = 10_000;
/// Most pieces of an operation or of a receive.
pub const PIECES: usize = 16;
/// Operations a queue pair has open at most: more than the READs and atomics that may be.
pub const OPEN: usize = 24;
/// Most cycles from one post to the next.
const GAP: u64 = 2000;
/// Cycles between two looks at what has completed, when all is posted.
const LOOK: u64 = 5000;
/// Cycles in which all that was posted has completed, lost frames and timeouts included.
const LIMIT: u64 = 200_000_000;

/// What a side did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// What it posted.
    pub tally: Tally,
    /// What became of what might be lost.
    pub fate: Fate,
}

impl Account {
    /// Adds another.
    pub fn add(&mut self, other: &Self) {
        self.tally.add(&other.tally);
        self.fate.add(&other.fate);
    }
}

fn below(random: &mut SplitMix64, bound: usize) -> usize {
    usize::try_from(random.below(bound as u64)).expect("an index")
}

/// Posts so many operations from a seed on both sides, lets them complete, and compares the memories with a plain copy. Each
/// operation must complete once, in the order of posting, with success, and each message must complete one receive, unless it may be
/// lost. What each side did comes back.
pub fn run<'a>(shared: &'a Shared, sides: [&'a mut dyn Side; 2], plan: &'a Plan) -> [Account; 2] {
    let mut traffic = Traffic::new(shared, sides, plan);
    let (mut generator, mut random) = (Generator::new(plan.seed), SplitMix64::new(!plan.seed));
    let mut count = 0;
    while count < plan.operations {
        traffic.post_receives(&mut random, plan.receivers);
        count += u64::from(traffic.post(&mut generator, &mut random));
        shared.world().run(1 + random.below(GAP));
        traffic.poll();
    }
    let end = shared.world().now() + LIMIT;
    while traffic.is_open() {
        assert!(shared.world().now() < end, "not all that was posted completes");
        traffic.post_receives(&mut random, Receivers::Ready);
        traffic.relieve(&mut generator);
        shared.world().run(LOOK);
        traffic.poll();
    }
    // What is still on the wire must change nothing any more.
    assert!(shared.world().run_until(LIMIT, |world| world.is_idle()), "the world does not come to rest");
    traffic.poll();
    traffic.check();
    traffic.accounts()
}
