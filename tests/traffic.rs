//! Random operations of all kinds between two sides of a wire, and a plain copy of what they must leave behind.
//!
//! A [`Side`] is whoever posts operations and has memory: a golden peer ([`GoldenSide`]), or a card behind its driver. Both
//! sides post on every queue pair, so each is requester and responder at once; a few queue pairs of a side share a receive
//! queue, and a few add to one word of the far side together.

#![expect(
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    reason = "a story that is not as expected panics"
)]

mod card_side;
mod golden_side;
mod ledger;
mod operation;
mod poster;
mod receiver;
mod side;

use std::collections::BTreeMap;
use std::sync::Arc;

use stroma_sim::Shared;
use stroma_verilate::SplitMix64;

pub use card_side::CardSide;
pub use golden_side::GoldenSide;
use ledger::Ledger;
pub use operation::{Generator, Kind, Operation, Piece};
use poster::Poster;
pub use receiver::Receive;
use receiver::Receiver;
pub use side::{Area, Offer, Queue, Side, first_psn};

/// Queue pairs between the sides.
pub const PAIRS: usize = 16;
/// Queue pairs from this one on take their receives from one queue.
pub const SHARED: usize = 12;
/// Queue pairs below this one add to one word together.
pub const CONTENDERS: usize = 4;
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

/// When receives are posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receivers {
    /// Before the messages that need them: no side ever is not ready.
    Ready,
    /// At any time, so that some messages find none.
    Late,
}

fn below(random: &mut SplitMix64, bound: usize) -> usize {
    usize::try_from(random.below(bound as u64)).expect("an index")
}

/// Bytes without a pattern.
fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut random = SplitMix64::new(seed);
    std::iter::repeat_with(|| random.next_u64().to_le_bytes()).flatten().take(length).collect()
}

/// Everything both sides do, and what is to come of it.
struct Traffic<'a> {
    sides: [&'a mut dyn Side; 2],
    source: Arc<Vec<u8>>,
    posters: Vec<Poster>,
    /// By side and queue.
    receivers: BTreeMap<(usize, Queue), Receiver>,
    /// Additions to the common word of the far side.
    ledgers: [Ledger; 2],
}

impl<'a> Traffic<'a> {
    /// Fills both memories and connects the queue pairs, with path MTUs from 256 to 4096.
    fn new(mut sides: [&'a mut dyn Side; 2], seed: u64) -> Self {
        let source = Arc::new(noise(seed, AREA));
        let mut fill = |end: usize, number: usize, area: Area| {
            let bytes = noise(seed << 16 | (1 << 15 | end << 8 | number) as u64, area.len());
            sides[end].write(area, 0, &bytes);
            bytes
        };
        let words = [0, 1].map(|end| fill(end, 0, Area::Words));
        let (mut posters, mut receivers) = (Vec::new(), BTreeMap::new());
        for end in 0..2 {
            for pair in 0..PAIRS {
                let target = fill(1 - end, 1 + pair, Area::Target(pair));
                let landing = fill(end, 0x21 + pair, Area::Landing(pair));
                let word = ledger::word(&words[1 - end], Area::own_word(pair));
                posters.push(Poster::new(end, pair, Arc::clone(&source), target, landing, word));
            }
            for (number, queue) in Queue::all().enumerate() {
                let room = fill(end, 0x41 + number, Area::Room(queue));
                receivers.insert((end, queue), Receiver::new(end, queue, room));
            }
        }
        for end in 0..2 {
            sides[end].write(Area::Source, 0, &source);
            for pair in 0..PAIRS {
                let far = sides[1 - end].offer(pair);
                sides[end].connect(pair, 256 << (pair % 5), &far);
            }
        }
        let ledgers = [1, 0].map(|far: usize| Ledger::new(ledger::word(&words[far], 0)));
        Self { sides, source, posters, receivers, ledgers }
    }

    /// Posts one operation of some queue pair, if it has room for it; whether it did.
    fn post(&mut self, generator: &mut Generator, random: &mut SplitMix64, receivers: Receivers) -> bool {
        let poster = &mut self.posters[below(random, 2 * PAIRS)];
        let far = self.receivers.get_mut(&(1 - poster.end, Queue::of(poster.pair))).expect("one a queue");
        poster.post(generator, &mut *self.sides[poster.end], far, receivers)
    }

    /// Posts a receive to some queue, or as many as there is room for to all.
    fn post_receives(&mut self, random: &mut SplitMix64, receivers: Receivers) {
        if receivers == Receivers::Late {
            let place = below(random, 2 * self.receivers.len());
            if let Some(((end, _), receiver)) = self.receivers.iter_mut().nth(place) {
                receiver.post(random, &mut *self.sides[*end]);
            }
            return;
        }
        for ((end, _), receiver) in &mut self.receivers {
            while receiver.post(random, &mut *self.sides[*end]) {}
        }
    }

    fn poll(&mut self) {
        for poster in &mut self.posters {
            let Poster { end, pair, .. } = *poster;
            let receiver = self.receivers.get_mut(&(end, Queue::of(pair))).expect("one a queue");
            poster.poll(&mut *self.sides[end], &mut self.ledgers[end]);
            receiver.poll(pair, &mut *self.sides[end]);
        }
    }

    fn is_open(&self) -> bool {
        self.posters.iter().any(Poster::is_open) || self.receivers.values().any(Receiver::is_open)
    }

    /// Compares both memories with the plain copy.
    fn check(&self) {
        for poster in &self.posters {
            let Poster { end, pair, .. } = *poster;
            let far = &self.sides[1 - end];
            let read = |end: usize, area: Area| self.sides[end].read(area, 0..area.len());
            assert!(read(1 - end, Area::Target(pair)) == poster.target, "side {}, target {pair}", 1 - end);
            assert!(read(end, Area::Landing(pair)) == poster.landing, "side {end}, landing {pair}");
            let word = ledger::word(&far.read(Area::Words, 0..Area::Words.len()), Area::own_word(pair));
            assert_eq!(word, poster.word, "side {}, word of queue pair {pair}", 1 - end);
        }
        for ((end, queue), receiver) in &self.receivers {
            let area = Area::Room(*queue);
            assert!(self.sides[*end].read(area, 0..area.len()) == receiver.room, "side {end}, {queue:?}");
        }
        for (end, side) in self.sides.iter().enumerate() {
            assert!(side.read(Area::Source, 0..AREA) == *self.source, "a source is only read");
            let common = ledger::word(&side.read(Area::Words, 0..8), 0);
            self.ledgers[1 - end].check(common, &format!("side {end}, the common word"));
        }
    }
}

/// Posts so many operations from a seed on both sides, lets them complete, and compares the memories with a plain copy. Each
/// operation must complete once, in the order of posting, with success, and each message must complete one receive.
pub fn run(shared: &Shared, sides: [&mut dyn Side; 2], seed: u64, operations: u64, receivers: Receivers) {
    let mut traffic = Traffic::new(sides, seed);
    let (mut generator, mut random) = (Generator::new(seed), SplitMix64::new(!seed));
    let mut count = 0;
    while count < operations {
        traffic.post_receives(&mut random, receivers);
        count += u64::from(traffic.post(&mut generator, &mut random, receivers));
        shared.world().run(1 + random.below(GAP));
        traffic.poll();
    }
    let end = shared.world().now() + LIMIT;
    while traffic.is_open() {
        assert!(shared.world().now() < end, "not all that was posted completes");
        traffic.post_receives(&mut random, Receivers::Ready);
        shared.world().run(LOOK);
        traffic.poll();
    }
    // What is still on the wire must change nothing any more.
    assert!(shared.world().run_until(LIMIT, |world| world.is_idle()), "the world does not come to rest");
    traffic.poll();
    traffic.check();
}
