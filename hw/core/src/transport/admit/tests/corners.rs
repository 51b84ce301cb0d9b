use stroma_abi::desc::{Status, WorkOp};

use crate::host::parse::Defect;
use crate::transport::admit::rig::{Case, Rig, Seen};
use crate::transport::records::{Message, Occasion, Progress, Rewind, SentRow};

pub(super) const QPN: u64 = 2;
/// First PSN of [`Case::new`].
pub(super) const FIRST: u64 = 0xff_fff0;

pub(super) fn write(index: u64) -> Case {
    Case::new(WorkOp::Write, QPN, index, 10)
}

pub(super) fn read(index: u64) -> Case {
    Case::new(WorkOp::Read, QPN, index, 10)
}

pub(super) fn nop(index: u64) -> Case {
    Case::new(WorkOp::Nop, QPN, index, 0)
}

/// One job.
pub(super) fn job(rig: &mut Rig, cases: impl IntoIterator<Item = Case>) -> Seen {
    let mut behind = 0;
    for case in cases {
        behind = u64::from(case.work.index) + u64::from(case.work.units);
        rig.send(case);
    }
    rig.send(Case::end(QPN, behind));
    rig.outcome()
}

pub(super) fn rewind(rig: &mut Rig, index: u64, slot: u64, packets: u64, skips: u64) {
    let psn = (FIRST + packets) & 0xff_ffff;
    rig.rewind(Rewind {
        qpn: QPN.into(),
        index: index.into(),
        slot: (slot % 64).into(),
        psn: psn.into(),
        skips: skips.into(),
        ..Rewind::default()
    });
}

/// PSNs from the first, packets, bytes skipped, and whether it is sent again.
pub(super) fn parts(seen: &Seen) -> Vec<(u64, u64, u64, bool)> {
    let part = |message: &Message| {
        let psn = u64::from(message.psn).wrapping_sub(FIRST) & 0xff_ffff;
        (psn, u64::from(message.packets), u64::from(message.skips), message.again)
    };
    seen.message.iter().map(part).collect()
}

/// Next index, whether the job waits, and its bytes.
pub(super) fn report(seen: &Seen) -> (u64, bool, u64) {
    let [Progress { next_index, rewinds: false, blocked, bytes, .. }] = seen.progress[..] else {
        panic!("one job ends, not {:?}", seen.progress)
    };
    (next_index.into(), blocked, bytes.into())
}

/// Index, status, detail of the works that went to the mover, and the units that went along.
pub(super) fn locals(seen: &Seen) -> (Vec<(u64, u64, u64)>, usize) {
    let works = seen.local.iter().filter(|work| !work.ends);
    (
        works.map(|work| (work.index.into(), work.status.into(), work.vendor.into())).collect(),
        seen.local_units.len(),
    )
}

#[test]
fn the_thirty_third_message_waits_for_an_answer() {
    let mut rig = Rig::new();
    let seen = job(&mut rig, (0..34).map(write));
    assert_eq!((seen.message.len(), report(&seen)), (32, (32, true, 320)));
    let seen = job(&mut rig, (32..34).map(write));
    assert_eq!((seen.message.len(), report(&seen)), (0, (32, true, 0)));
    rig.acknowledge(QPN, 1, 0);
    let seen = job(&mut rig, (32..34).map(write));
    assert_eq!((seen.message.len(), report(&seen)), (1, (33, true, 10)));
    assert_eq!(
        (seen.entries[0].0, u64::from(seen.message[0].slot)),
        (QPN << 5, 32),
        "the place of the first"
    );
}

#[test]
fn a_full_ring_that_is_answered_while_the_cursor_is_back_at_its_begin_is_over() {
    let mut rig = Rig::new();
    job(&mut rig, (0..32).map(write));
    rewind(&mut rig, 0, 0, 0, 0);
    rig.outcome();
    rig.acknowledge(QPN, 32, 0);
    let seen = job(&mut rig, (0..33).map(write));
    assert_eq!((parts(&seen), report(&seen)), (vec![(32, 1, 0, false)], (33, false, 10)));
}

#[test]
fn one_read_more_than_may_be_in_flight_waits() {
    let mut rig = Rig::new();
    let seen = job(&mut rig, (0..6).map(read));
    assert_eq!((seen.message.len(), report(&seen), seen.read_waits), (4, (4, true, 40), 1));
    rig.acknowledge(QPN, 2, 2);
    let seen = job(&mut rig, (4..7).map(read));
    assert_eq!((seen.message.len(), report(&seen), seen.read_waits), (2, (6, true, 20), 1));
}

#[test]
fn a_read_where_none_may_be_in_flight_is_refused() {
    let mut rig = Rig::new();
    let seen = job(&mut rig, [read(0).with(|work| work.reads_out = 0.into()), nop(1)]);
    let refused = (0, Status::LocalQueuePair as u64, Defect::OpCode as u64);
    assert_eq!((locals(&seen), report(&seen)), ((vec![refused, (1, 0, 0)], 0), (2, false, 0)));
}

#[test]
fn unacknowledged_messages_take_at_most_half_of_all_sequence_numbers() {
    let mut rig = Rig::new();
    let huge = |index| Case::new(WorkOp::Read, QPN, index, 1 << 31).with(|work| work.path_mtu = 1.into());
    let small = |index| read(index).with(|work| work.path_mtu = 1.into());
    let seen = job(&mut rig, [huge(0)]);
    assert_eq!((parts(&seen), report(&seen)), (vec![(0, 1, 0, false)], (1, false, 1 << 31)));
    assert_eq!(u64::from(seen.entries[0].1.packets), 1 << 23);
    let seen = job(&mut rig, [small(1)]);
    assert_eq!((seen.message.len(), report(&seen), seen.read_waits), (0, (1, true, 0), 0));
    rig.acknowledge(QPN, 1, 1);
    assert_eq!(parts(&job(&mut rig, [small(1)])), [(1 << 23, 1, 0, false)]);
}

#[test]
fn a_long_message_goes_in_parts_and_all_behind_it_waits() {
    let mut rig = Rig::new();
    let long = || Case::new(WorkOp::Write, QPN, 0, 150_000);
    for visit in 0..2 {
        let seen = job(&mut rig, [long(), write(1)]);
        assert_eq!(parts(&seen), [(64 * visit, 64, visit << 16, false)]);
        assert_eq!(report(&seen), (0, false, 1 << 16));
    }
    let seen = job(&mut rig, [long(), write(1)]);
    assert_eq!(parts(&seen), [(128, 19, 128 << 10, false), (147, 1, 0, false)]);
    assert_eq!(report(&seen), (2, false, 150_000 - (128 << 10) + 10));

    // Again, from its middle.
    rewind(&mut rig, 0, 0, 70, 70);
    let seen = rig.outcome();
    assert_eq!((seen.progress[0].rewinds, u64::from(seen.progress[0].next_index)), (true, 0));
    assert_eq!(parts(&job(&mut rig, [long(), write(1)])), [(70, 64, 70 << 10, true)]);
    assert_eq!(parts(&job(&mut rig, [long(), write(1)])), [(134, 13, 134 << 10, true), (147, 1, 0, true)]);
}

#[test]
fn a_read_is_asked_for_again_from_its_middle() {
    let mut rig = Rig::new();
    let long = || Case::new(WorkOp::Read, QPN, 0, 150_000);
    assert_eq!(parts(&job(&mut rig, [long(), write(1)])), [(0, 1, 0, false)], "it takes the whole visit");
    rewind(&mut rig, 0, 0, 100, 100);
    rig.outcome();
    let seen = job(&mut rig, [long(), write(1)]);
    assert_eq!(parts(&seen), [(100, 1, 100 << 10, true), (147, 1, 0, false)]);
    assert_eq!(report(&seen), (2, false, 150_000 - (100 << 10) + 10));
}

#[test]
fn answers_overtake_a_cursor_that_went_back() {
    let mut rig = Rig::new();
    job(&mut rig, (0..3).map(write));
    rewind(&mut rig, 0, 0, 0, 0);
    rig.outcome();
    rig.acknowledge(QPN, 2, 0);
    let seen = job(&mut rig, (0..3).map(write));
    assert_eq!((parts(&seen), report(&seen)), (vec![(2, 1, 0, true)], (3, false, 10)));
    rewind(&mut rig, 2, 2, 2, 0);
    rig.outcome();
    rig.acknowledge(QPN, 3, 0);
    let seen = job(&mut rig, (2..4).map(write));
    assert_eq!((parts(&seen), report(&seen)), (vec![(3, 1, 0, false)], (4, false, 10)));
}

#[test]
fn a_rewind_that_discards_begins_an_epoch_which_outlives_the_queue_pair() {
    let mut rig = Rig::new();
    let epochs =
        |seen: &Seen| seen.message.iter().map(|message| u64::from(message.epoch)).collect::<Vec<_>>();
    assert_eq!(epochs(&job(&mut rig, [write(0)])), [0]);
    // Time ran out: what is on its way may still arrive.
    rewind(&mut rig, 0, 0, 0, 0);
    assert_eq!(rig.outcome().epochs, [(QPN, 0)]);
    for epoch in 1..=17_u64 {
        rig.rewind(Rewind {
            qpn: QPN.into(),
            psn: FIRST.into(),
            holds: epoch % 2 == 0,
            discards: true,
            ..Rewind::default()
        });
        assert_eq!(rig.outcome().epochs, [(QPN, epoch % 16)]);
    }
    assert_eq!(epochs(&job(&mut rig, [write(0)])), [1]);
    rig.acknowledge(QPN, 1, 0);
    rig.change(QPN, false, true);
    rig.change(QPN, true, false);
    rig.acknowledge(QPN, 0, 0);
    assert_eq!(rig.outcome().epochs, [(QPN, 1); 2]);
    assert_eq!(epochs(&job(&mut rig, [write(0)])), [1], "the sieve was not told otherwise");
}

#[test]
fn a_queue_pair_that_sends_again_does_not_wait() {
    let mut rig = Rig::new();
    job(&mut rig, [write(0)]);
    rig.send(nop(1));
    rig.finish();
    rewind(&mut rig, 0, 0, 0, 0);
    rig.outcome();
    rig.send(Case::end(QPN, 2));
    assert_eq!(report(&rig.outcome()), (0, false, 0), "the NOP waited, and is not what comes next");
}

#[test]
fn a_request_that_changed_under_way_fails_the_queue_pair() {
    let good = [write(0), read(1)];
    let longer = write(0).with(|work| work.length = 11.into());
    let other = nop(0);
    let mut elsewhere = read(1);
    elsewhere.units[0] = elsewhere.units[0] ^ (rust_hdl::prelude::Bits::from(1) << 300_u64);
    let refused = write(0).status(Status::LocalProtection).with(|work| work.vendor = 3.into());
    let changed = (Status::LocalQueuePair as u64, Defect::Index as u64);
    let cases = [
        (vec![longer], 0, changed),
        (vec![other], 0, changed),
        (vec![write(0), elsewhere], 1, changed),
        (vec![refused], 0, (Status::LocalProtection as u64, 3)),
    ];
    let mut rig = Rig::new();
    for (again, slot, (status, vendor)) in cases {
        job(&mut rig, good.clone());
        rewind(&mut rig, 0, 0, 0, 0);
        rig.outcome();
        let sent = again.len() - 1;
        let seen = job(&mut rig, again);
        assert_eq!((seen.message.len(), seen.failures.len()), (sent, 1));
        let nudge = &seen.failures[0];
        assert_eq!(
            [nudge.occasion.into(), u64::from(nudge.slot), nudge.status.into(), nudge.vendor.into()],
            [Occasion::Failure as u64, slot, status, vendor]
        );
        // Nothing more is sent, nor is it told twice; the error that comes round flushes what was sent.
        rewind(&mut rig, 0, 0, 0, 0);
        let seen = job(&mut rig, good.clone());
        assert_eq!((seen.message.len(), seen.failures.len(), seen.progress.len()), (0, 0, 1));
        rig.change(QPN, false, true);
        assert_eq!(rig.outcome().flushes.len(), 1);
        rig.acknowledge(QPN, 2, 1);
        let seen = job(&mut rig, [write(2)]);
        assert_eq!(
            (locals(&seen), report(&seen)),
            ((vec![(2, Status::Flushed as u64, 0)], 0), (3, false, 0))
        );
        rig.reset();
    }
}

#[test]
fn a_stopped_queue_pair_is_flushed_once_and_sends_no_more() {
    let mut rig = Rig::new();
    job(&mut rig, [write(0)]);
    rig.change(QPN, false, true);
    rig.change(QPN, false, true);
    rig.change(QPN, false, false);
    let seen = rig.outcome();
    assert_eq!(seen.flushes.len(), 1);
    assert_eq!(
        (u64::from(seen.flushes[0].qpn), u64::from(seen.flushes[0].occasion)),
        (QPN, Occasion::Flush as u64)
    );
    assert_eq!(report(&job(&mut rig, [write(1)])), (1, true, 0), "until what was sent is given up");
    rewind(&mut rig, 0, 0, 0, 0);
    assert_eq!(rig.outcome().progress, [], "nothing is sent again");
    rig.acknowledge(QPN, 1, 0);
    let refused = write(4).status(Status::LocalProtection).with(|work| work.vendor = 3.into());
    let hopeless = read(5).with(|work| work.reads_out = 0.into());
    let copy = Case::new(WorkOp::Gather, QPN, 2, 5).with(|work| work.units = 1.into());
    let seen = job(&mut rig, [write(1), copy, read(3), refused, hopeless, nop(6)]);
    let flushed = (1..7).map(|index| (index, Status::Flushed as u64, 0)).collect();
    assert_eq!(
        (locals(&seen), seen.message.len()),
        ((flushed, 0), 0),
        "local work and what is refused here, too"
    );
    assert_eq!(report(&seen), (7, false, 0));
}

#[test]
fn nothing_goes_behind_a_message_that_failed_even_before_the_queue_pair_stops() {
    let mut rig = Rig::new();
    job(&mut rig, [write(0), write(1)]);
    rig.give_up(QPN, 1);
    assert_eq!(report(&job(&mut rig, [write(2), nop(3)])), (2, true, 0), "until what was sent is given up");
    rig.give_up(QPN, 2);
    let seen = job(&mut rig, [write(2), nop(3)]);
    let flushed = vec![(2, Status::Flushed as u64, 0), (3, Status::Flushed as u64, 0)];
    assert_eq!((locals(&seen), seen.message.len(), report(&seen)), ((flushed, 0), 0, (4, false, 0)));
    rig.change(QPN, false, true);
    assert_eq!(rig.outcome().flushes.len(), 1, "it stops all the same");
    // What comes after a reset is not meant.
    rig.change(QPN, true, false);
    rig.acknowledge(QPN, 0, 0);
    rig.outcome();
    assert_eq!(job(&mut rig, [write(0)]).message.len(), 1);
}

#[test]
fn a_queue_pair_that_was_reset_begins_anew() {
    let mut rig = Rig::new();
    job(&mut rig, (0..5).map(write));
    rig.change(QPN, false, true);
    rig.outcome();
    rig.acknowledge(QPN, 0, 0);
    rig.change(QPN, true, false);
    let seen = rig.outcome();
    assert_eq!((seen.sent, seen.flushes.len()), (vec![(QPN, SentRow::default())], 0));
    rewind(&mut rig, 3, 3, 3, 0);
    assert_eq!(rig.outcome().progress, [], "a queue pair that has sent nothing sends nothing again");
    assert_eq!(report(&job(&mut rig, [])), (0, false, 0));
    let seen = job(&mut rig, [write(0).with(|work| work.send_psn = 77.into())]);
    assert_eq!((u64::from(seen.message[0].psn), u64::from(seen.message[0].slot)), (77, 0));
    rig.change(QPN, false, true);
    assert_eq!(rig.outcome().flushes.len(), 1, "it can stop anew");
}

#[test]
fn a_reset_in_the_middle_of_a_job_still_lets_the_job_end() {
    let mut rig = Rig::new();
    rig.send(nop(0).status(Status::General));
    rig.finish();
    rig.change(QPN, true, false);
    rig.finish();
    rig.send(nop(4));
    rig.send(Case::end(QPN, 5));
    let seen = rig.outcome();
    assert_eq!((report(&seen), locals(&seen).0.len()), ((0, false, 0), 1));
}

#[test]
fn local_work_waits_until_all_before_it_is_answered() {
    let mut rig = Rig::new();
    let gather = || Case::new(WorkOp::Gather, QPN, 1, 33).with(|work| work.units = 3.into());
    let seen = job(&mut rig, [write(0), gather()]);
    assert_eq!((locals(&seen), report(&seen)), ((vec![], 0), (1, true, 10)));
    rig.acknowledge(QPN, 1, 0);
    let seen = job(&mut rig, [gather(), nop(4)]);
    assert_eq!((locals(&seen), report(&seen)), ((vec![(1, 0, 0), (4, 0, 0)], 3), (5, false, 33)));
}

#[test]
fn a_request_tries_again_until_the_local_work_before_it_has_ended() {
    let mut rig = Rig::new();
    job(&mut rig, [nop(0)]);
    let seen = job(&mut rig, [nop(1), write(2)]);
    assert_eq!((seen.message.len(), report(&seen)), (0, (2, false, 0)));
    // The NOP is third: the end of the first job is counted, too.
    rig.ended = 2;
    assert_eq!(job(&mut rig, [write(2)]).message.len(), 0);
    rig.ended = 3;
    let seen = job(&mut rig, [write(2)]);
    assert_eq!((seen.message.len(), report(&seen)), (1, (3, false, 10)));
}

#[test]
fn the_next_index_tells_how_long_a_bad_request_was() {
    let mut rig = Rig::new();
    let bad = |index, units: u64| {
        write(index).status(Status::LocalQueuePair).with(|work| work.units = units.into())
    };
    rig.send(bad(0, 9));
    rig.send(Case::end(QPN, 3));
    assert_eq!(report(&rig.outcome()), (3, false, 0));
    // Refused by its memory, not by its form: the job goes on behind it.
    rig.send(bad(3, 1));
    rig.send(nop(5));
    rig.send(Case::end(QPN, 6));
    let seen = rig.outcome();
    assert_eq!((report(&seen), locals(&seen).0.len()), ((6, false, 0), 2));
}
