//! What the peer answers: refusals, data that were not asked for, and answers that mean nothing.

use stroma_abi::wire::opcode::{
    RC_ACKNOWLEDGE, RC_ATOMIC_ACKNOWLEDGE, RC_READ_RESPONSE_FIRST, RC_READ_RESPONSE_LAST,
    RC_READ_RESPONSE_MIDDLE, RC_READ_RESPONSE_ONLY,
};
use stroma_abi::wire::{AtomicAckEth, Extended, Header, NakCode, Opcode, Syndrome};
use stroma_tests::widths;
use stroma_verbs::{QueuePair, QueuePairState, Status};

use crate::packets::{aeth, packet};
use crate::stage::{CARD_PSN, MTU, Stage, is};

/// Where data go at the card, and where they come from at a peer whose memory nobody looks at.
const TARGET: usize = 4096;
const ANYWHERE: (u64, u32) = (0x1000, 0x42);
const GOOD: Syndrome = Syndrome::Ack { credits: 31 };

#[derive(Clone, Copy)]
enum Post {
    Write,
    Read(usize),
    Add,
}

/// An answer: op-code, PSNs behind the request's, bytes of payload, syndrome.
type Reply = (Opcode, u32, usize, Syndrome);

fn post(stage: &Stage, queue_pair: &QueuePair, post: Post) {
    let (address, key) = ANYWHERE;
    let batch = queue_pair.start().wr_id(1).signaled();
    let batch = match post {
        Post::Write => batch.write(&[stage.end.piece(0, 8)], address, key),
        Post::Read(length) => batch.read(&[stage.end.piece(TARGET, length)], address, key),
        Post::Add => batch.fetch_add(stage.end.piece(TARGET, 8), address, key, 1),
    };
    batch.post().expect("room");
    stage.next("the request");
}

fn reply(stage: &Stage, queue_pair: &QueuePair, (opcode, ahead, length, syndrome): Reply) {
    let mut answer = packet(opcode, CARD_PSN + ahead, length);
    answer.ack_request = false;
    let has = |header| opcode.headers.contains(&header);
    let atomic_ack = has(Header::AtomicAckEth).then_some(AtomicAckEth { original: 7 });
    answer.extended = if has(Header::Aeth) { aeth(syndrome) } else { Extended::default() };
    answer.extended.atomic_ack = atomic_ack;
    stage.send(queue_pair, &answer);
}

/// The request fails with this status, the next is flushed, no event is told.
fn fails(stage: &Stage, queue_pair: &QueuePair, what: &str, status: Status) {
    let found = stage.end.complete();
    assert_eq!((found.wr_id, found.status), (1, status), "{what}");
    assert!(is(queue_pair, QueuePairState::Error), "{what}");
    queue_pair.start().wr_id(2).nop().post().expect("room");
    let found = stage.end.complete();
    assert_eq!((found.wr_id, found.status), (2, Status::Flushed), "{what}");
    stage.rests(what);
}

#[test]
fn each_refusal_of_the_peer_has_its_status() {
    let cases = [
        (NakCode::InvalidRequest, Status::RemoteInvalid),
        (NakCode::RemoteAccess, Status::RemoteAccess),
        (NakCode::RemoteOperational, Status::RemoteOperation),
        (NakCode::InvalidRdRequest, Status::RemoteInvalid),
    ];
    for profile in widths!() {
        let stage = Stage::new(profile);
        for (code, status) in cases {
            for request in [Post::Write, Post::Read(100), Post::Add] {
                let queue_pair = stage.connect(|_| {});
                post(&stage, &queue_pair, request);
                reply(&stage, &queue_pair, (RC_ACKNOWLEDGE, 0, 0, Syndrome::Nak(code)));
                fails(&stage, &queue_pair, &format!("{profile:?}, {}", code.name()), status);
            }
        }
    }
}

#[test]
fn data_that_were_not_asked_for_fail_the_request_they_fall_into() {
    const FIRST: Reply = (RC_READ_RESPONSE_FIRST, 0, MTU, GOOD);
    let cases: [(&str, Post, &[Reply]); 12] = [
        ("READ data for a WRITE", Post::Write, &[(RC_READ_RESPONSE_ONLY, 0, 8, GOOD)]),
        ("the answer of an atomic for a WRITE", Post::Write, &[(RC_ATOMIC_ACKNOWLEDGE, 0, 0, GOOD)]),
        ("the answer of an atomic for a READ", Post::Read(8), &[(RC_ATOMIC_ACKNOWLEDGE, 0, 0, GOOD)]),
        ("READ data for an atomic", Post::Add, &[(RC_READ_RESPONSE_ONLY, 0, 8, GOOD)]),
        ("READ data shorter than asked for", Post::Read(100), &[(RC_READ_RESPONSE_ONLY, 0, 96, GOOD)]),
        ("READ data longer than asked for", Post::Read(100), &[(RC_READ_RESPONSE_ONLY, 0, 104, GOOD)]),
        ("READ data that end too early", Post::Read(700), &[(RC_READ_RESPONSE_ONLY, 0, MTU, GOOD)]),
        ("READ data that do not end", Post::Read(100), &[(RC_READ_RESPONSE_FIRST, 0, 100, GOOD)]),
        ("READ data that begin with a Middle", Post::Read(700), &[(RC_READ_RESPONSE_MIDDLE, 0, MTU, GOOD)]),
        ("a First that is not full", Post::Read(700), &[(RC_READ_RESPONSE_FIRST, 0, MTU - 4, GOOD)]),
        ("a First behind a First", Post::Read(700), &[FIRST, (RC_READ_RESPONSE_FIRST, 1, MTU, GOOD)]),
        ("a Last in the place of a Middle", Post::Read(700), &[FIRST, (RC_READ_RESPONSE_LAST, 1, 188, GOOD)]),
    ];
    for profile in widths!() {
        let stage = Stage::new(profile);
        for (name, request, replies) in cases {
            let what = format!("{profile:?}, {name}");
            stage.end.put(TARGET, &[0xee; 1024]);
            let queue_pair = stage.connect(|_| {});
            post(&stage, &queue_pair, request);
            for answer in replies {
                reply(&stage, &queue_pair, *answer);
            }
            fails(&stage, &queue_pair, &what, Status::BadResponse);
            let placed = (replies.len() - 1) * MTU;
            let rest = stage.end.bytes(TARGET + placed, 1024 - placed);
            assert!(rest.iter().all(|byte| *byte == 0xee), "{what}: placed");
        }
    }
}

#[test]
fn answers_that_answer_nothing_are_dropped_without_a_word() {
    // A code of five bits that the specification keeps for later, and a kind of answer that it does.
    const RESERVED: [Syndrome; 2] = [Syndrome::Reserved(0b011_00101), Syndrome::Reserved(0b010_00000)];
    let cases: [(&str, Reply); 5] = [
        ("an ACK of what was never sent", (RC_ACKNOWLEDGE, 5, 0, GOOD)),
        ("a NAK of what was never sent", (RC_ACKNOWLEDGE, 5, 0, Syndrome::Nak(NakCode::RemoteAccess))),
        ("READ data of what was never sent", (RC_READ_RESPONSE_ONLY, 5, 8, GOOD)),
        ("a NAK code that nobody knows", (RC_ACKNOWLEDGE, 0, 0, RESERVED[0])),
        ("a syndrome that nobody knows", (RC_ACKNOWLEDGE, 0, 0, RESERVED[1])),
    ];
    for profile in widths!() {
        let stage = Stage::new(profile);
        for (name, answer) in cases {
            let what = format!("{profile:?}, {name}");
            // Nothing is overdue before 1 ms.
            let queue_pair = stage.connect(|connection| connection.timeout = 8);
            post(&stage, &queue_pair, Post::Write);
            reply(&stage, &queue_pair, answer);
            stage.rests(&what);
            assert!(is(&queue_pair, QueuePairState::ReadyToSend), "{what}");
            reply(&stage, &queue_pair, (RC_ACKNOWLEDGE, 0, 0, GOOD));
            stage.end.expect(1);
            // Over, it is not ended by a late refusal either.
            reply(&stage, &queue_pair, (RC_ACKNOWLEDGE, 0, 0, Syndrome::Nak(NakCode::InvalidRequest)));
            stage.rests(&what);
            assert!(is(&queue_pair, QueuePairState::ReadyToSend), "{what}");
        }
    }
}
