//! When the parser gives, and that it starts afresh.

use stroma_abi::desc::{WorkOp, WqeHead};

use super::{NEVER, always, cases, chain, gather};
use crate::host::parse::rig::{Case, Rig};
use crate::host::work::{JOB_UNITS, Work};
use crate::testing::{collect, read};

/// A WRITE with 64 bytes of inline data: two units.
fn write(index: u16) -> WqeHead {
    WqeHead { opcode: WorkOp::Write as u8, inline: true, ..gather(index, 2, 64) }
}

#[test]
fn the_first_work_comes_two_cycles_behind_the_last_unit_of_a_fetch() {
    for heads in [vec![gather(0, 1, 5)], vec![write(0), gather(2, 1, 5)]] {
        let mut rig = Rig::new();
        let case = Case::fetched(0, chain(&heads));
        rig.send(std::slice::from_ref(&case));
        while rig.bench[rig.fetched].sent() < case.units.len() as u64 {
            assert!(!read::<bool>(&rig.bench, "work$valid"), "the job is not whole");
            rig.bench.step();
        }
        // The unit moved in the cycle that is over.
        assert_eq!(rig.until_valid("work"), 1);
        assert_eq!(rig.until_valid("units"), 0, "its unit is there when the work is");
        rig.settle();
        rig.compare(&[case]);
    }
}

#[test]
fn the_first_work_comes_two_cycles_behind_the_first_unit_of_a_push() {
    let mut rig = Rig::new();
    for units in [1, 2, 4] {
        let case = Case::pushed(0, chain(&[gather(0, units, 5)]));
        let before = rig.bench[rig.pushed].sent();
        rig.send(std::slice::from_ref(&case));
        while rig.bench[rig.pushed].sent() == before {
            rig.bench.step();
        }
        assert_eq!(rig.until_valid("work"), 1);
        // So the work of two units comes a cycle behind the last of them, and a unit a cycle follows.
        assert_eq!(rig.bench[rig.pushed].sent() - before, u64::from(units.min(2)));
        for _ in 0..units {
            assert!(read::<bool>(&rig.bench, "units$valid"));
            rig.bench.step();
        }
        assert!(!read::<bool>(&rig.bench, "units$valid"));
        rig.settle();
        rig.compare(&[case]);
    }
}

#[test]
fn a_push_does_not_wait_for_its_other_units_nor_the_next_job_for_it() {
    let mut rig = Rig::new();
    let good = Case::pushed(3, chain(&[gather(3, 4, 100)]));
    let bad = Case::pushed(3, chain(&[gather(4, 4, 100)]));
    for case in [good, bad] {
        let mut first = case.clone();
        first.units.truncate(1);
        rig.send(&[first]);
        rig.bench.run(20);
        let works = rig.bench[rig.work].received().len();
        assert_eq!(works, 2, "the WQE and the end of the job");
        assert!(rig.is_busy(), "three units are to come");
        rig.push_units(&case.units[1..3]);
        rig.bench.run(20);
        rig.push_units(&case.units[3..]);
        let cases = [case, Case::fetched(0, chain(&[write(0)])), Case::pushed(9, chain(&[write(9)]))];
        rig.send(&cases[1..]);
        rig.settle();
        rig.compare(&cases);
    }
}

/// Cycles from the first work to the last of these jobs, all of which have arrived.
fn cycles_of(rig: &mut Rig, cases: &[Case]) -> u64 {
    rig.pause([NEVER, NEVER, NEVER, always(), always()]);
    rig.send(cases);
    rig.bench.run(150);
    assert!(rig.bench.is_sent(), "all of it is inside");
    rig.pause([NEVER; 5]);
    let start = rig.bench.cycle();
    rig.settle();
    let cycles = rig.bench.cycle() - start;
    rig.compare(cases);
    cycles
}

#[test]
fn a_unit_takes_a_cycle_and_so_does_a_wqe_without_and_the_end_of_a_job() {
    let mut rig = Rig::new();
    let row = |count: u16, units: u8| {
        let heads: Vec<WqeHead> = (0..count).map(|at| gather(at * u16::from(units), units, 5)).collect();
        vec![Case::fetched(0, chain(&heads))]
    };
    let base = cycles_of(&mut rig, &row(8, 1));
    assert_eq!(cycles_of(&mut rig, &row(32, 1)) - base, 24, "single units");
    assert_eq!(cycles_of(&mut rig, &row(4, 8)) - cycles_of(&mut rig, &row(2, 8)), 2 * 8, "eight units");
    let writes =
        |count| vec![Case::fetched(0, chain(&(0..count).map(|at| write(2 * at)).collect::<Vec<_>>()))];
    assert_eq!(cycles_of(&mut rig, &writes(16)) - cycles_of(&mut rig, &writes(6)), 10 * 2, "inline data");
    let nops = |count| {
        let nop = |at: u16| WqeHead { opcode: WorkOp::Nop as u8, ..gather(2 * at, 2, 0) };
        vec![Case::fetched(0, chain(&(0..count).map(nop).collect::<Vec<_>>()))]
    };
    assert_eq!(cycles_of(&mut rig, &nops(16)) - cycles_of(&mut rig, &nops(6)), 10, "no units go on");
    let jobs = |count| vec![row(1, 1).remove(0); count];
    assert_eq!(cycles_of(&mut rig, &jobs(12)) - cycles_of(&mut rig, &jobs(6)), 6 * 2, "jobs");
    let pushes = |count| vec![Case::pushed(0, chain(&[write(0)])); count];
    assert_eq!(cycles_of(&mut rig, &pushes(12)) - cycles_of(&mut rig, &pushes(6)), 6 * 2, "pushes");
    // A tail is looked at, and takes the cycle of a WQE.
    let tails = |count| {
        let mut cut = chain(&[gather(0, 1, 5), gather(1, 8, 5)]);
        cut.truncate(2);
        vec![Case::fetched(0, cut); count]
    };
    assert_eq!(cycles_of(&mut rig, &tails(12)) - cycles_of(&mut rig, &tails(6)), 6 * 3, "tails");
}

#[test]
fn the_next_job_arrives_while_one_is_parsed() {
    let mut rig = Rig::new();
    let row: Vec<WqeHead> = (0..32).map(|at| gather(at, 1, 5)).collect();
    let cases = vec![Case::fetched(0, chain(&row)); 3];
    rig.pause([NEVER, NEVER, NEVER, always(), NEVER]);
    rig.send(&cases);
    rig.bench.run(200);
    // The works of four WQEs wait, so their four places are free again.
    assert_eq!(rig.bench[rig.fetched].sent(), 2 * JOB_UNITS as u64 + 4);
    rig.pause([NEVER; 5]);
    rig.settle();
    rig.compare(&cases);
}

/// After reset nothing of the past is left, and the next run is as good as the first.
fn starts_afresh(rig: &mut Rig) {
    assert!(rig.bench.is_sent() && rig.is_busy(), "everything should be inside when reset comes");
    rig.pause([NEVER; 5]);
    rig.bench.reset(1);
    for port in ["busy", "work$valid", "units$valid"] {
        assert!(!read::<bool>(&rig.bench, port), "{port}");
    }
    collect::<Work>(&mut rig.bench, rig.work);
    rig.bench[rig.units].take();
    rig.check(&cases(40, 20, 8));
}

#[test]
fn recovers_from_reset() {
    let mut rig = Rig::new();
    let eight = Case::fetched(0, chain(&[gather(0, 8, 5)]));
    // A job whose first command has failed and whose second has not come; its end would come from the next job.
    let mut half = Case { cut: 4, errs: [true, false], ..eight.clone() };
    half.units.truncate(4);
    // In the middle of sending: three of eight units have gone.
    rig.send(&[eight.clone(), half.clone()]);
    while rig.bench[rig.units].received().len() < 3 {
        rig.bench.step();
    }
    rig.bench[rig.units].pause(always());
    rig.bench.run(40);
    starts_afresh(&mut rig);

    // Works wait, those of the second job behind a bad one.
    let bad = Case::fetched(1, chain(&[gather(0, 1, 5), gather(2, 1, 5)]));
    rig.pause([NEVER, NEVER, NEVER, always(), NEVER]);
    rig.send(&[bad.clone(), bad, eight.clone(), half]);
    rig.bench.run(60);
    starts_afresh(&mut rig);

    // The rest of a job is being looked for.
    rig.send(&[eight]);
    while !rig.bench.is_sent() {
        rig.bench.step();
    }
    starts_afresh(&mut rig);
}
