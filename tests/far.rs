//! What lies in far memory to be found, and the ways to it: by READs, by the far card's kernel, and as the far host's program does it.

#![expect(clippy::missing_panics_doc, reason = "a story that is not as expected panics, wherever it is")]

use stroma_abi::kernel::get::{BUCKET_LEN, BucketEntry, ObjectHead};
use stroma_abi::kernel::traversal::Traversal;
use stroma_kernel_client::get::{Lookup, Shape, Table, fingerprint, hash};

use crate::calls::Calls;
use crate::pair::pattern;
use crate::walks::task;

/// Bytes of a value.
pub const VALUE: usize = 64;

/// Bytes from an element to the next: none is in the cache line of another.
const STEP: usize = 4096;
/// Bytes of an element that a walk reads: key, pointer to the next, pointer to the value.
const ELEMENT: usize = 24;
/// Where the values begin.
const VALUES: usize = 1 << 18;

/// A linked list, whose elements have the keys 1, 2, 3 and so on.
pub struct List<'a> {
    calls: &'a Calls,
    values: Vec<u8>,
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(*bytes[at * 8..].first_chunk().expect("a word"))
}

impl<'a> List<'a> {
    /// Lays a list down, of at most 64 elements.
    #[must_use]
    pub fn new(calls: &'a Calls, length: usize) -> Self {
        assert!(length * STEP <= VALUES, "{length} elements reach into the values");
        let values = pattern(3, length * VALUE);
        calls.put(1, VALUES, &values);
        for at in 0..length {
            let following = if at + 1 < length { calls.at((at + 1) * STEP) } else { 0 };
            let words = [at as u64 + 1, following, calls.at(VALUES + at * VALUE)];
            calls.put(1, at * STEP, &words.map(u64::to_le_bytes).concat());
        }
        Self { calls, values }
    }

    /// The value of a key.
    #[must_use]
    pub fn value(&self, key: usize) -> &[u8] {
        &self.values[(key - 1) * VALUE..][..VALUE]
    }

    /// Element by element, then the value.
    #[must_use]
    pub fn by_reads(&self, key: usize) -> Vec<u8> {
        let mut element = self.calls.read(self.calls.at(0), 0, ELEMENT);
        while word(&element, 0) != key as u64 {
            element = self.calls.read(word(&element, 1), 0, ELEMENT);
        }
        self.calls.read(word(&element, 2), 0, VALUE)
    }

    /// One call.
    #[must_use]
    pub fn by_kernel(&self, key: usize) -> Vec<u8> {
        let value_length = u32::try_from(VALUE).expect("small");
        let walk = Traversal { sought: key as u64, value_length, ..task(self.calls.at(0)) };
        self.calls.call(&walk).expect("the key is there")
    }

    /// As the far host's program does it.
    #[must_use]
    pub fn by_software(&self, key: usize) -> Vec<u8> {
        let mut element = self.calls.bytes(1, 0, ELEMENT);
        while word(&element, 0) != key as u64 {
            element = self.calls.bytes(1, self.calls.offset(word(&element, 1)), ELEMENT);
        }
        self.calls.bytes(1, self.calls.offset(word(&element, 2)), VALUE)
    }
}

const KEY: &[u8] = b"the key that is sought";
/// Bytes of the table, and of its chains.
const TABLE: usize = 1 << 16;
const LOG_BUCKETS: u32 = 6;

/// A hash table with one key that is sought, among others.
pub struct Hash<'a> {
    calls: &'a Calls,
    shape: Shape,
}

impl<'a> Hash<'a> {
    /// Lays it down.
    #[must_use]
    pub fn new(calls: &'a Calls) -> Self {
        let mut bytes = vec![0; TABLE];
        let base = calls.at(0);
        let mut table = Table::new(&mut bytes, base, LOG_BUCKETS, 16).expect("room for the buckets");
        for other in 0..40_u64 {
            table.insert(&other.to_le_bytes(), &pattern(other, VALUE)).expect("room");
        }
        table.insert(KEY, &Self::value()).expect("room");
        calls.put(1, 0, &bytes);
        Self { calls, shape: Shape { base, log_buckets: LOG_BUCKETS } }
    }

    /// What the key has.
    #[must_use]
    pub fn value() -> Vec<u8> {
        pattern(99, VALUE)
    }

    /// The bucket, then the object that it names.
    #[must_use]
    pub fn by_reads(&self) -> Vec<u8> {
        let hash = hash(KEY);
        let bucket = self.calls.read(self.shape.bucket(hash), 0, BUCKET_LEN);
        let entries = bucket.chunks(BucketEntry::LEN).filter_map(BucketEntry::parse);
        let mut fitting = entries.filter(|entry| entry.fingerprint == fingerprint(hash));
        let entry = fitting.next().expect("the key is in the first bucket of its chain");
        let object = self.calls.read(entry.address, BUCKET_LEN, entry.length as usize);
        let key = &object[ObjectHead::LEN..][..KEY.len()];
        assert_eq!(key, KEY, "the object of the key");
        object[object.len() - VALUE..].to_vec()
    }

    /// One call.
    #[must_use]
    pub fn by_kernel(&self) -> Vec<u8> {
        let request = self.shape.request(KEY, 4).expect("a key");
        self.calls.call(&Lookup { request, value_max: 1024 }).expect("the key is there")
    }
}
