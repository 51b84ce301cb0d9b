//! By plain verbs: READs find, an atomic locks a bucket, WRITEs change it.
//!
//! The transport's atomics have 8 bytes, and an entry 16; so who changes a bucket holds its lock, the highest bit of its count. A lock whose owner has died stays until
//! the store is swept. WRITEs of a queue pair take effect in order: the object is there before the entry, and the entry before the lock is open.
//! Readers need no lock: an entry is written in one piece, and what it points to does not change.
//!
//! Buffers come from the same list that `prism` takes from, several at a time, so that their price is divided.

use stroma_abi::kernel::get::{BUCKET_LEN, BucketEntry};
use stroma_abi::kernel::prism::FreeList;

use super::{ATTEMPTS, Client};
use crate::bucket::{Bucket, entry};
use crate::layout::LOCK;
use crate::{Error, Reach, Result, object};

/// Buffers that are taken at once.
const STASH: u64 = 16;

impl<R: Reach> Client<R> {
    pub(super) async fn get_by_reads(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        object::value_at(key)?;
        let bucket = self.read_bucket(Bucket::of(&self.directory, key)).await?;
        for place in bucket.candidates(key) {
            let object = self.read_whole(&bucket.entries[place]).await?;
            if let Some(value) = object::open(key, &object) {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }

    /// An object that fits its CRC.
    async fn read_whole(&mut self, entry: &BucketEntry) -> Result<Vec<u8>> {
        for attempt in 0..ATTEMPTS {
            let object = self.line.read(entry.address, entry.length as usize).await?;
            if object::parts(&object).is_some_and(|(key, _)| object::open(&key, &object).is_some()) {
                return Ok(object);
            }
            self.line.pause(attempt).await;
        }
        Err(Error::Torn { address: entry.address, length: entry.length })
    }

    async fn read_bucket(&mut self, address: u64) -> Result<Bucket> {
        let bytes = self.line.read(address, BUCKET_LEN).await?;
        Bucket::parse(address, &bytes).ok_or(Error::Message { length: bytes.len() })
    }

    /// The key's bucket, and its entry if there is one.
    async fn find_by_reads(&mut self, key: &[u8]) -> Result<(Bucket, Option<usize>)> {
        let front = object::value_at(key)?;
        let bucket = self.read_bucket(Bucket::of(&self.directory, key)).await?;
        for place in bucket.candidates(key) {
            let front = self.line.read(bucket.entries[place].address, front).await?;
            if object::is_of(key, &front) {
                return Ok((bucket, Some(place)));
            }
        }
        Ok((bucket, None))
    }

    /// Locks a bucket if it is as it was; is it locked now?
    async fn lock(&mut self, bucket: &Bucket) -> Result<bool> {
        let found = self.line.compare_swap(bucket.count_at(), bucket.count, bucket.count | LOCK).await?;
        Ok(found == bucket.count)
    }

    pub(super) async fn put_by_writes(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        let object = object::make(&self.directory.layout, key, value)?;
        for attempt in 0..ATTEMPTS {
            let (bucket, found) = self.find_by_reads(key).await?;
            let place = found.map_or_else(|| bucket.vacancy(key), Ok)?;
            // Before the lock, so that nobody waits for it.
            let buffer = self.take_buffer().await?;
            if bucket.is_locked() || !self.lock(&bucket).await? {
                self.stash.push(buffer);
                self.line.pause(attempt).await;
                continue;
            }
            let (entry, count) = (entry(key, &object, buffer).to_bytes(), (bucket.count + 1).to_le_bytes());
            let places = [
                (buffer, &object[..]),
                (bucket.entry_at(place), &entry[..]),
                (bucket.count_at(), &count[..]),
            ];
            self.line.write(&places).await?;
            return Ok(found.is_some());
        }
        Err(self.contended("PUT", key))
    }

    pub(super) async fn delete_by_writes(&mut self, key: &[u8]) -> Result<bool> {
        for attempt in 0..ATTEMPTS {
            let (bucket, Some(place)) = self.find_by_reads(key).await? else { return Ok(false) };
            if bucket.is_locked() || !self.lock(&bucket).await? {
                self.line.pause(attempt).await;
                continue;
            }
            let (entry, count) = (BucketEntry::default().to_bytes(), (bucket.count + 1).to_le_bytes());
            self.line.write(&[(bucket.entry_at(place), &entry), (bucket.count_at(), &count)]).await?;
            return Ok(true);
        }
        Err(self.contended("DELETE", key))
    }

    /// A buffer of nobody else's.
    async fn take_buffer(&mut self) -> Result<u64> {
        let list_at = self.directory.list;
        for attempt in 0..ATTEMPTS {
            if let Some(buffer) = self.stash.pop() {
                return Ok(buffer);
            }
            let bytes = self.line.read(list_at, FreeList::LEN).await?;
            let list = FreeList::parse(&bytes).ok_or(Error::Message { length: bytes.len() })?;
            let (places, free) = (1 << list.places_log, list.tail.wrapping_sub(list.head));
            let place = list.head & (places - 1);
            let count = free.min(STASH).min(places - place);
            if count == 0 {
                return Err(Error::OutOfSpace { buffers: self.directory.layout.buffers() as u64 });
            }
            // What stands in the ring stays there until `head` has passed it, and `head` never comes back.
            let ring = self.line.read(list.ring + 8 * place, usize::try_from(8 * count).unwrap_or(0)).await?;
            let taken = list.head.wrapping_add(count);
            if self.line.compare_swap(list_at, list.head, taken).await? == list.head {
                let words = ring.as_chunks::<8>().0.iter();
                self.stash.extend(words.rev().map(|word| u64::from_le_bytes(*word)));
            } else {
                self.line.pause(attempt).await;
            }
        }
        Err(Error::Contended { operation: "PUT", place: list_at, attempts: ATTEMPTS })
    }
}
