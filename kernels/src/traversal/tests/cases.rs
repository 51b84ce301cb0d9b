//! What is tried at both widths.

use stroma_abi::desc::SlotCommand;
use stroma_abi::kernel::traversal::{Predicate, Traversal, VALUE_MAX};
use stroma_hw::testing::stalls_of;
use stroma_kernel_models::Invocation;
use stroma_kernel_rig::{Rig, STREAMS};
use stroma_verilate::Pause;
use stroma_verilate::effort::share;

use super::{AT, Lists, SIZES, VALUES, list, scene};

pub(super) fn random_scenes<const D: usize>(rig: &mut Rig<D>) {
    let mut statuses = std::collections::BTreeMap::new();
    for seed in 0..share(60) as u64 {
        rig.reset(seed);
        rig.latency = [(10, 2000), (10, 30), (2000, 2001)][usize::try_from(seed % 3).expect("small")];
        for invocation in scene::invocations(rig, 6) {
            rig.call(invocation);
        }
        rig.settle();
        rig.told.iter().for_each(|status| *statuses.entry(*status).or_insert(0) += 1);
    }
    let told: Vec<u32> = statuses.keys().copied().collect();
    assert_eq!(told, [0, 2, 3, 6, 0x100, 0x101], "every ending came: {statuses:x?}");
    assert!(statuses.values().all(|count| *count >= share(10)), "{statuses:x?}");
}

pub(super) fn stalls<const D: usize>(rig: &mut Rig<D>) {
    rig.latency = (10, 60);
    for (seed, pauses) in (1000..).zip(stalls_of::<STREAMS>()) {
        rig.reset(seed);
        rig.pause(pauses);
        for invocation in scene::invocations(rig, 20) {
            rig.call(invocation);
        }
        rig.settle();
    }
}

pub(super) fn sizes<const D: usize>(rig: &mut Rig<D>) {
    rig.latency = (10, 200);
    for root in AT {
        for inline in [false, true] {
            for value_length in SIZES {
                rig.reset(value_length.into());
                rig.fill();
                let predicate = Predicate::NotEqual as u8;
                let task = Traversal { root, sought: 1, predicate, inline, value_length, ..list() };
                let reads = if value_length == 0 { 1 } else { 1 + value_length.div_ceil(4096) };
                assert_eq!(rig.answer(&task), 0, "{value_length} bytes");
                assert_eq!(rig.moves.reads.len(), reads as usize, "reads of {value_length} bytes");
            }
        }
    }
}

pub(super) fn predicates<const D: usize>(rig: &mut Rig<D>) {
    let edges = [0, 1, 0x7fff_ffff_ffff_ffff, 1 << 63, u64::MAX - 1, u64::MAX];
    let (mut found, mut pairs, mut equal) = (0, 0, 0);
    for (predicate, _) in Predicate::ALL {
        for mask in [0, 1, 1 << 63, 0xffff_ffff, u64::MAX] {
            for word in edges {
                rig.reset(mask ^ word);
                rig.host.store(AT[0], &[word, 0, VALUES[0], 0]);
                for sought in edges {
                    if *predicate == Predicate::Equal {
                        pairs += 1;
                        equal += usize::from(word & mask == sought & mask);
                    }
                    let predicate = *predicate as u8;
                    rig.ask(&Traversal { sought, mask, predicate, value_length: 3, ..list() });
                }
                rig.settle();
                found += rig.told.iter().filter(|status| **status == 0).count();
            }
        }
    }
    assert_eq!(found, 2 * pairs - equal, "two predicates hold of a pair, and one of a pair of equals");
}

pub(super) fn bad_addresses<const D: usize>(rig: &mut Rig<D>) {
    for (is_refused, expected) in [(true, 2), (false, 6)] {
        let value = VALUES[2];
        let elements = AT.map(|at| at + 31);
        let pieces = (0..16).map(|piece| value + 4096 * piece + 4095);
        for at in elements.into_iter().chain(pieces) {
            rig.reset(at);
            rig.latency = [(10, 11), (10, 400)][usize::from(at % 2 == 0)];
            rig.fill();
            let bad = if is_refused { &mut rig.host.refused } else { &mut rig.host.failing };
            bad.push(at..at + 1);
            let whole = Traversal { value_length: VALUE_MAX, ..list() };
            assert_eq!(rig.answer(&whole), expected, "{at:x}");
            rig.host.refused.clear();
            rig.host.failing.clear();
            assert_eq!(rig.answer(&whole), 0, "it lives on");
        }
    }
    rig.reset(1);
    rig.fill();
    let mut invocation = rig.invocation(&list().to_bytes(), VALUE_MAX);
    invocation.command.key ^= 1;
    rig.call(invocation);
    rig.settle();
    assert_eq!(rig.told, [2], "another key");
}

pub(super) fn bad_parameters<const D: usize>(rig: &mut Rig<D>) {
    rig.reset(1);
    rig.fill();
    let good = rig.invocation(&list().to_bytes(), 100);
    let edit = |change: fn(&mut SlotCommand)| {
        let mut bad = good.clone();
        change(&mut bad.command);
        bad
    };
    let parameters: Vec<Invocation> = [
        Traversal { element_words: 0, ..list() },
        Traversal { element_words: 9, ..list() },
        Traversal { element_words: 0x14, ..list() },
        Traversal { element_words: 1, next_at: 0, ..list() },
        Traversal { key_words: 0, ..list() },
        Traversal { key_words: 0x11, ..list() },
        Traversal { next_at: 4, ..list() },
        Traversal { next_at: 0x81, ..list() },
        Traversal { tree: true, right_at: 4, ..list() },
        Traversal { value_at: 4, ..list() },
        Traversal { relative: true, value_at: 8, ..list() },
        Traversal { relative: true, value_at: 4, ..list() },
        Traversal { relative: true, key_words: 9, value_at: 7, ..list() },
        Traversal { hop_limit: 0, ..list() },
        Traversal { value_length: 101, ..list() },
        Traversal { value_length: VALUE_MAX + 1, ..list() },
        Traversal { value_length: 1 << 31, ..list() },
    ]
    .map(|task| rig.invocation(&task.to_bytes(), if task.value_length > 101 { u32::MAX } else { 100 }))
    .into();
    let heads = [
        edit(|head| head.flags = 1),
        edit(|head| head.parameter_words = 8),
        edit(|head| head.parameter_words = 10),
        edit(|head| head.request_length = 35),
        Invocation::new(good.command, good.parameters, vec![1]),
        Invocation::new(good.command, good.parameters, vec![2; 1000]),
    ];
    for bad in parameters.into_iter().chain(heads) {
        rig.call(bad.clone());
        rig.settle();
        assert_eq!(rig.told.last(), Some(&0x101), "{bad:?}");
    }
    assert_eq!(rig.moves.reads.len(), 0);
    rig.call(good);
    let wraps = Traversal { relative: true, key_words: 0b1000, value_at: 7, ..list() };
    let good = rig.invocation(&Traversal { right_at: 9, ..wraps }.to_bytes(), 100);
    rig.call(good);
    rig.settle();
    assert_eq!(rig.told.split_off(rig.told.len() - 2), [0, 0x100]);
}

pub(super) fn circles<const D: usize>(rig: &mut Rig<D>) {
    rig.latency = (1, 2);
    rig.reset(1);
    rig.host.store(AT[0], &[10, AT[1], VALUES[0], 0]);
    rig.host.store(AT[1], &[20, AT[0], VALUES[1], 0]);
    for hop_limit in [1, 2, 3, 300] {
        let before = rig.moves.reads.len();
        assert_eq!(rig.answer(&Traversal { hop_limit, ..list() }), 3);
        assert_eq!(rig.moves.reads.len() - before, usize::from(hop_limit));
    }
    assert_eq!(rig.answer(&Traversal { sought: 20, hop_limit: 1, ..list() }), 3);
    assert_eq!(rig.answer(&Traversal { sought: 20, hop_limit: 2, ..list() }), 0);
    rig.fill();
    assert_eq!(
        rig.answer(&Traversal { sought: 5, hop_limit: 3, ..list() }),
        0x100,
        "an end before the limit"
    );
    assert_eq!(rig.answer(&Traversal { root: 0, ..list() }), 0x100);
}

pub(super) fn resets<const D: usize>(rig: &mut Rig<D>) {
    let task = Traversal { value_length: 20_000, ..list() };
    for cycles in (0..400).step_by(7) {
        rig.reset(cycles);
        rig.pause(std::array::from_fn(|stream| Pause::Random { seed: stream as u64, percent: 30 }));
        rig.fill();
        rig.ask(&task);
        rig.ask(&task);
        rig.run(cycles);
        rig.reset(cycles + 1);
        rig.pause(std::array::from_fn(|_| Pause::None));
        rig.fill();
        assert_eq!(rig.answer(&task), 0, "after {cycles} cycles");
        assert_eq!(rig.told.len(), 1);
    }
}
