//! Random traffic of all operations between a card and a golden endpoint, on a perfect wire and on a bad one. The same runs, more of them, are
//! `cargo xtask soak`.

use stroma_tests::effort::share;
use stroma_tests::faulty::{Far, Outcome, Run, run};
use stroma_top::Profile;

/// Operations of one test.
fn operations() -> u64 {
    share(800) as u64
}

/// More frames than this a wire that is bad spoils in a test, each way it can, and the card has to send again.
fn spoiled() -> u64 {
    operations() / 50
}

/// Everything that a reliable connection knows was done, several times.
fn was_mixed(outcome: &Outcome) {
    let tally = outcome.tally();
    assert!(tally.rarest().1 > operations() / 160, "{tally}");
}

/// The card sends nothing twice. What it receives twice is another matter: it may put off what comes behind an atomic, and the
/// golden endpoint then asks again for what it has no answer to yet.
fn perfect(profile: Profile, seed: u64) {
    let outcome = run(&Run { profile, far: Far::Golden, seed, operations: operations(), percent: 0 }, None);
    assert_eq!((outcome.retransmitted, outcome.timeouts), (0, 0), "{profile:?}: {outcome:?}");
    was_mixed(&outcome);
}

/// With a hundredth of the frames lost, doubled, overtaken; the wire really was bad, so that recovery was needed.
fn bad(profile: Profile, seed: u64) {
    let outcome = run(&Run { profile, far: Far::Golden, seed, operations: operations(), percent: 1 }, None);
    let [there, back] = outcome.lines;
    for line in [there, back] {
        assert!(line.lost.min(line.duplicated).min(line.held) > spoiled(), "{profile:?}: {outcome:?}");
    }
    assert!(outcome.retransmitted.min(outcome.duplicates) > spoiled(), "{profile:?}: {outcome:?}");
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
    let outcome =
        run(&Run { profile: Profile::TenGig, far: Far::Golden, seed: 9, operations: 100, percent: 25 }, None);
    let [there, back] = outcome.lines;
    for line in [there, back] {
        assert!(line.lost * 5 > line.departed, "{outcome:?}");
    }
    assert!(outcome.timeouts > 10 && outcome.retransmitted > 100, "{outcome:?}");
}

#[test]
fn two_cards_on_a_bad_wire_10g() {
    let outcome = run(
        &Run { profile: Profile::TenGig, far: Far::Card, seed: 7, operations: operations(), percent: 1 },
        None,
    );
    assert!(outcome.retransmitted > spoiled(), "{outcome:?}");
    was_mixed(&outcome);
}

#[test]
fn two_cards_on_a_bad_wire_100g() {
    let outcome = run(
        &Run { profile: Profile::HundredGig, far: Far::Card, seed: 8, operations: operations(), percent: 1 },
        None,
    );
    assert!(outcome.retransmitted > spoiled(), "{outcome:?}");
    was_mixed(&outcome);
}
