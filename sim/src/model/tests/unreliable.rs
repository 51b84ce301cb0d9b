//! Unreliable connections: what departs is over, and of what arrives whole messages count.

use stroma_abi::desc::{Status, WorkOp};
use stroma_abi::wire::{Frame, Transport};

use super::rig::{Pair, list, number, sge};
use crate::model::{Dropped, Operation, Receive};

fn pair() -> Pair {
    Pair::simple_with(|settings| settings.unreliable = true)
}

fn post_receive(pair: &mut Pair, id: u64) {
    let pieces = list(&[sge(2, 0x8000 + 0x1000 * id, 0x1000)]);
    pair.ends[1].post_receive(number(1, 0), Receive { id, pieces });
}

/// The frames of what was posted, all of which have departed.
fn frames(pair: &mut Pair) -> Vec<Vec<u8>> {
    std::iter::from_fn(|| pair.ends[0].transmit(0)).collect()
}

/// Operation, receive and bytes of what has come.
fn received(pair: &mut Pair) -> Vec<(WorkOp, u64, u32)> {
    let next = || pair.ends[1].poll_receive(number(1, 0));
    std::iter::from_fn(next)
        .map(|received| {
            assert_eq!(received.status, Status::Success);
            (received.operation, received.id, received.bytes)
        })
        .collect()
}

#[test]
fn messages_complete_when_they_have_left_and_nobody_answers() {
    let mut pair = pair();
    (0..3).for_each(|id| post_receive(&mut pair, id));
    let operations = [Operation::Send, Operation::WriteImm(5), Operation::Write, Operation::SendImm(6)];
    for (id, operation) in (0..).zip(operations) {
        pair.post(id, operation, 700);
    }
    pair.run();
    let done: Vec<_> = std::iter::from_fn(|| pair.ends[0].poll(number(0, 0))).collect();
    assert_eq!(
        done.iter().map(|done| (done.id, done.status)).collect::<Vec<_>>(),
        (0..4).map(|id| (id, Status::Success)).collect::<Vec<_>>()
    );
    let expected = [(WorkOp::Send, 0, 700), (WorkOp::WriteImm, 1, 700), (WorkOp::SendImm, 2, 700)];
    assert_eq!(received(&mut pair), expected);
    assert!(pair.sent[1].is_empty() && pair.dropped.is_empty());
    for frame in &pair.sent[0] {
        let frame = Frame::parse(frame).unwrap();
        assert_eq!((frame.opcode().unwrap().transport, frame.bth.ack_request), (Transport::Uc, false));
    }
}

#[test]
fn whichever_packet_is_missing_the_next_message_has_the_receive() {
    for missing in 0..3 {
        let mut pair = pair();
        post_receive(&mut pair, 0);
        pair.post(0, Operation::Send, 700);
        pair.post(1, Operation::Send, 10);
        let arriving = frames(&mut pair);
        let outcomes: Vec<_> = (0..)
            .zip(&arriving)
            .filter(|(at, _)| *at != missing)
            .map(|(_, frame)| pair.ends[1].receive(0, frame))
            .collect();
        let dropped = outcomes.iter().filter(|outcome| **outcome == Err(Dropped::Broken)).count();
        assert_eq!(
            (dropped, received(&mut pair)),
            (2 - missing, vec![(WorkOp::Send, 0, 10)]),
            "without {missing}"
        );
        assert!(!pair.ends[1].queue_pair(number(1, 0)).unwrap().is_failed());
    }
}

#[test]
fn what_finds_no_receive_or_has_a_wrong_key_is_forgotten() {
    let mut pair = pair();
    pair.post(0, Operation::Send, 10);
    pair.ends[0].post(
        number(0, 0),
        crate::model::Work { remote_key: 9, ..super::rig::work(1, Operation::Write, 700) },
    );
    pair.run();
    assert_eq!(pair.dropped, vec![Dropped::Broken; 4]);
    post_receive(&mut pair, 0);
    pair.post(2, Operation::Send, 10);
    pair.run();
    assert_eq!(received(&mut pair), [(WorkOp::Send, 0, 10)]);
}

#[test]
fn a_receive_that_is_too_short_ends_with_its_message_and_nothing_else_does() {
    for length in [700, 300, 101] {
        let mut pair = pair();
        let short = list(&[sge(2, 0x8000, 100)]);
        pair.ends[1].post_receive(number(1, 0), Receive { id: 0, pieces: short });
        post_receive(&mut pair, 1);
        pair.post(0, Operation::Send, length);
        pair.post(1, Operation::Send, 10);
        pair.run();
        let found =
            pair.ends[1].poll_receive(number(1, 0)).map(|found| (found.id, found.status, found.bytes));
        assert_eq!(found, Some((0, Status::LocalLength, 0)), "{length} bytes");
        assert_eq!(received(&mut pair), [(WorkOp::Send, 1, 10)], "{length} bytes");
        assert!(!pair.ends[1].queue_pair(number(1, 0)).unwrap().is_failed());
    }
    // Broken off, it leaves its receive to the next message.
    let mut pair = pair();
    let short = list(&[sge(2, 0x8000, 100)]);
    pair.ends[1].post_receive(number(1, 0), Receive { id: 0, pieces: short });
    pair.post(0, Operation::Send, 700);
    pair.post(1, Operation::Send, 10);
    let arriving = frames(&mut pair);
    for frame in [&arriving[0], &arriving[3]] {
        pair.ends[1].receive(0, frame).unwrap();
    }
    assert_eq!(received(&mut pair), [(WorkOp::Send, 0, 10)]);
}
