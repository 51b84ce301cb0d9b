use super::{commit, doorbell, jobs, plain, ring};
use crate::host::send::rig::{Rig, row};
use crate::testing::read;

/// Queue pair 2 has sent 10 WQEs.
fn sent() -> Rig {
    let mut rig = plain();
    ring(&mut rig, 2, 10);
    rig.rest();
    rig
}

#[test]
fn a_rewind_of_an_idle_queue_pair_fetches_again_after_8_cycles() {
    let mut rig = sent();
    rig.rewind(2, 4);
    rig.run(7);
    assert!(!read::<bool>(&rig.bench, "read$valid"));
    rig.step();
    assert!(read::<bool>(&rig.bench, "read$valid"));
    rig.rest();
    assert_eq!(jobs(&rig), [(2, 0, 10), (2, 6, 4)]);
}

#[test]
fn a_rewind_while_a_job_runs_counts_when_the_job_has_ended() {
    let mut rig = sent();
    rig.is_stuck = true;
    ring(&mut rig, 2, 3);
    rig.run(10);
    rig.rewind(2, 8);
    rig.run(20);
    assert_eq!((rig.jobs.len(), rig.counts.rewinds), (2, [0, 0, 1]));
    rig.is_stuck = false;
    rig.rest();
    assert_eq!(jobs(&rig), [(2, 0, 10), (2, 10, 3), (2, 2, 11)]);
}

#[test]
fn a_rewind_while_the_job_runs_that_will_be_blocked_is_not_lost() {
    let mut rig = sent();
    rig.is_stuck = true;
    rig.block_after = Some(0);
    ring(&mut rig, 2, 3);
    rig.run(10);
    rig.rewind(2, 8);
    rig.run(20);
    rig.is_stuck = false;
    rig.rest();
    assert_eq!((jobs(&rig)[2..].to_vec(), rig.counts.blocks), (vec![(2, 2, 11)], 0));
}

#[test]
fn a_rewind_in_line_keeps_the_place_and_moves_the_start() {
    let mut rig = sent();
    rig.pause = true;
    for number in [1, 2, 3] {
        ring(&mut rig, number, 5);
    }
    rig.run(20);
    rig.rewind(2, 7);
    rig.run(10);
    assert_eq!((rig.model.line.len(), rig.counts.rewinds), (3, [0, 1, 0]));
    rig.pause = false;
    rig.rest();
    assert_eq!(jobs(&rig)[1..], [(1, 0, 5), (2, 3, 12), (3, 0, 5)]);
}

#[test]
fn a_rewind_of_a_blocked_queue_pair_releases_it() {
    let mut rig = plain();
    rig.block_after = Some(6);
    ring(&mut rig, 2, 10);
    rig.rest();
    assert!(rig.model.queues[2].blocked);
    rig.rewind(2, 5);
    rig.rest();
    assert_eq!(jobs(&rig), [(2, 0, 10), (2, 1, 9)]);
}

#[test]
fn a_rewind_for_later_waits_for_the_next_one_or_for_a_kick() {
    for is_kick in [false, true] {
        let mut rig = sent();
        rig.hold(2, 4);
        rig.rest();
        assert!(rig.model.queues[2].blocked);
        ring(&mut rig, 2, 6);
        rig.rest();
        assert_eq!(rig.jobs.len(), 1, "its doorbells are noted");
        if is_kick {
            rig.kick(2);
        } else {
            rig.rewind(2, 0);
        }
        rig.rest();
        assert_eq!(jobs(&rig)[1..], [(2, 6, 6)]);
    }
}

#[test]
fn a_rewind_for_later_moves_a_blocked_queue_pair_and_leaves_it_blocked() {
    let mut rig = plain();
    rig.block_after = Some(6);
    ring(&mut rig, 2, 10);
    rig.rest();
    rig.hold(2, 5);
    rig.rest();
    assert!(rig.model.queues[2].blocked && rig.jobs.len() == 1);
    rig.kick(2);
    rig.rest();
    assert_eq!(jobs(&rig)[1..], [(2, 1, 9)]);
}

#[test]
fn a_rewind_for_later_while_a_job_runs_does_not_release_it() {
    let mut rig = sent();
    rig.is_stuck = true;
    rig.block_after = Some(0);
    ring(&mut rig, 2, 3);
    rig.run(10);
    rig.hold(2, 8);
    rig.run(20);
    rig.is_stuck = false;
    rig.rest();
    assert!(rig.model.queues[2].blocked && rig.counts.holds == [0, 0, 1]);
    rig.rewind(2, 0);
    rig.rest();
    assert_eq!(jobs(&rig)[2..], [(2, 2, 11)]);
}

#[test]
fn a_rewind_for_later_in_line_keeps_the_place_once() {
    let mut rig = sent();
    rig.pause = true;
    ring(&mut rig, 2, 5);
    rig.run(20);
    rig.hold(2, 7);
    rig.kick(2);
    rig.run(10);
    assert_eq!((rig.model.line.len(), rig.counts.holds), (1, [0, 1, 0]));
    rig.pause = false;
    rig.rest();
    assert_eq!(jobs(&rig)[1..], [(2, 3, 12)]);
}

#[test]
fn a_rewind_over_the_start_of_the_indices_and_of_the_ring_fetches_in_two_pieces() {
    let mut rig = plain();
    ring(&mut rig, 2, 3);
    rig.rest();
    // The model, too, takes the indices before the first for those of a ring that came round.
    rig.rewind(2, 7);
    rig.rest();
    assert_eq!((jobs(&rig), rig.counts.wraps), (vec![(2, 0, 3), (2, 0xfffc, 7)], 1));
}

#[test]
fn a_push_behind_a_rewind_falls_back() {
    let mut rig = sent();
    rig.pause = true;
    rig.rewind(2, 4);
    rig.run(10);
    let push = commit(&rig, 2, 2, 2);
    rig.ring(push);
    rig.run(10);
    rig.pause = false;
    rig.rest();
    assert_eq!((jobs(&rig)[1..].to_vec(), rig.counts.fallbacks), (vec![(2, 6, 6)], 1));
}

#[test]
fn a_doorbell_may_use_places_whose_wqes_completed_while_they_were_to_be_sent_again() {
    let mut rig = plain();
    rig.store(2, row(2, 4, 0x1000));
    ring(&mut rig, 2, 16);
    rig.rest();
    // All sixteen are to be sent again, and then the answer to the first time comes, late.
    rig.pause = true;
    rig.rewind(2, 16);
    rig.run(10);
    let last = doorbell(&rig, 2, 32);
    let beyond = doorbell(&rig, 2, 33);
    rig.ring(beyond);
    rig.run(10);
    assert_eq!(rig.counts.bad, 1, "a ring of sixteen units does not hold seventeen new ones");
    rig.ring(last);
    rig.run(10);
    assert_eq!((rig.counts.bad, rig.counts.far_doorbells), (1, 1));
    rig.pause = false;
    rig.rest();
    // A job reads no place of the ring twice.
    assert_eq!(jobs(&rig)[1..], [(2, 0, 16), (2, 16, 16)]);
}

#[test]
fn a_doorbell_may_use_places_whose_wqes_completed_before_their_job_ended() {
    let mut rig = plain();
    rig.is_stuck = true;
    ring(&mut rig, 2, 64);
    rig.run(10);
    ring(&mut rig, 2, 65);
    rig.run(10);
    assert_eq!((rig.counts.bad, rig.counts.far_doorbells), (0, 1));
    rig.is_stuck = false;
    rig.rest();
    assert_eq!(jobs(&rig), [(2, 0, 32), (2, 32, 32), (2, 64, 1)]);
}

#[test]
fn an_old_doorbell_of_a_full_ring_of_the_largest_kind_is_still_bad() {
    let mut rig = plain();
    rig.store(2, row(2, 15, 0x1000));
    ring(&mut rig, 2, 100);
    rig.rest();
    rig.pause = true;
    ring(&mut rig, 2, 1 << 15);
    rig.run(10);
    rig.latency = 1;
    // One unit before the next to fetch.
    ring(&mut rig, 2, 0xffff);
    ring(&mut rig, 2, (1 << 15) + 257);
    ring(&mut rig, 2, (1 << 15) + 256);
    rig.run(20);
    assert_eq!((rig.counts.bad, rig.counts.far_doorbells), (2, 1));
    rig.pause = false;
    rig.rest();
}
