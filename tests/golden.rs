//! Two golden endpoints on a cable: random operations of all kinds over many queue pairs, on a wire that is perfect or not.
//!
//! A card carries the same traffic in `random.rs`, with a golden endpoint at the other side; here it is shown to be fair.

use std::ops::Range;
use std::sync::Arc;

use stroma_abi::Qpn;
use stroma_sim::link::{Chance, Counters, Faults, Hold, LinkConfig};
use stroma_sim::model::{Completion, Dropped, Received};
use stroma_sim::peer::Golden;
use stroma_sim::{Shared, World};
use stroma_tests::traffic::{
    self, AREA, Account, Area, Generator, GoldenSide, Grant, Kind, Offer, Operation, PAIRS, PairTerms, Piece,
    Plan, Queue, Receive, Receivers, SHARED, Scope, Service, Services, Side, Terms, Wire,
};
use stroma_top::Profile;
use stroma_verilate::Options;

/// What is left of a run.
struct Outcome {
    end: u64,
    lines: [Counters; 2],
    dropped: Vec<Dropped>,
    accounts: [Account; 2],
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
        ..Faults::default()
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

fn run(profile: Profile, plan: Plan, faults: fn(u64) -> Faults, set: fn(&mut World)) -> Outcome {
    let shared = golden_world(profile, plan.seed, faults);
    set(&mut shared.world());
    let [mut one, mut other] = [0, 1].map(|end| GoldenSide::new(&shared, end, end, &plan.services));
    let accounts = traffic::run(&shared, [&mut one, &mut other], &plan);
    let dropped = [&one, &other].map(|side| side.peer(|peer| peer.dropped().to_vec())).concat();
    let mut world = shared.world();
    let lines = [0, 1].map(|station| world.line(station).counters());
    Outcome { end: world.now(), lines, dropped, accounts }
}

fn perfect(seed: u64, receivers: Receivers) -> Plan {
    Plan {
        seed,
        operations: 1000,
        services: Services::RELIABLE,
        receivers,
        wire: Wire::InOrder,
        terms: Terms::USUAL,
    }
}

fn unruly(seed: u64, operations: u64) -> Plan {
    let (receivers, wire) = (Receivers::Late, Wire::Unruly);
    Plan { seed, operations, services: Services::RELIABLE, receivers, wire, terms: Terms::USUAL }
}

#[test]
fn on_a_perfect_wire_all_arrives_and_nothing_is_dropped() {
    let outcome = run(Profile::HundredGig, perfect(1, Receivers::Ready), |_| Faults::default(), |_| {});
    assert_eq!(outcome.dropped, []);
    for Account { tally, .. } in outcome.accounts {
        assert!(tally.rarest(Service::Reliable).1 > 5, "a side did every kind: {tally}");
    }
    assert!(outcome.lines.iter().all(|line| line.departed == line.pushed && line.pushed > 1000));
}

#[test]
fn on_a_perfect_wire_receives_that_come_late_are_waited_for() {
    let outcome = run(Profile::HundredGig, perfect(8, Receivers::Late), |_| Faults::default(), |_| {});
    let behind = outcome.drops(|dropped| *dropped == Dropped::Gap);
    assert!(behind > 20 && outcome.dropped.len() == behind, "only what came behind a message without one");
}

/// With a hundredth of each fault; the wire really was bad, so that each recovery was needed, and no answer came that nobody
/// asked for.
fn survives(profile: Profile, seed: u64) {
    let plan = unruly(seed, 1000);
    let outcome = run(profile, plan, bad, |_| {});
    for line in outcome.lines {
        let struck = [line.lost, line.duplicated, line.held, line.corrupted];
        assert!(struck.iter().all(|count| *count > 10), "seed {seed}: {line:?}");
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
fn on_a_perfect_wire_all_services_deliver_all() {
    let plan = Plan { services: Services::mixed(9), operations: 2000, ..perfect(9, Receivers::Ready) };
    let outcome = run(Profile::HundredGig, plan, |_| Faults::default(), |_| {});
    assert_eq!(outcome.dropped, []);
    for Account { tally, .. } in outcome.accounts {
        let counts = Service::ALL.map(|service| tally.rarest(service).1);
        assert!(counts.into_iter().all(|count| count > 5), "a side did every kind: {tally}");
    }
}

#[test]
fn on_a_bad_wire_what_promises_less_loses_some_and_delivers_most() {
    for seed in 10..12 {
        let plan = Plan { services: Services::mixed(seed), ..unruly(seed, 1000) };
        let outcome = run(Profile::HundredGig, plan, bad, |_| {});
        assert!(outcome.drops(|dropped| *dropped == Dropped::Broken) > 10, "seed {seed}");
        for Account { tally, fate } in outcome.accounts {
            assert_eq!((fate.arrived + fate.lost, fate.writes), tally.losable(), "seed {seed}");
            assert!(fate.lost > 5 && fate.arrived > 2 * fate.lost, "seed {seed}: {fate:?}");
            assert!(fate.whole * 2 > fate.writes, "seed {seed}: {fate:?}");
        }
    }
}

#[test]
fn however_the_world_is_run_the_outcome_is_the_same_to_the_cycle() {
    let plan = unruly(6, 60);
    let of = |set| {
        let outcome = run(Profile::HundredGig, plan, bad, set);
        (outcome.end, outcome.lines, outcome.dropped, outcome.accounts)
    };
    let skipped = of(|_| {});
    assert_eq!(of(|_| {}), skipped, "again");
    assert_eq!(of(|world| world.skip_quiet_time(false)), skipped, "ticking");
    assert_eq!(of(|world| world.threads(true)), skipped, "threads");
}

/// Of a queue pair that may do everything, but has no windows.
fn scope() -> Scope {
    let target = Some(Grant { key: 5, part: Piece { place: 0, length: AREA } });
    let service = Service::Reliable;
    Scope { service, is_named: false, word: 77, target, bind: None, invalidate: None, send_invalidate: None }
}

#[test]
fn operations_are_of_all_kinds_mostly_small_sometimes_long_and_lie_anywhere() {
    let generate = |seed| {
        let mut generator = Generator::new(seed);
        (0..10_000).map(|id| generator.operation(id, 1, &scope())).collect::<Vec<_>>()
    };
    let operations = generate(1);
    assert_eq!(generate(1), operations);
    assert_ne!(generate(2), operations);
    let count = |of: fn(&Operation) -> bool| operations.iter().filter(|operation| of(operation)).count();
    assert!(count(|operation| operation.length() <= 256) > 6000);
    assert!(count(|operation| operation.length() > 0x8_0000) > 10);
    assert!(count(|operation| operation.length() == 0) > 0);
    assert!((1550..2050).contains(&count(|operation| operation.kind == Kind::Read)));
    assert!((1700..2200).contains(&count(|operation| operation.kind.is_send())));
    assert!((2000..2500).contains(&count(|operation| operation.kind.is_write())));
    assert!((1300..1700).contains(&count(|operation| operation.kind.immediate().is_some())));
    let swaps = |operation: &Operation| matches!(operation.kind, Kind::CompareSwap { compare: 77, .. });
    assert!((290..460).contains(&count(swaps)));
    assert!(count(|operation| matches!(operation.kind, Kind::FetchAdd(_)) && operation.remote == 0) > 2300);
    assert!(count(|operation| operation.inline) > 300 && count(|operation| operation.fence) > 1000);
    assert!((2..=16).all(|pieces| operations.iter().any(|operation| operation.pieces.len() == pieces)));
    let first = |operation: &Operation| operation.pieces.first().map(|piece| piece.place % 64);
    for alignment in 0..64 {
        assert!(operations.iter().any(|operation| first(operation) == Some(alignment)), "local {alignment}");
        assert!(operations.iter().any(|operation| operation.remote % 64 == alignment), "remote {alignment}");
    }
    for operation in &operations {
        let mut places: Vec<_> = operation.pieces.iter().map(|piece| piece.range()).collect();
        places.sort_by_key(|range| (range.start, range.end));
        assert!(places.windows(2).all(|two| two[0].end <= two[1].start), "{operation:?}");
        assert!(places.last().is_none_or(|range| range.end <= AREA), "{operation:?}");
        assert!(operation.remote_range().end <= AREA, "{operation:?}");
    }
}

#[test]
fn what_an_unreliable_connection_does_needs_no_answer_and_can_be_told_apart() {
    let scope = Scope { service: Service::Unreliable, is_named: true, ..scope() };
    let mut generator = Generator::new(5);
    let operations: Vec<_> = (0..1000).map(|id| generator.operation(id, 1, &scope)).collect();
    assert!(operations.iter().all(|one| one.kind.is_send() || one.kind.is_write()));
    assert!(operations.iter().all(|one| one.kind != Kind::Send || one.length() >= 8));
    for of in [|kind| kind == Kind::Send, |kind| kind == Kind::Write, |kind: Kind| kind.immediate().is_some()]
    {
        assert!(operations.iter().filter(|one| of(one.kind)).count() > 200);
    }
}

#[test]
fn datagrams_are_of_one_packet_at_most_and_can_be_told_apart() {
    let scope = Scope { service: Service::Datagram, is_named: true, ..scope() };
    let mut generator = Generator::new(6);
    let operations: Vec<_> = (0..1000).map(|id| generator.operation(id, 1, &scope)).collect();
    for one in &operations {
        assert!(one.length() <= 4096 && one.kind.is_send() && one.kind.ended().is_none(), "{one:?}");
        assert!(one.kind != Kind::Send || one.length() >= 8, "{one:?}");
    }
    for of in [|kind| kind == Kind::Send, |kind: Kind| kind.immediate().is_some()] {
        assert!(operations.iter().filter(|one| of(one.kind)).count() > 200);
    }
    assert!(operations.iter().filter(|one| one.length() > 2048).count() > 50);
}

#[test]
fn services_are_mixed_in_every_part() {
    for seed in 0..100 {
        let services = Services::mixed(seed);
        let count = |pairs: Range<usize>, service| pairs.filter(|pair| services.of(*pair) == service).count();
        for service in Service::ALL {
            assert!(count(0..SHARED, service) >= SHARED / Service::ALL.len(), "seed {seed}");
            assert!(count(SHARED..PAIRS, service) > 0, "seed {seed}");
        }
        assert_eq!(services, Services::mixed(seed));
    }
    assert_ne!(Services::mixed(1), Services::mixed(2));
}

#[test]
fn keys_are_bound_used_and_ended_where_that_may_be() {
    let count = |scope: &Scope, of: fn(&Operation) -> bool| {
        let mut generator = Generator::new(3);
        (0..1000).map(|id| generator.operation(id, 9, scope)).filter(of).count()
    };
    let closed = Scope { target: None, bind: Some(6), ..scope() };
    assert_eq!(count(&closed, |one| matches!(one.kind, Kind::Bind(Grant { key: 6, .. }))), 1000);
    let binding = Scope { bind: None, ..closed };
    assert_eq!(count(&binding, |one| one.kind.uses_target()), 0);
    let part = Piece { place: 2000, length: AREA - 4000 };
    let open = Scope {
        target: Some(Grant { key: 7, part }),
        invalidate: Some(8),
        send_invalidate: Some(7),
        ..scope()
    };
    assert!((80..170).contains(&count(&open, |one| one.kind == Kind::Invalidate(8))));
    assert!((70..150).contains(&count(&open, |one| one.kind == Kind::SendInv(7))));
    let is_inside =
        |one: &Operation| one.key == 7 && one.remote >= 2000 && one.remote_range().end <= AREA - 2000;
    assert!(count(&open, |one| one.kind.uses_target()) > 250);
    let mut generator = Generator::new(4);
    let mut drawn = (0..1000).map(|id| generator.operation(id, 9, &open));
    assert!(drawn.all(|one| is_inside(&one) || !one.kind.uses_target()));
}

/// What a side does wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// Puts one WRITE of each queue pair a byte before its place.
    Misplaces,
    /// Tells of completions twice.
    Repeats,
    /// Adds one more than it should.
    Adds,
    /// Gives a wrong number with messages.
    Immediate,
    /// Tells of messages without their last byte.
    Shortens,
    /// Posts receives whose pieces are in another order than wanted.
    Shuffles,
    /// Tells of another key than the one that a message ended.
    Key,
    /// Binds windows to fewer bytes than wanted.
    Narrows,
    /// Tells of another queue pair than the one that has sent a datagram.
    Sender,
}

/// A side that does wrong.
struct Wrong {
    side: GoldenSide,
    fault: Fault,
    told: Option<(usize, Completion)>,
}

impl Side for Wrong {
    fn offer(&self, pair: usize) -> Offer {
        self.side.offer(pair)
    }

    fn connect(&mut self, pair: usize, terms: &PairTerms, far: &Offer) {
        self.side.connect(pair, terms, far);
    }

    fn next_key(&mut self, pair: usize) -> u32 {
        self.side.next_key(pair)
    }

    fn post(&mut self, pair: usize, operation: &Operation) {
        let mut operation = operation.clone();
        match (self.fault, &mut operation.kind) {
            (Fault::Misplaces, Kind::Write) if operation.id == 2 => {
                operation.remote = operation.remote.saturating_sub(1);
            }
            (Fault::Adds, Kind::FetchAdd(add)) if operation.remote == 0 => *add = add.wrapping_add(1),
            (Fault::Immediate, Kind::SendImm(data) | Kind::WriteImm(data)) => *data ^= 1,
            (Fault::Narrows, Kind::Bind(grant)) => grant.part.length /= 2,
            _ => {}
        }
        self.side.post(pair, &operation);
    }

    fn post_receive(&mut self, queue: Queue, receive: &Receive) -> bool {
        let mut receive = receive.clone();
        if self.fault == Fault::Shuffles {
            receive.pieces.rotate_left(1);
        }
        self.side.post_receive(queue, &receive)
    }

    fn poll(&mut self, pair: usize) -> Option<Completion> {
        if let Some((_, again)) = self.told.take_if(|(of, _)| *of == pair) {
            return Some(again);
        }
        let found = self.side.poll(pair)?;
        self.told = (self.fault == Fault::Repeats).then_some((pair, found));
        Some(found)
    }

    fn poll_receive(&mut self, pair: usize) -> Option<Received> {
        let mut found = self.side.poll_receive(pair)?;
        if self.fault == Fault::Shortens {
            found.bytes = found.bytes.saturating_sub(1);
        }
        if self.fault == Fault::Key {
            found.invalidated = found.invalidated.map(|key| key ^ 1);
        }
        if self.fault == Fault::Sender {
            found.source = found.source.map(|source| Qpn::new(source.value() ^ 1));
        }
        Some(found)
    }

    fn write(&mut self, area: Area, place: usize, bytes: &[u8]) {
        self.side.write(area, place, bytes);
    }

    fn read(&self, area: Area, range: Range<usize>) -> Vec<u8> {
        self.side.read(area, range)
    }
}

fn wrong(fault: Fault) {
    wrong_among(fault, Services::RELIABLE);
}

fn wrong_among(fault: Fault, services: Services) {
    let plan = Plan { operations: 300, services, ..perfect(7, Receivers::Ready) };
    let shared = golden_world(Profile::HundredGig, 7, |_| Faults::default());
    let mut right = GoldenSide::new(&shared, 1, 1, &plan.services);
    let mut wrong = Wrong { side: GoldenSide::new(&shared, 0, 0, &plan.services), fault, told: None };
    traffic::run(&shared, [&mut wrong, &mut right], &plan);
}

#[test]
#[should_panic(expected = "target")]
fn a_write_to_the_wrong_place_is_found() {
    wrong(Fault::Misplaces);
}

#[test]
#[should_panic(expected = "side 0, queue pair")]
fn a_completion_that_comes_twice_is_found() {
    wrong(Fault::Repeats);
}

#[test]
#[should_panic(expected = "the common word")]
fn an_addition_that_is_wrong_is_found() {
    wrong(Fault::Adds);
}

#[test]
#[should_panic(expected = "side 1, receives of queue pair")]
fn immediate_data_that_is_wrong_is_found() {
    wrong(Fault::Immediate);
}

#[test]
#[should_panic(expected = "side 0, receives of queue pair")]
fn a_message_that_is_too_short_is_found() {
    wrong(Fault::Shortens);
}

#[test]
#[should_panic(expected = "content of receive")]
fn a_message_in_the_wrong_pieces_is_found() {
    wrong(Fault::Shuffles);
}

#[test]
#[should_panic(expected = "side 0, receives of queue pair")]
fn the_end_of_another_key_is_found() {
    wrong(Fault::Key);
}

#[test]
#[should_panic(expected = "side 0, receives of queue pair")]
fn another_sender_of_a_datagram_is_found() {
    wrong_among(Fault::Sender, Services::mixed(7));
}

#[test]
#[should_panic(expected = "queue pair")]
fn a_window_that_opens_too_little_is_found() {
    wrong(Fault::Narrows);
}
