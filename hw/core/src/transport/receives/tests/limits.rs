//! SRQs that run low are told of, once a limit.

use stroma_verilate::Pause;

use super::super::model::Queue;
use super::rig::{Rig, SRQS};

const QUEUE: Queue = Queue { shared: true, number: 2 };

fn take(rig: &mut Rig, queue: Queue) -> u64 {
    rig.look = Some(queue);
    rig.step();
    rig.take = rig.shown() > 0;
    assert!(rig.take, "there is one");
    rig.step();
    rig.bench.cycle()
}

fn arm(rig: &mut Rig, limit: u64) {
    let row = &mut rig.shares[QUEUE.number];
    row.limit = limit.into();
    row.round = row.round + 1;
}

#[test]
fn the_take_that_falls_below_the_limit_is_told_once() {
    let mut rig = Rig::default();
    arm(&mut rig, 4);
    rig.ring(QUEUE, 6);
    rig.settle();
    for _ in 0..2 {
        take(&mut rig, QUEUE);
        rig.settle();
    }
    assert!(rig.told.is_empty(), "four are left, and none is missing");
    let taken = take(&mut rig, QUEUE);
    rig.settle();
    assert_eq!(rig.told, [(taken + 10, QUEUE.number)], "10 cycles after the take");
    take(&mut rig, QUEUE);
    rig.settle();
    assert_eq!(rig.told.len(), 1);
    // A new limit is told of at the next take, not before.
    arm(&mut rig, 16);
    rig.run(50);
    assert_eq!(rig.told.len(), 1);
    take(&mut rig, QUEUE);
    rig.settle();
    assert_eq!(rig.told.len(), 2);
    // And one that was set twice since the last take.
    arm(&mut rig, 1);
    arm(&mut rig, 16);
    take(&mut rig, QUEUE);
    rig.settle();
    assert_eq!(rig.told.len(), 3);
}

#[test]
fn without_a_limit_nothing_is_told_and_an_srq_anew_is_untold() {
    let mut rig = Rig::default();
    rig.ring(QUEUE, 6);
    rig.settle();
    take(&mut rig, QUEUE);
    rig.settle();
    assert!(rig.told.is_empty());
    for events in 1..4 {
        rig.shares[QUEUE.number].limit = 6.into();
        rig.renew(QUEUE.number);
        rig.ring(QUEUE, 6);
        rig.settle();
        take(&mut rig, QUEUE);
        take(&mut rig, QUEUE);
        rig.settle();
        assert_eq!(rig.told.len(), events);
    }
}

#[test]
fn a_take_between_two_limits_keeps_the_rounds_apart() {
    let mut rig = Rig::default();
    arm(&mut rig, 6);
    rig.ring(QUEUE, 6);
    rig.settle();
    take(&mut rig, QUEUE);
    rig.settle();
    assert_eq!(rig.told.len(), 1);
    // Not reached.
    arm(&mut rig, 1);
    take(&mut rig, QUEUE);
    rig.settle();
    arm(&mut rig, 6);
    take(&mut rig, QUEUE);
    rig.settle();
    assert_eq!(rig.told.len(), 2);
}

#[test]
fn as_many_events_as_there_are_srqs_wait_and_the_rest_in_line() {
    let mut rig = Rig::default();
    rig.bench[rig.event].pause(Pause::Always);
    for round in 0..8_u64 {
        for number in 0..1 << SRQS {
            let queue = Queue { shared: true, number };
            rig.shares[number].limit = 16.into();
            rig.shares[number].round = round.into();
            rig.ring(queue, u16::try_from(round + 1).expect("small"));
            rig.run(8);
            take(&mut rig, queue);
        }
        rig.run(60);
        assert!(rig.bench.is_sent(), "nothing waits in round {round}");
    }
    rig.bench[rig.event].pause(Pause::None);
    rig.settle();
    // Four and two on the way out: all of the first round, and two of the second. The four in line are told of their last
    // limits, each once.
    let mut last: Vec<_> = rig.told[6..].iter().map(|(_, number)| *number).collect();
    last.sort_unstable();
    assert_eq!(last, [0, 1, 2, 3]);
}
