//! RPCs: the PSNs they take, and what is sent of them again.

use stroma_abi::desc::{Sge, Status, WorkOp};
use stroma_abi::wire::RpcTarget;

use super::corners::{QPN, job, locals, nop, parts, read, report, rewind, write};
use crate::host::parse::Defect;
use crate::transport::admit::rig::{Case, Rig, Seen};
use crate::transport::records::Sent;

/// An RPC of `length` bytes, answered with at most `longest`; the path MTU is 1024.
fn call(op: WorkOp, index: u64, length: u64, longest: u32) -> Case {
    Case::new(op, QPN, index, length).answered(longest)
}

fn rpc(index: u64, longest: u32) -> Case {
    call(WorkOp::Rpc, index, 16, longest)
}

fn stream(index: u64, length: u64, longest: u32) -> Case {
    call(WorkOp::RpcWrite, index, length, longest)
}

/// PSNs, those of the answer, and bytes that are remembered.
fn remembered(seen: &Seen) -> Vec<(u64, u64, u64)> {
    let told = |(_, entry): &(u64, Sent)| (entry.packets.into(), entry.answers.into(), entry.length.into());
    seen.entries.iter().map(told).collect()
}

/// What the messages say of operation, bytes, and parameters in words.
fn said(seen: &Seen) -> Vec<(u64, u64, u8)> {
    let words = |remote: u64| RpcTarget::from_address(remote).parameter_words;
    let messages = seen.message.iter();
    messages
        .map(|message| (message.opcode.into(), message.length.into(), words(message.remote.into())))
        .collect()
}

#[test]
fn the_answer_takes_psns_from_that_of_the_last_packet_on() {
    for (longest, answers) in [(0, 1), (1, 1), (1024, 1), (1025, 2), (2048, 2), (3000, 3), (65_536, 64)] {
        let mut rig = Rig::new();
        let seen =
            job(&mut rig, [rpc(0, longest), stream(1, 2500, longest), stream(2, 0, longest), write(3)]);
        let behind = [0, answers, 2 * answers + 2, 3 * answers + 2];
        let packets = [1, 3, 1, 1];
        let expected: Vec<_> =
            behind.into_iter().zip(packets).map(|(psn, packets)| (psn, packets, 0, false)).collect();
        assert_eq!(parts(&seen), expected);
        let longest = u64::from(longest);
        let entries = [
            (answers, answers, longest),
            (answers + 2, answers, longest),
            (answers, answers, longest),
            (1, 0, 10),
        ];
        assert_eq!(remembered(&seen), entries);
        assert_eq!(report(&seen), (4, false, 16 + 2500 + 10), "bytes that are sent");
    }
}

#[test]
fn the_result_goes_where_the_first_entry_says() {
    let mut rig = Rig::new();
    for (index, case) in [rpc(0, 8), stream(1, 100, 8)].into_iter().enumerate() {
        let unit = num_bigint::BigUint::from(case.units[0]).to_bytes_le();
        let result = Sge::parse(&unit[32..]).expect("a whole entry");
        let seen = job(&mut rig, [case]);
        let entry = &seen.entries[0].1;
        assert_eq!(
            (u64::from(entry.address), u64::from(entry.key)),
            (result.address, result.local_key.into())
        );
        assert!(!entry.scatters && u64::from(entry.index) == index as u64);
    }
}

#[test]
fn rpcs_share_the_window_of_reads_and_a_fence_waits_for_them() {
    let mut rig = Rig::new();
    let fence = |case: Case| case.with(|work| work.fence = true);
    let seen = job(&mut rig, [rpc(0, 8), read(1), stream(2, 10, 8), rpc(3, 8), rpc(4, 8)]);
    assert_eq!((seen.message.len(), report(&seen).0, report(&seen).1, seen.read_waits), (4, 4, true, 1));
    rig.acknowledge(QPN, 3, 3);
    let seen = job(&mut rig, [fence(write(4))]);
    assert_eq!((seen.message.len(), report(&seen)), (0, (4, true, 0)));
    rig.acknowledge(QPN, 4, 4);
    let seen = job(&mut rig, [fence(write(4)), fence(rpc(5, 8))]);
    assert_eq!((seen.message.len(), report(&seen).0), (2, 6));
}

#[test]
fn an_rpc_where_none_may_be_in_flight_is_refused() {
    let mut rig = Rig::new();
    for (index, case) in (0..).step_by(2).zip([rpc(0, 8), stream(2, 10, 8)]) {
        let seen = job(&mut rig, [case.with(|work| work.reads_out = 0.into()), nop(index + 1)]);
        let refused = (index, Status::LocalQueuePair as u64, Defect::OpCode as u64);
        assert_eq!(locals(&seen), (vec![refused, (index + 1, 0, 0)], 0));
    }
}

#[test]
fn a_long_stream_goes_in_parts_and_the_last_takes_the_answers_psns() {
    let mut rig = Rig::new();
    let long = || stream(0, 150_000, 3000);
    assert_eq!(parts(&job(&mut rig, [long(), write(1)])), [(0, 64, 0, false)]);
    assert_eq!(parts(&job(&mut rig, [long(), write(1)])), [(64, 64, 1 << 16, false)]);
    // 147 packets, of which 19 are left; two PSNs more for the answer.
    let seen = job(&mut rig, [long(), write(1)]);
    assert_eq!(parts(&seen), [(128, 19, 1 << 17, false), (149, 1, 0, false)]);
    // One that just fits its visits.
    let even = || stream(2, 1 << 17, 3000);
    assert_eq!(parts(&job(&mut rig, [even()])), [(150, 64, 0, false)]);
    assert_eq!(parts(&job(&mut rig, [even()])), [(214, 64, 1 << 16, false)]);
    assert_eq!(parts(&job(&mut rig, [write(3)])), [(280, 1, 0, false)]);
}

#[test]
fn a_rewind_up_to_the_last_packet_sends_the_request_again() {
    let mut rig = Rig::new();
    let request = || stream(0, 2500, 3000);
    let (operation, words) = (WorkOp::RpcWrite as u64, said(&job(&mut rig, [request(), write(1)]))[0].2);
    for skips in 0..3 {
        rewind(&mut rig, 0, 0, skips, skips);
        rig.outcome();
        let seen = job(&mut rig, [request(), write(1)]);
        assert_eq!(parts(&seen), [(skips, 3 - skips, skips << 10, true), (5, 1, 0, true)]);
        assert_eq!(said(&seen)[0], (operation, 2500, words));
        assert!(seen.entries.is_empty(), "it is remembered as it was");
    }
}

#[test]
fn a_rewind_behind_the_last_packet_asks_for_the_rest_of_the_answer() {
    let cases = [(rpc(0, 3000), 1), (stream(0, 2500, 3000), 3), (stream(0, 0, 3000), 1)];
    for (request, packets) in cases {
        let mut rig = Rig::new();
        let target = u64::from(request.work.remote);
        job(&mut rig, [request.clone(), write(1)]);
        for skips in packets..packets + 2 {
            rewind(&mut rig, 0, 0, skips, skips);
            rig.outcome();
            let seen = job(&mut rig, [request.clone(), write(1)]);
            // What stands behind it follows as ever.
            assert_eq!(parts(&seen), [(skips, 1, 0, true), (packets + 2, 1, 0, true)]);
            assert_eq!(said(&seen)[0], (WorkOp::Rpc as u64, 0, 0), "nothing but the question");
            assert!(!seen.message[0].inline && seen.message[0].key == request.work.key);
            let asked = RpcTarget::from_address(seen.message[0].remote.into());
            assert_eq!(asked, RpcTarget { parameter_words: 0, ..RpcTarget::from_address(target) });
            assert_eq!(report(&seen), (2, false, 10));
        }
    }
}

#[test]
fn an_rpc_that_is_another_when_it_is_sent_again_fails_the_queue_pair() {
    let request = || stream(0, 2500, 3000);
    let others = [
        (stream(0, 2500, 2999), true),
        (stream(0, 3073, 3000), true),
        (stream(0, 3073, 2048), true),
        (call(WorkOp::Rpc, 0, 2500, 3000), true),
        (request(), false),
    ];
    for (other, fails) in others {
        let mut rig = Rig::new();
        job(&mut rig, [request()]);
        rewind(&mut rig, 0, 0, 0, 0);
        rig.outcome();
        let units = request().units;
        let seen = job(&mut rig, [Case { units, ..other }]);
        assert_eq!((seen.failures.len() == 1, seen.message.len() == 1), (fails, !fails));
    }
    // The result's place: its address, and its key.
    for bit in [256, 320] {
        let mut rig = Rig::new();
        job(&mut rig, [request()]);
        rewind(&mut rig, 0, 0, 4, 4);
        rig.outcome();
        let mut other = request();
        other.units[0] = other.units[0] ^ (rust_hdl::prelude::Bits::from(1) << bit);
        assert_eq!(job(&mut rig, [other]).failures.len(), 1, "bit {bit}");
    }
}
