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
    assert_eq!(steps_until(&mut rig, "message$valid"), 6);
    assert!(rig.get("message_units$valid") && rig.get("alarm$valid"), "all in the same cycle");
    rig.finish();
    rig.rewind(Rewind { qpn: 1.into(), psn: 0xff_fff0_u64.into(), ..Rewind::default() });
    assert_eq!(steps_until(&mut rig, "progress$valid"), 2);
    rig.finish();
    rig.send(Case::new(WorkOp::Gather, 2, 0, 64));
    assert_eq!(steps_until(&mut rig, "local$valid"), 6);
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

#[test]
fn a_work_takes_four_cycles_or_one_for_each_unit() {
    let mut rig = Rig::new();
    assert_eq!(pace(&mut rig, (0..20).map(|index| write(3, index))), [4; 19]);
    assert_eq!(pace(&mut rig, (0..20).map(|index| Case::new(WorkOp::SendImm, 1, index, 70_000))), [4; 19]);
    assert_eq!(pace(&mut rig, (0..20).map(|index| Case::new(WorkOp::CmpSwap, 1, index, 8))), [4; 19]);
    assert_eq!(pace(&mut rig, (0..20).map(|index| Case::new(WorkOp::Nop, 0, index, 0))), [4; 19]);
    for units in [4_u64, 5, 8] {
        let long = |index| write(3, index * units).with(|work| work.units = units.into());
        assert_eq!(pace(&mut rig, (0..20).map(long)), [units; 19]);
    }
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
