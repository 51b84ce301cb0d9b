//! The store of payload against a map of places.

use stroma_verilate::Pause;

use super::DeferPayload;
use super::rig::Rig;
use crate::testing::{read, stalls_of};
use crate::verilog::differential::{assert_agree, differential};

/// log2 of the beats of four places.
const NARROW: usize = 11;
const WIDE: usize = 8;
const PLACES: u64 = 4;

fn narrow(seed: u64) -> Rig<64> {
    Rig::new::<NARROW>("defer_payload_64", seed)
}

fn wide(seed: u64) -> Rig<512> {
    Rig::new::<WIDE>("defer_payload_512", seed)
}

fn converse<const D: usize>(mut rig: Rig<D>) {
    for stall in stalls_of::<4>() {
        rig.pause(stall);
        for _ in 0..30 {
            rig.any(PLACES);
        }
        rig.settle();
        rig.compare();
    }
}

#[test]
fn agrees_with_the_model_under_stalls() {
    converse(narrow(1));
    converse(wide(2));
}

#[test]
fn beats_pass_at_full_rate_and_those_of_the_store_cost_one_cycle_more() {
    let mut rig = wide(3);
    for slot in 0..PLACES {
        rig.store(slot);
    }
    rig.settle();
    rig.compare();
    let start = rig.bench.cycle();
    let before = rig.bench[rig.passed].received().len();
    for slot in 0..PLACES {
        rig.load(slot);
        rig.pass();
    }
    rig.settle();
    let beats = rig.bench[rig.passed].received().len() - before;
    // A cycle for each beat, one for each packet of the store, and those of the FIFOs.
    let cycles = usize::try_from(rig.bench.cycle() - start).expect("few");
    assert!(cycles <= beats + 4 + 6, "{cycles} cycles for {beats} beats");
    rig.compare();
}

#[test]
fn what_is_stored_waits_for_nobody_who_takes_payload() {
    let mut rig = narrow(4);
    rig.bench[rig.passed].pause(Pause::Always);
    rig.store(0);
    rig.store(1);
    rig.settle();
    rig.pass();
    for _ in 0..40 {
        rig.bench.step();
    }
    assert!(read::<bool>(&rig.bench, "busy"));
    rig.bench[rig.passed].pause(Pause::None);
    rig.load(1);
    rig.load(0);
    rig.settle();
    rig.compare();
}

#[test]
fn recovers_from_reset() {
    let mut rig = wide(5);
    rig.bench[rig.passed].pause(Pause::Always);
    rig.store(0);
    rig.pass();
    rig.load(0);
    for _ in 0..20 {
        rig.bench.step();
    }
    rig.bench.clear();
    rig.bench.reset(2);
    rig.forget();
    rig.bench[rig.passed].pause(Pause::None);
    for _ in 0..20 {
        rig.any(PLACES);
    }
    rig.settle();
    rig.compare();
}

#[test]
fn rust_and_verilog_agree() {
    let cases = [differential!(
        "defer_payload",
        DeferPayload::<64, NARROW>::default,
        clock,
        [
            errand.payload,
            errand.valid,
            is_request,
            payload.payload,
            payload.valid,
            source.ready,
            passed.ready
        ]
    )];
    assert_agree(cases, 200);
}
