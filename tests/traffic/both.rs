//! Everything both sides do, and the plain copy of what is to come of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use stroma_sim::Shared;
use stroma_verilate::SplitMix64;

use super::gate::{Gate, Gates};
use super::ledger::{self, Ledger};
use super::poster::Poster;
use super::receiver::Receiver;
use super::{AREA, Area, Generator, PAIRS, Plan, Queue, Receivers, Side, Tally, WINDOWED, below};

/// Time in which a READ that was sent again before its data came arrives: more than a wire holds a frame back.
const CALM: Duration = Duration::from_micros(100);

/// Bytes without a pattern.
fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut random = SplitMix64::new(seed);
    std::iter::repeat_with(|| random.next_u64().to_le_bytes()).flatten().take(length).collect()
}

/// Both sides, all that they have posted, and what is to come of it.
pub(super) struct Traffic<'a> {
    shared: &'a Shared,
    sides: [&'a mut dyn Side; 2],
    plan: &'a Plan,
    source: Arc<Vec<u8>>,
    posters: Vec<Poster>,
    /// By side and queue.
    receivers: BTreeMap<(usize, Queue), Receiver>,
    /// Additions to the common word of the far side.
    ledgers: [Ledger; 2],
    /// To the targets of each queue pair, by their side.
    gates: Vec<[Gate; 2]>,
}

impl<'a> Traffic<'a> {
    /// Fills both memories and connects the queue pairs, with path MTUs from 256 to 4096.
    pub(super) fn new(shared: &'a Shared, mut sides: [&'a mut dyn Side; 2], plan: &'a Plan) -> Self {
        let seed = plan.seed;
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
        let mut gate = |pair: usize, owner: usize| match pair {
            WINDOWED.. => Gate::window(sides[owner].next_key(pair)),
            _ => Gate::region(sides[owner].offer(pair).target.0),
        };
        let gates = (0..PAIRS).map(|pair| [0, 1].map(|owner| gate(pair, owner))).collect();
        Self { shared, sides, plan, source, posters, receivers, ledgers, gates }
    }

    /// Posts one operation of some queue pair, if it has room for it; whether it did.
    pub(super) fn post(&mut self, generator: &mut Generator, random: &mut SplitMix64) -> bool {
        let calm = {
            let world = self.shared.world();
            world.now().saturating_sub(world.cycles(CALM))
        };
        let poster = &mut self.posters[below(random, 2 * PAIRS)];
        let far = self.receivers.get_mut(&(1 - poster.end, Queue::of(poster.pair))).expect("one a queue");
        let gates = Gates::of(poster.end, &mut self.gates[poster.pair]);
        poster.post(generator, &mut *self.sides[poster.end], far, gates, self.plan, calm)
    }

    /// Posts a receive to some queue, or as many as there is room for to all.
    pub(super) fn post_receives(&mut self, random: &mut SplitMix64, receivers: Receivers) {
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

    pub(super) fn poll(&mut self) {
        let now = self.shared.world().now();
        for poster in &mut self.posters {
            let Poster { end, pair, .. } = *poster;
            let receiver = self.receivers.get_mut(&(end, Queue::of(pair))).expect("one a queue");
            let (side, gates) = (&mut *self.sides[end], &mut self.gates[pair]);
            poster.poll(side, &mut self.ledgers[end], Gates::of(end, gates), now);
            if receiver.poll(pair, side) {
                gates[end].close(side.next_key(pair));
            }
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.posters.iter().any(Poster::is_open) || self.receivers.values().any(Receiver::is_open)
    }

    /// What each side did.
    pub(super) fn tallies(&self) -> [Tally; 2] {
        let mut tallies = [Tally::default(), Tally::default()];
        self.posters.iter().for_each(|poster| tallies[poster.end].add(&poster.tally));
        tallies
    }

    /// Compares both memories with the plain copy.
    pub(super) fn check(&self) {
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
