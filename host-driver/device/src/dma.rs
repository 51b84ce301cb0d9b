//! Memory the card may read and write.

#![expect(unsafe_code, reason = "another master writes to this memory")]

use std::{io, ptr::NonNull, slice, sync::atomic::AtomicU64};

use memmap2::{MmapOptions, MmapRaw};

use crate::{Error, Result};

const WORD: usize = size_of::<u64>();
/// What lent memory consists of, and what an IOMMU can map.
const PAGE: usize = 4096;

/// The pages DMA memory consists of. Fewer pages mean fewer misses in the IOMMU and in the card's TLB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Backing {
    /// Pages of 4 KiB.
    Small,
    /// Hugepages of 2 MiB.
    Huge,
    /// Hugepages of 1 GiB.
    Gigantic,
}

impl Backing {
    /// Largest first.
    const ALL: [Self; 3] = [Self::Gigantic, Self::Huge, Self::Small];

    /// Bytes of a page.
    #[must_use]
    pub const fn page(self) -> usize {
        1 << self.page_bits()
    }

    const fn page_bits(self) -> u8 {
        match self {
            Self::Small => 12,
            Self::Huge => 21,
            Self::Gigantic => 30,
        }
    }

    /// `len` in whole pages, when rounding up wastes no more than an eighth.
    fn round(self, len: usize) -> Option<usize> {
        let whole = len.checked_next_multiple_of(self.page())?;
        (self == Self::Small || whole - len <= len / 8).then_some(whole)
    }

    fn map(self, len: usize) -> io::Result<MmapRaw> {
        let mut options = MmapOptions::new();
        options.len(len);
        if self != Self::Small {
            options.huge(Some(self.page_bits()));
        }
        options.map_anon().map(MmapRaw::from)
    }
}

/// The largest pages that suit `len` and that `map` can deliver, and the largest that would have suited.
fn largest<M>(
    len: usize,
    mut map: impl FnMut(Backing, usize) -> io::Result<M>,
) -> Result<(M, Backing, Backing)> {
    let suited = Backing::ALL.into_iter().filter_map(|backing| Some((backing, backing.round(len)?)));
    let mut wished = None;
    let mut refused = None;
    for (backing, whole) in suited {
        let wished = *wished.get_or_insert(backing);
        match map(backing, whole) {
            Ok(memory) => return Ok((memory, backing, wished)),
            Err(source) => refused = Some(Error::Allocate { len: whole, source }),
        }
    }
    Err(refused.unwrap_or(Error::BadLength { len }))
}

#[derive(Debug)]
enum Memory {
    Owned { map: MmapRaw, backing: Backing, wished: Backing, node: Option<u32>, locked: bool },
    Lent,
}

/// Memory for DMA: whole pages, zeroed, near the card and locked where the system allows it.
///
/// Shared access goes through [`words`](Self::words), atomics that take no notice of order: see
/// [`barrier`](crate::barrier).
#[derive(Debug)]
pub struct DmaMemory {
    start: NonNull<u8>,
    len: usize,
    memory: Memory,
}

// SAFETY: the memory belongs to the process, not to a thread; what `&DmaMemory` gives are atomics, and a slice needs
// `&mut DmaMemory`.
unsafe impl Send for DmaMemory {}
// SAFETY: as above.
unsafe impl Sync for DmaMemory {}

impl DmaMemory {
    /// Allocates at least `len` bytes, on the largest pages that waste no more than an eighth and that there are, on
    /// NUMA node `node` if it has room.
    ///
    /// # Errors
    /// [`Error::BadLength`] and [`Error::Allocate`].
    pub fn allocate(len: usize, node: Option<u32>) -> Result<Self> {
        if len == 0 {
            return Err(Error::BadLength { len });
        }
        let (map, backing, wished) = largest(len, Backing::map)?;
        // Before the first touch: locking brings the pages in, and they stay where they are then.
        let node = node.filter(|node| prefer_node(&map, *node).is_ok());
        // A mapping pins what it maps. Locking spares the first access a fault, and may be refused.
        let locked = map.lock().is_ok();
        let start = NonNull::new(map.as_mut_ptr()).ok_or(Error::BadLength { len })?;
        let len = map.len();
        Ok(Self { start, len, memory: Memory::Owned { map, backing, wished, node, locked } })
    }

    /// Takes memory that somebody else allocated, for as long as the result lives.
    ///
    /// # Safety
    /// From now until the result and all its shares are gone, the memory must stay allocated and writable, and no
    /// reference to it may exist. Who allocated it must not touch bytes that the card is reading or writing; what
    /// the card has been told and has announced decides which those are.
    ///
    /// # Errors
    /// [`Error::NotWholePages`].
    pub unsafe fn lend(start: NonNull<u8>, len: usize) -> Result<Self> {
        let address = start.as_ptr().addr();
        if len == 0 || !len.is_multiple_of(PAGE) || !address.is_multiple_of(PAGE) {
            return Err(Error::NotWholePages { address, len, page: PAGE });
        }
        Ok(Self { start, len, memory: Memory::Lent })
    }

    /// Where it begins in this process.
    #[must_use]
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Bytes, in whole pages: not less than asked for.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The pages it consists of; `None` for lent memory, of which we know 4 KiB alone.
    #[must_use]
    pub fn backing(&self) -> Option<Backing> {
        match self.memory {
            Memory::Owned { backing, .. } => Some(backing),
            Memory::Lent => None,
        }
    }

    /// The pages it should have consisted of, when there were none of them left (`vm.nr_hugepages`).
    #[must_use]
    pub fn missed(&self) -> Option<Backing> {
        match self.memory {
            Memory::Owned { backing, wished, .. } => (wished != backing).then_some(wished),
            Memory::Lent => None,
        }
    }

    /// The node it was asked from, if the system agreed to prefer that node.
    #[must_use]
    pub fn node(&self) -> Option<u32> {
        match self.memory {
            Memory::Owned { node, .. } => node,
            Memory::Lent => None,
        }
    }

    /// Is it locked in memory (`ulimit -l`)? A mapping of kernel VFIO pins its pages in any case.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        matches!(self.memory, Memory::Owned { locked: true, .. })
    }

    /// All of it, in words of the host's byte order.
    #[must_use]
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: `len` bytes from `start` on are mapped while `self` lives and begin on a page; any bits are a u64;
        // atomics may change under a shared reference, by threads and by the card. A slice from `bytes_mut` cannot
        // exist at the same time, for it borrows `self` mutably.
        unsafe { slice::from_raw_parts(self.start.cast::<AtomicU64>().as_ptr(), self.len / WORD) }
    }

    /// All of it as plain bytes: possible while nobody shares it, so before it is mapped and after it is unmapped.
    /// `None` for lent memory, which others can reach.
    #[must_use]
    pub fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        let Memory::Owned { map, .. } = &self.memory else { return None };
        // SAFETY: the mapping has `map.len()` bytes, readable and writable, and lives as long as `self`. `self` is
        // borrowed alone, so no `words` are out; and a backend keeps a share while the memory is mapped, with which
        // nobody could have got `&mut self`.
        Some(unsafe { slice::from_raw_parts_mut(map.as_mut_ptr(), map.len()) })
    }
}

/// Asks the kernel to take pages from `node` first. Preferred and not bound: a node without free hugepages would
/// otherwise end the process at its first access.
fn prefer_node(map: &MmapRaw, node: u32) -> io::Result<()> {
    const MASK_WORDS: usize = 16;
    let mut mask: [libc::c_ulong; MASK_WORDS] = [0; MASK_WORDS];
    let bits = libc::c_ulong::BITS;
    *mask.get_mut((node / bits) as usize).ok_or(io::ErrorKind::InvalidInput)? |= 1 << (node % bits);
    // The kernel counts one bit less than it is given.
    let mask_bits = MASK_WORDS * bits as usize + 1;
    // SAFETY: changes where the kernel takes pages for this mapping from, not what they hold; `mask` outlives the
    // call and has the bits announced.
    let outcome = unsafe {
        libc::syscall(
            libc::SYS_mbind,
            map.as_mut_ptr(),
            map.len(),
            libc::MPOL_PREFERRED,
            mask.as_ptr(),
            mask_bits,
            0,
        )
    };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests;
