mod corners;

use stroma_verilate::Pause;

use super::rig::{CLOCK_KHZ, Rig};
use super::{Events, alarm, writer};
use crate::verilog::differential::{assert_agree, differential};

/// Random events, stores and settings. A driver that sleeps is woken, or moderation still waits.
fn random(rig: &mut Rig, cycles: u64, often: u64) {
    for _ in 0..cycles {
        for place in 0..2 {
            if rig.rng.below(100) < often && rig.bench[rig.sinks[place]].is_empty() {
                rig.send(place);
            }
        }
        if rig.rng.below(100) < 3 {
            let waits = rig.producer().saturating_sub(rig.alarm.taken);
            let some = u32::try_from(rig.rng.below(u64::from(waits) + 1)).expect("small");
            let consumer = rig.alarm.taken + if rig.rng.below(2) == 0 { waits } else { some };
            rig.store(consumer);
        }
        if rig.rng.below(500) == 0 {
            let period = rig.rng.below(3) * rig.rng.below(30);
            let count = rig.rng.below(2) * rig.rng.below(6);
            let mask = rig.rng.below(4) == 0;
            rig.moderate(period, count, mask);
        }
        rig.step();
    }
}

/// Everything is taken, and nothing may be left to be told.
fn drain(rig: &mut Rig) {
    rig.moderate(0, 0, false);
    rig.finish();
    assert_eq!(rig.missing(), rig.lost, "each event has an entry or was counted as lost");
    rig.store(rig.producer());
    rig.run(5);
    let before = rig.interrupts;
    rig.run(50);
    assert_eq!(rig.interrupts, before, "an empty queue wakes nobody");
    rig.send(0);
    rig.finish();
    assert_eq!(rig.interrupts, before + 1, "the next event does");
    rig.store(rig.producer());
    rig.finish();
}

#[test]
fn agrees_with_the_model() {
    let mut rig = Rig::new(CLOCK_KHZ);
    random(&mut rig, 20_000, 8);
    drain(&mut rig);
    assert!(rig.written > 1000 && rig.interrupts > 200, "{} entries, {} fired", rig.written, rig.interrupts);
    assert!(rig.lost > 10, "{} lost", rig.lost);
}

#[test]
fn survives_stalls() {
    let mut rig = Rig::new(CLOCK_KHZ);
    let random_pause = |seed, percent| Pause::Random { seed, percent };
    let burst = |go, pause| Pause::Burst { go, pause };
    let stalls = [
        (Pause::None, Pause::None, 10, 50),
        (random_pause(1, 50), random_pause(2, 50), 50, 10),
        (random_pause(3, 90), Pause::None, 100, 5),
        (Pause::None, random_pause(4, 95), 30, 100),
        (burst(20, 100), burst(1, 200), 5, 3),
    ];
    for (entry, irq, others, answers) in stalls {
        rig.bench[rig.entry].pause(entry);
        rig.bench[rig.irq].pause(irq);
        (rig.others, rig.answers) = (others, answers);
        random(&mut rig, 6000, 20);
        drain(&mut rig);
        assert!(
            rig.written > 100 && rig.interrupts > 10,
            "{} entries, {} fired",
            rig.written,
            rig.interrupts
        );
        rig.reset();
    }
}

#[test]
fn recovers_from_reset() {
    let mut rig = Rig::new(CLOCK_KHZ);
    rig.bench[rig.irq].pause(Pause::Script(vec![true]));
    for _ in 0..5 {
        rig.send(0);
    }
    rig.run(40);
    rig.answers = 0;
    rig.send(1);
    rig.run(10);
    rig.bench[rig.entry].pause(Pause::Script(vec![true]));
    rig.send(1);
    rig.run(10);
    // An interrupt, an entry, and a ticket are inside.
    rig.bench[rig.irq].pause(Pause::None);
    rig.bench[rig.entry].pause(Pause::None);
    rig.answers = 100;
    rig.reset();
    assert_eq!((rig.producer(), rig.interrupts), (0, 0));
    assert!(!crate::testing::read::<bool>(&rig.bench, "busy"), "nothing is left");
    random(&mut rig, 2000, 8);
    drain(&mut rig);
}

#[test]
fn rust_and_verilog_agree() {
    let cases = vec![
        differential!(
            "event_writer",
            writer::Writer::default,
            clock,
            [sink.payload, sink.valid, base, log, enable, taken, entry.ready, ticket, done]
        ),
        differential!(
            "event_alarm",
            alarm::Alarm::default,
            clock,
            [running, visible, consumer, consumer_stored, vector, moderation, now, irq.ready]
        ),
        differential!(
            "events",
            Events::<2>::default,
            clock,
            [
                base,
                log,
                vector,
                enable,
                consumer,
                consumer_stored,
                moderation,
                entry.ready,
                ticket,
                done,
                irq.ready
            ]
        ),
    ];
    assert_agree(cases, 500);
}
