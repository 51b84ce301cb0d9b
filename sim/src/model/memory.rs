//! Registered memory: what a key stands for, and who may touch it.

use std::collections::BTreeMap;
use std::ops::Range;

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
}

/// All regions of one endpoint, by key.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    regions: BTreeMap<u32, Region>,
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
        let place = self.place(access, length)?;
        Ok(self.regions.get(&access.key).map_or_else(Vec::new, |region| region.bytes[place].to_vec()))
    }

    /// Writes.
    ///
    /// # Errors
    /// As [`Self::check`]; nothing is written then.
    pub fn write(&mut self, access: &Access, bytes: &[u8]) -> Result<(), Denied> {
        let place = self.place(access, bytes.len() as u64)?;
        if let Some(region) = self.regions.get_mut(&access.key) {
            region.bytes[place].copy_from_slice(bytes);
        }
        Ok(())
    }

    fn place(&self, access: &Access, length: u64) -> Result<Range<usize>, Denied> {
        let &Access { key, domain, rights, address } = access;
        if length == 0 {
            return Ok(0..0);
        }
        let region = self.regions.get(&key).ok_or(Denied::Key { key })?;
        if region.domain != domain {
            return Err(Denied::Domain { found: region.domain, wanted: domain });
        }
        if region.rights & rights != rights {
            return Err(Denied::Rights { found: region.rights, wanted: rights });
        }
        let bounds = Denied::Bounds { address, length };
        // Offsets rather than addresses: a range that wraps at 2^64 must not look small.
        let start = address.checked_sub(region.base).ok_or(bounds)?;
        let end = start.checked_add(length).ok_or(bounds)?;
        let index = |offset: u64| usize::try_from(offset).map_err(|_| bounds);
        let place = index(start)?..index(end)?;
        if place.end > region.bytes.len() { Err(bounds) } else { Ok(place) }
    }
}
