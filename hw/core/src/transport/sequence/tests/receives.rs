//! SEND, immediate data, and receives that are missing or recalled.

use rust_hdl::prelude::*;
use stroma_abi::desc::{Cqe, Status, WorkOp};
use stroma_abi::wire::opcode;
use stroma_abi::wire::{NakCode, Opcode, Syndrome};

use super::code;
use super::corners::{ACK, FIRST_PSN, NONE, answer, is_refused, request, reset, write};
use crate::testing::settle;
use crate::transport::records::{Arrival, Errand, List, Occasion};
use crate::transport::sequence::classify::Kind;
use crate::transport::sequence::fit::Fitting;
use crate::transport::sequence::model::Outcome;
use crate::transport::sequence::rig::{Rig, SRQ};
use crate::transport::sequence::standing::Standing;

/// Index of queue pair 1's first receive, as the world counts.
const FIRST: u64 = 0xfffd + 64 - (1 << 16);
/// Of the SRQ's.
const FIRST_SHARED: u64 = 0xfffd + 64 * SRQ - (1 << 16);
const RECEIVE: u64 = 1 << Cqe::RECEIVE.bit;
const IMMEDIATE: u64 = 1 << Cqe::HAS_IMMEDIATE.bit;
const SOLICITED: u64 = 1 << Cqe::SOLICITED.bit;

fn send(op: Opcode, behind: u64, payload: u64) -> Arrival {
    let imm = 0xdead_beef_u64;
    Arrival { imm: imm.into(), receive_cq: 9_u64.into(), ..request(op, FIRST_PSN + behind, 0, payload) }
}

fn recall() -> Arrival {
    Arrival { occasion: (Occasion::Recall as u64).into(), ..send(opcode::RC_SEND_FIRST, 0, 0) }
}

fn shared(arrival: &Arrival) -> Arrival {
    Arrival { has_srq: true, srq: SRQ.into(), ..*arrival }
}

/// A rig with receives of queue pair 1.
fn stocked(count: u64) -> Rig {
    let mut rig = Rig::new();
    rig.world.post(false, 1, count);
    rig
}

/// Where the payload goes: list, index, offset, bytes.
fn place(errand: &Errand) -> (u64, u64, u64, u64) {
    assert_eq!((errand.places, errand.span), (true, u64::from(errand.payload_len).into()));
    (errand.list.into(), errand.index.into(), errand.offset.into(), errand.span.into())
}

/// Index, op-code, flags, length, status.
fn completion(errand: &Errand) -> Option<(u64, u64, u64, u64, u64)> {
    assert!(!errand.completes || u64::from(errand.cq) == 9);
    let told = (errand.index, errand.opcode, errand.flags, errand.length, errand.status);
    errand.completes.then(|| (told.0.into(), told.1.into(), told.2.into(), told.3.into(), told.4.into()))
}

fn syndrome(outcome: &Outcome) -> Syndrome {
    Syndrome::decode(u8::try_from(u64::from(outcome.errand.syndrome)).expect("eight bits"))
}

const OWN: u64 = List::Receive as u64;

#[test]
fn a_send_fills_one_receive_and_completes_it() {
    let mut rig = stocked(2);
    let first = rig.judge(&send(opcode::RC_SEND_FIRST, 0, 256));
    let middle = rig.judge(&send(opcode::RC_SEND_MIDDLE, 1, 256));
    let last = Arrival { ackreq: true, solicited: true, ..send(opcode::RC_SEND_LAST_IMM, 2, 88) };
    let last = rig.judge(&last);
    assert_eq!([first, middle, last].map(|outcome| outcome.takes), [true, false, false]);
    let places = [first, middle, last].map(|outcome| place(&outcome.errand));
    assert_eq!(places, [(OWN, FIRST, 0, 256), (OWN, FIRST, 256, 256), (OWN, FIRST, 512, 88)]);
    assert_eq!([first, middle].map(|outcome| outcome.errand.completes), [false, false]);
    let flags = RECEIVE | IMMEDIATE | SOLICITED;
    assert_eq!(completion(&last.errand), Some((FIRST, WorkOp::SendImm as u64, flags, 600, 0)));
    assert_eq!(u64::from(last.errand.detail), 0xdead_beef);
    assert_eq!(answer(&last), (ACK, 0, 1, true));
    // The next takes the next.
    let only = rig.judge(&send(opcode::RC_SEND_ONLY, 3, 10));
    assert_eq!(place(&only.errand), (OWN, FIRST + 1, 0, 10));
    assert_eq!(completion(&only.errand), Some((FIRST + 1, WorkOp::Send as u64, RECEIVE, 10, 0)));
}

#[test]
fn a_send_of_nothing_completes_a_receive_and_places_nothing() {
    let mut rig = stocked(1);
    let errand = rig.judge(&send(opcode::RC_SEND_ONLY, 0, 0)).errand;
    assert_eq!((errand.places, u64::from(errand.list), errand.span.index()), (false, 0, 0));
    assert_eq!(completion(&errand), Some((FIRST, WorkOp::Send as u64, RECEIVE, 0, 0)));
}

#[test]
fn queue_pairs_with_an_srq_take_from_it() {
    let mut rig = Rig::new();
    rig.world.post(true, SRQ, 2);
    let one = rig.judge(&shared(&send(opcode::RC_SEND_ONLY, 0, 9))).errand;
    assert_eq!(place(&one), (List::Shared as u64, FIRST_SHARED, 0, 9));
    assert_eq!(u64::from(one.srq), SRQ);
    let other = Arrival { qpn: 3_u64.into(), ..shared(&send(opcode::RC_SEND_ONLY, 0, 9)) };
    assert_eq!(place(&rig.judge(&other).errand).1, FIRST_SHARED + 1);
    assert!(rig.judge(&shared(&send(opcode::RC_SEND_ONLY, 1, 9))).rnr);
}

#[test]
fn the_end_of_a_write_with_immediate_data_takes_a_receive() {
    let mut rig = stocked(2);
    let first = rig.judge(&request(opcode::RC_WRITE_FIRST, FIRST_PSN, 600, 256));
    let middle = rig.judge(&request(opcode::RC_WRITE_MIDDLE, FIRST_PSN + 1, 0, 256));
    let last = rig.judge(&send(opcode::RC_WRITE_LAST_IMM, 2, 88));
    assert_eq!([first, middle, last].map(|outcome| outcome.takes), [false, false, true]);
    let errand = last.errand;
    let range = (u64::from(errand.list), u64::from(errand.va), u64::from(errand.key), u64::from(errand.span));
    assert_eq!(range, (0, 0x1200, 0x77, 88));
    let flags = RECEIVE | IMMEDIATE;
    assert_eq!(completion(&errand), Some((FIRST, WorkOp::WriteImm as u64, flags, 600, 0)));
    let only = Arrival { len: 0_u64.into(), ..send(opcode::RC_WRITE_ONLY_IMM, 3, 0) };
    let errand = rig.judge(&only).errand;
    assert_eq!(completion(&errand), Some((FIRST + 1, WorkOp::WriteImm as u64, flags, 0, 0)));
    assert!(!errand.places);
}

#[test]
fn without_a_receive_the_peer_is_told_to_come_again_later() {
    let mut rig = Rig::new();
    let early = Arrival { min_rnr: 13_u64.into(), ..send(opcode::RC_SEND_ONLY, 0, 8) };
    for _ in 0..2 {
        let outcome = rig.judge(&early);
        assert_eq!(
            (outcome.rnr, outcome.nak, outcome.takes, outcome.errand.places),
            (true, false, false, false)
        );
        assert_eq!((answer(&outcome), outcome.errand.fails), ((ACK, FIRST_PSN, 0, false), false));
        assert_eq!(syndrome(&outcome), Syndrome::RnrNak { timer: 13 });
        // What follows it is a gap that the peer knows of.
        let behind = rig.judge(&send(opcode::RC_SEND_ONLY, 1, 8));
        assert_eq!((u64::from(behind.errand.answer), behind.nak), (NONE, false));
    }
    rig.world.post(false, 1, 1);
    assert!(rig.judge(&early).errand.completes);
    // That is over: the next gap is news.
    assert!(rig.judge(&send(opcode::RC_SEND_ONLY, 2, 8)).nak);
}

#[test]
fn a_write_with_immediate_data_waits_for_a_receive_where_it_stands() {
    let mut rig = Rig::new();
    rig.judge(&request(opcode::RC_WRITE_FIRST, FIRST_PSN, 300, 256));
    let last = send(opcode::RC_WRITE_LAST_IMM, 1, 44);
    assert!(rig.judge(&last).rnr);
    rig.world.post(false, 1, 1);
    let outcome = rig.judge(&last);
    assert_eq!(
        (outcome.takes, u64::from(outcome.errand.va), u64::from(outcome.errand.length)),
        (true, 0x1100, 300)
    );
}

#[test]
fn a_send_that_comes_again_is_acknowledged_and_takes_nothing() {
    let mut rig = stocked(3);
    rig.judge(&send(opcode::RC_SEND_ONLY, 0, 8));
    rig.judge(&send(opcode::RC_SEND_ONLY, 1, 8));
    let again = rig.judge(&send(opcode::RC_SEND_ONLY, 0, 8));
    assert_eq!((again.duplicate, again.takes, again.errand.completes), (true, false, false));
    assert_eq!(answer(&again), (ACK, FIRST_PSN + 1, 2, false));
}

#[test]
fn what_breaks_the_rules_of_send_is_refused_before_a_receive_is_missed() {
    let mut rig = Rig::new();
    for (what, wrong) in [
        ("a middle without a message", send(opcode::RC_SEND_MIDDLE, 0, 256)),
        ("a last without a message", send(opcode::RC_SEND_LAST, 0, 8)),
        ("a first that is not full", send(opcode::RC_SEND_FIRST, 0, 255)),
        ("a first that is too full", send(opcode::RC_SEND_FIRST, 0, 257)),
        ("an only beyond the MTU", send(opcode::RC_SEND_ONLY, 0, 257)),
        (
            "immediate data without the right",
            Arrival { rights: 0_u64.into(), ..send(opcode::RC_WRITE_ONLY_IMM, 0, 0) },
        ),
    ] {
        assert!(is_refused(&mut rig, &wrong), "{what}");
        reset(&mut rig);
    }
}

#[test]
fn within_a_send_nothing_else_comes_and_its_receive_can_be_recalled() {
    let mut rig = Rig::new();
    for wrong in [
        send(opcode::RC_SEND_FIRST, 1, 256),
        send(opcode::RC_SEND_ONLY, 1, 8),
        send(opcode::RC_SEND_LAST, 1, 0),
        send(opcode::RC_SEND_LAST, 1, 257),
        send(opcode::RC_SEND_MIDDLE, 1, 255),
        request(opcode::RC_WRITE_LAST, FIRST_PSN + 1, 0, 8),
        request(opcode::RC_WRITE_MIDDLE, FIRST_PSN + 1, 0, 256),
        request(opcode::RC_READ_REQUEST, FIRST_PSN + 1, 8, 0),
        request(opcode::RC_FETCH_ADD, FIRST_PSN + 1, 0, 0),
        write(FIRST_PSN + 1, 8),
    ] {
        rig.world.post(false, 1, 1);
        let index = u64::from(rig.judge(&send(opcode::RC_SEND_FIRST, 0, 256)).errand.index);
        assert!(is_refused(&mut rig, &wrong), "{wrong:?}");
        let told = completion(&rig.judge(&recall()).errand);
        assert_eq!(told, Some((index, WorkOp::Send as u64, RECEIVE, 0, Status::Flushed as u64)));
        reset(&mut rig);
    }
    // Nor does a SEND go on where a WRITE has begun.
    for wrong in [send(opcode::RC_SEND_MIDDLE, 1, 256), send(opcode::RC_SEND_LAST, 1, 88)] {
        rig.judge(&request(opcode::RC_WRITE_FIRST, FIRST_PSN, 600, 256));
        assert!(is_refused(&mut rig, &wrong), "{wrong:?}");
        reset(&mut rig);
    }
}

#[test]
fn a_send_has_at_most_two_gib() {
    let mut fitting = Fitting::default();
    fitting.connect_all();
    let mut may_come = |op: Opcode, kind: Kind, received: u64, payload: u64| {
        fitting.arrival.next = send(op, 1, payload);
        fitting.kind.next = Kind { is_send: true, ..kind };
        fitting.standing.next =
            Standing { started: true, in_send: true, received: received.into(), ..Standing::default() };
        settle(&mut fitting);
        fitting.fit.val().keeps_rules
    };
    let (goes_on, ends) = (Kind::default(), Kind { ends: true, ..Kind::default() });
    let most = 1 << 31;
    assert!(may_come(opcode::RC_SEND_LAST, ends, most - 1, 1));
    assert!(!may_come(opcode::RC_SEND_LAST, ends, most - 1, 2));
    assert!(!may_come(opcode::RC_SEND_LAST, ends, most, 1));
    assert!(may_come(opcode::RC_SEND_MIDDLE, goes_on, most - 256, 256));
    assert!(!may_come(opcode::RC_SEND_MIDDLE, goes_on, most - 255, 256));
    assert!(!may_come(opcode::RC_SEND_MIDDLE, goes_on, most, 256));
}

#[test]
fn recalls_give_up_one_receive_each_and_end_everything() {
    let mut rig = stocked(3);
    rig.judge(&send(opcode::RC_SEND_FIRST, 0, 256));
    for (at, takes) in [(0, false), (1, true), (2, true)] {
        let outcome = rig.judge(&recall());
        assert_eq!((outcome.takes, outcome.errand.fails, outcome.errand.last_receive), (takes, false, false));
        let flushed = (FIRST + at, WorkOp::Send as u64, RECEIVE, 0, Status::Flushed as u64);
        assert_eq!(completion(&outcome.errand), Some(flushed));
        assert_eq!((u64::from(outcome.errand.answer), outcome.errand.list.index()), (NONE, 0));
    }
    let empty = rig.judge(&recall());
    assert_eq!((empty.takes, empty.errand.completes, empty.errand.ends), (false, false, true));
    let late = rig.judge(&send(opcode::RC_SEND_MIDDLE, 1, 256));
    assert_eq!((u64::from(late.errand.answer), late.errand.places, late.nak), (NONE, false, false));
    // More may be posted to a queue pair in error.
    rig.world.post(false, 1, 1);
    assert!(rig.judge(&recall()).errand.completes);
}

#[test]
fn the_first_recall_tells_that_no_receive_of_an_srq_comes_back() {
    for begun in [false, true] {
        let mut rig = Rig::new();
        rig.world.post(true, SRQ, 3);
        if begun {
            rig.judge(&shared(&send(opcode::RC_SEND_FIRST, 0, 256)));
        }
        let first = rig.judge(&shared(&recall()));
        assert_eq!((first.errand.completes, first.takes, first.errand.last_receive), (begun, false, true));
        let second = rig.judge(&shared(&recall())).errand;
        assert_eq!((second.completes, second.last_receive, second.ends), (false, false, true));
        // A new life tells it again.
        reset(&mut rig);
        assert!(rig.judge(&shared(&recall())).errand.last_receive);
    }
}

#[test]
fn a_recall_is_no_request_whatever_comes_next() {
    // Its PSN is zero, and so is the next request's: its op-code, zero, would be a SEND's.
    let mut rig = stocked(2);
    let recall =
        Arrival { receive_psn: 0_u64.into(), psn: 0_u64.into(), payload_len: 0_u64.into(), ..recall() };
    let outcome = rig.judge(&recall);
    assert_eq!((outcome.nak, outcome.errand.fails, outcome.duplicate), (false, false, false));
    assert_eq!(u64::from(outcome.errand.status), Status::Flushed as u64);
}

#[test]
fn a_missing_receive_is_told_after_a_gap_was() {
    let mut rig = Rig::new();
    let gap = rig.judge(&send(opcode::RC_SEND_ONLY, 1, 8));
    assert_eq!((gap.nak, syndrome(&gap)), (true, Syndrome::Nak(NakCode::PsnSequence)));
    assert!(rig.judge(&send(opcode::RC_SEND_ONLY, 0, 8)).rnr);
    let op = code(opcode::RC_SEND_ONLY_IMM);
    assert!(rig.judge(&Arrival { op, ..send(opcode::RC_SEND_ONLY, 0, 8) }).rnr);
}
