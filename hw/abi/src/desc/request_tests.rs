//! Round trips of every kind of request, and refusals.

use std::vec::Vec;

use proptest::prelude::*;

use super::*;

fn any_sge() -> impl Strategy<Value = Sge> {
    any::<(u64, u32, u16)>().prop_map(|(address, local_key, length)| Sge {
        address,
        local_key,
        length: length.into(),
    })
}

/// 16 entries of no bytes cannot be said, so one of them always holds some.
fn any_list() -> impl Strategy<Value = SgeList> {
    prop::collection::vec(any_sge(), 0..=SGE_MAX).prop_map(|mut pieces| {
        if let Some(first) = pieces.first_mut() {
            first.length += 1;
        }
        SgeList::new(&pieces).unwrap()
    })
}

/// An operation with a body of its own kind; `data` stands for inline payload and parameters.
fn any_body(data: &[u8]) -> impl Strategy<Value = (WorkOp, Body<'_>)> {
    let parameters = Parameters::new(&data[..data.len().min(PARAMETERS_MAX) / 4 * 4]).unwrap();
    prop_oneof![
        Just((WorkOp::Nop, Body::Nop)),
        any_list().prop_map(|list| (WorkOp::Write, Body::Gather(list))),
        any_list().prop_map(|list| (WorkOp::Read, Body::Gather(list))),
        Just((WorkOp::SendImm, Body::Inline(data))),
        (any_sge(), any::<(u64, u64)>()).prop_map(|(result, (swap_add, compare))| {
            (WorkOp::CmpSwap, Body::Atomic { operands: AtomicOperands { swap_add, compare }, result })
        }),
        any_sge().prop_map(move |result| (WorkOp::Rpc, Body::Rpc { result, parameters })),
        (any_sge(), any_list())
            .prop_map(|(result, payload)| (WorkOp::RpcWrite, Body::RpcWrite { result, payload })),
    ]
}

const DATA: &[u8] = &{
    let mut data = [0; 480];
    let mut index = 0;
    while index < data.len() {
        data[index] = (index * 7 + 1).to_le_bytes()[0];
        index += 1;
    }
    data
};

fn any_request() -> impl Strategy<Value = (WqeHead, Body<'static>)> {
    let body = (0..=DATA.len()).prop_flat_map(|len| any_body(&DATA[..len]));
    (body, any::<[u8; WqeHead::LEN]>()).prop_map(|((op, body), noise)| {
        (WqeHead { opcode: op as u8, ..WqeHead::parse(&noise).unwrap() }, body)
    })
}

proptest! {
    #[test]
    fn every_request_comes_back_as_it_was((head, body) in any_request()) {
        let request = Wqe::new(head, body).unwrap();
        let mut bytes = [0xa5; UNITS_MAX * UNIT];
        let len = request.encode(&mut bytes).unwrap();
        prop_assert_eq!(len, request.encoded_len());
        prop_assert!(bytes[len..].iter().all(|byte| *byte == 0xa5));
        prop_assert_eq!(Wqe::decode(&bytes), Ok(request));
    }

    #[test]
    fn any_bytes_decode_to_a_request_or_an_error(mut bytes in prop::collection::vec(any::<u8>(), 0..600), op in 0..16_u8) {
        if let Some(first) = bytes.first_mut() {
            *first = op;
        }
        if let Ok(request) = Wqe::decode(&bytes) {
            let mut again = [0; UNITS_MAX * UNIT];
            request.encode(&mut again).unwrap();
            prop_assert_eq!(Wqe::decode(&again), Ok(request));
        }
    }
}

fn head(op: WorkOp) -> WqeHead {
    WqeHead { opcode: op as u8, ..WqeHead::default() }
}

fn pieces(count: usize, length: u32) -> SgeList {
    let piece = Sge { length, ..Sge::default() };
    SgeList::new(&std::vec![piece; count]).unwrap()
}

#[test]
fn a_write_of_two_pieces_fills_one_unit_and_of_three_two() {
    let units = |count| Wqe::new(head(WorkOp::Write), Body::Gather(pieces(count, 8))).unwrap().head().units;
    assert_eq!((units(2), units(3), units(6), units(7)), (1, 2, 2, 3));
}

#[test]
fn sixteen_pieces_are_counted_as_zero() {
    let request = Wqe::new(head(WorkOp::Write), Body::Gather(pieces(16, 1))).unwrap();
    assert_eq!((request.head().sge_count, request.head().length), (0, 16));
    let refused = Wqe::new(head(WorkOp::Write), Body::Gather(pieces(16, 0)));
    assert_eq!(refused, Err(WqeError::SgeCount));
}

#[test]
fn a_body_of_another_operation_is_refused() {
    let refused = Wqe::new(head(WorkOp::Read), Body::Inline(b"data"));
    assert_eq!(refused, Err(WqeError::WrongBody { op: WorkOp::Read }));
    let mut bytes = [0; UNIT];
    WqeHead { units: 1, inline: true, sge_count: 1, ..head(WorkOp::Read) }.emit(&mut bytes);
    assert_eq!(Wqe::decode(&bytes), Err(WqeError::WrongBody { op: WorkOp::Read }));
}

#[test]
fn a_body_beyond_eight_units_is_refused() {
    let refused = Wqe::new(head(WorkOp::Send), Body::Inline(&[0; 481]));
    assert_eq!(refused, Err(WqeError::Units { need: 9, have: 8 }));
}

#[test]
fn a_head_that_promises_more_than_its_units_hold_is_refused() {
    let mut bytes = [0; UNITS_MAX * UNIT];
    WqeHead { units: 1, inline: true, length: 33, ..head(WorkOp::Send) }.emit(&mut bytes);
    assert_eq!(Wqe::decode(&bytes), Err(WqeError::Units { need: 2, have: 1 }));
    WqeHead { units: 2, inline: true, length: 33, ..head(WorkOp::Send) }.emit(&mut bytes);
    assert!(Wqe::decode(&bytes).is_ok());
    WqeHead { units: 9, ..head(WorkOp::Nop) }.emit(&mut bytes);
    assert_eq!(Wqe::decode(&bytes), Err(WqeError::Units { need: 9, have: 8 }));
}

#[test]
fn a_length_that_contradicts_the_pieces_is_refused() {
    let request = Wqe::new(head(WorkOp::Write), Body::Gather(pieces(2, 8))).unwrap();
    let mut bytes: Vec<u8> = std::vec![0; UNIT];
    request.encode(&mut bytes).unwrap();
    WqeHead::LENGTH.set(&mut bytes, 15_u32);
    assert_eq!(Wqe::decode(&bytes), Err(WqeError::Length { length: 15, body: 16 }));
}

#[test]
fn bytes_that_end_too_early_are_refused() {
    let request = Wqe::new(head(WorkOp::Write), Body::Gather(pieces(3, 8))).unwrap();
    let mut bytes = [0; 2 * UNIT];
    assert_eq!(request.encode(&mut bytes[..127]), Err(WqeError::Short { need: 128, have: 127 }));
    request.encode(&mut bytes).unwrap();
    assert_eq!(Wqe::decode(&bytes[..127]), Err(WqeError::Short { need: 128, have: 127 }));
    assert_eq!(Wqe::decode(&bytes[..31]), Err(WqeError::Short { need: 64, have: 31 }));
}
