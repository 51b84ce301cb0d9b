//! Random operations over a bad wire: memory equals that of a plain copy, each operation completes once, in order, and each
//! message completes one receive, with what was sent.

use stroma_verilate::SplitMix64;

use super::channel::Faults;
use super::rig::{Pair, settings};
use super::traffic::{PAIRS, SHARED, Traffic, below};
use crate::model::{Dropped, ReceiveQueue, Settings};

/// Receives come in time, or also too late.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Receivers {
    Ready,
    Late,
}

fn run(seed: u64, operations: u64, faults: Faults, coalesce: bool, receivers: Receivers) -> Pair {
    let mut pair = Pair::new(seed, faults);
    pair.keep = false;
    let shared = [ReceiveQueue::new(0), ReceiveQueue::new(0)];
    for end in 0..2_u8 {
        for index in 0..PAIRS {
            let base = settings(end, index, 256 << (index % 5));
            // A microsecond has ten ticks, so that a rest takes some hundreds.
            let rnr_timer = 1 + u8::try_from(index % 3).unwrap();
            let settings = Settings { coalesce, rnr_timer, ticks_per_ms: 10_000, ..base };
            let here = &mut pair.ends[usize::from(end)];
            if index >= SHARED {
                here.connect_sharing(settings, &shared[usize::from(end)]);
            } else {
                here.connect(settings);
            }
        }
    }
    let mut traffic = Traffic::new(&mut pair, shared);
    let mut random = SplitMix64::new(seed ^ 0xbeef);
    while traffic.posted() < operations {
        if receivers == Receivers::Ready {
            traffic.fill_receives(&mut random, &mut pair);
        } else if below(&mut random, 40) == 0 {
            traffic.post_receive(&mut random, &mut pair);
        }
        traffic.post(&mut random, &mut pair, receivers == Receivers::Ready);
        pair.step();
        traffic.poll(&mut pair);
    }
    let limit = pair.now + 20_000_000;
    while traffic.is_open() {
        assert!(pair.now < limit, "seed {seed}: not all that was posted completes");
        traffic.fill_receives(&mut random, &mut pair);
        pair.step();
        traffic.poll(&mut pair);
    }
    pair.run();
    traffic.check(&mut pair, &format!("seed {seed}"));
    pair
}

#[test]
fn on_a_perfect_wire_nothing_is_dropped_and_all_arrives() {
    let pair = run(1, 2000, Faults::default(), false, Receivers::Ready);
    assert_eq!(pair.dropped, []);
}

#[test]
fn on_a_perfect_wire_late_receives_are_waited_for() {
    let pair = run(6, 2000, Faults::default(), false, Receivers::Late);
    // All that is dropped comes behind a message that found no receive.
    assert!(pair.dropped.len() > 100 && pair.dropped.iter().all(|dropped| *dropped == Dropped::Gap));
}

const ONE_PERCENT: Faults = Faults { loss: 10, duplication: 10, reordering: 10, corruption: 10 };

/// The wire really was bad, so that each recovery was needed, and no answer came that nobody asked for.
fn was_bad(pair: &Pair) {
    let count = |what: fn(&Dropped) -> bool| pair.dropped.iter().filter(|dropped| what(dropped)).count();
    assert!(count(|dropped| matches!(dropped, Dropped::Frame(_))) > 100);
    assert!(count(|dropped| matches!(dropped, Dropped::Gap)) > 100);
    assert!(count(|dropped| matches!(dropped, Dropped::Stale)) > 100);
    assert_eq!(count(|dropped| matches!(dropped, Dropped::Unasked | Dropped::Failed)), 0);
}

#[test]
fn with_one_percent_of_each_fault_all_arrives_once_and_in_order() {
    was_bad(&run(2, 4000, ONE_PERCENT, false, Receivers::Late));
}

#[test]
fn with_acks_that_answer_several_requests_all_arrives_once_and_in_order() {
    was_bad(&run(3, 2000, ONE_PERCENT, true, Receivers::Late));
}

#[test]
fn on_a_wire_that_loses_a_tenth_all_arrives_once_and_in_order() {
    let faults = Faults { loss: 100, duplication: 50, reordering: 50, corruption: 0 };
    run(4, 300, faults, true, Receivers::Late);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let faults = Faults { loss: 20, duplication: 20, reordering: 20, corruption: 20 };
    let [one, two] = [(), ()].map(|()| run(5, 200, faults, false, Receivers::Late));
    assert_eq!((one.now, one.dropped), (two.now, two.dropped));
}
