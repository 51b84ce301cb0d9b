//! A receiver without receives, on both sides: what it says, how long it is left in peace, and for how often.

use stroma_abi::desc::Status;
use stroma_abi::wire::aeth::RNR_TIMER_US;
use stroma_abi::wire::{NakCode, Syndrome, opcode};

use super::requests::Bench as Asking;
use super::responses::{ACK, Bench, request};
use super::rig::{Pair, list, number, sge};
use crate::model::{Dropped, Operation, Receive, Settings};

const LATER: Syndrome = Syndrome::RnrNak { timer: 5 };

fn unready() -> Bench {
    Bench::with(|settings| settings.rnr_timer = 5)
}

#[test]
fn a_message_without_a_receive_is_put_off_and_what_is_behind_it_ignored() {
    let mut bench = unready();
    bench.ask(&super::responses::only(0, 8));
    let send = request(opcode::RC_SEND_ONLY, 1, 0, 8);
    assert_eq!(bench.ask(&send), [(1, LATER, 1)]);
    assert_eq!(bench.give(&request(opcode::RC_SEND_ONLY, 2, 0, 8)), Err(Dropped::Gap));
    assert_eq!(bench.ask(&send), [(1, LATER, 1)], "as often as it comes");
    bench.post(1, &[(0, 8)]);
    assert_eq!(bench.ask(&send), [(1, ACK, 2)]);
    assert_eq!(bench.received().len(), 1);
    assert!(!bench.responder.is_failed());
}

#[test]
fn a_write_with_immediate_data_is_put_off_at_its_end_alone() {
    let mut bench = unready();
    assert_eq!(bench.ask(&request(opcode::RC_WRITE_FIRST, 0, 300, 256)), [(0, ACK, 0)]);
    let before = bench.bytes(256, 44).to_vec();
    let last = request(opcode::RC_WRITE_LAST_IMM, 1, 0, 44);
    assert_eq!(bench.ask(&last), [(1, LATER, 0)]);
    assert_eq!(bench.bytes(256, 44), before);
    bench.post(1, &[]);
    assert_eq!(bench.ask(&last), [(1, ACK, 1)]);
    assert_eq!(bench.bytes(256, 44), [0xa5; 44]);
    let only = request(opcode::RC_WRITE_ONLY_IMM, 2, 8, 8);
    assert_eq!(bench.ask(&only), [(2, LATER, 1)]);
    bench.post(2, &[]);
    assert_eq!(bench.ask(&only), [(2, ACK, 2)]);
}

#[test]
fn later_packets_of_a_message_need_no_second_receive() {
    let mut bench = unready();
    bench.post(1, &[(0, 600)]);
    bench.ask(&request(opcode::RC_SEND_FIRST, 0, 0, 256));
    assert_eq!(bench.ask(&request(opcode::RC_SEND_LAST, 1, 0, 8)), [(1, ACK, 1)]);
}

/// A requester whose ticks are tenths of a microsecond, with one small SEND behind a small WRITE, both sent.
fn asking(rnr_retries: u8) -> Asking {
    let mut bench =
        Asking::with(|settings| (settings.rnr_retries, settings.ticks_per_ms) = (rnr_retries, 10_000));
    bench.post(1, Operation::Write, 8);
    bench.post(2, Operation::Send, 300);
    assert_eq!(bench.psns(0), [0, 1, 2]);
    bench
}

#[test]
fn the_requester_rests_for_the_time_of_the_code_and_no_timer_runs() {
    let mut bench = asking(7);
    bench.answer(1, LATER).unwrap();
    assert_eq!(bench.done(), [(1, Status::Success)], "all before it has arrived");
    let end = 10 * u64::from(RNR_TIMER_US[5]);
    assert_eq!((end, bench.requester.deadline()), (600, Some(600)));
    bench.requester.tick(599);
    assert!(bench.psns(599).is_empty());
    bench.requester.tick(600);
    assert_eq!(bench.psns(600), [1, 2]);
    assert_eq!(bench.requester.deadline(), Some(700), "the usual timer again");
}

#[test]
fn what_is_said_during_the_rest_does_not_shorten_it() {
    let mut bench = asking(1);
    bench.answer(1, LATER).unwrap();
    bench.answer(1, LATER).unwrap();
    bench.answer(1, Syndrome::Nak(NakCode::PsnSequence)).unwrap();
    bench.post(3, Operation::Write, 8);
    assert!(bench.psns(300).is_empty());
    assert_eq!(bench.requester.deadline(), Some(600));
    // An answer that crossed counts; the rest goes on, and then what is left is sent.
    bench.answer(1, ACK).unwrap();
    assert_eq!(bench.requester.deadline(), Some(600));
    bench.requester.tick(600);
    assert_eq!(bench.psns(600), [2, 3]);
}

#[test]
fn a_peer_that_never_is_ready_is_given_up_after_as_many_retries() {
    let mut bench = asking(2);
    for round in 0..2 {
        bench.answer(1, LATER).unwrap();
        bench.requester.tick(600);
        assert_eq!(bench.psns(0), [1, 2], "{round}");
    }
    bench.answer(1, LATER).unwrap();
    assert_eq!(bench.done(), [(1, Status::Success), (2, Status::RnrRetryExceeded)]);
    let mut bench = asking(0);
    bench.answer(1, LATER).unwrap();
    assert_eq!(bench.done(), [(1, Status::Success), (2, Status::RnrRetryExceeded)]);
}

#[test]
fn seven_retries_are_as_many_as_it_takes_and_none_of_the_others_is_used_up() {
    let mut bench = asking(7);
    for _ in 0..20 {
        bench.answer(1, LATER).unwrap();
        bench.requester.tick(600);
        bench.psns(0);
    }
    assert_eq!(bench.done(), [(1, Status::Success)]);
    assert!(!bench.requester.is_failed());
}

#[test]
fn progress_gives_the_retries_back() {
    let mut bench = asking(1);
    bench.post(3, Operation::Send, 8);
    bench.psns(0);
    for psn in [1, 3] {
        bench.answer(psn, LATER).unwrap();
        bench.requester.tick(600);
        bench.psns(0);
        bench.answer(if psn == 1 { 2 } else { 3 }, ACK).unwrap();
    }
    let good = |id| (id, Status::Success);
    assert_eq!(bench.done(), [good(1), good(2), good(3)]);
}

#[test]
fn every_code_stands_for_its_time_rounded_up() {
    let settings = Settings { ticks_per_ms: 156_250, ..super::rig::settings(0, 0, 256) };
    // 10 us are 1562.5 ticks; code 0 is the longest, 655.36 ms.
    assert_eq!((settings.rnr_ticks(1), settings.rnr_ticks(2)), (1563, 3125));
    assert_eq!(settings.rnr_ticks(0), 102_400_000);
}

#[test]
fn a_late_receive_gets_its_message_over_a_wire() {
    let mut pair = Pair::simple();
    pair.ends[0].post(number(0, 0), super::rig::work(1, Operation::SendImm(9), 700));
    pair.post(2, Operation::Write, 8);
    while pair.sent[1].len() < 3 {
        pair.step();
    }
    let pieces = list(&[sge(2, 0x2000, 600), sge(2, 0x3000, 100)]);
    pair.ends[1].post_receive(number(1, 0), Receive { id: 8, pieces });
    pair.run();
    let received = pair.ends[1].poll_receive(number(1, 0)).unwrap();
    assert_eq!((received.id, received.bytes, received.immediate), (8, 700, Some(9)));
    let done: Vec<_> = std::iter::from_fn(|| pair.ends[0].poll(number(0, 0))).collect();
    let expected = [(1, Status::Success, 700), (2, Status::Success, 8)];
    assert!(done.iter().map(|done| (done.id, done.status, done.bytes)).eq(expected));
    let source = &pair.ends[0].memory.region(1).unwrap().bytes[..700];
    let target = &pair.ends[1].memory.region(2).unwrap().bytes;
    assert_eq!((&target[8..600], &target[0x1000..0x1064]), (&source[8..600], &source[600..]));
}
