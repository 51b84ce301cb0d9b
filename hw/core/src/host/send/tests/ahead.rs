use stroma_abi::desc::queue_pair::QueuePairState::{Drained, Error};

use super::{commit, jobs, plain, ring, with_state};
use crate::host::send::rig::{Rig, row};
use crate::host::work::SendRow;
use crate::testing::read;

/// Queue pairs 0 to 5 with rings of 256 units.
fn roomy() -> Rig {
    let mut rig = plain();
    for number in 0..6 {
        rig.store(number, row(number as u64, 8, 0x1000 + ((number as u64) << 4)));
    }
    rig
}

/// Two jobs of queue pair 2 under way, which wait to be told how they got on, and 36 units more.
fn under_way() -> Rig {
    let mut rig = roomy();
    (rig.latency, rig.is_stuck) = (1, true);
    ring(&mut rig, 2, 100);
    rig.run(30);
    assert_eq!(jobs(&rig), [(2, 0, 32), (2, 32, 32)]);
    rig
}

#[test]
fn a_queue_pair_has_two_jobs_under_way_and_no_third() {
    let mut rig = under_way();
    ring(&mut rig, 2, 110);
    rig.run(50);
    assert_eq!((rig.jobs.len(), rig.model.line.len(), rig.counts.seconds), (2, 0, 1));
    rig.is_stuck = false;
    rig.rest();
    assert_eq!(jobs(&rig)[2..], [(2, 64, 32), (2, 96, 14)]);
    assert_eq!(rig.counts.wasted, 0);
}

#[test]
fn a_second_job_follows_the_first_after_5_cycles_and_the_end_of_one_after_8() {
    let mut rig = roomy();
    rig.latency = 40;
    ring(&mut rig, 2, 100);
    rig.run_until(|rig| rig.jobs.len() == 2);
    assert_eq!(rig.jobs[1].0 - rig.jobs[0].0, 5);
    rig.run_until(|rig| read::<bool>(&rig.bench, "progress$valid"));
    // It has been on offer for one cycle.
    rig.run(6);
    assert!(!read::<bool>(&rig.bench, "read$valid"));
    rig.step();
    assert!(read::<bool>(&rig.bench, "read$valid"));
    rig.rest();
    assert_eq!(jobs(&rig), [(2, 0, 32), (2, 32, 32), (2, 64, 32), (2, 96, 4)]);
}

#[test]
fn a_doorbell_starts_a_second_job_as_soon_as_a_first() {
    let mut rig = roomy();
    rig.is_stuck = true;
    ring(&mut rig, 2, 3);
    rig.run(10);
    ring(&mut rig, 2, 5);
    rig.run(3);
    assert!(read::<bool>(&rig.bench, "job$valid"));
    rig.is_stuck = false;
    rig.rest();
    assert_eq!(jobs(&rig), [(2, 0, 3), (2, 3, 2)]);
}

#[test]
fn a_push_with_a_job_under_way_is_fetched_as_the_second() {
    let mut rig = roomy();
    rig.is_stuck = true;
    for _ in 0..3 {
        let push = commit(&rig, 2, 2, 2);
        rig.ring(push);
        rig.run(10);
    }
    assert_eq!((rig.counts.pushes, rig.counts.fallbacks), (1, 2));
    rig.is_stuck = false;
    rig.rest();
    assert_eq!(jobs(&rig), [(2, 0, 2), (2, 2, 2), (2, 4, 2)]);
    assert_eq!([0, 1, 2].map(|at| rig.jobs[at].1.pushed), [true, false, false]);
}

#[test]
fn what_is_fetched_behind_a_job_that_ends_early_is_fetched_again() {
    let mut rig = under_way();
    rig.quantum = 20;
    rig.is_stuck = false;
    rig.rest();
    // From then on a job is alone until one has ended where it should. More than a WQE is left of each, so none is shorter.
    let expected = [(2, 20, 32), (2, 40, 32), (2, 60, 32), (2, 80, 20)];
    assert_eq!((jobs(&rig)[2..].to_vec(), rig.counts.wasted), (expected.to_vec(), 1));
    assert!(!rig.model.queues[2].doubtful);
}

#[test]
fn long_messages_waste_one_fetch_at_most() {
    let mut rig = roomy();
    (rig.quantum, rig.latency) = (2, 30);
    ring(&mut rig, 2, 200);
    rig.rest();
    assert_eq!((rig.jobs.len(), rig.counts.seconds, rig.counts.wasted), (101, 1, 1));
}

#[test]
fn jobs_are_as_long_as_their_wqes_need() {
    for (grain, units) in [(1, 32), (2, 32), (3, 30), (5, 30), (6, 30), (7, 28), (8, 32)] {
        let mut rig = roomy();
        rig.grain = grain;
        for _ in 0..8 {
            ring(&mut rig, 2, 240 - 240 % grain);
            rig.rest();
        }
        // The first is too long, and what was fetched behind it is of no use.
        assert_eq!(rig.counts.wasted, u64::from(units != 32), "{grain} units a WQE");
        assert!(rig.jobs[2..].iter().all(|(_, job)| u64::from(job.units) <= units), "{grain} units a WQE");
        assert!(rig.counts.seconds > 8, "{:?}", rig.counts);
    }
}

#[test]
fn a_job_that_ends_early_for_other_reasons_than_its_wqes_makes_none_shorter() {
    // Just short of its end: blocked, or with its quantum spent; of the latter a byte decides.
    for (quantum, blocks, unit_bytes, then) in [
        (64, Some(29), 64, 32),
        (28, None, 2341, 32),
        (28, None, 2340, 28),
        (25, None, 64, 25),
        (24, None, 64, 32),
    ] {
        let mut rig = roomy();
        (rig.quantum, rig.block_after, rig.unit_bytes) = (quantum, blocks, unit_bytes);
        ring(&mut rig, 2, 100);
        rig.run_until(|rig| rig.cursors[2] > 0);
        (rig.quantum, rig.block_after) = (64, None);
        rig.rest();
        rig.kick(2);
        rig.rest();
        let place = u64::from(rig.cursors[2]);
        ring(&mut rig, 2, 200);
        rig.rest();
        let units = jobs(&rig).iter().find(|job| job.1 == place).map(|job| job.2);
        assert_eq!(units, Some(then), "{quantum} units of {unit_bytes} bytes, blocked after {blocks:?}");
    }
}

#[test]
fn a_queue_pair_that_is_blocked_stays_so_when_the_job_behind_ends() {
    let mut rig = under_way();
    rig.block_after = Some(6);
    rig.is_stuck = false;
    rig.rest();
    assert!(rig.model.queues[2].blocked);
    assert_eq!((rig.jobs.len(), rig.counts.wasted), (2, 1));
    rig.kick(2);
    rig.rest();
    // The first is alone: the last one was blocked.
    assert_eq!(jobs(&rig)[2..], [(2, 6, 32), (2, 38, 32), (2, 70, 30)]);
}

#[test]
fn a_second_job_that_is_blocked_blocks_the_queue_pair() {
    let mut rig = under_way();
    rig.is_stuck = false;
    rig.run_until(|rig| rig.cursors[2] == 32);
    rig.block_after = Some(0);
    rig.rest();
    assert!(rig.model.queues[2].blocked);
    rig.kick(2);
    rig.rest();
    let indices: Vec<_> = jobs(&rig).iter().map(|job| job.1).collect();
    assert_eq!(indices[..2], [0, 32]);
    assert_eq!(indices.iter().filter(|index| **index == 32).count(), 2);
    assert_eq!(rig.cursors[2], 100);
}

#[test]
fn a_kick_at_any_time_of_two_jobs_is_not_lost() {
    for is_second in [false, true] {
        let (mut early, mut late) = (0, 0);
        for at in 0..40 {
            let mut rig = under_way();
            rig.block_after = (!is_second).then_some(6);
            for cycle in 0..40 {
                rig.is_stuck = cycle < 5 || (12..20).contains(&cycle);
                if rig.cursors[2] == 32 && is_second && rig.jobs.len() == 2 {
                    rig.block_after = Some(6);
                }
                if cycle == at {
                    rig.kick(2);
                }
                rig.step();
            }
            rig.block_after = None;
            rig.rest();
            assert_eq!((rig.cursors[2], rig.model.queues[2].blocked), (100, false), "a kick in cycle {at}");
            (early, late) = (early + rig.counts.early_kicks, late + rig.counts.releases);
        }
        assert!(early > 3 && late > 3, "{early} before it was told, {late} behind");
    }
}

#[test]
fn a_kick_between_the_ends_of_two_jobs_counts_for_the_second() {
    let mut rig = under_way();
    // The second is found blocked while the progress of the first is still on its way, and then the peer answers.
    rig.kick(2);
    rig.run(5);
    assert_eq!(rig.counts.early_kicks, 1);
    rig.is_stuck = false;
    rig.run_until(|rig| rig.cursors[2] == 32);
    rig.block_after = Some(0);
    rig.rest();
    assert_eq!((rig.cursors[2], rig.counts.blocks), (100, 0));
}

#[test]
fn a_rewind_with_two_jobs_counts_when_the_first_has_ended() {
    let mut rig = roomy();
    ring(&mut rig, 2, 10);
    rig.rest();
    (rig.latency, rig.is_stuck) = (1, true);
    ring(&mut rig, 2, 50);
    rig.run(20);
    rig.rewind(2, 4);
    rig.run(20);
    assert_eq!((rig.jobs.len(), rig.counts.rewinds), (3, [0, 0, 1]));
    rig.is_stuck = false;
    rig.rest();
    assert_eq!(jobs(&rig)[1..3], [(2, 10, 32), (2, 42, 18)]);
    // Both are passed over, and say nothing about the next.
    assert_eq!((jobs(&rig)[3..].to_vec(), rig.counts.wasted), (vec![(2, 6, 32), (2, 38, 22)], 1));
}

#[test]
fn a_rewind_between_the_ends_of_two_jobs_counts_when_the_second_has_ended() {
    let mut rig = under_way();
    rig.is_stuck = false;
    rig.run_until(|rig| rig.cursors[2] == 32);
    rig.rewind(2, 10);
    rig.rest();
    assert_eq!(rig.cursors[2], 100);
    assert_eq!(rig.counts.rewinds, [0, 0, 1]);
    assert!(jobs(&rig)[2..].iter().any(|job| job.1 == 22), "{:?}", jobs(&rig));
}

#[test]
fn paced_drained_and_flushed_queue_pairs_have_one_job_at_a_time() {
    for case in 0..3 {
        let mut rig = roomy();
        let row = rig.rows[2];
        let states = [with_state(&row, Drained), with_state(&row, Error)];
        rig.store(2, if case == 2 { SendRow { pace: 1.into(), ..row } } else { states[case] });
        ring(&mut rig, 2, 100);
        rig.rest();
        assert_eq!((rig.jobs.len(), rig.counts.seconds), (4, 0));
    }
}

#[test]
fn a_queue_pair_that_goes_into_error_with_two_jobs_is_flushed_behind_them() {
    let mut rig = under_way();
    let row = with_state(&rig.rows[2], Error);
    rig.store(2, row);
    rig.tell(2, false);
    rig.run(10);
    rig.is_stuck = false;
    rig.rest();
    assert_eq!(jobs(&rig)[2..], [(2, 64, 32), (2, 96, 4)]);
    assert_eq!((rig.counts.flushes, rig.counts.seconds), (2, 1));
}

#[test]
fn queue_pairs_with_two_jobs_take_turns() {
    let mut rig = roomy();
    rig.pause = true;
    for number in [3, 1, 4] {
        ring(&mut rig, number, 100);
    }
    rig.run(30);
    (rig.pause, rig.latency) = (false, 200);
    rig.rest();
    let order: Vec<_> = jobs(&rig).iter().map(|job| job.0).collect();
    assert_eq!(order[..6], [3, 1, 4, 3, 1, 4]);
    for number in [3, 1, 4] {
        assert_eq!(order.iter().filter(|other| **other == number).count(), 4);
    }
}

#[test]
fn a_queue_that_begins_anew_is_trusted_again() {
    let mut rig = roomy();
    (rig.quantum, rig.grain) = (5, 1);
    ring(&mut rig, 2, 41);
    rig.rest();
    // Its last job was blocked behind the last unit.
    rig.block_after = Some(1);
    ring(&mut rig, 2, 1);
    rig.rest();
    assert!(rig.model.queues[2].doubtful);
    rig.tell(2, true);
    rig.rest();
    rig.quantum = 64;
    let wasted = rig.counts.wasted;
    ring(&mut rig, 2, 40);
    rig.rest();
    assert_eq!((jobs(&rig).last(), rig.counts.wasted), (Some(&(2, 32, 8)), wasted));
    assert_eq!(rig.counts.seconds, 2);
}
