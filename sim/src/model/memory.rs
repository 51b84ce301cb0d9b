//! Registered memory: what a key stands for, and who may touch it.

use std::collections::BTreeMap;
use std::ops::Range;

use stroma_abi::Qpn;

/// A registered region. Its bytes live here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Virtual address of the first byte.
    pub base: u64,
    /// Content.
    pub bytes: Vec<u8>,
    /// Protection domain.
    pub domain: u16,
    /// Sum of [`stroma_abi::desc::region::rights`].
    pub rights: u8,
}

/// A memory window of type 2, bound: a part of a region, for the peer of one queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Key of the region.
    pub region: u32,
    /// Virtual address of the first byte.
    pub base: u64,
    /// Bytes.
    pub length: u64,
    /// Sum of [`stroma_abi::desc::region::rights`] that the peer has.
    pub rights: u8,
    /// The queue pair.
    pub queue_pair: Qpn,
}

/// Why an access is not allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Denied {
    /// No region has this key.
    #[error("no region has key {key:#x}")]
    Key {
        /// The key.
        key: u32,
    },
    /// The region belongs to another protection domain.
    #[error("the region is of protection domain {found}, not {wanted}")]
    Domain {
        /// The region's.
        found: u16,
        /// The queue pair's.
        wanted: u16,
    },
    /// The key is a window's, and the access not one of its peer.
    #[error("the window is for the peer of queue pair {found}")]
    Window {
        /// The queue pair that the window is bound to.
        found: Qpn,
    },
    /// The region does not grant the right.
    #[error("the region grants {found:#x}, the access needs {wanted:#x}")]
    Rights {
        /// Granted.
        found: u8,
        /// Needed.
        wanted: u8,
    },
    /// The range leaves the region.
    #[error("{length} bytes at {address:#x} leave the region")]
    Bounds {
        /// First byte.
        address: u64,
        /// Bytes.
        length: u64,
    },
}

/// One access: by whom, with which key, to what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Key of the region.
    pub key: u32,
    /// Protection domain of the queue pair.
    pub domain: u16,
    /// Rights needed; zero for local reading.
    pub rights: u8,
    /// First byte.
    pub address: u64,
    /// The queue pair whose peer asks for it; none for an access of this end itself.
    pub queue_pair: Option<Qpn>,
}

/// All regions of one endpoint, by key.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    regions: BTreeMap<u32, Region>,
    windows: BTreeMap<u32, Window>,
}

impl Memory {
    /// Makes a region known under a key, in place of the one that had it.
    pub fn register(&mut self, key: u32, region: Region) {
        self.regions.insert(key, region);
    }

    /// Takes a region back; from now on its key means nothing.
    pub fn deregister(&mut self, key: u32) -> Option<Region> {
        self.regions.remove(&key)
    }

    /// Binds a window under a key.
    pub fn bind(&mut self, key: u32, window: Window) {
        self.windows.insert(key, window);
    }

    /// Ends the key of a window, if it is bound to this queue pair.
    pub fn invalidate(&mut self, key: u32, queue_pair: Qpn) -> Option<Window> {
        let is_bound = self.windows.get(&key).is_some_and(|window| window.queue_pair == queue_pair);
        is_bound.then(|| self.windows.remove(&key)).flatten()
    }

    /// The region of a key.
    #[must_use]
    pub fn region(&self, key: u32) -> Option<&Region> {
        self.regions.get(&key)
    }

    /// The same, to change its content.
    pub fn region_mut(&mut self, key: u32) -> Option<&mut Region> {
        self.regions.get_mut(&key)
    }

    /// Is this access of `length` bytes allowed? One of no bytes always is: nothing is looked at (IBTA C9-88).
    ///
    /// # Errors
    /// The first reason why not, in the order of [`Denied`].
    pub fn check(&self, access: &Access, length: u64) -> Result<(), Denied> {
        self.place(access, length).map(drop)
    }

    /// Reads.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub fn read(&self, access: &Access, length: u64) -> Result<Vec<u8>, Denied> {
        let (key, place) = self.place(access, length)?;
        Ok(self.regions.get(&key).map_or_else(Vec::new, |region| region.bytes[place].to_vec()))
    }

    /// Writes.
    ///
    /// # Errors
    /// As [`Self::check`]; nothing is written then.
    pub fn write(&mut self, access: &Access, bytes: &[u8]) -> Result<(), Denied> {
        let (key, place) = self.place(access, bytes.len() as u64)?;
        if let Some(region) = self.regions.get_mut(&key) {
            region.bytes[place].copy_from_slice(bytes);
        }
        Ok(())
    }

    /// The region that an access lands in, and where.
    fn place(&self, access: &Access, length: u64) -> Result<(u32, Range<usize>), Denied> {
        let &Access { key, domain, rights, address, queue_pair } = access;
        if length == 0 {
            return Ok((key, 0..0));
        }
        let window = self.windows.get(&key);
        let parent = window.map_or(key, |window| window.region);
        let region = self.regions.get(&parent).ok_or(Denied::Key { key })?;
        if region.domain != domain {
            return Err(Denied::Domain { found: region.domain, wanted: domain });
        }
        let granted = window.map_or(region.rights, |window| window.rights);
        if let Some(found) = window.map(|window| window.queue_pair).filter(|found| queue_pair != Some(*found))
        {
            return Err(Denied::Window { found });
        }
        if granted & rights != rights {
            return Err(Denied::Rights { found: granted, wanted: rights });
        }
        let bounds = Denied::Bounds { address, length };
        // Offsets rather than addresses: a range that wraps at 2^64 must not look small.
        let within = |base: u64, size: u64| {
            let start = address.checked_sub(base)?;
            start.checked_add(length).filter(|end| *end <= size).map(|end| start..end)
        };
        if let Some(window) = window {
            within(window.base, window.length).ok_or(bounds)?;
        }
        let place = within(region.base, region.bytes.len() as u64).ok_or(bounds)?;
        let index = |offset: u64| usize::try_from(offset).map_err(|_| bounds);
        Ok((parent, index(place.start)?..index(place.end)?))
    }
}
