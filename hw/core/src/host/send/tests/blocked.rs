use stroma_abi::desc::queue_pair::QueuePairState::{Drained, Error};

use super::{commit, jobs, plain, ring, with_state};
use crate::host::send::rig::Rig;
use crate::testing::read;

/// Queue pair 2 has 10 WQEs, the third of which waits for an answer.
fn blocked() -> Rig {
    let mut rig = plain();
    rig.block_after = Some(2);
    ring(&mut rig, 2, 10);
    rig.rest();
    assert!(rig.model.queues[2].blocked && rig.counts.blocks == 1);
    assert_eq!(jobs(&rig), [(2, 0, 10)]);
    rig
}

/// A job of queue pair 2 that has been taken, and waits to be told how it got on: blocked after two WQEs.
fn under_way() -> Rig {
    let mut rig = plain();
    (rig.block_after, rig.latency, rig.is_stuck) = (Some(2), 1, true);
    ring(&mut rig, 2, 10);
    rig.run(10);
    assert!(rig.model.queues[2].is_busy());
    rig
}

#[test]
fn a_kick_lets_a_blocked_queue_pair_fetch_after_8_cycles() {
    let mut rig = blocked();
    rig.kick(2);
    rig.run(7);
    assert!(!read::<bool>(&rig.bench, "read$valid"));
    rig.step();
    assert!(read::<bool>(&rig.bench, "read$valid"));
    rig.rest();
    assert_eq!(jobs(&rig)[1..], [(2, 2, 8)]);
}

#[test]
fn kicks_take_3_cycles_each() {
    let mut rig = plain();
    let start = rig.bench.cycle();
    (0..10).for_each(|_| rig.kick(1));
    rig.run_until(|rig| rig.bench.is_sent());
    assert_eq!(rig.bench.cycle() - start, 30);
}

#[test]
fn a_kick_of_a_queue_pair_that_waits_for_nothing_changes_nothing() {
    let mut rig = plain();
    rig.kick(1);
    rig.rest();
    rig.pause = true;
    ring(&mut rig, 1, 3);
    rig.run(10);
    rig.kick(1);
    rig.run(10);
    assert_eq!(rig.model.line.len(), 1);
    rig.pause = false;
    rig.rest();
    assert_eq!(jobs(&rig), [(1, 0, 3)]);
}

#[test]
fn a_kick_while_the_job_runs_is_not_lost() {
    let mut rig = under_way();
    rig.kick(2);
    rig.run(10);
    rig.is_stuck = false;
    rig.rest();
    assert_eq!((jobs(&rig), rig.counts.blocks), (vec![(2, 0, 10), (2, 2, 8)], 0));
    // It counts for that job only.
    rig.block_after = Some(0);
    ring(&mut rig, 2, 5);
    rig.rest();
    assert!(rig.model.queues[2].blocked);
}

#[test]
fn a_kick_at_any_time_around_the_progress_is_not_lost() {
    let mut met = (0, 0);
    for at in 0..16 {
        let mut rig = under_way();
        for cycle in 0..16 {
            // The job is told to have ended in the cycle that follows.
            rig.is_stuck = cycle < 7;
            if cycle == at {
                rig.kick(2);
            }
            rig.step();
        }
        rig.rest();
        assert_eq!(jobs(&rig), [(2, 0, 10), (2, 2, 8)], "a kick in cycle {at}");
        let counts = (rig.counts.early_kicks, rig.counts.releases);
        assert_eq!(counts.0 + counts.1, 1);
        assert_eq!(rig.counts.blocks, counts.1, "blocked until the kick, or not at all");
        met = (met.0 + counts.0, met.1 + counts.1);
    }
    // Those until the cycle before the progress is on offer come before it; with it, they come behind.
    assert_eq!(met, (8, 8));
}

#[test]
fn a_job_that_is_blocked_behind_the_last_unit_blocks_nothing() {
    let mut rig = plain();
    rig.block_after = Some(10);
    ring(&mut rig, 2, 10);
    rig.rest();
    assert_eq!(rig.counts.blocks, 0);
    ring(&mut rig, 2, 1);
    rig.rest();
    assert_eq!(jobs(&rig), [(2, 0, 10), (2, 10, 1)]);
}

#[test]
fn a_doorbell_of_a_blocked_queue_pair_is_noted() {
    let mut rig = blocked();
    ring(&mut rig, 2, 20);
    rig.rest();
    assert_eq!((rig.jobs.len(), rig.counts.bad), (1, 0));
    rig.kick(2);
    rig.rest();
    assert_eq!(jobs(&rig)[1..], [(2, 2, 20)]);
}

#[test]
fn a_push_to_a_blocked_queue_pair_falls_back() {
    let mut rig = blocked();
    let push = commit(&rig, 2, 3, 3);
    rig.ring(push);
    rig.rest();
    assert_eq!((rig.counts.pushes, rig.counts.fallbacks, rig.jobs.len()), (0, 1, 1));
    rig.kick(2);
    rig.rest();
    assert_eq!(jobs(&rig)[1..], [(2, 2, 11)]);
}

#[test]
fn a_pushed_wqe_that_is_blocked_is_fetched_when_it_may_go_on() {
    let mut rig = plain();
    rig.block_after = Some(0);
    let push = commit(&rig, 2, 3, 3);
    rig.ring(push);
    rig.rest();
    rig.kick(2);
    rig.rest();
    assert_eq!(jobs(&rig), [(2, 0, 3), (2, 0, 3)]);
    assert!(rig.jobs[0].1.pushed && !rig.jobs[1].1.pushed);
}

#[test]
fn a_blocked_queue_pair_that_goes_into_error_is_flushed() {
    let mut rig = blocked();
    let row = with_state(&rig.rows[2], Error);
    rig.store(2, row);
    rig.run(20);
    assert_eq!(rig.jobs.len(), 1, "nobody has told it");
    rig.tell(2, false);
    rig.rest();
    assert_eq!((jobs(&rig)[1..].to_vec(), rig.counts.flushes), (vec![(2, 2, 8)], 1));
}

#[test]
fn an_error_while_the_job_runs_that_will_be_blocked_is_not_lost() {
    let mut rig = under_way();
    let row = with_state(&rig.rows[2], Error);
    rig.store(2, row);
    rig.tell(2, false);
    rig.run(10);
    rig.is_stuck = false;
    rig.rest();
    assert_eq!((jobs(&rig)[1..].to_vec(), rig.counts.flushes), (vec![(2, 2, 8)], 1));
}

#[test]
fn a_queue_pair_that_is_drained_while_blocked_goes_on_when_told() {
    let mut rig = blocked();
    let sends = rig.rows[2];
    rig.store(2, with_state(&sends, Drained));
    rig.block_after = Some(0);
    rig.kick(2);
    rig.rest();
    // It is looked at, for it may have begun something; it has not.
    assert!(rig.jobs.len() == 2 && rig.jobs[1].1.drains && rig.model.queues[2].blocked);
    rig.store(2, sends);
    rig.tell(2, false);
    rig.rest();
    assert_eq!(jobs(&rig)[1..], [(2, 2, 8), (2, 2, 8)]);
}

#[test]
fn a_blocked_queue_that_begins_anew_is_not_blocked() {
    let mut rig = blocked();
    rig.tell(2, true);
    rig.rest();
    ring(&mut rig, 2, 7);
    rig.rest();
    assert_eq!(jobs(&rig)[1..], [(2, 0, 7)]);
}

#[test]
fn others_go_on_while_one_is_blocked() {
    let mut rig = blocked();
    for number in [0, 1, 3] {
        ring(&mut rig, number, 5);
    }
    rig.rest();
    assert_eq!(jobs(&rig)[1..], [(0, 0, 5), (1, 0, 5), (3, 0, 5)]);
}
