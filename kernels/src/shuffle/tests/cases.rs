//! What is tried at both widths.

use stroma_abi::Qpn;
use stroma_abi::kernel::shuffle::{Buffer, Shuffle};
use stroma_hw::testing::stalls_of;
use stroma_kernel_client::shuffle::Table;
use stroma_kernel_models::Invocation;
use stroma_kernel_rig::{Rig, STREAMS};
use stroma_verilate::Pause;
use stroma_verilate::effort::share;

use super::scene::{Keys, Room, Scene};

/// Some calls with one table, a few of them on bad terms, each with one of these numbers of tuples.
fn random_calls<const D: usize>(rig: &mut Rig<D>, seed: u64, sizes: &[usize]) {
    rig.caller = (seed % 5 < 3).then(|| Qpn::new(7));
    let at = usize::try_from(seed).expect("small");
    let partitions_log = [10, 3, 0, 5, 1, 8, 4, 2, 10, 6, 7, 9][at % 12];
    let first_bit = rig.rng.below(65 - u64::from(partitions_log));
    let first_bit = u8::try_from(first_bit).expect("at most 64");
    let task = Shuffle { buffers: 0, partitions_log, first_bit, wide: at % 2 == 1 };
    let keys = [Keys::Even, Keys::Even, Keys::Few, Keys::Equal][at / 2 % 4];
    let room = [Room::Ample, Room::Ample, Room::Tight][at % 3];
    let scene = Scene::any(rig, task, keys, room);
    if at % 4 == 3 {
        let first = 1 + rig.rng.below(1 << partitions_log);
        let range = first * 0x20_0000..(first + 1 + rig.rng.below(40)) * 0x20_0000;
        if at % 8 == 3 { rig.host.refused.push(range) } else { rig.host.failing.push(range) }
    }
    for _ in 0..3 {
        let tuples = sizes[usize::try_from(rig.rng.below(sizes.len() as u64)).expect("small")];
        let mut call = scene.call(rig, tuples);
        match rig.rng.below(20) {
            0 => call.command.key ^= 1 << rig.rng.below(32),
            1 => call.command.flags = 4,
            2 => {
                call.data.push(7);
                call = Invocation::new(call.command, call.parameters, call.data);
            }
            _ => {}
        }
        rig.call(call);
    }
    rig.settle();
}

pub(super) fn random_scenes<const D: usize>(rig: &mut Rig<D>) {
    let mut statuses = std::collections::BTreeMap::new();
    for seed in 0..share(72) as u64 {
        rig.reset(seed);
        let at = usize::try_from(seed).expect("small");
        rig.latency = [(10, 2000), (10, 30), (2000, 2001)][at % 3];
        rig.outstanding = [usize::MAX, 32, 1, 4][at % 4];
        random_calls(rig, seed, &[0, 1, 2, 7, 8, 9, 100, 1000, 2500]);
        rig.told.iter().for_each(|status| *statuses.entry(*status).or_insert(0) += 1);
    }
    let told: Vec<u32> = statuses.keys().copied().collect();
    assert_eq!(told, [0, 2, 6, 0x100, 0x101], "every ending came: {statuses:x?}");
    assert!(statuses.values().all(|count| *count >= share(4)), "{statuses:x?}");
}

pub(super) fn stalls<const D: usize>(rig: &mut Rig<D>) {
    rig.latency = (10, 60);
    for (seed, pauses) in (1000..).zip(stalls_of::<STREAMS>()) {
        rig.reset(seed);
        rig.outstanding = [usize::MAX, 8][usize::from(seed % 2 == 0)];
        rig.pause(pauses);
        random_calls(rig, seed, &[9, 700]);
        rig.pause(std::array::from_fn(|_| Pause::None));
    }
}

/// One tuple more than each buffer holds.
pub(super) fn overflow<const D: usize>(rig: &mut Rig<D>) {
    for wide in [false, true] {
        let bytes: u32 = if wide { 16 } else { 8 };
        for capacity in [0, 8, 16, 250, 256, 264, 600] {
            rig.reset(u64::from(capacity));
            let task = Shuffle { buffers: 0x1001, partitions_log: 2, first_bit: 0, wide };
            let buffer = |at: u64| Buffer { address: 0x8000 + 0x1000 * at, capacity, used: 0 };
            rig.host.put(task.buffers, &Table::of((0..4).map(buffer).collect()).to_bytes());
            let before = rig.host.clone();
            let fitting = capacity / bytes;
            let tuple =
                |key: u64| [key.to_le_bytes(), (!key).to_le_bytes()].concat()[..bytes as usize].to_vec();
            // Partition 3 gets one more than it holds, partition 1 as many.
            let keys = (0..u64::from(fitting)).flat_map(|at| [3 + 4 * at, 1 + 4 * at]).chain([7]);
            let data = keys.flat_map(tuple).collect();
            let call = rig.streamed(&task.to_bytes(), data, 0);
            rig.call(call);
            rig.settle();
            assert_eq!(rig.told, [0x100]);
            let table = Table::parse(&rig.host.bytes(task.buffers, 64));
            let used: Vec<u32> = table.buffers().iter().map(|buffer| buffer.used).collect();
            assert_eq!(used, [0, fitting * bytes, 0, fitting * bytes + bytes]);
            for partition in 0..4 {
                let va = buffer(partition).address;
                let kept = if partition % 2 == 1 { fitting * bytes } else { 0 };
                let (end, rest) = (va + u64::from(kept), 0x1000 - kept as usize);
                assert_eq!(rig.host.bytes(end, rest), before.bytes(end, rest), "nothing is behind it");
                assert_ne!(rig.host.bytes(va, 0x1000), before.bytes(va, 0x1000 + usize::from(kept == 0)));
            }
        }
    }
}

pub(super) fn bad_addresses<const D: usize>(rig: &mut Rig<D>) {
    for (is_refused, expected) in [(true, 2), (false, 6)] {
        let table = (0..4).map(|piece| 0x8000 + 4096 * piece + 4095);
        let buffers = [0, 1, 500, 1023].map(|partition| 0x100_0000 + 1024 * partition);
        for at in table.chain(buffers) {
            rig.reset(at);
            rig.latency = [(10, 11), (10, 400)][usize::from(at % 3 == 0)];
            let scene = Scene::even(rig, 10, 1024);
            let before = scene.table(rig);
            let bad = if is_refused { &mut rig.host.refused } else { &mut rig.host.failing };
            bad.push(at..at + 1);
            let call = scene.call(rig, 20_000);
            rig.call(call);
            rig.settle();
            assert_eq!(rig.told, [expected], "{at:x}");
            assert_eq!(scene.table(rig), before, "no buffer has grown");
            if at < 0x100_0000 {
                assert_eq!(rig.moves.writes.len(), 0, "nothing was written");
            }
            rig.host.refused.clear();
            rig.host.failing.clear();
            let call = scene.call(rig, 100);
            rig.call(call);
            rig.settle();
            assert_eq!(rig.told, [expected, 0], "it lives on");
        }
    }
}

pub(super) fn bad_parameters<const D: usize>(rig: &mut Rig<D>) {
    rig.reset(1);
    let scene = Scene::even(rig, 4, 1024);
    let good = scene.call(rig, 8);
    let of = |task: Shuffle, len: usize| {
        let parameters = stroma_abi::desc::Parameters::new(&task.to_bytes()).expect("whole words");
        Invocation::new(good.command, parameters, vec![3; len])
    };
    let task = scene.task;
    let short = stroma_abi::desc::Parameters::new(&task.to_bytes()[..8]).expect("whole words");
    let long = stroma_abi::desc::Parameters::new(&[0; 16]).expect("whole words");
    let mut flagged = good.clone();
    flagged.command.flags = 0x80;
    let bad = [
        of(Shuffle { partitions_log: 11, ..task }, 8),
        of(Shuffle { partitions_log: 0x14, ..task }, 8),
        of(Shuffle { partitions_log: 255, ..task }, 8),
        of(Shuffle { partitions_log: 10, first_bit: 55, ..task }, 8),
        of(Shuffle { partitions_log: 0, first_bit: 65, ..task }, 8),
        of(Shuffle { first_bit: 255, ..task }, 8),
        of(task, 1),
        of(task, 12),
        of(task, 4097),
        of(Shuffle { wide: true, ..task }, 24),
        of(Shuffle { partitions_log: 11, ..task }, 0),
        Invocation::new(good.command, short, vec![1; 8]),
        Invocation::new(good.command, short, vec![]),
        Invocation::new(good.command, long, vec![1; 8]),
        flagged,
    ];
    for bad in bad {
        rig.call(bad.clone());
        rig.settle();
        assert_eq!(rig.told.last(), Some(&0x101), "{bad:?}");
    }
    assert_eq!((rig.moves.reads.len(), rig.moves.writes.len()), (0, 0));
    rig.call(of(Shuffle { partitions_log: 0, first_bit: 64, ..task }, 0));
    rig.settle();
    assert_eq!((rig.told.last(), rig.moves.reads.len()), (Some(&0), 0), "an empty payload");
    rig.call(of(Shuffle { partitions_log: 0, first_bit: 64, ..task }, 8));
    rig.call(good);
    rig.settle();
    assert_eq!(rig.told.split_off(rig.told.len() - 2), [0, 0]);
}

pub(super) fn resets<const D: usize>(rig: &mut Rig<D>) {
    for cycles in (0..1400).step_by(23) {
        rig.reset(cycles);
        rig.pause(std::array::from_fn(|stream| Pause::Random { seed: stream as u64, percent: 30 }));
        let scene = Scene::even(rig, 4, 8192);
        rig.caller = Some(Qpn::new(3));
        for _ in 0..3 {
            let call = scene.call(rig, 300);
            rig.call(call);
        }
        rig.run(cycles);
        rig.reset(cycles + 1);
        rig.pause(std::array::from_fn(|_| Pause::None));
        let scene = Scene::even(rig, 4, 8192);
        let call = scene.call(rig, 300);
        rig.call(call);
        rig.settle();
        assert_eq!(rig.told, [0], "after {cycles} cycles");
    }
}
