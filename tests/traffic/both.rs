//! Everything both sides do, and the plain copy of what is to come of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use stroma_sim::Shared;
use stroma_verilate::SplitMix64;

use super::envelope::Envelope;
use super::gate::{Gate, Gates};
use super::ledger::{self, Ledger};
use super::poster::Poster;
use super::receiver::Receiver;
use super::{AREA, Account, Area, Generator, PAIRS, Plan, Queue, Receivers, Service, Side, below};

/// A queue whose messages are lost when they find no receive has one posted in one of so many steps.
const SELDOM: u64 = 16;
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
    /// Those of one side by queue pair, then those of the other.
    posters: Vec<Poster>,
    /// By side and queue.
    receivers: BTreeMap<(usize, Queue), Receiver>,
    /// Additions to the common word of the far side.
    ledgers: [Ledger; 2],
    /// To the targets of each queue pair, by their side.
    gates: Vec<[Gate; 2]>,
}

impl<'a> Traffic<'a> {
    /// Fills both memories and connects the queue pairs.
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
                posters.push(Poster::new(end, pair, Arc::clone(&source), target, landing, word, plan));
            }
            for (number, queue) in Queue::all().enumerate() {
                let room = fill(end, 0x41 + number, Area::Room(queue));
                receivers.insert((end, queue), Receiver::new(end, queue, room, plan));
            }
        }
        for end in 0..2 {
            sides[end].write(Area::Source, 0, &source);
            for pair in 0..PAIRS {
                let (near, far) = (sides[end].offer(pair), sides[1 - end].offer(pair));
                let is_datagram = plan.services.of(pair) == Service::Datagram;
                posters[end * PAIRS + pair].envelope = is_datagram.then(|| Envelope::new(&near, &far));
                sides[end].connect(pair, &plan.terms.of(end, pair), &far);
            }
        }
        let ledgers = [1, 0].map(|far: usize| Ledger::new(ledger::word(&words[far], 0)));
        let mut gate = |pair: usize, owner: usize| {
            if plan.services.is_windowed(pair) {
                Gate::window(sides[owner].next_key(pair))
            } else {
                Gate::region(sides[owner].offer(pair).target.0)
            }
        };
        let gates = (0..PAIRS).map(|pair| [0, 1].map(|owner| gate(pair, owner))).collect();
        Self { shared, sides, plan, source, posters, receivers, ledgers, gates }
    }

    /// Posts one operation of some queue pair, if it has room for it; whether it did.
    pub(super) fn post(&mut self, generator: &mut Generator, random: &mut SplitMix64) -> bool {
        self.post_by(below(random, 2 * PAIRS), generator)
    }

    /// A receive that a message had taken when it was broken off is for the next of its queue pair, and until that arrives it may keep a ring
    /// full. So where others wait for receives of the same queue, there is a next.
    pub(super) fn relieve(&mut self, generator: &mut Generator) {
        for index in 0..self.posters.len() {
            let Poster { end, pair, .. } = self.posters[index];
            let receiver = &self.receivers[&(1 - end, Queue::of(pair))];
            if self.plan.loses(pair) && receiver.is_open() && receiver.is_kept() {
                self.post_by(index, generator);
            }
        }
    }

    fn post_by(&mut self, index: usize, generator: &mut Generator) -> bool {
        let calm = {
            let world = self.shared.world();
            world.now().saturating_sub(world.cycles(CALM))
        };
        let poster = &mut self.posters[index];
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
            for ((end, queue), receiver) in &mut self.receivers {
                if self.plan.services.loses(*queue) && random.below(SELDOM) == 0 {
                    receiver.post(random, &mut *self.sides[*end]);
                }
            }
            return;
        }
        for ((end, _), receiver) in &mut self.receivers {
            while receiver.post(random, &mut *self.sides[*end]) {}
        }
    }

    pub(super) fn poll(&mut self) {
        let now = self.shared.world().now();
        for index in 0..self.posters.len() {
            let poster = &mut self.posters[index];
            let Poster { end, pair, .. } = *poster;
            let receiver = self.receivers.get_mut(&(end, Queue::of(pair))).expect("one a queue");
            let (side, gates) = (&mut *self.sides[end], &mut self.gates[pair]);
            poster.poll(side, &mut self.ledgers[end], Gates::of(end, gates), now);
            let arrivals = receiver.poll(pair, side);
            if arrivals.has_ended {
                gates[end].close(side.next_key(pair));
            }
            let far = &mut self.posters[(1 - end) * PAIRS + pair];
            if let Some(writes) = &mut far.writes {
                arrivals.ids.into_iter().for_each(|id| writes.arrive(id));
            }
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.posters.iter().any(Poster::is_open) || self.receivers.values().any(Receiver::is_open)
    }

    /// What each side did.
    pub(super) fn accounts(&self) -> [Account; 2] {
        let mut accounts = [Account::default(), Account::default()];
        for poster in &self.posters {
            let Poster { end, pair, .. } = *poster;
            accounts[end].tally.add(&poster.tally);
            if let Some(writes) = &poster.writes {
                accounts[end].fate.add(&writes.fate(&self.read(1 - end, Area::Target(pair))));
            }
        }
        for ((end, _), receiver) in &self.receivers {
            accounts[1 - end].fate.add(&receiver.fate());
        }
        accounts
    }

    /// All bytes of an area.
    fn read(&self, end: usize, area: Area) -> Vec<u8> {
        self.sides[end].read(area, 0..area.len())
    }

    /// Compares both memories with the plain copy.
    pub(super) fn check(&mut self) {
        for poster in &self.posters {
            let Poster { end, pair, .. } = *poster;
            let far = 1 - end;
            let target = self.read(far, Area::Target(pair));
            match &poster.writes {
                Some(writes) => {
                    let stray = writes.stray(&poster.target, &target);
                    assert_eq!(stray, None, "side {far}, target {pair}: no WRITE has such a byte");
                }
                None => assert!(target == poster.target, "side {far}, target {pair}"),
            }
            assert!(self.read(end, Area::Landing(pair)) == poster.landing, "side {end}, landing {pair}");
            let word = ledger::word(&self.read(far, Area::Words), Area::own_word(pair));
            assert_eq!(word, poster.word, "side {far}, word of queue pair {pair}");
        }
        for ((end, queue), receiver) in &mut self.receivers {
            let area = Area::Room(*queue);
            receiver.settle(&*self.sides[*end]);
            assert!(self.sides[*end].read(area, 0..area.len()) == receiver.room, "side {end}, {queue:?}");
        }
        for (end, side) in self.sides.iter().enumerate() {
            assert!(side.read(Area::Source, 0..AREA) == *self.source, "a source is only read");
            let common = ledger::word(&side.read(Area::Words, 0..8), 0);
            self.ledgers[1 - end].check(common, &format!("side {end}, the common word"));
        }
    }
}
