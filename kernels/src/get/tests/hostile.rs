//! What is tried at both widths, of tables that no builder makes, and of requests that no client sends.

use stroma_abi::desc::SlotCommand;
use stroma_abi::kernel::get::{Get, ObjectHead, VALUE_MAX};
use stroma_kernel_models::Invocation;

use super::{BUCKETS, Bed, OBJECTS, SIZES, key, task};

pub(super) fn collisions<const D: usize>(rig: &mut Bed<D>) {
    let right = key(11);
    for (seed, value_length) in (0..).zip(SIZES) {
        for latency in [(1, 2), (10, 11), (10, 500)] {
            rig.reset(seed);
            rig.latency = latency;
            rig.fill(&right, 100);
            let mut other = right.clone();
            other[10] ^= 1;
            let length = rig.object(OBJECTS[0], &other, value_length);
            rig.entry(BUCKETS[0], 1, length, OBJECTS[0]);
            rig.entry(BUCKETS[2], 0, length, OBJECTS[0]);
            let length = rig.object(OBJECTS[1], &key(12), value_length);
            rig.entry(BUCKETS[2], 1, length, OBJECTS[1]);
            assert_eq!(rig.answer(&task(&right)), 0, "others of {value_length} bytes");
            rig.entry(BUCKETS[2], 2, 1, 0);
            assert_eq!(rig.answer(&task(&right)), 0x100);
            assert_eq!(rig.answer(&Get { fingerprint: super::PRINT ^ 1 << 31, ..task(&other) }), 0x100);
        }
    }
    rig.reset(1);
    rig.latency = (10, 11);
    rig.fill(&right, 100);
    let first = rig.object(OBJECTS[0], &right, 5);
    rig.entry(BUCKETS[2], 1, first, OBJECTS[0]);
    rig.ask(&task(&right), 5);
    rig.settle();
    assert_eq!(rig.told, [0], "of two with the key, the first has 5 bytes");
    // What another key's object has behind its first read need not be there.
    let long = rig.object(OBJECTS[0], &key(12), 30_000);
    rig.entry(BUCKETS[2], 1, long, OBJECTS[0]);
    for at in (4096..30_000).step_by(4096) {
        rig.host.refused.clear();
        rig.host.refused.push(OBJECTS[0] + at..OBJECTS[0] + at + 1);
        assert_eq!(rig.answer(&task(&right)), 0, "refused at {at}");
    }
}

pub(super) fn lengths<const D: usize>(rig: &mut Bed<D>) {
    let right = key(20);
    rig.latency = (5, 40);
    for value_length in [0, 1, 50, 5000] {
        rig.reset(value_length.into());
        rig.fill(&right, value_length);
        let length = 32 + value_length;
        let wrong =
            [0, 1, 7, 8, 9, 31, 32, 33, length - 1, length + 1, 4096, 65_568, 65_569, u32::MAX - 7, u32::MAX];
        for wrong in wrong.into_iter().filter(|wrong| *wrong != length) {
            rig.entry(BUCKETS[2], 2, wrong, OBJECTS[2]);
            assert_eq!(rig.answer(&task(&right)), 0x102, "{wrong} instead of {length}");
            assert_eq!(rig.answer(&task(&key(9))), 0x102, "of another key, too");
        }
        rig.entry(BUCKETS[2], 2, length, OBJECTS[2]);
        assert_eq!(rig.answer(&task(&right)), 0);
        // Heads with other lengths; the last but one sums up to the length with 32 bits, but not with all.
        for (head, expected) in [
            (ObjectHead { value_length: value_length + 1, key_length: 20, flags: 0 }, 0x102),
            (ObjectHead { value_length, key_length: 25, flags: 0 }, 0x102),
            (ObjectHead { value_length, key_length: u16::MAX, flags: 0 }, 0x102),
            (ObjectHead { value_length, key_length: 20, flags: 1 }, 0x102),
            (ObjectHead { value_length, key_length: 20, flags: 0x8000 }, 0x102),
            (ObjectHead { value_length: length.wrapping_sub(65_544), key_length: u16::MAX, flags: 0 }, 0x102),
            (ObjectHead { value_length: length - 8, key_length: 0, flags: 0 }, 0x100),
            (ObjectHead { value_length, key_length: 19, flags: 0 }, 0x100),
        ] {
            rig.put(OBJECTS[2], &head.to_bytes());
            assert_eq!(rig.answer(&task(&right)), expected, "{head:?}");
        }
    }
    rig.reset(0);
    rig.fill(&right, 10);
    rig.put(OBJECTS[2], &[0; 8]);
    rig.entry(BUCKETS[2], 2, 8, OBJECTS[2]);
    assert_eq!(rig.answer(&task(&right)), 0x100, "a head and no more is another key's");
}

pub(super) fn too_long<const D: usize>(rig: &mut Bed<D>) {
    let right = key(32);
    for (value_length, response_max) in [
        (1, 0),
        (24, 23),
        (25, 24),
        (5000, 4999),
        (VALUE_MAX, VALUE_MAX - 1),
        (VALUE_MAX + 1, u32::MAX),
        (0xffff_ff00, u32::MAX),
    ] {
        rig.reset(1);
        rig.fill(&right, value_length);
        rig.ask(&task(&right), response_max);
        rig.settle();
        assert_eq!(rig.told, [0x103], "{value_length}");
        assert_eq!((rig.moves.reads.len(), rig.moves.beats_out.len()), (4, 0), "head and key were read");
        rig.ask(&task(&key(31)), response_max);
        rig.settle();
        assert_eq!(rig.told, [0x103, 0x100], "another key's may be of any length");
        if value_length <= VALUE_MAX {
            rig.ask(&task(&right), value_length);
            rig.settle();
            assert_eq!(rig.told, [0x103, 0x100, 0], "just as long as allowed");
        }
    }
}

pub(super) fn bad_addresses<const D: usize>(rig: &mut Bed<D>) {
    let right = key(7);
    for (is_refused, expected) in [(true, 2), (false, 6)] {
        let buckets = BUCKETS.map(|at| at + 63);
        let pieces = (0..5).map(|piece| OBJECTS[2] + 4096 * piece + 4095);
        let heads = [OBJECTS[2], OBJECTS[2] + 15];
        for at in buckets.into_iter().chain(heads).chain(pieces) {
            rig.reset(at);
            rig.latency = [(10, 11), (10, 400)][usize::from(at % 2 == 0)];
            rig.fill(&right, 20_480);
            let bad = if is_refused { &mut rig.host.refused } else { &mut rig.host.failing };
            bad.push(at..at + 1);
            assert_eq!(rig.answer(&task(&right)), expected, "{at:x}");
            rig.host.refused.clear();
            rig.host.failing.clear();
            assert_eq!(rig.answer(&task(&right)), 0, "it lives on");
        }
    }
    rig.reset(1);
    rig.fill(&right, 10);
    rig.host.refused.push(u64::MAX - 0xff..u64::MAX);
    for at in [u64::MAX - 1, u64::MAX - 7, u64::MAX - 63] {
        rig.entry(BUCKETS[2], 2, 26, at);
        assert_eq!(rig.answer(&task(&right)), 2, "an object at {at:x}");
        assert_eq!(rig.answer(&Get { bucket: at, ..task(&right) }), 2, "a bucket at {at:x}");
    }
    let mut invocation = rig.invocation(&task(&right).to_bytes(), VALUE_MAX);
    invocation.command.key ^= 1;
    rig.call(invocation);
    rig.settle();
    assert_eq!(rig.told.last(), Some(&2), "another key");
}

pub(super) fn bad_parameters<const D: usize>(rig: &mut Bed<D>) {
    rig.reset(1);
    let right = key(17);
    rig.fill(&right, 100);
    let good = rig.invocation(&task(&right).to_bytes(), 100);
    let edit = |change: fn(&mut SlotCommand)| {
        let mut bad = good.clone();
        change(&mut bad.command);
        bad
    };
    let strays = (17..32).map(|at| {
        let stray = 1_u128 << ((at % 16) * 8 + at % 8);
        Get { key_high: task(&right).key_high | stray, ..task(&right) }
    });
    let tasks = [
        Get { hop_limit: 0, ..task(&right) },
        Get { key_length: 0, key_low: 0, key_high: 0, ..task(&right) },
        Get { key_length: 33, ..task(&right) },
        Get { key_length: 0x51, ..task(&right) },
        Get { key_length: 16, ..task(&right) },
        Get { key_length: 0xff, ..task(&right) },
        Get { key_length: 1, ..task(&key(2)) },
    ];
    let parameters: Vec<Invocation> =
        tasks.into_iter().chain(strays).map(|task| rig.invocation(&task.to_bytes(), 100)).collect();
    let heads = [
        edit(|head| head.flags = 0x80),
        edit(|head| head.parameter_words = 11),
        edit(|head| head.parameter_words = 13),
        edit(|head| head.request_length = 47),
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
    rig.settle();
    assert_eq!(rig.told.last(), Some(&0));
}

pub(super) fn circles<const D: usize>(rig: &mut Bed<D>) {
    rig.latency = (1, 2);
    rig.reset(1);
    let right = key(5);
    rig.fill(&right, 10);
    rig.bucket(BUCKETS[2], BUCKETS[0]);
    for hop_limit in [1, 2, 3, 4, 300] {
        let before = rig.moves.reads.len();
        assert_eq!(rig.answer(&Get { hop_limit, ..task(&right) }), 3);
        assert_eq!(rig.moves.reads.len() - before, usize::from(hop_limit));
    }
    rig.fill(&right, 10);
    assert_eq!(rig.answer(&Get { hop_limit: 2, ..task(&right) }), 3);
    assert_eq!(rig.answer(&Get { hop_limit: 3, ..task(&right) }), 0);
    assert_eq!(rig.answer(&Get { hop_limit: 3, ..task(&key(4)) }), 0x100, "an end before the limit");
    assert_eq!(rig.answer(&Get { bucket: 0, ..task(&right) }), 0x100);
}
