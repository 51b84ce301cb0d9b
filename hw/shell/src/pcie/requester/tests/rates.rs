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
