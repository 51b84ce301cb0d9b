//! Random chains over a memory in which they meet.

use std::collections::BTreeMap;

use stroma_hw::testing::stalls_of;
use stroma_kernel_rig::STREAMS;
use stroma_verilate::SplitMix64;
use stroma_verilate::effort::share;

use super::*;

fn one_of<T: Copy>(rng: &mut SplitMix64, choices: &[T]) -> T {
    choices[usize::try_from(rng.below(choices.len() as u64)).expect("small")]
}

fn is_one_in(rng: &mut SplitMix64, count: u64) -> bool {
    rng.below(count) == 0
}

/// Some place where others read and write, too.
fn place(rng: &mut SplitMix64) -> u64 {
    one_of(rng, &[TARGET, TARGET + 8, TARGET + 60, ASIDE, ASIDE + 16, POINTER + 64, BUFFERS])
}

/// A memory of pointers, null and not, bounded and not, and two lists; some of it is out of reach.
fn fill<const D: usize>(rig: &mut Rig<D>) {
    let free = rig.rng.below(12);
    let head = rig.rng.next_u64();
    rig.free_buffers(head, free);
    for at in 0..4 {
        let address = if is_one_in(&mut rig.rng, 5) { 0 } else { place(&mut rig.rng) };
        let bound = one_of(&mut rig.rng, &[0, 1, 8, 40, 4096, 1 << 40]);
        rig.host.store(POINTER + 16 * at, &[address, bound]);
    }
    if is_one_in(&mut rig.rng, 3) {
        rig.host.put(LIST + 24, &60_u32.to_le_bytes());
    }
    let bad = one_of(&mut rig.rng, &[TARGET + 65, ASIDE + 20, BUFFERS + 30, POINTER + 20, LIST, RING + 8]);
    match rig.rng.below(6) {
        0 => rig.host.refused.push(bad..bad + 1),
        1 => rig.host.failing.push(bad..bad + 1),
        _ => {}
    }
}

fn item(rng: &mut SplitMix64, is_long: bool) -> Item {
    let lengths = if is_long { [1, 100, 2000, 4095, 4096] } else { [1, 8, 9, 64, 200] };
    let length = one_of(rng, &lengths);
    let noise: Vec<u8> = (0..length).map(|_| rng.next_u64().to_le_bytes()[0]).collect();
    let mut bytes = || std::array::from_fn(|_| rng.next_u64().to_le_bytes()[0]);
    let mut operands =
        Operands { compare: bytes(), compare_mask: bytes(), swap: bytes(), swap_mask: bytes() };
    if is_one_in(rng, 2) {
        operands.compare_mask = [0; 32];
    }
    let comparison = Comparison::ALL[usize::try_from(rng.below(4)).expect("small")].0;
    let target = place(rng);
    let swapped = u32::try_from(8 + 8 * rng.below(4)).expect("small");
    let mut item = match rng.below(4) {
        0 => read(target, u32::try_from(length).expect("small")),
        1 => write(target, &noise),
        2 => swap(target, swapped, comparison, &operands),
        _ => allocate(LIST, &noise),
    };
    let operation = &mut item.0;
    let is = |kind: Kind| operation.kind == kind as u8;
    let [is_read, is_write, is_swap, is_allocate] =
        [Kind::Read, Kind::Write, Kind::CompareAndSwap, Kind::Allocate].map(is);
    operation.conditional = is_one_in(rng, 2);
    if !is_allocate && is_one_in(rng, 2) {
        operation.indirect = true;
        operation.bounded = !is_swap && is_one_in(rng, 2);
        operation.address = POINTER + 16 * rng.below(4);
    }
    operation.data_indirect = !is_read && is_one_in(rng, 3);
    operation.data_address = place(rng);
    operation.redirect = !is_write && is_one_in(rng, 3);
    let elsewhere = place(rng);
    operation.redirect_address = one_of(rng, &[elsewhere, POINTER, POINTER + 32]);
    operation.forward = is_swap && !operation.data_indirect && is_one_in(rng, 2);
    operation.forward_word = u8::try_from(rng.below(4)).expect("two bits");
    item
}

fn invocation<const D: usize>(rig: &mut Rig<D>, is_long: bool) -> Invocation {
    let count = 1 + rig.rng.below(4);
    let mut items: Vec<Item> = Vec::new();
    for _ in 0..count {
        let size: usize = items.iter().map(|(_, data)| data.len().next_multiple_of(LINE)).sum();
        let is_long = is_long && size < 3000;
        items.push(item(&mut rig.rng, is_long));
    }
    let mut invocation = rig.chain_of(&items);
    let rng = &mut rig.rng;
    match rng.below(24) {
        0 => invocation.data[Operation::KEY.byte] ^= 1,
        1 => invocation.data[Operation::ASIDE_KEY.byte] ^= 4,
        2 => {
            let at = usize::try_from(rng.below(8)).expect("small");
            invocation.data[at] ^= rng.next_u64().to_le_bytes()[0];
        }
        3 => invocation.command.response_max = u32::try_from(rng.below(600)).expect("small"),
        4 => invocation.command.flags = 1,
        5 => {
            let length = 1 + usize::try_from(rng.below(invocation.data.len() as u64)).expect("small");
            invocation.data.truncate(length);
            invocation = Invocation::new(invocation.command, invocation.parameters, invocation.data);
        }
        _ => {}
    }
    invocation
}

pub(super) fn random<const D: usize>(rig: &mut Rig<D>) {
    let mut ends = BTreeMap::new();
    let mut refused = 0;
    reports();
    for seed in 0..share(60) as u64 {
        rig.reset(seed);
        rig.latency = [(10, 2000), (10, 30), (1, 3), (2000, 2001)][usize::try_from(seed % 4).expect("small")];
        fill(rig);
        for _ in 0..12 {
            let invocation = invocation(rig, seed % 5 == 0);
            rig.call(invocation);
        }
        rig.settle();
        refused += rig.told.iter().filter(|status| **status == 0x101).count();
        for report in reports().iter().flatten() {
            *ends.entry((report.outcome, report.stage)).or_insert(0) += 1;
        }
    }
    let told: Vec<u8> = ends.keys().map(|(outcome, _)| *outcome).collect();
    for (outcome, _) in End::ALL {
        assert!(told.contains(&(*outcome as u8)), "{outcome:?} never came: {ends:?}");
    }
    for (stage, _) in Stage::ALL {
        assert!(ends.keys().any(|(_, told)| *told == *stage as u8), "{stage:?} never came: {ends:?}");
    }
    assert!(refused > share(12), "{refused} were refused");
}

pub(super) fn stalls<const D: usize>(rig: &mut Rig<D>) {
    for (seed, pauses) in (1000..).zip(stalls_of::<STREAMS>()) {
        rig.reset(seed);
        rig.latency = [(10, 60), (1, 3)][usize::try_from(seed % 2).expect("small")];
        rig.pause(pauses);
        fill(rig);
        for _ in 0..20 {
            let invocation = invocation(rig, seed % 7 == 0);
            rig.call(invocation);
        }
        rig.settle();
    }
    rig.pause(std::array::from_fn(|_| stroma_verilate::Pause::None));
}
