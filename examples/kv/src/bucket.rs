//! A bucket as somebody has read it, in one piece.

use stroma_abi::kernel::get::{BUCKET_ENTRIES, BUCKET_LEN, BucketEntry, BucketLink, LINK_AT};
use stroma_kernel_client::get::{fingerprint, hash};

use crate::layout::{ADDRESS_AT, COUNT_AT, LOCK};
use crate::{Directory, Error, Result};

/// A bucket, and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bucket {
    pub(crate) address: u64,
    pub(crate) entries: [BucketEntry; BUCKET_ENTRIES],
    pub(crate) count: u64,
}

impl Bucket {
    /// Address of a key's bucket.
    pub(crate) fn of(directory: &Directory, key: &[u8]) -> u64 {
        directory.shape.bucket(hash(key))
    }

    /// The bucket at `address`; `None` if these are not its bytes.
    pub(crate) fn parse(address: u64, bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..BUCKET_LEN)?;
        let mut entries = [BucketEntry::default(); BUCKET_ENTRIES];
        for (entry, bytes) in entries.iter_mut().zip(bytes.chunks(BucketEntry::LEN)) {
            *entry = BucketEntry::parse(bytes)?;
        }
        Some(Self { address, entries, count: BucketLink::parse(&bytes[LINK_AT..])?.spare })
    }

    /// The entry where a key is put if that is empty, and so where it is looked for first.
    pub(crate) fn preferred(key: &[u8]) -> usize {
        let spread = hash(key) >> 29;
        usize::try_from(spread % BUCKET_ENTRIES as u64).unwrap_or(0)
    }

    /// Entries that may be the key's, the preferred one first.
    pub(crate) fn candidates(&self, key: &[u8]) -> impl Iterator<Item = usize> + use<> {
        let (first, sought, entries) = (Self::preferred(key), fingerprint(hash(key)), self.entries);
        let in_turn = (0..BUCKET_ENTRIES).map(move |step| (first + step) % BUCKET_ENTRIES);
        in_turn.filter(move |place| entries[*place].address != 0 && entries[*place].fingerprint == sought)
    }

    /// The entry for a key that the bucket does not have.
    ///
    /// # Errors
    /// [`Error::BucketFull`].
    pub(crate) fn vacancy(&self, key: &[u8]) -> Result<usize> {
        let first = Self::preferred(key);
        let mut in_turn = (0..BUCKET_ENTRIES).map(|step| (first + step) % BUCKET_ENTRIES);
        let empty = in_turn.find(|place| self.entries[*place].address == 0);
        empty.ok_or(Error::BucketFull { bucket: self.address })
    }

    /// Is somebody changing it by plain verbs?
    pub(crate) const fn is_locked(&self) -> bool {
        self.count & LOCK != 0
    }

    /// Address of an entry.
    pub(crate) const fn entry_at(&self, place: usize) -> u64 {
        self.address + (place * BucketEntry::LEN) as u64
    }

    /// Address of the address in an entry.
    pub(crate) const fn pointer_at(bucket: u64, place: usize) -> u64 {
        bucket + (place * BucketEntry::LEN + ADDRESS_AT) as u64
    }

    /// Address of the count.
    pub(crate) const fn count_at(&self) -> u64 {
        self.address + COUNT_AT as u64
    }
}

/// The entry of a key's object, which is at `address`.
pub(crate) fn entry(key: &[u8], object: &[u8], address: u64) -> BucketEntry {
    // A buffer has at most 4096 bytes.
    let length = u32::try_from(object.len()).unwrap_or(u32::MAX);
    BucketEntry { fingerprint: fingerprint(hash(key)), length, address }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full(key: &[u8]) -> Bucket {
        let taken = BucketEntry { fingerprint: !fingerprint(hash(key)), length: 24, address: 0x9000 };
        Bucket { address: 0x1000, entries: [taken; BUCKET_ENTRIES], count: 7 }
    }

    #[test]
    fn bytes_become_entries_and_count() {
        let bytes: [u8; 64] = std::array::from_fn(|at| u8::try_from(at).unwrap());
        let bucket = Bucket::parse(0x1000, &bytes).unwrap();
        assert_eq!(bucket.entries[1].fingerprint, 0x1312_1110);
        assert_eq!(bucket.entries[2].address, 0x2f2e_2d2c_2b2a_2928);
        assert_eq!(bucket.count, 0x3f3e_3d3c_3b3a_3938);
        assert_eq!((bucket.entry_at(2), bucket.count_at()), (0x1020, 0x1038));
        assert_eq!(Bucket::pointer_at(0x1000, 1), 0x1018);
        assert_eq!(Bucket::parse(0x1000, &bytes[..63]), None);
    }

    #[test]
    fn a_key_is_put_where_it_is_looked_for_first() {
        for key in [&b"a"[..], b"b", b"c", b"some key"] {
            let mut bucket = full(key);
            assert!(matches!(bucket.vacancy(key), Err(Error::BucketFull { bucket: 0x1000 })));
            for place in 0..BUCKET_ENTRIES {
                bucket.entries[place].address = 0;
            }
            assert_eq!(bucket.vacancy(key).unwrap(), Bucket::preferred(key));
            assert_eq!(bucket.candidates(key).count(), 0);
            for place in 0..BUCKET_ENTRIES {
                bucket.entries[place] = entry(key, &[0; 24], 0x9000);
            }
            assert_eq!(bucket.candidates(key).next(), Some(Bucket::preferred(key)));
            assert_eq!(bucket.candidates(key).count(), 3);
        }
    }
}
