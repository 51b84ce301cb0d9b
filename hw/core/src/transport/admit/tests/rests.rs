//! Queue pairs whose peer is not ready, and those that drain.

use stroma_abi::desc::{Status, WorkOp};

use super::corners::{FIRST, QPN, job, locals, nop, parts, report, write};
use crate::transport::admit::rig::{Case, Rig};
use crate::transport::records::Rewind;

/// A rewind to this message, which is as many packets behind the first.
fn back(index: u64, holds: bool) -> Rewind {
    Rewind {
        qpn: QPN.into(),
        index: index.into(),
        slot: (index % 64).into(),
        psn: ((FIRST + index) & 0xff_ffff).into(),
        skips: 0.into(),
        holds,
        discards: holds,
    }
}

/// Next index, and whether it waits.
fn rewound(rig: &mut Rig, rewind: Rewind) -> (u64, bool) {
    rig.rewind(rewind);
    let seen = rig.outcome();
    assert!(seen.progress.len() == 1 && seen.progress[0].rewinds && seen.message.is_empty());
    (seen.progress[0].next_index.into(), seen.progress[0].blocked)
}

#[test]
fn a_queue_pair_that_rests_sends_nothing_until_the_next_rewind() {
    let mut rig = Rig::new();
    job(&mut rig, (0..3).map(write));
    assert_eq!(rewound(&mut rig, back(1, true)), (1, true));
    for _ in 0..2 {
        let seen = job(&mut rig, (1..5).map(write));
        assert_eq!((seen.message.len(), report(&seen)), (0, (1, true, 0)));
    }
    assert_eq!(rewound(&mut rig, back(1, false)), (1, false));
    let seen = job(&mut rig, (1..5).map(write));
    let sent = [(1, 1, 0, true), (2, 1, 0, true), (3, 1, 0, false), (4, 1, 0, false)];
    assert_eq!((parts(&seen), report(&seen)), (sent.to_vec(), (5, false, 40)));
}

#[test]
fn other_queue_pairs_do_not_rest() {
    let mut rig = Rig::new();
    job(&mut rig, [write(0)]);
    rewound(&mut rig, back(0, true));
    rig.send(Case::new(WorkOp::Send, QPN + 1, 0, 10));
    rig.send(Case::end(QPN + 1, 1));
    let seen = rig.outcome();
    assert_eq!((seen.message.len(), report(&seen)), (1, (1, false, 10)));
}

#[test]
fn a_job_under_way_ends_as_blocked_when_its_queue_pair_rests() {
    let mut rig = Rig::new();
    job(&mut rig, [write(0)]);
    for index in 1..3 {
        rig.send(write(index));
    }
    assert_eq!(rig.outcome().message.len(), 2);
    assert_eq!(rewound(&mut rig, back(1, true)), (1, true));
    // None of these is the one that comes next.
    let seen = job(&mut rig, (3..5).map(write));
    assert_eq!((seen.message.len(), report(&seen)), (0, (1, true, 20)));
    // The rest ends in the middle of a job.
    rig.send(write(1));
    rig.outcome();
    rewound(&mut rig, back(1, false));
    let seen = job(&mut rig, [write(2)]);
    assert_eq!((seen.message.len(), report(&seen)), (0, (1, false, 0)));
}

#[test]
fn a_rest_goes_on_when_all_is_answered_meanwhile() {
    let mut rig = Rig::new();
    job(&mut rig, (0..2).map(write));
    rewound(&mut rig, back(1, true));
    rig.acknowledge(QPN, 2, 0);
    // Local work is no matter of the peer.
    let seen = job(&mut rig, [write(1), nop(2), write(3)]);
    assert_eq!((locals(&seen).0, report(&seen)), (vec![(2, 0, 0)], (3, true, 0)));
    rig.ended = u64::MAX >> 20;
    let seen = job(&mut rig, [write(3)]);
    assert_eq!((seen.message.len(), report(&seen)), (0, (3, true, 0)));
    assert_eq!(rewound(&mut rig, back(1, false)), (1, false), "as the peer has known it");
    let seen = job(&mut rig, [write(1), nop(2), write(3)]);
    assert_eq!((parts(&seen), report(&seen)), (vec![(2, 1, 0, false)], (4, false, 10)));
}

#[test]
fn a_rewind_behind_the_last_message_only_ends_the_rest() {
    let mut rig = Rig::new();
    job(&mut rig, (0..2).map(write));
    rewound(&mut rig, back(1, true));
    rig.acknowledge(QPN, 2, 0);
    let behind = Rewind { slot: 2.into(), psn: 0x1234.into(), skips: 9.into(), ..back(77, false) };
    assert_eq!(rewound(&mut rig, behind), (2, false));
    let seen = job(&mut rig, [write(2)]);
    assert_eq!((parts(&seen), report(&seen)), (vec![(2, 1, 0, false)], (3, false, 10)));
}

#[test]
fn a_rewind_that_holds_again_prolongs_the_rest() {
    let mut rig = Rig::new();
    job(&mut rig, (0..3).map(write));
    rewound(&mut rig, back(0, true));
    assert_eq!(rewound(&mut rig, back(1, true)), (1, true));
    assert_eq!(job(&mut rig, [write(1)]).message.len(), 0);
    rewound(&mut rig, back(1, false));
    assert_eq!(job(&mut rig, [write(1)]).message.len(), 1);
}

#[test]
fn a_queue_pair_that_rests_can_be_stopped_and_begin_anew() {
    let mut rig = Rig::new();
    job(&mut rig, [write(0)]);
    rewound(&mut rig, back(0, true));
    // The queue pair is in error, and the news has not come yet.
    let seen = job(&mut rig, [write(0).status(Status::Flushed)]);
    assert_eq!((seen.failures.len(), report(&seen)), (0, (0, true, 0)));
    rig.change(QPN, false, true);
    assert_eq!(rig.outcome().flushes.len(), 1);
    rig.acknowledge(QPN, 1, 0);
    let seen = job(&mut rig, [write(1)]);
    let flushed = vec![(1, Status::Flushed as u64, 0)];
    assert_eq!((locals(&seen).0, report(&seen)), (flushed, (2, false, 0)));
    rig.acknowledge(QPN, 0, 0);
    rig.change(QPN, true, false);
    rig.outcome();
    let seen = job(&mut rig, [write(0)]);
    assert_eq!((seen.message.len(), report(&seen)), (1, (1, false, 10)));
}

#[test]
fn what_was_overwritten_is_told_when_the_rest_is_over() {
    let mut rig = Rig::new();
    job(&mut rig, [write(0)]);
    rewound(&mut rig, back(0, true));
    let other = || write(0).with(|work| work.length = 11.into());
    assert_eq!(job(&mut rig, [other()]).failures.len(), 0);
    rewound(&mut rig, back(0, false));
    assert_eq!(job(&mut rig, [other()]).failures.len(), 1);
}

/// The same in Drained.
fn drained(case: Case) -> Case {
    case.with(|work| work.drains = true)
}

#[test]
fn a_drained_queue_pair_begins_nothing_local_or_not_and_goes_on_where_it_was() {
    let mut rig = Rig::new();
    job(&mut rig, (0..2).map(write));
    for next in [write(2), nop(2), write(2).status(Status::LocalProtection)] {
        let seen = job(&mut rig, [drained(next), drained(write(3))]);
        assert_eq!((seen.message.len(), locals(&seen).0.len(), report(&seen)), (0, 0, (2, true, 0)));
    }
    // Also when nothing is unacknowledged any more.
    rig.acknowledge(QPN, 2, 0);
    let seen = job(&mut rig, [drained(write(2))]);
    assert_eq!((seen.message.len(), report(&seen)), (0, (2, true, 0)));
    let seen = job(&mut rig, [write(2), write(3)]);
    assert_eq!((seen.message.len(), report(&seen)), (2, (4, false, 20)));
}

#[test]
fn a_drained_queue_pair_finishes_what_it_has_begun_and_sends_it_again() {
    let mut rig = Rig::new();
    // Longer than a visit.
    let long = |index| Case::new(WorkOp::Write, QPN, index, 200_000);
    let seen = job(&mut rig, [long(0), write(1)]);
    let begun = parts(&seen).len();
    assert_eq!(begun, 1);
    let mut visits = 1;
    while report(&job(&mut rig, [drained(long(0)), drained(write(1))])).0 == 0 {
        visits += 1;
    }
    assert_eq!(visits, 3, "200,000 bytes take four visits");
    let seen = job(&mut rig, [drained(write(1))]);
    assert_eq!((seen.message.len(), report(&seen)), (0, (1, true, 0)));
    assert_eq!(rewound(&mut rig, back(0, false)), (0, false));
    let seen = job(&mut rig, [drained(long(0))]);
    assert!(seen.message.len() == 1 && seen.message[0].again);
}

#[test]
fn a_drained_queue_pair_that_is_stopped_is_flushed_by_its_next_job() {
    let mut rig = Rig::new();
    rig.change(QPN, false, true);
    rig.outcome();
    // Fetched before the stop, they are not flushed, and must not be carried out.
    for next in [write(0), nop(0)] {
        let seen = job(&mut rig, [drained(next)]);
        assert_eq!((locals(&seen).0.len(), report(&seen)), (0, (0, true, 0)));
    }
    let seen = job(&mut rig, [nop(0).status(Status::Flushed)]);
    assert_eq!(locals(&seen).0, [(0, Status::Flushed as u64, 0)]);
}
