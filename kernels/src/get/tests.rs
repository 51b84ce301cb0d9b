//! The kernel against its model.

mod cases;
mod cycles;
mod hostile;
mod scene;

use std::ops::{Deref, DerefMut};

use stroma_abi::kernel::get::{BucketEntry, BucketLink, Get, ObjectHead, VALUE_MAX};
use stroma_kernel_models::get;
use stroma_kernel_rig::Rig;
use stroma_verilate::effort::one_width;

use super::GetKernel;

/// Sizes around words, beats, reads, and what of them a key leaves.
const SIZES: [u32; 15] = [0, 1, 7, 8, 24, 25, 47, 48, 49, 63, 64, 4072, 4096, 12_345, VALUE_MAX];

/// Buckets and objects, at odd addresses.
const BUCKETS: [u64; 3] = [0x1_0003, 0x2_0ffd, 0x3_0010];
const OBJECTS: [u64; 3] = [0x10_0001, 0x20_0ff0, 0x30_0000];
const PRINT: u32 = 0xf00d_cafe;

/// The kernel on its rig, with tables in memory.
struct Bed<const D: usize>(Rig<D>);

impl<const D: usize> Deref for Bed<D> {
    type Target = Rig<D>;

    fn deref(&self) -> &Rig<D> {
        &self.0
    }
}

impl<const D: usize> DerefMut for Bed<D> {
    fn deref_mut(&mut self) -> &mut Rig<D> {
        &mut self.0
    }
}

fn rig<const D: usize>() -> Bed<D> {
    Bed(Rig::new("get", GetKernel::<D>::default, get::run))
}

/// A key of that many bytes.
fn key(length: usize) -> Vec<u8> {
    (1..=32).take(length).collect()
}

fn task(key: &[u8]) -> Get {
    Get::new(BUCKETS[0], PRINT, 3, key).expect("a key")
}

impl<const D: usize> Bed<D> {
    fn put(&mut self, va: u64, bytes: &[u8]) {
        self.host.put(va, bytes);
    }

    /// Stores an object without its value, which is noise; its length.
    fn object(&mut self, va: u64, key: &[u8], value_length: u32) -> u32 {
        let key_length = u16::try_from(key.len()).expect("short");
        let head = ObjectHead { value_length, key_length, flags: 0 };
        let mut bytes = head.to_bytes().to_vec();
        bytes.extend(key);
        bytes.resize(ObjectHead::value_at(key_length) as usize, 0);
        self.put(va, &bytes);
        u32::try_from(head.object_length()).expect("short")
    }

    fn entry(&mut self, bucket: u64, at: u64, length: u32, address: u64) {
        self.put(bucket + 16 * at, &BucketEntry { fingerprint: PRINT, length, address }.to_bytes());
    }

    /// A bucket of empty entries.
    fn bucket(&mut self, va: u64, next: u64) {
        self.put(va, &[0; 48]);
        self.put(va + 48, &BucketLink { next, spare: 0xdead }.to_bytes());
    }

    /// A chain of three buckets; the last entry of the last one is the key's, with a value of that length.
    fn fill(&mut self, key: &[u8], value_length: u32) {
        for (at, bucket) in BUCKETS.into_iter().enumerate() {
            self.bucket(bucket, BUCKETS.get(at + 1).copied().unwrap_or(0));
        }
        let length = self.object(OBJECTS[2], key, value_length);
        self.entry(BUCKETS[2], 2, length, OBJECTS[2]);
    }

    fn ask(&mut self, task: &Get, response_max: u32) {
        let invocation = self.invocation(&task.to_bytes(), response_max);
        self.call(invocation);
    }

    /// Asks, waits, and gives the status.
    fn answer(&mut self, task: &Get) -> u32 {
        self.ask(task, VALUE_MAX);
        self.settle();
        *self.told.last().expect("an answer")
    }
}

#[test]
fn agrees_with_the_model_on_built_tables() {
    cases::built_tables(&mut rig::<64>());
    cases::built_tables(&mut rig::<512>());
}

#[test]
fn agrees_with_the_model_on_hostile_tables() {
    cases::hostile_tables(&mut rig::<64>());
    cases::hostile_tables(&mut rig::<512>());
}

#[test]
fn survives_stalls() {
    one_width(|| cases::stalls(&mut rig::<512>()), || cases::stalls(&mut rig::<64>()));
}

#[test]
fn every_size_of_key_and_value_comes_whole() {
    cases::sizes(&mut rig::<64>());
    cases::sizes(&mut rig::<512>());
}

#[test]
fn every_byte_of_a_key_is_compared() {
    cases::keys(&mut rig::<64>());
    cases::keys(&mut rig::<512>());
}

#[test]
fn other_keys_with_the_fingerprint_are_passed_over() {
    hostile::collisions(&mut rig::<64>());
    hostile::collisions(&mut rig::<512>());
}

#[test]
fn lengths_that_do_not_agree_are_malformed() {
    hostile::lengths(&mut rig::<64>());
    hostile::lengths(&mut rig::<512>());
}

#[test]
fn a_value_too_long_is_told_without_a_byte_of_it() {
    hostile::too_long(&mut rig::<64>());
    hostile::too_long(&mut rig::<512>());
}

#[test]
fn a_bad_address_ends_with_its_status_at_every_stage() {
    one_width(|| hostile::bad_addresses(&mut rig::<64>()), || hostile::bad_addresses(&mut rig::<512>()));
}

#[test]
fn bad_parameters_are_refused_before_anything_is_read() {
    hostile::bad_parameters(&mut rig::<64>());
    hostile::bad_parameters(&mut rig::<512>());
}

#[test]
fn circles_end_with_the_limit() {
    hostile::circles(&mut rig::<64>());
    hostile::circles(&mut rig::<512>());
}

#[test]
fn recovers_from_reset() {
    one_width(|| cases::resets(&mut rig::<64>()), || cases::resets(&mut rig::<512>()));
}

#[test]
fn the_largest_limit_of_hops_is_kept() {
    let mut rig = rig::<512>();
    rig.latency = (1, 2);
    rig.bucket(BUCKETS[0], BUCKETS[0]);
    assert_eq!(rig.answer(&Get { hop_limit: u16::MAX, ..task(b"key") }), 3);
    assert_eq!(rig.moves.reads.len(), usize::from(u16::MAX));
}
