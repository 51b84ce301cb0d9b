//! What is looked up for a request to a peer.

use stroma_abi::desc::{Sge, Status, WorkOp};

use super::{REFUSED, SUM, gives, sge};
use crate::host::check::rig::{ATOMICS, Case, REQUESTS, Rig};
use crate::state::access::Cause;

#[test]
fn what_lies_at_the_peer_is_not_asked_and_only_what_a_read_fills_needs_the_right() {
    let mut rig = Rig::new();
    for op in REQUESTS.into_iter().filter(|op| !ATOMICS.contains(op)) {
        let need = u64::from(op == WorkOp::Read);
        // At the peer, a range may even wrap: that is for the peer to refuse.
        let case = Case::copy(op, sge(u64::MAX, 20), &[sge(0x8000, 20)]);
        let found = case.outcome(rig.mood).questions;
        let asked: Vec<(u64, u64)> =
            found.iter().map(|question| (question.va.into(), question.need.into())).collect();
        assert_eq!(asked, [(0x8000, need), (0x8013, need)]);
        gives(&mut rig, &case, (0, 0));
        gives(&mut rig, &Case::copy(op, sge(0, 21), &[sge(0x8000, 20)]), SUM);
        let wraps = Case::copy(op, sge(0, 2), &[sge(u64::MAX, 2)]);
        gives(&mut rig, &wraps, (REFUSED, Cause::Bounds as u64));
        let empty = Case::copy(op, sge(0x1000, 0), &[sge(0x8000, 20)]);
        assert!(empty.outcome(rig.mood).questions.is_empty() && empty.outcome(rig.mood).sends);
        gives(&mut rig, &empty, (0, 0));
        let long = Case::copy(op, sge(0, (1 << 31) + 1), &[sge(0x8000, (1 << 31) + 1)]);
        gives(&mut rig, &long, (Status::LocalLength as u64, 0));
    }
    let pieces = [sge(0x8000, 20), sge(0x9000, 0), sge(0xa000, 1)];
    for op in [WorkOp::Write, WorkOp::Send, WorkOp::Read] {
        let several = Case::copy(op, sge(0, 21), &pieces);
        assert_eq!(several.outcome(rig.mood).questions.len(), 3);
        gives(&mut rig, &several, (0, 0));
    }
}

#[test]
fn sixteen_entries_of_a_read_need_the_right_each() {
    let mut rig = Rig::new();
    let pieces: Vec<Sge> = (0..16).map(|at| sge(0x1000 * at, 1)).collect();
    let case = Case::copy(WorkOp::Read, sge(0, 16), &pieces);
    let found = case.outcome(rig.mood).questions;
    assert!(found.len() == 16 && found.iter().all(|question| question.need == 1));
    gives(&mut rig, &case, (0, 0));
}

#[test]
fn the_result_of_an_atomic_stands_behind_its_operands_and_has_eight_bytes() {
    let mut rig = Rig::new();
    for op in ATOMICS {
        let case = Case::copy(op, sge(u64::MAX, 8), &[sge(0x8000, 8)]);
        assert_eq!(case.units.len(), 1);
        let found = case.outcome(rig.mood).questions;
        let asked: Vec<(u64, u64)> =
            found.iter().map(|question| (question.va.into(), question.need.into())).collect();
        assert_eq!(asked, [(0x8000, 1), (0x8007, 1)]);
        gives(&mut rig, &case, (0, 0));
        // Units behind it are legal, and hold nothing.
        let mut long = case.clone();
        long.units.resize(8, [0xff; 64]);
        long.work.units = 8_u64.into();
        gives(&mut rig, &long, (0, 0));
        for length in [0, 7, 9, 16] {
            gives(&mut rig, &Case::copy(op, sge(0, 8), &[sge(0x8000, length)]), SUM);
        }
        let wraps = Case::copy(op, sge(0, 8), &[sge(u64::MAX - 6, 8)]);
        gives(&mut rig, &wraps, (REFUSED, Cause::Bounds as u64));
        rig.check(&[case.clone(), long, wraps, case]);
    }
}

#[test]
fn work_on_keys_is_asked_nothing_and_only_a_bind_has_units() {
    let mut rig = Rig::new();
    let mut bind = Case::copy(WorkOp::Bind, sge(u64::MAX, 0), &[]);
    bind.units.resize(3, [0xff; 64]);
    bind.work.units = 3_u64.into();
    let outcome = bind.outcome(rig.mood);
    assert!(outcome.questions.is_empty() && outcome.sends);
    gives(&mut rig, &bind, (0, 0));
    let mut invalidate = Case::copy(WorkOp::Invalidate, sge(u64::MAX, 0), &[]);
    invalidate.units.clear();
    let outcome = invalidate.outcome(rig.mood);
    assert!(outcome.questions.is_empty() && !outcome.sends);
    gives(&mut rig, &invalidate, (0, 0));
    rig.check(&[bind.clone(), invalidate.clone(), bind, invalidate]);
}

/// What is asked: addresses and rights.
fn asked(rig: &Rig, case: &Case) -> Vec<(u64, u64)> {
    let questions = case.outcome(rig.mood).questions;
    questions.iter().map(|question| (question.va.into(), question.need.into())).collect()
}

#[test]
fn the_result_of_an_rpc_needs_the_right_for_as_many_bytes_as_its_answer_may_have() {
    let mut rig = Rig::new();
    let result = sge(0x8000, 1000);
    for parameters in [0, 16, 64] {
        let case = Case::rpc(result, 600, parameters);
        assert_eq!(asked(&rig, &case), [(0x8000, 1), (0x8257, 1)]);
        gives(&mut rig, &case, (0, 0));
        let byte = Case::rpc(result, 1, parameters);
        assert_eq!(asked(&rig, &byte), [(0x8000, 1)]);
        gives(&mut rig, &byte, (0, 0));
        let none = Case::rpc(sge(u64::MAX, 1000), 0, parameters);
        assert!(none.outcome(rig.mood).questions.is_empty() && none.outcome(rig.mood).sends);
        gives(&mut rig, &none, (0, 0));
        // What the entry has beyond the longest answer is not looked up.
        gives(&mut rig, &Case::rpc(sge(u64::MAX - 599, 1000), 600, parameters), (0, 0));
        let wraps = Case::rpc(sge(u64::MAX - 598, 1000), 600, parameters);
        gives(&mut rig, &wraps, (REFUSED, Cause::Bounds as u64));
        rig.check(&[case, byte, wraps, none]);
    }
}

#[test]
fn the_payload_of_an_rpc_is_looked_up_behind_its_result() {
    let mut rig = Rig::new();
    let pieces: Vec<Sge> = (1..=6).map(|at| sge(0x1000 * at, 10)).collect();
    for count in [1, 2, 5, 6] {
        let mut expected = vec![(0x8000, 1), (0x8007, 1)];
        expected.extend((1..=count).flat_map(|at| [(0x1000 * at, 0), (0x1000 * at + 9, 0)]));
        let count = usize::try_from(count).expect("few");
        let case = Case::stream(sge(0x8000, 8), 8, &pieces[..count]);
        assert_eq!(asked(&rig, &case), expected);
        gives(&mut rig, &case, (0, 0));
        let silent = Case::stream(sge(0x8000, 8), 0, &pieces[..count]);
        assert_eq!(asked(&rig, &silent), expected[2..]);
        gives(&mut rig, &silent, (0, 0));
        let mut wrong = case.clone();
        wrong.work.length = (10 * count as u64 + 1).into();
        gives(&mut rig, &wrong, SUM);
        // Without bytes its entries do not count, but its result does.
        let mut empty = case.clone();
        empty.work.length = 0_u64.into();
        assert_eq!(asked(&rig, &empty), expected[..2]);
        gives(&mut rig, &empty, (0, 0));
        rig.check(&[case, silent, wrong, empty]);
    }
}

#[test]
fn request_and_answer_of_an_rpc_never_take_more_than_half_of_all_psns() {
    let mut rig = Rig::new();
    let [half, rest] = [sge(0x1000, 1 << 30), sge(0x1000, (1 << 30) - (1 << 16))];
    let psns = |length: u64| length.div_ceil(256) + 65_536 / 256 - 1;
    assert!(psns((1 << 31) - (1 << 16)) <= 1 << 23);
    gives(&mut rig, &Case::stream(sge(0x8000, 8), 8, &[half, rest]), (0, 0));
    let long = Case::stream(sge(0x8000, 8), 8, &[half, rest, sge(0x1000, 1)]);
    gives(&mut rig, &long, (Status::LocalLength as u64, 0));
}
