use stroma_abi::desc::Eqe;
use stroma_verilate::Pause;

use super::super::model::Ring;
use super::super::rig::{CLOCK_KHZ, Rig};
use crate::host::work::EntryWrite;
use crate::testing::read;

fn always() -> Pause {
    Pause::Script(vec![true])
}

fn send(rig: &mut Rig, count: u32) {
    for _ in 0..count {
        rig.send(0);
    }
    rig.finish();
}

#[test]
fn a_full_ring_loses_events_and_goes_on_when_the_driver_has_taken_some() {
    let mut rig = Rig::new(CLOCK_KHZ);
    send(&mut rig, 16);
    assert_eq!((rig.written, rig.lost, rig.interrupts), (16, 0, 1));
    send(&mut rig, 3);
    assert_eq!((rig.written, rig.lost), (16, 3));
    rig.store(2);
    rig.run(3);
    send(&mut rig, 3);
    assert_eq!((rig.written, rig.lost, rig.interrupts), (18, 4, 2));
    rig.store(18);
    rig.run(3);
    send(&mut rig, 16);
    assert_eq!((rig.written, rig.lost, rig.missing()), (34, 4, 4));
}

#[test]
fn the_phase_is_one_in_the_first_lap_and_flips_with_every_other() {
    let mut rig = Rig::new(CLOCK_KHZ);
    rig.ring = Ring { base: 0xffff_f000, log: 4 };
    for entry in 0..70 {
        rig.send(0);
        while !read::<bool>(&rig.bench, "entry$valid") {
            rig.step();
        }
        let written: EntryWrite = read(&rig.bench, "entry$payload");
        let phase = written.data.get_bit(Eqe::PHASE.offset());
        assert_eq!(u64::from(written.iova), 0xffff_f000 + u64::from(entry % 16) * 16, "entry {entry}");
        assert_eq!(phase, entry / 16 % 2 == 0, "entry {entry}");
        rig.finish();
        rig.store(entry + 1);
        rig.run(3);
    }
}

#[test]
fn a_large_ring_passes_the_end_of_its_first_page() {
    let mut rig = Rig::new(CLOCK_KHZ);
    rig.ring = Ring { base: 0x1_0000_0fff_f000, log: 16 };
    for _ in 0..5 {
        send(&mut rig, 200);
    }
    assert_eq!((rig.written, rig.lost), (1000, 0));
}

#[test]
fn an_interrupt_waits_until_the_entry_is_in_host_memory() {
    let mut rig = Rig::new(CLOCK_KHZ);
    rig.answers = 0;
    rig.send(0);
    rig.run(100);
    assert_eq!((rig.written, rig.producer(), rig.interrupts), (1, 0, 0));
    rig.answers = 100;
    rig.finish();
    assert_eq!((rig.producer(), rig.interrupts), (1, 1));
}

#[test]
fn the_vector_fires_once_an_arming() {
    let mut rig = Rig::new(CLOCK_KHZ);
    send(&mut rig, 1);
    send(&mut rig, 5);
    assert_eq!(rig.interrupts, 1, "the driver has not stored yet");
    rig.store(3);
    rig.run(10);
    assert_eq!(rig.interrupts, 2, "entries are left beyond the store");
    rig.store(6);
    rig.run(10);
    assert_eq!(rig.interrupts, 2, "none is left");
    send(&mut rig, 1);
    assert_eq!(rig.interrupts, 3, "but the store had armed it");
}

/// An event that becomes visible in any cycle around a store is told of.
#[test]
fn no_event_is_lost_when_it_meets_a_store() {
    let mut rig = Rig::new(CLOCK_KHZ);
    for lead in 0..14 {
        rig.reset();
        send(&mut rig, 1);
        assert_eq!(rig.interrupts, 1);
        rig.send(0);
        rig.run(lead);
        // The driver saw one entry, whatever there is by now.
        rig.store(1);
        rig.finish();
        rig.run(10);
        assert_eq!((rig.producer(), rig.interrupts), (2, 2), "store {lead} cycles behind the event");
    }
}

#[test]
fn a_count_waits_for_as_many_events() {
    let mut rig = Rig::new(CLOCK_KHZ);
    rig.moderate(0, 3, false);
    send(&mut rig, 2);
    rig.run(1000);
    assert_eq!(rig.interrupts, 0);
    assert_eq!(read::<rust_hdl::prelude::Bits<64>>(&rig.bench, "wake"), u64::MAX, "time changes nothing");
    send(&mut rig, 1);
    assert_eq!(rig.interrupts, 1);
    rig.store(3);
    send(&mut rig, 2);
    rig.run(100);
    assert_eq!(rig.interrupts, 1, "counted anew");
    send(&mut rig, 1);
    assert_eq!(rig.interrupts, 2);
    // Entries that the driver left behind wait as well.
    rig.store(4);
    send(&mut rig, 1);
    assert_eq!(rig.interrupts, 3);
}

/// Cycles from the first entry in host memory to the vector.
fn wait(clock_khz: u64, period_us: u64) -> u64 {
    let mut rig = Rig::new(clock_khz);
    rig.moderate(period_us, 0, false);
    rig.send(0);
    while rig.producer() == 0 {
        rig.step();
    }
    let start = rig.bench.cycle();
    while !read::<bool>(&rig.bench, "irq$valid") {
        rig.step();
    }
    rig.bench.cycle() - start
}

#[test]
fn a_period_is_never_early_and_hardly_late() {
    for (clock_khz, periods) in [(4000, [1, 100]), (250_000, [1, 64]), (322_265, [3, 50])] {
        for period_us in periods {
            let (waited, exact) = (wait(clock_khz, period_us), (clock_khz * period_us).div_ceil(1000));
            let late = 3 + period_us.div_ceil(16);
            assert!((exact..=exact + late).contains(&waited), "{waited} for {exact} cycles");
        }
    }
}

#[test]
fn the_first_event_begins_the_wait_and_a_count_ends_it_early() {
    let mut rig = Rig::new(CLOCK_KHZ);
    rig.moderate(50, 4, false);
    send(&mut rig, 1);
    let first = rig.bench.cycle();
    rig.run(100);
    send(&mut rig, 2);
    assert_eq!(rig.interrupts, 0);
    while rig.fired.is_empty() {
        rig.step();
    }
    let waited = rig.fired[0] - first;
    assert!((195..=205).contains(&waited), "50 us from the first, not from the last: {waited}");
    rig.run(3);
    rig.store(3);
    rig.run(3);
    send(&mut rig, 4);
    assert_eq!(rig.interrupts, 2, "four are enough");
}

#[test]
fn a_store_that_leaves_entries_begins_a_new_wait_for_them() {
    let mut rig = Rig::new(CLOCK_KHZ);
    rig.moderate(50, 0, false);
    send(&mut rig, 2);
    rig.run(150);
    rig.store(1);
    let stored = rig.bench.cycle();
    rig.run(150);
    assert_eq!(rig.interrupts, 0, "the entry that began the wait is taken");
    rig.run(100);
    assert_eq!(rig.interrupts, 1);
    assert!((200..210).contains(&(rig.fired[0] - stored)), "{}", rig.fired[0] - stored);
}

#[test]
fn a_mask_keeps_the_vector_and_no_event_is_forgotten() {
    let mut rig = Rig::new(CLOCK_KHZ);
    rig.moderate(0, 0, true);
    send(&mut rig, 3);
    rig.run(200);
    assert_eq!((rig.interrupts, rig.producer()), (0, 3));
    rig.moderate(0, 0, false);
    rig.run(5);
    assert_eq!(rig.interrupts, 1);
    // The same with a wait that ends under the mask.
    rig.store(3);
    rig.moderate(10, 0, true);
    send(&mut rig, 1);
    rig.run(500);
    assert_eq!(rig.interrupts, 1);
    rig.moderate(10, 0, false);
    rig.run(5);
    assert_eq!(rig.interrupts, 2);
}

#[test]
fn events_are_lost_in_silence_while_the_queue_is_off_and_it_begins_anew() {
    let mut rig = Rig::new(CLOCK_KHZ);
    send(&mut rig, 20);
    assert_eq!((rig.written, rig.lost), (16, 4));
    rig.enabled = false;
    rig.run(3);
    assert_eq!(rig.producer(), 0);
    send(&mut rig, 10);
    assert_eq!((rig.lost, rig.producer(), rig.interrupts), (4, 0, 1));
    // The consumer register was never stored; it counts from here on.
    rig.ring = Ring { base: 0x5000, log: 5 };
    rig.enabled = true;
    rig.run(3);
    send(&mut rig, 3);
    assert_eq!((rig.written, rig.producer(), rig.interrupts), (3, 3, 2));
    rig.store(3);
    send(&mut rig, 32);
    assert_eq!((rig.written, rig.lost), (35, 4));
}

#[test]
fn entries_of_a_ring_that_was_switched_off_do_not_count_for_the_next() {
    let mut rig = Rig::new(CLOCK_KHZ);
    rig.answers = 0;
    for _ in 0..4 {
        rig.send(0);
    }
    rig.run(20);
    assert_eq!(rig.written, 4, "on their way");
    rig.bench[rig.entry].pause(always());
    rig.send(0);
    rig.run(10);
    rig.enabled = false;
    rig.step();
    rig.enabled = true;
    rig.send(1);
    rig.run(50);
    assert!(read::<bool>(&rig.bench, "entry$valid"), "an offered entry stays");
    rig.bench[rig.entry].pause(Pause::None);
    rig.run(50);
    assert_eq!((rig.written, rig.interrupts), (5, 0), "the new one waits for the old ones");
    rig.answers = 100;
    rig.finish();
    assert_eq!((rig.written, rig.producer(), rig.interrupts), (1, 1, 1));
}

#[test]
fn latencies_and_rate_are_those_promised() {
    let mut rig = Rig::new(CLOCK_KHZ);
    rig.send(0);
    rig.run(1);
    assert!(!read::<bool>(&rig.bench, "entry$valid"));
    rig.run(1);
    assert!(read::<bool>(&rig.bench, "entry$valid"), "two cycles from the event to its entry");
    rig.run(1);
    assert_eq!((rig.written, rig.producer()), (1, 0));
    rig.run(1);
    assert_eq!((rig.producer(), read::<bool>(&rig.bench, "irq$valid")), (1, false), "done was seen");
    rig.run(1);
    assert!(read::<bool>(&rig.bench, "irq$valid"), "two cycles from done to the vector");

    rig.run(2);
    send(&mut rig, 1);
    rig.store(1);
    rig.run(2);
    assert!(!read::<bool>(&rig.bench, "irq$valid"));
    rig.run(1);
    assert!(read::<bool>(&rig.bench, "irq$valid"), "three cycles from the store");
    rig.store(2);
    rig.run(5);

    let start = rig.bench.cycle();
    for _ in 0..8 {
        rig.send(0);
        rig.send(1);
    }
    while rig.written < 18 {
        rig.step();
    }
    assert_eq!(rig.bench.cycle() - start, 2 + 16 * 2 - 1, "an event each two cycles");
}
