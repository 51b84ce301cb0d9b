//! The check against its plain-Rust twin.

mod requests;
mod timing;

use stroma_abi::desc::{Sge, Status, WorkOp};
use stroma_verilate::{Pause, SplitMix64};

use super::Check;
use super::rig::{CALLS, COPIES, Case, Mood, REQUESTS, Rig, random};
use crate::host::work::Work;
use crate::state::access::Cause;
use crate::testing::stalls_of;
use crate::verilog::differential::{assert_agree, differential};

const NEVER: Pause = Pause::None;

fn always() -> Pause {
    Pause::Script(vec![true])
}

fn cases(seed: u64, count: u64) -> Vec<Case> {
    let mut rng = SplitMix64::new(seed);
    (0..count).map(|_| random(&mut rng)).collect()
}

fn sge(address: u64, length: u32) -> Sge {
    Sge { address, local_key: 0x1234_5678, length }
}

/// Status and vendor.
fn verdict(work: &Work) -> (u64, u64) {
    (work.status.into(), work.vendor.into())
}

/// Runs one WQE; its verdict as thought out and as the model says.
fn gives(rig: &mut Rig, case: &Case, expected: (u64, u64)) {
    assert_eq!(verdict(&case.outcome(rig.mood).work), expected);
    rig.check(std::slice::from_ref(case));
}

/// Why a question for this byte is refused, or 0.
fn cause(mood: Mood, va: u64) -> u64 {
    mood.judge(&Case::copy(WorkOp::Gather, sge(va, 1), &[]).outcome(mood).questions[0])
}

const REFUSED: u64 = Status::LocalProtection as u64;
const SUM: (u64, u64) = (Status::LocalQueuePair as u64, 8);

#[test]
fn agrees_with_the_model() {
    let mut rig = Rig::new();
    for (seed, mood, delay) in [(1, 1_000_000, (6, 7)), (2, 20, (6, 7)), (3, 5, (2, 60)), (4, 2, (1, 200))] {
        (rig.mood, rig.delay) = (Mood(mood), delay);
        rig.check(&cases(seed, 500));
    }
}

#[test]
fn the_random_works_meet_every_verdict() {
    let met: Vec<(u64, u64)> = [(2, 20), (3, 5), (4, 2)]
        .into_iter()
        .flat_map(|(seed, mood)| cases(seed, 500).into_iter().map(move |case| (case, Mood(mood))))
        .filter(|(case, _)| case.work.status.index() == 0 && !case.work.ends)
        .map(|(case, mood)| verdict(&case.outcome(mood).work))
        .collect();
    let refused = (1..=4).map(|cause| (REFUSED, cause));
    let others = [(0, 0), SUM, (Status::LocalLength as u64, 0), (Status::General as u64, 5)];
    for verdict in refused.chain(others) {
        let count = met.iter().filter(|found| **found == verdict).count();
        assert!(count >= 5, "{verdict:?} was met {count} times");
    }
    for op in COPIES.into_iter().chain(REQUESTS).chain(CALLS) {
        let works: Vec<(Case, u64)> = [(2, 20), (3, 5), (4, 2)]
            .into_iter()
            .flat_map(|(seed, mood)| cases(seed, 500).into_iter().map(move |case| (case, mood)))
            .filter(|(case, _)| case.work.opcode == op as u64)
            .collect();
        let found: Vec<_> = works.iter().map(|(case, mood)| case.outcome(Mood(*mood))).collect();
        let refused = found.iter().filter(|found| verdict(&found.work).0 == REFUSED).count();
        let sums = found.iter().filter(|found| verdict(&found.work) == SUM).count();
        let good = found.iter().filter(|found| found.sends).count();
        // Parameters have no entries that could add up to something else.
        let has_sums = sums >= 1 || op == WorkOp::Rpc;
        assert!(
            refused >= 3 && has_sums && good >= 10,
            "{op:?}: {refused} refused, {sums} sums, {good} good"
        );
    }
}

#[test]
fn survives_stalls() {
    let mut rig = Rig::new();
    rig.mood = Mood(15);
    for (seed, stall) in (10..).zip(stalls_of::<5>()) {
        rig.pause(stall);
        rig.delay = [(6, 7), (1, 2), (3, 90)][usize::try_from(seed % 3).expect("small")];
        rig.check(&cases(seed, 60));
    }
}

#[test]
fn what_a_copy_writes_needs_the_right_and_what_it_reads_does_not() {
    let mut rig = Rig::new();
    for (op, needs) in [(WorkOp::Gather, [1, 1, 0, 0]), (WorkOp::Scatter, [0, 0, 1, 1])] {
        let case = Case::copy(op, sge(0x1000, 20), &[sge(0x8000, 20)]);
        let found = case.outcome(rig.mood).questions;
        let needed: Vec<u64> = found.iter().map(|question| question.need.into()).collect();
        assert_eq!(needed, needs);
        let asked: Vec<u64> = found.iter().map(|question| question.va.into()).collect();
        assert_eq!(asked, [0x1000, 0x1013, 0x8000, 0x8013]);
        rig.check(&[case]);
    }
}

#[test]
fn a_range_of_one_byte_takes_one_question_and_one_of_none_takes_none() {
    let mut rig = Rig::new();
    let pieces = [sge(0x10, 0), sge(0x20, 1), sge(u64::MAX, 0)];
    let case = Case::copy(WorkOp::Gather, sge(0x30, 1), &pieces);
    assert_eq!(case.outcome(rig.mood).questions.len(), 2);
    gives(&mut rig, &case, (0, 0));
}

#[test]
fn a_range_may_end_at_the_last_address_but_not_behind() {
    let mut rig = Rig::new();
    let bounds = (REFUSED, Cause::Bounds as u64);
    for (address, length, expected) in
        [(u64::MAX - 9, 10, (0, 0)), (u64::MAX - 8, 10, bounds), (u64::MAX, 1, (0, 0)), (u64::MAX, 2, bounds)]
    {
        for op in [WorkOp::Gather, WorkOp::Scatter] {
            gives(&mut rig, &Case::copy(op, sge(address, length), &[sge(0x5000, length)]), expected);
            gives(&mut rig, &Case::copy(op, sge(0x5000, length), &[sge(address, length)]), expected);
        }
    }
    // Far behind, so that the whole address is carried over.
    let far = Case::copy(WorkOp::Gather, sge(1, 1 << 31), &[sge(u64::MAX - 9, 1 << 31)]);
    gives(&mut rig, &far, bounds);
}

#[test]
fn the_first_refused_range_is_told() {
    let mut rig = Rig::new();
    rig.mood = Mood(7);
    let cause = |va| cause(Mood(7), va);
    // An address that is refused for each cause, and one from which on five are allowed.
    let find =
        |wanted: u64| (0..10_000).find(|va| cause(*va) == wanted).expect("some address is refused for it");
    let allowed = (0..10_000).find(|va| (0..5).all(|at| cause(va + at) == 0)).expect("some are allowed");
    for told in 1..=5 {
        let (bad, worse) = (find(told), find(told % 5 + 1));
        let status = if told == Cause::PageList as u64 { Status::General as u64 } else { REFUSED };
        let orders = [
            (bad, vec![worse]),
            (allowed, vec![bad, worse]),
            (allowed, vec![allowed, allowed, bad, worse, worse]),
        ];
        for (place, pieces) in orders {
            let pieces: Vec<Sge> = pieces.into_iter().map(|va| sge(va, 1)).collect();
            let length = u32::try_from(pieces.len()).expect("few");
            gives(&mut rig, &Case::copy(WorkOp::Scatter, sge(place, length), &pieces), (status, told));
        }
        // A range that wraps is refused in its turn.
        let wrapping = [sge(bad, 1), sge(u64::MAX, 4)];
        gives(&mut rig, &Case::copy(WorkOp::Scatter, sge(allowed, 5), &wrapping), (status, told));
    }
    let wrapping = [sge(u64::MAX, 4), sge(find(Cause::Key as u64), 1)];
    gives(
        &mut rig,
        &Case::copy(WorkOp::Scatter, sge(allowed, 5), &wrapping),
        (REFUSED, Cause::Bounds as u64),
    );
}

#[test]
fn a_range_is_refused_for_its_last_byte_too() {
    let mut rig = Rig::new();
    rig.mood = Mood(7);
    let cause = |va| cause(Mood(7), va);
    let first =
        (0..10_000).find(|va| cause(*va) == 0 && cause(va + 9) == 3).expect("some range is like that");
    gives(&mut rig, &Case::copy(WorkOp::Gather, sge(first, 10), &[sge(first, 10)]), (REFUSED, 3));
}

#[test]
fn entries_must_add_up_to_the_length() {
    let mut rig = Rig::new();
    let four = [sge(0x1000, 10), sge(0x2000, 20), sge(0x3000, 30), sge(0x4000, 40)];
    gives(&mut rig, &Case::copy(WorkOp::Gather, sge(0, 100), &four), (0, 0));
    gives(&mut rig, &Case::copy(WorkOp::Gather, sge(0, 101), &four), SUM);
    gives(&mut rig, &Case::copy(WorkOp::Scatter, sge(0, 99), &four), SUM);
    // The sum does not wrap: 2^32 + 100 is not 100.
    let mut huge = four.to_vec();
    huge.extend([sge(0x5000, 1 << 31), sge(0x6000, 1 << 31)]);
    gives(&mut rig, &Case::copy(WorkOp::Gather, sge(0, 100), &huge), SUM);
    let most = vec![sge(0x1000, u32::MAX); 16];
    gives(&mut rig, &Case::copy(WorkOp::Gather, sge(0, 0xffff_fff0), &most), SUM);
}

#[test]
fn two_gigabytes_pass_and_one_byte_more_does_not() {
    let mut rig = Rig::new();
    let copy = |length| Case::copy(WorkOp::Gather, sge(0x1000, length), &[sge(0x2000, length)]);
    gives(&mut rig, &copy(1 << 31), (0, 0));
    gives(&mut rig, &copy((1 << 31) + 1), (Status::LocalLength as u64, 0));
}

#[test]
fn inline_data_are_not_taken_for_entries() {
    let mut rig = Rig::new();
    let mut case = Case::copy(WorkOp::Gather, sge(0x1000, 80), &[sge(u64::MAX, 9); 5]);
    (case.work.inline, case.work.sge_count) = (true, 0.into());
    assert_eq!(case.outcome(rig.mood).questions.len(), 2);
    gives(&mut rig, &case, (0, 0));
    for op in [WorkOp::Write, WorkOp::WriteImm, WorkOp::Send, WorkOp::SendImm, WorkOp::SendInv] {
        case.work.opcode = (op as u64).into();
        assert!(case.outcome(rig.mood).questions.is_empty() && case.outcome(rig.mood).sends);
        gives(&mut rig, &case, (0, 0));
    }
}

#[test]
fn rust_and_verilog_agree() {
    let case = differential!(
        "check",
        Check::default,
        clock,
        [
            work.payload,
            work.valid,
            work_units.payload,
            work_units.valid,
            xlat.ready,
            answer.payload,
            answer.valid,
            checked.ready,
            units.ready
        ]
    );
    assert_agree([case], 300);
}
