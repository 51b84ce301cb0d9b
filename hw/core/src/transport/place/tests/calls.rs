//! RPCs: what goes to kernels, and what is told of it.

use stroma_verilate::Pause;

use super::corners::{EVEN, ODD, refused, request, rng, write};
use super::errands::{blank, bytes, call};
use crate::fabric::records::{Calling, NO_KERNEL};
use crate::state::access::Cause;
use crate::transport::place::model::Visit;
use crate::transport::place::rig::{Rig, STREAMS};
use crate::transport::records::{Answer, Errand};

/// Streams that pause: answers, packets of kernels, calls.
const TASK: usize = 8;
const CALL_DATA: usize = 14;
const CALL: usize = 15;

fn stall(at: usize) -> [Pause; STREAMS] {
    let mut all = [(); STREAMS].map(|()| Pause::None);
    all[at] = Pause::Always;
    all
}

fn free() -> [Pause; STREAMS] {
    [(); STREAMS].map(|()| Pause::None)
}

/// A packet of an RPC; one that ends it answers.
fn packet(calling: Calling, ends: bool, kernel: u8, len: u64) -> (Errand, Vec<u8>) {
    let (errand, bytes) = call(&mut rng(), calling, kernel, len);
    let answer = if ends { Answer::Result } else { Answer::None };
    let errand = Errand { call_ends: ends, answer: (answer as u64).into(), fresh: ends, ..errand };
    (errand, bytes)
}

fn behind_a_failure() -> Visit {
    request(write(ODD, 8, refused(Cause::Key)))
}

#[test]
fn payload_of_an_rpc_goes_to_its_kernel_and_its_call_follows() {
    let mut rig = Rig::<64>::new();
    let all = [
        packet(Calling::Begins, false, 3, 256),
        packet(Calling::GoesOn, false, 3, 256),
        packet(Calling::GoesOn, true, 3, 1),
        packet(Calling::Begins, true, 14, 9),
        packet(Calling::Begins, true, 0, 0),
    ];
    rig.send(&all.clone().map(request));
    let passages: Vec<(u64, bool, usize)> = rig
        .expected
        .feeds
        .iter()
        .map(|(passage, bytes)| (passage.kernel.into(), passage.begins, bytes.len()))
        .collect();
    assert_eq!(passages, [(3, true, 256), (3, false, 256), (3, false, 1), (14, true, 9)]);
    assert_eq!((rig.expected.calls.len(), rig.expected.tasks.len()), (5, 3));
    assert_eq!((rig.expected.questions.len(), rig.expected.writes.len()), (0, 0));
    for ((sent, _), (given, _)) in all.iter().zip(&rig.expected.calls) {
        assert_eq!((given.target, given.key, given.length), (sent.va, sent.key, sent.length));
        assert_eq!(given.rights, sent.need, "what the peer may do");
        assert_eq!((given.psn, given.msn, given.reserved), (sent.psn, sent.msn, sent.reserved));
        assert_eq!((given.place, given.kernel, given.gives_up), (sent.place, sent.kernel, false));
    }
    rig.finish();
}

#[test]
fn the_answer_to_an_rpc_names_its_place() {
    let mut rig = Rig::<64>::new();
    let (errand, bytes) = packet(Calling::Begins, true, 3, 8);
    rig.send(&[request((Errand { place: 11.into(), ..errand }, bytes))]);
    let task = rig.expected.tasks[0].0;
    assert_eq!((task.answer.index(), u64::from(task.place), task.fresh), (Answer::Result as usize, 11, true));
    assert_eq!((task.psn, task.msn, task.staged), (errand.psn, errand.msn, false));
    rig.finish();
}

#[test]
fn without_a_kernel_payload_is_thrown_away_and_the_call_says_why() {
    let mut rig = Rig::<64>::new();
    let (errand, bytes) = packet(Calling::Begins, true, NO_KERNEL, 100);
    rig.send(&[request((Errand { refusal: 5.into(), ..errand }, bytes)), request(write(EVEN, 9, 7))]);
    assert_eq!((rig.expected.feeds.len(), rig.expected.calls.len()), (0, 1));
    assert_eq!(u64::from(rig.expected.calls[0].0.refusal), 5);
    rig.finish();
}

#[test]
fn an_rpc_that_came_again_gives_its_call_alone_whatever_it_brings() {
    let mut rig = Rig::<64>::new();
    rig.send(&[0, 1, 200].map(|len| request(packet(Calling::Again, false, 3, len))));
    assert_eq!((rig.expected.feeds.len(), rig.expected.calls.len()), (0, 3));
    assert!(rig.expected.tasks.is_empty());
    rig.finish();
}

#[test]
fn behind_a_failure_nothing_goes_to_a_kernel_and_every_call_gives_up() {
    let mut rig = Rig::<64>::new();
    let all = [
        behind_a_failure(),
        request(packet(Calling::Begins, true, 3, 100)),
        request(packet(Calling::Begins, false, 3, 256)),
        request(packet(Calling::GoesOn, true, 3, 7)),
        request(packet(Calling::Again, false, 3, 7)),
        request(packet(Calling::Begins, true, NO_KERNEL, 7)),
    ];
    rig.send(&all);
    assert_eq!((rig.expected.feeds.len(), rig.expected.calls.len(), rig.expected.tasks.len()), (0, 5, 1));
    assert!(rig.expected.calls.iter().all(|(call, _)| call.gives_up));
    rig.finish();
    rig.change(1, true);
    rig.send(&all[1..]);
    assert!(rig.expected.calls.iter().all(|(call, _)| !call.gives_up));
    rig.finish();
}

#[test]
fn a_call_waits_until_its_answer_is_taken_and_those_before() {
    let mut rig = Rig::<64>::new();
    for before in [true, false] {
        rig.pause(stall(TASK));
        let acknowledged = request(write(EVEN, 8, 7));
        let all = if before {
            [acknowledged, request(packet(Calling::GoesOn, false, 3, 8))]
        } else {
            [request(packet(Calling::Begins, true, 3, 8)), acknowledged]
        };
        rig.send(&all);
        rig.run(100);
        assert_eq!((rig.seen.feeds, rig.seen.calls, rig.port("call$valid")), (1, 0, false));
        rig.pause(free());
        rig.finish();
    }
}

#[test]
fn a_call_waits_until_its_payload_is_taken_and_nothing_overtakes_it() {
    let mut rig = Rig::<64>::new();
    rig.pause(stall(CALL_DATA));
    rig.send(&[
        request(write(EVEN, 8, 7)),
        request(packet(Calling::Begins, false, 3, 64)),
        request(write(EVEN, 8, 7)),
    ]);
    rig.run(200);
    assert_eq!((rig.seen.writes, rig.seen.feeds, rig.seen.tasks, rig.left), (1, 0, 1, 1));
    assert!(!rig.port("call$valid"));
    rig.pause(free());
    rig.finish();
}

#[test]
fn a_packet_of_one_stream_counts_for_no_errand_of_the_other() {
    let mut rig = Rig::<64>::new();
    let all: Vec<Visit> = (0..40)
        .flat_map(|_| [request(write(EVEN, 8, 7)), request(packet(Calling::Begins, false, 3, 8))])
        .collect();
    for (at, go) in [7, CALL_DATA].into_iter().flat_map(|at| (1..6).map(move |go| (at, go))) {
        let mut pauses = free();
        pauses[at] = Pause::Burst { go, pause: 12 };
        rig.pause(pauses);
        rig.send(&all);
        rig.finish();
    }
}

#[test]
fn two_calls_wait_untaken_and_their_arrivals_have_left() {
    let mut rig = Rig::<64>::new();
    rig.pause(stall(CALL));
    let answer = (Answer::Acknowledge as u64).into();
    let plain = request((Errand { answer, ..blank(&mut rng()) }, vec![]));
    let one = || request(packet(Calling::Begins, true, 3, 8));
    rig.send(&[one(), one(), plain, one()]);
    rig.run(100);
    assert_eq!((rig.seen.calls, rig.seen.tasks, rig.left), (0, 4, 3));
    assert!(rig.port("busy"));
    rig.pause(free());
    rig.finish();
}

fn every_length<const D: usize>() {
    let mut rig = Rig::<D>::new();
    let mut rng = rng();
    let lengths = [1, 7, 8, 9, 63, 64, 65, 128, 4095, 4096];
    for len in lengths {
        let errand = packet(Calling::Begins, false, 3, len).0;
        let data = request((errand, bytes(&mut rng, len)));
        rig.send(&[request(write(ODD - 3, 8, 7)), data.clone(), data, request(write(ODD - 3, 8, 7))]);
        rig.finish();
    }
}

#[test]
fn payload_of_every_length_goes_to_a_kernel_between_packets_that_are_cut() {
    every_length::<64>();
    every_length::<512>();
}
