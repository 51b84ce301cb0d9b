//! Memory regions: memory with a key.

use std::{ops::Range, sync::Arc};

use stroma_abi::desc::{
    ObjectKind, Region, Sge,
    region::{PAGE_LIST_ENTRY, PAGE_LOGS},
};
use stroma_device::{Backing, DmaMemory};

use crate::{
    Access, Error, ProtectionDomain, Result,
    iova::{Mapped, address},
    numbers::Number,
    object::Object,
};

/// How memory is to be registered.
#[derive(Debug)]
#[must_use = "nothing is registered before `register`"]
pub struct RegionBuilder {
    domain: Arc<ProtectionDomain>,
    access: Access,
    range: Option<Range<usize>>,
    page_list: Option<Backing>,
    bindable: bool,
    base: Option<u64>,
}

impl RegionBuilder {
    pub(crate) fn new(domain: &Arc<ProtectionDomain>, access: Access) -> Self {
        Self { domain: Arc::clone(domain), access, range: None, page_list: None, bindable: false, base: None }
    }

    /// Opens these bytes of the memory, not all of it. The region's offsets begin with the first of them.
    pub fn range(mut self, range: Range<usize>) -> Self {
        self.range = Some(range);
        self
    }

    /// Lets the card find the memory through a list of pages of this size. Without it there is no list, for the card
    /// sees memory as one piece.
    pub fn page_list(mut self, page: Backing) -> Self {
        self.page_list = Some(page);
        self
    }

    /// Lets memory windows stand for parts of it.
    pub fn bindable(mut self) -> Self {
        self.bindable = true;
        self
    }

    /// Requests name the region's first byte by this address. Without it, by the one it has in this process. Both have the same
    /// place in a page.
    pub fn base(mut self, address: u64) -> Self {
        self.base = Some(address);
        self
    }

    /// Registers `memory`: shows it to the card and gives it a key.
    ///
    /// # Errors
    /// [`Error::BadAccess`], [`Error::OutsideRange`], [`Error::BadBase`], [`Error::NoneLeft`], [`Error::NoAddresses`]; when memory
    /// cannot be mapped; when the card refuses.
    pub fn register(self, memory: Arc<DmaMemory>) -> Result<MemoryRegion> {
        let device = self.domain.device();
        let number = device.numbers().regions.take()?;
        let key = device.next_key(number.value());
        self.make(memory, number, key)
    }

    /// Registers `memory` in place of `old`, of the same device, whose keys are the new region's. What peers begin meanwhile finds no region.
    ///
    /// # Errors
    /// As [`Self::register`], and [`Error::OtherDevice`]: then there is neither region any more.
    pub fn register_again(self, old: MemoryRegion, memory: Arc<DmaMemory>) -> Result<MemoryRegion> {
        self.domain.device().check_same(old.domain.device(), "memory region")?;
        let key = old.body.key;
        self.make(memory, old.object.end()?, key)
    }

    fn make(self, memory: Arc<DmaMemory>, number: Number, key: u8) -> Result<MemoryRegion> {
        let rights = self.access.of_region()?;
        let range = self.range.unwrap_or(0..memory.len());
        let len = range.end.checked_sub(range.start).filter(|_| range.end <= memory.len());
        let (offset, size) = (range.start, memory.len());
        let asked = range.end.wrapping_sub(offset);
        let len = len.ok_or(Error::OutsideRange { offset, len: asked, of: "memory", size })?;

        let device = self.domain.device();
        let page = self.page_list.unwrap_or(memory.backing().unwrap_or(Backing::Small));
        let own = address(&memory) + offset as u64;
        let base = self.base.unwrap_or(own);
        if !(base ^ own).is_multiple_of(page.page() as u64) {
            return Err(Error::BadBase { base, address: own, page: page.page() });
        }
        let mapped = device.map(memory, page)?;
        let first = (mapped.iova() + offset as u64) & !(page.page() as u64 - 1);
        let mut mappings = vec![mapped];
        let mut list = first;
        if self.page_list.is_some() {
            mappings.push(page_list(&self.domain, first, base, len, page)?);
            list = mappings[1].iova();
            device.controls().lists().insert(number.value(), first);
        }
        let body = Region {
            base,
            length: len as u64,
            key,
            page: code(page),
            direct: self.page_list.is_none(),
            list,
            pd: self.domain.body_number(),
            rights,
            bindable: self.bindable,
            window: false,
        };
        let object = Object::create(device, ObjectKind::Region, number, &body.to_bytes(), mappings)?;
        Ok(MemoryRegion { object, body, access: self.access, offset, len, domain: self.domain })
    }
}

/// The addresses of the pages from `first` on that hold `len` bytes from `base` on, where the card can read them.
fn page_list(domain: &ProtectionDomain, first: u64, base: u64, len: usize, page: Backing) -> Result<Mapped> {
    let size = page.page();
    let within = usize::try_from(base % size as u64).expect("a place in a page is less than its size");
    let pages = (within + len).div_ceil(size).max(1);
    let list = domain.device().ring(pages * PAGE_LIST_ENTRY)?;
    for index in 0..pages {
        let entry = first + (index * size) as u64;
        list.memory().write(index * PAGE_LIST_ENTRY, &entry.to_le_bytes())?;
    }
    Ok(list)
}

/// The card's code of a page size.
fn code(page: Backing) -> u8 {
    let place = PAGE_LOGS.iter().zip(0..).find(|(log, _)| 1 << **log == page.page());
    place.expect("the card knows every page size of the system").1
}

/// Memory with a key. Dropped, the key is dead before the memory is unmapped.
#[derive(Debug)]
pub struct MemoryRegion {
    object: Object,
    body: Region,
    access: Access,
    /// First byte of the region in its memory.
    offset: usize,
    len: usize,
    domain: Arc<ProtectionDomain>,
}

impl MemoryRegion {
    /// The protection domain.
    #[must_use]
    pub fn domain(&self) -> &Arc<ProtectionDomain> {
        &self.domain
    }

    /// What its key may be used for.
    #[must_use]
    pub fn access(&self) -> Access {
        self.access
    }

    /// Bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Are there no bytes at all?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The key for requests of this card.
    #[must_use]
    pub fn lkey(&self) -> u32 {
        self.object.number() << u8::BITS | u32::from(self.body.key)
    }

    /// The key for requests of peers.
    #[must_use]
    pub fn rkey(&self) -> u32 {
        self.lkey()
    }

    /// The address of byte `offset`, as requests name it. The end is an address, too.
    ///
    /// # Errors
    /// [`Error::OutsideRange`].
    pub fn address(&self, offset: usize) -> Result<u64> {
        self.inside(offset, 0)?;
        Ok(self.body.base + offset as u64)
    }

    /// The address of `len` bytes from `offset` on.
    pub(crate) fn part(&self, offset: usize, len: usize) -> Result<u64> {
        self.inside(offset, len)?;
        Ok(self.body.base + offset as u64)
    }

    /// The `len` bytes from `offset` on, as a piece of a request.
    ///
    /// # Errors
    /// [`Error::OutsideRange`], and [`Error::TooLarge`] for what a request cannot count.
    pub fn piece(&self, offset: usize, len: usize) -> Result<Sge> {
        self.inside(offset, len)?;
        let too_large = Error::TooLarge { what: "bytes of a piece", asked: len, max: u32::MAX as usize };
        let length = u32::try_from(len).map_err(|_| too_large)?;
        Ok(Sge { address: self.body.base + offset as u64, local_key: self.lkey(), length })
    }

    /// Copies from byte `offset` on to `bytes`.
    ///
    /// # Errors
    /// [`Error::OutsideRange`].
    pub fn read(&self, offset: usize, bytes: &mut [u8]) -> Result<()> {
        self.inside(offset, bytes.len())?;
        Ok(self.memory().read(self.offset + offset, bytes)?)
    }

    /// Copies `bytes` to byte `offset` and on.
    ///
    /// # Errors
    /// [`Error::OutsideRange`].
    pub fn write(&self, offset: usize, bytes: &[u8]) -> Result<()> {
        self.inside(offset, bytes.len())?;
        Ok(self.memory().write(self.offset + offset, bytes)?)
    }

    /// Ends the region and gives the memory back: whole, when nobody else has a share of it.
    ///
    /// # Errors
    /// When the card does not confirm; then the memory is left to the card.
    pub fn deregister(mut self) -> Result<Arc<DmaMemory>> {
        let memory = Arc::clone(self.memory());
        self.object.destroy()?;
        Ok(memory)
    }

    fn memory(&self) -> &Arc<DmaMemory> {
        self.object.memory(0).memory()
    }

    fn inside(&self, offset: usize, len: usize) -> Result<()> {
        match offset.checked_add(len) {
            Some(end) if end <= self.len => Ok(()),
            _ => Err(Error::OutsideRange { offset, len, of: "a region", size: self.len }),
        }
    }
}
