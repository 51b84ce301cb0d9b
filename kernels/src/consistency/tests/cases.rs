//! What is tried at both widths.

use std::collections::BTreeMap;

use stroma_abi::desc::SlotCommand;
use stroma_abi::kernel::consistency::Consistency;
use stroma_hw::testing::stalls_of;
use stroma_kernel_models::Invocation;
use stroma_kernel_rig::STREAMS;
use stroma_verilate::effort::share;
use stroma_verilate::{Pause, SplitMix64};

use super::{AT, Bed, SIZES, task};

fn one_of<T: Copy>(rng: &mut SplitMix64, choices: &[T]) -> T {
    choices[usize::try_from(rng.below(choices.len() as u64)).expect("small")]
}

/// An object that changes while it is read, of which some may be out of reach, and calls that ask for it.
fn scene<const D: usize>(rig: &mut Bed<D>, count: u64) -> Vec<Invocation> {
    let size = one_of(&mut rig.rng, &SIZES);
    let address = (1 << 20) + rig.rng.below(1 << 16);
    let good = rig.object(size);
    let changes: Vec<Vec<u8>> = (0..3 * count)
        .map(|_| match rig.rng.below(3) {
            0 => rig.object(size),
            1 => rig.spoilt(&good),
            _ => {
                // Half of one change and half of another.
                let (mut torn, other) = (rig.object(size), rig.object(size));
                let seam = usize::try_from(rig.rng.below(size as u64 + 8)).expect("small");
                torn[seam..].copy_from_slice(&other[seam..]);
                torn
            }
        })
        .collect();
    rig.host.change(address, changes);
    if rig.rng.below(4) == 0 {
        let start = address + rig.rng.below(size as u64 + 8);
        let bad = if rig.rng.below(2) == 0 { &mut rig.host.refused } else { &mut rig.host.failing };
        bad.push(start..start + 1);
    }
    (0..count).map(|_| invocation(rig, address, size)).collect()
}

fn invocation<const D: usize>(rig: &mut Bed<D>, address: u64, size: usize) -> Invocation {
    let rng = &mut rig.rng;
    let length = u32::try_from(size + 8).expect("short");
    let mut task = Consistency {
        address,
        length,
        pause: one_of(rng, &[0, 1, 2, 50]),
        attempts: one_of(rng, &[1, 1, 2, 3, 5]),
    };
    match rng.below(16) {
        0 => task.attempts = 0,
        1 => task.length = one_of(rng, &[0, 15, 16_385, 1 << 31, u32::MAX]),
        2 => task.length = 16 + u32::try_from(rng.below(200)).expect("small"),
        _ => {}
    }
    let spare = one_of(rng, &[0, 0, 1000]);
    let mut invocation = rig.invocation(&task.to_bytes(), (length - 8) + spare);
    match rig.rng.below(40) {
        0 => invocation.command.key ^= 1 << rig.rng.below(32),
        1 => invocation.command.flags = 1,
        2 => invocation.command.response_max = length - 9,
        3 => {
            let data = vec![7; 1 + usize::try_from(rig.rng.below(300)).expect("small")];
            invocation = Invocation::new(invocation.command, invocation.parameters, data);
        }
        _ => {}
    }
    invocation
}

pub(super) fn random_objects<const D: usize>(rig: &mut Bed<D>) {
    let mut statuses = BTreeMap::new();
    for seed in 0..share(80) as u64 {
        rig.reset(seed);
        rig.latency = [(10, 2000), (10, 30), (2000, 2001)][usize::try_from(seed % 3).expect("small")];
        for invocation in scene(rig, 6) {
            rig.call(invocation);
        }
        rig.settle();
        rig.told.iter().for_each(|status| *statuses.entry(*status).or_insert(0) += 1);
    }
    let told: Vec<u32> = statuses.keys().copied().collect();
    assert_eq!(told, [0, 2, 6, 0x100, 0x101], "every ending came: {statuses:x?}");
    assert!(statuses.values().all(|count| *count >= share(10)), "{statuses:x?}");
}

pub(super) fn stalls<const D: usize>(rig: &mut Bed<D>) {
    rig.latency = (10, 60);
    for (seed, pauses) in (1000..).zip(stalls_of::<STREAMS>()) {
        rig.reset(seed);
        rig.pause(pauses);
        for invocation in scene(rig, 12) {
            rig.call(invocation);
        }
        rig.settle();
    }
}

pub(super) fn sizes<const D: usize>(rig: &mut Bed<D>) {
    rig.latency = (10, 200);
    for size in SIZES.into_iter().chain(8..200) {
        rig.reset(size as u64);
        let object = rig.object(size);
        let spoilt = rig.spoilt(&object);
        rig.host.change(AT, [spoilt, object]);
        assert_eq!(rig.answer(&task(size, 2, 0)), 0, "{size} bytes");
        assert_eq!(rig.moves.reads.len(), 2 * (size + 8).div_ceil(4096), "reads of {size} bytes");
    }
}

pub(super) fn flips<const D: usize>(rig: &mut Bed<D>) {
    rig.latency = (1, 2);
    rig.reset(1);
    for size in [8, 61] {
        let good = rig.object(size);
        for bit in 0..(size + 8) * 8 {
            let mut object = good.clone();
            object[bit / 8] ^= 1 << (bit % 8);
            rig.host.put(AT, &object);
            assert_eq!(rig.answer(&task(size, 1, 0)), 0x100, "bit {bit} of {size} bytes");
        }
        rig.host.put(AT, &good);
        assert_eq!(rig.answer(&task(size, 1, 0)), 0);
        // Of another length, which its bytes do not fit.
        assert_eq!(rig.answer(&task(size + 1, 1, 0)), 0x100);
        rig.host.put(AT, &vec![0; size + 8]);
        assert_eq!(rig.answer(&task(size, 1, 0)), 0x100, "zeros");
    }
}

pub(super) fn attempts<const D: usize>(rig: &mut Bed<D>) {
    rig.latency = (3, 20);
    for (bads, attempts, expected, used) in [
        (0, 1, 0, 1),
        (1, 1, 0x100, 1),
        (1, 2, 0, 2),
        (2, 2, 0x100, 2),
        (9, 9, 0x100, 9),
        (9, 10, 0, 10),
        (300, 301, 0, 301),
    ] {
        for size in [8, 100, 5000] {
            rig.reset(attempts.into());
            let good = rig.object(size);
            let changes: Vec<Vec<u8>> = (0..bads).map(|_| rig.spoilt(&good)).chain([good.clone()]).collect();
            rig.host.change(AT, changes);
            assert_eq!(
                rig.answer(&task(size, attempts, 5)),
                expected,
                "{bads} bad ones, {attempts} attempts"
            );
            assert_eq!(rig.moves.reads.len(), used * (size + 8).div_ceil(4096));
        }
    }
}

pub(super) fn bad_addresses<const D: usize>(rig: &mut Bed<D>) {
    for (is_refused, expected) in [(true, 2), (false, 6)] {
        for at in [0, 4095, 4096, 9000, 12_288, 16_383] {
            rig.reset(at);
            rig.latency = [(10, 11), (10, 400)][usize::from(at % 2 == 0)];
            let object = rig.object(16_376);
            rig.host.put(AT, &object);
            let bad = if is_refused { &mut rig.host.refused } else { &mut rig.host.failing };
            bad.push(AT + at..AT + at + 1);
            assert_eq!(rig.answer(&task(16_376, 3, 0)), expected, "{at}");
            assert_eq!(rig.moves.reads.len(), 4, "no other attempt");
            rig.host.refused.clear();
            rig.host.failing.clear();
            assert_eq!(rig.answer(&task(16_376, 1, 0)), 0, "it lives on");
        }
    }
    rig.reset(1);
    rig.host.refused.push(u64::MAX - 4096..u64::MAX);
    for address in [u64::MAX - 1, u64::MAX - 15, u64::MAX - 5000] {
        assert_eq!(rig.answer(&Consistency { address, ..task(16_376, 1, 0) }), 2, "{address:x}");
    }
    assert_eq!(rig.answer(&Consistency { address: 0, ..task(100, 2, 0) }), 0x100, "an address as any");
    let mut invocation = rig.invocation(&task(100, 1, 0).to_bytes(), 100);
    invocation.command.key ^= 1;
    rig.call(invocation);
    rig.settle();
    assert_eq!(rig.told.last(), Some(&2), "another key");
}

pub(super) fn bad_parameters<const D: usize>(rig: &mut Bed<D>) {
    rig.reset(1);
    let object = rig.object(100);
    rig.host.put(AT, &object);
    let good = rig.invocation(&task(100, 1, 0).to_bytes(), 100);
    let edit = |change: fn(&mut SlotCommand)| {
        let mut bad = good.clone();
        change(&mut bad.command);
        bad
    };
    let lengths = [0, 1, 8, 15, 16_385, 1 << 15, 1 << 16, 0x8000_0010, u32::MAX];
    let tasks = lengths.map(|length| Consistency { length, ..task(100, 1, 0) });
    let tasks = tasks.into_iter().chain([Consistency { attempts: 0, ..task(100, 1, 0) }]);
    let parameters: Vec<Invocation> = tasks.map(|task| rig.invocation(&task.to_bytes(), u32::MAX)).collect();
    let heads = [
        edit(|head| head.flags = 0x80),
        edit(|head| head.parameter_words = 3),
        edit(|head| head.parameter_words = 5),
        edit(|head| head.request_length = 15),
        edit(|head| head.response_max = 99),
        edit(|head| head.response_max = 0),
        Invocation::new(good.command, good.parameters, vec![1]),
        Invocation::new(good.command, good.parameters, vec![2; 1000]),
    ];
    for bad in parameters.into_iter().chain(heads) {
        rig.call(bad.clone());
        rig.settle();
        assert_eq!(rig.told.last(), Some(&0x101), "{bad:?}");
    }
    assert_eq!(rig.moves.reads.len(), 0);
    rig.call(edit(|head| head.response_max = u32::MAX));
    rig.call(good);
    rig.settle();
    let before = rig.told.len() - 2;
    assert_eq!(rig.told[before..], [0, 0]);
}

pub(super) fn resets<const D: usize>(rig: &mut Bed<D>) {
    for cycles in (0..500).step_by(9) {
        rig.reset(cycles);
        rig.latency = (10, 11);
        rig.pause(std::array::from_fn(|stream| Pause::Random { seed: stream as u64, percent: 30 }));
        let object = rig.object(5000);
        let spoilt = rig.spoilt(&object);
        rig.host.change(AT, [spoilt, object]);
        rig.ask(&task(5000, 2, 20));
        rig.ask(&task(5000, 2, 20));
        rig.run(cycles);
        rig.reset(cycles + 1);
        rig.pause(std::array::from_fn(|_| Pause::None));
        let object = rig.object(300);
        rig.host.put(AT, &object);
        assert_eq!(rig.answer(&task(300, 1, 0)), 0, "after {cycles} cycles");
        assert_eq!(rig.told.len(), 1);
    }
}
