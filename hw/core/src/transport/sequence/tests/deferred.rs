//! Requests that have to wait.

use stroma_abi::wire::{NakCode, Syndrome, opcode};

use super::corners::{ACK, FIRST_PSN, NONE, answer, read, request, reset, write};
use crate::host::work::QpChange;
use crate::transport::records::Arrival;
use crate::transport::sequence::model::Outcome;
use crate::transport::sequence::rig::Rig;

fn add(behind: u64) -> Arrival {
    request(opcode::RC_FETCH_ADD, FIRST_PSN + behind, 0, 0)
}

fn send(behind: u64) -> Arrival {
    request(opcode::RC_SEND_ONLY, FIRST_PSN + behind, 0, 8)
}

/// So many atomics of queue pair 1 are done.
fn finish(rig: &mut Rig, count: u8) {
    rig.world.finished.insert(1, count);
}

/// Nothing but its payload moves, and that to the store.
fn is_stored(outcome: &Outcome, payload: u64) -> bool {
    let errand = &outcome.errand;
    errand.stores
        && !errand.loads
        && u64::from(errand.payload_len) == payload
        && (u64::from(errand.answer), errand.places, errand.span.index()) == (NONE, false, 0)
        && (outcome.nak, outcome.takes, errand.fails, errand.counts) == (false, false, false, false)
}

/// It was carried out with what the store has.
fn is_loaded(outcome: &Outcome, payload: u64) -> bool {
    outcome.errand.loads && outcome.errand.is_awaited && u64::from(outcome.errand.payload_len) == payload
}

#[test]
fn what_follows_an_atomic_is_carried_out_after_it_in_its_order_and_no_gap_is_told() {
    let mut rig = Rig::new();
    rig.world.post(false, 1, 1);
    rig.judge(&add(0));
    let following =
        [write(FIRST_PSN + 1, 8), send(2), read(FIRST_PSN + 3, 8), add(4), write(FIRST_PSN + 5, 16)];
    for (at, next) in following.iter().enumerate() {
        let stored = rig.judge(next);
        assert!(is_stored(&stored, next.payload_len.into()), "{at}");
        assert_eq!((u64::from(stored.errand.slot), stored.follows), (at as u64, at > 0));
    }
    for outcome in rig.look_again() {
        assert!(outcome.stays && !outcome.errand.stores && outcome.errand.payload_len.index() == 0);
        assert_eq!((u64::from(outcome.errand.answer), outcome.nak, outcome.early), (NONE, false, false));
    }
    finish(&mut rig, 1);
    let [wrote, sent, fetched, added, waits] = rig.look_again()[..] else { panic!("five are deferred") };
    assert!(is_loaded(&wrote, 8) && wrote.errand.places);
    assert!(is_loaded(&sent, 8) && sent.takes && sent.errand.completes);
    assert!(is_loaded(&fetched, 0) && fetched.errand.fresh);
    assert!(is_loaded(&added, 0) && added.errand.atomic.any());
    // It is the first again, of those that wait for the second atomic.
    assert!(waits.stays && !waits.follows);
    finish(&mut rig, 2);
    let [last] = rig.look_again()[..] else { panic!("one is deferred") };
    assert!(is_loaded(&last, 16) && last.errand.places);
    assert_eq!(rig.look_again().len(), 0);
    // Now everything goes straight through.
    assert!(rig.judge(&write(FIRST_PSN + 6, 8)).errand.places);
}

#[test]
fn what_comes_when_the_atomic_is_done_does_not_overtake_what_is_deferred() {
    let mut rig = Rig::new();
    rig.judge(&add(0));
    rig.judge(&write(FIRST_PSN + 1, 8));
    finish(&mut rig, 1);
    let next = rig.judge(&write(FIRST_PSN + 2, 8));
    assert!(is_stored(&next, 8) && next.follows);
    // Not even the same request once more.
    let same = rig.judge(&write(FIRST_PSN + 1, 8));
    assert!(is_stored(&same, 8) && same.follows);
    let [first, second, again] = rig.look_again()[..] else { panic!("three are deferred") };
    assert!(is_loaded(&first, 8) && is_loaded(&second, 8));
    assert_eq!((again.duplicate, again.stays, u64::from(again.errand.answer)), (true, false, ACK));
}

#[test]
fn a_gap_among_what_is_deferred_is_told_when_what_is_before_it_has_gone() {
    let mut rig = Rig::new();
    rig.judge(&add(0));
    rig.judge(&write(FIRST_PSN + 1, 8));
    for behind in [3, 4] {
        assert!(is_stored(&rig.judge(&write(FIRST_PSN + behind, 8)), 8));
    }
    finish(&mut rig, 1);
    let [first, third, fourth] = rig.look_again()[..] else { panic!("three are deferred") };
    assert!(is_loaded(&first, 8));
    assert_eq!(answer(&third), (ACK, (FIRST_PSN + 2) % (1 << 24), 2, false));
    let missing = u64::from(Syndrome::Nak(NakCode::PsnSequence).encode());
    assert_eq!((u64::from(third.errand.syndrome), third.nak, third.early), (missing, true, true));
    assert_eq!((fourth.nak, fourth.early, u64::from(fourth.errand.answer)), (false, true, NONE));
    for behind in 2..=4 {
        assert!(rig.judge(&write(FIRST_PSN + behind, 8)).errand.places);
    }
}

#[test]
fn a_gap_right_after_an_atomic_is_told_at_once() {
    let mut rig = Rig::new();
    rig.judge(&add(0));
    let ahead = rig.judge(&write(FIRST_PSN + 2, 8));
    assert_eq!((ahead.nak, ahead.stays), (true, false));
    assert_eq!(answer(&ahead), (ACK, FIRST_PSN + 1, 1, false));
}

#[test]
fn a_missing_receive_throws_away_what_follows_and_tells_no_gap() {
    let mut rig = Rig::new();
    rig.judge(&add(0));
    rig.judge(&send(1));
    rig.judge(&write(FIRST_PSN + 2, 8));
    finish(&mut rig, 1);
    let [rests, early] = rig.look_again()[..] else { panic!("two are deferred") };
    assert_eq!((rests.rnr, rests.stays), (true, false));
    assert_eq!((early.early, early.nak, early.stays), (true, false, false));
    rig.world.post(false, 1, 1);
    assert!(rig.judge(&send(1)).takes);
    assert!(rig.judge(&write(FIRST_PSN + 2, 8)).errand.places);
}

#[test]
fn while_a_key_ends_all_that_is_new_is_deferred() {
    let mut rig = Rig::new();
    rig.world.post(false, 1, 1);
    let key = request(opcode::RC_SEND_ONLY_INV, FIRST_PSN, 0, 8);
    assert!(rig.judge(&key).part.is_some());
    // What comes after a gap, too: no answer may pass that of the SEND.
    for behind in [1, 3] {
        let stored = rig.judge(&write(FIRST_PSN + behind, 8));
        assert!(is_stored(&stored, 8));
        assert_eq!(stored.follows, behind > 1);
    }
    assert!(rig.look_again().iter().all(|outcome| outcome.stays));
    let occasion = (crate::transport::records::Occasion::Parted as u64).into();
    let end = rig.judge(&Arrival { occasion, ..request(opcode::RC_SEND_FIRST, 0, 0, 0) });
    assert_eq!((answer(&end), end.nak), ((ACK, FIRST_PSN, 1, true), false));
    let [first, third] = rig.look_again()[..] else { panic!("two are deferred") };
    assert!(is_loaded(&first, 8));
    assert_eq!((third.nak, third.early), (true, true));
}

#[test]
fn what_waits_for_an_answer_has_half_of_the_store_and_what_waits_for_an_atomic_all_of_it() {
    let mut rig = Rig::new();
    rig.world.post(false, 1, 2);
    rig.world.is_full = true;
    rig.judge(&add(0));
    assert!(is_stored(&rig.judge(&write(FIRST_PSN + 1, 8)), 8));
    assert!(is_stored(&rig.judge(&write(FIRST_PSN + 2, 8)), 8));
    finish(&mut rig, 1);
    rig.world.answered.insert(1, 1);
    rig.look_again();
    rig.judge(&read(FIRST_PSN + 3, 8));
    let key = request(opcode::RC_SEND_ONLY_INV, FIRST_PSN + 4, 0, 8);
    let bounced = rig.judge(&key);
    assert_eq!((bounced.stays, bounced.nak, bounced.early), (false, true, true));
    // With room it is kept, and what follows it only as long as there is room.
    rig.world.is_full = false;
    assert!(is_stored(&rig.judge(&key), 8));
    assert!(is_stored(&rig.judge(&write(FIRST_PSN + 5, 8)), 8));
    rig.world.is_full = true;
    let early = rig.judge(&write(FIRST_PSN + 6, 8));
    assert_eq!((early.stays, early.nak, early.early), (false, true, true));
    assert!(rig.look_again().iter().all(|outcome| outcome.stays));
}

#[test]
fn what_is_deferred_when_the_queue_pair_fails_is_thrown_away() {
    let mut rig = Rig::new();
    rig.judge(&add(0));
    rig.judge(&write(FIRST_PSN + 1, 8));
    let recall = (crate::transport::records::Occasion::Recall as u64).into();
    rig.judge(&Arrival { occasion: recall, ..request(opcode::RC_SEND_FIRST, 0, 0, 0) });
    let [after] = rig.look_again()[..] else { panic!("one is deferred") };
    assert_eq!((after.unwanted, after.stays, after.errand.places), (true, false, false));
}

#[test]
fn a_reset_forgets_that_something_is_deferred() {
    let mut rig = Rig::new();
    rig.judge(&add(0));
    rig.judge(&write(FIRST_PSN + 1, 8));
    // A change that is no reset changes nothing.
    rig.send_changes(&[QpChange { qpn: 1_u64.into(), ..QpChange::default() }]);
    rig.settle();
    assert!(is_stored(&rig.judge(&write(FIRST_PSN + 2, 8)), 8));
    reset(&mut rig);
    assert!(rig.judge(&write(FIRST_PSN, 8)).errand.places);
    assert!(rig.judge(&write(FIRST_PSN + 1, 8)).errand.places);
}
