//! READs that are asked for again while their answer is under way.

use stroma_verilate::Pause;

use super::super::rig::{Rig, ack, data, value};
use super::corners::{
    ACCESS, ACK, ATOMIC, FIRST, GAP, LAST, MIDDLE, NOT_READY, ONLY, OPERATIONAL, POSITIVE, aeths,
};
use crate::transport::records::Task;

/// A READ of 20 packets: the PSN of its first, of the next when eight have gone, and of the one behind the last.
const BEGIN: u64 = 0xff_fffc;
const NEXT: u64 = 4;
const END: u64 = 16;

fn psn(number: u64) -> u64 {
    number & 0xff_ffff
}

/// The answer to a READ from here to the end.
fn answer(begin: u64) -> Vec<(u64, u64, u64)> {
    let count = psn(END.wrapping_sub(begin));
    let op = |index| match index {
        0 if count == 1 => ONLY,
        0 => FIRST,
        _ if index + 1 == count => LAST,
        _ => MIDDLE,
    };
    (0..count).map(|index| (0, op(index), psn(begin + index))).collect()
}

/// A READ of the rest from here on, which came before.
fn again(begin: u64) -> Task {
    Task { fresh: false, ..data(0, psn(begin), 1024 * psn(END.wrapping_sub(begin))) }
}

/// Eight packets of the READ have gone, and those behind them have no room. Then these tasks come.
fn under_way(tasks: &[Task]) -> Rig {
    let mut rig = Rig::default();
    rig.bench[rig.step].pause(Pause::Always);
    rig.send(&Task { fresh: true, ..again(BEGIN) });
    rig.run(60);
    for task in tasks {
        rig.send(task);
    }
    rig.run(20 + 20 * tasks.len() as u64);
    assert!(rig.bench.is_sent());
    rig
}

/// What is sent behind the first eight packets, once there is room.
fn rest(rig: &mut Rig) -> Vec<(u64, u64, u64)> {
    rig.bench[rig.step].pause(Pause::None);
    rig.settle();
    let sent = rig.sent();
    assert_eq!(sent[..8], answer(BEGIN)[..8]);
    sent[8..].to_vec()
}

fn behind(tasks: &[Task]) -> Vec<(u64, u64, u64)> {
    rest(&mut under_way(tasks))
}

#[test]
fn a_read_from_behind_the_first_packet_sent_replaces_the_answer_under_way() {
    for begin in [BEGIN + 1, BEGIN + 3, BEGIN + 5, NEXT - 1, NEXT] {
        assert_eq!(behind(&[again(begin)]), answer(psn(begin)), "from {begin:#x}");
    }
}

#[test]
fn every_loss_behind_another_begins_the_answer_anew() {
    let mut rig = under_way(&[again(BEGIN + 1)]);
    // Eight packets leave, and eight of the new answer take their places.
    for _ in 0..2 {
        rig.bench[rig.step].pause(Pause::None);
        rig.run(8);
        rig.bench[rig.step].pause(Pause::Always);
        rig.run(60);
    }
    rig.send(&again(BEGIN + 3));
    rig.send(&again(BEGIN + 1));
    rig.run(40);
    rig.bench[rig.step].pause(Pause::None);
    rig.settle();
    assert_eq!(rig.model.gone_back, 2);
    let sent = rig.sent();
    let expected = [answer(psn(BEGIN + 3)), answer(psn(BEGIN + 1))].concat();
    assert_eq!(
        sent[sent.len() - expected.len()..],
        expected,
        "what begins in front of the head waits for it"
    );
}

#[test]
fn a_read_that_begins_elsewhere_replaces_nothing() {
    let left = &answer(BEGIN)[8..];
    for begin in [BEGIN, BEGIN - 1, BEGIN - 0x7f_ffff, NEXT + 1, NEXT + 0x80_0000] {
        let task = Task { fresh: false, ..data(0, psn(begin), 10) };
        assert_eq!(behind(&[task]), [left, &[(0, ONLY, psn(begin))]].concat(), "from {begin:#x}");
    }
}

#[test]
fn a_new_read_and_a_value_replace_nothing() {
    let left = &answer(BEGIN)[8..];
    let new = Task { fresh: true, ..again(BEGIN + 3) };
    assert_eq!(behind(&[new]), [left, &answer(psn(BEGIN + 3))].concat());
    let found = Task { fresh: false, ..value(0, psn(BEGIN + 3), 5) };
    assert_eq!(behind(&[found]), [left, &[(0, ATOMIC, psn(BEGIN + 3))]].concat());
}

#[test]
fn a_read_of_which_nothing_has_gone_and_a_value_are_not_replaced() {
    for head in [data(0, 8, 1024 * 6), value(0, 8, 5)] {
        for begin in 8..11 {
            let mut rig = Rig::default();
            super::corners::noted(&mut rig, &[head, Task { fresh: false, ..data(0, begin, 10) }]);
            rig.settle();
            let sent = rig.sent();
            assert_eq!((sent[0].2, sent[sent.len() - 1]), (8, (0, ONLY, begin)));
        }
    }
}

#[test]
fn one_of_another_queue_pair_replaces_nothing() {
    let other = Task { qpn: 1.into(), ..again(BEGIN + 3) };
    let mut sent = behind(&[other]);
    sent.retain(|sent| sent.0 == 0);
    assert_eq!(sent, answer(BEGIN)[8..]);
}

#[test]
fn reads_and_values_that_wait_are_given_up_and_those_behind_are_answered() {
    let late = [data(0, END, 5), value(0, END + 1, 7), again(BEGIN), again(BEGIN + 3), data(0, END + 2, 5)];
    assert_eq!(behind(&late), [answer(psn(BEGIN + 3)), vec![(0, ONLY, END + 2)]].concat());
}

#[test]
fn a_positive_acknowledgement_that_waits_is_dropped_and_any_other_goes_behind() {
    for (syndrome, stays) in [(POSITIVE, false), (0, false), (GAP, true), (NOT_READY, true), (ACCESS, true)] {
        let sent = behind(&[data(0, END, 5), ack(0, END + 1, syndrome), again(BEGIN + 3)]);
        let told: &[_] = if stays { &[(0, ACK, END + 1)] } else { &[] };
        assert_eq!(sent, [&answer(psn(BEGIN + 3)), told].concat(), "{syndrome:#x}");
    }
}

#[test]
fn an_acknowledgement_behind_the_one_that_goes_back_is_sent_behind_its_data() {
    let sent = behind(&[again(BEGIN + 3), ack(0, END, POSITIVE)]);
    assert_eq!(sent, [answer(psn(BEGIN + 3)), vec![(0, ACK, END)]].concat());
}

#[test]
fn new_ones_whose_place_is_taken_count_as_over_at_once() {
    let waiting = [data(0, END, 5), again(BEGIN), value(0, END + 1, 7)];
    let mut rig = under_way(&waiting);
    assert_eq!(rig.answered[0], [0]);
    rig.send(&again(BEGIN + 3));
    rig.run(20);
    assert_eq!(rig.answered[0], [0, 3], "the head and two behind it");
    rig.send(&data(0, END, 5));
    rest(&mut rig);
    assert_eq!(rig.answered[0], [0, 3, 4]);
}

#[test]
fn one_that_goes_back_has_room_where_sixteen_wait_and_makes_room() {
    let waiting: Vec<Task> = (0..15).map(|count| data(0, END + count, 1)).collect();
    let mut rig = under_way(&waiting);
    rig.send(&again(BEGIN));
    rig.run(20);
    assert_eq!(rig.dropped, 1, "there is no room for another");
    rig.send(&again(BEGIN + 3));
    for task in &waiting {
        rig.send(task);
    }
    rig.run(200);
    assert_eq!(rig.dropped, 1, "fifteen have room behind it");
    rig.send(&data(0, END + 15, 1));
    rig.run(20);
    assert_eq!(rig.dropped, 2);
    let small: Vec<_> = (0..15).map(|count| (0, ONLY, END + count)).collect();
    assert_eq!(rest(&mut rig), [answer(psn(BEGIN + 3)), small].concat());
}

#[test]
fn one_that_goes_back_waits_for_its_own_ticket() {
    let mut rig = under_way(&[Task { ticket: 2.into(), ..again(BEGIN + 3) }]);
    rig.bench[rig.step].pause(Pause::None);
    rig.run(100);
    assert_eq!(rig.steps.len(), 8);
    rig.done += 2;
    assert_eq!(rest(&mut rig), answer(psn(BEGIN + 3)));
}

#[test]
fn a_notification_that_is_due_stays_due() {
    let mut rig = under_way(&[]);
    rig.notify(0);
    rig.run(20);
    rig.send(&again(BEGIN + 3));
    rig.run(20);
    assert_eq!(rest(&mut rig)[1..], answer(psn(BEGIN + 3)));
    assert_eq!(rig.cnps, 1);
}

#[test]
fn behind_a_stop_nobody_goes_back() {
    let mut rig = under_way(&[ack(0, END, ACCESS)]);
    rig.tell(0, true, false);
    rig.run(20);
    rig.send(&again(BEGIN + 3));
    rig.run(20);
    assert_eq!(rest(&mut rig), [&answer(BEGIN)[8..], &[(0, ACK, END)]].concat());
}

#[test]
fn a_stop_a_reset_and_a_failure_end_the_one_that_went_back() {
    let mut rig = under_way(&[again(BEGIN + 3)]);
    rig.tell(0, true, false);
    rig.run(20);
    assert_eq!(rest(&mut rig), []);

    let mut rig = under_way(&[again(BEGIN + 3)]);
    rig.tell(0, false, true);
    rig.run(20);
    rig.send(&again(BEGIN + 5));
    assert_eq!(rest(&mut rig), answer(psn(BEGIN + 5)));

    let mut rig = under_way(&[Task { msn: 0x77.into(), ..again(BEGIN + 3) }]);
    rig.fail(0, psn(BEGIN + 6).into());
    rig.run(20);
    assert_eq!(rest(&mut rig), [(0, ACK, psn(BEGIN + 6))]);
    assert_eq!(aeths(&rig)[8], u64::from(OPERATIONAL) << 24 | 0x77, "the MSN of the one that went back");
}
