//! Kernels: the catalogue, their limits, and what is counted of them.

use rust_hdl::prelude::Bits;
use stroma_abi::regs::map::{CATALOGUE_MAX, KERNEL_LIMIT, KERNEL_PATIENCE, catalogue, identity, kernels};
use stroma_verilate::SplitMix64;

use super::super::model::Effect;
use super::super::rig::{COUNTING, PULSES, Rig};

/// All counters of a slot: invoked, succeeded, failed, stopped.
fn counters(rig: &mut Rig, slot: usize) -> [u64; 4] {
    [&kernels::INVOKED, &kernels::SUCCEEDED, &kernels::FAILED, &kernels::STOPPED]
        .map(|counter| rig.fetch(&kernels::BLOCK, counter, slot))
}

fn limits(rig: &mut Rig) -> [u64; 4] {
    let ports: [u64; 2] = ["kernel_limit", "kernel_patience"].map(|port| rig.port::<Bits<32>>(port).into());
    let [limit, patience] =
        [&kernels::LIMIT, &kernels::PATIENCE].map(|reg| rig.fetch(&kernels::BLOCK, reg, 0));
    [limit, patience, ports[0], ports[1]]
}

#[test]
fn the_catalogue_has_the_kernels_of_the_build_by_slot() {
    let mut rig = Rig::default();
    assert_eq!(rig.raw_load(catalogue::BLOCK.address(&catalogue::SLOTS) & !7) >> 32, 3);
    let entries: Vec<u64> = (0..CATALOGUE_MAX)
        .map(|slot| rig.raw_load(catalogue::BLOCK.offset + catalogue::KERNEL.element(slot)))
        .collect();
    let expected = [0x0eca_8642_0001_1100, 0x1d95_0c84_0002_2200, 0x3b2a_1908_0003_3300];
    assert_eq!((&entries[..3], &entries[3..]), (&expected[..], &[0; CATALOGUE_MAX - 3][..]));
}

#[test]
fn limits_are_those_of_the_map_until_they_are_stored_and_after_a_restart() {
    let mut rig = Rig::default();
    let [limit, patience] = [KERNEL_LIMIT.into(), KERNEL_PATIENCE.into()];
    assert_eq!(limits(&mut rig), [limit, patience, limit, patience]);
    rig.put(&kernels::BLOCK, &kernels::LIMIT, 0, 0x8765_4321);
    assert_eq!(limits(&mut rig), [0x8765_4321, patience, 0x8765_4321, patience]);
    rig.put(&kernels::BLOCK, &kernels::PATIENCE, 0, 7);
    rig.put(&kernels::BLOCK, &kernels::LIMIT, 0, 0);
    assert_eq!(limits(&mut rig), [0, 7, 0, 7]);
    rig.put(&identity::BLOCK, &identity::CONTROL, 0, 1);
    assert_eq!(limits(&mut rig), [limit, patience, limit, patience]);
}

#[test]
fn each_pulse_is_counted_under_its_slot_and_a_restart_begins_at_zero() {
    let mut rig = Rig::default();
    for slot in 0..CATALOGUE_MAX {
        // Each kind as often as it is told apart by.
        for times in 0..5 {
            rig.happens(std::array::from_fn(|kind| u64::from(times <= kind) << slot));
        }
        rig.run(COUNTING);
        assert_eq!(counters(&mut rig, slot), [1, 2, 3, 4 + 5], "slot {slot}");
        if let Some(other) = slot.checked_sub(1) {
            assert_eq!(counters(&mut rig, other), [1, 2, 3, 4 + 5], "slot {other} is as it was");
        }
    }
    rig.put(&identity::BLOCK, &identity::CONTROL, 0, 1);
    for slot in 0..CATALOGUE_MAX {
        assert_eq!(counters(&mut rig, slot), [0; 4], "slot {slot}");
    }
}

#[test]
fn nothing_is_missed_when_all_kernels_have_something_in_every_cycle() {
    let mut rig = Rig::default();
    let mut rng = SplitMix64::new(5);
    rig.run(rng.below(16));
    (0..300).for_each(|_| rig.happens([0xffff; PULSES.len()]));
    (0..300).for_each(|_| rig.happens(std::array::from_fn(|_| rng.next_u64() & 0xffff)));
    rig.run(COUNTING);
    for slot in 0..CATALOGUE_MAX {
        let [invoked, .., stopped] = counters(&mut rig, slot);
        assert!(invoked > 400 && stopped > 800, "slot {slot}: {invoked}, {stopped}");
    }
    assert_eq!(rig.effects, Vec::<Effect>::new());
}
