//! A table in a slice of bytes.

use std::ops::Range;

use stroma_abi::kernel::get::{
    BUCKET_ENTRIES, BUCKET_LEN, BucketEntry, BucketLink, KEY_MAX, LINK_AT, ObjectHead, VALUE_MAX,
};

use super::heap::Heap;
use super::{Error, LOG_BUCKETS_MAX, Shape, fingerprint, hash};

/// A bucket as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Where it is.
    pub address: u64,
    /// Its entries, empty ones included.
    pub entries: [BucketEntry; BUCKET_ENTRIES],
    /// What follows them.
    pub link: BucketLink,
}

/// Builds and changes a table: buckets, then those by which chains grow, then objects.
///
/// An object is whole before an entry points to it, an entry changes as a whole, and what it pointed to is free only then. A bucket that a chain has grown by stays
/// in the chain. The slice is plain memory: who changes a table while a card reads it must see to the order in which the card sees the changes.
#[derive(Debug)]
pub struct Table<'a> {
    bytes: &'a mut [u8],
    shape: Shape,
    /// Places of buckets that no chain has.
    spare: Range<usize>,
    heap: Heap,
    len: usize,
}

impl<'a> Table<'a> {
    /// An empty table in `bytes`, which the card sees at `base`: `1 << log_buckets` chains, and `overflow` buckets for them to grow by.
    ///
    /// # Errors
    /// When the buckets do not fit, or `base` is no address for them.
    pub fn new(bytes: &'a mut [u8], base: u64, log_buckets: u32, overflow: usize) -> Result<Self, Error> {
        let have = bytes.len();
        if base == 0 || !base.is_multiple_of(8) || base.checked_add(have as u64).is_none() {
            return Err(Error::Base { base });
        }
        let places = || {
            let first = 1_usize.checked_shl(log_buckets).filter(|_| log_buckets <= LOG_BUCKETS_MAX)?;
            let first = first.checked_mul(BUCKET_LEN)?;
            let end = overflow.checked_mul(BUCKET_LEN)?.checked_add(first)?;
            (end <= have).then_some(first..end)
        };
        let spare = places().ok_or(Error::Buckets { log_buckets, overflow, have })?;
        bytes.fill(0);
        let heap = Heap::new(spare.end..have);
        Ok(Self { bytes, shape: Shape { base, log_buckets }, spare, heap, len: 0 })
    }

    /// What a caller has to know.
    #[must_use]
    pub const fn shape(&self) -> Shape {
        self.shape
    }

    /// Number of keys.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Has it no keys?
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The table as the card sees it.
    #[must_use]
    pub const fn bytes(&self) -> &[u8] {
        self.bytes
    }

    /// The value of a key.
    #[must_use]
    pub fn lookup(&self, key: &[u8]) -> Option<&[u8]> {
        let (_, entry) = self.find(key)?;
        let object = self.object(&entry);
        object.get(ObjectHead::value_at(u16::try_from(key.len()).ok()?) as usize..)
    }

    /// Gives a key its value; was there another one before?
    ///
    /// # Errors
    /// When key or value are too long, or there is no room for them: then the table is as it was. Room is needed for both values.
    pub fn insert(&mut self, key: &[u8], value: &[u8]) -> Result<bool, Error> {
        let key_length = u16::try_from(key.len()).ok().filter(|length| (1..=KEY_MAX.into()).contains(length));
        let key_length = key_length.ok_or(Error::KeyLength { length: key.len() })?;
        let value_length = u32::try_from(value.len()).ok().filter(|length| *length <= VALUE_MAX);
        let value_length = value_length.ok_or(Error::ValueLength { length: value.len() })?;
        let head = ObjectHead { value_length, key_length, flags: 0 };
        let length = ObjectHead::value_at(key_length) + value_length;
        let needed = length as usize;

        let at = self.heap.take(needed).ok_or(Error::NoRoom { needed })?;
        let object = &mut self.bytes[at..at + needed];
        object.fill(0);
        head.emit(object);
        object[ObjectHead::LEN..][..key.len()].copy_from_slice(key);
        object[needed - value.len()..].copy_from_slice(value);
        let entry = BucketEntry { fingerprint: fingerprint(hash(key)), length, address: self.address(at) };
        if let Some((place, old)) = self.find(key) {
            entry.emit(&mut self.bytes[place..]);
            self.free(&old);
            return Ok(true);
        }
        match self.free_place(key) {
            Some(place) => entry.emit(&mut self.bytes[place..]),
            None if self.grow(key, &entry) => {}
            None => {
                self.free(&entry);
                return Err(Error::NoBucket);
            }
        }
        self.len += 1;
        Ok(false)
    }

    /// Takes a key out; was it there?
    pub fn remove(&mut self, key: &[u8]) -> bool {
        let found = self.find(key);
        if let Some((place, entry)) = found {
            BucketEntry::default().emit(&mut self.bytes[place..]);
            self.free(&entry);
            self.len -= 1;
        }
        found.is_some()
    }

    /// All buckets: chain by chain, each from its begin.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> {
        let first = (0..1_usize << self.shape.log_buckets).map(|number| number * BUCKET_LEN);
        first.flat_map(|place| self.chain(place)).map(|place| self.bucket(place))
    }

    /// Buckets of the longest chain: a limit of hops with which every key is found.
    #[must_use]
    pub fn longest_chain(&self) -> usize {
        let first = (0..1_usize << self.shape.log_buckets).map(|number| number * BUCKET_LEN);
        first.map(|place| self.chain(place).count()).max().unwrap_or(0)
    }

    fn address(&self, place: usize) -> u64 {
        self.shape.base + place as u64
    }

    fn place(&self, address: u64) -> usize {
        usize::try_from(address - self.shape.base).expect("within the slice")
    }

    fn bucket(&self, place: usize) -> Bucket {
        let bytes = &self.bytes[place..place + BUCKET_LEN];
        let entry = |at: usize| BucketEntry::parse(&bytes[at * BucketEntry::LEN..]).expect("a whole bucket");
        Bucket {
            address: self.address(place),
            entries: std::array::from_fn(entry),
            link: BucketLink::parse(&bytes[LINK_AT..]).expect("a whole bucket"),
        }
    }

    /// Places of the buckets of the chain that begins here.
    fn chain(&self, first: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(first), |place| {
            let next = self.bucket(*place).link.next;
            (next != 0).then(|| self.place(next))
        })
    }

    /// The entries of the key's chain, empty ones included, and their places.
    fn entries(&self, key: &[u8]) -> impl Iterator<Item = (usize, BucketEntry)> {
        self.chain(self.place(self.shape.bucket(hash(key)))).flat_map(|place| {
            let entries = self.bucket(place).entries.into_iter().enumerate();
            entries.map(move |(at, entry)| (place + at * BucketEntry::LEN, entry))
        })
    }

    fn object(&self, entry: &BucketEntry) -> &[u8] {
        &self.bytes[self.place(entry.address)..][..entry.length as usize]
    }

    fn find(&self, key: &[u8]) -> Option<(usize, BucketEntry)> {
        let fingerprint = fingerprint(hash(key));
        let has_key = |entry: &BucketEntry| {
            let object = self.object(entry);
            let head = ObjectHead::parse(object).expect("at least a head");
            usize::from(head.key_length) == key.len() && object[ObjectHead::LEN..].starts_with(key)
        };
        self.entries(key)
            .find(|(_, entry)| entry.address != 0 && entry.fingerprint == fingerprint && has_key(entry))
    }

    fn free_place(&self, key: &[u8]) -> Option<usize> {
        self.entries(key).find(|(_, entry)| entry.address == 0).map(|(place, _)| place)
    }

    /// A further bucket for the key's chain, with this entry; is there one?
    fn grow(&mut self, key: &[u8], entry: &BucketEntry) -> bool {
        let place = self.spare.start;
        if place == self.spare.end {
            return false;
        }
        self.spare.start += BUCKET_LEN;
        entry.emit(&mut self.bytes[place..]);
        let last = self.chain(self.place(self.shape.bucket(hash(key)))).last().expect("the first at least");
        let link = BucketLink { next: self.address(place), spare: 0 };
        link.emit(&mut self.bytes[last + LINK_AT..]);
        true
    }

    fn free(&mut self, entry: &BucketEntry) {
        self.heap.give(self.place(entry.address), entry.length as usize);
    }
}
