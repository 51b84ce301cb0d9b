use stroma_verilate::Pause;

use super::super::waits::{rest, wait};
use super::rig::{CLOCK_KHZ, QPS, Rig, SWEEP};
use crate::host::work::QpChange;
use crate::transport::records::Alarm;

fn alarm(number: u64, timeout: u64) -> Alarm {
    Alarm { qpn: number.into(), timeout: timeout.into(), ..Alarm::default() }
}

fn resting(number: u64, timer: u64) -> Alarm {
    Alarm { rests: true, ..alarm(number, timer) }
}

#[test]
fn a_wait_is_never_early_and_at_most_a_sweep_late() {
    let mut rig = Rig::default();
    for (alarm, cycles) in [(alarm(0, 3), wait(CLOCK_KHZ, 3)), (resting(0, 4), rest(CLOCK_KHZ, 4))] {
        for number in 0..1 << QPS {
            for start in 0..SWEEP {
                rig.reset(0, start);
                rig.send(0, Alarm { qpn: number.into(), ..alarm });
                rig.run(4 * cycles);
                let least = start + cycles;
                let [(came, who)] = rig.nudges[..] else { panic!("one nudge, not {:?}", rig.nudges) };
                assert_eq!(who as u64, number);
                assert!((least..=least + SWEEP + 4).contains(&came), "{came} for {least}");
            }
        }
    }
}

#[test]
fn every_code_of_a_rest_has_its_time() {
    let mut rig = Rig::default();
    for (code, time_us) in (0..).zip(stroma_abi::wire::aeth::RNR_TIMER_US) {
        rig.reset(0, 0);
        rig.send(0, resting(code % 8, code));
        let least = u64::from(time_us) * CLOCK_KHZ / 1000;
        rig.until(least + 2 * SWEEP, true);
        let [(came, who)] = rig.nudges[..] else { panic!("one nudge, not {:?}", rig.nudges) };
        assert_eq!(who as u64, code % 8);
        assert!((least..=least + SWEEP + 4).contains(&came), "{came} for {least}");
    }
}

#[test]
fn only_a_rest_replaces_a_rest() {
    let mut rig = Rig::default();
    rig.send(0, resting(2, 5));
    rig.send(0, resting(3, 5));
    rig.run(20);
    // One that would end sooner, one that would never end, and one that would end later.
    rig.send(1, alarm(2, 1));
    rig.send(1, alarm(2, 0));
    rig.send(1, alarm(2, 9));
    rig.send(0, resting(3, 8));
    rig.run(200);
    let [(first, 2)] = rig.nudges[..] else { panic!("one nudge, not {:?}", rig.nudges) };
    assert!(first <= 2 + rest(CLOCK_KHZ, 5) + SWEEP + 4);
    // It is over: now they count.
    rig.send(1, alarm(2, 4));
    let sent = rig.now;
    rig.run(SWEEP);
    assert_eq!(rig.model.deadlines[2], Some((sent + 2 + wait(CLOCK_KHZ, 4)).next_multiple_of(2)));
    rig.settle();
    let mut others: Vec<_> = rig.nudges[1..].iter().map(|nudge| nudge.1).collect();
    others.sort_unstable();
    assert_eq!(others, [2, 3]);
}

#[test]
fn a_queue_pair_that_begins_anew_has_no_timer_though_it_rested() {
    let mut rig = Rig::default();
    for sooner in [alarm(2, 2), resting(2, 6)] {
        rig.reset(0, 0);
        rig.send(0, sooner);
        rig.run(8);
        // Other changes are not meant.
        rig.send_change(QpChange { qpn: 2.into(), stops: true, ..QpChange::default() });
        rig.run(8);
        assert!(rig.model.deadlines[2].is_some());
        rig.send_change(QpChange { qpn: 2.into(), resets: true, ..QpChange::default() });
        rig.run(3);
        assert_eq!(rig.model.deadlines[2], None);
        // The first message of the next life has its own wait, however long the rest would have been.
        rig.send(0, alarm(2, 3));
        let sent = rig.now;
        rig.run(rest(CLOCK_KHZ, 6) + 4 * SWEEP);
        let [(came, 2)] = rig.nudges[..] else { panic!("one nudge, not {:?}", rig.nudges) };
        assert!(came <= sent + 2 + wait(CLOCK_KHZ, 3) + SWEEP + 4, "{came}");
    }
}

#[test]
fn a_rest_replaces_a_long_wait() {
    let mut rig = Rig::default();
    rig.send(0, alarm(1, 31));
    rig.send(0, resting(1, 2));
    rig.run(100);
    assert_eq!(rig.nudges.len(), 1);
    rig.settle();
}

#[test]
fn waits_are_those_of_the_specification_rounded_up() {
    assert_eq!((wait(250_000, 0), wait(250_000, 1), wait(250_000, 14)), (1024, 2048, 16_777_216));
    assert_eq!((wait(322_265, 0), wait(1, 0), wait(4_000_000, 31)), (1320, 1, 35_184_372_088_832));
    assert_eq!((rest(250_000, 0), rest(250_000, 1), rest(250_000, 31)), (163_840_000, 2500, 122_880_000));
    assert_eq!((rest(322_265, 1), rest(1, 1)), (3223, 1));
}

#[test]
fn the_longest_wait_shows_in_wake() {
    let mut rig = Rig::default();
    rig.reset(0, 1000);
    rig.send(1, alarm(5, 31));
    rig.run(4);
    let wake = rig.wake();
    assert_eq!(wake, (1002 + wait(CLOCK_KHZ, 31)).next_multiple_of(2));
    rig.until(wake + 2 * SWEEP, true);
    assert_eq!(rig.nudges.len(), 1);
}

#[test]
fn a_new_alarm_replaces_the_old_and_code_zero_ends_it() {
    let mut rig = Rig::default();
    rig.send(0, alarm(2, 4));
    rig.send(0, alarm(3, 4));
    rig.run(100);
    rig.send(1, alarm(2, 6));
    rig.send(0, alarm(3, 0));
    rig.run(200);
    assert!(rig.nudges.is_empty());
    rig.run(600);
    assert_eq!(rig.nudges.len(), 1);
    assert!(rig.nudges[0].1 == 2 && rig.nudges[0].0 > 100 + wait(CLOCK_KHZ, 6));
    rig.settle();
}

/// An alarm in any cycle around the end of the timer: it is told of, or it begins anew, and it is never lost.
#[test]
fn an_alarm_that_meets_the_end_of_its_timer_counts() {
    let (mut rig, mut both) = (Rig::default(), [0, 0]);
    for lead in 0..2 * SWEEP + 8 {
        rig.reset(0, 0);
        rig.send(0, alarm(6, 2));
        rig.run(wait(CLOCK_KHZ, 2) - 4 + lead);
        rig.send(1, alarm(6, 3));
        let sent = rig.now;
        rig.run(10 * SWEEP);
        let last = rig.nudges.last().expect("the second alarm").0;
        assert!(last >= sent + wait(CLOCK_KHZ, 3), "the second alarm was lost at {lead}: {:?}", rig.nudges);
        both[rig.nudges.len() - 1] += 1;
    }
    assert!(both[0] > 3 && both[1] > 3, "{both:?}");
}

#[test]
fn a_nudge_that_is_not_taken_holds_the_others_and_none_is_lost() {
    let mut rig = Rig::default();
    rig.bench[rig.nudge].pause(Pause::Always);
    for number in 0..1 << QPS {
        rig.send(0, alarm(number, 1));
    }
    rig.run(10 * SWEEP);
    assert_eq!(rig.nudges.len(), 1);
    rig.bench[rig.nudge].pause(Pause::None);
    rig.run(2 * SWEEP + 4);
    let mut who: Vec<usize> = rig.nudges.iter().map(|nudge| nudge.1).collect();
    who.sort_unstable();
    assert_eq!(who, (0..1 << QPS).collect::<Vec<_>>());
}

#[test]
fn wake_rises_within_two_sweeps_when_the_first_timer_is_stopped() {
    let mut rig = Rig::default();
    for phase in 0..SWEEP {
        rig.reset(0, phase);
        rig.send(0, alarm(1, 8));
        rig.send(0, alarm(4, 11));
        rig.run(5);
        let (first, second) = (rig.model.deadlines[1], rig.model.deadlines[4]);
        assert_eq!(Some(rig.wake()), first);
        rig.send(0, alarm(1, 0));
        rig.run(3);
        rig.run(2 * SWEEP);
        assert_eq!(Some(rig.wake()), second);
        rig.send(1, alarm(4, 0));
        rig.run(3 + 2 * SWEEP);
        assert_eq!(rig.wake(), u64::MAX);
    }
}

#[test]
fn a_sweep_with_a_jump_in_it_does_not_count() {
    let mut rig = Rig::default();
    rig.send(0, alarm(1, 12));
    rig.run(5);
    let wake = rig.wake();
    // Jumps that would show only some of the rows, never the one that runs.
    for _ in 0..40 {
        rig.now = (rig.now / SWEEP + 1) * SWEEP + 4;
        rig.run(10);
        assert_eq!(rig.wake(), wake);
    }
}

#[test]
fn alarms_move_each_cycle_and_reach_their_row_two_cycles_later() {
    let mut rig = Rig::default();
    for count in 0..20 {
        rig.send(0, alarm(count % 8, 9));
        rig.send(1, alarm(count % 8, 9));
    }
    rig.run(40);
    assert!(rig.bench.is_sent(), "one each cycle, from both ends in turn");
    rig.run(1);
    assert!(rig.model.deadlines.iter().all(Option::is_some) && rig.model.is_busy());
    rig.run(1);
    assert!(!rig.model.is_busy());
}
