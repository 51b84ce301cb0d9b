use stroma_abi::desc::WorkOp;

use crate::transport::admit::patience::PATIENCE_LOG;
use crate::transport::admit::rig::{Case, Rig};
use crate::transport::records::Rewind;

const PATIENCE: u64 = 1 << PATIENCE_LOG;
/// Cycles from a work's coming to its being taken, if nothing keeps it.
const TAKEN: u64 = 2;

fn write(qpn: u64, index: u64) -> Case {
    Case::new(WorkOp::Write, qpn, index, 64)
}

/// Queue pair 1 has as many messages unanswered as may be.
fn full() -> Rig {
    let mut rig = Rig::new();
    (0..32).for_each(|index| rig.send(write(1, index)));
    rig.finish();
    rig
}

/// Cycles until one more work is taken.
fn taken_after(rig: &mut Rig) -> u64 {
    let (begun, start) = (rig.begun.len(), rig.bench.cycle());
    while rig.begun.len() == begun {
        rig.step();
        assert!(rig.bench.cycle() - start < 1000, "it is never taken");
    }
    rig.bench.cycle() - start
}

#[test]
fn a_request_waits_for_the_answer_that_makes_room_and_is_not_blocked() {
    for cycles in [1, 2, 3, 17, PATIENCE - 2] {
        let mut rig = full();
        rig.send(write(1, 32));
        rig.send(Case::end(1, 33));
        rig.run(cycles);
        assert_eq!(rig.begun.len(), 32, "it waits after {cycles} cycles");
        rig.acknowledge(1, 1, 0);
        let seen = rig.outcome();
        assert_eq!((seen.message.len(), seen.progress[0].blocked), (33, false), "{cycles} cycles");
    }
}

#[test]
fn without_an_answer_it_is_blocked_after_64_cycles() {
    let mut rig = full();
    rig.send(write(1, 32));
    rig.send(Case::end(1, 33));
    assert_eq!(taken_after(&mut rig), PATIENCE + TAKEN);
    let seen = rig.outcome();
    assert_eq!((seen.message.len(), seen.progress[0].blocked), (32, true));
}

#[test]
fn the_last_of_a_job_that_comes_without_a_pause_waits_too() {
    let mut rig = Rig::new();
    (0..33).for_each(|index| rig.send(write(1, index)));
    rig.send(Case::end(1, 33));
    rig.run(100);
    assert_eq!(rig.begun.len(), 32);
    rig.acknowledge(1, 5, 0);
    let seen = rig.outcome();
    assert_eq!((seen.message.len(), seen.progress[0].blocked), (33, false));
}

#[test]
fn patience_is_for_all_together_and_comes_back_with_a_message() {
    let mut rig = full();
    (0..32).for_each(|index| rig.send(write(2, index)));
    rig.finish();
    for (qpn, cycles) in [(1, PATIENCE + TAKEN), (2, TAKEN), (1, TAKEN)] {
        rig.send(write(qpn, 32));
        assert_eq!(taken_after(&mut rig), cycles, "queue pair {qpn}");
        rig.finish();
    }
    rig.send(write(3, 0));
    rig.finish();
    rig.send(write(2, 32));
    assert_eq!(taken_after(&mut rig), PATIENCE + TAKEN);
    rig.finish();
}

#[test]
fn nobody_waits_for_an_answer_that_would_not_help() {
    let mut rig = full();
    // Passed over, and the end of a job.
    for case in [write(1, 33), Case::end(1, 32)] {
        rig.send(case);
        assert_eq!(taken_after(&mut rig), TAKEN);
        rig.finish();
    }
    // Local work waits for the last answer, not for the next; what is drained for none.
    rig.send(Case::new(WorkOp::Nop, 1, 32, 0));
    assert_eq!(taken_after(&mut rig), TAKEN);
    rig.finish();
    rig.send(write(1, 32).with(|work| work.drains = true));
    assert_eq!(taken_after(&mut rig), TAKEN);
    rig.finish();
    // What is sent again has its place.
    rig.rewind(Rewind { qpn: 1.into(), psn: 0xff_fff0_u64.into(), ..Rewind::default() });
    rig.finish();
    rig.send(write(1, 0));
    assert_eq!(taken_after(&mut rig), TAKEN);
    rig.finish();
    // Who has failed, or is stopped.
    rig.give_up(1, 0);
    rig.send(write(1, 32));
    assert_eq!(taken_after(&mut rig), TAKEN);
    rig.finish();
    let mut rig = full();
    rig.change(1, false, true);
    rig.finish();
    rig.send(write(1, 32));
    assert_eq!(taken_after(&mut rig), TAKEN);
    rig.finish();
}

#[test]
fn a_rewind_or_a_change_ends_the_wait() {
    for is_rewind in [false, true] {
        let mut rig = full();
        rig.send(write(1, 32));
        rig.run(10);
        assert_eq!(rig.begun.len(), 32);
        if is_rewind {
            rig.rewind(Rewind { qpn: 1.into(), psn: 0xff_fff0_u64.into(), ..Rewind::default() });
        } else {
            rig.change(2, false, true);
        }
        assert!(taken_after(&mut rig) <= TAKEN);
        rig.run(5);
        assert!(!rig.is_rewinding(1) && !rig.is_changing(), "it is taken within 5 cycles");
        rig.finish();
    }
}

#[test]
fn works_of_others_wait_behind_it() {
    let mut rig = full();
    rig.send(write(1, 32));
    rig.send(write(2, 0));
    rig.run(20);
    assert_eq!(rig.begun.len(), 32);
    rig.acknowledge(1, 1, 0);
    rig.run(10);
    assert_eq!(rig.begun.len(), 34);
    rig.finish();
    assert_eq!(rig.seen.message.len(), 34);
}
