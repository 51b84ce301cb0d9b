//! Two golden endpoints on a cable: random WRITEs and READs over many queue pairs, on a wire that is perfect or not.
//!
//! A card carries the same traffic in `random.rs`, with a golden endpoint at the other side; here it is shown to be fair.

use std::sync::Arc;

use stroma_sim::link::{Chance, Counters, Faults, Hold, LinkConfig};
use stroma_sim::model::{Completion, Dropped};
use stroma_sim::peer::Golden;
use stroma_sim::{Shared, World};
use stroma_tests::traffic::{self, AREA, Area, Generator, GoldenSide, Kind, Offer, Operation, Side};
use stroma_top::Profile;
use stroma_verilate::Options;

/// What is left of a run.
struct Outcome {
    end: u64,
    lines: [Counters; 2],
    dropped: Vec<Dropped>,
}

impl Outcome {
    fn drops(&self, of: fn(&Dropped) -> bool) -> usize {
        self.dropped.iter().filter(|dropped| of(dropped)).count()
    }
}

/// One of a hundred frames lost, duplicated, overtaken by others, damaged so that the MAC notices, and so that it does not.
fn bad(seed: u64) -> Faults {
    let chance = Chance::percent(1);
    Faults {
        seed,
        loss: chance,
        duplication: chance,
        reordering: chance,
        hold: Hold { frames: 3, ns: 20_000 },
        corruption: chance,
        undetected: Chance::percent(50),
        script: None,
    }
}

/// A world of two golden peers on a cable with such faults.
fn golden_world(profile: Profile, seed: u64, faults: fn(u64) -> Faults) -> Arc<Shared> {
    let mut world = World::new(profile, 0, &Options::default()).expect("a world of peers");
    for _ in 0..2 {
        world.add_peer(Box::new(Golden::default()));
    }
    world.cable(0, 1, LinkConfig::cable(profile));
    for station in 0..2 {
        world.line(station).set_faults(faults(2 * seed + station as u64));
    }
    Shared::new(world)
}

fn run(
    profile: Profile,
    seed: u64,
    operations: u64,
    faults: fn(u64) -> Faults,
    set: fn(&mut World),
) -> Outcome {
    let shared = golden_world(profile, seed, faults);
    set(&mut shared.world());
    let [mut one, mut other] = [0, 1].map(|end| GoldenSide::new(&shared, end, end));
    traffic::run(&shared, [&mut one, &mut other], seed, operations);
    let dropped = [&one, &other].map(|side| side.peer(|peer| peer.dropped().to_vec())).concat();
    let mut world = shared.world();
    Outcome { end: world.now(), lines: [0, 1].map(|station| world.line(station).counters()), dropped }
}

#[test]
fn on_a_perfect_wire_all_arrives_and_nothing_is_dropped() {
    let outcome = run(Profile::HundredGig, 1, 500, |_| Faults::default(), |_| {});
    assert_eq!(outcome.dropped, []);
    assert!(outcome.lines.iter().all(|line| line.departed == line.pushed && line.pushed > 1000));
}

/// With a hundredth of each fault; the wire really was bad, so that each recovery was needed, and no answer came that nobody
/// asked for.
fn survives(profile: Profile, seed: u64) {
    let outcome = run(profile, seed, 500, bad, |_| {});
    for line in outcome.lines {
        let struck = [line.lost, line.duplicated, line.held, line.corrupted];
        assert!(struck.iter().all(|count| *count > 20), "seed {seed}: {line:?}");
    }
    assert!(
        outcome.drops(|dropped| matches!(dropped, Dropped::Frame(_))) > 10,
        "seed {seed}: the ICRC tells"
    );
    assert!(outcome.drops(|dropped| matches!(dropped, Dropped::Gap)) > 20, "seed {seed}");
    assert!(outcome.drops(|dropped| matches!(dropped, Dropped::Stale)) > 20, "seed {seed}");
    assert_eq!(
        outcome.drops(|dropped| matches!(dropped, Dropped::Unasked | Dropped::Failed)),
        0,
        "seed {seed}"
    );
}

#[test]
fn on_a_bad_wire_all_completes_once_and_in_order_and_memory_is_right() {
    (2..5).for_each(|seed| survives(Profile::HundredGig, seed));
}

#[test]
fn the_same_on_a_slower_wire() {
    survives(Profile::TenGig, 5);
}

#[test]
fn however_the_world_is_run_the_outcome_is_the_same_to_the_cycle() {
    let of = |set| {
        let outcome = run(Profile::HundredGig, 6, 30, bad, set);
        (outcome.end, outcome.lines, outcome.dropped)
    };
    let skipped = of(|_| {});
    assert_eq!(of(|_| {}), skipped, "again");
    assert_eq!(of(|world| world.skip_quiet_time(false)), skipped, "ticking");
    assert_eq!(of(|world| world.threads(true)), skipped, "threads");
}

#[test]
fn operations_are_mostly_small_sometimes_long_and_lie_anywhere() {
    let generate = |seed| {
        let mut generator = Generator::new(seed);
        (0..10_000).map(|id| generator.operation(id)).collect::<Vec<_>>()
    };
    let operations = generate(1);
    assert_eq!(generate(1), operations);
    assert_ne!(generate(2), operations);
    let count = |of: fn(&Operation) -> bool| operations.iter().filter(|operation| of(operation)).count();
    assert!(count(|operation| operation.length <= 256) > 6000);
    assert!(count(|operation| operation.length > 0x8_0000) > 20);
    assert!(count(|operation| operation.length == 0) > 0);
    assert!((4500..5500).contains(&count(|operation| operation.kind == Kind::Read)));
    for alignment in 0..64 {
        assert!(operations.iter().any(|operation| operation.local % 64 == alignment), "local {alignment}");
        assert!(operations.iter().any(|operation| operation.remote % 64 == alignment), "remote {alignment}");
    }
    let fits = |place: usize, length: usize| place + length <= AREA;
    assert!(
        operations.iter().all(|found| fits(found.local, found.length) && fits(found.remote, found.length))
    );
}

/// A side that does wrong.
struct Wrong {
    side: GoldenSide,
    /// Puts one WRITE of a queue pair a byte before its place.
    misplaces: bool,
    /// Tells of completions twice.
    repeats: bool,
    told: Option<(usize, Completion)>,
}

impl Side for Wrong {
    fn offer(&self, pair: usize) -> Offer {
        self.side.offer(pair)
    }

    fn connect(&mut self, pair: usize, mtu: u32, far: &Offer) {
        self.side.connect(pair, mtu, far);
    }

    fn post(&mut self, pair: usize, operation: &Operation) {
        let is_struck = self.misplaces && operation.id == 2 && operation.kind == Kind::Write;
        let remote = if is_struck { operation.remote.saturating_sub(1) } else { operation.remote };
        self.side.post(pair, &Operation { remote, ..*operation });
    }

    fn poll(&mut self, pair: usize) -> Option<Completion> {
        if let Some((_, again)) = self.told.take_if(|(of, _)| *of == pair) {
            return Some(again);
        }
        let found = self.side.poll(pair)?;
        self.told = self.repeats.then_some((pair, found));
        Some(found)
    }

    fn write(&mut self, area: Area, bytes: &[u8]) {
        self.side.write(area, bytes);
    }

    fn read(&self, area: Area) -> Vec<u8> {
        self.side.read(area)
    }
}

fn wrong(misplaces: bool, repeats: bool) {
    let shared = golden_world(Profile::HundredGig, 7, |_| Faults::default());
    let mut right = GoldenSide::new(&shared, 1, 1);
    let mut wrong = Wrong { side: GoldenSide::new(&shared, 0, 0), misplaces, repeats, told: None };
    traffic::run(&shared, [&mut wrong, &mut right], 7, 200);
}

#[test]
#[should_panic(expected = "target")]
fn a_write_to_the_wrong_place_is_found() {
    wrong(true, false);
}

#[test]
#[should_panic(expected = "side 0, queue pair")]
fn a_completion_that_comes_twice_is_found() {
    wrong(false, true);
}
