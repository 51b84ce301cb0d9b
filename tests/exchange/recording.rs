//! The recorded frames beside the operations that caused them.

use stroma_abi::wire::{Frame, Position, Role, Syndrome};
use stroma_abi::{Psn, Qpn};
use stroma_sim::pcap;
use stroma_tests::vectors;

use crate::log::{self, Post};

/// Requests, and the answers before which the client sent no more.
#[derive(Default)]
pub(crate) struct Round {
    pub(crate) requests: Vec<Vec<u8>>,
    pub(crate) answers: Vec<Vec<u8>>,
}

/// An operation, or several that were posted together, and all that was said about it.
pub(crate) struct Step {
    pub(crate) posts: Vec<Post>,
    pub(crate) rounds: Vec<Round>,
}

impl Step {
    /// The log does not say who asked for an event; the frames do.
    pub(crate) fn is_solicited(&self) -> bool {
        let mut requests = self.rounds.iter().flat_map(|round| &round.requests);
        requests.any(|bytes| parsed(bytes).bth.solicited)
    }
}

/// All that happened on one queue pair, which had the same number at both ends.
pub(crate) struct Phase {
    pub(crate) queue_pair: Qpn,
    /// First PSNs: the client's, the server's.
    pub(crate) psns: [Psn; 2],
    pub(crate) steps: Vec<Step>,
}

/// A frame of which it is known that it is whole.
pub(crate) fn parsed(bytes: &[u8]) -> Frame<'_> {
    Frame::parse(bytes).unwrap_or_else(|reject| panic!("no RoCE frame: {reject:?}"))
}

/// What an answer says.
pub(crate) fn syndrome(bytes: &[u8]) -> Option<Syndrome> {
    parsed(bytes).extended.aeth.map(|aeth| Syndrome::decode(aeth.syndrome))
}

fn is_request(bytes: &[u8]) -> bool {
    parsed(bytes).opcode().is_some_and(|opcode| opcode.role == Role::Request)
}

/// Every frame of the exchange, in the order of the capture.
fn rounds() -> Vec<Round> {
    let captured = pcap::read(&vectors().join("golden_rxe61.pcap")).expect("the capture is there");
    let mut rounds = vec![Round::default()];
    for frame in captured {
        let last = rounds.last_mut().expect("it begins with one");
        match (is_request(&frame.bytes), last.answers.is_empty()) {
            (false, _) => last.answers.push(frame.bytes),
            (true, true) => last.requests.push(frame.bytes),
            (true, false) => rounds.push(Round { requests: vec![frame.bytes], answers: Vec::new() }),
        }
    }
    rounds
}

/// How many messages begin in a round.
fn begun(round: &Round) -> usize {
    let begins = |bytes: &&Vec<u8>| {
        let opcode = parsed(bytes).opcode().expect("a frame that parses has one");
        matches!(opcode.position, Position::First | Position::Only)
    };
    round.requests.iter().filter(begins).count()
}

/// Takes the rounds of these operations: until as many messages have begun, and the server was ready for the last.
fn take(posts: usize, rounds: &mut impl Iterator<Item = Round>) -> Vec<Round> {
    let (mut taken, mut messages) = (Vec::new(), 0);
    loop {
        let round = rounds.next().expect("the capture goes as far as the log");
        let last = round.answers.last().and_then(|bytes| syndrome(bytes));
        let is_ready = !matches!(last, Some(Syndrome::RnrNak { .. }));
        messages += begun(&round);
        taken.push(round);
        if messages >= posts && is_ready {
            return taken;
        }
    }
}

/// The whole exchange.
pub(crate) fn phases() -> Vec<Phase> {
    let mut rounds = rounds().into_iter();
    let phase = |chapter: log::Chapter| {
        let step = |posts: Vec<Post>| Step { rounds: take(posts.len(), &mut rounds), posts };
        let steps: Vec<Step> = chapter.posts.into_iter().map(step).collect();
        let queue_pair = parsed(&steps[0].rounds[0].requests[0]).bth.destination_qp;
        Phase { queue_pair, psns: chapter.psns, steps }
    };
    let phases: Vec<Phase> = log::chapters().into_iter().map(phase).collect();
    assert!(rounds.next().is_none(), "the log goes as far as the capture");
    phases
}

#[test]
fn the_log_tells_of_every_frame() {
    let phases = phases();
    // README.md: SENDs to pipelined WRITEs, then one queue pair each for four errors.
    assert_eq!(phases.iter().map(|phase| phase.steps.len()).collect::<Vec<_>>(), [34, 1, 1, 1, 1]);
    assert_eq!(phases.iter().map(|phase| phase.queue_pair.value()).collect::<Vec<_>>(), [17, 18, 19, 20, 21]);
    let frames = |round: &Round| round.requests.len() + round.answers.len();
    let all = phases.iter().flat_map(|phase| &phase.steps).flat_map(|step| &step.rounds);
    assert_eq!(all.map(frames).sum::<usize>(), 124, "frames of the capture");
    assert_eq!(
        phases[0].steps[33].rounds.len(),
        3,
        "the client did not wait for all of the pipelined WRITEs"
    );
    assert_eq!(phases[1].steps[0].rounds.len(), 10, "the server was not ready nine times");
    assert!(phases[0].steps[11].is_solicited() && !phases[0].steps[10].is_solicited());
}
