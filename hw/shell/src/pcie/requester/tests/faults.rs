//! What goes wrong, one thing at a time.

use super::{FAULTS, Fault, LIMIT, Rig, burst};
use crate::pcie::requester::fields::{ERROR_NONE, ERROR_TAG};
use stroma_verilate::{Pause, SplitMix64};

#[test]
fn each_fault_spoils_its_request_alone() {
    let mut rig = Rig::new::<7, 10>(super::PATIENCE, 10);
    for fault in FAULTS {
        for in_one in [true, false] {
            rig.host.in_one = in_one;
            for at in 0..8 {
                let mut faults = [None; 8];
                faults[at] = Some(fault);
                rig.read(0x0012_3456_7000, 64, &faults);
                rig.read(0x0012_3456_8040, 1, &[]);
            }
            rig.finish();
        }
    }
}

#[test]
fn completions_for_nobody_are_dropped_and_counted() {
    let mut rig = Rig::new::<7, 10>(super::PATIENCE, 11);
    for tag in 0..=255 {
        rig.stray(tag, ERROR_NONE);
    }
    (0..1000).for_each(|_| rig.step());
    rig.strays_are_counted();
    // Of tags that are never given, and, by the block's word, of any.
    for at in 0..40 {
        rig.read(0x0012_3456_7000 + 512 * (at % 16), 8, &[]);
        rig.stray(128 + u8::try_from(at).expect("small"), ERROR_NONE);
        rig.stray(u8::try_from(at).expect("small"), ERROR_TAG);
        (0..20).for_each(|_| rig.step());
    }
    rig.finish();
}

#[test]
fn a_read_without_an_answer_fails_in_the_end() {
    let mut rig = Rig::new::<3, 6>(300, 12);
    rig.settings(8, 9, true, 3);
    rig.host.delay = 0;
    rig.host.in_one = true;
    for round in 0..3 {
        for at in 0..30 {
            let fault = (at % 7 == round).then_some(Fault::Lost);
            rig.read(0x0012_3456_7000 + 512 * at, 1 + at % 8, &[fault]);
        }
        let start = rig.bench.cycle();
        while !rig.is_done() {
            assert!(rig.bench.cycle() - start < LIMIT, "a lost answer stops everything");
            rig.step();
        }
        assert!(rig.bench.cycle() - start > 4 * 300);
        rig.finish();
        rig.host.delay = 0;
        rig.host.in_one = true;
    }
}

/// All tags lost, again and again.
#[test]
fn nothing_answers_and_all_reads_fail() {
    let mut rig = Rig::new::<3, 6>(300, 13);
    rig.settings(8, 7, true, 3);
    rig.read(0x0012_3456_7000, 64, &[Some(Fault::Lost); 32]);
    let mut random = SplitMix64::new(14);
    (0..5).for_each(|at| rig.write(burst(&mut random, 0x0012_3456_7000 + at * 700, 600)));
    rig.finish();
}

#[test]
fn an_answer_after_the_end_is_for_nobody() {
    let mut rig = Rig::new::<3, 6>(300, 15);
    rig.settings(8, 9, true, 3);
    rig.read(0x0012_3456_7000, 8, &[Some(Fault::Lost)]);
    while !rig.is_done() {
        rig.step();
    }
    rig.stray(0, ERROR_NONE);
    // Nor is it for those who come later, while one tag is left out.
    for at in 0..20 {
        rig.read(0x0012_3456_7000 + 512 * at, 1 + at % 8, &[]);
        rig.stray(0, ERROR_NONE);
        (0..15).for_each(|_| rig.step());
    }
    rig.finish();
}

/// Its packet has begun when time is over: the rest of it must not reach whoever has the tag then, which is possible when all
/// tags were lost.
#[test]
fn an_answer_that_is_interrupted_by_the_end_is_dropped() {
    let mut rig = Rig::new::<3, 6>(300, 16);
    rig.settings(8, 9, true, 3);
    for stop in [1, 2, 5, 8] {
        rig.host.in_one = true;
        rig.host.delay = 0;
        for at in 0..8 {
            let fault = (at > 0).then_some(Fault::Lost);
            rig.read(0x0012_3456_7000 + 512 * at, 8, &[fault]);
        }
        while rig.bench[rig.rc].sent() - rig.before[2] < stop {
            rig.step();
        }
        rig.bench[rig.rc].pause(Pause::Always);
        rig.pieces[0].fault = Some(Fault::Lost);
        rig.lost.insert(0);
        while !rig.is_done() {
            rig.step();
        }
        (0..8).for_each(|at| rig.read(0x0012_3456_8000 + 512 * at, 8, &[]));
        (0..100).for_each(|_| rig.step());
        rig.bench[rig.rc].pause(Pause::None);
        rig.finish();
    }
}
