//! When the check gives, and that it starts afresh.

use stroma_abi::desc::{Sge, WorkOp};

use super::{NEVER, always, cases, sge};
use crate::host::check::rig::{Case, HIT, Mood, REQUESTS, Rig};
use crate::host::work::Work;
use crate::testing::read;

#[test]
fn the_longest_wqes_keep_sixteen_questions_under_way() {
    let mut rig = Rig::new();
    rig.delay = (300, 301);
    let pieces: Vec<Sge> = (0..16).map(|at| sge(0x1_0000 * at, 100)).collect();
    let mut case = Case::copy(WorkOp::Scatter, sge(0x9000_0000, 1600), &pieces);
    // Units behind the list are legal.
    case.units.resize(8, [0x11; 64]);
    case.work.units = 8_u64.into();
    rig.check(&[case.clone(), case.clone(), case]);
    assert_eq!(rig.most, 16);
}

#[test]
fn the_next_wqes_arrive_while_one_is_sent_until_sixteen_units_wait() {
    let mut rig = Rig::new();
    let mut case = Case::copy(WorkOp::Gather, sge(0x1000, 480), &[]);
    case.units = (0..8).map(|unit| [unit; 64]).collect();
    (case.work.units, case.work.inline) = (8_u64.into(), true);
    let four = vec![case; 4];
    rig.bench[rig.units].pause(always());
    rig.send(&four);
    rig.run(100);
    // The one on offer has left its place.
    assert_eq!(rig.bench[rig.work_units].sent(), 17);
    rig.pause([NEVER; 5]);
    rig.settle();
    rig.compare(&four);
}

/// Cycles from the one in which this work moves to the one in which `stream` offers.
fn latency(case: &Case, stream: &str) -> u64 {
    let mut rig = Rig::new();
    rig.send(std::slice::from_ref(case));
    while rig.bench[rig.work].sent() == 0 {
        rig.step();
    }
    let start = rig.bench.cycle() - 1;
    while !read::<bool>(&rig.bench, &format!("{stream}$valid")) {
        assert!(rig.bench.cycle() < start + 1000, "nothing comes");
        rig.step();
    }
    rig.bench.cycle() - start
}

#[test]
fn the_latencies_are_those_promised() {
    let case = Case::copy(WorkOp::Gather, sge(0x1000, 64), &[sge(0x2000, 64)]);
    assert_eq!(latency(&case, "xlat"), 3);
    assert_eq!(latency(&case, "checked"), 9 + HIT);
    assert_eq!(latency(&case, "units"), 9 + HIT);
    for op in REQUESTS {
        let request = Case::copy(op, sge(0x1000, 8), &[sge(0x2000, 8)]);
        assert_eq!(latency(&request, "checked"), 8 + HIT);
        assert_eq!(latency(&request, "units"), 8 + HIT);
    }
    let nop =
        Case { work: Work { opcode: (WorkOp::Nop as u64).into(), ..Work::default() }, units: Vec::new() };
    assert_eq!(latency(&nop, "checked"), 4);
}

/// Cycles that so many of the same WQE take.
fn cycles_of(case: &Case, count: usize) -> u64 {
    let mut rig = Rig::new();
    let start = rig.bench.cycle();
    rig.check(&vec![case.clone(); count]);
    rig.bench.cycle() - start
}

#[test]
fn the_rates_are_those_promised() {
    let pieces: Vec<Sge> = (0..16).map(|at| sge(0x1_0000 * at, 100)).collect();
    let one = Case::copy(WorkOp::Gather, sge(0x1000, 100), &pieces[..1]);
    assert_eq!(cycles_of(&one, 30) - cycles_of(&one, 20), 10 * 5);
    let two = Case::copy(WorkOp::Gather, sge(0x1000, 200), &pieces[..2]);
    assert_eq!(cycles_of(&two, 30) - cycles_of(&two, 20), 10 * 7, "six questions and the end");
    let write = Case::copy(WorkOp::Write, sge(0x1000, 100), &pieces[..1]);
    assert_eq!(cycles_of(&write, 30) - cycles_of(&write, 20), 10 * 4);
    let write = Case::copy(WorkOp::Write, sge(0x1000, 200), &pieces[..2]);
    assert_eq!(cycles_of(&write, 30) - cycles_of(&write, 20), 10 * 5);
    let list = Case::copy(WorkOp::Read, sge(0x1000, 1600), &pieces);
    assert_eq!(cycles_of(&list, 12) - cycles_of(&list, 6), 6 * 33, "32 questions and the end");
    let atomic = Case::copy(WorkOp::FetchAdd, sge(0x1000, 8), &[sge(0x2000, 8)]);
    assert_eq!(cycles_of(&atomic, 30) - cycles_of(&atomic, 20), 10 * 4);
    let mut inline = Case::copy(WorkOp::Write, sge(0x1000, 20), &pieces[..1]);
    inline.work.inline = true;
    assert_eq!(cycles_of(&inline, 30) - cycles_of(&inline, 20), 10 * 3);
    let nop =
        Case { work: Work { opcode: (WorkOp::Nop as u64).into(), ..Work::default() }, units: Vec::new() };
    assert_eq!(cycles_of(&nop, 30) - cycles_of(&nop, 20), 10 * 2);
}

/// After reset nothing of the past is left, and the next run is as good as the first.
fn starts_afresh(rig: &mut Rig) {
    assert!(rig.bench.is_sent() && rig.is_busy(), "everything should be inside when reset comes");
    rig.pause([NEVER; 5]);
    rig.delay = (HIT, HIT + 1);
    rig.bench.reset(1);
    rig.forget();
    for port in ["busy", "xlat$valid", "checked$valid", "units$valid"] {
        assert!(!read::<bool>(&rig.bench, port), "{port}");
    }
    rig.check(&cases(40, 20));
}

#[test]
fn recovers_from_reset() {
    let mut rig = Rig::new();
    let pieces: Vec<Sge> = (0..6).map(|at| sge(0x1_0000 * at, 100)).collect();
    let copy = Case::copy(WorkOp::Gather, sge(0x1000, 600), &pieces);
    // Questions unanswered, one range refused, more units held than not.
    rig.mood = Mood(3);
    rig.delay = (1000, 1001);
    rig.send(&[copy.clone(), copy.clone()]);
    rig.run(60);
    starts_afresh(&mut rig);

    // The second half of a range is not asked for, and a unit is missing.
    rig.mood = Mood::GENEROUS;
    rig.bench[rig.xlat].pause(always());
    let mut half = copy.clone();
    half.units.truncate(1);
    rig.send(&[half]);
    rig.run(60);
    starts_afresh(&mut rig);

    // Units are being sent.
    rig.bench[rig.units].pause(always());
    rig.send(&[copy.clone(), copy]);
    rig.run(100);
    starts_afresh(&mut rig);

    // A refusal has been heard and its WQE is not at its end.
    rig.mood = Mood(1);
    let mut half = Case::copy(WorkOp::Gather, sge(0x1000, 600), &pieces);
    half.units.truncate(1);
    rig.send(&[half]);
    rig.run(60);
    rig.mood = Mood::GENEROUS;
    starts_afresh(&mut rig);
}
