//! The server's side: memory that cards act on, and what a processor does with it.

mod memory;
mod sweep;

use std::collections::BTreeMap;
use std::sync::Arc;

use stroma_abi::kernel::get::{BUCKET_LEN, BucketEntry};
use stroma_abi::kernel::prism::FreeList;
use stroma_kernel_client::get::Shape;
use stroma_kernel_client::prism::Giver;
use stroma_verbs::{Access, MemoryRegion, ProtectionDomain};

pub use memory::Memory;

use crate::bucket::{Bucket, entry};
use crate::{Directory, Error, Layout, Result, object};

/// A store. It is passive: clients find their way by its [`Directory`], and nobody has to serve them but for messages.
///
/// [`get`](Self::get), [`put`](Self::put) and [`delete`](Self::delete) are what a processor does for messages. It neither locks nor compares: while it
/// changes a store, nobody else may change it, or read it in another way.
#[derive(Debug)]
pub struct Store<M = MemoryRegion> {
    memory: M,
    directory: Directory,
}

impl Store {
    /// An empty store, open to clients over queue pairs of the domain.
    ///
    /// # Errors
    /// [`Error::Layout`]; when there is no memory, or it cannot be registered.
    pub fn new(domain: &Arc<ProtectionDomain>, layout: Layout) -> Result<Self> {
        layout.check()?;
        let remote = Access::REMOTE_READ | Access::REMOTE_WRITE | Access::REMOTE_ATOMIC | Access::RPC;
        Self::within(domain.allocate(layout.bytes(), Access::LOCAL_WRITE | remote)?, layout)
    }
}

impl<M: Memory> Store<M> {
    /// An empty store in memory that has room for it.
    ///
    /// # Errors
    /// [`Error::Layout`]; when the memory cannot be reached.
    pub fn within(memory: M, layout: Layout) -> Result<Self> {
        layout.check()?;
        let list = memory.address()?;
        let shape = Shape { base: list + layout.buckets_at() as u64, log_buckets: layout.log_buckets };
        let directory = Directory { key: memory.key(), list, shape, layout };
        memory.write(0, &vec![0; layout.bytes()])?;
        let mut store = Self { memory, directory };
        store.sweep()?;
        Ok(store)
    }

    /// What a client has to know.
    #[must_use]
    pub const fn directory(&self) -> Directory {
        self.directory
    }

    /// Memory that the store is in. A test may spoil it.
    #[must_use]
    pub const fn memory(&self) -> &M {
        &self.memory
    }

    /// Where an address of the region is in it.
    fn place(&self, address: u64) -> usize {
        usize::try_from(address.wrapping_sub(self.directory.list)).unwrap_or(usize::MAX)
    }

    fn bytes(&self, address: u64, length: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.memory.read(self.place(address), &mut bytes)?;
        Ok(bytes)
    }

    fn store(&self, address: u64, bytes: &[u8]) -> Result<()> {
        self.memory.write(self.place(address), bytes)
    }

    fn word(&self, address: u64) -> Result<u64> {
        let bytes = self.bytes(address, 8)?;
        Ok(bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)))
    }

    fn list(&self) -> Result<FreeList> {
        let bytes = self.bytes(self.directory.list, FreeList::LEN)?;
        FreeList::parse(&bytes).ok_or(Error::Message { length: bytes.len() })
    }

    fn bucket(&self, address: u64) -> Result<Bucket> {
        let bytes = self.bytes(address, BUCKET_LEN)?;
        Bucket::parse(address, &bytes).ok_or(Error::Message { length: bytes.len() })
    }

    fn object(&self, entry: &BucketEntry) -> Result<Vec<u8>> {
        self.bytes(entry.address, entry.length as usize)
    }

    /// The bucket of a key, and the entry if there is one.
    fn find(&self, key: &[u8]) -> Result<(Bucket, Option<usize>)> {
        object::value_at(key)?;
        let bucket = self.bucket(Bucket::of(&self.directory, key))?;
        for place in bucket.candidates(key) {
            if object::is_of(key, &self.object(&bucket.entries[place])?) {
                return Ok((bucket, Some(place)));
            }
        }
        Ok((bucket, None))
    }

    /// The value of a key.
    ///
    /// # Errors
    /// [`Error::Key`], [`Error::Torn`].
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let (bucket, Some(place)) = self.find(key)? else { return Ok(None) };
        let BucketEntry { address, length, .. } = bucket.entries[place];
        let value = object::open(key, &self.object(&bucket.entries[place])?);
        value.map(Some).ok_or(Error::Torn { address, length })
    }

    /// Gives a key its value; was there another one before?
    ///
    /// # Errors
    /// [`Error::Key`], [`Error::Value`], [`Error::BucketFull`], [`Error::OutOfSpace`]: the store is as it was.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        let object = object::make(&self.directory.layout, key, value)?;
        let (bucket, found) = self.find(key)?;
        let place = found.map_or_else(|| bucket.vacancy(key), Ok)?;
        let buffer = self.take()?;
        self.store(buffer, &object)?;
        self.store(bucket.entry_at(place), &entry(key, &object, buffer).to_bytes())?;
        self.store(bucket.count_at(), &(bucket.count + 1).to_le_bytes())?;
        Ok(found.is_some())
    }

    /// Takes a key out; was it there?
    ///
    /// # Errors
    /// [`Error::Key`].
    pub fn delete(&mut self, key: &[u8]) -> Result<bool> {
        let (bucket, Some(place)) = self.find(key)? else { return Ok(false) };
        self.store(bucket.entry_at(place), &BucketEntry::default().to_bytes())?;
        Ok(true)
    }

    /// A free buffer, which is then taken.
    fn take(&self) -> Result<u64> {
        let list = self.list()?;
        if list.head == list.tail {
            return Err(Error::OutOfSpace { buffers: self.directory.layout.buffers() as u64 });
        }
        let place = list.head & ((1 << list.places_log) - 1);
        let buffer = self.word(list.ring + 8 * place)?;
        self.store(self.directory.list, &list.head.wrapping_add(1).to_le_bytes())?;
        Ok(buffer)
    }

    /// Buffers that are free.
    ///
    /// # Errors
    /// When memory cannot be read.
    pub fn free_buffers(&self) -> Result<u64> {
        let list = self.list()?;
        Ok(list.tail.wrapping_sub(list.head))
    }

    fn buckets(&self) -> impl Iterator<Item = Result<Bucket>> {
        let base = self.directory.shape.base;
        (0..self.directory.layout.buckets())
            .map(move |number| self.bucket(base + (number * BUCKET_LEN) as u64))
    }

    /// All keys and their values, as the processor sees them.
    ///
    /// # Errors
    /// [`Error::Torn`].
    pub fn contents(&self) -> Result<BTreeMap<Vec<u8>, Vec<u8>>> {
        let mut contents = BTreeMap::new();
        for bucket in self.buckets() {
            for entry in bucket?.entries.iter().filter(|entry| entry.address != 0) {
                let torn = Error::Torn { address: entry.address, length: entry.length };
                let object = self.object(entry)?;
                let (key, _) = object::parts(&object).ok_or(torn)?;
                let torn = Error::Torn { address: entry.address, length: entry.length };
                let value = object::open(&key, &object).ok_or(torn)?;
                contents.insert(key, value);
            }
        }
        Ok(contents)
    }

    /// A list without buffers, and who gives to it.
    fn empty_list(&self) -> Result<Giver> {
        let Directory { list, layout, .. } = self.directory;
        let ring = list + Layout::ring_at() as u64;
        let (giver, bytes) = Giver::new(list, ring, layout.log_buffers, layout.buffer_bytes);
        self.store(list, &bytes)?;
        Ok(giver)
    }
}
