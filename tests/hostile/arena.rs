//! The memory that is fought over, what it should hold, and which keys open which parts of it.

use std::ops::Range;
use std::sync::Arc;

use stroma_device::DmaMemory;
use stroma_verbs::{Access, MemoryRegion, ProtectionDomain};

/// Bytes of each queue pair's part.
pub(crate) const SLOT: usize = 8192;
/// What its peer may reach: neither end lies on a page, and what is around it is for nobody.
pub(crate) const OPEN: Range<usize> = 64..4032;
/// Its receives all name these bytes.
pub(crate) const INBOX: Range<usize> = 4096..6144;
/// Answers to its own requests go here.
pub(crate) const LANDING: Range<usize> = 6144..8192;

/// A registered range.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// Its key.
    pub key: u32,
    /// Address of its first byte.
    pub base: u64,
    /// Its bytes.
    pub length: u64,
    /// What peers may do.
    rights: u8,
    /// First byte in the arena.
    offset: usize,
    /// Of the domain of the queue pairs?
    is_ours: bool,
}

/// Memory in slots, one for each queue pair, each with a key of its own; and keys that open it all, but to nobody outside.
pub(crate) struct Arena {
    /// What it should hold.
    pub expected: Vec<u8>,
    memory: Arc<DmaMemory>,
    windows: Vec<Window>,
    regions: Vec<MemoryRegion>,
    /// The whole, without remote rights.
    closed: usize,
}

impl Arena {
    /// Memory for so many queue pairs, filled with `contents`.
    pub(crate) fn new(domain: &Arc<ProtectionDomain>, slots: usize, contents: Vec<u8>) -> Self {
        let memory = Arc::new(DmaMemory::allocate(slots * SLOT, None).expect("memory"));
        memory.write(0, &contents).expect("as long as the memory");
        let mut arena = Self { expected: contents, memory, windows: vec![], regions: vec![], closed: slots };
        let all = Access::LOCAL_WRITE | Access::REMOTE_WRITE | Access::REMOTE_READ | Access::REMOTE_ATOMIC;
        for slot in 0..slots {
            arena.register(domain, all, slot * SLOT + OPEN.start..slot * SLOT + OPEN.end, true);
        }
        let whole = 0..slots * SLOT;
        arena.register(domain, Access::LOCAL_WRITE, whole.clone(), true);
        let foreign = domain.device().protection_domain().expect("a domain");
        arena.register(&foreign, all, whole, false);
        arena
    }

    fn register(
        &mut self,
        domain: &Arc<ProtectionDomain>,
        access: Access,
        range: Range<usize>,
        is_ours: bool,
    ) {
        let region = domain.region(access).range(range.clone()).register(Arc::clone(&self.memory));
        let region = region.expect("a region");
        self.windows.push(Window {
            key: region.rkey(),
            base: region.address(0).expect("its first byte"),
            length: range.len() as u64,
            rights: access.bits(),
            offset: range.start,
            is_ours,
        });
        self.regions.push(region);
    }

    /// Every key there is.
    pub(crate) fn windows(&self) -> &[Window] {
        &self.windows
    }

    /// The key that opens all to its owner alone.
    pub(crate) fn closed(&self) -> &MemoryRegion {
        &self.regions[self.closed]
    }

    /// Where a peer's request goes, if key, domain, right and bounds allow all of it.
    pub(crate) fn allows(&self, key: u32, address: u64, length: u32, right: u8) -> Option<Range<usize>> {
        let window = self.windows.iter().find(|window| window.key == key)?;
        let offset = address.checked_sub(window.base)?;
        let is_inside = offset.checked_add(length.into())? <= window.length;
        let may = window.is_ours && window.rights & right != 0 && is_inside;
        let start = window.offset + usize::try_from(offset).ok()?;
        may.then(|| start..start + length as usize)
    }

    /// What it holds.
    pub(crate) fn found(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.expected.len()];
        self.memory.read(0, &mut bytes).expect("as long as the memory");
        bytes
    }

    /// Applies an atomic to eight bytes.
    pub(crate) fn apply(&mut self, place: Range<usize>, change: impl Fn(u64) -> u64) {
        let word = u64::from_le_bytes(self.expected[place.clone()].try_into().expect("eight bytes"));
        self.expected[place].copy_from_slice(&change(word).to_le_bytes());
    }
}
