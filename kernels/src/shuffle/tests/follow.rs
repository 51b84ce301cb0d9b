//! Calls one behind the other, of which some go on where the one before stops.

use stroma_abi::Qpn;
use stroma_abi::kernel::shuffle::{Buffer, Shuffle};
use stroma_kernel_client::shuffle::Table;
use stroma_kernel_models::Invocation;
use stroma_kernel_rig::Rig;
use stroma_verilate::effort::{is_full, share};

use super::scene::{Keys, Room, Scene};

fn chance<const D: usize>(rig: &mut Rig<D>, one_in: u64) -> bool {
    rig.rng.below(one_in) == 0
}

/// Two tables, with what may go wrong.
fn scenes<const D: usize>(rig: &mut Rig<D>, at: usize) -> [Scene; 2] {
    [0, 1 << 40].map(|base| {
        let partitions_log = [3, 10, 0, 5, 1, 8, 4, 6][at % 8];
        let wide = at % 2 == 1;
        let task = Shuffle { buffers: 0, partitions_log, first_bit: 7, wide };
        let keys = [Keys::Equal, Keys::Few, Keys::Even][at / 3 % 3];
        let room = [Room::Ample, Room::Ample, Room::Tight][at % 3];
        let scene = Scene::from(base, rig, task, keys, room);
        let partitions = scene.task.partitions() as u64;
        let first = base + (1 + rig.rng.below(partitions)) * 0x20_0000;
        let range = first..first + (1 + partitions / 4) * 0x20_0000;
        match at % 5 {
            1 => rig.host.refused.push(range),
            2 => rig.host.failing.push(range),
            3 if chance(rig, 3) => rig.host.read_only.push(scene.task.buffers..scene.task.buffers + 1),
            _ => {}
        }
        scene
    })
}

/// A call with one of the tables that differs from others in one thing at most.
fn call<const D: usize>(rig: &mut Rig<D>, scene: &Scene, sizes: &[usize]) -> Invocation {
    let tuples = sizes[usize::try_from(rig.rng.below(sizes.len() as u64)).expect("small")];
    let Shuffle { partitions_log, first_bit, .. } = scene.task;
    let task = match rig.rng.below(24) {
        0 => Shuffle { first_bit: first_bit + 1, ..scene.task },
        1 => Shuffle { partitions_log: partitions_log / 2, ..scene.task },
        2 => Shuffle { partitions_log: 60, ..scene.task },
        _ => scene.task,
    };
    let mut call = Scene { task, keys: scene.keys }.call(rig, tuples);
    match rig.rng.below(24) {
        0 => call.command.key ^= 1 << rig.rng.below(32),
        1 => call.command.flags = 4,
        _ => {}
    }
    rig.caller = Some(Qpn::new(if chance(rig, 10) { 9 } else { 8 }));
    call
}

pub(super) fn random_scenes<const D: usize>(rig: &mut Rig<D>) {
    let mut statuses = std::collections::BTreeMap::new();
    for seed in 0..share(60) as u64 {
        rig.reset(seed);
        let at = usize::try_from(seed).expect("small");
        rig.latency = [(10, 2000), (10, 30), (10, 300), (2000, 2001)][at / 2 % 4];
        rig.outstanding = [32, usize::MAX, 4][at % 3];
        let scenes = scenes(rig, at);
        let mut which = 0;
        for _ in 0..8 {
            which ^= usize::from(chance(rig, 6));
            let call = call(rig, &scenes[which], &[0, 1, 2, 8, 100, 700, 1500]);
            rig.call(call);
        }
        rig.settle();
        rig.told.iter().for_each(|status| *statuses.entry(*status).or_insert(0) += 1);
    }
    let told: Vec<u32> = statuses.keys().copied().collect();
    assert_eq!(told, [0, 2, 6, 0x100, 0x101], "every ending came: {statuses:x?}");
    assert!(statuses.values().all(|count| *count >= share(5)), "{statuses:x?}");
}

/// Four buffers, of which the last is bad, and a payload for some of them.
fn scene_of_four<const D: usize>(rig: &mut Rig<D>, is_refused: bool) -> Scene {
    let task = Shuffle { buffers: 0x1001, partitions_log: 2, first_bit: 0, wide: false };
    let buffer = |at: u64| Buffer { address: 0x10_0000 * (1 + at) + 8 * at, capacity: 1 << 20, used: 0 };
    rig.host.put(task.buffers, &Table::of((0..4).map(buffer).collect()).to_bytes());
    let bad = if is_refused { &mut rig.host.refused } else { &mut rig.host.failing };
    bad.push(0x40_0000..0x50_0000);
    Scene { task, keys: Keys::Even }
}

fn words<const D: usize>(rig: &mut Rig<D>, scene: &Scene, keys: impl Iterator<Item = u64>) -> Invocation {
    let data = keys.flat_map(u64::to_le_bytes).collect();
    rig.streamed(&scene.task.to_bytes(), data, 0)
}

/// The second goes far while writes of the first are open: more than all that may wait.
pub(super) fn failures<const D: usize>(rig: &mut Rig<D>) {
    for (is_refused, expected) in [(true, 2), (false, 6)] {
        let all = [(20, 32), (500, 32), (4200 * D as u64 / 64, 1)];
        // The longest takes half a minute at 512 bits.
        let told = if D == 64 || is_full() { &all[..] } else { &all[..2] };
        for &(tuples, outstanding) in told {
            rig.reset(tuples);
            rig.latency = (2000, 2001);
            rig.outstanding = outstanding;
            rig.caller = Some(Qpn::new(1));
            let scene = scene_of_four(rig, is_refused);
            let first = words(rig, &scene, (0..16).map(|at| 0x100 + at));
            let second = words(rig, &scene, (0..tuples).map(|at| 0x1_0000 + 4 * at + at % 3));
            let third = words(rig, &scene, (0..9).map(|at| 0x200_0000 + 4 * at));
            for call in [first, second, third] {
                rig.call(call);
            }
            rig.settle();
            assert_eq!(rig.told, [expected, 0, 0]);
            assert_eq!(rig.moves.reads.len(), 2, "the third follows");
            let used: u32 = scene.table(rig).buffers().iter().map(|buffer| buffer.used).sum();
            assert_eq!(u64::from(used), 8 * (tuples + 9));
        }
    }
    rig.outstanding = usize::MAX;
}

pub(super) fn differences<const D: usize>(rig: &mut Rig<D>) {
    let task = Scene::even(rig, 4, 1 << 16).task;
    // The second call, who makes it, what is wrong with its key, and how often a table is read.
    let seconds = [
        (task, 1, 0, 1),
        (task, 2, 0, 2),
        (task, 1, 1, 2),
        (Shuffle { buffers: task.buffers + 0x8000, ..task }, 1, 0, 2),
        (Shuffle { partitions_log: 3, ..task }, 1, 0, 2),
        (Shuffle { first_bit: task.first_bit + 1, ..task }, 1, 0, 2),
        (Shuffle { wide: true, ..task }, 1, 0, 2),
    ];
    for (at, (second, caller, key, reads)) in seconds.into_iter().enumerate() {
        rig.reset(at as u64);
        rig.latency = (300, 301);
        let first = Scene::even(rig, 4, 1 << 16);
        rig.host.put(task.buffers + 0x8000, &Table::evenly(0x800_0000, 1 << 16, 4).to_bytes());
        rig.caller = Some(Qpn::new(1));
        let call = first.call(rig, 400);
        rig.call(call);
        rig.caller = Some(Qpn::new(caller));
        let mut call = Scene { task: second, keys: Keys::Even }.call(rig, 400);
        call.command.key ^= key;
        rig.call(call);
        rig.settle();
        assert_eq!(rig.told, [0, 2 * key], "{second:?}");
        assert_eq!(rig.moves.reads.len(), reads, "{second:?}");
    }
}
