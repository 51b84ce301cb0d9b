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
    assert_eq!(rig.bench[rig.work_units].sent(), 16);
    rig.pause([NEVER; 5]);
    rig.settle();
    rig.compare(&four);
}

#[test]
fn works_do_not_run_further_ahead_of_their_units_than_places_can_tell() {
    let mut rig = Rig::new();
    let long = |mut case: Case, units: usize| {
        case.units.resize(units, [0x33; 64]);
        case.work.units = (units as u64).into();
        case
    };
    let list = |units| long(Case::copy(WorkOp::Write, sge(0x1000, 8), &[sge(0x2000, 8)]), units);
    let cases = [long(inline(20), 7), long(inline(20), 8), list(8), list(8)];
    // From every place in turn.
    for round in 1..=64 {
        rig.pause([NEVER, always(), NEVER, NEVER, NEVER]);
        rig.send(&cases);
        rig.run(20);
        assert_eq!(rig.bench[rig.work].sent(), 5 * round - 2, "23 units are missing");
        rig.pause([NEVER; 5]);
        rig.settle();
        rig.compare(&cases);
        rig.check(&[list(2)]);
    }
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

fn nop() -> Case {
    Case { work: Work { opcode: (WorkOp::Nop as u64).into(), ..Work::default() }, units: Vec::new() }
}

/// A WRITE with `length` bytes of inline data.
fn inline(length: u32) -> Case {
    let pieces = usize::try_from(length).expect("few").div_ceil(16);
    let mut case = Case::copy(WorkOp::Write, sge(0x1000, length), &vec![sge(u64::MAX, 9); pieces]);
    (case.work.inline, case.work.sge_count) = (true, 0.into());
    case
}

#[test]
fn the_latencies_are_those_promised() {
    let case = Case::copy(WorkOp::Gather, sge(0x1000, 64), &[sge(0x2000, 64)]);
    assert_eq!(latency(&case, "xlat"), 3);
    assert_eq!(latency(&case, "checked"), 7 + HIT);
    assert_eq!(latency(&case, "units"), 8 + HIT);
    for op in REQUESTS {
        let request = Case::copy(op, sge(0x1000, 8), &[sge(0x2000, 8)]);
        assert_eq!(latency(&request, "xlat"), 3);
        assert_eq!(latency(&request, "checked"), 5 + HIT);
        assert_eq!(latency(&request, "units"), 6 + HIT);
    }
    let one = Case::copy(WorkOp::Write, sge(0x1000, 1), &[sge(0x2000, 1)]);
    assert_eq!(latency(&one, "checked"), 4 + HIT);
    assert_eq!(latency(&one, "units"), 5 + HIT);
    for (length, units) in [(20, 1), (64, 2), (480, 8)] {
        let inline = inline(length);
        assert_eq!(inline.units.len(), units);
        assert_eq!(latency(&inline, "checked"), 1);
        assert_eq!(latency(&inline, "units"), 2);
    }
    assert_eq!(latency(&nop(), "checked"), 1);
}

#[test]
fn units_come_though_their_work_is_not_taken() {
    let mut rig = Rig::new();
    let request = Case::copy(WorkOp::Write, sge(0x1000, 8), &[sge(0x2000, 8)]);
    for cases in [vec![inline(64), inline(64)], vec![request, inline(64)]] {
        rig.bench[rig.checked].pause(always());
        rig.send(&cases);
        rig.run(40);
        // Those of the first work, and once only.
        assert_eq!(rig.bench[rig.units].received().len(), cases[0].units.len());
        rig.pause([NEVER; 5]);
        rig.settle();
        rig.compare(&cases);
    }
}

#[test]
fn work_without_questions_waits_for_those_before_it_and_those_behind_are_asked_for() {
    let mut rig = Rig::new();
    rig.delay = (50, 51);
    let request = Case::copy(WorkOp::Write, sge(0x1000, 8), &[sge(0x2000, 8)]);
    let cases = [request.clone(), inline(64), nop(), request.clone(), inline(20), request];
    rig.send(&cases);
    rig.run(30);
    assert!(rig.bench[rig.checked].received().is_empty() && rig.bench.is_sent());
    assert_eq!(rig.most, 6);
    rig.settle();
    rig.compare(&cases);
}

#[test]
fn a_refused_wqe_does_not_wait_for_units_that_nobody_wants() {
    let mut rig = Rig::new();
    rig.mood = Mood(1);
    let mut refused = Case::copy(WorkOp::Write, sge(0x1000, 8), &[sge(0x2000, 8)]);
    refused.units.resize(8, [0x77; 64]);
    refused.work.units = 8_u64.into();
    let mut first = refused.clone();
    first.units.truncate(2);
    rig.send(&[first]);
    rig.run(60);
    assert_eq!(rig.bench[rig.checked].received().len(), 1);
    assert!(rig.is_busy(), "six units are to come");
    let rest = Case { units: refused.units[2..].to_vec(), ..refused.clone() };
    rig.send_units(&rest);
    let cases = [refused.clone(), refused, inline(64), inline(20)];
    rig.send(&cases[1..]);
    rig.settle();
    rig.compare(&cases);
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
    let each = |case: &Case| {
        let cycles = cycles_of(case, 80) - cycles_of(case, 40);
        assert!(cycles.is_multiple_of(40), "{cycles} cycles for 40");
        cycles / 40
    };
    assert_eq!(each(&Case::copy(WorkOp::Gather, sge(0x1000, 100), &pieces[..1])), 4, "four questions");
    assert_eq!(each(&Case::copy(WorkOp::Gather, sge(0x1000, 200), &pieces[..2])), 6, "six questions");
    assert_eq!(each(&Case::copy(WorkOp::Write, sge(0x1000, 100), &pieces[..1])), 2);
    assert_eq!(each(&Case::copy(WorkOp::Write, sge(0x1000, 200), &pieces[..2])), 4);
    assert_eq!(each(&Case::copy(WorkOp::Read, sge(0x1000, 1600), &pieces)), 32, "32 questions");
    assert_eq!(each(&Case::copy(WorkOp::FetchAdd, sge(0x1000, 8), &[sge(0x2000, 8)])), 2);
    assert_eq!(each(&inline(20)), 1);
    assert_eq!(each(&inline(64)), 2);
    assert_eq!(each(&inline(480)), 8);
    assert_eq!(each(&nop()), 1);
    // Nobody is asked, so the units that are thrown away count.
    assert_eq!(each(&Case::copy(WorkOp::Write, sge(0x1000, 1), &[sge(u64::MAX, 9)])), 3);
}

#[test]
fn a_pushed_request_and_the_end_of_its_job_take_two_cycles() {
    let end = Case { work: Work { ends: true, ..Work::default() }, units: Vec::new() };
    let cycles = |count: usize| {
        let mut rig = Rig::new();
        let start = rig.bench.cycle();
        rig.check(&vec![[inline(64), end.clone()]; count].concat());
        rig.bench.cycle() - start
    };
    assert_eq!(cycles(80) - cycles(40), 40 * 2);
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

    // Units are being thrown away, and some have not come.
    rig.mood = Mood(1);
    let mut half = Case::copy(WorkOp::Write, sge(0x1000, 8), &[sge(0x2000, 8)]);
    half.work.units = 4_u64.into();
    rig.send(&[half]);
    rig.run(60);
    rig.mood = Mood::GENEROUS;
    starts_afresh(&mut rig);

    // A work waits, and its units have gone.
    rig.bench[rig.checked].pause(always());
    rig.send(&[inline(64), inline(64)]);
    rig.run(60);
    starts_afresh(&mut rig);
}
