//! Cycles.

use super::{Rig, burst};
use stroma_verilate::SplitMix64;

const PATIENCE: u32 = super::PATIENCE;

#[test]
fn large_reads_cost_one_beat_more_for_each_completion() {
    let mut rig = Rig::new::<7, 10>(PATIENCE, 20);
    for (read_log, beats) in [(7, 32 * 3), (8, 16 * 5), (9, 8 * 9), (12, 8 * 9)] {
        rig.settings(8, read_log, true, 7);
        rig.host.delay = 0;
        rig.host.in_one = true;
        rig.host.credits = 1000;
        (0..40).for_each(|at| rig.read(4096 * at, 64, &[]));
        while !rig.is_done() {
            rig.step();
        }
        // The first answers find nobody to wait for; what counts is how the rest follow.
        let (first, last) = (rig.r_cycles[640], rig.r_cycles[40 * 64 - 1]);
        assert_eq!(rig.r_cycles.len(), 40 * 64);
        let cycles = last - first;
        assert!(cycles <= 30 * beats + 64, "{read_log}: 30 pages in {cycles} cycles, not {}", 30 * beats);
        rig.finish();
    }
}

#[test]
fn large_writes_cost_one_beat_more_for_each_transaction() {
    let mut rig = Rig::new::<7, 10>(PATIENCE, 21);
    let mut random = SplitMix64::new(22);
    for (payload_log, beats) in [(7, 32 * 3), (8, 16 * 5), (9, 8 * 9), (10, 4 * 17)] {
        rig.settings(payload_log, 9, true, 7);
        (0..20).for_each(|at| rig.write(burst(&mut random, 4096 * at, 4096)));
        rig.far.beats = 0;
        while !rig.is_done() {
            rig.step();
        }
        assert_eq!(rig.far.beats, 20 * beats);
        assert_eq!(rig.far.last_cycle - rig.far.first_cycle + 1, 20 * beats, "no cycle without a beat");
        rig.finish();
    }
}

/// Reads take one beat each, and neither kind waits for more than one transaction of the other.
#[test]
fn both_at_once_fill_the_stream() {
    let mut rig = Rig::new::<7, 10>(PATIENCE, 23);
    let mut random = SplitMix64::new(24);
    rig.settings(8, 9, true, 7);
    rig.host.delay = 0;
    rig.host.in_one = true;
    rig.host.credits = 1000;
    for at in 0..20 {
        rig.write(burst(&mut random, 4096 * at, 4096));
        rig.read(0x10_0000 + 4096 * at, 64, &[]);
    }
    rig.far.beats = 0;
    while rig.far.beats < 600 {
        rig.step();
    }
    // A read after each write of five beats, as far as there are tags.
    assert!(rig.asked >= 80, "{} reads in 600 beats", rig.asked);
    while !rig.is_done() {
        rig.step();
    }
    let cycles = rig.far.last_cycle - rig.far.first_cycle + 1;
    assert_eq!(rig.far.beats, 20 * (80 + 8));
    assert!(cycles <= 20 * (80 + 8) + 100, "{cycles} cycles");
    rig.finish();
}

/// Cycles from the one in which `moved` becomes true to the one in which `port` is high.
fn until(rig: &mut Rig, moved: impl Fn(&Rig) -> bool, port: &str) -> u64 {
    while !moved(rig) {
        rig.step();
    }
    let start = rig.bench.cycle();
    while rig.count(port) == 0 {
        rig.step();
        assert!(rig.bench.cycle() - start < 1000, "{port} stays low");
    }
    rig.bench.cycle() - start + 1
}

#[test]
fn the_latencies_are_those_promised() {
    let mut rig = Rig::new::<7, 10>(PATIENCE, 25);
    let mut random = SplitMix64::new(26);
    (0..20).for_each(|_| rig.step());
    rig.far.hold = true;
    for (place, cycles) in [(0, 7), (16, 7), (20, 8)] {
        let beats = rig.bench[rig.w].sent();
        rig.write(burst(&mut random, 0x0012_3456_7000 + place, 4));
        assert_eq!(until(&mut rig, |rig| rig.bench[rig.w].sent() > beats, "rq$valid"), cycles, "w to rq");
        (0..10).for_each(|_| rig.step());
    }
    rig.far.hold = false;
    let open = rig.open.len();
    let reported =
        |rig: &Rig| rig.open.values().filter(|left| **left == 0).count() + open - rig.open.len() > 0;
    assert_eq!(until(&mut rig, reported, "b$valid"), 2, "report to b");
    rig.host.in_one = true;
    let taken = rig.bench[rig.ar].sent();
    rig.read(0x0012_3456_7000, 8, &[]);
    assert_eq!(until(&mut rig, |rig| rig.bench[rig.ar].sent() > taken, "rq$valid"), 3, "ar to rq");
    let beats = rig.bench[rig.rc].sent();
    assert_eq!(until(&mut rig, |rig| rig.bench[rig.rc].sent() == beats + 9, "r$valid"), 4, "rc to r");
    rig.finish();
}
