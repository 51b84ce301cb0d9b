use stroma_verilate::Pause;

use super::super::rig::{Rig, ack, data};
use super::corners::{POSITIVE, noted};
use super::live;
use crate::testing::read;
use crate::transport::records::{Task, TxFailure};

/// Ways to take steps: never the bottleneck, and always.
fn pressures() -> [Pause; 7] {
    [
        Pause::None,
        Pause::Every(2),
        Pause::Random { seed: 1, percent: 50 },
        Pause::Random { seed: 2, percent: 90 },
        Pause::Burst { go: 1, pause: 20 },
        Pause::Burst { go: 1, pause: 83 },
        Pause::Burst { go: 16, pause: 300 },
    ]
}

/// Packets of each queue pair so far.
fn counts(rig: &Rig) -> [usize; 8] {
    let mut counts = [0; 8];
    rig.sent().iter().for_each(|sent| counts[usize::try_from(sent.0).expect("small")] += 1);
    counts
}

#[test]
fn eight_queue_pairs_with_long_reads_send_as_much_as_each_other_whatever_the_steps_do() {
    for pressure in pressures() {
        let mut rig = Rig::with_eight();
        let tasks: Vec<Task> = (0..8).map(|number| data(number, 1, 1024 * 40)).collect();
        noted(&mut rig, &tasks);
        rig.bench[rig.step].pause(pressure.clone());
        rig.settle();
        let mut sent = [0_usize; 8];
        for (at, (number, ..)) in rig.sent().into_iter().enumerate() {
            sent[usize::try_from(number).expect("small")] += 1;
            let (least, most) = (sent.iter().min(), sent.iter().max());
            assert!(most <= least.map(|least| least + 4).as_ref(), "{pressure:?}, step {at}: {sent:?}");
        }
        assert_eq!(sent, [40; 8]);
    }
}

#[test]
fn those_who_wait_for_a_ticket_and_those_who_acknowledge_take_nothing_from_the_others() {
    for pressure in pressures() {
        let mut rig = Rig::with_eight();
        let mut tasks: Vec<Task> = (0..7).map(|number| data(number, 1, 1024 * 40)).collect();
        tasks[3].ticket = 1.into();
        noted(&mut rig, &tasks);
        rig.bench[rig.step].pause(pressure.clone());
        let mut psn = 0;
        while rig.steps.len() < 150 {
            if rig.bench[rig.task].is_empty() {
                psn += 1;
                rig.send(&ack(7, psn, POSITIVE));
            }
            rig.step();
        }
        let sent = counts(&rig);
        let of_six = [0, 1, 2, 4, 5, 6].map(|number| sent[number]);
        let (least, most) = (of_six.iter().min(), of_six.iter().max());
        assert!(most <= least.map(|least| least + 4).as_ref() && sent[3] == 0, "{pressure:?}: {sent:?}");
        // One step on a visit, where the others send four.
        assert!(of_six[0] / 4 <= sent[7] + 1, "{pressure:?}: {sent:?}");
        rig.done += 1;
        rig.settle();
        assert_eq!(counts(&rig)[..7], [40; 7]);
    }
}

/// The model sees that each has its turn.
#[test]
fn eight_queue_pairs_agree_with_the_model_whatever_the_steps_do() {
    let mut rig = Rig::with_eight();
    for (seed, pressure) in (40..).zip(pressures()) {
        for often in [5, 100] {
            rig.reset(seed);
            rig.bench[rig.step].pause(pressure.clone());
            live(&mut rig, 4000, often, 30);
            assert!(rig.steps.len() > 40, "{pressure:?}: {} steps", rig.steps.len());
        }
    }
}

/// In the time that the contract gives, and with as many tickets as it allows in that time, each queue pair is visited or looked at.
#[test]
fn tickets_are_noted_in_time_though_no_step_is_taken_and_all_inputs_are_full() {
    let pressures = [
        Pause::Always,
        Pause::Random { seed: 1, percent: 95 },
        Pause::Random { seed: 2, percent: 70 },
        Pause::Burst { go: 1, pause: 20 },
        Pause::None,
    ];
    for pressure in pressures {
        for is_full in [false, true] {
            let mut rig = Rig::default();
            let long: Vec<Task> = (0..4).map(|number| data(number, 1, 1024 * 150)).collect();
            noted(&mut rig, &long);
            for number in 0..4 {
                rig.send(&Task { ticket: 100.into(), ..data(number, 151, 10) });
            }
            rig.pause = true;
            rig.run(20);
            rig.pause = false;
            rig.bench[rig.step].pause(pressure.clone());
            assert!(rig.bench.is_sent());
            for count in 0..150 {
                rig.done += 32_767 / (28 * 4);
                if is_full {
                    flood(&mut rig, count);
                }
                rig.step();
            }
            // By now the ticket looks like one to come.
            assert!((rig.done - 100) & 0x8000 != 0 && read::<bool>(&rig.bench, "busy"));
            rig.bench[rig.step].pause(Pause::None);
            rig.settle();
            let last = rig.sent().into_iter().filter(|sent| sent.2 == 151).count();
            assert_eq!(last, 4, "{pressure:?}, inputs full: {is_full}");
        }
    }
}

/// Gives each input something, if it has nothing.
fn flood(rig: &mut Rig, count: u64) {
    if rig.bench[rig.task].is_empty() {
        rig.send(&ack(count % 4, 152, POSITIVE));
    }
    if rig.bench[rig.notice].is_empty() {
        rig.notify(count / 2 % 4);
    }
    if rig.bench[rig.failure].is_empty() {
        rig.fail_with(TxFailure { qpn: (count % 3).into(), ..TxFailure::default() });
    }
    if rig.bench[rig.change].is_empty() {
        rig.tell(count % 4, false, false);
    }
}
