//! The parser against its plain-Rust twin.

mod heads;
mod timing;

use stroma_abi::desc::{Status, WorkOp, WqeHead};
use stroma_verilate::{Pause, SplitMix64};

use super::Parse;
use super::model::{Outcome, UnitBytes};
use super::rig::{Case, GOOD_OPS, Rig, random, wqe};
use crate::host::work::{Job, Work};
use crate::testing::stalls_of;
use crate::verilog::differential::{assert_agree, differential};

const NEVER: Pause = Pause::None;

fn always() -> Pause {
    Pause::Script(vec![true])
}

fn cases(seed: u64, count: u64, bad: u64) -> Vec<Case> {
    let mut rng = SplitMix64::new(seed);
    (0..count).map(|_| random(&mut rng, bad)).collect()
}

fn gather(index: u16, units: u8, length: u32) -> WqeHead {
    WqeHead { opcode: WorkOp::Gather as u8, index, units, sge_count: 1, length, ..WqeHead::default() }
}

/// WQEs one behind the other.
fn chain(heads: &[WqeHead]) -> Vec<UnitBytes> {
    let mut rng = SplitMix64::new(9);
    heads.iter().flat_map(|head| wqe(*head, &mut rng)).collect()
}

/// Status and vendor of each work that is no end.
fn verdicts(works: &[Work]) -> Vec<(u64, u64)> {
    works.iter().filter(|work| !work.ends).map(|work| (work.status.into(), work.vendor.into())).collect()
}

/// Units that the job counts as: up to the index that its end tells.
fn counted(case: &Case) -> u64 {
    let works = case.outcome().works;
    let end = works.last().filter(|work| work.ends).expect("a job has an end");
    u64::from(end.index - case.job.index)
}

/// Bytes that the job's end tells.
fn bytes(case: &Case) -> u64 {
    case.outcome().works.last().expect("a job has an end").length.into()
}

/// Runs one job; its verdicts and the units it counts as, as thought out and as the model says.
fn gives(rig: &mut Rig, case: &Case, expected: &[(u64, u64)], units: u64) {
    let outcome = case.outcome();
    assert_eq!(verdicts(&outcome.works), expected);
    assert_eq!(counted(case), units);
    rig.check(std::slice::from_ref(case));
}

const MALFORMED: u64 = Status::LocalQueuePair as u64;
const FLUSHED: (u64, u64) = (Status::Flushed as u64, 0);

#[test]
fn agrees_with_the_model() {
    let mut rig = Rig::new();
    for (seed, bad) in [(1, 1_000_000), (2, 10), (3, 2), (4, 1)] {
        let cases = cases(seed, 720, bad);
        rig.check(&cases);
    }
}

#[test]
fn the_random_jobs_meet_every_verdict() {
    let outcomes: Vec<_> = [(1, 1_000_000), (2, 10), (3, 2), (4, 1)]
        .into_iter()
        .flat_map(|(seed, bad)| cases(seed, 720, bad))
        .map(|case| (case.outcome(), case))
        .collect();
    let met: Vec<(u64, u64)> = outcomes.iter().flat_map(|(outcome, _)| verdicts(&outcome.works)).collect();
    let malformed = (1..=6).chain([10]).map(|vendor| (MALFORMED, vendor));
    let others = [(0, 0), FLUSHED, (Status::General as u64, 7), (Status::LocalLength as u64, 11)];
    for verdict in malformed.chain(others) {
        let count = met.iter().filter(|found| **found == verdict).count();
        assert!(count >= 5, "{verdict:?} was met {count} times");
    }
    let is_good = |outcome: &Outcome| outcome.works.iter().all(|work| work.status == 0);
    let tails = outcomes.iter().filter(|(outcome, case)| is_good(outcome) && counted(case) != case.job.units);
    let tails = tails.count();
    assert!(tails >= 20, "{tails} jobs end within a WQE");
    let left = outcomes
        .iter()
        .filter(|(outcome, case)| !is_good(outcome) && counted(case) != case.job.units)
        .count();
    assert!(left >= 20, "{left} jobs end behind a bad WQE");
    let good: Vec<&Work> =
        outcomes.iter().flat_map(|(outcome, _)| &outcome.works).filter(|work| work.status == 0).collect();
    for op in GOOD_OPS {
        let of = || good.iter().filter(|work| !work.ends && work.opcode == op as u64);
        let fenced = of().filter(|work| work.fence).count();
        assert!(of().count() >= 50 && fenced >= 20, "{} of {op:?} are good, {fenced} fenced", of().count());
    }
    let lists = good.iter().filter(|work| work.opcode == WorkOp::Read as u64 && work.sge_count > 1).count();
    assert!(lists >= 20, "{lists} READs have more than one entry");
}

#[test]
fn survives_stalls() {
    let mut rig = Rig::new();
    for (seed, stall) in (10..).zip(stalls_of::<5>()) {
        rig.pause(stall);
        rig.check(&cases(seed, 60, 8));
    }
}

#[test]
fn the_end_of_a_job_tells_an_index_that_wraps() {
    let mut rig = Rig::new();
    let case = Case::fetched(0xfffe, chain(&[gather(0xfffe, 1, 5), gather(0xffff, 4, 6)]));
    gives(&mut rig, &case, &[(0, 0), (0, 0)], 5);
    assert_eq!(u64::from(case.outcome().works[2].index), 3);
    assert_eq!(bytes(&case), 11);
}

#[test]
fn a_bad_wqe_counts_as_its_units_and_leaves_those_behind_alone() {
    let mut rig = Rig::new();
    let bad = WqeHead { local: true, ..gather(0xffff, 3, 100) };
    let units = chain(&[gather(0xfffe, 1, 5), bad, gather(2, 2, 7), gather(4, 1, 9)]);
    let case = Case::fetched(0xfffe, units);
    gives(&mut rig, &case, &[(0, 0), (MALFORMED, 4)], 4);
    assert_eq!(bytes(&case), 5, "what is not carried out takes no time");
    // The next job begins behind it, in the units that were not looked at.
    let next = Case::fetched(2, chain(&[gather(2, 2, 7), gather(4, 1, 9)]));
    rig.check(&[case.clone(), next.clone(), case, next]);
    // Without a legal count, the next one is looked for in the next unit.
    let lost = WqeHead { units: 0, ..gather(1, 1, 100) };
    let units = chain(&[gather(0, 1, 5), lost, gather(2, 2, 7)]);
    gives(&mut rig, &Case::fetched(0, units), &[(0, 0), (MALFORMED, 3)], 2);
}

#[test]
fn a_tail_is_left_alone_and_the_next_job_begins_behind_it() {
    let mut rig = Rig::new();
    let mut units = chain(&[gather(3, 2, 100), gather(5, 8, 100)]);
    units.truncate(8);
    let (first, second) = (Case::fetched(3, units), Case::fetched(5, chain(&[gather(5, 8, 100)])));
    gives(&mut rig, &first, &[(0, 0)], 2);
    rig.check(&[first.clone(), second.clone(), first, second]);
}

#[test]
fn a_wqe_longer_than_its_whole_job_is_bad() {
    let mut rig = Rig::new();
    let mut units = chain(&[gather(3, 8, 100)]);
    units.truncate(7);
    gives(&mut rig, &Case::fetched(3, units.clone()), &[(MALFORMED, 3)], 7);
    let case = Case::fetched(3, units);
    let flush = Case { job: Job { flush: true, ..case.job }, ..case };
    gives(&mut rig, &flush, &[FLUSHED], 7);
}

#[test]
fn a_push_is_one_wqe_whatever_it_says() {
    let mut rig = Rig::new();
    let two = chain(&[gather(3, 1, 100), gather(4, 1, 100)]);
    gives(&mut rig, &Case::pushed(3, two), &[(MALFORMED, 3)], 2);
    gives(&mut rig, &Case::pushed(3, chain(&[gather(4, 2, 100)])), &[(MALFORMED, 2)], 2);
    gives(&mut rig, &Case::pushed(3, chain(&[gather(3, 2, 100)])), &[(0, 0)], 2);
}

#[test]
fn a_job_that_is_flushed_is_walked_all_the_same() {
    let mut rig = Rig::new();
    let lost = WqeHead { units: 12, ..gather(2, 1, 100) };
    let mut units = chain(&[gather(0, 2, 5), lost]);
    units.truncate(3);
    units.extend(chain(&[gather(3, 1, 5)]));
    let case = Case::fetched(0, units);
    let flush = Case { job: Job { flush: true, ..case.job }, ..case };
    gives(&mut rig, &flush, &[FLUSHED, FLUSHED, FLUSHED], 4);
}

#[test]
fn a_job_that_was_not_read_is_not_trusted() {
    let mut rig = Rig::new();
    let units = chain(&[gather(0, 1, 5), gather(1, 2, 5)]);
    for (cut, errs) in [(3, [true, false]), (1, [true, false]), (1, [false, true]), (2, [true, true])] {
        let case = Case { cut, errs, ..Case::fetched(0, units.clone()) };
        gives(&mut rig, &case, &[(Status::General as u64, 7)], 3);
        let flush = Case { job: Job { flush: true, ..case.job }, ..case };
        gives(&mut rig, &flush, &[(Status::General as u64, 7)], 3);
    }
    gives(&mut rig, &Case::fetched(0, units), &[(0, 0), (0, 0)], 3);
}

#[test]
fn the_sum_of_bytes_ends_at_all_ones() {
    let mut rig = Rig::new();
    let case = Case::fetched(0, chain(&[gather(0, 1, 0xffff_fff0), gather(1, 1, 16), gather(2, 1, 5)]));
    assert_eq!(bytes(&case), 0xffff_ffff);
    gives(&mut rig, &case, &[(0, 0), (0, 0), (0, 0)], 3);
    let case = Case::fetched(0, chain(&[gather(0, 1, 0xffff_fff0), gather(1, 1, 15)]));
    assert_eq!(bytes(&case), 0xffff_ffff);
    rig.check(&[case]);
}

#[test]
fn rust_and_verilog_agree() {
    let case = differential!(
        "parse",
        Parse::default,
        clock,
        [
            job.payload,
            job.valid,
            fetched.payload,
            fetched.valid,
            pushed.payload,
            pushed.valid,
            work.ready,
            units.ready
        ]
    );
    assert_agree([case], 300);
}
