//! Queue pairs in error give back what was posted.

use stroma_abi::desc::queue_pair::QueuePairState;
use stroma_verilate::Pause;

use super::super::model::Queue;
use super::rig::{QPS, Rig};

fn own(number: usize) -> Queue {
    Queue { shared: false, number }
}

fn numbers(rig: &Rig) -> Vec<usize> {
    rig.nudged.iter().map(|(_, number)| *number).collect()
}

#[test]
fn a_queue_pair_that_stops_is_nudged_once_even_without_receives() {
    let mut rig = Rig::default();
    rig.fail(6);
    rig.settle();
    assert_eq!(numbers(&rig), [6]);
    assert_eq!(rig.nudged[0].0 - rig.changed[0], 10, "cycles from the change to the nudge");
    // It has left the line, and owes nothing.
    rig.change(6, false, false);
    rig.settle();
    assert_eq!(numbers(&rig), [6]);
    rig.fail(6);
    rig.settle();
    assert_eq!(numbers(&rig), [6, 6]);
}

#[test]
fn all_receives_of_a_queue_pair_in_error_are_recalled() {
    let mut rig = Rig::default();
    for number in [1, 4] {
        rig.ring(own(number), 11);
    }
    rig.settle();
    assert!(rig.nudged.is_empty());
    rig.fail(1);
    rig.fail(4);
    rig.settle();
    for number in [1, 4] {
        assert_eq!(rig.model.queue(own(number)).consumer, 11);
        assert!(numbers(&rig).iter().filter(|nudged| **nudged == number).count() >= 11);
    }
    assert_eq!(numbers(&rig)[..4], [1, 4, 1, 4], "they take turns");
    let gaps: Vec<_> = rig.nudged.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    assert!(gaps.iter().all(|gap| *gap == 5), "a nudge every 5 cycles: {gaps:?}");
    // A doorbell in error begins it again.
    let before = rig.nudged.len();
    rig.ring(own(4), 14);
    rig.settle();
    assert_eq!(rig.model.queue(own(4)).consumer, 14);
    assert!(numbers(&rig)[before..].iter().all(|number| *number == 4));
    let gaps: Vec<_> = rig.nudged[before..].windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    assert!(gaps.iter().all(|gap| *gap == 7), "a nudge of one queue pair every 7 cycles: {gaps:?}");
}

#[test]
fn a_queue_pair_that_resets_in_line_is_not_nudged() {
    let mut rig = Rig::default();
    rig.bench[rig.nudge].pause(Pause::Always);
    for number in 0..1 << QPS {
        rig.ring(own(number), 3);
        rig.fail(number);
    }
    rig.run(100);
    for number in 1..1 << QPS {
        rig.rings[number].state = (QueuePairState::Init as u64).into();
        rig.change(number, true, false);
        rig.ring(own(number), 5);
    }
    rig.run(100);
    rig.bench[rig.nudge].pause(Pause::None);
    rig.settle();
    assert!(numbers(&rig).iter().all(|number| *number == 0), "{:?}", rig.nudged);
    assert_eq!(rig.counts.silent, 8, "seven find nothing, and the other does at last");
    // It can stand in line again.
    rig.fail(3);
    rig.settle();
    assert_eq!(rig.model.queue(own(3)).consumer, 5);
}

#[test]
fn a_queue_pair_that_stops_twice_in_line_stands_there_once() {
    let mut rig = Rig::default();
    rig.bench[rig.nudge].pause(Pause::Always);
    rig.fail(0);
    rig.fail(2);
    rig.change(2, true, false);
    rig.fail(2);
    rig.fail(2);
    rig.run(100);
    rig.bench[rig.nudge].pause(Pause::None);
    rig.settle();
    assert_eq!(numbers(&rig), [0, 2]);
}

#[test]
fn receives_of_a_queue_pair_that_works_stay() {
    let mut rig = Rig::default();
    rig.ring(own(0), 3);
    rig.change(0, false, false);
    rig.settle();
    // The row says nothing of an error: the stop alone is told.
    rig.change(0, false, true);
    rig.settle();
    assert_eq!((numbers(&rig), rig.model.queue(own(0)).count()), (vec![0], 3));
}
