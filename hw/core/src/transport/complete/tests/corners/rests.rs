use stroma_abi::desc::Status;
use stroma_abi::desc::WorkOp::{self, Read, Send, SendImm, Write, WriteImm};
use stroma_abi::wire::{Syndrome, opcode};

use super::{ACK, FLUSHED, LOST, MTU, SUCCESS, after_sending, completions, is_nothing, rewinds, send};
use crate::transport::complete::rig::{Given, Rig, Settings};
use crate::transport::records::{Arrival, Occasion, SentRow};

const CODE: u8 = 12;
const UNREADY: Syndrome = Syndrome::RnrNak { timer: CODE };

/// Messages; the PSN at which a rest begins; then an answer to all; the message that the rewind names.
type Case<'a> = (&'a [(WorkOp, u64)], u64, fn(&Rig) -> Arrival, (u64, u64, u64));

fn unready(rig: &Rig, psn: u64) -> Arrival {
    rig.acknowledge(2, psn, UNREADY)
}

fn timeout(rig: &Rig) -> Arrival {
    rig.nudge(2, Occasion::Timeout)
}

/// Whether each rewind holds, and each alarm's code and whether it is that of a rest.
fn manner(given: &Given) -> (Vec<bool>, Vec<(u64, bool)>) {
    let rewinds = given.rewinds.iter().map(|(_, rewind)| rewind.holds);
    let alarms = given.alarms.iter().map(|(_, alarm)| (u64::from(alarm.timeout), alarm.rests));
    (rewinds.collect(), alarms.collect())
}

fn rest() -> (Vec<bool>, Vec<(u64, bool)>) {
    (vec![true], vec![(CODE.into(), true)])
}

fn wake() -> (Vec<bool>, Vec<(u64, bool)>) {
    (vec![false], vec![(14, false)])
}

#[test]
fn a_peer_that_is_not_ready_has_what_is_before_and_is_sent_the_rest_later() {
    for op in [Send, SendImm, WriteImm, Write, Read] {
        let mut rig = after_sending(0xff_fffe, &[(Send, 10), (op, 4 * MTU), (Write, 1)]);
        let given = rig.outcome(&unready(&rig, 0xff_ffff));
        assert_eq!((completions(&given), rewinds(&given)), (vec![(0, SUCCESS, 10)], vec![(1, 0xff_ffff, 0)]));
        assert_eq!((manner(&given), given.timeouts.len()), (rest(), 0), "{op:?}");
        let given = rig.outcome(&timeout(&rig));
        assert_eq!(rewinds(&given), [(1, 0xff_ffff, 0)]);
        assert_eq!((manner(&given), given.timeouts.len()), (wake(), 0), "{op:?}");
    }
}

#[test]
fn a_message_may_have_to_wait_in_its_middle() {
    // The last packet of a WRITE with immediate data needs a receive.
    let mut rig = after_sending(0xff_fffe, &[(WriteImm, 4 * MTU)]);
    let given = rig.outcome(&unready(&rig, 1));
    assert_eq!((rewinds(&given), manner(&given)), (vec![(0, 1, 3)], rest()));
    let given = rig.outcome(&timeout(&rig));
    assert_eq!((rewinds(&given), manner(&given)), (vec![(0, 1, 3)], wake()));
}

#[test]
fn every_timer_code_reaches_the_timer() {
    for timer in 0..32 {
        let mut rig = after_sending(5, &[(Send, 1)]);
        let given = rig.outcome(&rig.acknowledge(2, 5, Syndrome::RnrNak { timer }));
        assert_eq!(manner(&given), (vec![true], vec![(timer.into(), true)]));
    }
}

#[test]
fn while_it_rests_answers_count_but_nothing_is_sent_and_no_timer_set() {
    let messages = [(Send, 1), (Send, 3 * MTU), (Write, 1), (Read, 1), (Send, 1)];
    let mut rig = after_sending(5, &messages);
    assert_eq!(manner(&rig.outcome(&unready(&rig, 5))), rest());
    assert!(is_nothing(&rig.outcome(&unready(&rig, 5))), "again");
    assert!(is_nothing(&rig.outcome(&rig.acknowledge(2, 5, LOST))), "the same");
    for (name, arrival, ended) in [
        ("not ready", unready(&rig, 6), vec![(0, SUCCESS, 1)]),
        ("missing", rig.acknowledge(2, 7, LOST), vec![]),
        ("arrived", rig.acknowledge(2, 9, ACK), vec![(1, SUCCESS, 3 * MTU), (2, SUCCESS, 1)]),
        ("data are missing", rig.acknowledge(2, 11, ACK), vec![]),
        ("data", rig.data(2, 10, opcode::RC_READ_RESPONSE_ONLY, 1), vec![(3, SUCCESS, 1)]),
    ] {
        let given = rig.outcome(&arrival);
        assert_eq!((completions(&given), manner(&given)), (ended, (vec![], vec![])), "{name}");
    }
    let given = rig.outcome(&timeout(&rig));
    assert_eq!((rewinds(&given), manner(&given), given.timeouts.len()), (vec![(4, 11, 0)], wake(), 0));
}

#[test]
fn after_its_rest_it_is_as_if_something_had_been_lost() {
    let mut rig = after_sending(5, &[(Send, 2 * MTU), (Send, 1)]);
    rig.outcome(&unready(&rig, 5));
    rig.outcome(&timeout(&rig));
    assert_eq!(rewinds(&rig.outcome(&rig.acknowledge(2, 5, LOST))), [(0, 5, 0)], "and is lost");
    let given = rig.outcome(&timeout(&rig));
    assert_eq!((rewinds(&given), manner(&given), given.timeouts.len()), (vec![(0, 5, 0)], wake(), 1));
    // It may have to rest again, and progress lets losses count again.
    assert_eq!(manner(&rig.outcome(&unready(&rig, 5))), rest());
    rig.outcome(&timeout(&rig));
    rig.outcome(&rig.acknowledge(2, 5, ACK));
    assert_eq!(rewinds(&rig.outcome(&rig.acknowledge(2, 6, LOST))), [(0, 6, 1)]);
}

#[test]
fn rests_are_counted_from_the_last_progress() {
    for rnr_retry in [0, 1, 6] {
        let mut rig = Rig::default();
        rig.settings[2] = Settings { rnr_retry, ..Settings::default() };
        send(&mut rig, 50, &[(Send, 1), (Send, 1), (Send, 1), (Send, 1)]);
        for psn in [50, 51] {
            for _ in 0..rnr_retry {
                assert_eq!(manner(&rig.outcome(&unready(&rig, psn))), rest());
                rig.outcome(&timeout(&rig));
            }
            rig.outcome(&rig.acknowledge(2, psn, ACK));
        }
        for _ in 0..rnr_retry {
            rig.outcome(&unready(&rig, 52));
            rig.outcome(&timeout(&rig));
        }
        let given = rig.outcome(&unready(&rig, 52));
        let status = Status::RnrRetryExceeded as u64;
        assert_eq!(completions(&given), [(2, status, 0)], "{rnr_retry} rests");
        assert!(given.errands[0].1.fails && given.rewinds.is_empty() && given.alarms.is_empty());
        assert!(is_nothing(&rig.outcome(&rig.acknowledge(2, 53, ACK))), "it has failed");
        assert_eq!(completions(&rig.outcome(&rig.nudge(2, Occasion::Flush))), [(3, FLUSHED, 0)]);
    }
}

#[test]
fn what_the_same_answer_ends_is_progress() {
    let mut rig = Rig::default();
    rig.settings[2] = Settings { rnr_retry: 1, ..Settings::default() };
    send(&mut rig, 50, &[(Send, 1), (WriteImm, 2 * MTU), (Send, 1)]);
    for psn in [50, 51, 52, 53] {
        assert_eq!(manner(&rig.outcome(&unready(&rig, psn))), rest());
        rig.outcome(&timeout(&rig));
    }
    let given = rig.outcome(&unready(&rig, 53));
    assert_eq!(completions(&given), [(2, Status::RnrRetryExceeded as u64, 0)]);
}

#[test]
fn seven_retries_are_without_end() {
    let mut rig = after_sending(5, &[(Send, 1)]);
    for _ in 0..20 {
        assert_eq!(manner(&rig.outcome(&unready(&rig, 5))), rest());
        assert_eq!(manner(&rig.outcome(&timeout(&rig))), wake());
    }
}

#[test]
fn a_rest_is_no_retry() {
    let mut rig = Rig::default();
    rig.settings[2] = Settings { retry: 0, ..Settings::default() };
    send(&mut rig, 5, &[(Send, 1)]);
    for _ in 0..3 {
        assert_eq!(manner(&rig.outcome(&unready(&rig, 5))), rest());
        assert_eq!(manner(&rig.outcome(&timeout(&rig))), wake());
    }
    assert_eq!(completions(&rig.outcome(&timeout(&rig))), [(0, Status::RetryExceeded as u64, 0)]);
}

#[test]
fn with_nothing_left_it_rests_no_more() {
    let only = opcode::RC_READ_RESPONSE_ONLY;
    let last = opcode::RC_READ_RESPONSE_LAST;
    let cases: [Case; 4] = [
        (&[(Send, 1)], 5, |rig| rig.acknowledge(2, 5, ACK), (0, 5, 0)),
        (&[(Send, 1), (WriteImm, 3 * MTU)], 7, |rig| rig.acknowledge(2, 8, ACK), (1, 7, 1)),
        (&[(Send, 1), (Write, 3 * MTU)], 5, |rig| rig.acknowledge(2, 8, ACK), (1, 6, 0)),
        (&[(Send, 1), (Read, 9)], 5, |rig| rig.data(2, 6, opcode::RC_READ_RESPONSE_ONLY, 9), (1, 6, 0)),
    ];
    for (messages, psn, answer, named) in cases {
        let mut rig = after_sending(5, messages);
        rig.outcome(&unready(&rig, psn));
        let given = rig.outcome(&answer(&rig));
        assert_eq!((rewinds(&given), manner(&given)), (vec![named], wake()));
        assert!(is_nothing(&rig.outcome(&timeout(&rig))), "the timer of the rest");
        // What comes then is as ever.
        let (next, psn) =
            (messages.len() as u64, 5 + messages.iter().map(|(_, l)| l.div_ceil(MTU)).sum::<u64>());
        send(&mut rig, psn, &[(Send, 1), (Read, 2 * MTU)]);
        assert_eq!(rewinds(&rig.outcome(&rig.acknowledge(2, psn, LOST))), [(next, psn, 0)]);
        let given = rig.outcome(&rig.data(2, psn + 1, opcode::RC_READ_RESPONSE_FIRST, MTU));
        assert_eq!((completions(&given).len(), given.alarms.len()), (1, 1));
        assert_eq!(
            completions(&rig.outcome(&rig.data(2, psn + 2, only, MTU)))[0].1,
            Status::BadResponse as u64
        );
    }
    // A READ whose first half came before.
    let mut rig = after_sending(5, &[(Read, 2 * MTU)]);
    rig.outcome(&rig.data(2, 5, opcode::RC_READ_RESPONSE_FIRST, MTU));
    assert_eq!(rewinds(&rig.outcome(&unready(&rig, 6))), [(0, 6, 1)]);
    let given = rig.outcome(&rig.data(2, 6, last, MTU));
    assert_eq!((rewinds(&given), manner(&given)), (vec![(0, 6, 1)], wake()));
}

#[test]
fn a_message_that_waits_for_its_turn_is_sent_after_the_rest() {
    let mut rig = Rig::default();
    let message = rig.message(2, Send, 5 * MTU, 70);
    rig.admit(2, message, 2);
    rig.outcome(&unready(&rig, 70));
    rig.outcome(&rig.acknowledge(2, 71, ACK));
    let given = rig.outcome(&timeout(&rig));
    assert_eq!((rewinds(&given), manner(&given), given.timeouts.len()), (vec![(0, 72, 2)], wake(), 0));
    rig.write_row(2, SentRow { head: 1.into(), frontier: 75_u64.into() });
    assert_eq!(completions(&rig.outcome(&rig.acknowledge(2, 74, ACK))), [(0, SUCCESS, 5 * MTU)]);
}

#[test]
fn what_was_answered_before_or_never_sent_begins_no_rest() {
    let mut rig = after_sending(5, &[(Send, 1), (Send, 1)]);
    rig.outcome(&rig.acknowledge(2, 5, ACK));
    assert!(is_nothing(&rig.outcome(&unready(&rig, 5))), "answered before");
    assert!(is_nothing(&rig.outcome(&unready(&rig, 7))), "never sent");
    assert_eq!(rig.outcome(&timeout(&rig)).timeouts.len(), 1, "it does not rest");
}

#[test]
fn a_read_before_it_misses_its_data_first() {
    let mut rig = after_sending(5, &[(Read, 1), (Send, 1)]);
    let given = rig.outcome(&unready(&rig, 6));
    assert_eq!((rewinds(&given), manner(&given)), (vec![(0, 5, 0)], wake()));
}

#[test]
fn a_rest_ends_with_its_queue_pair() {
    let mut rig = after_sending(5, &[(Send, 1), (Send, 1)]);
    rig.outcome(&unready(&rig, 5));
    let given = rig.outcome(&rig.nudge(2, Occasion::Flush));
    assert_eq!(completions(&given), [(0, FLUSHED, 0), (1, FLUSHED, 0)]);
    assert_eq!(manner(&given), (vec![], vec![]));
    assert!(is_nothing(&rig.outcome(&timeout(&rig))), "it has failed");
    rig.tell(2, true);
    rig.begin(2, 9);
    send(&mut rig, 9, &[(Send, 1)]);
    assert_eq!(rig.outcome(&timeout(&rig)).timeouts.len(), 1, "it rests no more");
}
