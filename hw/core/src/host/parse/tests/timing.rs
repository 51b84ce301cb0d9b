//! When the parser gives, and that it starts afresh.

use stroma_abi::desc::WqeHead;

use super::{NEVER, always, cases, chain, gather};
use crate::host::parse::rig::{Case, Rig};
use crate::host::work::{JOB_UNITS, Work};
use crate::testing::{collect, read};

#[test]
fn the_first_work_comes_three_cycles_behind_the_last_unit() {
    let mut rig = Rig::new();
    let case = Case::fetched(0, chain(&[gather(0, 1, 5)]));
    rig.send(std::slice::from_ref(&case));
    while rig.bench[rig.fetched].sent() == 0 {
        rig.bench.step();
    }
    // The unit moved in the cycle that is over.
    assert_eq!(rig.until_valid("work"), 2);
    assert_eq!(rig.until_valid("units"), 0, "its unit is there when the work is");
    rig.settle();
    rig.compare(&[case]);
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
fn a_wqe_takes_one_cycle_and_one_for_each_unit() {
    let mut rig = Rig::new();
    let row = |count: u16, units: u8| {
        let heads: Vec<WqeHead> = (0..count).map(|at| gather(at * u16::from(units), units, 5)).collect();
        vec![Case::fetched(0, chain(&heads))]
    };
    let base = cycles_of(&mut rig, &row(2, 1));
    assert_eq!(cycles_of(&mut rig, &row(32, 1)) - base, 30 * 2, "single units");
    assert_eq!(cycles_of(&mut rig, &row(4, 8)) - cycles_of(&mut rig, &row(2, 8)), 2 * 9, "eight units");
    let jobs = |count| vec![row(1, 1).remove(0); count];
    assert_eq!(cycles_of(&mut rig, &jobs(12)) - cycles_of(&mut rig, &jobs(6)), 6 * 3, "jobs");
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
