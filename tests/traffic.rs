//! Random operations between two sides of a wire, and a plain copy of what they must leave behind.
//!
//! A [`Side`] is whoever posts operations and has memory: a golden peer ([`GoldenSide`]), or a card behind its driver. Both
//! sides post on every queue pair, so each is requester and responder at once.

#![expect(
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    reason = "a story that is not as expected panics"
)]

mod card_side;
mod golden_side;
mod poster;

use std::net::IpAddr;
use std::sync::Arc;

use stroma_abi::wire::Mac;
use stroma_abi::{Psn, Qpn};
use stroma_sim::Shared;
use stroma_sim::model::Completion;
use stroma_verilate::SplitMix64;

pub use card_side::CardSide;
pub use golden_side::GoldenSide;
use poster::Poster;

/// Queue pairs between the sides.
pub const PAIRS: usize = 16;
/// Bytes of an area: the longest operation fits, at many places.
pub const AREA: usize = LENGTH_MAX + 4096;
/// Bytes of the longest operation.
const LENGTH_MAX: usize = 1 << 20;
/// Operations a queue pair has open at most: more than the READs that may be.
const OPEN: usize = 24;
/// Most cycles from one post to the next.
const GAP: u64 = 2000;
/// Cycles between two looks at what has completed, when all is posted.
const LOOK: u64 = 5000;
/// Cycles in which all that was posted has completed, lost frames and timeouts included.
const LIMIT: u64 = 200_000_000;

/// A piece of a side's memory, of [`AREA`] bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area {
    /// What WRITEs send; one for all queue pairs.
    Source,
    /// What the far side of this queue pair writes and reads.
    Target(usize),
    /// Where the READs of this queue pair put what they get.
    Landing(usize),
}

/// What one side tells the other of a queue pair.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    /// Its number.
    pub number: Qpn,
    /// PSN of its first request.
    pub psn: Psn,
    /// Ethernet address.
    pub mac: Mac,
    /// IP address; both sides offer the same kind.
    pub address: IpAddr,
    /// Key of its target.
    pub key: u32,
    /// Address of its target.
    pub base: u64,
}

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// From the own source to the far target.
    Write,
    /// From the far target to the own landing.
    Read,
}

/// An operation to be posted. Places count from the beginning of an area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Numbers the operations of a side on a queue pair, from 0.
    pub id: u64,
    /// What to do.
    pub kind: Kind,
    /// Place in the own source or landing.
    pub local: usize,
    /// Place in the far target.
    pub remote: usize,
    /// Bytes.
    pub length: usize,
}

/// One end of [`PAIRS`] queue pairs.
pub trait Side {
    /// What the far side must know of a queue pair.
    fn offer(&self, pair: usize) -> Offer;

    /// Makes a queue pair ready to send, to the one offered.
    fn connect(&mut self, pair: usize, mtu: u32, far: &Offer);

    /// Posts an operation.
    fn post(&mut self, pair: usize, operation: &Operation);

    /// The oldest completion of a queue pair not yet taken, under the operation's `id`.
    fn poll(&mut self, pair: usize) -> Option<Completion>;

    /// Fills an area.
    fn write(&mut self, area: Area, bytes: &[u8]);

    /// The bytes of an area.
    fn read(&self, area: Area) -> Vec<u8>;
}

/// PSN of the first request of a queue pair: a few packets before the wrap, in which a message may be cut or not.
pub fn first_psn(end: usize, pair: usize) -> Psn {
    let before = 1 + (pair + 3 * end) % 8;
    Psn::new(0x100_0000 - u32::try_from(before).expect("small"))
}

fn below(random: &mut SplitMix64, bound: usize) -> usize {
    usize::try_from(random.below(bound as u64)).expect("an index")
}

/// Operations without end from a seed: mostly small ones, some of a megabyte, at any alignment.
pub struct Generator {
    random: SplitMix64,
}

impl Generator {
    /// The same seed gives the same operations.
    pub fn new(seed: u64) -> Self {
        Self { random: SplitMix64::new(seed) }
    }

    /// The next one, to be numbered so.
    pub fn operation(&mut self, id: u64) -> Operation {
        let random = &mut self.random;
        let most = match random.below(1000) {
            0..700 => 256,
            700..940 => 4096,
            940..996 => 0x1_0000,
            _ => LENGTH_MAX,
        };
        let length = below(random, most + 1);
        let kind = if random.below(2) == 0 { Kind::Write } else { Kind::Read };
        let (local, remote) = (below(random, AREA - length + 1), below(random, AREA - length + 1));
        Operation { id, kind, local, remote, length }
    }
}

/// Bytes without a pattern.
fn noise(seed: u64) -> Vec<u8> {
    let mut random = SplitMix64::new(seed);
    std::iter::repeat_with(|| random.next_u64().to_le_bytes()).flatten().take(AREA).collect()
}

/// Fills both memories and connects the queue pairs, with path MTUs from 256 to 4096.
fn prepare(sides: &mut [&mut dyn Side; 2], seed: u64) -> Vec<Poster> {
    let source = Arc::new(noise(seed));
    let seed_of = |end: usize, pair: usize, is_target: bool| {
        seed << 16 | u64::try_from(end << 8 | pair << 1 | usize::from(is_target)).expect("small") | 1 << 15
    };
    let mut posters = Vec::new();
    for end in 0..2 {
        sides[end].write(Area::Source, &source);
        for pair in 0..PAIRS {
            let far = sides[1 - end].offer(pair);
            sides[end].connect(pair, 256 << (pair % 5), &far);
            let (target, landing) = (noise(seed_of(1 - end, pair, true)), noise(seed_of(end, pair, false)));
            sides[1 - end].write(Area::Target(pair), &target);
            sides[end].write(Area::Landing(pair), &landing);
            posters.push(Poster::new(end, pair, Arc::clone(&source), target, landing));
        }
    }
    posters
}

fn poll(posters: &mut [Poster], sides: &mut [&mut dyn Side; 2]) {
    for poster in posters {
        poster.poll(&mut *sides[poster.end]);
    }
}

/// Posts so many operations from a seed on both sides, lets them complete, and compares the memories with a plain copy. Each
/// operation must complete once, in the order of posting, with success.
pub fn run(shared: &Shared, mut sides: [&mut dyn Side; 2], seed: u64, operations: u64) {
    let mut posters = prepare(&mut sides, seed);
    let (mut generator, mut random) = (Generator::new(seed), SplitMix64::new(!seed));
    let mut count = 0;
    while count < operations {
        let poster = &mut posters[below(&mut random, 2 * PAIRS)];
        count += u64::from(poster.post(&mut generator, &mut *sides[poster.end]));
        shared.world().run(1 + random.below(GAP));
        poll(&mut posters, &mut sides);
    }
    let end = shared.world().now() + LIMIT;
    while posters.iter().any(Poster::is_open) {
        assert!(shared.world().now() < end, "not all that was posted completes");
        shared.world().run(LOOK);
        poll(&mut posters, &mut sides);
    }
    // What is still on the wire must change nothing any more.
    assert!(shared.world().run_until(LIMIT, |world| world.is_idle()), "the world does not come to rest");
    poll(&mut posters, &mut sides);
    for poster in &posters {
        let Poster { end, pair, .. } = *poster;
        assert!(sides[1 - end].read(Area::Target(pair)) == poster.target, "side {}, target {pair}", 1 - end);
        assert!(sides[end].read(Area::Landing(pair)) == poster.landing, "side {end}, landing {pair}");
    }
    for side in &sides {
        assert!(side.read(Area::Source) == noise(seed), "a source is only read");
    }
}
