//! The card as the client: for the same posts it sends what the Linux client sent, and what the Linux server answered makes it
//! complete them as Linux did.

use std::ops::Range;
use std::time::Duration;

use stroma_abi::wire::{NakCode, Syndrome};
use stroma_tests::widths;
use stroma_top::Profile;
use stroma_verbs::{Batch, QueuePair, QueuePairState, Status};

use crate::log::{self, Operation, Post, SERVER_BASE};
use crate::recording::{Phase, Round, Step, phases, syndrome};
use crate::stage::{Part, Stage, number};
use crate::wire::{assert_same, directed, refused};

/// How long the recorded RNR NAKs ask for silence: the specification's timer code 14.
const SILENCE: Duration = Duration::from_micros(1280);

/// How much later it may ask again: the way of the NAK to the card, a timer's step, and the WQE fetched once more.
const DELAY: Duration = Duration::from_micros(20);
/// When nobody has asked for silence.
const ANY_TIME: Range<u64> = 0..u64::MAX;

/// Adds a request to a batch. The server's addresses and keys are those of the recording.
fn add<'a>(batch: Batch<'a>, stage: &Stage, post: &Post) -> Batch<'a> {
    let piece = stage.buffer.piece(post.local, post.length).expect("inside the buffer");
    let (target, key, immediate) = (SERVER_BASE + post.remote, post.remote_key, post.immediate);
    match post.operation {
        Operation::Send | Operation::SendNotReady | Operation::SendTooLong => batch.send(&[piece]),
        Operation::SendImm => batch.send_imm(&[piece], immediate),
        Operation::Write | Operation::WriteWrongKey => batch.write(&[piece], target, key),
        Operation::WriteImm => batch.write_imm(&[piece], target, key, immediate),
        Operation::Read | Operation::ReadOutOfBounds => batch.read(&[piece], target, key),
        Operation::FetchAdd => batch.fetch_add(piece, target, key, post.first_operand),
        Operation::CompareSwap => {
            batch.compare_swap(piece, target, key, post.first_operand, post.second_operand)
        }
    }
}

/// Posts the requests of a step; the last of them is to complete.
fn post(stage: &Stage, queue_pair: &QueuePair, step: &Step) {
    let mut batch = queue_pair.start();
    for (index, post) in step.posts.iter().enumerate() {
        batch = batch.wr_id(post.number);
        if step.is_solicited() {
            batch = batch.solicited();
        }
        if index + 1 == step.posts.len() {
            batch = batch.signaled();
        }
        batch = add(batch, stage, post);
    }
    batch.post().expect("requests");
}

/// The card asks what Linux asked, in this time, and hears these answers. The time in which it is to ask again.
fn ask(
    stage: &mut Stage,
    queue_pair: &QueuePair,
    round: &Round,
    answers: &[Vec<u8>],
    (due, what): (Range<u64>, &str),
) -> Range<u64> {
    for request in &round.requests {
        let found = stage.next(what);
        assert_same(&found.bytes, request, what);
        assert!(due.contains(&found.cycle), "{what}: asked in cycle {}, not in {due:?}", found.cycle);
    }
    let now = stage.now();
    for answer in answers {
        stage.send(directed(answer, number(queue_pair)));
    }
    match answers.last().and_then(|answer| syndrome(answer)) {
        Some(Syndrome::RnrNak { .. }) => {
            now + stage.cycles(SILENCE)..now + stage.cycles(SILENCE) + stage.cycles(DELAY)
        }
        _ => ANY_TIME,
    }
}

/// All steps of a phase, up to each completion.
fn play(stage: &mut Stage, profile: Profile, phase: &Phase) -> QueuePair {
    let queue_pair = stage.connect(phase);
    for step in &phase.steps {
        let last = step.posts.last().expect("a post");
        let what = format!("{profile:?}, operation {}, {:?}", last.number, last.operation);
        post(stage, &queue_pair, step);
        let mut due = ANY_TIME;
        for round in &step.rounds {
            due = ask(stage, &queue_pair, round, &round.answers, (due, &what));
        }
        let found = stage.end.complete();
        assert_eq!((found.wr_id, found.status), (last.number, last.status()), "{what}");
    }
    stage.rests(&format!("{profile:?}"));
    queue_pair
}

fn state(queue_pair: &QueuePair) -> u8 {
    queue_pair.query().expect("a card").state
}

#[test]
fn a_linux_server_is_asked_as_by_linux() {
    let phases = phases();
    for profile in widths!() {
        let mut stage = Stage::new(profile, Part::Client, &phases);
        let queue_pair = play(&mut stage, profile, &phases[0]);
        assert_eq!(state(&queue_pair), QueuePairState::ReadyToSend as u8, "{profile:?}");
        assert_eq!(stage.hash(), log::hashes()[Part::Client as usize], "{profile:?}: the buffer");
    }
}

#[test]
fn a_linux_server_that_is_not_ready_is_asked_again_after_the_time_it_wants() {
    let phases = phases();
    for profile in widths!() {
        let mut stage = Stage::new(profile, Part::Client, &phases);
        let queue_pair = play(&mut stage, profile, &phases[1]);
        assert_eq!(state(&queue_pair), QueuePairState::ReadyToSend as u8, "{profile:?}");
    }
}

#[test]
fn refusals_of_a_linux_server_end_a_request_as_they_did_for_linux() {
    let phases = phases();
    for profile in widths!() {
        let mut stage = Stage::new(profile, Part::Client, &phases);
        for phase in &phases[2..] {
            let before = stage.bytes();
            let queue_pair = play(&mut stage, profile, phase);
            assert_eq!(state(&queue_pair), QueuePairState::Error as u8, "{profile:?}");
            assert!(stage.bytes() == before, "{profile:?}: nothing moved");
        }
    }
}

/// Linux 6.1 refuses a SEND longer than its receive with NAK 0x63, and its client reports a remote operation error; so does
/// the card in the story before. A server that keeps to the specification answers 0x61, a remote invalid request.
#[test]
fn a_server_that_refuses_a_long_send_as_the_specification_says_is_understood() {
    let phases = phases();
    for profile in widths!() {
        let mut stage = Stage::new(profile, Part::Client, &phases);
        let queue_pair = stage.connect(&phases[4]);
        let step = &phases[4].steps[0];
        let answer = refused(&step.rounds[0].answers[0], NakCode::InvalidRequest);
        post(&stage, &queue_pair, step);
        ask(&mut stage, &queue_pair, &step.rounds[0], &[answer], (ANY_TIME, "a SEND that is too long"));
        let found = stage.end.complete();
        assert_eq!((found.wr_id, found.status), (step.posts[0].number, Status::RemoteInvalid), "{profile:?}");
    }
}
