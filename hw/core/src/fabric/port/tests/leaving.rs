//! Callers that go.

use stroma_abi::wire::RpcStatus;

use crate::fabric::port::rig::kernel::Plan;
use crate::fabric::port::rig::{Rig, ask, right};

fn bereaves_at<const D: usize>() {
    let mut rig = Rig::<D>::new();
    rig.manners.memory = (500, 501);
    rig.planner = Box::new(|rng, command| {
        // The second is asked for when the caller has gone.
        Plan { reads: vec![ask(rng, command)], writes: vec![ask(rng, command)], ..right(rng, command) }
    });
    for _ in 0..2 {
        rig.request(0, 3, &[2; 100], 1000);
    }
    rig.run_until(|rig| rig.pulses.invoked == 2);
    rig.request(2, 3, &[2; 100], 1000);
    rig.stop(0);
    rig.settle();
    assert_eq!((rig.twin.orphans, rig.twin.statuses.len(), rig.resets), (2, 3, 0));
}

#[test]
fn invocations_of_a_queue_pair_that_stops_become_orphans() {
    bereaves_at::<64>();
    bereaves_at::<512>();
}

#[test]
fn those_that_wait_become_orphans_too() {
    let mut rig = Rig::<512>::new();
    rig.kernel.is_dull = true;
    for peer in [0, 1, 0, 0] {
        rig.request(peer, 3, &[2; 100], 1000);
    }
    rig.run_until(|rig| rig.call_cycles.len() == 4);
    rig.stop(0);
    rig.run(2);
    rig.kernel.is_dull = false;
    // One that comes later is not touched.
    rig.request(0, 3, &[2; 100], 1000);
    rig.settle();
    assert_eq!((rig.twin.orphans, rig.twin.statuses.len()), (3, 5));
}

#[test]
fn an_orphan_reads_and_writes_nothing() {
    let mut rig = Rig::<64>::new();
    rig.kernel.is_dull = true;
    rig.planner = Box::new(|rng, command| Plan {
        reads: vec![ask(rng, command)],
        writes: vec![ask(rng, command)],
        ..right(rng, command)
    });
    rig.request(0, 3, &[2; 100], 1000);
    rig.request(2, 3, &[2; 100], 1000);
    rig.run_until(|rig| rig.call_cycles.len() == 2);
    rig.stop(0);
    rig.run(2);
    rig.kernel.is_dull = false;
    rig.settle();
    assert_eq!(rig.accesses.len(), 4);
    for access in &rig.accesses {
        assert_eq!(access.refused, access.pd == 0x300);
    }
}

fn loses_its_stream_at<const D: usize>() {
    let mut rig = Rig::<D>::new();
    rig.request(0, 3, &[2; 2000], 1000);
    rig.run_until(|rig| rig.reserve_cycles.len() == 2);
    rig.peers[0].is_still = true;
    rig.run_until(|rig| rig.pulses.invoked == 1);
    rig.stop(0);
    rig.request(1, 3, &[2; 900], 1000);
    rig.settle();
    assert_eq!((rig.pulses.aborted, rig.resets, rig.pulses.invoked), (1, 1, 2));
    assert_eq!((rig.twin.orphans, rig.twin.statuses.len()), (0, 1));
}

#[test]
fn a_queue_pair_that_stops_loses_its_stream_without_an_answer() {
    loses_its_stream_at::<64>();
    loses_its_stream_at::<512>();
}

#[test]
fn an_orphan_that_never_ends_is_ended_as_one() {
    let mut rig = Rig::<512>::new();
    rig.set("limit", 400);
    rig.planner = Box::new(|_, _| Plan::default());
    rig.request(0, 3, &[2; 100], 1000);
    rig.run_until(|rig| rig.pulses.invoked == 1);
    rig.stop(0);
    rig.settle();
    assert_eq!(rig.twin.statuses, [RpcStatus::Limit as u32]);
    assert_eq!(rig.twin.orphans, 1);
}
