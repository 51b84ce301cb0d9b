//! Messages into receives: where their bytes go, what their completions tell, and what becomes of receives that are no good.

use stroma_abi::desc::{Status, WorkOp};
use stroma_abi::wire::{NakCode, Syndrome, opcode};

use super::responses::{ACK, BASE, Bench, IMMEDIATE, INVALID, KEY, only, request};
use super::rig::{Pair, list, number, region, settings, sge};
use crate::model::{Operation, Packet, Receive, ReceiveQueue, Received, Responder, Work};

fn done(id: u64, operation: WorkOp, bytes: u32, immediate: Option<u32>) -> Received {
    let (status, invalidated) = (Status::Success, None);
    Received { id, status, operation, bytes, immediate, invalidated, solicited: false, source: None }
}

/// A packet of a SEND whose bytes count up from `from`.
fn send(row: stroma_abi::wire::Opcode, psn: u32, from: u8, length: u8) -> Packet {
    let payload = (0..length).map(|index| from.wrapping_add(index)).collect();
    Packet { payload, ..request(row, psn, 0, 0) }
}

#[test]
fn a_message_fills_the_pieces_of_the_oldest_receive_in_order() {
    let mut bench = Bench::new();
    let before = bench.bytes(0, 0x1000).to_vec();
    bench.post(1, &[(0x800, 100), (0, 0), (0x100, 300), (0x400, 400)]);
    bench.post(2, &[(0xc00, 1)]);
    assert_eq!(bench.ask(&request(opcode::RC_SEND_FIRST, 0, 0, 256)), [(0, ACK, 0)]);
    assert_eq!(bench.received(), [], "not before its end");
    assert_eq!(bench.ask(&request(opcode::RC_SEND_MIDDLE, 1, 0, 256)), [(1, ACK, 0)]);
    assert_eq!(bench.ask(&send(opcode::RC_SEND_LAST_IMM, 2, 7, 88)), [(2, ACK, 1)]);
    assert_eq!(bench.received(), [done(1, WorkOp::SendImm, 600, Some(IMMEDIATE))]);
    // 512 bytes of 0xa5 and 88 that count: 100 + 300 + 112 of the first kind.
    let mut expected = before;
    expected[0x800..0x800 + 100].fill(0xa5);
    expected[0x100..0x100 + 300].fill(0xa5);
    expected[0x400..0x400 + 112].fill(0xa5);
    (0..88_u8).for_each(|index| expected[0x400 + 112 + usize::from(index)] = 7 + index);
    assert!(bench.bytes(0, 0x1000) == expected);
    bench.ask(&Packet { solicited: true, ..request(opcode::RC_SEND_ONLY, 3, 0, 1) });
    assert_eq!(bench.received(), [Received { solicited: true, ..done(2, WorkOp::Send, 1, None) }]);
}

#[test]
fn a_write_with_immediate_data_takes_a_receive_at_its_end_and_leaves_it_as_it_is() {
    let mut bench = Bench::new();
    bench.post(1, &[(0x1000, 8)]);
    bench.post(2, &[]);
    let before = bench.bytes(0x1000, 8).to_vec();
    bench.ask(&request(opcode::RC_WRITE_FIRST, 0, 300, 256));
    assert_eq!(bench.received(), []);
    assert_eq!(bench.ask(&request(opcode::RC_WRITE_LAST_IMM, 1, 0, 44)), [(1, ACK, 1)]);
    bench.ask(&request(opcode::RC_WRITE_ONLY_IMM, 2, 0, 0));
    let imm = Some(IMMEDIATE);
    assert_eq!(bench.received(), [done(1, WorkOp::WriteImm, 300, imm), done(2, WorkOp::WriteImm, 0, imm)]);
    assert_eq!((bench.bytes(0, 300), bench.bytes(0x1000, 8)), (&[0xa5; 300][..], &before[..]));
}

#[test]
fn a_message_without_bytes_takes_a_receive_and_looks_at_no_piece() {
    let mut bench = Bench::new();
    bench.responder.post_receive(Receive { id: 1, pieces: list(&[sge(77, 0, 5)]) });
    bench.responder.post_receive(Receive { id: 2, pieces: list(&[]) });
    bench.ask(&request(opcode::RC_SEND_ONLY, 0, 0, 0));
    bench.ask(&request(opcode::RC_SEND_ONLY_IMM, 1, 0, 0));
    let imm = Some(IMMEDIATE);
    assert_eq!(bench.received(), [done(1, WorkOp::Send, 0, None), done(2, WorkOp::SendImm, 0, imm)]);
}

#[test]
fn a_repeated_message_takes_no_second_receive() {
    let mut bench = Bench::new();
    bench.post(1, &[(0, 8)]);
    bench.post(2, &[(8, 8)]);
    bench.ask(&request(opcode::RC_SEND_ONLY, 0, 0, 8));
    bench.received();
    assert_eq!(bench.ask(&request(opcode::RC_SEND_ONLY, 0, 0, 8)), [(0, ACK, 1)]);
    assert_eq!(bench.received(), []);
    bench.ask(&request(opcode::RC_SEND_ONLY, 1, 0, 8));
    assert_eq!(bench.received()[0].id, 2);
}

#[test]
fn a_message_longer_than_its_receive_ends_both() {
    let short = |pieces: &[(u64, u32)], packets: &[Packet]| {
        let mut bench = Bench::new();
        bench.post(1, pieces);
        bench.post(2, &[(0, 8)]);
        let (last, before) = packets.split_last().unwrap();
        for packet in before {
            bench.give(packet).unwrap();
        }
        bench.answers();
        assert_eq!(bench.ask(last), [(last.psn.value(), INVALID, 0)]);
        let expected = [Received::failed(1, Status::LocalLength), Received::failed(2, Status::Flushed)];
        assert_eq!(bench.received(), expected);
    };
    short(&[(0, 7)], &[request(opcode::RC_SEND_ONLY, 0, 0, 8)]);
    short(&[], &[request(opcode::RC_SEND_ONLY, 0, 0, 1)]);
    let first = request(opcode::RC_SEND_FIRST, 0, 0, 256);
    short(&[(0, 200), (0x400, 99)], &[first, request(opcode::RC_SEND_LAST, 1, 0, 44)]);
}

#[test]
fn a_receive_that_may_not_be_written_ends_the_connection_as_the_receivers_fault() {
    let mut bench = Bench::new();
    let refused = list(&[sge(KEY, BASE, 4), sge(KEY + 1, BASE, 4)]);
    bench.responder.post_receive(Receive { id: 1, pieces: refused });
    let before = bench.bytes(0, 8).to_vec();
    let answer = bench.ask(&request(opcode::RC_SEND_ONLY, 0, 0, 8));
    assert_eq!(answer, [(0, Syndrome::Nak(NakCode::RemoteOperational), 0)]);
    assert_eq!(bench.received(), [Received::failed(1, Status::LocalProtection)]);
    assert_eq!(bench.bytes(0, 8), before, "no piece is written");
    // The refused piece is no matter to a message that ends before it.
    let mut bench = Bench::new();
    bench.responder.post_receive(Receive { id: 1, pieces: refused });
    assert_eq!(bench.ask(&request(opcode::RC_SEND_ONLY, 0, 0, 4)), [(0, ACK, 1)]);
}

#[test]
fn an_error_flushes_the_receive_in_use_first_and_later_posts_at_once() {
    let mut bench = Bench::new();
    (1..4).for_each(|id| bench.post(id, &[(0, 600)]));
    bench.ask(&request(opcode::RC_SEND_FIRST, 0, 0, 256));
    bench.ask(&only(1, 8));
    bench.post(4, &[]);
    let flushed: Vec<_> = (1..5).map(|id| Received::failed(id, Status::Flushed)).collect();
    assert_eq!(bench.received(), flushed);
}

#[test]
fn a_failed_request_of_the_same_queue_pair_flushes_receives_too() {
    let mut pair = Pair::simple();
    pair.ends[0].post_receive(number(0, 0), Receive { id: 5, pieces: list(&[]) });
    pair.ends[0].post(number(0, 0), Work::new(1, Operation::Write, &[sge(1, 0x1000, 8)], 9, 0x2000));
    pair.run();
    assert_eq!(pair.ends[0].poll(number(0, 0)).unwrap().status, Status::RemoteAccess);
    assert_eq!(pair.ends[0].poll_receive(number(0, 0)), Some(Received::failed(5, Status::Flushed)));
}

#[test]
fn queue_pairs_that_share_a_queue_take_in_turn_and_leave_the_rest_to_each_other() {
    let queue = ReceiveQueue::new(3);
    let mut memory = crate::model::Memory::default();
    memory.register(KEY, crate::model::Region { domain: 3, ..region(BASE, 0x1000, 0) });
    let settings = crate::model::Settings { receive_psn: stroma_abi::Psn::new(0), ..settings(1, 0, 256) };
    let mut responders = [Responder::sharing(&settings, &queue), Responder::sharing(&settings, &queue)];
    for id in 0..4_u8 {
        let at = BASE + 0x100 * u64::from(id);
        queue.post(Receive { id: id.into(), pieces: list(&[sge(KEY, at, 300)]) });
    }
    // The first one begins a long message, the second has a short one meanwhile, out of a region of the queue's domain.
    responders[0].receive(&request(opcode::RC_SEND_FIRST, 0, 0, 256), &mut memory).unwrap();
    responders[1].receive(&send(opcode::RC_SEND_ONLY, 0, 1, 3), &mut memory).unwrap();
    assert_eq!(memory.region(KEY).unwrap().bytes[0x100..0x103], [1, 2, 3]);
    assert_eq!(responders[1].poll_receive(), Some(done(1, WorkOp::Send, 3, None)));
    responders[0].receive(&request(opcode::RC_SEND_LAST, 1, 0, 4), &mut memory).unwrap();
    assert_eq!(responders[0].poll_receive(), Some(done(0, WorkOp::Send, 260, None)));
    // One fails while it holds a receive: that one is flushed, the fourth is left.
    responders[0].receive(&request(opcode::RC_SEND_FIRST, 2, 0, 256), &mut memory).unwrap();
    responders[0].halt();
    assert_eq!(responders[0].poll_receive(), Some(Received::failed(2, Status::Flushed)));
    assert_eq!((responders[0].poll_receive(), queue.len()), (None, 1));
    responders[1].receive(&request(opcode::RC_SEND_ONLY, 1, 0, 0), &mut memory).unwrap();
    assert_eq!(
        (responders[1].poll_receive(), queue.is_empty()),
        (Some(done(3, WorkOp::Send, 0, None)), true)
    );
}
