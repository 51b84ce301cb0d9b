//! Random tables, and what is asked of them.

use stroma_abi::kernel::get::{BucketEntry, BucketLink, Get, ObjectHead};
use stroma_kernel_client::get::Table;
use stroma_kernel_models::Invocation;
use stroma_verilate::SplitMix64;

use super::{Bed, SIZES, key};

/// Lengths of keys; those of one length are few, so that they meet.
const LENGTHS: [usize; 7] = [1, 4, 8, 9, 16, 27, 32];
const PRINTS: [u32; 2] = [0x1234_5678, 0x9234_5678];

fn one_of<T: Copy>(rng: &mut SplitMix64, choices: &[T]) -> T {
    choices[usize::try_from(rng.below(choices.len() as u64)).expect("small")]
}

fn any_key(rng: &mut SplitMix64) -> Vec<u8> {
    let mut key = key(one_of(rng, &LENGTHS));
    let last = key.len() - 1;
    key[last] ^= one_of(rng, &[0, 1, 0x80]);
    key
}

/// Long ones are rare, so that there is time for many.
fn any_size(rng: &mut SplitMix64) -> u32 {
    let size = one_of(rng, &SIZES);
    if size > 5000 && rng.below(5) > 0 { size % 300 } else { size }
}

/// A table of the builder, and calls that ask for keys of it and others.
pub(super) fn built<const D: usize>(rig: &mut Bed<D>, count: u64) -> Vec<Invocation> {
    let base = (1 + rig.rng.below(1 << 40)) * 8;
    let mut bytes = vec![0; 400_000];
    let log_buckets = u32::try_from(rig.rng.below(3)).expect("small");
    let mut table = Table::new(&mut bytes, base, log_buckets, 6).expect("room for buckets");
    for _ in 0..24 {
        let (key, size) = (any_key(&mut rig.rng), any_size(&mut rig.rng));
        let value: Vec<u8> = (0..size).map(|_| rig.rng.next_u64().to_le_bytes()[0]).collect();
        table.insert(&key, &value).expect("room for all");
        if rig.rng.below(4) == 0 {
            table.remove(&any_key(&mut rig.rng));
        }
    }
    let calls = (0..count).map(|_| {
        let key = any_key(&mut rig.rng);
        let value = table.lookup(&key).map_or(0, <[u8]>::len);
        let hop_limit = one_of(&mut rig.rng, &[1, 2, 8]);
        let request = table.shape().request(&key, hop_limit).expect("a key");
        let short = u64::from(rig.rng.below(6) == 0);
        let response_max = (value as u64).saturating_sub(short) + rig.rng.below(2) * 100 * (1 - short);
        rig.invocation(&request.to_bytes(), u32::try_from(response_max).expect("short"))
    });
    let calls = calls.collect();
    let bytes = table.bytes().to_vec();
    rig.put(base, &bytes);
    calls
}

/// An object, the key it was made for, and what an entry may say of it.
fn object<const D: usize>(rig: &mut Bed<D>, va: u64) -> (Vec<u8>, BucketEntry) {
    let (key, size) = (any_key(&mut rig.rng), any_size(&mut rig.rng));
    let mut length = rig.object(va, &key, size);
    let rng = &mut rig.rng;
    match rng.below(12) {
        0 => length = one_of(rng, &[0, 7, 8, length - 1, length + 1, u32::MAX]),
        1 => {
            let value_length = one_of(rng, &[0, size ^ 1, u32::MAX]);
            let key_length = u16::try_from(key.len()).expect("short");
            rig.put(va, &ObjectHead { value_length, key_length, flags: 0 }.to_bytes());
        }
        2 => {
            let key_length = u16::try_from(key.len() - 1).expect("short");
            rig.put(va, &ObjectHead { value_length: size, key_length, flags: 0 }.to_bytes());
        }
        _ => {}
    }
    (key, BucketEntry { fingerprint: one_of(&mut rig.rng, &PRINTS), length, address: va })
}

/// Buckets with any links, entries and objects, some of which may be out of reach, and calls that ask for keys.
pub(super) fn hostile<const D: usize>(rig: &mut Bed<D>, count: u64) -> Vec<Invocation> {
    let place = |rng: &mut SplitMix64, at: u64| (at << 24) + rng.below(1 << 16);
    let buckets: Vec<u64> = (1..5).map(|at| place(&mut rig.rng, at)).collect();
    let objects: Vec<u64> = (5..11).map(|at| place(&mut rig.rng, at)).collect();
    let (keys, entries): (Vec<Vec<u8>>, Vec<BucketEntry>) = objects.iter().map(|va| object(rig, *va)).unzip();
    let has_circles = rig.rng.below(2) == 0;
    for (at, bucket) in buckets.iter().enumerate() {
        for number in 0..3 {
            let rng = &mut rig.rng;
            let entry = match rng.below(10) {
                0..3 => BucketEntry { fingerprint: one_of(rng, &PRINTS), length: rng.next_u32(), address: 0 },
                3 if rng.below(4) == 0 => {
                    // One in four points to what is refused, or fails.
                    let address = rng.next_u64() >> 8;
                    BucketEntry { fingerprint: one_of(rng, &PRINTS), length: 8 + any_size(rng), address }
                }
                _ => one_of(rng, &entries),
            };
            rig.put(bucket + number * 16, &entry.to_bytes());
        }
        let first = if has_circles { 0 } else { at + 1 };
        let successors = buckets.get(first..).unwrap_or(&[]);
        let is_last = successors.is_empty() || rig.rng.below(6) == 0;
        let next = if is_last { 0 } else { one_of(&mut rig.rng, successors) };
        rig.put(bucket + 48, &BucketLink { next, spare: u64::MAX }.to_bytes());
    }
    if rig.rng.below(2) == 0 {
        let all: Vec<u64> = buckets.iter().chain(&objects).copied().collect();
        let start = one_of(&mut rig.rng, &all) + one_of(&mut rig.rng, &[0, 7, 30, 63, 4096, 8200]);
        let bad = if rig.rng.below(2) == 0 { &mut rig.host.refused } else { &mut rig.host.failing };
        bad.push(start..start + 1);
    }
    rig.host.refused.push(0x40 << 48..0x60 << 48);
    rig.host.failing.push(0x80 << 48..0xa0 << 48);
    (0..count).map(|_| invocation(rig, &buckets, &keys)).collect()
}

fn invocation<const D: usize>(rig: &mut Bed<D>, buckets: &[u64], keys: &[Vec<u8>]) -> Invocation {
    let rng = &mut rig.rng;
    let bucket = if rng.below(20) == 0 { 0 } else { one_of(rng, buckets) };
    let (fingerprint, hop_limit) = (one_of(rng, &PRINTS), one_of(rng, &[1, 2, 3, 9]));
    let key = if rng.below(4) == 0 { any_key(rng) } else { keys[one_of(rng, &[0, 1, 2, 3, 4, 5])].clone() };
    let mut task = Get::new(bucket, fingerprint, hop_limit, &key).expect("a key");
    match rng.below(24) {
        0 => task.hop_limit = 0,
        1 => task.key_length = one_of(rng, &[0, 33, 0xff]),
        2 => task.key_high |= 1 << 127,
        _ => {}
    }
    let response_max = one_of(rng, &[0, 24, 64, 5000, 65_536, 65_536, 65_536, u32::MAX]);
    let mut invocation = rig.invocation(&task.to_bytes(), response_max);
    match rig.rng.below(40) {
        0 => invocation.command.key ^= 1 << rig.rng.below(32),
        1 => invocation.command.flags = 1,
        2 => {
            let data = vec![7; 1 + usize::try_from(rig.rng.below(300)).expect("small")];
            invocation = Invocation::new(invocation.command, invocation.parameters, data);
        }
        _ => {}
    }
    invocation
}
