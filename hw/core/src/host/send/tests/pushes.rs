use stroma_abi::desc::queue_pair::QueuePairState::{Drained, Error, Init, SendError};
use stroma_verilate::Pause;

use super::{commit, doorbell, plain, with_state};
use crate::host::send::rig::{QPS, Rig, row};
use crate::host::work::{SendDoorbell, SendRow};
use crate::testing::read;

fn push(rig: &mut Rig, number: usize, units: u64) {
    let commit = commit(rig, number, units, units);
    rig.ring(commit);
}

/// Pushes started and fallen back, and jobs in all.
fn outcome(rig: &Rig) -> (u64, u64, usize) {
    (rig.counts.pushes, rig.counts.fallbacks, rig.jobs.len())
}

#[test]
fn a_push_of_the_next_wqe_starts_without_a_fetch_after_2_cycles() {
    let mut rig = plain();
    for units in 1..5 {
        push(&mut rig, 1, units);
        rig.step();
        assert!(!read::<bool>(&rig.bench, "job$valid"));
        rig.step();
        assert!(read::<bool>(&rig.bench, "job$valid") && !read::<bool>(&rig.bench, "read$valid"));
        rig.settle();
    }
    assert_eq!(outcome(&rig), (4, 0, 4));
    assert!(rig.jobs.iter().all(|(_, job)| job.pushed && !job.flush));
}

#[test]
fn a_push_takes_2_cycles_and_one_for_each_unit() {
    let mut rig = plain();
    for number in 0..4 {
        push(&mut rig, number, number as u64 + 1);
    }
    // Progress would come between.
    rig.is_stuck = true;
    rig.run(40);
    rig.is_stuck = false;
    rig.settle();
    let gaps: Vec<_> = rig.rung.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(gaps, [3, 4, 5]);
}

#[test]
fn a_commit_that_is_no_push_takes_3_cycles_and_one_for_each_unit() {
    let mut rig = plain();
    for units in [1, 2, 4, 1] {
        let foreign = SendDoorbell { page: 9.into(), ..commit(&rig, 1, units, units) };
        rig.ring(foreign);
    }
    rig.settle();
    let gaps: Vec<_> = rig.rung.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(gaps, [4, 5, 7]);
}

#[test]
fn a_push_behind_wqes_not_fetched_yet_is_fetched_with_them() {
    let mut rig = plain();
    rig.pause = true;
    let first = doorbell(&rig, 1, 2);
    rig.ring(first);
    rig.run(10);
    push(&mut rig, 1, 3);
    rig.run(10);
    rig.pause = false;
    rig.settle();
    assert_eq!(outcome(&rig), (0, 1, 1));
    assert_eq!(u64::from(rig.jobs[0].1.units), 5);
}

#[test]
fn a_push_that_is_not_the_next_is_fetched_with_what_lies_before() {
    let mut rig = plain();
    let late = SendDoorbell { producer: 6.into(), ..commit(&rig, 1, 2, 2) };
    rig.ring(late);
    rig.settle();
    assert_eq!(outcome(&rig), (0, 1, 1));
    assert_eq!(u64::from(rig.jobs[0].1.units), 6);
}

#[test]
fn a_torn_push_is_fetched() {
    let mut rig = plain();
    let torn = commit(&rig, 1, 2, 0);
    rig.ring(torn);
    rig.settle();
    assert_eq!(outcome(&rig), (0, 1, 1));
    assert!(!rig.jobs[0].1.pushed);
}

#[test]
fn a_push_while_a_job_runs_is_fetched_after_it() {
    let mut rig = plain();
    push(&mut rig, 1, 1);
    let second = SendDoorbell { producer: 3.into(), ..commit(&rig, 1, 2, 2) };
    rig.ring(second);
    rig.settle();
    assert_eq!(outcome(&rig), (1, 1, 2));
    assert_eq!(u64::from(rig.jobs[1].1.units), 2);
}

#[test]
fn a_push_while_the_card_pauses_or_the_pace_forbids_it_is_fetched_later() {
    let mut rig = plain();
    rig.pause = true;
    push(&mut rig, 1, 2);
    rig.run(20);
    rig.pause = false;
    rig.settle();
    assert_eq!(outcome(&rig), (0, 1, 1));
    rig.store(1, SendRow { pace: (1000 << 8).into(), ..rig.rows[1] });
    push(&mut rig, 1, 2);
    rig.settle();
    assert_eq!(outcome(&rig), (1, 1, 2));
    push(&mut rig, 1, 2);
    rig.settle();
    assert_eq!(outcome(&rig), (1, 2, 3));
    assert!(rig.jobs[2].0 - rig.jobs[1].0 >= 125, "128 bytes at 1000 cycles a KiB");
}

#[test]
fn a_push_in_another_state_is_fetched_flushed_or_refused() {
    for (state, counts, bad) in
        [(Drained, (0, 1, 1), 0), (Error, (0, 1, 1), 0), (SendError, (0, 1, 1), 0), (Init, (0, 0, 0), 1)]
    {
        let mut rig = plain();
        let row = with_state(&rig.rows[1], state);
        rig.store(1, row);
        push(&mut rig, 1, 2);
        rig.settle();
        assert_eq!((outcome(&rig), rig.counts.bad), (counts, bad), "{state:?}");
    }
}

#[test]
fn pushes_without_room_are_fetched() {
    let mut rig = plain();
    let pushed = rig.pushed;
    rig.bench[pushed].pause(Pause::Script(vec![true]));
    for number in 0..5 {
        push(&mut rig, number, 4);
    }
    rig.run(100);
    assert_eq!(outcome(&rig), (4, 1, 5), "sixteen units have room");
    rig.bench[pushed].pause(Pause::None);
    rig.settle();
}

#[test]
fn a_push_behind_as_many_jobs_as_can_wait_is_fetched() {
    let mut rig = plain();
    let job = rig.job;
    rig.bench[job].pause(Pause::Script(vec![true]));
    for number in 0..17 {
        rig.store(number, row(0, 6, 0x1000));
    }
    for number in 0..16 {
        let doorbell = doorbell(&rig, number, 1);
        rig.ring(doorbell);
    }
    rig.run_until(|rig| rig.bench.is_sent());
    push(&mut rig, 16, 1);
    rig.run(20);
    assert_eq!((rig.counts.jobs, rig.counts.fallbacks), (16, 1));
    rig.bench[job].pause(Pause::None);
    rig.settle();
    assert_eq!(outcome(&rig), (0, 1, 17));
}

#[test]
fn units_of_refused_commits_are_thrown_away() {
    let mut rig = plain();
    let foreign = SendDoorbell { page: 9.into(), ..commit(&rig, 1, 3, 3) };
    let nobody = SendDoorbell { qpn: 7.into(), ..foreign };
    let beyond = SendDoorbell { qpn: (1 + (1 << QPS)).into(), page: 1.into(), ..foreign };
    let outside = SendDoorbell { producer: 200.into(), ..commit(&rig, 1, 4, 4) };
    for refused in [foreign, nobody, beyond, outside] {
        rig.ring(refused);
    }
    push(&mut rig, 1, 2);
    rig.settle();
    assert_eq!((rig.counts.wrong_page, rig.counts.bad), (1, 3));
    assert_eq!(outcome(&rig), (1, 0, 1));
}
