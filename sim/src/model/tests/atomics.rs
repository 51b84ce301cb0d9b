//! Atomics: what they do, that they do it once, and how many may be under way.

use stroma_abi::Psn;
use stroma_abi::desc::Status;
use stroma_abi::desc::region::rights;
use stroma_abi::wire::{Aeth, NakCode, Syndrome, opcode};

use super::requests::Bench as Asking;
use super::responses::{ACK, Bench, INVALID, KEY, atomic, fetch_add, only, read};
use super::rig::{Pair, number, sge, work};
use crate::model::{Dropped, Operation, Packet, Work};

const START: u64 = 0x0123_4567_89ab_cdef;

fn bench() -> Bench {
    let mut bench = Bench::new();
    bench.memory.region_mut(KEY).unwrap().bytes[8..16].copy_from_slice(&START.to_le_bytes());
    bench
}

fn word(bench: &Bench) -> u64 {
    u64::from_le_bytes(bench.bytes(8, 8).try_into().unwrap())
}

/// What the request is answered with: PSN, what was there, MSN.
fn found(bench: &mut Bench, request: &Packet) -> (u32, u64, u32) {
    bench.give(request).unwrap();
    let answers = bench.answers();
    let [answer] = answers.as_slice() else { panic!("{answers:?}") };
    assert_eq!((answer.opcode, answer.syndrome()), (opcode::RC_ATOMIC_ACKNOWLEDGE, Some(ACK)));
    let original = answer.extended.atomic_ack.unwrap().original;
    (answer.psn.value(), original, answer.extended.aeth.unwrap().msn.value())
}

#[test]
fn atomics_work_on_eight_bytes_lowest_first_and_tell_what_was_there() {
    let mut bench = bench();
    let (swap, neighbours) = (opcode::RC_CMP_SWAP, [bench.bytes(0, 8).to_vec(), bench.bytes(16, 8).to_vec()]);
    assert_eq!(found(&mut bench, &fetch_add(0, 8, 1)), (0, START, 1));
    assert_eq!(found(&mut bench, &fetch_add(1, 8, u64::MAX - 1)), (1, START + 1, 2), "it wraps");
    assert_eq!(found(&mut bench, &atomic(swap, 2, 8, 77, START)), (2, START - 1, 3));
    assert_eq!(word(&bench), START - 1, "another value: no swap");
    assert_eq!(found(&mut bench, &atomic(swap, 3, 8, 77, START - 1)), (3, START - 1, 4));
    assert_eq!(word(&bench), 77);
    assert_eq!([bench.bytes(0, 8).to_vec(), bench.bytes(16, 8).to_vec()], neighbours);
}

#[test]
fn a_repeated_atomic_is_answered_as_before_and_not_applied_again() {
    let mut bench = bench();
    found(&mut bench, &fetch_add(0, 8, 5));
    found(&mut bench, &fetch_add(1, 8, 6));
    bench.ask(&only(2, 1));
    assert_eq!(found(&mut bench, &fetch_add(0, 8, 5)), (0, START, 3));
    assert_eq!(found(&mut bench, &fetch_add(1, 8, 6)), (1, START + 5, 3));
    assert_eq!(word(&bench), START + 11);
    assert_eq!(bench.give(&fetch_add(2, 8, 6)), Err(Dropped::Repeated), "that was no atomic");
    assert_eq!(bench.ask(&only(0, 1)), [(2, ACK, 3)]);
}

#[test]
fn reads_and_atomics_share_sixteen_places_and_a_seventeenth_open_one_is_invalid() {
    let mut bench = bench();
    for psn in 0..16 {
        bench.give(&if psn % 2 == 0 { fetch_add(psn, 8, 1) } else { read(psn, 8) }).unwrap();
    }
    assert_eq!(bench.answers().len(), 16);
    bench.give(&fetch_add(16, 8, 1)).unwrap();
    assert_eq!(bench.give(&fetch_add(0, 8, 1)), Err(Dropped::Repeated), "the oldest made room");
    bench.give(&read(1, 8)).unwrap();
    bench.give(&fetch_add(2, 8, 1)).unwrap();
    assert_eq!(bench.answers().len(), 3);
    for psn in 17..33 {
        bench.give(&if psn % 2 == 0 { fetch_add(psn, 8, 1) } else { read(psn, 8) }).unwrap();
    }
    let before = word(&bench);
    bench.give(&fetch_add(33, 8, 1)).unwrap();
    let answers = bench.answers();
    assert_eq!((answers.len(), answers[16].syndrome(), word(&bench)), (17, Some(INVALID), before));
}

#[test]
fn an_endpoint_that_takes_none_refuses_the_first() {
    for request in [fetch_add(0, 8, 1), read(0, 8)] {
        let mut bench = Bench::with(|settings| settings.reads_in = 0);
        assert_eq!(bench.ask(&request), [(0, INVALID, 0)]);
    }
}

#[test]
fn an_atomic_needs_the_right_of_queue_pair_and_region() {
    let mut bench = Bench::with(|settings| settings.rights &= !rights::REMOTE_ATOMIC);
    assert_eq!(bench.ask(&fetch_add(0, 8, 1)), [(0, INVALID, 0)]);
    let access = Syndrome::Nak(NakCode::RemoteAccess);
    let mut refused = self::bench();
    refused.memory.region_mut(KEY).unwrap().rights &= !rights::REMOTE_ATOMIC;
    assert_eq!(refused.ask(&fetch_add(0, 8, 1)), [(0, access, 0)]);
    assert_eq!(word(&refused), START);
    assert_eq!(Bench::new().ask(&fetch_add(0, 0x1_0000, 1)), [(0, access, 0)], "beyond the region");
}

fn acknowledge(bench: &mut Asking, psn: u32, original: u64) -> Result<(), Dropped> {
    let aeth = Aeth { syndrome: ACK.encode(), msn: Psn::new(0) };
    bench.requester.receive(0, &Packet::atomic_answer(Psn::new(psn), original, aeth), &mut bench.memory)
}

#[test]
fn the_requester_asks_with_its_operands_and_keeps_what_comes() {
    let mut bench = Asking::new();
    bench.post(1, Operation::FetchAdd(3), 8);
    bench.post(2, Operation::CompareSwap { compare: 4, swap: 5 }, 8);
    let packets: Vec<_> = std::iter::from_fn(|| bench.requester.transmit(0, &mut bench.memory)).collect();
    let operands = |packet: &Packet| {
        let atomic = packet.extended.atomic.unwrap();
        (
            packet.opcode.code,
            packet.psn.value(),
            atomic.address,
            atomic.remote_key,
            atomic.swap_add,
            atomic.compare,
        )
    };
    assert_eq!(operands(&packets[0]), (0x14, 0, 0x2000, 2, 3, 0));
    assert_eq!(operands(&packets[1]), (0x13, 1, 0x2000, 2, 5, 4));
    acknowledge(&mut bench, 0, START).unwrap();
    assert_eq!(bench.memory.region(1).unwrap().bytes[..8], START.to_le_bytes());
    assert_eq!(bench.done(), [(1, Status::Success)]);
    // An answer to the second one alone says that it arrived, and its data is missing.
    bench.answer(1, ACK).unwrap();
    assert_eq!(bench.sent(0), [(1, 0x13, true)]);
    acknowledge(&mut bench, 1, 9).unwrap();
    assert_eq!(bench.done(), [(2, Status::Success)]);
}

#[test]
fn answers_of_the_other_kind_are_bad_responses() {
    let mut bench = Asking::new();
    bench.post(1, Operation::FetchAdd(3), 8);
    bench.psns(0);
    bench.data(opcode::RC_READ_RESPONSE_ONLY, 0, 8).unwrap();
    assert_eq!(bench.done(), [(1, Status::BadResponse)]);
    for operation in [Operation::Read, Operation::Write, Operation::Send] {
        let mut bench = Asking::new();
        bench.post(1, operation, 8);
        bench.psns(0);
        acknowledge(&mut bench, 0, 9).unwrap();
        assert_eq!(bench.done(), [(1, Status::BadResponse)], "{operation:?}");
    }
}

#[test]
fn reads_and_atomics_share_the_requesters_window() {
    let mut bench = Asking::with(|settings| settings.reads_out = 2);
    bench.post(0, Operation::Read, 8);
    bench.post(1, Operation::FetchAdd(1), 8);
    bench.post(2, Operation::FetchAdd(1), 8);
    assert_eq!(bench.psns(0), [0, 1]);
    bench.data(opcode::RC_READ_RESPONSE_ONLY, 0, 8).unwrap();
    assert_eq!(bench.psns(0), [2]);
}

#[test]
fn a_fence_waits_for_reads_and_atomics_and_for_nothing_else() {
    let mut bench = Asking::new();
    let fenced = |id, operation| Work { fence: true, ..work(id, operation, 300) };
    bench.post(0, Operation::Write, 8);
    bench.requester.post(fenced(1, Operation::Send));
    assert_eq!(bench.psns(0), [0, 1, 2], "WRITEs before it do not matter");
    bench.post(2, Operation::Read, 8);
    bench.post(3, Operation::FetchAdd(1), 8);
    bench.requester.post(fenced(4, Operation::Write));
    bench.post(5, Operation::Write, 8);
    assert_eq!(bench.psns(0), [3, 4]);
    bench.answer(2, ACK).unwrap();
    bench.data(opcode::RC_READ_RESPONSE_ONLY, 3, 8).unwrap();
    assert!(bench.psns(0).is_empty());
    acknowledge(&mut bench, 4, 0).unwrap();
    assert_eq!(bench.psns(0), [5, 6, 7]);
    // What was sent once is sent again as it is.
    bench.requester.tick(100);
    assert_eq!(bench.psns(100), [5, 6, 7]);
}

#[test]
fn a_result_that_may_not_be_kept_sends_nothing() {
    let mut pair = Pair::simple();
    pair.ends[0].memory.region_mut(1).unwrap().rights = 0;
    pair.post(1, Operation::FetchAdd(1), 8);
    pair.run();
    assert_eq!(pair.ends[0].poll(number(0, 0)).unwrap().status, Status::LocalProtection);
    assert_eq!(pair.sent, [vec![], vec![]] as [Vec<Vec<u8>>; 2]);
}

#[test]
#[should_panic(expected = "an atomic has eight bytes, not 7")]
fn an_atomic_of_another_length_is_no_operation() {
    let pieces = [sge(1, 0x1000, 7)];
    Asking::new().requester.post(Work::new(1, Operation::FetchAdd(1), &pieces, 2, 0x2000));
}
