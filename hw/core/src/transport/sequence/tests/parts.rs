//! SENDs that end a key.

use stroma_abi::desc::{Cqe, Status, WorkOp};
use stroma_abi::wire::opcode;
use stroma_abi::wire::{NakCode, Opcode, Syndrome};
use stroma_verilate::Pause;

use super::corners::{ACK, FIRST_PSN, NONE, answer, read, request, reset, write};
use crate::state::command::{KeyCause, KeyVerb, KeyWork};
use crate::transport::records::{Arrival, Occasion};
use crate::transport::sequence::model::Outcome;
use crate::transport::sequence::rig::{Rig, SRQ};

const KEY: u64 = 0xdead_beef;
/// Index of queue pair 1's first receive, as the world counts.
const FIRST: u64 = 0xfffd + 64 - (1 << 16);
const FIRST_SHARED: u64 = 0xfffd + 64 * SRQ - (1 << 16);
const POSITIVE: Syndrome = Syndrome::Ack { credits: 31 };

/// So many packets behind the first, with an acknowledgement asked for.
fn send(op: Opcode, behind: u64, payload: u64) -> Arrival {
    Arrival {
        imm: KEY.into(),
        pd: 0x55_u64.into(),
        receive_cq: 9_u64.into(),
        ackreq: true,
        ..request(op, FIRST_PSN + behind, 0, payload)
    }
}

fn nudge(occasion: Occasion, status: u64) -> Arrival {
    Arrival {
        occasion: (occasion as u64).into(),
        status: status.into(),
        receive_cq: 9_u64.into(),
        ..request(opcode::RC_SEND_FIRST, 0, 0, 0)
    }
}

fn parted() -> Arrival {
    nudge(Occasion::Parted, 0)
}

fn stocked(count: u64) -> Rig {
    let mut rig = Rig::new();
    rig.world.post(false, 1, count);
    rig
}

/// Index, op-code, flags, length, status, detail.
fn completion(outcome: &Outcome) -> Option<[u64; 6]> {
    let errand = outcome.errand;
    assert!(!errand.completes || u64::from(errand.cq) == 9);
    errand.completes.then(|| {
        [
            errand.index.into(),
            errand.opcode.into(),
            errand.flags.into(),
            errand.length.into(),
            errand.status.into(),
            errand.detail.into(),
        ]
    })
}

fn syndrome(outcome: &Outcome) -> Syndrome {
    Syndrome::decode(u8::try_from(u64::from(outcome.errand.syndrome)).expect("eight bits"))
}

const RECEIVE: u64 = 1 << Cqe::RECEIVE.bit;
const ENDED: u64 = RECEIVE | 1 << Cqe::HAS_INVALIDATED.bit;
const SEND_INV: u64 = WorkOp::SendInv as u64;

#[test]
fn a_send_is_completed_and_acknowledged_when_its_key_has_ended() {
    let mut rig = stocked(2);
    rig.judge(&send(opcode::RC_SEND_FIRST, 0, 256));
    let last = rig.judge(&Arrival { solicited: true, ..send(opcode::RC_SEND_LAST_INV, 1, 88) });
    let errand = last.errand;
    assert_eq!((errand.places, u64::from(errand.index), u64::from(errand.offset)), (true, FIRST, 256));
    assert_eq!((completion(&last), answer(&last)), (None, (NONE, FIRST_PSN + 1, 0, false)));
    let work = KeyWork {
        verb: (KeyVerb::Part as u64).into(),
        qpn: 1_u64.into(),
        pd: 0x55_u64.into(),
        key: KEY.into(),
        ..KeyWork::default()
    };
    assert_eq!(last.part, Some(work));
    let end = rig.judge(&parted());
    let flags = ENDED | 1 << Cqe::SOLICITED.bit;
    assert_eq!(completion(&end), Some([FIRST, SEND_INV, flags, 344, 0, KEY]));
    assert_eq!((answer(&end), syndrome(&end)), ((ACK, FIRST_PSN + 1, 1, true), POSITIVE));
    assert!(!end.nak && !end.errand.fails && end.errand.ends);
    // What follows goes on as ever, with the next receive.
    let next = rig.judge(&send(opcode::RC_SEND_ONLY, 2, 8));
    assert_eq!((next.takes, answer(&next)), (true, (ACK, 0, 2, true)));
}

#[test]
fn nothing_may_be_sent_with_the_end_of_a_key() {
    let mut rig = stocked(1);
    let only = rig.judge(&send(opcode::RC_SEND_ONLY_INV, 0, 0));
    assert_eq!((only.takes, only.part.is_some(), only.errand.places), (true, true, false));
    assert_eq!(only.errand.list.index(), 0);
    let end = rig.judge(&parted());
    assert_eq!(completion(&end), Some([FIRST, SEND_INV, ENDED, 0, 0, KEY]));
}

#[test]
fn receives_of_an_srq_are_completed_likewise_and_missed_likewise() {
    let mut rig = Rig::new();
    let shared = |arrival: Arrival| Arrival { has_srq: true, srq: SRQ.into(), ..arrival };
    let only = shared(send(opcode::RC_SEND_ONLY_INV, 0, 8));
    let rests = rig.judge(&only);
    assert_eq!((rests.rnr, rests.part), (true, None));
    rig.world.post(true, SRQ, 1);
    assert!(rig.judge(&only).part.is_some());
    let end = rig.judge(&shared(parted()));
    assert_eq!(completion(&end), Some([FIRST_SHARED, SEND_INV, ENDED, 8, 0, KEY]));
}

#[test]
fn without_room_nothing_is_answered_while_a_key_ends_and_what_is_new_is_asked_for_again_at_its_end() {
    let news = [
        write(FIRST_PSN + 1, 8),
        write(FIRST_PSN + 3, 8),
        read(FIRST_PSN + 1, 8),
        request(opcode::RC_FETCH_ADD, FIRST_PSN + 1, 0, 0),
        // Not even a refusal: it would acknowledge the SEND.
        request(opcode::RC_SEND_MIDDLE, FIRST_PSN + 1, 0, 3),
    ];
    for new in news {
        let mut rig = stocked(1);
        rig.world.is_full = true;
        rig.judge(&send(opcode::RC_SEND_ONLY_INV, 0, 8));
        for _ in 0..2 {
            let thrown = rig.judge(&new);
            assert_eq!((u64::from(thrown.errand.answer), thrown.errand.places), (NONE, false));
            assert_eq!((thrown.nak, thrown.errand.span.index(), thrown.errand.fails), (false, 0, false));
        }
        let end = rig.judge(&parted());
        assert_eq!(completion(&end), Some([FIRST, SEND_INV, ENDED, 8, 0, KEY]));
        assert_eq!(answer(&end), (ACK, FIRST_PSN + 1, 1, true));
        assert_eq!((syndrome(&end), end.nak), (Syndrome::Nak(NakCode::PsnSequence), true));
        // The gap is known now, and the next request is carried out.
        assert!(!rig.judge(&write(FIRST_PSN + 4, 8)).nak);
        assert!(rig.judge(&write(FIRST_PSN + 1, 8)).errand.places);
    }
}

#[test]
fn what_comes_again_while_a_key_ends_is_thrown_away_and_acknowledged_afterwards() {
    let mut rig = stocked(2);
    rig.judge(&write(FIRST_PSN, 8));
    let only = send(opcode::RC_SEND_ONLY_INV, 1, 8);
    rig.judge(&only);
    for again in [only, write(FIRST_PSN, 8), read(FIRST_PSN, 8)] {
        let again = rig.judge(&again);
        assert_eq!((again.duplicate, u64::from(again.errand.answer), again.part), (true, NONE, None));
    }
    let end = rig.judge(&parted());
    assert_eq!((answer(&end), syndrome(&end)), ((ACK, FIRST_PSN + 1, 2, true), POSITIVE));
    // That answer was lost: the SEND is not carried out again.
    let again = rig.judge(&only);
    assert_eq!((again.duplicate, again.part, again.takes), (true, None, false));
    assert_eq!((answer(&again), syndrome(&again)), ((ACK, FIRST_PSN + 1, 2, false), POSITIVE));
}

#[test]
fn a_key_waits_for_reads_and_atomics_before_it() {
    for (before, finishes) in
        [(read(FIRST_PSN, 8), false), (request(opcode::RC_FETCH_ADD, FIRST_PSN, 0, 0), true)]
    {
        let mut rig = stocked(1);
        rig.judge(&before);
        let only = send(opcode::RC_SEND_ONLY_INV, 1, 8);
        let stored = rig.judge(&only);
        assert_eq!((stored.errand.stores, stored.part, stored.takes, stored.nak), (true, None, false, false));
        for round in 0..2 {
            let [waits] = rig.look_again()[..] else { panic!("one is deferred") };
            assert_eq!(
                (waits.stays, waits.part, waits.takes, waits.nak),
                (true, None, false, false),
                "{round}"
            );
            // A finished atomic is not answered yet.
            rig.world.finished.insert(1, u8::from(finishes));
        }
        rig.world.answered.insert(1, 1);
        let [ended] = rig.look_again()[..] else { panic!("one is deferred") };
        assert!(ended.part.is_some() && ended.takes && ended.errand.loads);
        assert_eq!(rig.look_again().len(), 0);
    }
}

#[test]
fn without_room_for_its_key_and_for_itself_a_send_bounces_and_waits_for_nobody() {
    let mut rig = Rig::new();
    rig.bench[rig.part].pause(Pause::Always);
    let of = |qpn: u64| Arrival { qpn: qpn.into(), ..send(opcode::RC_SEND_ONLY_INV, 0, 8) };
    (0..4).for_each(|qpn| rig.world.post(false, qpn, 1));
    rig.world.is_full = true;
    rig.send(&[of(0), of(1), of(2)]);
    (0..30).for_each(|_| rig.step());
    rig.bench[rig.part].pause(Pause::None);
    rig.settle();
    let [first, second, third] = rig.compare()[..] else { panic!("three arrivals give three errands") };
    assert!(first.part.is_some() && second.part.is_some());
    assert_eq!(
        (third.part, third.takes, syndrome(&third)),
        (None, false, Syndrome::Nak(NakCode::PsnSequence))
    );
    assert!(rig.judge(&of(2)).part.is_some());
}

#[test]
fn a_key_that_cannot_be_ended_ends_the_queue_pair() {
    let mut rig = stocked(2);
    rig.judge(&send(opcode::RC_SEND_ONLY_INV, 0, 8));
    rig.judge(&write(FIRST_PSN + 1, 8));
    let end = rig.judge(&nudge(Occasion::Parted, KeyCause::Bound as u64));
    let [after] = rig.look_again()[..] else { panic!("the WRITE is deferred") };
    assert!(after.unwanted && !after.stays);
    let status = Status::RemoteAccess as u64;
    assert_eq!(completion(&end), Some([FIRST, SEND_INV, RECEIVE, 0, status, 0]));
    assert_eq!(answer(&end), (ACK, FIRST_PSN, 0, false));
    assert_eq!((syndrome(&end), end.nak), (Syndrome::Nak(NakCode::RemoteAccess), false));
    assert_eq!((end.errand.fails, u64::from(end.errand.vendor)), (true, KeyCause::Bound as u64));
    let next = rig.judge(&write(FIRST_PSN + 1, 8));
    assert_eq!((u64::from(next.errand.answer), next.errand.places), (NONE, false));
    // Until it begins anew.
    reset(&mut rig);
    assert!(rig.judge(&send(opcode::RC_SEND_ONLY_INV, 0, 8)).part.is_some());
}

#[test]
fn a_recall_gives_up_the_receive_whose_key_is_ending_and_the_end_does_nothing() {
    let mut rig = stocked(2);
    rig.judge(&send(opcode::RC_SEND_ONLY_INV, 0, 8));
    let given_up = rig.judge(&nudge(Occasion::Recall, 0));
    let (opcode, status) = (WorkOp::Send as u64, Status::Flushed as u64);
    assert_eq!(
        (completion(&given_up), given_up.takes),
        (Some([FIRST, opcode, RECEIVE, 0, status, 0]), false)
    );
    for status in [0, KeyCause::Window as u64] {
        let late = rig.judge(&nudge(Occasion::Parted, status));
        assert_eq!((completion(&late), u64::from(late.errand.answer)), (None, NONE));
        assert!(late.errand.ends && !late.errand.fails && !late.nak);
    }
    let next = rig.judge(&nudge(Occasion::Recall, 0));
    assert_eq!((completion(&next).map(|told| told[0]), next.takes), (Some(FIRST + 1), true));
}

#[test]
fn the_end_of_a_key_that_nobody_waits_for_changes_nothing() {
    let mut rig = stocked(1);
    // Not even of a gap that was told, though its number is that of the next request.
    rig.judge(&write(FIRST_PSN, 8));
    rig.judge(&write(FIRST_PSN + 1, 8));
    assert!(rig.judge(&write(1, 8)).nak);
    let stray = rig.judge(&parted());
    assert_eq!((completion(&stray), u64::from(stray.errand.answer), stray.nak), (None, NONE, false));
    assert!(!rig.judge(&write(2, 8)).nak, "it is told already");
    assert!(rig.judge(&write(0, 8)).errand.places);
}
