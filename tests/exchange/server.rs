//! The card as the server: it answers what the Linux client asked as the Linux server did, in the same pace.

use stroma_abi::wire::{NakCode, Syndrome};
use stroma_tests::widths;
use stroma_top::Profile;
use stroma_verbs::{AsyncEvent, QueuePair, QueuePairState, Status};

use crate::log::{self, Operation, Received, SERVER_BASE, SERVER_KEY};
use crate::recording::{Phase, Round, parsed, phases, syndrome};
use crate::stage::{Part, Stage, number};
use crate::wire::{Moved, assert_same, directed, refused};

/// Where the server received every message. The log does not say; with this place the hash of its buffer comes out.
const INBOX: usize = 0x8000;
/// Bytes of its receives: at least those of the longest message. The log does not say.
const ROOM: usize = 4096;

/// Sends the requests of a round to the card.
fn ask(stage: &Stage, queue_pair: &QueuePair, round: &Round) {
    let here = (stage.buffer.address(0).expect("the first byte"), stage.buffer.rkey());
    let moved = Moved { from: (SERVER_BASE, SERVER_KEY), to: here };
    for request in &round.requests {
        stage.send(directed(&moved.request(request), number(queue_pair)));
    }
}

/// The card answers this, frame for frame. It might merge acknowledgements; at this pace each message gets its own, as by Linux.
fn answers(stage: &mut Stage, expected: &[Vec<u8>], what: &str) {
    for answer in expected {
        assert_same(&stage.next(what).bytes, answer, what);
    }
}

fn post_receive(stage: &Stage, queue_pair: &QueuePair, wr_id: u64, room: usize) {
    let piece = stage.buffer.piece(INBOX, room).expect("inside the buffer");
    queue_pair.receives().and_then(|batch| batch.receive(wr_id, &[piece]).post()).expect("a receive");
}

fn is_failed(queue_pair: &QueuePair) -> bool {
    queue_pair.query().expect("a card").state == QueuePairState::Error as u8
}

fn first_phase(profile: Profile, phases: &[Phase]) {
    let phase = &phases[0];
    let mut stage = Stage::new(profile, Part::Server, phases);
    let queue_pair = stage.connect(phase);
    let expected = log::received();
    // No message of this phase had to wait for its receive.
    (0..expected.len() as u64).for_each(|wr_id| post_receive(&stage, &queue_pair, wr_id, ROOM));
    let mut solicited = Vec::new();
    for step in &phase.steps {
        let post = &step.posts[0];
        let what = format!("{profile:?}, operation {}, {:?}", post.number, post.operation);
        for round in &step.rounds {
            ask(&stage, &queue_pair, round);
            answers(&mut stage, &round.answers, &what);
        }
        if matches!(post.operation, Operation::Send | Operation::SendImm | Operation::WriteImm) {
            solicited.push(step.is_solicited());
        }
    }
    assert_eq!(solicited.len(), expected.len(), "a receive for each message that takes one");
    for ((wr_id, expected), is_solicited) in (0..).zip(expected).zip(solicited) {
        let found = stage.end.expect(wr_id);
        let (operation, length) = (found.op, found.length as usize);
        let received = Received { operation, length, immediate: found.immediate };
        assert_eq!((received, found.is_receive), (expected, true), "{profile:?}, receive {wr_id}");
        assert_eq!(found.is_solicited, is_solicited, "{profile:?}, receive {wr_id}");
    }
    stage.rests(&format!("{profile:?}"));
    assert_eq!(stage.hash(), log::hashes()[Part::Server as usize], "{profile:?}: the buffer");
}

#[test]
fn a_linux_client_is_answered_as_by_linux() {
    let phases = phases();
    for profile in widths!() {
        first_phase(profile, &phases);
    }
}

#[test]
fn a_linux_client_is_told_to_wait_until_a_receive_is_posted() {
    let phases = phases();
    for profile in widths!() {
        let mut stage = Stage::new(profile, Part::Server, &phases);
        let queue_pair = stage.connect(&phases[1]);
        let step = &phases[1].steps[0];
        let what = format!("{profile:?}, {:?}", step.posts[0].operation);
        let before = stage.bytes();
        let (last, early) = step.rounds.split_last().expect("rounds");
        for round in early {
            ask(&stage, &queue_pair, round);
            answers(&mut stage, &round.answers, &what);
        }
        stage.rests(&what);
        assert!(stage.bytes() == before, "{what}: nothing moved");
        post_receive(&stage, &queue_pair, 1, ROOM);
        ask(&stage, &queue_pair, last);
        answers(&mut stage, &last.answers, &what);
        // The server's log: "RNR recv success len 32".
        stage.end.received(1, 32);
        let mut expected = before;
        expected[INBOX..INBOX + 32].copy_from_slice(parsed(&last.requests[0]).payload);
        assert!(stage.bytes() == expected, "{what}: the message and nothing else");
        stage.rests(&what);
    }
}

#[test]
fn a_wrong_key_and_a_read_beyond_the_region_are_refused_as_by_linux() {
    let phases = phases();
    for profile in widths!() {
        let mut stage = Stage::new(profile, Part::Server, &phases);
        for phase in &phases[2..4] {
            let queue_pair = stage.connect(phase);
            let (step, before) = (&phase.steps[0], stage.bytes());
            let what = format!("{profile:?}, {:?}", step.posts[0].operation);
            ask(&stage, &queue_pair, &step.rounds[0]);
            answers(&mut stage, &step.rounds[0].answers, &what);
            assert!(is_failed(&queue_pair), "{what}");
            // No completion tells the server, so an event does.
            let event = stage.end.event();
            let told = matches!(event, AsyncEvent::QueuePairError { queue_pair: of, .. } if of == queue_pair.number());
            assert!(told, "{what}: {event:?}");
            stage.rests(&what);
            assert!(stage.bytes() == before, "{what}: nothing moved");
        }
    }
}

/// Linux 6.1 answers NAK 0x63, "remote operational error". The specification calls a message that is longer than
/// its receive an invalid request, NAK 0x61, and that is what the card answers.
#[test]
fn a_send_longer_than_its_receive_is_refused_as_the_specification_says() {
    const SHORT: usize = 16;
    let phases = phases();
    for profile in widths!() {
        let mut stage = Stage::new(profile, Part::Server, &phases);
        let queue_pair = stage.connect(&phases[4]);
        let round = &phases[4].steps[0].rounds[0];
        let what = format!("{profile:?}, {:?}", phases[4].steps[0].posts[0].operation);
        let before = stage.bytes();
        // The recorded receive was shorter than the message's 32 bytes; by how much the log does not say.
        post_receive(&stage, &queue_pair, 1, SHORT);
        ask(&stage, &queue_pair, round);
        assert_eq!(syndrome(&round.answers[0]), Some(Syndrome::Nak(NakCode::RemoteOperational)), "Linux");
        let expected = refused(&round.answers[0], NakCode::InvalidRequest);
        answers(&mut stage, &[expected], &what);
        let found = stage.end.complete();
        assert_eq!((found.wr_id, found.status, found.is_receive), (1, Status::LocalLength, true), "{what}");
        assert!(is_failed(&queue_pair), "{what}");
        stage.rests(&what);
        let after = stage.bytes();
        let is_kept = after[..INBOX] == before[..INBOX] && after[INBOX + SHORT..] == before[INBOX + SHORT..];
        assert!(is_kept, "{what}: nothing moved outside the receive");
    }
}
