//! What is tried at both widths.

use std::collections::BTreeMap;

use stroma_abi::desc::SlotCommand;
use stroma_abi::kernel::hyperloglog::{Action, HyperLogLog, ITEMS, hash, place};
use stroma_hw::testing::stalls_of;
use stroma_kernel_models::Invocation;
use stroma_kernel_rig::STREAMS;
use stroma_verilate::Pause;
use stroma_verilate::effort::share;

use super::{ALL, Bed, NAME, of, scene};

pub(super) fn random_scenes<const D: usize>(rig: &mut Bed<D>) {
    let mut statuses = BTreeMap::new();
    for seed in 0..share(48) as u64 {
        rig.begin(seed);
        rig.latency =
            [(10, 2000), (10, 30), (2000, 2001), (112, 113)][usize::try_from(seed % 4).expect("small")];
        rig.outstanding = [1, 2, 32, usize::MAX][usize::try_from(seed / 4 % 4).expect("small")];
        for invocation in scene::invocations(rig, 24) {
            rig.call(invocation);
        }
        rig.ask(&of(Action::Read), Vec::new());
        rig.settle();
        rig.told.iter().for_each(|status| *statuses.entry(*status).or_insert(0) += 1);
    }
    let told: Vec<u32> = statuses.keys().copied().collect();
    assert_eq!(told, [0, 2, 6, 0x100, 0x101, 0x102], "every ending came: {statuses:x?}");
    assert!(statuses.values().all(|count| *count >= share(10)), "{statuses:x?}");
}

pub(super) fn stalls<const D: usize>(rig: &mut Bed<D>) {
    for (seed, pauses) in (1000..).zip(stalls_of::<STREAMS>()) {
        rig.pause(std::array::from_fn(|_| Pause::None));
        rig.begin(seed);
        rig.latency = (10, 60);
        rig.outstanding = 8;
        rig.pause(pauses);
        for invocation in scene::invocations(rig, share(12) as u64) {
            rig.call(invocation);
        }
        rig.ask(&of(Action::Take), Vec::new());
        rig.settle();
    }
    rig.pause(std::array::from_fn(|_| Pause::None));
}

/// The sizes of writes: each ends with the last 64 bytes that begin in a page.
fn sizes(address: u64, len: usize) -> Vec<usize> {
    let page = |at: usize| address.wrapping_add(at as u64) >> 12;
    let cuts: Vec<usize> = (64..len).step_by(64).filter(|at| page(*at) != page(*at - 64)).collect();
    let ends = cuts.iter().copied().chain([len]);
    ends.zip([0].into_iter().chain(cuts.iter().copied()))
        .map(|(end, start)| end - start)
        .filter(|size| *size > 0)
        .collect()
}

pub(super) fn lengths<const D: usize>(rig: &mut Bed<D>) {
    rig.begin(1);
    for item in ITEMS {
        for items in [0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 33, 255, 256, 257, 1000, 2500] {
            let len = items * usize::from(item);
            for address in [0, 0x1000, 0x1fc0, 0x1fff, 0x2f81, 0x3004, 0_u64.wrapping_sub(200)] {
                let before = rig.moves.writes.len();
                let payload = rig.noise(len);
                let task = HyperLogLog { item, address, ..of(Action::Count) };
                assert_eq!(rig.answer(&task, payload), 0);
                let written: Vec<usize> = rig.moves.writes[before..].iter().map(|(_, size)| *size).collect();
                assert_eq!(written, sizes(address, len), "{len} bytes at {address:#x}");
            }
            let before = rig.moves.writes.len();
            let payload = rig.noise(len);
            assert_eq!(rig.answer(&HyperLogLog { item, discard: true, ..of(Action::Count) }, payload), 0);
            assert_eq!(rig.moves.writes.len(), before, "nothing is stored");
        }
        assert_eq!(rig.answer(&of(Action::Read), Vec::new()), 0);
    }
}

/// Pairs of items of one word that have a register in common, the one of larger rank first, each pair with a register of its own.
fn pairs() -> impl Iterator<Item = [u32; 2]> {
    let mut by_register: BTreeMap<u16, Vec<(u8, u32)>> = BTreeMap::new();
    for item in 0..400_000 {
        let (register, rank) = place(hash::of_words(&[item]));
        by_register.entry(register).or_default().push((rank, item));
    }
    by_register.into_values().filter_map(|items| {
        let (largest, smallest) = (items.iter().max()?, items.iter().min()?);
        (largest.0 > smallest.0).then_some([largest.1, smallest.1])
    })
}

/// In each lane an item is followed by one of smaller rank for the same register, so many rows behind it that the first is on its
/// way, in the memory, or between. Who reads too early makes the register smaller, and nothing makes up for it.
pub(super) fn meetings<const D: usize>(rig: &mut Bed<D>) {
    rig.latency = (10, 11);
    let row = (D / 8).max(16);
    for item in ITEMS {
        let lanes = row / usize::from(item);
        let (mut pairs, mut items) = (pairs(), Vec::new());
        let filler = pairs.next().expect("some")[0];
        for distance in 1..=6 {
            let mut words = vec![filler; 12 * lanes];
            for lane in 0..lanes {
                [words[lane], words[distance * lanes + lane]] = pairs.next().expect("enough");
            }
            items.extend(words);
        }
        let words = items
            .iter()
            .flat_map(|word| std::iter::once(*word).chain(std::iter::repeat_n(0, usize::from(item) / 4 - 1)));
        let payload: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
        rig.begin(item.into());
        rig.ask(&HyperLogLog { item, ..of(Action::Count) }, payload);
        rig.ask(&of(Action::Take), Vec::new());
        rig.settle();
        assert_eq!(rig.told, [0; 2]);
    }
}

pub(super) fn bad_addresses<const D: usize>(rig: &mut Bed<D>) {
    for (is_refused, expected) in [(true, 2), (false, 6)] {
        for at in [0, 63, 64, 4095, 4096, 12_287, 12_288, 19_999] {
            rig.begin(at);
            rig.latency = [(10, 11), (10, 400)][usize::from(at % 2 == 0)];
            let address = 0x5_0040;
            let bad = if is_refused { &mut rig.host.refused } else { &mut rig.host.failing };
            bad.push(address + at..address + at + 1);
            let task = HyperLogLog { address, ..of(Action::Count) };
            let payload = rig.noise(20_000);
            assert_eq!(rig.answer(&task, payload), expected, "{at}");
            assert_eq!(rig.moves.writes.len(), sizes(address, 20_000).len(), "all of them are made");
            assert_eq!(rig.answer(&of(Action::Read), Vec::new()), 0, "and counted");
            rig.host.refused.clear();
            rig.host.failing.clear();
            let payload = rig.noise(20_000);
            assert_eq!(rig.answer(&task, payload), 0, "it lives on");
        }
    }
    // Both, in either order: the first counts. And a good one around them.
    for (refused, failing, expected) in [(0x6_1000, 0x6_2000, 2), (0x6_2000, 0x6_1000, 6)] {
        rig.begin(1);
        rig.host.refused.push(refused..refused + 1);
        rig.host.failing.push(failing..failing + 1);
        for (address, len) in [(0x6_3000, 64), (0x6_0000, 16_384), (0x6_3000, 8192)] {
            let payload = rig.noise(len);
            rig.ask(&HyperLogLog { address, ..of(Action::Count) }, payload);
        }
        rig.settle();
        assert_eq!(rig.told, [0, expected, 0]);
    }
    rig.begin(1);
    let payload = rig.noise(64);
    let mut invocation = rig.streamed(&of(Action::Count).to_bytes(), payload, 0);
    invocation.command.key ^= 1;
    rig.call(invocation);
    rig.settle();
    assert_eq!(rig.told, [2], "another key");
}

pub(super) fn bad_parameters<const D: usize>(rig: &mut Bed<D>) {
    rig.begin(1);
    let payload = rig.noise(512);
    assert_eq!(rig.answer(&of(Action::Count), payload), 0);
    let writes = rig.moves.writes.len();
    let mut bad = Vec::new();
    for (item, len) in
        [(0, 0), (1, 4), (2, 4), (3, 12), (5, 20), (12, 24), (20, 20), (32, 64), (0x84, 8), (0x44, 8)]
            .into_iter()
            .chain([
                (4, 1),
                (4, 2),
                (4, 3),
                (4, 4098),
                (8, 4),
                (8, 12),
                (8, 8009),
                (16, 8),
                (16, 24),
                (16, 65),
            ])
    {
        let payload = rig.noise(len);
        bad.push(rig.streamed(&HyperLogLog { item, ..of(Action::Count) }.to_bytes(), payload, ALL));
    }
    for action in [Action::Read, Action::Clear, Action::Take] {
        for len in [1, 4, 64, 9000] {
            let payload = rig.noise(len);
            bad.push(rig.streamed(&HyperLogLog { item: 1, ..of(action) }.to_bytes(), payload, ALL));
        }
    }
    for action in [Action::Read, Action::Take] {
        bad.extend([0, 1, ALL - 1].map(|response_max| rig.invocation(&of(action).to_bytes(), response_max)));
    }
    for (words, len) in [(0, 0), (0, 100), (4, 0), (4, 4), (6, 0), (6, 64), (16, 0), (16, 640)] {
        let payload = rig.noise(len);
        let mut text = of(Action::Count).to_bytes().to_vec();
        text.resize(words * 4, 0);
        bad.push(rig.streamed(&text, payload, ALL));
    }
    let good = rig.invocation(&of(Action::Count).to_bytes(), 0);
    let edit = |change: fn(&mut SlotCommand)| {
        let mut bad = good.clone();
        change(&mut bad.command);
        bad
    };
    bad.push(edit(|head| head.flags = 0x80));
    bad.push(edit(|head| head.request_length = 19));
    bad.push(edit(|head| head.request_length = 0));
    let payload = rig.noise(4096);
    let mut flagged = Invocation::new(good.command, good.parameters, payload);
    flagged.command.flags = 1;
    bad.push(flagged);
    for invocation in bad {
        rig.call(invocation.clone());
        rig.settle();
        assert_eq!(rig.told.last(), Some(&0x101), "{:?} {:?}", invocation.command, invocation.parameters);
    }
    assert_eq!(rig.moves.writes.len(), writes, "nothing was stored");
    rig.call(good);
    rig.settle();
    assert_eq!(rig.told.last(), Some(&0), "no payload at all");
    assert_eq!(rig.answer(&of(Action::Read), Vec::new()), 0, "nothing was counted or cleared");
}

pub(super) fn domains<const D: usize>(rig: &mut Bed<D>) {
    rig.begin(1);
    let payload = rig.noise(1024);
    assert_eq!(rig.answer(&of(Action::Count), payload), 0);
    let writes = rig.moves.writes.len();
    let stranger = |rig: &mut Bed<D>, task: &HyperLogLog, len| {
        let payload = rig.noise(len);
        let mut invocation = rig.streamed(&task.to_bytes(), payload, ALL);
        invocation.command.domain = 1 << rig.rng.below(16);
        rig.call(invocation);
        rig.settle();
        *rig.told.last().expect("an answer")
    };
    let release = HyperLogLog { release: true, ..of(Action::Clear) };
    for _ in 0..20 {
        assert_eq!(stranger(rig, &of(Action::Clear), 0), 0x102);
        assert_eq!(stranger(rig, &release, 0), 0x102);
        assert_eq!(stranger(rig, &of(Action::Count), 512), 0x100);
        assert_eq!(stranger(rig, &of(Action::Read), 0), 0x100);
        assert_eq!(stranger(rig, &of(Action::Take), 0), 0x100);
    }
    assert_eq!(rig.moves.writes.len(), writes, "nothing was stored");
    // The model holds the registers against what was counted.
    assert_eq!(rig.answer(&of(Action::Read), Vec::new()), 0);
    assert_eq!(rig.answer(&release, Vec::new()), 0);
    assert_eq!(rig.answer(&of(Action::Read), Vec::new()), 0x100, "it is nobody's");
    assert_eq!(stranger(rig, &of(Action::Clear), 0), 0);
    assert_eq!(rig.answer(&of(Action::Clear), Vec::new()), 0x102);
}

pub(super) fn restarts<const D: usize>(rig: &mut Bed<D>) {
    let stranger = |rig: &mut Bed<D>, action| {
        let mut invocation = rig.invocation(&of(action).to_bytes(), ALL);
        invocation.command.domain = 9;
        rig.call(invocation);
    };
    for cycles in [0, 3, 30, 300] {
        rig.begin(cycles);
        let payload = rig.noise(2048);
        assert_eq!(rig.answer(&of(Action::Count), payload), 0);
        stranger(rig, Action::Clear);
        rig.run(cycles);
        rig.0.restart();
        assert_eq!(rig.answer(&of(Action::Read), Vec::new()), 0, "as the model has it");
    }
    for cycles in [2, 30, 4000] {
        rig.begin(cycles);
        let payload = rig.noise(2048);
        assert_eq!(rig.answer(&of(Action::Count), payload), 0);
        assert_eq!(rig.answer(&HyperLogLog { release: true, ..of(Action::Clear) }, Vec::new()), 0);
        stranger(rig, Action::Clear);
        rig.run(cycles);
        rig.0.restart();
        super::MODEL.take();
        stranger(rig, Action::Read);
        rig.settle();
        assert_eq!(rig.told, [0x100], "after {cycles} cycles it is not cleared");
        assert_eq!(rig.answer(&of(Action::Clear), Vec::new()), 0, "and nobody's");
        assert_eq!(rig.answer(&of(Action::Read), Vec::new()), 0);
    }
}

pub(super) fn names<const D: usize>(rig: &mut Bed<D>) {
    rig.restart(1);
    let zero = |action| HyperLogLog { sketch: 0, ..of(action) };
    for action in [Action::Read, Action::Take, Action::Count] {
        assert_eq!(rig.answer(&zero(action), Vec::new()), 0x100, "no sketch yet");
    }
    rig.begin(1);
    let payload = rig.noise(1024);
    assert_eq!(rig.answer(&of(Action::Count), payload), 0);
    let writes = rig.moves.writes.len();
    for bit in 0..64 {
        let stranger = HyperLogLog { sketch: NAME ^ 1 << bit, ..of(Action::Count) };
        let payload = rig.noise(8 * (bit + 1));
        assert_eq!(rig.answer(&stranger, payload), 0x100, "bit {bit}");
    }
    assert_eq!(rig.moves.writes.len(), writes);
    assert_eq!(rig.answer(&zero(Action::Take), Vec::new()), 0x100);
    let mut bad = rig.invocation(&zero(Action::Clear).to_bytes(), 0);
    bad.command.flags = 1;
    rig.call(bad);
    assert_eq!(rig.answer(&of(Action::Read), Vec::new()), 0, "as it was");
    // All at once: each is judged by those before it.
    rig.ask(&zero(Action::Clear), Vec::new());
    for sketch in [NAME, 0, NAME] {
        let payload = rig.noise(256);
        rig.ask(&HyperLogLog { sketch, ..of(Action::Count) }, payload);
    }
    rig.ask(&of(Action::Read), Vec::new());
    rig.ask(&zero(Action::Take), Vec::new());
    rig.ask(&of(Action::Clear), Vec::new());
    rig.ask(&of(Action::Read), Vec::new());
    rig.settle();
    assert_eq!(rig.told[rig.told.len() - 8..], [0, 0x100, 0, 0x100, 0x100, 0, 0, 0]);
}

pub(super) fn resets<const D: usize>(rig: &mut Bed<D>) {
    for cycles in (0..500).step_by(31).chain([3000, 4000, 4200, 5000, 8500, 9000]) {
        rig.begin(cycles);
        rig.pause(std::array::from_fn(|stream| Pause::Random { seed: stream as u64, percent: 30 }));
        let payload = rig.noise(9000);
        rig.ask(&of(Action::Count), payload);
        if cycles > 500 {
            rig.ask(&of(Action::Take), Vec::new());
        }
        rig.run(cycles);
        rig.restart(cycles + 1);
        rig.pause(std::array::from_fn(|_| Pause::None));
        assert_eq!(
            rig.answer(&of(Action::Read), Vec::new()),
            0x100,
            "the sketch is gone after {cycles} cycles"
        );
        rig.ask(&of(Action::Clear), Vec::new());
        let payload = rig.noise(5000);
        rig.ask(&of(Action::Count), payload);
        rig.ask(&of(Action::Read), Vec::new());
        rig.settle();
        assert_eq!(rig.told, [0x100, 0, 0, 0]);
    }
}
