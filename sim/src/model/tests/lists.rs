//! Pieces: gathered into packets and filled from them, whatever their lengths.

use stroma_abi::desc::{Sge, Status};

use super::rig::{Pair, list, number, sge};
use crate::model::{Operation, Receive, Work};

/// Sixteen pieces of lengths around the MTU of 256, all apart, the last ones first: 1408 bytes.
fn pieces(key: u32, base: u64) -> Vec<Sge> {
    let lengths = [0, 1, 255, 256, 257, 0, 3, 100, 13, 256, 64, 7, 1, 100, 0, 95];
    lengths
        .iter()
        .zip((0..16).rev())
        .map(|(length, place)| sge(key, base + 0x200 * place + 1, *length))
        .collect()
}

/// The bytes of pieces, one behind the other.
fn gathered(pair: &Pair, end: usize, pieces: &[Sge]) -> Vec<u8> {
    let memory = &pair.ends[end].memory;
    let bytes = |piece: &Sge| {
        let region = memory.region(piece.local_key).unwrap();
        let start = usize::try_from(piece.address - region.base).unwrap();
        region.bytes[start..start + piece.length as usize].to_vec()
    };
    pieces.iter().flat_map(bytes).collect()
}

fn run(pair: &mut Pair, work: &Work) -> Status {
    pair.ends[0].post(number(0, 0), *work);
    pair.run();
    pair.ends[0].poll(number(0, 0)).unwrap().status
}

#[test]
fn pieces_are_one_run_of_bytes_in_every_operation() {
    let (near, far) = (pieces(1, 0x1000), pieces(2, 0x2000));
    let whole = [sge(2, 0x2000 + 0x4000, 1408)];
    for operation in [Operation::Write, Operation::Read, Operation::Send] {
        let mut pair = Pair::simple();
        pair.ends[1].post_receive(number(1, 0), Receive { id: 1, pieces: list(&far) });
        let untouched = [gathered(&pair, 0, &near), gathered(&pair, 1, &whole)];
        let status = run(&mut pair, &Work::new(1, operation, &near, 2, whole[0].address));
        assert_eq!(status, Status::Success, "{operation:?}");
        let expected = if operation == Operation::Read { &untouched[1] } else { &untouched[0] };
        let place = if operation == Operation::Send { &far[..] } else { &whole[..] };
        assert_eq!(gathered(&pair, 0, &near), *expected, "{operation:?}");
        assert_eq!(gathered(&pair, 1, place), *expected, "{operation:?}");
    }
}

#[test]
fn one_piece_that_is_not_allowed_fails_the_operation_when_its_turn_comes() {
    let bad = |position: usize| {
        let mut pieces = pieces(1, 0x1000);
        pieces[position].local_key = 5;
        pieces
    };
    let sent = |operation, pieces: &[Sge]| {
        let mut pair = Pair::simple();
        let status = run(&mut pair, &Work::new(1, operation, pieces, 2, 0x6000));
        (status, pair.sent[0].len())
    };
    assert_eq!(sent(Operation::Read, &bad(15)), (Status::LocalProtection, 0), "before it is asked for");
    assert_eq!(sent(Operation::Write, &bad(1)), (Status::LocalProtection, 0));
    assert_eq!(
        sent(Operation::Write, &bad(14)),
        (Status::Success, 6),
        "a piece without bytes is not looked at"
    );
}
