//! What is tried at both widths, of good tables.

use std::collections::BTreeMap;

use stroma_hw::testing::stalls_of;
use stroma_kernel_rig::STREAMS;
use stroma_verilate::Pause;
use stroma_verilate::effort::share;

use super::{BUCKETS, Bed, SIZES, key, scene, task};

pub(super) fn built_tables<const D: usize>(rig: &mut Bed<D>) {
    let mut statuses = BTreeMap::new();
    for seed in 0..share(64) as u64 {
        rig.reset(seed);
        rig.latency = [(10, 2000), (10, 30), (2000, 2001)][usize::try_from(seed % 3).expect("small")];
        for invocation in scene::built(rig, 8) {
            rig.call(invocation);
        }
        rig.settle();
        rig.told.iter().for_each(|status| *statuses.entry(*status).or_insert(0) += 1);
    }
    let told: Vec<u32> = statuses.keys().copied().collect();
    assert_eq!(told, [0, 3, 0x100, 0x103], "{statuses:x?}");
    assert!(statuses.values().all(|count| *count >= share(10)), "{statuses:x?}");
}

pub(super) fn hostile_tables<const D: usize>(rig: &mut Bed<D>) {
    let mut statuses = BTreeMap::new();
    for seed in 0..share(100) as u64 {
        rig.reset(seed);
        rig.latency = [(10, 2000), (10, 30), (2000, 2001)][usize::try_from(seed % 3).expect("small")];
        for invocation in scene::hostile(rig, 8) {
            rig.call(invocation);
        }
        rig.settle();
        rig.told.iter().for_each(|status| *statuses.entry(*status).or_insert(0) += 1);
    }
    let told: Vec<u32> = statuses.keys().copied().collect();
    assert_eq!(told, [0, 2, 3, 6, 0x100, 0x101, 0x102, 0x103], "every ending came: {statuses:x?}");
    assert!(statuses.values().all(|count| *count >= share(10)), "{statuses:x?}");
}

pub(super) fn stalls<const D: usize>(rig: &mut Bed<D>) {
    rig.latency = (10, 60);
    for (seed, pauses) in (1000..).zip(stalls_of::<STREAMS>()) {
        rig.reset(seed);
        rig.pause(pauses);
        let invocations = if seed % 2 == 0 { scene::hostile(rig, 20) } else { scene::built(rig, 20) };
        for invocation in invocations {
            rig.call(invocation);
        }
        rig.settle();
    }
}

pub(super) fn sizes<const D: usize>(rig: &mut Bed<D>) {
    rig.latency = (10, 200);
    for length in [1, 8, 9, 16, 17, 24, 25, 32] {
        for value_length in SIZES {
            rig.reset(value_length.into());
            rig.fill(&key(length), value_length);
            assert_eq!(rig.answer(&task(&key(length))), 0, "a key of {length}, a value of {value_length}");
            let object = 8 + length.next_multiple_of(8) + value_length as usize;
            assert_eq!(rig.moves.reads.len(), 3 + object.div_ceil(4096), "reads of {object} bytes");
        }
    }
}

pub(super) fn keys<const D: usize>(rig: &mut Bed<D>) {
    rig.latency = (1, 2);
    for length in 1..=32 {
        let right = key(length);
        rig.reset(0);
        rig.fill(&right, 20);
        for at in 0..length {
            let mut other = right.clone();
            other[at] ^= 1 << (at % 8);
            assert_eq!(rig.answer(&task(&other)), 0x100, "{length} bytes, byte {at}");
        }
        assert_eq!(rig.answer(&task(&key(length % 32 + 1))), 0x100, "a key of another length");
        assert_eq!(rig.answer(&task(&right)), 0, "{length} bytes");
        if !length.is_multiple_of(8) {
            for behind in length..length.next_multiple_of(8) {
                rig.fill(&right, 20);
                rig.put(super::OBJECTS[2] + 8 + behind as u64, &[0x80]);
                assert_eq!(rig.answer(&task(&right)), 0x100, "{length} bytes, byte {behind} behind the key");
            }
        }
    }
}

pub(super) fn resets<const D: usize>(rig: &mut Bed<D>) {
    let right = key(13);
    for cycles in (0..500).step_by(9) {
        rig.reset(cycles);
        rig.pause(std::array::from_fn(|stream| Pause::Random { seed: stream as u64, percent: 30 }));
        rig.fill(&right, 20_000);
        let other = rig.object(super::OBJECTS[0], &key(3), 9000);
        rig.entry(BUCKETS[2], 0, other, super::OBJECTS[0]);
        rig.ask(&task(&right), 20_000);
        rig.ask(&task(&right), 20_000);
        rig.run(cycles);
        rig.reset(cycles + 1);
        rig.pause(std::array::from_fn(|_| Pause::None));
        rig.fill(&right, 20_000);
        assert_eq!(rig.answer(&task(&right)), 0, "after {cycles} cycles");
        assert_eq!(rig.told.len(), 1);
    }
}
