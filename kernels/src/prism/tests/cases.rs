//! What is tried at both widths.

use super::*;

/// Sizes around words, beats, lines and the longest.
const SIZES: [usize; 16] = [1, 7, 8, 9, 31, 63, 64, 65, 127, 128, 129, 511, 1000, 4095, 4096, 64 * 63 + 1];

pub(super) fn sizes<const D: usize>(rig: &mut Rig<D>) {
    for size in SIZES {
        rig.reset(size as u64);
        rig.latency = [(10, 11), (1, 2), (10, 300)][size % 3];
        rig.free_buffers(7, 8);
        rig.host.store(POINTER, &[TARGET, size as u64]);
        let length = u32::try_from(size).expect("small");
        let data: Vec<u8> = (0..size).map(|_| rig.rng.next_u64().to_le_bytes()[0]).collect();
        let bounded =
            |item| with(item, |one| (one.indirect, one.bounded, one.address) = (true, true, POINTER));
        let found = rig.run_chain(&[
            write(TARGET, &data),
            bounded(read(0, 4096)),
            with(read(TARGET, length), |one| (one.redirect, one.redirect_address) = (true, ASIDE)),
            read(ASIDE, length),
        ]);
        assert_eq!(found.map(|report| (report.outcome, report.length)), [(1, length); 4]);
        assert_eq!(rig.host.bytes(ASIDE, size), data, "redirected");
        let copied = |kind: Kind| Operation {
            kind: kind as u8,
            address: if kind == Kind::Write { TARGET + 0x2000 } else { LIST },
            length,
            data_indirect: true,
            data_address: TARGET,
            ..Operation::default()
        };
        let found = rig.run_chain(&[
            (copied(Kind::Write), Vec::new()),
            (copied(Kind::Allocate), Vec::new()),
            allocate(LIST, &data),
            read(TARGET + 0x2000, length),
        ]);
        assert_eq!(outcomes(&found), [1; 4]);
        assert_eq!(rig.host.bytes(found[1].address, size), data, "appended from memory");
        assert_eq!(rig.host.bytes(found[2].address, size), data, "appended");
    }
}

pub(super) fn swaps<const D: usize>(rig: &mut Rig<D>) {
    let edges = [0, 1, 0x7fff_ffff_ffff_ffff, 1 << 63, u64::MAX];
    rig.latency = (1, 2);
    let (mut swapped, mut kept) = (0, 0);
    for length in [8, 16, 24, 32] {
        for (comparison, _) in Comparison::ALL {
            rig.reset(length);
            for round in 0..40 {
                let rng = &mut rig.rng;
                let mut choose = || edges[usize::try_from(rng.below(5)).expect("small")];
                // Equal but for one word, or not at all, so that every word decides in its turn.
                let common: [u64; 4] = std::array::from_fn(|_| choose());
                let mut there = common;
                there[round % 5 % 4] = if round % 5 == 4 { there[0] } else { choose() };
                let wide = |words: [u64; 4]| {
                    let bytes = words.map(u64::to_le_bytes).concat();
                    <[u8; 32]>::try_from(bytes).expect("four words")
                };
                let operands = Operands {
                    compare: wide(common),
                    compare_mask: wide([
                        u64::MAX,
                        u64::MAX,
                        u64::MAX,
                        if round % 3 == 0 { 0xff << 56 } else { u64::MAX },
                    ]),
                    swap: wide(std::array::from_fn(|_| rng.next_u64())),
                    swap_mask: wide(std::array::from_fn(|_| rng.next_u64() | rng.next_u64())),
                };
                rig.host.store(TARGET, &there);
                let found = rig.run_chain(&[swap(
                    TARGET,
                    u32::try_from(length).expect("small"),
                    *comparison,
                    &operands,
                )]);
                swapped += usize::from(found[0].outcome == End::Done as u8);
                kept += usize::from(found[0].outcome == End::NotSwapped as u8);
            }
        }
    }
    assert!(swapped + kept == 640 && swapped > 200 && kept > 200, "{swapped} swapped, {kept} not");
}

pub(super) fn longest<const D: usize>(rig: &mut Rig<D>) {
    rig.reset(1);
    let found = rig.run_chain(&[read(TARGET, 4096), read(POINTER, 4096), read(LIST, 4096), read(RING, 4096)]);
    assert_eq!(found.map(|report| (report.outcome, report.length)), [(1, 4096); 4]);
    assert_eq!(rig.moves.beats_out.len(), (64 + 4 * 4096) * 8 / D);
    let data = vec![0x77; 8192 - 3 * 64 - 128];
    let found = rig.run_chain(&[
        write(TARGET, &data[..4096]),
        swap(ASIDE, 32, Comparison::Equal, &always(3)),
        write(POINTER, &data[4096..data.len() - 63]),
    ]);
    assert_eq!(outcomes(&found), [1, 1, 1, 0], "the longest payload");
}

pub(super) fn allocations<const D: usize>(rig: &mut Rig<D>) {
    for (head, seed) in [(0, 1), (13, 2), (u64::MAX - 3, 3)] {
        rig.reset(seed);
        rig.latency = (10, 200);
        rig.free_buffers(head, 10);
        reports();
        for value in 0..12_u8 {
            rig.ask_chain(&[allocate(LIST, &[value; 100])]);
        }
        rig.settle();
        let found: Vec<(u8, u64)> = reports().iter().map(|four| (four[0].outcome, four[0].address)).collect();
        let places = (0..10).map(|at| (1, BUFFERS + ((head.wrapping_add(at) % 16) << 13)));
        let expected: Vec<(u8, u64)> = places.chain([(4, 0), (4, 0)]).collect();
        assert_eq!(found, expected);
        assert_eq!(rig.word_at(LIST), head.wrapping_add(10));
        for (value, (_, buffer)) in (0..10_u8).zip(expected) {
            assert_eq!(rig.host.bytes(buffer, 100), [value; 100]);
        }
    }
}

/// Each call swaps in one more than it expects; a call that finds something else is asked again with what it found.
pub(super) fn counters<const D: usize>(rig: &mut Rig<D>) {
    rig.reset(1);
    rig.latency = (10, 60);
    rig.host.store(TARGET, &[0, 0]);
    let wide = |word: u64| {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&word.to_le_bytes());
        bytes
    };
    reports();
    // Sixteen callers at once believe in the same number: one of them is right.
    for round in 0..20_u64 {
        for _ in 0..16 {
            let operands = Operands {
                compare: wide(round),
                compare_mask: wide(u64::MAX),
                swap: wide(round + 1),
                swap_mask: wide(u64::MAX),
            };
            rig.ask_chain(&[swap(TARGET, 16, Comparison::Equal, &operands)]);
        }
        rig.settle();
        let swapped = reports().iter().filter(|four| four[0].applied).count();
        assert_eq!((swapped, rig.word_at(TARGET)), (1, round + 1));
    }
}

/// A value goes to a fresh buffer, and its address with a version into an entry, if the version is newer.
pub(super) fn publication<const D: usize>(rig: &mut Rig<D>) {
    for is_forwarded in [true, false] {
        rig.reset(1);
        rig.free_buffers(0, 8);
        rig.host.store(TARGET, &[5, 0]);
        let put = |version: u64, value: u8| {
            let mut operands = Operands::default();
            operands.compare[..8].copy_from_slice(&version.to_le_bytes());
            operands.swap[..8].copy_from_slice(&version.to_le_bytes());
            operands.compare_mask[..8].fill(0xff);
            operands.swap_mask[..16].fill(0xff);
            let publish = with(swap(TARGET, 16, Comparison::Greater, &operands), |one| {
                one.conditional = true;
                (one.forward, one.forward_word) = (is_forwarded, 1);
                (one.data_indirect, one.data_address) = (!is_forwarded, ASIDE - 8);
            });
            let append = with(allocate(LIST, &[value; 300]), |one| {
                (one.redirect, one.redirect_address) = (!is_forwarded, ASIDE);
            });
            vec![append, write(ASIDE - 8, &version.to_le_bytes()), publish]
        };
        let found = rig.run_chain(&put(6, 1));
        assert_eq!(outcomes(&found), [1, 1, 1, 0]);
        assert_eq!((rig.word_at(TARGET), rig.word_at(TARGET + 8)), (6, BUFFERS));
        let found = rig.run_chain(&put(6, 2));
        assert_eq!(outcomes(&found), [1, 1, End::NotSwapped as u8, 0], "not newer");
        let found = rig.run_chain(&put(9, 3));
        assert_eq!(outcomes(&found), [1, 1, 1, 0]);
        assert_eq!((rig.word_at(TARGET), rig.word_at(TARGET + 8)), (9, BUFFERS + (2 << 13)));
        assert_eq!(rig.host.bytes(BUFFERS + (2 << 13), 300), [3; 300]);
        rig.host.store(LIST + 8, &[3]);
        let mut chain = put(10, 4);
        chain.remove(1);
        assert_eq!(outcomes(&rig.run_chain(&chain)), [End::NoBuffer as u8, End::Skipped as u8, 0, 0]);
        assert_eq!(rig.word_at(TARGET), 9);
    }
}
