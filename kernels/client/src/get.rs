//! For the kernel `get`: hash tables in memory, and the parameters that ask for a key. How tables look is told in
//! [`stroma_abi::kernel::get`].
//!
//! Whoever hashes alike can share a table. Ours is [`hash`]: its low bits are the number of the bucket where a key's chain begins, its upper
//! half is the fingerprint.

mod heap;
mod table;
#[cfg(test)]
mod tests;

use stroma_abi::desc::Parameters;
use stroma_abi::kernel::get::{BUCKET_LEN, Get, GetStatus, OPERATION};

use crate::call::{Call, Failed, block, found};

pub use table::{Bucket, Table};

/// Most bits of the number of a bucket: those that are no fingerprint.
pub const LOG_BUCKETS_MAX: u32 = 32;

/// What cannot be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A key has 1 to 32 bytes.
    #[error("a key of {length} bytes: it has 1 to 32")]
    KeyLength {
        /// What it has.
        length: usize,
    },
    /// The kernel answers with at most 64 KiB.
    #[error("a value of {length} bytes: it has at most 65536")]
    ValueLength {
        /// What it has.
        length: usize,
    },
    /// The table's memory cannot be used.
    #[error(
        "a table at {base:#x}: the address is a multiple of 8, and neither 0 nor so high that memory ends before the table"
    )]
    Base {
        /// Where it was to be.
        base: u64,
    },
    /// There are too few bytes for the buckets, or too many buckets.
    #[error("{have} bytes for 2^{log_buckets} buckets and {overflow} more")]
    Buckets {
        /// log2 of the buckets where chains begin.
        log_buckets: u32,
        /// Those for chains that grow.
        overflow: usize,
        /// Bytes of the table.
        have: usize,
    },
    /// No free stretch is long enough for an object.
    #[error("no room for an object of {needed} bytes")]
    NoRoom {
        /// What it needs.
        needed: usize,
    },
    /// A chain is full, and so are all buckets that it could grow by.
    #[error("no bucket is left for a longer chain")]
    NoBucket,
}

/// The hash of a key: FNV-1a of 64 bits.
#[must_use]
pub const fn hash(key: &[u8]) -> u64 {
    let mut state = 0xcbf2_9ce4_8422_2325_u64;
    let mut at = 0;
    while at < key.len() {
        state = (state ^ key[at] as u64).wrapping_mul(0x0000_0100_0000_01b3);
        at += 1;
    }
    state
}

/// The fingerprint of a key with this hash.
#[must_use]
pub const fn fingerprint(hash: u64) -> u32 {
    (hash >> 32) as u32
}

/// All that a caller has to know of a table to ask for its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Address of bucket 0.
    pub base: u64,
    /// log2 of the number of buckets where chains begin, at most [`LOG_BUCKETS_MAX`].
    pub log_buckets: u32,
}

impl Shape {
    /// Address of the bucket where the chain of a key with this hash begins.
    #[must_use]
    pub const fn bucket(&self, hash: u64) -> u64 {
        let number = hash & ((1 << self.log_buckets) - 1);
        self.base.wrapping_add(number * BUCKET_LEN as u64)
    }

    /// The parameters that ask for a key, in at most `hop_limit` buckets.
    ///
    /// # Errors
    /// When it is no key.
    pub fn request(&self, key: &[u8], hop_limit: u16) -> Result<Get, Error> {
        let hash = hash(key);
        let request = Get::new(self.bucket(hash), fingerprint(hash), hop_limit, key);
        request.ok_or(Error::KeyLength { length: key.len() })
    }
}

/// A request that says how long a value may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// What is looked for: [`Shape::request`].
    pub request: Get,
    /// Most bytes of the value. A longer one is not answered.
    pub value_max: u32,
}

/// The value of the key; `None` if the table has no such key.
impl Call for Lookup {
    type Answer = Option<Vec<u8>>;
    const OPERATION: u16 = OPERATION;

    fn parameters(&self) -> Parameters {
        block(&self.request.to_bytes())
    }

    fn response_max(&self) -> u32 {
        self.value_max
    }

    fn answer(&self, status: u32, bytes: &[u8]) -> Result<Self::Answer, Failed> {
        found(OPERATION, GetStatus::NotFound as u32, status, bytes)
    }
}
