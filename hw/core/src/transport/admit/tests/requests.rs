//! Requests of all kinds.

use num_bigint::BigUint;
use stroma_abi::desc::{AtomicOperands, Sge, Status, WorkOp, WqeHead};

use super::corners::{QPN, job, locals, nop, parts, read, report, rewind, write};
use crate::host::parse::Defect;
use crate::transport::admit::rig::{Case, Rig};

/// A request whose unit holds all that may be read from one.
fn told(op: WorkOp, index: u64, length: u64) -> Case {
    let head = WqeHead { solicited: true, immediate: 0x0a0b_0c0d, ..WqeHead::default() };
    let result = Sge { address: 0x3333_0000_4444, local_key: 0x55, length: 8 };
    let mut bytes = head.to_bytes().to_vec();
    if matches!(op, WorkOp::CmpSwap | WorkOp::FetchAdd) {
        let operands = AtomicOperands { swap_add: 0x1111_2222, compare: 0x7777_0000_0000_8888 };
        bytes.extend(operands.to_bytes());
    }
    bytes.extend(result.to_bytes());
    let mut case = Case::new(op, QPN, index, length);
    case.units = vec![BigUint::from_bytes_le(&bytes).into()];
    case
}

fn add(index: u64) -> Case {
    Case::new(WorkOp::FetchAdd, QPN, index, 8)
}

fn fenced(case: Case) -> Case {
    case.with(|work| work.fence = true)
}

#[test]
fn a_message_says_what_the_first_unit_says() {
    use WorkOp::{CmpSwap, FetchAdd, Read, Send, SendImm, SendInv, Write, WriteImm};
    let mut rig = Rig::new();
    for (index, op) in (0..).zip([Send, SendImm, SendInv, Write, WriteImm, Read, CmpSwap, FetchAdd]) {
        let seen = job(&mut rig, [told(op, index, 8)]);
        let ([message], [(_, entry)]) = (&seen.message[..], &seen.entries[..]) else {
            panic!("one {op:?}, not {seen:?}")
        };
        assert_eq!((u64::from(message.opcode), u64::from(entry.opcode)), (op as u64, op as u64));
        assert!(message.solicited);
        assert_eq!(u64::from(message.imm), 0x0a0b_0c0d);
        assert_eq!((u64::from(entry.address), u64::from(entry.key)), (0x3333_0000_4444, 0x55), "{op:?}");
        if matches!(op, CmpSwap | FetchAdd) {
            let operands = (u64::from(message.a1), u64::from(message.a2));
            assert_eq!(operands, (0x1111_2222, 0x7777_0000_0000_8888));
        }
    }
}

#[test]
fn a_read_of_more_than_one_entry_scatters() {
    let mut rig = Rig::new();
    let of = |op, index, entries: u64| told(op, index, 8).with(|work| work.sge_count = entries.into());
    let cases = [
        (of(WorkOp::Read, 0, 1), false),
        (of(WorkOp::Read, 1, 2), true),
        (of(WorkOp::Read, 2, 16), true),
        (of(WorkOp::Write, 3, 16), false),
        (of(WorkOp::CmpSwap, 4, 1), false),
    ];
    for (case, scatters) in cases {
        assert_eq!(job(&mut rig, [case]).entries[0].1.scatters, scatters);
    }
}

#[test]
fn long_sends_go_in_parts() {
    for op in [WorkOp::Send, WorkOp::SendImm, WorkOp::SendInv, WorkOp::WriteImm] {
        let mut rig = Rig::new();
        let long = || Case::new(op, QPN, 0, 70_000);
        assert_eq!(parts(&job(&mut rig, [long(), write(1)])), [(0, 64, 0, false)]);
        let seen = job(&mut rig, [long(), write(1)]);
        assert_eq!(parts(&seen), [(64, 5, 64 << 10, false), (69, 1, 0, false)]);
    }
}

#[test]
fn atomics_and_reads_share_a_window() {
    let mut rig = Rig::new();
    let seen = job(&mut rig, [read(0), add(1), add(2), read(3), add(4)]);
    assert_eq!((parts(&seen).len(), report(&seen), seen.read_waits), (4, (4, true, 36), 1));
    assert_eq!(parts(&seen)[1..3], [(1, 1, 0, false), (2, 1, 0, false)], "an atomic takes one PSN");
    rig.acknowledge(QPN, 2, 2);
    let seen = job(&mut rig, [add(4), write(5), add(6), read(7)]);
    assert_eq!((seen.message.len(), report(&seen), seen.read_waits), (3, (7, true, 26), 1));
}

#[test]
fn an_atomic_where_none_may_be_in_flight_is_refused() {
    let mut rig = Rig::new();
    let seen = job(&mut rig, [add(0).with(|work| work.reads_out = 0.into()), nop(1)]);
    let refused = (0, Status::LocalQueuePair as u64, Defect::OpCode as u64);
    assert_eq!((locals(&seen), report(&seen)), ((vec![refused, (1, 0, 0)], 0), (2, false, 0)));
}

#[test]
fn a_fence_waits_for_reads_and_atomics_and_for_nothing_else() {
    for asks in [read(1), add(1)] {
        let mut rig = Rig::new();
        let seen = job(&mut rig, [fenced(write(0)), asks, write(2), fenced(write(3)), write(4)]);
        assert_eq!((seen.message.len(), report(&seen).0, report(&seen).1), (3, 3, true));
        assert_eq!(seen.read_waits, 0, "no READ waits");
        rig.acknowledge(QPN, 1, 0);
        let seen = job(&mut rig, [fenced(write(3)), write(4)]);
        assert_eq!((seen.message.len(), report(&seen)), (0, (3, true, 0)));
        // The WRITE between them may be under way.
        rig.acknowledge(QPN, 2, 1);
        let seen = job(&mut rig, [fenced(write(3)), fenced(read(4)), fenced(read(5))]);
        assert_eq!((seen.message.len(), report(&seen)), (2, (5, true, 20)));
        assert_eq!(seen.read_waits, 0, "it waits for the fence, not for the window");
    }
}

#[test]
fn a_fence_counts_no_more_when_the_request_is_sent_again() {
    let mut rig = Rig::new();
    let long = || fenced(Case::new(WorkOp::Send, QPN, 0, 70_000));
    assert_eq!(parts(&job(&mut rig, [long()])).len(), 1);
    assert_eq!(parts(&job(&mut rig, [long(), read(1)])).len(), 2);
    rewind(&mut rig, 0, 0, 10, 10);
    rig.outcome();
    assert_eq!(parts(&job(&mut rig, [long()])), [(10, 59, 10 << 10, true)]);
}

#[test]
fn a_fence_on_local_work_changes_nothing() {
    let mut rig = Rig::new();
    assert_eq!(locals(&job(&mut rig, [fenced(nop(0))])).0.len(), 1);
    rig.ended = 2;
    let seen = job(&mut rig, [read(1), fenced(nop(2))]);
    assert_eq!((seen.message.len(), report(&seen)), (1, (2, true, 10)));
    rig.acknowledge(QPN, 1, 1);
    assert_eq!(locals(&job(&mut rig, [fenced(nop(2))])).0.len(), 1);
}

#[test]
fn an_atomic_whose_result_goes_elsewhere_under_way_fails_the_queue_pair() {
    for (bit, fails) in [(384, true), (300, false)] {
        let mut rig = Rig::new();
        job(&mut rig, [add(0)]);
        rewind(&mut rig, 0, 0, 0, 0);
        rig.outcome();
        let mut other = add(0);
        other.units[0] = other.units[0] ^ (rust_hdl::prelude::Bits::from(1) << bit);
        let seen = job(&mut rig, [other]);
        assert_eq!((seen.failures.len() == 1, seen.message.len() == 1), (fails, !fails), "bit {bit}");
    }
}
