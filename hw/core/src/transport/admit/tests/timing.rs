use stroma_abi::desc::WorkOp;
use stroma_verilate::Pause;

use crate::transport::admit::rig::{CHANGE, Case, PROGRESS, QPS, REWIND, Rig};
use crate::transport::records::Rewind;

fn write(qpn: u64, index: u64) -> Case {
    Case::new(WorkOp::Write, qpn, index, 1000)
}

/// Steps until the port is high; how many.
fn steps_until(rig: &mut Rig, port: &str) -> usize {
    let steps = (1..50).find(|_| {
        rig.step();
        rig.get(port)
    });
    steps.unwrap_or_else(|| panic!("{port} stays low"))
}

#[test]
fn the_latencies_are_those_promised() {
    let mut rig = Rig::new();
    rig.send(write(1, 0));
    assert_eq!(steps_until(&mut rig, "message$valid"), 4);
    assert!(rig.get("message_units$valid") && rig.get("alarm$valid"), "all in the same cycle");
    rig.finish();
    rig.rewind(Rewind { qpn: 1.into(), psn: 0xff_fff0_u64.into(), ..Rewind::default() });
    assert_eq!(steps_until(&mut rig, "progress$valid"), 2);
    rig.finish();
    rig.send(Case::new(WorkOp::Gather, 2, 0, 64));
    assert_eq!(steps_until(&mut rig, "local$valid"), 4);
    assert!(rig.get("local_units$valid"), "in the same cycle");
    rig.finish();
}

/// Cycles from work to work.
fn pace(rig: &mut Rig, cases: impl IntoIterator<Item = Case>) -> Vec<u64> {
    cases.into_iter().for_each(|case| rig.send(case));
    rig.finish();
    let paces = rig.begun.windows(2).map(|pair| pair[1] - pair[0]).collect();
    rig.reset();
    paces
}

/// The first of a queue pair is its oldest message, and is waited for; all others follow in two cycles.
fn brisk(count: usize) -> Vec<u64> {
    [vec![3], vec![2; count - 2]].concat()
}

#[test]
fn a_new_message_of_a_queue_pair_takes_two_cycles_and_three_if_it_is_the_only_one() {
    let mut rig = Rig::new();
    let both = |op, length| (0..20).map(move |index| Case::new(op, 1, index, length));
    assert_eq!(pace(&mut rig, both(WorkOp::Write, 1000)), brisk(20));
    // From the fifth on they wait for answers.
    assert_eq!(pace(&mut rig, both(WorkOp::CmpSwap, 8)), brisk(20));
    for op in [WorkOp::Write, WorkOp::Send] {
        let two = |index: u64| Case::new(op, 1, index * 2, 64).with(|work| work.units = 2.into());
        assert_eq!(pace(&mut rig, (0..20).map(two)), brisk(20));
    }
    // So does the end of a job, and what comes behind it.
    let jobs = (0..10).flat_map(|index| [write(3, index), Case::end(3, index + 1)]);
    assert_eq!(pace(&mut rig, jobs), brisk(20));
}

#[test]
fn works_of_different_queue_pairs_take_two_cycles() {
    let mut rig = Rig::new();
    for count in [2, 3, 4] {
        assert_eq!(pace(&mut rig, (0..20).map(|at| write(at % count, at / count))), [2; 19]);
    }
    // Alternating bursts: the second message of a queue pair waits for its first.
    for burst in [2, 3, 4] {
        let order = (0..24).map(|at| (at / burst % 2, at / burst / 2 * burst + at % burst));
        let paces = pace(&mut rig, order.map(|(qpn, index)| write(qpn, index)));
        let slow: Vec<u64> = (0..).zip(&paces).filter(|(_, pace)| **pace == 3).map(|(at, _)| at).collect();
        assert_eq!((slow, paces.iter().all(|pace| [2, 3].contains(pace))), (vec![0, burst], true));
    }
}

#[test]
fn every_other_work_takes_three_cycles_or_one_for_each_unit() {
    let mut rig = Rig::new();
    // The first does not end in its visit, and the others are passed over.
    assert_eq!(pace(&mut rig, (0..20).map(|index| Case::new(WorkOp::SendImm, 1, index, 70_000))), [3; 19]);
    assert_eq!(pace(&mut rig, (0..20).map(|index| Case::new(WorkOp::Nop, 0, index, 0))), [3; 19]);
    assert_eq!(pace(&mut rig, (0..20).map(|at| Case::new(WorkOp::Nop, at % 2, at / 2, 0))), [3; 19]);
    for units in [3_u64, 4, 5, 8] {
        let long = |index| write(3, index * units).with(|work| work.units = units.into());
        assert_eq!(pace(&mut rig, (0..20).map(long)), [units; 19]);
    }
}

#[test]
fn what_is_sent_again_takes_three_cycles_and_what_is_new_two() {
    let mut rig = Rig::new();
    (0..5).for_each(|index| rig.send(write(1, index)));
    rig.finish();
    rig.rewind(Rewind { qpn: 1.into(), psn: 0xff_fff0_u64.into(), ..Rewind::default() });
    rig.finish();
    rig.begun.clear();
    assert_eq!(pace(&mut rig, (0..9).map(|index| write(1, index))), [3, 3, 3, 3, 2, 2, 2, 2]);
}

#[test]
fn a_rewind_is_taken_at_once_between_works_that_come_without_a_pause() {
    let mut rig = Rig::new();
    for index in 0..30 {
        rig.send(write(1, index));
    }
    rig.run(20);
    let begun = rig.begun.len();
    rig.rewind(Rewind { qpn: 1.into(), psn: 0xff_fff0_u64.into(), ..Rewind::default() });
    rig.run(5);
    assert_eq!(rig.bench[rig.inputs[REWIND]].sent(), 1, "it waits for two works at most");
    assert!(rig.begun.len() - begun <= 2);
    rig.finish();
    assert_eq!(rig.seen.progress.len(), 1);
}

#[test]
fn rewinds_and_changes_wait_for_no_output() {
    let mut rig = Rig::new();
    let mut pauses = std::array::from_fn(|port| if port < 4 { Pause::None } else { Pause::Always });
    pauses[4 + PROGRESS] = Pause::None;
    rig.pause(&pauses);
    for index in 0..20 {
        rig.send(write(index % 4, index / 4));
    }
    rig.run(100);
    assert!(rig.begun.len() < 10 && rig.get("message$valid"), "works wait for room");
    for round in 0..10 {
        rig.rewind(Rewind { qpn: (round % 4).into(), psn: 0xff_fff0_u64.into(), ..Rewind::default() });
        rig.run(2);
        assert_eq!(rig.bench[rig.inputs[REWIND]].sent(), round + 1, "a rewind is taken at once");
    }
    for qpn in 0..1 << QPS {
        rig.change(qpn, false, true);
    }
    rig.run(2 << QPS);
    assert_eq!(rig.bench[rig.inputs[CHANGE]].sent(), 1 << QPS, "each change is taken at once");
    rig.pause(&std::array::from_fn(|_| Pause::None));
    rig.finish();
    assert_eq!(rig.seen.flushes.len(), 1 << QPS);
}

#[test]
fn recovers_from_reset() {
    let mut rig = Rig::new();
    rig.pause(&std::array::from_fn(|port| if port < 4 { Pause::None } else { Pause::Always }));
    for index in 0..7 {
        rig.send(write(1, index).with(|work| work.units = (1 + index % 2).into()));
    }
    rig.change(2, false, true);
    rig.run(100);
    assert!(rig.bench.is_sent() && rig.get("busy"), "all of it is inside when reset comes");
    rig.pause(&std::array::from_fn(|_| Pause::None));
    rig.reset();
    assert!(!rig.get("busy"));
    for index in 0..3 {
        rig.send(write(1, index));
        rig.send(write(2, index));
    }
    rig.send(Case::end(2, 3));
    let seen = rig.outcome();
    assert_eq!((seen.message.len(), seen.flushes.len()), (6, 0), "no queue pair is known any more");
    assert_eq!(u64::from(seen.message[0].psn), 0xff_fff0);
}
