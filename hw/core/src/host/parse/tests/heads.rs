//! What the head of a WQE may say, and on which queue pair.

use stroma_abi::desc::queue_pair::QueuePairKind;
use stroma_abi::desc::{Status, WorkOp, WqeHead};
use stroma_abi::wire::RpcTarget;

use super::{MALFORMED, chain, gather, gives};
use crate::host::parse::rig::{Case, GOOD_OPS, Rig, set_room};
use crate::host::work::Job;

#[test]
fn each_defect_is_told_by_its_number() {
    let mut rig = Rig::new();
    let good = gather(7, 1, 100);
    let defects = [
        (WqeHead { opcode: 0x10, ..good }, 1),
        (WqeHead { opcode: 0, ..good }, 1),
        (WqeHead { opcode: 0xff, ..good }, 1),
        (WqeHead { index: 8, ..good }, 2),
        (WqeHead { units: 0, ..good }, 3),
        (WqeHead { units: 9, ..good }, 3),
        (WqeHead { tx_kernel: true, ..good }, 4),
        (WqeHead { local: true, ..good }, 4),
        (WqeHead { opcode: WorkOp::Nop as u8, inline: true, length: 8, ..good }, 4),
        (WqeHead { opcode: WorkOp::Scatter as u8, inline: true, length: 8, ..good }, 4),
        (WqeHead { opcode: WorkOp::Read as u8, inline: true, length: 8, ..good }, 4),
        (WqeHead { opcode: WorkOp::CmpSwap as u8, inline: true, length: 8, ..good }, 4),
        (WqeHead { opcode: WorkOp::FetchAdd as u8, inline: true, length: 8, ..good }, 4),
        (WqeHead { inline: true, length: 33, ..good }, 5),
        (WqeHead { inline: true, length: u32::MAX, ..good }, 5),
        (WqeHead { sge_count: 3, ..good }, 6),
        (WqeHead { sge_count: 0, ..good }, 6),
        (WqeHead { opcode: WorkOp::Write as u8, inline: true, length: 33, ..good }, 5),
        (WqeHead { opcode: WorkOp::Write as u8, sge_count: 3, ..good }, 6),
        (WqeHead { opcode: WorkOp::SendImm as u8, inline: true, length: 33, ..good }, 5),
        (WqeHead { opcode: WorkOp::SendInv as u8, sge_count: 3, ..good }, 6),
        (WqeHead { opcode: WorkOp::Read as u8, sge_count: 3, ..good }, 6),
        (WqeHead { opcode: WorkOp::Read as u8, sge_count: 3, length: 0, ..good }, 6),
        (WqeHead { opcode: WorkOp::Read as u8, sge_count: 0, ..good }, 6),
        (WqeHead { opcode: WorkOp::CmpSwap as u8, length: 7, ..good }, 6),
        (WqeHead { opcode: WorkOp::CmpSwap as u8, length: 9, ..good }, 6),
        (WqeHead { opcode: WorkOp::FetchAdd as u8, length: 0, ..good }, 6),
        (WqeHead { opcode: WorkOp::FetchAdd as u8, length: 8, sge_count: 0, ..good }, 6),
        (WqeHead { opcode: WorkOp::FetchAdd as u8, length: 8, sge_count: 2, ..good }, 6),
        (WqeHead { opcode: WorkOp::Bind as u8, inline: true, sge_count: 0, length: 0, ..good }, 4),
        (WqeHead { opcode: WorkOp::Bind as u8, sge_count: 0, length: 1, ..good }, 6),
        (WqeHead { opcode: WorkOp::Bind as u8, sge_count: 1, length: 0, ..good }, 6),
        (WqeHead { opcode: WorkOp::Invalidate as u8, inline: true, sge_count: 0, length: 0, ..good }, 4),
        (WqeHead { opcode: WorkOp::Invalidate as u8, sge_count: 0, length: 1, ..good }, 6),
        (WqeHead { opcode: WorkOp::Invalidate as u8, sge_count: 1, length: 0, ..good }, 6),
    ];
    for (head, vendor) in defects {
        let units = chain(&[head]);
        let unit = units[..1].to_vec();
        gives(&mut rig, &Case::fetched(7, unit.clone()), &[(MALFORMED, vendor)], 1);
        gives(&mut rig, &Case::pushed(7, unit), &[(MALFORMED, vendor)], 1);
    }
}

#[test]
fn what_just_fits_is_good() {
    let mut rig = Rig::new();
    let good = gather(0, 1, 100);
    let heads = [
        WqeHead { sge_count: 2, ..good },
        WqeHead { sge_count: 0, length: 0, ..good },
        WqeHead { inline: true, length: 32, ..good },
        WqeHead { inline: true, length: 480, units: 8, ..good },
        WqeHead { units: 5, sge_count: 0, ..good },
        WqeHead { opcode: WorkOp::Scatter as u8, units: 2, sge_count: 6, ..good },
        WqeHead { opcode: WorkOp::Nop as u8, sge_count: 15, ..good },
        WqeHead { opcode: WorkOp::Write as u8, units: 5, sge_count: 0, ..good },
        WqeHead { opcode: WorkOp::Write as u8, sge_count: 0, length: 0, ..good },
        WqeHead { opcode: WorkOp::Write as u8, inline: true, length: 480, units: 8, ..good },
        WqeHead { opcode: WorkOp::Read as u8, ..good },
        WqeHead { opcode: WorkOp::Read as u8, sge_count: 0, length: 0, ..good },
        WqeHead { opcode: WorkOp::Read as u8, sge_count: 1, length: 0, ..good },
        WqeHead { opcode: WorkOp::Read as u8, sge_count: 2, ..good },
        WqeHead { opcode: WorkOp::Read as u8, units: 5, sge_count: 0, ..good },
        WqeHead { opcode: WorkOp::CmpSwap as u8, length: 8, ..good },
        WqeHead { opcode: WorkOp::FetchAdd as u8, units: 8, length: 8, ..good },
        WqeHead { opcode: WorkOp::SendInv as u8, inline: true, length: 480, units: 8, ..good },
        WqeHead { opcode: WorkOp::WriteImm as u8, sge_count: 0, length: 0, solicited: true, ..good },
        WqeHead { opcode: WorkOp::Bind as u8, sge_count: 0, length: 0, ..good },
        WqeHead { opcode: WorkOp::Bind as u8, units: 8, sge_count: 0, length: 0, ..good },
        WqeHead { opcode: WorkOp::Invalidate as u8, units: 3, sge_count: 0, length: 0, ..good },
    ];
    for head in heads {
        gives(&mut rig, &Case::fetched(0, chain(&[head])), &[(0, 0)], head.units.into());
    }
    let five = WqeHead { units: 4, sge_count: 0, ..good };
    gives(&mut rig, &Case::fetched(0, chain(&[five])), &[(MALFORMED, 6)], 4);
}

#[test]
fn requests_to_a_peer_and_work_on_keys_take_a_reliable_queue_pair() {
    let mut rig = Rig::new();
    for op in GOOD_OPS.into_iter().filter(|op| ![WorkOp::Nop, WorkOp::Gather, WorkOp::Scatter].contains(op)) {
        let mut head = WqeHead { opcode: op as u8, ..gather(3, 2, 8) };
        if matches!(op, WorkOp::Bind | WorkOp::Invalidate) {
            (head.sge_count, head.length) = (0, 0);
        } else if op == WorkOp::Rpc {
            head.remote = target(0, 2);
        }
        let case = Case::fetched(3, chain(&[head]));
        gives(&mut rig, &case, &[(0, 0)], 2);
        let units = if op == WorkOp::Invalidate { 0 } else { 2 };
        assert_eq!(case.outcome().units.len(), units, "its units go along if they say anything");
        let raw = QueuePairKind::Raw as u64;
        let unreliable = QueuePairKind::Unreliable as u64;
        let is_unanswered = matches!(op, WorkOp::Send | WorkOp::SendImm | WorkOp::Write | WorkOp::WriteImm);
        if is_unanswered {
            let other = Case { job: Job { kind: unreliable.into(), ..case.job }, ..case.clone() };
            gives(&mut rig, &other, &[(0, 0)], 2);
        }
        let datagram = QueuePairKind::Datagram as u64;
        let is_datagram = matches!(op, WorkOp::Send | WorkOp::SendImm);
        let is_other = |kind: &u64| {
            *kind != QueuePairKind::Reliable as u64
                && (*kind != raw || op != WorkOp::Send)
                && (*kind != datagram || !is_datagram)
                && (*kind != unreliable || !is_unanswered)
        };
        for kind in (0..8).filter(is_other) {
            let other = Case { job: Job { kind: kind.into(), ..case.job }, ..case.clone() };
            gives(&mut rig, &other, &[(MALFORMED, 1)], 2);
        }
    }
}

#[test]
fn a_datagram_has_4096_bytes_at_most() {
    let mut rig = Rig::new();
    let too_long = (Status::LocalLength as u64, 9);
    for op in [WorkOp::Send, WorkOp::SendImm] {
        let datagram = |length| WqeHead { opcode: op as u8, ..gather(0, 1, length) };
        let nothing = WqeHead { sge_count: 0, ..datagram(0) };
        let inline = WqeHead { inline: true, sge_count: 0, ..datagram(9) };
        let cases = [
            (nothing, (0, 0)),
            (inline, (0, 0)),
            (datagram(1), (0, 0)),
            (datagram(4096), (0, 0)),
            (datagram(4097), too_long),
            (datagram(u32::MAX), too_long),
        ];
        for (head, outcome) in cases {
            let case = Case::fetched(0, chain(&[head]));
            let kind = (QueuePairKind::Datagram as u64).into();
            gives(&mut rig, &Case { job: Job { kind, ..case.job }, ..case }, &[outcome], 1);
        }
    }
}

#[test]
fn a_raw_queue_pair_sends_frames_of_14_to_4096_bytes() {
    let mut rig = Rig::new();
    let too_long_or_short = (Status::LocalLength as u64, 9);
    let frame = |length| WqeHead { opcode: WorkOp::Send as u8, ..gather(0, 1, length) };
    let inline = |length| WqeHead { inline: true, ..frame(length) };
    let wide = |length| WqeHead { units: 8, sge_count: 0, ..frame(length) };
    let cases = [
        (frame(13), too_long_or_short),
        (frame(14), (0, 0)),
        (frame(4096), (0, 0)),
        (frame(4097), too_long_or_short),
        (wide(4096), (0, 0)),
        (wide(u32::MAX), too_long_or_short),
        (inline(13), too_long_or_short),
        (inline(14), (0, 0)),
        (inline(33), (MALFORMED, 5)),
        (WqeHead { sge_count: 0, ..frame(0) }, too_long_or_short),
    ];
    for (head, expected) in cases {
        let case = Case::fetched(0, chain(&[head]));
        let case = Case { job: Job { kind: (QueuePairKind::Raw as u64).into(), ..case.job }, ..case };
        gives(&mut rig, &case, &[expected], head.units.into());
    }
}

#[test]
fn a_fence_goes_along() {
    let mut rig = Rig::new();
    let send = WqeHead { opcode: WorkOp::Send as u8, ..gather(0, 1, 100) };
    let fenced = WqeHead { index: 1, fence: true, ..send };
    let case = Case::fetched(0, chain(&[send, fenced]));
    let found: Vec<bool> = case.outcome().works.iter().map(|work| work.fence).collect();
    assert_eq!(found, [false, true, false]);
    rig.check(&[case]);
}

#[test]
fn sixteen_entries_are_counted() {
    let head = WqeHead { sge_count: 0, ..gather(0, 5, 1) };
    let outcome = Case::fetched(0, chain(&[head])).outcome();
    assert_eq!(u64::from(outcome.works[0].sge_count), 16);
}

/// What the `remote` of an RPC says, with noise where it does not matter.
fn target(response_max: u32, parameter_words: u8) -> u64 {
    RpcTarget { response_max, flags: 0xa5, parameter_words, operation: 0x5aa5 }.to_address()
}

/// An RPC of one WQE whose result entry has `room` bytes.
fn call(head: WqeHead, room: u32) -> Case {
    let mut units = chain(&[head]);
    set_room(&mut units[0], room);
    Case::fetched(0, units)
}

#[test]
fn an_rpc_has_the_parameters_it_says_and_one_entry() {
    let mut rig = Rig::new();
    let rpc = |units, words: u8, length| WqeHead {
        opcode: WorkOp::Rpc as u8,
        remote: target(8, words),
        ..gather(0, units, length)
    };
    let cases = [
        (rpc(1, 0, 0), (0, 0)),
        (rpc(1, 4, 16), (0, 0)),
        (rpc(1, 5, 20), (MALFORMED, 10)),
        (rpc(2, 16, 64), (0, 0)),
        (rpc(8, 16, 64), (0, 0)),
        (rpc(2, 17, 68), (MALFORMED, 10)),
        (rpc(1, 4, 15), (MALFORMED, 10)),
        (rpc(1, 3, 16), (MALFORMED, 10)),
        (rpc(1, 0, 1), (MALFORMED, 10)),
        (rpc(1, 1, 0), (MALFORMED, 10)),
        (rpc(8, 0x80, 512), (MALFORMED, 10)),
        (WqeHead { sge_count: 0, ..rpc(1, 4, 16) }, (MALFORMED, 6)),
        (WqeHead { sge_count: 0, ..rpc(1, 0, 0) }, (MALFORMED, 6)),
        (WqeHead { sge_count: 2, ..rpc(1, 4, 16) }, (MALFORMED, 6)),
        (WqeHead { inline: true, ..rpc(1, 4, 16) }, (MALFORMED, 4)),
        (WqeHead { local: true, ..rpc(1, 4, 16) }, (MALFORMED, 4)),
    ];
    for (head, expected) in cases {
        let case = call(head, 8);
        gives(&mut rig, &case, &[expected], head.units.into());
        let work = case.outcome().works[0];
        assert!(work.inline && work.sge_count == 0, "its parameters are inline, and no entry is read");
    }
}

#[test]
fn a_stream_to_a_kernel_has_its_entries_behind_that_of_the_result() {
    let mut rig = Rig::new();
    let stream = |units, entries, words: u8, length| WqeHead {
        opcode: WorkOp::RpcWrite as u8,
        sge_count: entries,
        remote: target(8, words),
        ..gather(0, units, length)
    };
    let cases = [
        (stream(1, 1, 16, 64), (0, 0)),
        (stream(1, 0, 0, 0), (0, 0)),
        (stream(1, 2, 0, 100), (MALFORMED, 6)),
        (stream(1, 0, 0, 1), (MALFORMED, 6)),
        (stream(2, 5, 0, 100), (0, 0)),
        (stream(2, 6, 0, 100), (MALFORMED, 6)),
        (stream(5, 0, 1, 100), (0, 0)),
        (stream(4, 0, 1, 100), (MALFORMED, 6)),
        (stream(1, 1, 16, 1 << 30), (0, 0)),
        (stream(1, 1, 17, 100), (MALFORMED, 10)),
        (stream(1, 1, 0xff, u32::MAX), (MALFORMED, 10)),
        (stream(1, 1, 16, 63), (MALFORMED, 10)),
        (stream(1, 1, 1, 3), (MALFORMED, 10)),
        (stream(1, 0, 1, 0), (MALFORMED, 10)),
        (WqeHead { inline: true, ..stream(1, 1, 0, 4) }, (MALFORMED, 4)),
    ];
    for (head, expected) in cases {
        gives(&mut rig, &call(head, 8), &[expected], head.units.into());
    }
}

#[test]
fn an_answer_has_at_most_64_kib_and_fits_the_entry_of_the_result() {
    let mut rig = Rig::new();
    let wrong = (Status::LocalLength as u64, 11);
    let cases = [
        (0, 0, (0, 0)),
        (0, u32::MAX, (0, 0)),
        (1, 0, wrong),
        (1, 1, (0, 0)),
        (600, 599, wrong),
        (600, 600, (0, 0)),
        (600, 601, (0, 0)),
        (65_536, 65_535, wrong),
        (65_536, 65_536, (0, 0)),
        (65_537, u32::MAX, wrong),
        (u32::MAX, u32::MAX, wrong),
    ];
    for op in [WorkOp::Rpc, WorkOp::RpcWrite] {
        for (response_max, room, expected) in cases {
            let remote = target(response_max, 2);
            let head = WqeHead { opcode: op as u8, remote, ..gather(0, 1, 8) };
            gives(&mut rig, &call(head, room), &[expected], 1);
            gives(&mut rig, &Case::pushed(0, call(head, room).units), &[expected], 1);
        }
    }
}
