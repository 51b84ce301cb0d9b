//! READs and atomics that the peer may have open, and what waits for atomics.

use stroma_abi::desc::region::rights;
use stroma_abi::wire::Opcode;
use stroma_abi::wire::opcode;

use super::corners::{ACK, DATA, FIRST_PSN, NONE, answer, is_refused, read, request, reset, write};
use crate::transport::records::{Arrival, Atomic};
use crate::transport::sequence::rig::Rig;

fn atomic(op: Opcode, behind: u64) -> Arrival {
    Arrival { a1: 0x11_u64.into(), a2: 0x22_u64.into(), ..request(op, FIRST_PSN + behind, 0, 0) }
}

fn add(behind: u64) -> Arrival {
    atomic(opcode::RC_FETCH_ADD, behind)
}

/// So many atomics of queue pair 1 are done.
fn finish(rig: &mut Rig, count: u8) {
    rig.world.finished.insert(1, count);
}

#[test]
fn an_atomic_goes_where_it_is_applied_with_all_it_needs() {
    let mut rig = Rig::new();
    for (behind, op, kind) in [(0, opcode::RC_FETCH_ADD, Atomic::Add), (1, opcode::RC_CMP_SWAP, Atomic::Swap)]
    {
        let outcome = rig.judge(&atomic(op, behind));
        let errand = outcome.errand;
        assert_eq!((u64::from(errand.atomic), u64::from(errand.place)), (kind as u64, behind));
        assert_eq!((u64::from(errand.value), u64::from(errand.compare)), (0x11, 0x22));
        assert_eq!((u64::from(errand.va), u64::from(errand.key), u64::from(errand.span)), (0x1000, 0x77, 8));
        assert_eq!(u64::from(errand.need), u64::from(rights::REMOTE_ATOMIC));
        assert_eq!(answer(&outcome), (NONE, FIRST_PSN + behind, behind + 1, true));
        assert!(!errand.places && !errand.fresh && !outcome.takes);
    }
}

#[test]
fn slots_of_atomics_go_round() {
    let mut rig = Rig::new();
    for at in 0..40_u64 {
        assert_eq!(u64::from(rig.judge(&add(at)).errand.place), at % 16);
        let done = u8::try_from((at + 1) % 32).expect("small");
        finish(&mut rig, done);
        rig.world.answered.insert(1, done);
    }
}

#[test]
fn an_atomic_needs_the_right_and_a_whole_word() {
    let mut rig = Rig::new();
    let none = 0x17_u64;
    for (what, wrong) in [
        ("no right", Arrival { rights: none.into(), ..add(0) }),
        ("payload", Arrival { payload_len: 8_u64.into(), ..add(0) }),
        ("one byte on", Arrival { va: 0x1001_u64.into(), ..add(0) }),
        ("half a word on", Arrival { va: 0x1004_u64.into(), ..add(0) }),
    ] {
        assert!(is_refused(&mut rig, &wrong), "{what}");
        reset(&mut rig);
    }
}

#[test]
fn no_more_reads_and_atomics_are_open_than_agreed() {
    for last in [read(FIRST_PSN + 3, 8), add(3)] {
        let of_three = |arrival: Arrival| Arrival { reads_in: 3_u64.into(), ..arrival };
        let mut rig = Rig::new();
        for arrival in [read(FIRST_PSN, 8), read(FIRST_PSN + 1, 8), add(2)] {
            assert!(!rig.judge(&of_three(arrival)).errand.fails);
        }
        // One that came again is none of them, and neither is what needs no answer of its own.
        finish(&mut rig, 1);
        assert_eq!(u64::from(rig.judge(&of_three(read(FIRST_PSN, 8))).errand.answer), DATA);
        assert!(is_refused(&mut rig, &of_three(last)));
        reset(&mut rig);
        for arrival in [read(FIRST_PSN, 8), read(FIRST_PSN + 1, 8), add(2)] {
            rig.judge(&of_three(arrival));
        }
        rig.world.answered.insert(1, 1);
        finish(&mut rig, 1);
        assert!(!rig.judge(&of_three(last)).errand.fails);
    }
}

#[test]
fn counts_of_answers_go_round() {
    let mut rig = Rig::new();
    for at in 0..70_u64 {
        let asks = Arrival { reads_in: 1_u64.into(), ..read(FIRST_PSN + at, 8) };
        assert!(rig.judge(&asks).errand.fresh, "{at}");
        rig.world.answered.insert(1, u8::try_from((at + 1) % 32).expect("small"));
    }
}

#[test]
fn what_comes_again_while_atomics_are_under_way_is_thrown_away() {
    let mut rig = Rig::new();
    rig.judge(&write(FIRST_PSN, 8));
    rig.judge(&read(FIRST_PSN + 1, 8));
    rig.judge(&add(2));
    let again = [write(FIRST_PSN, 8), read(FIRST_PSN + 1, 8), add(2)];
    for arrival in again {
        let outcome = rig.judge(&arrival);
        assert_eq!((outcome.duplicate, outcome.nak, u64::from(outcome.errand.answer)), (true, false, NONE));
        assert_eq!((outcome.errand.atomic.index(), outcome.errand.span.index()), (0, 0));
    }
    finish(&mut rig, 1);
    let answers = again.map(|arrival| rig.judge(&arrival).errand);
    assert_eq!(answers.map(|errand| u64::from(errand.answer)), [ACK, DATA, NONE]);
    assert_eq!(answers.map(|errand| u64::from(errand.atomic)), [0, 0, Atomic::Replay as u64]);
    assert_eq!((answers[2].span.index(), answers[2].psn, answers[2].counts), (0, add(2).psn, false));
    assert_eq!(u64::from(answers[2].msn), 3);
}

#[test]
fn atomics_under_way_come_before_a_broken_rule_and_before_a_missing_receive() {
    for (payload, rnr, fails) in [(8, true, false), (257, false, true)] {
        let mut rig = Rig::new();
        rig.judge(&add(0));
        let deferred = rig.judge(&request(opcode::RC_SEND_ONLY, FIRST_PSN + 1, 0, payload));
        assert_eq!((deferred.stays, deferred.nak, deferred.rnr), (true, false, false));
        finish(&mut rig, 1);
        let [judged] = rig.look_again()[..] else { panic!("one is deferred") };
        assert_eq!((judged.stays, judged.rnr, judged.errand.fails), (false, rnr, fails));
    }
}

#[test]
fn atomics_of_another_queue_pair_hold_nobody_up() {
    let mut rig = Rig::new();
    rig.judge(&Arrival { qpn: 2_u64.into(), ..add(0) });
    assert!(rig.judge(&write(FIRST_PSN, 8)).errand.places);
}
