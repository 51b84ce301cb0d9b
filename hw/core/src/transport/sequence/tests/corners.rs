//! Corners of the sequence, each thought out.

use stroma_abi::desc::Status;
use stroma_abi::desc::region::rights;
use stroma_abi::wire::{NakCode, Opcode, Syndrome, opcode};

use super::code;
use crate::host::work::QpChange;
use crate::transport::records::{Answer, Arrival};
use crate::transport::sequence::model::Outcome;
use crate::transport::sequence::rig::Rig;

pub(super) const FIRST_PSN: u64 = 0xff_fffe;

/// A request of queue pair 1, whose path MTU is 256.
pub(super) fn request(op: Opcode, psn: u64, length: u64, payload: u64) -> Arrival {
    Arrival {
        qpn: 1_u64.into(),
        op: code(op),
        psn: (psn % (1 << 24)).into(),
        va: 0x1000_u64.into(),
        rkey: 0x77_u64.into(),
        len: length.into(),
        payload_len: payload.into(),
        path_mtu: 1_u64.into(),
        rights: u64::from(rights::REMOTE_WRITE | rights::REMOTE_READ | rights::REMOTE_ATOMIC).into(),
        reads_in: 16_u64.into(),
        receive_psn: FIRST_PSN.into(),
        ..Arrival::default()
    }
}

pub(super) fn write(psn: u64, length: u64) -> Arrival {
    request(opcode::RC_WRITE_ONLY, psn, length, length)
}

pub(super) fn read(psn: u64, length: u64) -> Arrival {
    request(opcode::RC_READ_REQUEST, psn, length, 0)
}

/// Answer, PSN, MSN, and whether the message counts.
pub(super) fn answer(outcome: &Outcome) -> (u64, u64, u64, bool) {
    let errand = outcome.errand;
    (errand.answer.into(), errand.psn.into(), errand.msn.into(), errand.counts)
}

pub(super) const NONE: u64 = Answer::None as u64;
pub(super) const ACK: u64 = Answer::Acknowledge as u64;
pub(super) const DATA: u64 = Answer::Data as u64;

/// Is it refused as invalid, does its payload go nowhere, and is all that follows thrown away?
pub(super) fn is_refused(rig: &mut Rig, arrival: &Arrival) -> bool {
    let outcome = rig.judge(arrival);
    let errand = outcome.errand;
    if !errand.fails {
        return false;
    }
    assert_eq!((errand.places, errand.span.index(), errand.completes), (false, 0, false));
    assert_eq!((u64::from(errand.answer), errand.psn), (ACK, arrival.psn));
    assert_eq!(u64::from(errand.syndrome), u64::from(Syndrome::Nak(NakCode::InvalidRequest).encode()));
    assert_eq!(u64::from(errand.status), Status::RemoteInvalid as u64);
    let next = rig.judge(&write(arrival.psn.into(), 1));
    assert_eq!((u64::from(next.errand.answer), next.errand.places, next.nak), (NONE, false, false));
    assert!(next.unwanted, "and counted");
    true
}

pub(super) fn reset(rig: &mut Rig) {
    rig.send_changes(&[QpChange { qpn: 1_u64.into(), resets: true, ..QpChange::default() }]);
    rig.settle();
}

#[test]
fn a_message_goes_to_one_place_after_the_other_and_its_numbers_wrap() {
    let mut rig = Rig::new();
    let first = rig.judge(&request(opcode::RC_WRITE_FIRST, FIRST_PSN, 600, 256)).errand;
    let middle = Arrival { va: 0_u64.into(), rkey: 0_u64.into(), len: 0_u64.into(), ..first_like(1, 256) };
    let middle = rig.judge(&Arrival { op: code(opcode::RC_WRITE_MIDDLE), ..middle }).errand;
    let last = Arrival { ackreq: true, op: code(opcode::RC_WRITE_LAST), ..first_like(2, 88) };
    let last = rig.judge(&last);
    let places = [first, middle, last.errand]
        .map(|errand| (errand.places, u64::from(errand.va), u64::from(errand.key), u64::from(errand.span)));
    assert_eq!(places, [(true, 0x1000, 0x77, 600), (true, 0x1100, 0x77, 256), (true, 0x1200, 0x77, 88)]);
    assert_eq!(answer(&last), (ACK, 0, 1, true));
    assert_eq!((u64::from(first.answer), first.counts), (NONE, false));
    assert_eq!(u64::from(last.errand.need), u64::from(rights::REMOTE_WRITE));
}

/// A packet behind the first, with a payload of so many bytes.
fn first_like(behind: u64, payload: u64) -> Arrival {
    request(opcode::RC_WRITE_MIDDLE, FIRST_PSN + behind, 0, payload)
}

#[test]
fn a_write_of_nothing_asks_for_nothing_and_counts() {
    let mut rig = Rig::new();
    let outcome = rig.judge(&Arrival { ackreq: true, ..write(FIRST_PSN, 0) });
    assert_eq!(answer(&outcome), (ACK, FIRST_PSN, 1, true));
    assert_eq!((outcome.errand.places, outcome.errand.span.index()), (false, 0));
}

#[test]
fn a_read_takes_as_many_numbers_as_its_answer_has_packets() {
    for code in 1..=5_u64 {
        let mtu = 128_u64 << code;
        for (length, packets) in [
            (0, 1),
            (1, 1),
            (mtu - 1, 1),
            (mtu, 1),
            (mtu + 1, 2),
            (10 * mtu, 10),
            (10 * mtu + 1, 11),
            (1 << 31, (1 << 31) / mtu),
        ] {
            let mut rig = Rig::new();
            let asks = Arrival { path_mtu: code.into(), ..read(FIRST_PSN, length) };
            let outcome = rig.judge(&asks);
            assert_eq!(answer(&outcome), (DATA, FIRST_PSN, 1, true));
            assert_eq!((u64::from(outcome.errand.span), outcome.errand.fresh), (length, true));
            // The next request is behind all of them.
            let next = rig.judge(&Arrival { ackreq: true, ..write(FIRST_PSN + packets, 1) });
            assert_eq!(answer(&next), (ACK, (FIRST_PSN + packets) % (1 << 24), 2, true), "{length} {mtu}");
        }
    }
}

#[test]
fn a_write_that_comes_again_is_acknowledged_up_to_the_last() {
    let mut rig = Rig::new();
    for psn in 0..5 {
        rig.judge(&write(FIRST_PSN + psn, 8));
    }
    let outcome = rig.judge(&write(FIRST_PSN + 1, 8));
    assert_eq!(answer(&outcome), (ACK, 2, 5, false));
    assert_eq!((outcome.duplicate, outcome.errand.places, outcome.errand.span.index()), (true, false, 0));
}

#[test]
fn a_read_that_comes_again_is_answered_again_unless_it_would_answer_beyond() {
    let mut rig = Rig::new();
    rig.judge(&write(FIRST_PSN, 8));
    rig.judge(&read(FIRST_PSN + 1, 1000));
    for (psn, length, expected) in
        [(1, 1000, DATA), (2, 768, DATA), (2, 769, NONE), (4, 256, DATA), (4, 257, NONE)]
    {
        let outcome = rig.judge(&read(FIRST_PSN + psn, length));
        assert_eq!(u64::from(outcome.errand.answer), expected, "{length} bytes from {psn} on");
        if expected == DATA {
            assert_eq!(answer(&outcome), (DATA, (FIRST_PSN + psn) % (1 << 24), 2, false));
            assert_eq!((outcome.errand.fresh, u64::from(outcome.errand.span)), (false, length));
        }
    }
}

#[test]
fn a_read_that_comes_again_needs_the_right_and_a_legal_length() {
    let mut rig = Rig::new();
    rig.judge(&read(FIRST_PSN, 1000));
    let again = read(FIRST_PSN, 1000);
    let writer = u64::from(rights::REMOTE_WRITE);
    for wrong in [
        Arrival { rights: writer.into(), ..again },
        Arrival { payload_len: 1_u64.into(), ..again },
        Arrival { len: 0xffff_ffff_u64.into(), ..again },
    ] {
        let outcome = rig.judge(&wrong);
        assert_eq!((outcome.duplicate, u64::from(outcome.errand.answer)), (true, NONE));
    }
}

#[test]
fn half_of_the_circle_lies_in_the_past() {
    let mut rig = Rig::new();
    let half = 1 << 23;
    let past = rig.judge(&write(FIRST_PSN + half, 8));
    assert!(past.duplicate && !past.nak);
    let ahead = rig.judge(&write(FIRST_PSN + half - 1, 8));
    assert!(ahead.nak && !ahead.duplicate);
}

#[test]
fn a_gap_is_told_once_until_the_missing_request_comes() {
    let mut rig = Rig::new();
    let told = rig.judge(&write(FIRST_PSN + 2, 8));
    assert_eq!(answer(&told), (ACK, FIRST_PSN, 0, false));
    let missing = u64::from(Syndrome::Nak(NakCode::PsnSequence).encode());
    assert_eq!((u64::from(told.errand.syndrome), told.nak, told.errand.fails), (missing, true, false));
    let quiet = rig.judge(&write(FIRST_PSN + 3, 8));
    assert_eq!((u64::from(quiet.errand.answer), quiet.nak), (NONE, false));
    assert!(rig.judge(&write(FIRST_PSN, 8)).errand.places);
    assert!(rig.judge(&write(FIRST_PSN + 2, 8)).nak);
    assert!(!rig.judge(&write(FIRST_PSN + 3, 8)).nak);
    // A request that came before is none of those that are missing.
    rig.judge(&write(FIRST_PSN, 8));
    assert!(!rig.judge(&write(FIRST_PSN + 4, 8)).nak);
}

#[test]
fn a_gap_is_told_again_when_the_peer_has_gone_back_and_its_request_is_missing_still() {
    // PSNs come round on the way.
    for first in [FIRST_PSN, 0xff_fffe] {
        let mut rig = Rig::new();
        let at =
            |behind: u64| Arrival { receive_psn: first.into(), ..write((first + behind) & 0xff_ffff, 8) };
        let mut naks = |arrivals: &[u64]| -> Vec<bool> {
            arrivals.iter().map(|behind| rig.judge(&at(*behind)).nak).collect()
        };
        assert_eq!(naks(&[1, 2, 3]), [true, false, false], "one loss");
        assert_eq!(naks(&[1, 2, 3, 4]), [true, false, false, false], "the peer has gone back");
        assert_eq!(naks(&[4, 5]), [true, false], "to what follows, and not all of that has come");
        assert_eq!(naks(&[0, 1, 2]), [false; 3], "what was missing is here");
        assert_eq!(naks(&[5, 6]), [true, false], "the next loss");
    }
}

#[test]
fn after_a_missing_receive_a_gap_is_told_when_the_peer_has_come_again() {
    let mut rig = Rig::new();
    let send = |behind| request(opcode::RC_SEND_ONLY, FIRST_PSN + behind, 0, 8);
    assert!(rig.judge(&send(0)).rnr);
    assert_eq!([1, 2].map(|behind| rig.judge(&send(behind)).nak), [false; 2], "they were on their way");
    rig.world.post(false, 1, 4);
    assert_eq!([1, 2].map(|behind| rig.judge(&send(behind)).nak), [true, false], "the first is lost");
    assert_eq!([0, 1, 2].map(|behind| rig.judge(&send(behind)).takes), [true; 3]);
}

#[test]
fn what_breaks_a_rule_is_refused_and_nothing_follows_it() {
    let mut rig = Rig::new();
    let none = 0_u64;
    for (what, wrong) in [
        ("a middle without a message", request(opcode::RC_WRITE_MIDDLE, FIRST_PSN, 0, 256)),
        ("a last without a message", request(opcode::RC_WRITE_LAST, FIRST_PSN, 0, 1)),
        ("a first that is not full", request(opcode::RC_WRITE_FIRST, FIRST_PSN, 600, 255)),
        ("a first that leaves nothing", request(opcode::RC_WRITE_FIRST, FIRST_PSN, 256, 256)),
        ("a first that is too full", request(opcode::RC_WRITE_FIRST, FIRST_PSN, 600, 257)),
        ("an only that is too short", request(opcode::RC_WRITE_ONLY, FIRST_PSN, 10, 9)),
        ("an only that is too long", request(opcode::RC_WRITE_ONLY, FIRST_PSN, 10, 11)),
        ("an only beyond the MTU", request(opcode::RC_WRITE_ONLY, FIRST_PSN, 257, 257)),
        ("more than 2 GiB to write", request(opcode::RC_WRITE_FIRST, FIRST_PSN, (1 << 31) + 1, 256)),
        ("more than 2 GiB to read", read(FIRST_PSN, (1 << 31) + 1)),
        ("all ones to read", read(FIRST_PSN, 0xffff_ffff)),
        ("a read with payload", request(opcode::RC_READ_REQUEST, FIRST_PSN, 10, 1)),
        ("a write without the right", Arrival { rights: 0x1d_u64.into(), ..write(FIRST_PSN, 9) }),
        ("a read without the right", Arrival { rights: 0x1b_u64.into(), ..read(FIRST_PSN, 9) }),
        ("nothing to write without the right", Arrival { rights: none.into(), ..write(FIRST_PSN, 0) }),
    ] {
        assert!(is_refused(&mut rig, &wrong), "{what}");
        reset(&mut rig);
    }
}

#[test]
fn within_a_message_nothing_else_begins() {
    let mut rig = Rig::new();
    for wrong in [
        read(FIRST_PSN + 1, 8),
        write(FIRST_PSN + 1, 8),
        request(opcode::RC_WRITE_FIRST, FIRST_PSN + 1, 600, 256),
        request(opcode::RC_WRITE_LAST, FIRST_PSN + 1, 0, 88),
        request(opcode::RC_WRITE_MIDDLE, FIRST_PSN + 1, 0, 88),
    ] {
        rig.judge(&request(opcode::RC_WRITE_FIRST, FIRST_PSN, 600, 256));
        assert!(is_refused(&mut rig, &wrong), "{wrong:?}");
        reset(&mut rig);
    }
    // A middle that leaves nothing: the message ends with a last.
    rig.judge(&request(opcode::RC_WRITE_FIRST, FIRST_PSN, 512, 256));
    assert!(is_refused(&mut rig, &request(opcode::RC_WRITE_MIDDLE, FIRST_PSN + 1, 0, 256)));
}

#[test]
fn a_message_that_is_under_way_needs_no_right_again() {
    let mut rig = Rig::new();
    rig.judge(&request(opcode::RC_WRITE_FIRST, FIRST_PSN, 512, 256));
    let last = Arrival { rights: 0_u64.into(), ..request(opcode::RC_WRITE_LAST, FIRST_PSN + 1, 0, 256) };
    assert!(rig.judge(&last).errand.places);
}

#[test]
fn only_a_reset_forgets() {
    let mut rig = Rig::new();
    rig.judge(&write(FIRST_PSN, 8));
    rig.send_changes(&[QpChange { qpn: 1_u64.into(), stops: true, ..QpChange::default() }]);
    rig.settle();
    assert!(rig.judge(&write(FIRST_PSN, 8)).duplicate);
    // Of another queue pair: nothing to do with this one.
    rig.send_changes(&[QpChange { qpn: 2_u64.into(), resets: true, ..QpChange::default() }]);
    rig.settle();
    assert!(rig.judge(&write(FIRST_PSN, 8)).duplicate);
    reset(&mut rig);
    let first = rig.judge(&Arrival { receive_psn: 5_u64.into(), ackreq: true, ..write(5, 8) });
    assert_eq!(answer(&first), (ACK, 5, 1, true));
}
