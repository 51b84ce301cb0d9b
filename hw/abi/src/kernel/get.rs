//! `get`: the value of a key in a hash table of the caller's, in one round trip.
//!
//! A table is buckets of 64 bytes and objects, at any addresses; the caller hashes the key and knows the bucket where its
//! chain begins. A bucket is three entries ([`BucketEntry`]) and a [`BucketLink`]. An entry is 16 bytes, so that one masked
//! compare-and-swap publishes it. An object is an [`ObjectHead`], the key, filled up with zeros to a multiple of 8 bytes,
//! and the value:
//!
//! ```text
//!   bucket   entry 0 · entry 1 · entry 2 · link                  16 bytes each
//!   entry    fingerprint 4 · length 4 · address 8
//!   link     next 8 · spare 8
//!   object   value_length 4 · key_length 2 · flags 2 · key, zeros · value
//! ```
//!
//! The kernel reads the bucket and looks at the object of each entry in it that is not empty and has the fingerprint sought, the first one
//! first; then it goes on with the next bucket of the chain. A pointer of 0 ends the chain. Of an object it asks for all that its entry tells, in reads of up
//! to 4096 bytes. The first tells what it is:
//!
//! 1. its lengths do not make up that of the entry, or it has flags: `Malformed`, as for an entry of fewer than 8 bytes, which is not read;
//! 2. it is another key's, or has other bytes than zeros behind its key: the search goes on, and what else was asked for is thrown away;
//! 3. the value is longer than the request allows, or than 64 KiB: `TooLong`; of such an object no more is read than head and key;
//! 4. else the value is the answer.

use crate::codes::codes;
use crate::layout::layout;
use crate::wire::RpcStatus;

/// RPC op-code of the kernel.
pub const OPERATION: u16 = 2;
/// Bytes of a bucket.
pub const BUCKET_LEN: usize = 64;
/// Entries of a bucket.
pub const BUCKET_ENTRIES: usize = 3;
/// Where a bucket's link is.
pub const LINK_AT: usize = BUCKET_ENTRIES * BucketEntry::LEN;
/// Most bytes of a key.
pub const KEY_MAX: u8 = 32;
/// Most bytes of a value that is answered.
pub const VALUE_MAX: u32 = 1 << 16;

layout! {
    /// The parameters, all of them in every request.
    Get: Little, 48 bytes;
    BUCKET      bucket:      u64  =  0, 0,  64, "address of the bucket where the chain begins; 0: there is none";
    FINGERPRINT fingerprint: u32  =  8, 0,  32, "fingerprint of the key";
    HOP_LIMIT   hop_limit:   u16  = 12, 0,  16, "most buckets that are looked at, at least 1";
    KEY_LENGTH  key_length:  u8   = 14, 0,   8, "bytes of the key, 1 to 32";
    KEY_LOW     key_low:     u128 = 16, 0, 128, "the first 16 bytes of the key, zeros behind it";
    KEY_HIGH    key_high:    u128 = 32, 0, 128, "its other bytes, zeros behind it";
}

layout! {
    /// An entry of a bucket. One of zeros is empty.
    BucketEntry: Little, 16 bytes;
    FINGERPRINT fingerprint: u32 = 0, 0, 32, "bits of the key's hash";
    LENGTH      length:      u32 = 4, 0, 32, "bytes of the whole object";
    ADDRESS     address:     u64 = 8, 0, 64, "of the object; 0: the entry is empty";
}

layout! {
    /// The last bytes of a bucket.
    BucketLink: Little, 16 bytes;
    NEXT  next:  u64 = 0, 0, 64, "address of the next bucket of the chain; 0: there is none";
    SPARE spare: u64 = 8, 0, 64, "not looked at";
}

layout! {
    /// The first bytes of an object.
    ObjectHead: Little, 8 bytes;
    VALUE_LENGTH value_length: u32 = 0, 0, 32, "bytes of the value";
    KEY_LENGTH   key_length:   u16 = 4, 0, 16, "bytes of the key, without what fills it up";
    FLAGS        flags:        u16 = 6, 0, 16, "0";
}

const _: () = assert!(LINK_AT + BucketLink::LEN == BUCKET_LEN && ObjectHead::LEN == 8);

impl Get {
    /// The parameters for a key; `None` when it is empty or longer than [`KEY_MAX`].
    #[must_use]
    pub fn new(bucket: u64, fingerprint: u32, hop_limit: u16, key: &[u8]) -> Option<Self> {
        let mut bytes = [0; KEY_MAX as usize];
        bytes.get_mut(..key.len())?.copy_from_slice(key);
        let (low, high) = bytes.split_at(16);
        let part = |part: &[u8]| part.iter().rev().fold(0, |all, byte| all << 8 | u128::from(*byte));
        let key_length = u8::try_from(key.len()).ok().filter(|length| *length > 0)?;
        Some(Self { bucket, fingerprint, hop_limit, key_length, key_low: part(low), key_high: part(high) })
    }

    /// The 32 bytes of the key, with what is behind it.
    #[must_use]
    pub fn key_block(&self) -> [u8; KEY_MAX as usize] {
        let mut bytes = [0; KEY_MAX as usize];
        bytes[..16].copy_from_slice(&self.key_low.to_le_bytes());
        bytes[16..].copy_from_slice(&self.key_high.to_le_bytes());
        bytes
    }
}

impl ObjectHead {
    /// Where the value begins in an object with a key of so many bytes.
    #[must_use]
    pub const fn value_at(key_length: u16) -> u32 {
        // The head is a word, and so are the pieces of the key.
        8 * (1 + (key_length as u32).div_ceil(8))
    }

    /// Bytes of the whole object; those of a value of 4 GiB need more than 32 bits.
    #[must_use]
    pub const fn object_length(&self) -> u64 {
        Self::value_at(self.key_length) as u64 + self.value_length as u64
    }
}

codes! {
    /// Statuses of the kernel's own. A chain of more buckets than the limit of hops ends with [`RpcStatus::Limit`].
    GetStatus: u32 {
        0x100 NotFound      "No object of the chain has the key.";
        0x101 BadParameters "A parameter is out of range, bytes behind the key are not zero, the number of parameters is wrong, or the request has flags or more payload; nothing was read.";
        0x102 Malformed     "An object with the fingerprint has other lengths than its entry says, or flags.";
        0x103 TooLong       "The value is longer than the largest answer that the request allows, or than 64 KiB; nothing of it is answered.";
    }
}

const _: () = assert!(GetStatus::NotFound as u32 >= RpcStatus::KERNEL);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parameters_land_on_the_bytes_the_kernel_reads() {
        let key: [u8; 32] = core::array::from_fn(|at| u8::try_from(at + 17).unwrap());
        let parameters = Get::new(0x0807_0605_0403_0201, 0x0c0b_0a09, 0x0e0d, &key).unwrap();
        let mut expected: [u8; Get::LEN] = core::array::from_fn(|at| u8::try_from(at + 1).unwrap());
        expected[14..16].copy_from_slice(&[32, 0]);
        assert_eq!(parameters.to_bytes(), expected);
        assert_eq!(parameters.key_block(), key);
    }

    #[test]
    fn a_key_has_1_to_32_bytes_and_zeros_behind_them() {
        assert_eq!(Get::new(1, 2, 3, &[]), None);
        assert_eq!(Get::new(1, 2, 3, &[7; 33]), None);
        for length in 1..=32 {
            let parameters = Get::new(1, 2, 3, &[7; 32][..length]).unwrap();
            let block = parameters.key_block();
            assert_eq!(usize::from(parameters.key_length), length);
            assert!(
                block[..length].iter().all(|byte| *byte == 7)
                    && block[length..].iter().all(|byte| *byte == 0)
            );
        }
    }

    #[test]
    fn a_bucket_and_an_object_lie_as_documented() {
        let entry =
            BucketEntry { fingerprint: 0x0403_0201, length: 0x0807_0605, address: 0x100f_0e0d_0c0b_0a09 };
        assert_eq!(entry.to_bytes(), core::array::from_fn(|at| u8::try_from(at + 1).unwrap()));
        let link = BucketLink { next: 0x0807_0605_0403_0201, spare: 0x100f_0e0d_0c0b_0a09 };
        assert_eq!(link.to_bytes(), core::array::from_fn(|at| u8::try_from(at + 1).unwrap()));
        let head = ObjectHead { value_length: 0x0403_0201, key_length: 0x0605, flags: 0x0807 };
        assert_eq!(head.to_bytes(), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!((LINK_AT, BUCKET_LEN), (48, 64));
    }

    #[test]
    fn the_value_begins_behind_the_key_filled_up_to_words() {
        let begins = [0, 1, 8, 9, 16, 17, 24, 25, 32].map(ObjectHead::value_at);
        assert_eq!(begins, [8, 16, 16, 24, 24, 32, 32, 40, 40]);
        let head = ObjectHead { value_length: 5, key_length: 9, flags: 0 };
        assert_eq!(head.object_length(), 29);
        let longest = ObjectHead { value_length: u32::MAX, key_length: u16::MAX, flags: 0 };
        assert_eq!(longest.object_length(), 0x1_0001_0007);
    }

    proptest! {
        #[test]
        fn parameters_come_back_as_they_were(bytes in any::<[u8; Get::LEN]>()) {
            let parameters = Get::parse(&bytes).unwrap();
            prop_assert_eq!(Get::parse(&parameters.to_bytes()), Some(parameters));
        }
    }
}
