//! Random structures, and what is asked of them.

use stroma_abi::kernel::traversal::{Traversal, VALUE_MAX};
use stroma_kernel_models::Invocation;
use stroma_kernel_rig::Rig;
use stroma_verilate::SplitMix64;

use super::SIZES;

/// Most elements of a structure.
const ELEMENTS: u64 = 6;
/// Keys come from so many, so that some fit.
const KEYS: u64 = 6;

fn one_of<T: Copy>(rng: &mut SplitMix64, choices: &[T]) -> T {
    choices[usize::try_from(rng.below(choices.len() as u64)).expect("small")]
}

fn below(rng: &mut SplitMix64, bound: u8) -> u8 {
    u8::try_from(rng.below(bound.into())).expect("smaller than a byte")
}

/// The shape of a structure, in range throughout.
fn shape(rng: &mut SplitMix64) -> Traversal {
    let element_words = 1 + below(rng, 8);
    let all = u8::try_from((1_u16 << element_words) - 1).expect("at most eight");
    let key_words = match rng.below(3) {
        0 => 1 << below(rng, element_words),
        _ => (rng.next_u64().to_le_bytes()[0] & all).max(1),
    };
    let relative = rng.below(2) == 0;
    let keys = (0..8).filter(|key| key_words >> key & 1 == 1);
    let is_within = |value: &u8| keys.clone().all(|key: u8| (key + value) % 8 < element_words);
    let values: Vec<u8> = (0..8).filter(is_within).collect();
    Traversal {
        element_words,
        key_words,
        next_at: below(rng, element_words),
        right_at: below(rng, element_words),
        value_at: if relative { one_of(rng, &values) } else { below(rng, element_words) },
        relative,
        inline: rng.below(3) == 0,
        tree: rng.below(3) == 0,
        ..Traversal::default()
    }
}

/// Stores a structure of that shape; where it begins.
fn build<const D: usize>(rig: &mut Rig<D>, shape: &Traversal, has_circles: bool) -> Vec<u64> {
    let rng = &mut rig.rng;
    let count = 1 + rng.below(ELEMENTS);
    let places: Vec<u64> = (0..count).map(|at| ((1 + at) << 20) + rng.below(1 << 16)).collect();
    for (at, place) in places.iter().enumerate() {
        let mut words: Vec<u64> = (0..shape.element_words).map(|_| rng.next_u64()).collect();
        for key in (0..8_u8).filter(|key| shape.key_words >> key & 1 == 1) {
            let value = if shape.relative { (key + shape.value_at) % 8 } else { shape.value_at };
            words[usize::from(value)] = rng.next_u64() >> 8;
            words[usize::from(key)] = rng.below(KEYS) | rng.next_u64() << 32;
        }
        for pointer in [shape.right_at, shape.next_at] {
            let first = if has_circles { 0 } else { at + 1 };
            let successors = places.get(first..).unwrap_or(&[]);
            let is_last = successors.is_empty() || rng.below(6) == 0;
            words[usize::from(pointer)] = if is_last { 0 } else { one_of(rng, successors) };
        }
        rig.host.store(*place, &words);
    }
    places
}

/// Puts a value out of its range.
fn spoil(rng: &mut SplitMix64, task: &mut Traversal) {
    match rng.below(7) {
        0 => task.element_words = one_of(rng, &[0, 9, 0x18, 0xff]),
        1 => task.key_words = one_of(rng, &[0, 0xff]),
        2 => task.next_at = task.element_words + below(rng, 200),
        3 => (task.tree, task.right_at) = (true, task.element_words + below(rng, 200)),
        4 => task.value_at = task.element_words + below(rng, 200),
        5 => task.value_length = one_of(rng, &[VALUE_MAX + 1, 1 << 20, u32::MAX]),
        _ => task.hop_limit = 0,
    }
}

/// A structure in the rig's memory, some of which may be out of reach, and calls that ask for its values.
pub(super) fn invocations<const D: usize>(rig: &mut Rig<D>, count: u64) -> Vec<Invocation> {
    let shape = shape(&mut rig.rng);
    let has_circles = rig.rng.below(2) == 0;
    let places = build(rig, &shape, has_circles);
    if rig.rng.below(2) == 0 {
        let start = one_of(&mut rig.rng, &places) + rig.rng.below(u64::from(shape.element_words) * 8);
        let bad = if rig.rng.below(2) == 0 { &mut rig.host.refused } else { &mut rig.host.failing };
        bad.push(start..start + 1);
    }
    // Values point anywhere below 2^56: one in sixteen to either.
    rig.host.refused.push(0x40 << 48..0x50 << 48);
    rig.host.failing.push(0x80 << 48..0x90 << 48);
    (0..count).map(|_| invocation(rig, &shape, &places, has_circles)).collect()
}

fn invocation<const D: usize>(
    rig: &mut Rig<D>,
    shape: &Traversal,
    places: &[u64],
    has_circles: bool,
) -> Invocation {
    let rng = &mut rig.rng;
    let masks = [u64::MAX, 0xffff_ffff, 7, 0, rng.next_u64()];
    let value_length = one_of(rng, &SIZES);
    // Long ones are rare, so that there is time for many.
    let value_length =
        if value_length > 5000 && rng.below(4) > 0 { value_length % 300 } else { value_length };
    let mut task = Traversal {
        root: if rng.below(12) == 0 { 0 } else { one_of(rng, places) },
        sought: rng.below(KEYS + 2),
        mask: one_of(rng, &masks),
        predicate: below(rng, 4),
        value_length,
        hop_limit: if has_circles {
            one_of(rng, &[1, 2, 3, 9])
        } else {
            one_of(rng, &[1, 2, 6, 7, u16::MAX])
        },
        ..*shape
    };
    if rng.below(8) == 0 {
        spoil(rng, &mut task);
    }
    let spare = if rng.below(12) == 0 { -1 } else { rng.below(2).cast_signed() * 1000 };
    let response_max = i64::from(task.value_length).saturating_add(spare).clamp(0, u32::MAX.into());
    let mut invocation = rig.invocation(&task.to_bytes(), u32::try_from(response_max).expect("clamped"));
    match rig.rng.below(40) {
        0 => invocation.command.key ^= 1 << rig.rng.below(32),
        1 => invocation.command.flags = 1 + below(&mut rig.rng, 255),
        2 => {
            let data = vec![7; 1 + usize::try_from(rig.rng.below(300)).expect("small")];
            invocation = Invocation::new(invocation.command, invocation.parameters, data);
        }
        _ => {}
    }
    invocation
}
