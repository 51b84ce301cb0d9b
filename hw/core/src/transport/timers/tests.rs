mod corners;
mod rig;

use stroma_verilate::{Pause, SplitMix64};

use super::{least, scan, waits};
use crate::host::work::QpChange;
use crate::testing::{noise, read, stalls};
use crate::transport::records::Alarm;
use crate::verilog::differential::{assert_agree, differential};
use rig::{QPS, Rig, SWEEP};

/// Waits of a few cycles to a few sweeps, and sometimes none; some of them rests, which have no code for none.
fn any_alarm(rng: &mut SplitMix64) -> Alarm {
    let rests = rng.below(4) == 0;
    let timeout = if rests { 1 + rng.below(9) } else { rng.below(7) };
    Alarm { qpn: rng.below(1 << QPS).into(), timeout: timeout.into(), rests }
}

fn live(rig: &mut Rig, cycles: u64, often: u64) {
    for _ in 0..cycles {
        for place in 0..2 {
            if rig.rng.below(1000) < often && rig.bench[rig.alarms[place]].is_empty() {
                let alarm = any_alarm(&mut rig.rng);
                rig.send(place, alarm);
            }
        }
        if rig.rng.below(10_000) < often && rig.bench[rig.change].is_empty() {
            let change = QpChange { qpn: rig.rng.below(1 << QPS).into(), ..noise(&mut rig.rng) };
            rig.send_change(change);
        }
        rig.step();
    }
}

#[test]
fn agrees_with_the_model() {
    let mut rig = Rig::default();
    for (seed, often) in [(1, 3), (2, 30), (3, 300), (4, 1000)] {
        rig.reset(seed, seed * 1_000_003);
        live(&mut rig, 6000, often);
        rig.settle();
        assert!(rig.nudges.len() > 15, "seed {seed}: {}", rig.nudges.len());
    }
}

#[test]
fn survives_stalls() {
    let mut rig = Rig::default();
    for (seed, (idle, pressure)) in (0..).zip(stalls()) {
        rig.reset(seed, seed);
        for alarm in rig.alarms {
            rig.bench[alarm].pause(idle.clone());
        }
        rig.bench[rig.change].pause(idle);
        rig.bench[rig.nudge].pause(pressure);
        live(&mut rig, 2500, 20);
        rig.settle();
        assert!(rig.nudges.len() > 8, "{}", rig.nudges.len());
    }
}

#[test]
fn recovers_from_reset() {
    let mut rig = Rig::default();
    rig.bench[rig.nudge].pause(Pause::Always);
    for number in 0..1 << QPS {
        rig.send(0, Alarm { qpn: number.into(), timeout: 1.into(), ..Alarm::default() });
    }
    rig.run(3 * SWEEP);
    assert!(read::<bool>(&rig.bench, "nudge$valid"));
    rig.bench[rig.nudge].pause(Pause::None);
    rig.reset(1, 50);
    assert_eq!(rig.wake(), u64::MAX);
    rig.run(5 * SWEEP);
    assert!(rig.nudges.is_empty() && !read::<bool>(&rig.bench, "busy"), "no timer runs");
    live(&mut rig, 2000, 30);
    rig.settle();
}

/// The same alarms at the same times, with every cycle or without the quiet ones.
fn history(rig: &mut Rig, seed: u64, start: u64, skips: bool) -> (Vec<(u64, usize)>, u64) {
    rig.reset(seed, start);
    let mut rng = SplitMix64::new(seed);
    let mut evaluated = 0;
    for _ in 0..60 {
        let most = [3, 40, 2000][usize::try_from(rng.below(3)).expect("small")];
        let due = rig.now + rng.below(most);
        let (place, alarm) = (usize::from(rng.below(2) == 1), any_alarm(&mut rng));
        let alarm = Alarm { timeout: (u64::from(alarm.timeout) * 3 / 2).into(), ..alarm };
        evaluated += rig.until(due, skips);
        rig.send(place, alarm);
    }
    evaluated += rig.until(rig.now + 10_000, skips);
    (rig.nudges.clone(), evaluated)
}

#[test]
fn nudges_come_in_the_same_cycles_whether_quiet_time_is_skipped_or_not() {
    let mut rig = Rig::default();
    for seed in 0..5 {
        let (all, cycles) = history(&mut rig, seed, seed * 7, false);
        let (some, fewer) = history(&mut rig, seed, seed * 7, true);
        assert_eq!(all, some, "seed {seed}");
        assert!(all.len() > 5 && fewer < cycles / 4, "{} nudges, {fewer} of {cycles} cycles", all.len());
    }
}

#[test]
fn rust_and_verilog_agree() {
    let cases = vec![
        differential!("timers_waits", waits::Waits::default, [code, rests]),
        differential!("timers_scan", scan::Scan::<2>::default, clock, [reset, row, sets, set_index, hold]),
        differential!(
            "timers_least",
            least::Least::<2>::default,
            clock,
            [reset, jumps, passes, armed, deadline, sets, set_deadline]
        ),
    ];
    assert_agree(cases, 400);
}
