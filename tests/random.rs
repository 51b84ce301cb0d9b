//! Random traffic of all operations between a card and a golden endpoint, or two cards, on a perfect wire and on a bad one: over reliable
//! connections alone, and over all services side by side. The same runs, more of them, are `cargo xtask soak`.

use stroma_tests::effort::share;
use stroma_tests::faulty::{Far, Outcome, Run, run};
use stroma_tests::traffic::{Account, Fate, Service, Services, Terms};
use stroma_top::Profile;

/// Operations of one test.
fn operations() -> u64 {
    share(800) as u64
}

fn reliable(profile: Profile, far: Far, seed: u64, percent: u32) -> Run {
    Run {
        profile,
        far,
        seed,
        operations: operations(),
        percent,
        services: Services::RELIABLE,
        terms: Terms::USUAL,
    }
}

/// Queue pairs of all services.
fn mixed(profile: Profile, far: Far, seed: u64, percent: u32) -> Run {
    Run { services: Services::mixed(seed), ..reliable(profile, far, seed, percent) }
}

/// More frames than this a wire that is bad spoils in a test, each way it can, and the card has to send again. Few, so that
/// a change of some cycles in the card, which makes another run of each seed, does not matter.
fn spoiled() -> u64 {
    operations() / 100
}

/// Everything that a reliable connection knows was done.
fn was_mixed(outcome: &Outcome) {
    let Account { tally, .. } = outcome.account();
    assert!(tally.rarest(Service::Reliable).1 > operations() / 320, "{tally}");
}

/// The card sends nothing twice.
fn perfect(profile: Profile, seed: u64) {
    let outcome = run(&reliable(profile, Far::Golden, seed, 0), None);
    assert_eq!((outcome.retransmitted, outcome.timeouts), (0, 0), "{profile:?}: {outcome:?}");
    was_mixed(&outcome);
}

/// With a hundredth of the frames lost, doubled, overtaken; the wire really was bad, so that recovery was needed.
fn bad(profile: Profile, seed: u64) {
    let outcome = run(&reliable(profile, Far::Golden, seed, 1), None);
    let [there, back] = outcome.lines;
    for line in [there, back] {
        assert!(line.lost.min(line.duplicated).min(line.held) > spoiled(), "{profile:?}: {outcome:?}");
    }
    assert!(outcome.retransmitted > spoiled() && outcome.duplicates > 0, "{profile:?}: {outcome:?}");
    was_mixed(&outcome);
}

#[test]
fn on_a_perfect_wire_nothing_is_sent_twice_10g() {
    perfect(Profile::TenGig, 1);
}

#[test]
fn on_a_perfect_wire_nothing_is_sent_twice_100g() {
    perfect(Profile::HundredGig, 2);
}

/// Without retries and timers, with slow hosts and few READs in flight: what a perfect wire brings needs none of them.
fn drawn(profile: Profile, far: Far, seed: u64) {
    let outcome = run(&Run { terms: Terms::drawn(seed, true), ..reliable(profile, far, seed, 0) }, None);
    assert_eq!(outcome.timeouts, 0, "{outcome:?}");
    was_mixed(&outcome);
}

#[test]
fn on_a_perfect_wire_neither_retries_nor_timers_are_needed_10g() {
    drawn(Profile::TenGig, Far::Card, 21);
}

#[test]
fn on_a_perfect_wire_neither_retries_nor_timers_are_needed_100g() {
    drawn(Profile::HundredGig, Far::Golden, 22);
}

#[test]
fn on_a_bad_wire_all_arrives_10g() {
    bad(Profile::TenGig, 3);
}

#[test]
fn on_a_bad_wire_all_arrives_100g() {
    bad(Profile::HundredGig, 5);
}

/// A quarter of all frames is lost.
#[test]
fn on_the_worst_wire_all_arrives_10g() {
    let worst = Run { operations: 100, ..reliable(Profile::TenGig, Far::Golden, 9, 25) };
    let outcome = run(&worst, None);
    let [there, back] = outcome.lines;
    for line in [there, back] {
        assert!(line.lost * 5 > line.departed, "{outcome:?}");
    }
    assert!(outcome.timeouts > 10 && outcome.retransmitted > 50, "{outcome:?}");
}

#[test]
fn two_cards_on_a_bad_wire_10g() {
    let outcome = run(&reliable(Profile::TenGig, Far::Card, 7, 1), None);
    assert!(outcome.retransmitted > spoiled(), "{outcome:?}");
    was_mixed(&outcome);
}

#[test]
fn two_cards_on_a_bad_wire_100g() {
    let outcome = run(&reliable(Profile::HundredGig, Far::Card, 8, 1), None);
    assert!(outcome.retransmitted > spoiled(), "{outcome:?}");
    was_mixed(&outcome);
}

/// What promises less had its part, in every kind it knows: of a third of the operations, the rarest is the sixth part or more.
fn all_took_part(outcome: &Outcome) {
    let Account { tally, .. } = outcome.account();
    for service in Service::ALL.into_iter().filter(|service| service.loses()) {
        assert!(tally.rarest(service).1 > operations() / 80, "{tally}");
    }
}

/// Where nothing is lost and each message finds a receive, what promises less delivers as much: all of it, once, in order. Nothing is
/// thrown away, and nothing is sent twice.
fn perfect_for_all(profile: Profile, far: Far, seed: u64) {
    let outcome = run(&mixed(profile, far, seed, 0), None);
    assert_eq!((outcome.retransmitted, outcome.timeouts, outcome.dropped), (0, 0, 0), "{outcome:?}");
    all_took_part(&outcome);
}

/// Three of a hundred frames lost, doubled, overtaken: reliable connections bring all of it, the others most of it and not all.
fn bad_for_all(profile: Profile, far: Far, seed: u64) {
    let outcome = run(&mixed(profile, far, seed, 3), None);
    all_took_part(&outcome);
    assert!(outcome.retransmitted > 0 && outcome.dropped > 0, "{outcome:?}");
    for Account { tally, fate } in &outcome.accounts {
        assert_eq!((fate.arrived + fate.lost, fate.writes), tally.losable(), "{outcome:?}");
    }
    let Fate { arrived, lost, writes, whole, .. } = outcome.account().fate;
    assert!(lost > operations() / 50 && arrived > 2 * lost && whole * 2 > writes, "{outcome:?}");
}

#[test]
fn all_services_on_a_perfect_wire_10g() {
    perfect_for_all(Profile::TenGig, Far::Golden, 11);
}

#[test]
fn all_services_on_a_perfect_wire_100g() {
    perfect_for_all(Profile::HundredGig, Far::Golden, 12);
}

#[test]
fn all_services_of_two_cards_on_a_perfect_wire_10g() {
    perfect_for_all(Profile::TenGig, Far::Card, 13);
}

#[test]
fn all_services_of_two_cards_on_a_perfect_wire_100g() {
    perfect_for_all(Profile::HundredGig, Far::Card, 14);
}

#[test]
fn all_services_on_a_bad_wire_10g() {
    bad_for_all(Profile::TenGig, Far::Golden, 15);
}

#[test]
fn all_services_on_a_bad_wire_100g() {
    bad_for_all(Profile::HundredGig, Far::Golden, 16);
}

#[test]
fn all_services_of_two_cards_on_a_bad_wire_10g() {
    bad_for_all(Profile::TenGig, Far::Card, 17);
}

#[test]
fn all_services_of_two_cards_on_a_bad_wire_100g() {
    bad_for_all(Profile::HundredGig, Far::Card, 18);
}
