use rust_hdl::prelude::Bits;
use stroma_abi::regs::map::doorbells::{COMPLETION, PUSH, PUSH_COMMIT, RECEIVE, SEND, SHARED_RECEIVE};
use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

use super::Doorbells;
use super::model::{Model, Outcome};
use crate::host::work::{CqDoorbell, PageStore, SendDoorbell};
use crate::testing::{collect, noise, push, read, stalls, verilated};
use crate::transport::records::ReceiveDoorbell;

const PAGES: usize = 2;
const UNITS: usize = PAGES + 4;
/// Places of the FIFO of units.
const ROOM: usize = 16;
/// Cycles after which the block counts as stuck.
const LIMIT: u64 = 100_000;

struct Rig {
    bench: Bench,
    store: SourceId,
    send: SinkId,
    pushed: SinkId,
    receive: SinkId,
    cq: SinkId,
    model: Model,
    /// What the model expects, in order.
    sends: Vec<(SendDoorbell, Vec<Bits<512>>)>,
    receives: Vec<ReceiveDoorbell>,
    cqs: Vec<CqDoorbell>,
    bad: u64,
    seen_bad: u64,
    /// Cycles in which a store moved, a doorbell moved.
    stored: Vec<u64>,
}

impl Default for Rig {
    fn default() -> Self {
        let mut bench = verilated("doorbells", Doorbells::<PAGES, UNITS>::default);
        let store = bench.source("store").expect("the stream exists");
        let [send, pushed, receive, cq] =
            ["send", "pushed", "receive", "cq"].map(|name| bench.sink(name).expect("the stream exists"));
        let mut rig = Self {
            bench,
            store,
            send,
            pushed,
            receive,
            cq,
            model: Model::new(PAGES),
            sends: Vec::new(),
            receives: Vec::new(),
            cqs: Vec::new(),
            bad: 0,
            seen_bad: 0,
            stored: Vec::new(),
        };
        rig.reset();
        rig
    }
}

impl Rig {
    /// Whether stores are forgotten from now on.
    fn discard(&mut self, discards: bool) {
        let port = self.bench.model().port("discards").expect("the port exists");
        self.bench.model_mut().set(port, discards.into());
    }

    fn reset(&mut self) {
        self.discard(false);
        self.bench.reset(2);
        self.model = Model::new(PAGES);
        (self.bad, self.seen_bad) = (0, 0);
        self.sends.clear();
        self.receives.clear();
        self.cqs.clear();
        self.stored.clear();
        for sink in [self.send, self.pushed, self.receive, self.cq] {
            self.bench[sink].take();
        }
    }

    fn send(&mut self, stores: &[PageStore]) {
        push(&mut self.bench, self.store, stores);
        for store in stores {
            match self.model.store(store) {
                Outcome::Kept => {}
                Outcome::Bad => self.bad += 1,
                Outcome::Send(doorbell, units) => self.sends.push((doorbell, units)),
                Outcome::Receive(doorbell) => self.receives.push(doorbell),
                Outcome::Cq(doorbell) => self.cqs.push(doorbell),
            }
        }
    }

    /// One cycle; `bad` is read as it stands before the next.
    fn step(&mut self) {
        let sent = self.bench[self.store].sent();
        self.bench.step();
        if self.bench[self.store].sent() > sent {
            self.stored.push(self.bench.cycle());
        }
        self.seen_bad += u64::from(read::<bool>(&self.bench, "bad"));
    }

    fn run(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.step());
    }

    fn settle(&mut self) {
        let start = self.bench.cycle();
        while !self.bench.is_sent() || read::<bool>(&self.bench, "busy") {
            assert!(self.bench.cycle() - start < LIMIT, "the doorbells are stuck");
            self.step();
        }
    }

    /// Holds what came out against the model. Where `pushed` was slow, a commit may have found no room; how many did.
    fn finish(&mut self, is_pushed_slow: bool) -> usize {
        self.settle();
        let sends = collect::<SendDoorbell>(&mut self.bench, self.send);
        let mut units = collect::<Bits<512>>(&mut self.bench, self.pushed).into_iter();
        assert_eq!(sends.len(), self.sends.len(), "doorbells");
        let mut refused = 0;
        for (place, (got, (expected, pushed))) in sends.iter().zip(&self.sends).enumerate() {
            let mut expected = *expected;
            if is_pushed_slow && expected.units.any() && !got.units.any() {
                expected.units = 0.into();
                refused += 1;
            }
            assert_eq!(*got, expected, "doorbell {place}");
            for unit in &pushed[..got.units.index()] {
                assert_eq!(units.next().as_ref(), Some(unit), "a unit of doorbell {place}");
            }
        }
        assert_eq!(units.count(), 0, "units that nobody committed");
        assert_eq!(collect::<ReceiveDoorbell>(&mut self.bench, self.receive), self.receives);
        assert_eq!(collect::<CqDoorbell>(&mut self.bench, self.cq), self.cqs);
        assert_eq!(self.seen_bad, self.bad, "bad stores");
        refused
    }
}

fn store(page: u64, offset: usize, data: u64) -> PageStore {
    PageStore { page: page.into(), offset: (offset as u64).into(), data: data.into(), strb: 0xff.into() }
}

/// A word of a push window.
fn word(page: u64, window: u64, word: u64, data: u64) -> PageStore {
    store(page, PUSH.offset + usize::try_from(window * 256 + word * 8).expect("small"), data)
}

fn commit(page: u64, qpn: u64, index: u64, units: u64, window: u64) -> PageStore {
    store(page, PUSH_COMMIT.offset, qpn | index << 24 | units << 40 | window << 44)
}

/// All words of some units.
fn fill(page: u64, window: u64, units: u64, seed: u64) -> Vec<PageStore> {
    let mut rng = SplitMix64::new(seed);
    (0..units * 8).map(|at| word(page, window, at, rng.next_u64())).collect()
}

/// Everything that may be stored, mostly pushes that are nearly right.
fn stories(seed: u64, count: usize) -> Vec<PageStore> {
    let mut rng = SplitMix64::new(seed);
    let mut stores = Vec::new();
    while stores.len() < count {
        let (page, window) = (rng.below(1 << PAGES), rng.below(4));
        match rng.below(12) {
            0..=3 => {
                let units = 1 + rng.below(4);
                let mut words = fill(page, window, units, rng.next_u64());
                let at = usize::try_from(rng.below(words.len() as u64)).expect("small");
                match rng.below(6) {
                    0 => drop(words.remove(at)),
                    1 => words[at].strb = (rng.next_u64() & 0xff).into(),
                    2 => words.swap(0, at),
                    3 => words.push(PageStore { strb: 0x0f.into(), ..words[at] }),
                    _ => {}
                }
                stores.append(&mut words);
                stores.push(commit(page, rng.below(1 << 24), rng.below(1 << 16), units, window));
                if rng.below(2) == 0 {
                    stores.push(word(page, window, rng.below(32), rng.next_u64()));
                }
            }
            4 => stores.push(store(page, SEND.offset, rng.next_u64())),
            5 => stores.push(store(page, COMPLETION.offset, rng.next_u64())),
            6 => stores.push(store(page, PUSH_COMMIT.offset, rng.next_u64())),
            7 => stores.push(word(page, window, rng.below(32), rng.next_u64())),
            8 => {
                let strb = noise(&mut rng);
                stores.push(PageStore {
                    strb,
                    ..store(page, 8 * usize::try_from(rng.below(6)).expect("small"), rng.next_u64())
                });
            }
            9 | 10 => {
                let offset = [RECEIVE, SHARED_RECEIVE][usize::from(rng.below(2) == 1)].offset;
                stores.push(store(page, offset, rng.next_u64()));
            }
            _ => {
                let offset: Bits<12> = noise(&mut rng);
                stores.push(PageStore {
                    offset: (offset >> 3) << 3,
                    page: noise(&mut rng),
                    ..store(0, 0, 7)
                });
            }
        }
    }
    stores
}

#[test]
fn agrees_with_the_model() {
    let mut rig = Rig::default();
    for seed in 0..6 {
        rig.send(&stories(seed, 2000));
        rig.finish(false);
        let taken = rig.sends.iter().filter(|(doorbell, _)| doorbell.units.any()).count();
        let torn = rig.sends.iter().filter(|(doorbell, _)| doorbell.commits && !doorbell.units.any()).count();
        let shared = rig.receives.iter().filter(|doorbell| doorbell.shared).count();
        let own = rig.receives.len() - shared;
        assert!(taken > 20 && torn > 20 && rig.bad > 20 && rig.cqs.len() > 5, "{taken} {torn} {}", rig.bad);
        assert!(own > 5 && shared > 5, "{own} {shared}");
        rig.reset();
    }
}

#[test]
fn survives_stalls() {
    let mut rig = Rig::default();
    let mut refused = 0;
    let crawl = Pause::Burst { go: 1, pause: 400 };
    let cases = stalls().into_iter().map(|(idle, pressure)| (idle, pressure.clone(), pressure));
    for (seed, (idle, pressure, units)) in (0..).zip(cases.chain([(Pause::None, Pause::None, crawl)])) {
        let (store, send, pushed, receive, cq) = (rig.store, rig.send, rig.pushed, rig.receive, rig.cq);
        rig.bench[store].pause(idle);
        rig.bench[send].pause(pressure.clone());
        rig.bench[receive].pause(pressure.clone());
        rig.bench[cq].pause(pressure);
        rig.bench[pushed].pause(units.clone());
        rig.send(&stories(seed, 400));
        refused += rig.finish(units != Pause::None);
        rig.reset();
    }
    assert!(refused > 0, "the room for units was never too small");
}

#[test]
fn recovers_from_reset() {
    let mut rig = Rig::default();
    for pressure in [Pause::None, Pause::Script(vec![true])] {
        let [send, pushed, receive] = [rig.send, rig.pushed, rig.receive];
        rig.bench[send].pause(pressure.clone());
        rig.bench[receive].pause(pressure.clone());
        rig.bench[pushed].pause(pressure);
        // Full windows, a commit under way, and doorbells that wait.
        let mut stores = [fill(3, 0, 1, 2), fill(1, 2, 4, 1)].concat();
        stores.extend((0..3).map(|qpn| store(1, SEND.offset, qpn)));
        stores.extend((0..3).map(|number| store(1, RECEIVE.offset, number)));
        stores.push(commit(1, 1, 0, 4, 2));
        rig.send(&stores);
        while !rig.bench.is_sent() {
            rig.step();
        }
        rig.run(2);
        rig.reset();
        for sink in [send, pushed, receive] {
            rig.bench[sink].pause(Pause::None);
        }
        // Nothing is left of either window.
        rig.send(&[commit(1, 1, 0, 4, 2), commit(3, 1, 0, 1, 0), store(0, SEND.offset, 5)]);
        assert!(!read::<bool>(&rig.bench, "ready"), "the windows are being emptied");
        rig.run(1 << PAGES);
        assert!(read::<bool>(&rig.bench, "ready") && rig.stored.is_empty());
        rig.finish(false);
    }
}

#[test]
fn a_store_right_behind_its_commit_does_not_tear_it() {
    let mut rig = Rig::default();
    for units in 1..5 {
        for at in 0..units * 8 {
            let mut stores = fill(2, 1, units, at);
            stores.push(commit(2, 9, 100, units, 1));
            stores.push(word(2, 1, at, 0xdead_beef));
            // The words stored behind belong to the next WQE, which lacks the others.
            stores.push(commit(2, 9, 100 + units, units, 1));
            rig.send(&stores);
            let [.., (first, pushed), (second, _)] = &rig.sends[..] else { panic!("two commits") };
            assert_eq!(
                (u64::from(first.units), pushed.len() as u64, u64::from(second.units)),
                (units, units, 0)
            );
            rig.finish(false);
            rig.reset();
        }
    }
}

#[test]
fn a_narrow_store_makes_its_word_missing_until_it_is_stored_whole() {
    let mut rig = Rig::default();
    for (repaired, units) in [(false, 0), (true, 1)] {
        rig.send(&fill(0, 3, 1, 1));
        rig.send(&[PageStore { strb: 0xf0.into(), ..word(0, 3, 5, 1) }]);
        if repaired {
            rig.send(&[word(0, 3, 5, 2)]);
        }
        rig.send(&[commit(0, 4, 0xffff, 1, 3)]);
        let (doorbell, _) = rig.sends[0];
        assert_eq!((u64::from(doorbell.units), u64::from(doorbell.producer)), (units, 0), "the index wraps");
        rig.finish(false);
        rig.reset();
    }
}

#[test]
fn windows_of_other_pages_and_numbers_stay_as_they_are() {
    let mut rig = Rig::default();
    let places: Vec<_> = (0..1 << PAGES).flat_map(|page| (0..4).map(move |window| (page, window))).collect();
    for (page, window) in &places {
        rig.send(&fill(*page, *window, 4, page << 2 | window));
    }
    for (page, window) in places.iter().rev() {
        rig.send(&[commit(*page, 1, 0, 4, *window), commit(*page, 1, 4, 1, *window)]);
    }
    let counts: Vec<_> = rig.sends.iter().map(|(doorbell, _)| u64::from(doorbell.units)).collect();
    assert_eq!(counts, [4, 0].repeat(16));
    rig.finish(false);
}

#[test]
fn a_commit_of_no_unit_or_of_five_is_bad_and_empties_its_window() {
    let mut rig = Rig::default();
    for units in [0, 5, 8, 15] {
        rig.send(&fill(1, 0, 4, units));
        rig.send(&[commit(1, 1, 0, units, 0), commit(1, 1, 0, 1, 0)]);
        assert_eq!((rig.bad, rig.sends.len(), u64::from(rig.sends[0].0.units)), (1, 1, 0));
        rig.finish(false);
        rig.reset();
    }
}

#[test]
fn what_means_nothing_is_counted_and_does_nothing_else() {
    let mut rig = Rig::default();
    let whole = [
        store(1 << PAGES, SEND.offset, 1),
        store(0xfff, PUSH_COMMIT.offset, 1 << 40),
        store(1 << PAGES, PUSH.offset, 1),
        store(1 << PAGES, RECEIVE.offset, 1),
        store(0xfff, SHARED_RECEIVE.offset, 1),
        store(0, 0x28, 1),
        store(0, 0xf8, 1),
        store(0, PUSH.end(), 1),
        store(0, 0xff8, 1),
    ];
    let narrow = [SEND, RECEIVE, SHARED_RECEIVE, COMPLETION, PUSH_COMMIT]
        .map(|reg| PageStore { strb: 0x0f.into(), ..store(0, reg.offset, 1 << 40) });
    // A narrow commit empties nothing.
    rig.send(&fill(0, 0, 1, 1));
    rig.send(&whole);
    rig.send(&narrow);
    assert_eq!(rig.bad, 14);
    rig.send(&[commit(0, 1, 0, 1, 0)]);
    rig.finish(false);
    assert_eq!(u64::from(rig.sends[0].0.units), 1);
}

#[test]
fn doorbells_of_receive_queues_say_whose_they_are() {
    let mut rig = Rig::default();
    rig.send(&[
        store(2, RECEIVE.offset, 0xffff_ab12 << 16 | 0x3456),
        store(3, SHARED_RECEIVE.offset, 0x1234_56ab << 16 | 0xcdef),
    ]);
    rig.settle();
    let doorbell = |shared, number: u64, page: u64, producer: u64| ReceiveDoorbell {
        shared,
        number: number.into(),
        page: page.into(),
        producer: producer.into(),
    };
    let expected = [doorbell(false, 0x12_3456, 2, 0xffab), doorbell(true, 0xab_cdef, 3, 0x3456)];
    assert_eq!(collect::<ReceiveDoorbell>(&mut rig.bench, rig.receive), expected);
}

#[test]
fn the_seventeenth_receive_doorbell_waits_and_with_it_the_stores_behind() {
    let mut rig = Rig::default();
    rig.bench[rig.receive].pause(Pause::Always);
    rig.send(&(0..17).map(|number| store(0, RECEIVE.offset, number)).collect::<Vec<_>>());
    rig.send(&[store(0, SEND.offset, 1)]);
    rig.run(200);
    // The seventeenth has left the stream and waits inside.
    assert_eq!(rig.bench[rig.store].sent(), 17);
    rig.bench[rig.receive].pause(Pause::None);
    rig.finish(false);
}

#[test]
fn a_commit_without_room_hands_over_nothing_and_does_not_wait() {
    let mut rig = Rig::default();
    let pushed = rig.pushed;
    rig.bench[pushed].pause(Pause::Script(vec![true]));
    let mut commits = |counts: &[u64], expected: &[u64]| {
        for (at, units) in counts.iter().enumerate() {
            rig.send(&fill(0, 0, *units, at as u64));
            rig.send(&[commit(0, 1, 0, *units, 0)]);
        }
        rig.run(500);
        assert!(rig.bench.is_sent(), "stores wait");
        let got = collect::<SendDoorbell>(&mut rig.bench, rig.send);
        assert_eq!(got.iter().map(|doorbell| u64::from(doorbell.units)).collect::<Vec<_>>(), expected);
    };
    // 13 units wait; four do not fit, three do; then none do.
    commits(&[4, 4, 4, 1, 4, 3, 1], &[4, 4, 4, 1, 0, 3, 0]);
    rig.bench[pushed].pause(Pause::None);
    rig.settle();
    assert_eq!(collect::<Bits<512>>(&mut rig.bench, pushed).len(), ROOM);
}

#[test]
fn doorbells_take_2_cycles_and_units_follow_their_commit_one_a_cycle() {
    for (units, latency, rate) in [(0, 2, 2), (1, 2, 3), (4, 2, 6)] {
        let mut rig = Rig::default();
        rig.run(1 << PAGES);
        rig.send(&fill(0, 0, units, 1));
        rig.settle();
        let first = if units == 0 { store(0, SEND.offset, 3) } else { commit(0, 3, 0, units, 0) };
        rig.stored.clear();
        rig.send(&[first, store(0, SEND.offset, 3)]);
        while !read::<bool>(&rig.bench, "send$valid") {
            rig.step();
        }
        assert_eq!(rig.bench.cycle() - rig.stored[0] + 1, latency, "{units} units");
        assert!(!read::<bool>(&rig.bench, "pushed$valid"));
        for there in 0..units {
            rig.step();
            assert!(read::<bool>(&rig.bench, "pushed$valid"));
            assert_eq!(rig.bench[rig.pushed].received().len() as u64, there);
        }
        rig.finish(false);
        assert_eq!(rig.stored[1] - rig.stored[0], rate, "{units} units");
    }
}

#[test]
fn stores_that_are_discarded_are_taken_and_are_no_work() {
    let mut rig = Rig::default();
    rig.run(1 << PAGES);
    let mut rng = SplitMix64::new(77);
    let stores: Vec<PageStore> = (0..200).map(|_| noise(&mut rng)).collect();
    rig.discard(true);
    push(&mut rig.bench, rig.store, &stores);
    for _ in 0..2 * stores.len() + 4 {
        rig.step();
        assert!(!read::<bool>(&rig.bench, "busy"));
    }
    assert!(rig.bench.is_sent());
    rig.discard(false);
    assert_eq!((rig.finish(false), rig.seen_bad), (0, 0), "nothing came of them");
}
