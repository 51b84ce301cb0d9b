use stroma_abi::wire::{NakCode, Syndrome, opcode};
use stroma_verilate::Pause;

use super::super::rig::{Rig, ack, data, value};
use crate::testing::read;
use crate::transport::records::{Task, TxFailure};

pub(super) const POSITIVE: u8 = Syndrome::Ack { credits: 31 }.encode();
pub(super) const GAP: u8 = Syndrome::Nak(NakCode::PsnSequence).encode();
pub(super) const ACCESS: u8 = Syndrome::Nak(NakCode::RemoteAccess).encode();
pub(super) const NOT_READY: u8 = Syndrome::RnrNak { timer: 12 }.encode();
pub(super) const OPERATIONAL: u8 = Syndrome::Nak(NakCode::RemoteOperational).encode();

pub(super) const ACK: u64 = opcode::RC_ACKNOWLEDGE.code as u64;
const CNP: u64 = opcode::CNP.code as u64;
pub(super) const ONLY: u64 = opcode::RC_READ_RESPONSE_ONLY.code as u64;
pub(super) const FIRST: u64 = opcode::RC_READ_RESPONSE_FIRST.code as u64;
pub(super) const MIDDLE: u64 = opcode::RC_READ_RESPONSE_MIDDLE.code as u64;
pub(super) const ATOMIC: u64 = opcode::RC_ATOMIC_ACKNOWLEDGE.code as u64;
pub(super) const LAST: u64 = opcode::RC_READ_RESPONSE_LAST.code as u64;

/// Tasks are noted while nothing is sent.
pub(super) fn noted(rig: &mut Rig, tasks: &[Task]) {
    rig.pause = true;
    for task in tasks {
        rig.send(task);
    }
    rig.run(20 + 4 * tasks.len() as u64);
    assert!(rig.bench.is_sent() && rig.steps.is_empty());
    rig.pause = false;
}

pub(super) fn aeths(rig: &Rig) -> Vec<u64> {
    rig.steps.iter().map(|(_, step)| step.aeth.into()).collect()
}

#[test]
fn a_newer_acknowledgement_takes_the_place_of_one_that_waits() {
    let mut rig = Rig::default();
    noted(&mut rig, &[ack(1, 5, POSITIVE), ack(1, 6, POSITIVE), ack(2, 1, POSITIVE), ack(1, 7, POSITIVE)]);
    rig.settle();
    assert_eq!(rig.sent(), [(1, ACK, 7), (2, ACK, 1)]);
    assert_eq!(aeths(&rig), [0x1f00_006b, 0x1f00_0065]);
}

#[test]
fn a_refusal_is_not_replaced_and_a_gap_or_not_ready_is() {
    for (waits, follows, left) in [
        (ACCESS, POSITIVE, 5),
        (ACCESS, GAP, 5),
        (ACCESS, OPERATIONAL, 5),
        (GAP, POSITIVE, 9),
        (GAP, ACCESS, 9),
        (GAP, NOT_READY, 9),
        (NOT_READY, POSITIVE, 9),
        (NOT_READY, GAP, 9),
        (NOT_READY, NOT_READY, 9),
        (NOT_READY, ACCESS, 9),
        (ACCESS, NOT_READY, 5),
    ] {
        let mut rig = Rig::default();
        noted(&mut rig, &[ack(3, 5, waits), ack(3, 9, follows)]);
        rig.settle();
        assert_eq!(rig.sent(), [(3, ACK, left)], "{waits:#x} then {follows:#x}");
    }
}

#[test]
fn a_nak_that_waits_is_not_replaced_by_the_acknowledgement_of_what_came_again() {
    for waits in [GAP, NOT_READY] {
        for (psn, duplicate, left) in [(9, 8, 9), (2, 0xff_ff9b, 2), (9, 9, 9), (9, 10, 10)] {
            let mut rig = Rig::default();
            noted(&mut rig, &[ack(3, psn, waits), ack(3, duplicate, POSITIVE)]);
            rig.settle();
            assert_eq!(rig.sent(), [(3, ACK, left)], "{waits:#x}, {duplicate} after {psn}");
            let syndrome = if duplicate >= psn && duplicate < 1 << 20 { POSITIVE } else { waits };
            assert_eq!(aeths(&rig)[0] >> 24, u64::from(syndrome), "{waits:#x}, {duplicate} after {psn}");
        }
    }
}

#[test]
fn an_acknowledgement_goes_behind_the_reads_before_it_and_before_those_behind() {
    let mut rig = Rig::default();
    let again = Task { fresh: false, ..data(0, 30, 10) };
    noted(&mut rig, &[data(0, 10, 3000), data(0, 13, 8), ack(0, 14, POSITIVE), again]);
    rig.settle();
    assert_eq!(
        rig.sent(),
        [(0, FIRST, 10), (0, MIDDLE, 11), (0, LAST, 12), (0, ONLY, 13), (0, ACK, 14), (0, ONLY, 30)]
    );
}

#[test]
fn a_new_read_speaks_for_a_positive_acknowledgement_and_for_no_other() {
    for (syndrome, fresh, stays) in
        [(POSITIVE, true, false), (POSITIVE, false, true), (GAP, true, true), (ACCESS, true, true)]
    {
        let mut rig = Rig::default();
        noted(&mut rig, &[ack(0, 4, syndrome), Task { fresh, ..data(0, 5, 1) }]);
        rig.settle();
        let expected: &[_] = if stays { &[(0, ACK, 4), (0, ONLY, 5)] } else { &[(0, ONLY, 5)] };
        assert_eq!(rig.sent(), expected, "{syndrome:#x}, fresh: {fresh}");
    }
}

#[test]
fn a_value_is_one_packet_in_order_with_the_reads_and_waits_for_no_ticket() {
    let mut rig = Rig::default();
    noted(
        &mut rig,
        &[value(0, 9, 0x1234_5678_9abc_def0), data(0, 10, 2000), value(0, 12, 7), ack(0, 13, GAP)],
    );
    rig.settle();
    assert_eq!(rig.sent(), [(0, ATOMIC, 9), (0, FIRST, 10), (0, LAST, 11), (0, ATOMIC, 12), (0, ACK, 13)]);
    let step = rig.steps[0].1;
    assert_eq!((step.a1.into(), step.aeth.into()), (0x1234_5678_9abc_def0_u64, 0x1f00_00d1_u64));
    assert!(!step.payload_len.any() && !step.bytes.any());
}

#[test]
fn a_value_does_not_let_a_read_before_or_behind_it_go_early() {
    let mut rig = Rig::default();
    let late = |psn| Task { ticket: 2.into(), ..data(0, psn, 10) };
    noted(&mut rig, &[late(1), value(0, 2, 5), late(3)]);
    rig.run(60);
    assert!(rig.steps.is_empty());
    rig.done += 2;
    rig.settle();
    assert_eq!(rig.sent(), [(0, ONLY, 1), (0, ATOMIC, 2), (0, ONLY, 3)]);
}

#[test]
fn a_value_behind_a_read_of_long_ago_goes_at_once() {
    let mut rig = Rig::default();
    rig.send(&data(0, 1, 10));
    rig.settle();
    rig.done += 0x9000;
    rig.send(&value(0, 2, 5));
    rig.send(&value(0, 3, 6));
    rig.run(40);
    assert_eq!(rig.sent()[1..], [(0, ATOMIC, 2), (0, ATOMIC, 3)]);
    rig.settle();
}

#[test]
fn a_new_value_speaks_for_a_positive_acknowledgement_and_for_no_other() {
    for (syndrome, fresh, stays) in
        [(POSITIVE, true, false), (POSITIVE, false, true), (GAP, true, true), (NOT_READY, true, true)]
    {
        let mut rig = Rig::default();
        noted(&mut rig, &[ack(0, 4, syndrome), Task { fresh, ..value(0, 5, 1) }]);
        rig.settle();
        let expected: &[_] = if stays { &[(0, ACK, 4), (0, ATOMIC, 5)] } else { &[(0, ATOMIC, 5)] };
        assert_eq!(rig.sent(), expected, "{syndrome:#x}, fresh: {fresh}");
    }
}

#[test]
fn what_is_new_counts_once_it_is_answered_or_dropped_or_given_up() {
    let mut rig = Rig::default();
    let told = |rig: &Rig| rig.answered[2].clone();
    let again = |task: Task| Task { fresh: false, ..task };
    rig.send(&data(2, 1, 1024 * 6));
    rig.send(&again(data(2, 1, 10)));
    rig.send(&value(2, 7, 1));
    rig.settle();
    assert_eq!(told(&rig), [0, 1, 2], "not that which came again");
    let mut many: Vec<Task> = (0..16).map(|count| again(value(2, count, 1))).collect();
    many.extend([value(2, 20, 1), again(data(2, 20, 1)), data(2, 21, 1)]);
    rig.steps.clear();
    noted(&mut rig, &many);
    assert_eq!(told(&rig), [0, 1, 2, 3, 4], "two had no room");
    rig.settle();
    rig.steps.clear();
    noted(&mut rig, &[value(2, 30, 1), again(value(2, 30, 1)), data(2, 31, 1), data(2, 32, 1)]);
    rig.tell(2, true, false);
    rig.settle();
    assert_eq!(told(&rig), [0, 1, 2, 3, 4, 7], "three are given up");
    rig.send(&data(2, 40, 1));
    rig.settle();
    assert_eq!(told(&rig), [0, 1, 2, 3, 4, 7, 8], "nor is one behind the stop ever answered");
    rig.tell(2, false, true);
    rig.settle();
    assert_eq!(told(&rig), [0, 1, 2, 3, 4, 7, 8, 0]);
    assert!((0..4).all(|number| number == 2 || rig.answered[number] == [0]));
}

#[test]
fn the_count_of_answers_begins_anew_after_31() {
    let mut rig = Rig::default();
    for count in 0..33 {
        rig.send(&value(1, count, count));
        rig.run(12);
    }
    rig.settle();
    let expected: Vec<u64> = (0..32).chain([0, 1]).collect();
    assert_eq!(rig.answered[1], expected);
}

#[test]
fn packets_of_a_read_carry_its_bytes_in_order_over_the_end_of_the_psns() {
    let mut rig = Rig::default();
    let task = Task { path_mtu: 1.into(), va: (u64::MAX - 255).into(), ..data(2, 0xff_fffe, 1000) };
    rig.send(&task);
    rig.settle();
    assert_eq!(rig.sent(), [(2, FIRST, 0xff_fffe), (2, MIDDLE, 0xff_ffff), (2, MIDDLE, 0), (2, LAST, 1)]);
    let pieces: Vec<(u64, u64)> =
        rig.steps.iter().map(|(_, step)| (step.address.into(), step.bytes.into())).collect();
    assert_eq!(pieces, [(u64::MAX - 255, 256), (0, 256), (256, 256), (512, 232)]);
    let said = 0x1f00_00c6;
    assert_eq!(aeths(&rig), [said, 0, 0, said], "none in the middle");
    assert!(rig.steps.iter().all(|(_, step)| step.need.index() == 4 && step.pd.index() == 9));
}

#[test]
fn a_read_of_nothing_is_one_packet_without_payload() {
    let mut rig = Rig::default();
    rig.send(&data(1, 3, 0));
    rig.settle();
    assert_eq!(rig.sent(), [(1, ONLY, 3)]);
    let step = rig.steps[0].1;
    assert!(!step.bytes.any() && !step.payload_len.any() && step.aeth.any());
}

#[test]
fn a_read_of_whole_packets_ends_with_a_full_one() {
    let mut rig = Rig::default();
    let task = Task { path_mtu: 5.into(), ..data(1, 3, 8192) };
    rig.send(&task);
    rig.settle();
    assert_eq!(rig.sent(), [(1, FIRST, 3), (1, LAST, 4)]);
    assert!(rig.steps.iter().all(|(_, step)| step.bytes.index() == 4096));
}

#[test]
fn the_longest_read_counts_on_to_its_end() {
    let mut rig = Rig::default();
    let task = Task { path_mtu: 5.into(), ..data(1, 3, 1 << 31) };
    rig.send(&task);
    rig.run(400);
    rig.tell(1, true, false);
    rig.settle();
    assert!(rig.steps.len() > 100 && rig.steps[1..].iter().all(|(_, step)| u64::from(step.op) == MIDDLE));
}

#[test]
fn a_read_waits_for_its_ticket_and_holds_nobody_else_up() {
    let mut rig = Rig::default();
    rig.done += 0xfffe;
    rig.send(&Task { ticket: 1.into(), ..data(0, 1, 10) });
    rig.run(100);
    assert!(rig.steps.is_empty() && read::<bool>(&rig.bench, "busy"));
    rig.send(&data(1, 1, 10));
    rig.send(&ack(0, 2, POSITIVE));
    rig.done += 2;
    rig.run(60);
    assert_eq!(rig.sent(), [(1, ONLY, 1)], "what is behind the READ waits with it");
    rig.done += 1;
    rig.settle();
    assert_eq!(rig.sent()[1..], [(0, ONLY, 1), (0, ACK, 2)]);
}

#[test]
fn a_read_behind_a_long_one_goes_however_far_the_tickets_have_run() {
    for pressure in [Pause::None, Pause::Always] {
        let mut rig = Rig::default();
        rig.bench[rig.step].pause(pressure);
        rig.send(&data(0, 1, 1024 * 300));
        rig.send(&Task { ticket: 100.into(), ..data(0, 301, 10) });
        rig.notify(0);
        for _ in 0..400 {
            rig.step();
            rig.done += 100;
        }
        // By now the ticket looks like one to come.
        assert!(rig.steps.len() < 301);
        rig.bench[rig.step].pause(Pause::None);
        rig.settle();
        assert_eq!(rig.steps.len(), 302);
    }
}

#[test]
fn the_seventeenth_read_is_dropped_and_the_acknowledgement_before_it_is_not() {
    let mut rig = Rig::default();
    let mut tasks: Vec<Task> = (0..16).map(|count| data(0, count, 1)).collect();
    tasks.extend([ack(0, 16, POSITIVE), data(0, 17, 1), data(1, 0, 1)]);
    noted(&mut rig, &tasks);
    assert_eq!(rig.dropped, 1);
    rig.settle();
    let of_first: Vec<u64> = rig.sent().iter().filter(|sent| sent.0 == 0).map(|sent| sent.2).collect();
    assert_eq!(of_first, (0..=16).collect::<Vec<u64>>());
    rig.send(&data(0, 17, 1));
    rig.settle();
    assert_eq!(rig.dropped, 1, "there is room again");
}

#[test]
fn a_notification_goes_first_of_all_and_once() {
    let mut rig = Rig::default();
    rig.pause = true;
    rig.send(&ack(0, 1, POSITIVE));
    rig.run(10);
    rig.notify(0);
    rig.notify(0);
    rig.run(20);
    rig.pause = false;
    rig.settle();
    assert_eq!(rig.sent(), [(0, CNP, 0), (0, ACK, 1)]);
    assert_eq!(rig.cnps, 1);
}

/// Steps until so many notifications of queue pair 0 have been sent, with a notice in every few cycles; when each was.
fn notified(rig: &mut Rig, count: usize) -> Vec<u64> {
    let start = rig.bench.cycle();
    let sent = |rig: &Rig| rig.steps.iter().map(|(cycle, _)| *cycle).collect::<Vec<u64>>();
    while sent(rig).len() < count {
        if rig.bench[rig.notice].is_empty() {
            rig.notify(0);
        }
        rig.run(3);
        assert!(rig.bench.cycle() < start + 20_000, "no notification comes");
    }
    sent(rig)
}

#[test]
fn notifications_of_a_queue_pair_are_an_interval_apart_also_where_time_wraps() {
    for interval in [0, 40, 1000] {
        let mut rig = Rig::default();
        rig.model.cnp_interval = interval;
        let sent = notified(&mut rig, 8);
        let gaps: Vec<u64> = sent.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.iter().all(|gap| *gap >= interval && *gap < interval + 20), "{interval}: {gaps:?}");
        // Another queue pair has an interval of its own, and so has the next of the same number.
        rig.settle();
        let before = rig.steps.len();
        rig.notify(1);
        rig.tell(0, false, true);
        rig.run(20);
        rig.notify(0);
        rig.settle();
        let last: Vec<_> = rig.sent().split_off(before);
        assert_eq!(last, [(1, CNP, 0), (0, CNP, 0)], "{interval}");
    }
}

#[test]
fn the_interval_begins_when_a_notification_is_sent() {
    let mut rig = Rig::default();
    rig.model.cnp_interval = 200;
    rig.pause = true;
    rig.notify(0);
    rig.run(300);
    rig.pause = false;
    rig.run(20);
    rig.notify(0);
    rig.run(170);
    rig.notify(0);
    rig.settle();
    assert_eq!(rig.cnps, 1);
    rig.run(30);
    rig.notify(0);
    rig.settle();
    assert_eq!(rig.cnps, 2);
}

#[test]
fn queue_pairs_take_turns_of_four_packets() {
    let mut rig = Rig::default();
    rig.pause = true;
    let tasks: Vec<Task> = (0..4).map(|number| data(number, 0, 1024 * 9)).collect();
    noted(&mut rig, &tasks);
    rig.settle();
    let turns: Vec<u64> = rig.sent().iter().map(|sent| sent.0).collect();
    let expected: Vec<u64> =
        [4, 4, 1].iter().flat_map(|burst| (0..4).flat_map(|n| vec![n; *burst])).collect();
    assert_eq!(turns, expected);
}

#[test]
fn a_failure_gives_one_refusal_and_one_error_and_ends_the_answers() {
    let mut rig = Rig::default();
    noted(&mut rig, &[data(2, 10, 5000), data(2, 15, 5), ack(2, 16, POSITIVE)]);
    rig.pause = true;
    rig.fail(2, 14.into());
    rig.fail(2, 15.into());
    rig.notify(2);
    rig.send(&data(2, 17, 5));
    rig.send(&ack(2, 17, POSITIVE));
    rig.run(40);
    rig.pause = false;
    rig.settle();
    assert_eq!(rig.sent(), [(2, ACK, 14)]);
    assert_eq!(aeths(&rig), [u64::from(OPERATIONAL) << 24 | 0xd2], "the MSN of the READ");
    assert_eq!((rig.errors.len(), rig.dropped), (1, 0));
    rig.tell(2, false, true);
    rig.settle();
    rig.send(&data(2, 17, 5));
    rig.settle();
    assert_eq!(rig.sent()[1..], [(2, ONLY, 17)], "it begins anew");
}

#[test]
fn a_failure_of_a_read_that_has_gone_is_told_without_its_number() {
    for psn in [9, 15] {
        let mut rig = Rig::default();
        rig.send(&data(2, 5, 100));
        rig.settle();
        noted_behind(&mut rig, &data(2, 10, 5000));
        rig.fail(2, psn.into());
        rig.run(20);
        rig.pause = false;
        rig.settle();
        assert_eq!(rig.sent()[1..], [(2, ACK, psn)]);
        assert_eq!(aeths(&rig)[1], u64::from(OPERATIONAL) << 24);
    }
}

fn noted_behind(rig: &mut Rig, task: &Task) {
    rig.pause = true;
    rig.send(task);
    rig.run(10);
}

#[test]
fn a_failure_of_a_request_is_none_of_an_answer() {
    let mut rig = Rig::default();
    rig.fail_with(TxFailure { qpn: 1.into(), ..TxFailure::default() });
    rig.settle();
    assert!(rig.steps.is_empty() && rig.errors.is_empty());
}

#[test]
fn the_seventeenth_error_that_waits_is_lost_and_failures_move_on() {
    let mut rig = Rig::default();
    rig.bench[rig.error].pause(Pause::Always);
    for count in 0..20_u64 {
        rig.fail(count % 4, count.into());
        rig.run(12);
        rig.tell(count % 4, false, true);
        rig.run(12);
    }
    assert!(rig.bench.is_sent(), "no failure waits");
    rig.bench[rig.error].pause(Pause::None);
    assert_eq!(rig.model.errors.len(), 20);
    rig.model.errors.truncate(16);
    rig.settle();
}

#[test]
fn a_queue_pair_that_stops_owes_nothing_but_a_refusal_and_what_came_before_it() {
    let mut rig = Rig::default();
    noted(&mut rig, &[data(0, 1, 9000), ack(0, 9, POSITIVE), data(1, 1, 5), ack(1, 2, ACCESS)]);
    rig.pause = true;
    rig.notify(0);
    rig.notify(1);
    rig.run(20);
    rig.tell(0, true, false);
    rig.tell(1, true, false);
    rig.run(20);
    // Behind the stop a refusal still counts, and nothing else.
    for number in [0, 1] {
        rig.send(&data(number, 20, 5));
        rig.send(&ack(number, 21, POSITIVE));
        rig.notify(number);
    }
    rig.run(60);
    rig.pause = false;
    rig.settle();
    assert_eq!(rig.sent(), [(1, ONLY, 1), (1, ACK, 2)]);
    rig.send(&ack(0, 22, ACCESS));
    rig.settle();
    assert_eq!(rig.sent()[2..], [(0, ACK, 22)]);
    assert_eq!(rig.dropped, 0);
}

#[test]
fn data_that_cannot_be_had_is_refused_though_a_later_refusal_was_sent() {
    let mut rig = Rig::default();
    noted(&mut rig, &[data(1, 1, 5), data(1, 2, 3000), ack(1, 9, ACCESS)]);
    rig.tell(1, true, false);
    rig.run(40);
    rig.fail(1, 2_u64.into());
    rig.fail(1, 3_u64.into());
    rig.settle();
    // All steps were given by then, the refusal among them; the failure's own goes behind, and tells the peer what is missing.
    let told: Vec<_> = rig.sent().into_iter().filter(|sent| sent.1 == ACK).collect();
    assert_eq!(told[..2], [(1, ACK, 9), (1, ACK, 2)]);
}

#[test]
fn a_queue_pair_that_ends_owes_not_even_a_refusal() {
    let mut rig = Rig::default();
    noted(&mut rig, &[data(1, 1, 5), ack(1, 2, ACCESS)]);
    rig.end(1);
    rig.settle();
    assert!(rig.sent().is_empty());
}

#[test]
fn a_reset_forgets_even_a_refusal_and_half_of_a_read() {
    let mut rig = Rig::default();
    rig.bench[rig.step].pause(Pause::Always);
    rig.send(&data(3, 1, 1024 * 12));
    rig.run(60);
    rig.send(&ack(3, 9, ACCESS));
    rig.run(20);
    rig.tell(3, true, false);
    rig.tell(3, false, true);
    rig.run(20);
    rig.send(&data(3, 0x50, 2000));
    rig.run(60);
    rig.bench[rig.step].pause(Pause::None);
    rig.settle();
    let sent = rig.sent();
    assert_eq!(sent[sent.len() - 2..], [(3, FIRST, 0x50), (3, LAST, 0x51)]);
    assert!(sent.iter().all(|sent| sent.1 != ACK));
}
