//! Corners, by name.

use stroma_abi::desc::Status;
use stroma_verilate::{Pause, SplitMix64};

use super::errands::{blank, place, visits};
use crate::state::access::Cause;
use crate::transport::place::model::Visit;
use crate::transport::place::model::memory::{LISTLESS, REFUSED};
use crate::transport::place::rig::{Rig, STREAMS};
use crate::transport::records::{Answer, Errand};

/// An even page, behind which an odd one lies.
pub(super) const EVEN: u64 = 0x9_0000_2000;
pub(super) const ODD: u64 = EVEN + 0x1000;

pub(super) fn rng() -> SplitMix64 {
    SplitMix64::new(9)
}

/// A key that is refused in odd pages, for this cause.
pub(super) fn refused(cause: Cause) -> u64 {
    match cause {
        Cause::PageList => u64::from(LISTLESS) | 7,
        cause => u64::from(REFUSED) | (cause as u64) << 24 | 7,
    }
}

/// One request: an errand that places `len` bytes and is acknowledged.
pub(super) fn write(va: u64, len: u64, key: u64) -> (Errand, Vec<u8>) {
    let (errand, bytes) = place(&mut rng(), va, len);
    let answer = (Answer::Acknowledge as u64).into();
    (Errand { key: key.into(), answer, msn: 0x12.into(), counts: true, ..errand }, bytes)
}

pub(super) fn request(errand: (Errand, Vec<u8>)) -> Visit {
    Visit::Request(vec![errand])
}

/// Packets written; syndrome and MSN of tasks; status of errors, and whether untold; status and vendor code of completions.
pub(super) type Ends = (usize, Vec<(u64, u64)>, Vec<(u64, bool)>, Vec<(u64, u64)>);

/// Runs arrivals; what comes of them.
pub(super) fn ends(rig: &mut Rig<64>, visits: &[Visit]) -> Ends {
    rig.send(visits);
    let expected = &rig.expected;
    let tasks = expected.tasks.iter().map(|(task, _)| (task.syndrome.into(), task.msn.into())).collect();
    let errors = expected.errors.iter().map(|(error, _)| (error.status.into(), error.untold)).collect();
    let dones = expected.dones.iter().map(|(done, _)| (done.status.into(), done.vendor.into())).collect();
    let all = (expected.writes.len(), tasks, errors, dones);
    rig.finish();
    all
}

pub(super) const NAK_ACCESS: u64 = 0x62;
pub(super) const NAK_OPERATION: u64 = 0x63;
pub(super) const GENERAL: u64 = 21;
pub(super) const PROTECTION: u64 = 4;
pub(super) const FLUSHED: u64 = 5;

#[test]
fn a_refused_request_is_answered_with_a_nak_that_does_not_count_it() {
    let mut rig = Rig::<64>::new();
    for cause in [Cause::Key, Cause::Domain, Cause::Rights, Cause::Bounds] {
        let found = ends(&mut rig, &[request(write(ODD, 100, refused(cause)))]);
        assert_eq!(found, (0, vec![(NAK_ACCESS, 0x11)], vec![(10, true)], vec![]));
        rig.change(1, true);
    }
    let (errand, bytes) = write(ODD, 100, refused(Cause::Key));
    let middle = (Errand { counts: false, ..errand }, bytes);
    assert_eq!(ends(&mut rig, &[request(middle)]).1, [(NAK_ACCESS, 0x12)]);
}

#[test]
fn a_page_list_that_cannot_be_read_is_no_fault_of_the_peer() {
    let mut rig = Rig::<64>::new();
    let found = ends(&mut rig, &[request(write(ODD, 8, refused(Cause::PageList)))]);
    assert_eq!(found, (0, vec![(NAK_OPERATION, 0x11)], vec![(GENERAL, true)], vec![]));
    assert_eq!(rig.expected.refused, 1);
}

#[test]
fn a_second_page_that_is_refused_leaves_the_first_untouched() {
    let mut rig = Rig::<64>::new();
    let found = ends(&mut rig, &[request(write(ODD - 10, 30, refused(Cause::PageList)))]);
    assert_eq!((found.0, found.1), (0, vec![(NAK_OPERATION, 0x11)]));
    rig.change(1, true);
    // The first page is the bad one: its refusal, and then an answer that allows.
    let found = ends(&mut rig, &[request(write(ODD + 0x1000 - 10, 30, refused(Cause::PageList)))]);
    assert_eq!((found.0, found.1), (0, vec![(NAK_OPERATION, 0x11)]));
}

#[test]
fn a_first_packet_is_refused_for_the_last_byte_of_its_message() {
    let mut rig = Rig::<64>::new();
    for (span, writes) in [(0x1000, 1), (0x1001, 0)] {
        let (errand, bytes) = write(EVEN, 256, refused(Cause::Bounds));
        let first = (Errand { span: span.into(), ..errand }, bytes);
        assert_eq!(ends(&mut rig, &[request(first)]).0, writes, "{span:#x} bytes");
        assert_eq!(rig.asked, 2);
    }
}

#[test]
fn a_range_may_end_at_the_last_address_but_not_behind() {
    let mut rig = Rig::<64>::new();
    let at_end = write(u64::MAX - 99, 100, 7);
    assert_eq!(ends(&mut rig, &[request(at_end)]).2, []);
    let behind = write(u64::MAX - 98, 100, 7);
    let found = ends(&mut rig, &[request(behind)]);
    assert_eq!(found, (0, vec![(NAK_ACCESS, 0x11)], vec![(10, true)], vec![]));
    assert_eq!(rig.asked, 0, "a range that wraps is not asked for");
    rig.change(1, true);
    // A READ that goes round the whole address space nearly once.
    let read = Errand {
        va: u64::MAX.into(),
        span: u64::from(u32::MAX).into(),
        answer: (Answer::Data as u64).into(),
        ..blank(&mut rng())
    };
    assert_eq!(ends(&mut rig, &[request((read, vec![]))]).2, [(10, true)]);
    rig.change(1, true);
    // An answer is refused the same way, with `Bounds` as its detail.
    let (data, bytes) = write(u64::MAX - 98, 100, 7);
    let data = Errand { answer: 0.into(), completes: true, retires: true, ..data };
    let found = ends(&mut rig, &[Visit::Response(vec![(data, bytes)])]);
    assert_eq!(found, (0, vec![], vec![(PROTECTION, false)], vec![(PROTECTION, 4)]));
}

#[test]
fn a_read_asks_for_its_ends_and_one_of_a_byte_asks_once() {
    let mut rig = Rig::<64>::new();
    for (span, questions) in [
        (0_u64, vec![]),
        (1, vec![EVEN]),
        (2, vec![EVEN, EVEN + 1]),
        (1 << 31, vec![EVEN, EVEN + 0x7fff_ffff]),
    ] {
        let read = Errand {
            va: EVEN.into(),
            span: span.into(),
            answer: (Answer::Data as u64).into(),
            ..blank(&mut rng())
        };
        rig.send(&[request((read, vec![]))]);
        let asked: Vec<(u64, u64)> =
            rig.expected.questions.iter().map(|one| (one.va.into(), one.len.into())).collect();
        assert_eq!(asked, questions.into_iter().map(|va| (va, 1)).collect::<Vec<_>>());
        assert_eq!(u64::from(rig.expected.tasks[0].0.length), span);
        rig.finish();
    }
}

/// Errands of a READ's answer that is refused in its second packet: two messages are over behind it.
fn refused_answer(cause: Cause, signaled: bool) -> Vec<Visit> {
    let data = |va: u64, key: u64| {
        let (errand, bytes) = place(&mut rng(), va, 64);
        (Errand { key: key.into(), ..errand }, bytes)
    };
    let last = |index: u64| {
        let (errand, bytes) = data(EVEN, 7);
        let errand = Errand { retires: true, completes: signaled, index: index.into(), ..errand };
        Visit::Response(vec![(errand, bytes)])
    };
    vec![
        Visit::Response(vec![data(EVEN, 7)]),
        Visit::Response(vec![data(ODD, refused(cause))]),
        Visit::Response(vec![data(EVEN, 7)]),
        last(5),
        last(6),
        last(7),
    ]
}

#[test]
fn an_answer_that_is_refused_here_fails_its_message_when_that_is_over_and_flushes_the_next() {
    let mut rig = Rig::<64>::new();
    let cases = [(Cause::Key, PROTECTION), (Cause::Bounds, PROTECTION), (Cause::PageList, GENERAL)];
    for (cause, status) in cases {
        for signaled in [true, false] {
            let found = ends(&mut rig, &refused_answer(cause, signaled));
            let dones = vec![(status, cause as u64), (FLUSHED, 0), (FLUSHED, 0)];
            assert_eq!(found, (1, vec![], vec![(status, false)], dones));
            assert!(rig.expected.dones.iter().all(|(done, _)| u64::from(done.length) == 0));
            assert_eq!(rig.expected.kicks.len(), 3, "they retire all the same");
            rig.change(1, true);
        }
    }
}

#[test]
fn an_answer_that_is_refused_with_its_message_over_is_told_at_once_and_once() {
    let mut rig = Rig::<64>::new();
    let (errand, bytes) = place(&mut rng(), ODD, 64);
    let key = refused(Cause::Rights);
    let data = Errand { key: key.into(), retires: true, ..errand };
    let next = Errand { retires: true, completes: true, ..blank(&mut rng()) };
    let all = [Visit::Response(vec![(data, bytes)]), Visit::Response(vec![(next, vec![])])];
    let found = ends(&mut rig, &all);
    assert_eq!(found, (0, vec![], vec![(PROTECTION, false)], vec![(PROTECTION, 3), (FLUSHED, 0)]));
}

#[test]
fn behind_a_failure_nothing_happens_until_the_queue_pair_resets() {
    let mut rig = Rig::<64>::new();
    let good = || request(write(EVEN, 64, 7));
    let (errand, bytes) = write(EVEN, 64, 7);
    let other = request((Errand { qpn: 2.into(), ..errand }, bytes));
    let bad = || request(write(ODD, 64, refused(Cause::Key)));
    let found = ends(&mut rig, &[bad(), good(), other.clone(), bad(), good()]);
    let tasks = vec![(NAK_ACCESS, 0x11), (u64::from(errand.syndrome), 0x12)];
    assert_eq!(found, (1, tasks, vec![(10, true)], vec![]));
    // A change that is no reset forgets nothing, nor does the reset of another.
    rig.change(1, false);
    rig.change(2, true);
    assert_eq!(ends(&mut rig, &[good()]).0, 0);
    rig.change(1, true);
    assert_eq!(ends(&mut rig, &[good()]).0, 1);
}

#[test]
fn an_errand_that_fails_tells_it_once_and_what_follows_is_flushed() {
    let mut rig = Rig::<64>::new();
    let status = u64::from(Status::RetryExceeded as u8);
    let fails = |completes: bool| Errand {
        fails: true,
        retires: completes,
        completes,
        status: status.into(),
        vendor: 3.into(),
        ..blank(&mut rng())
    };
    let all = [Visit::Response(vec![(fails(true), vec![])]), Visit::Response(vec![(fails(true), vec![])])];
    let found = ends(&mut rig, &all);
    assert_eq!(found, (0, vec![], vec![(status, false)], vec![(status, 3), (FLUSHED, 0)]));
    rig.change(1, true);
    let found = ends(&mut rig, &[Visit::Request(vec![(fails(false), vec![])])]);
    assert_eq!(found, (0, vec![], vec![(status, true)], vec![]));
}

#[test]
fn a_key_that_could_not_be_ended_is_a_refusal_unless_its_queue_pair_has_failed() {
    let mut rig = Rig::<64>::new();
    let status = u64::from(Status::RemoteAccess as u8);
    let denial = Errand { fails: true, completes: true, status: status.into(), ..blank(&mut rng()) };
    rig.send(&[Visit::Request(vec![(denial, vec![])]), Visit::Request(vec![(denial, vec![])])]);
    assert_eq!(rig.expected.refused, 1);
    rig.finish();
}

#[test]
fn an_arrival_kicks_once_when_it_ends_and_not_without_news() {
    let mut rig = Rig::<64>::new();
    let errand = |ends, retires| (Errand { ends, retires, ..blank(&mut rng()) }, vec![]);
    let many = Visit::Response(vec![
        errand(false, true),
        errand(false, true),
        errand(false, false),
        errand(true, false),
    ]);
    let none = Visit::Response(vec![errand(false, false), errand(true, false)]);
    rig.send(&[none.clone(), many, none]);
    assert_eq!((rig.expected.acked.len(), rig.expected.kicks.len()), (2, 1));
    rig.finish();
}

#[test]
fn payload_for_nobody_is_thrown_away_and_leaves() {
    let mut rig = Rig::<64>::new();
    let drops = [1, 8, 9, 4096].map(|len| Visit::Drop(vec![7; len], len % 2 == 1));
    let mut all = drops.to_vec();
    all.push(request(write(EVEN, 9, 7)));
    all.extend(drops);
    rig.send(&all);
    assert_eq!((rig.expected.leaves.len(), rig.expected.writes.len()), (9, 1));
    rig.finish();
}

#[test]
fn an_error_waits_for_its_answer_and_a_completion_for_its_error() {
    let mut rig = Rig::<64>::new();
    let pause = |at: usize| {
        let mut all = [(); STREAMS].map(|()| Pause::None);
        all[at] = Pause::Always;
        all
    };
    // The answer is not taken.
    rig.pause(pause(8));
    rig.send(&[request(write(ODD, 8, refused(Cause::Key)))]);
    rig.run(100);
    assert_eq!(rig.seen.errors, 0);
    rig.pause([(); STREAMS].map(|()| Pause::None));
    rig.finish();
    // The error is not taken.
    rig.pause(pause(10));
    rig.change(1, true);
    rig.run(5);
    let fails = Errand { fails: true, completes: true, retires: true, ..blank(&mut rng()) };
    rig.send(&[Visit::Response(vec![(fails, vec![])])]);
    rig.run(100);
    assert_eq!((rig.seen.dones, rig.seen.acked), (0, 0));
    rig.pause([(); STREAMS].map(|()| Pause::None));
    rig.finish();
}

#[test]
fn sixteen_questions_run_ahead_and_no_more() {
    let mut rig = Rig::<64>::new();
    rig.latency = (500, 501);
    rig.send(&vec![request(write(EVEN, 8, 7)); 40]);
    rig.run(200);
    assert_eq!(rig.asked, 16);
    rig.finish();
    // Two questions an errand.
    let read = Errand { va: EVEN.into(), span: 100.into(), ..blank(&mut rng()) };
    rig.send(&vec![request((read, vec![])); 40]);
    rig.run(200);
    assert_eq!(rig.asked, 16);
    rig.finish();
}

#[test]
fn bytes_whose_command_was_taken_do_not_wait_for_anything_else() {
    let mut rig = Rig::<64>::new();
    // Task, completion, error, kick, operation, event and call, one after the other, are never taken.
    for (at, percent) in [(8, 5), (9, 5), (10, 5), (11, 5), (12, 5), (13, 5), (15, 5)] {
        let mut stall = [(); STREAMS].map(|()| Pause::None);
        stall[at] = Pause::Always;
        rig.pause(stall);
        rig.send(&visits(at as u64, 200, percent, 8));
        rig.run(30_000);
        assert!(rig.left < rig.expected.leaves.len(), "stream {at} holds nothing up");
        assert_eq!(rig.commands, rig.seen.writes, "a command waits for its data");
        rig.pause([(); STREAMS].map(|()| Pause::None));
        rig.finish();
        (0..8).for_each(|qpn| rig.change(qpn, true));
        rig.run(20);
    }
}

#[test]
fn a_packet_counts_though_an_errand_without_one_comes_between() {
    let mut rig = Rig::<64>::new();
    let plain = || request((Errand { answer: 1.into(), ..blank(&mut rng()) }, vec![]));
    let all: Vec<Visit> = (0..40).flat_map(|_| [request(write(EVEN, 8, 7)), plain()]).collect();
    for go in 1..6 {
        let mut stall = [(); STREAMS].map(|()| Pause::None);
        stall[7] = Pause::Burst { go, pause: 12 };
        rig.pause(stall);
        rig.send(&all);
        rig.finish();
    }
}
