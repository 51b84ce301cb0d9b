//! Memory that a service may touch, checked as the card's MMU checks it.

use std::{collections::HashMap, sync::Arc};

use stroma_kernel_models::{Failure, Memory};
use stroma_verbs::{Access, MemoryRegion, ProtectionDomain};

/// Regions by their keys. A key opens a region of the caller's domain that has the right [`Access::RPC`], within its bounds: to be read
/// as far as a READ of the caller could, to be written as far as a WRITE; anything else is refused.
#[derive(Debug)]
pub struct Regions {
    domain: Arc<ProtectionDomain>,
    /// What the connection lets the caller do.
    rights: u8,
    by_key: HashMap<u32, Arc<MemoryRegion>>,
}

impl Regions {
    pub(crate) fn new(domain: &Arc<ProtectionDomain>, rights: u8) -> Self {
        Self { domain: Arc::clone(domain), rights, by_key: HashMap::new() }
    }

    pub(crate) fn add(&mut self, region: Arc<MemoryRegion>) {
        self.by_key.insert(region.rkey(), region);
    }

    /// The region, and the place in it, for what takes this right of the caller.
    fn find(&self, key: u32, va: u64, len: usize, right: Access) -> Result<(&MemoryRegion, usize), Failure> {
        let region = self.by_key.get(&key).ok_or(Failure::Refused)?;
        let is_open = Arc::ptr_eq(region.domain(), &self.domain)
            && self.rights & right.bits() != 0
            && region.access().allows(Access::RPC | right);
        let base = region.address(0).map_err(|_| Failure::Refused)?;
        let at = offset(base, region.len(), va, len).filter(|_| is_open).ok_or(Failure::Refused)?;
        Ok((region, at))
    }
}

/// Where `len` bytes at `va` are among the `size` bytes at `base`, if all of them are there.
fn offset(base: u64, size: usize, va: u64, len: usize) -> Option<usize> {
    let at = usize::try_from(va.checked_sub(base)?).ok()?;
    (at.checked_add(len)? <= size).then_some(at)
}

impl Memory for Regions {
    fn read(&mut self, key: u32, va: u64, len: usize) -> Result<Vec<u8>, Failure> {
        let (region, at) = self.find(key, va, len, Access::REMOTE_READ)?;
        let mut bytes = vec![0; len];
        region.read(at, &mut bytes).map_err(|_| Failure::Host)?;
        Ok(bytes)
    }

    fn write(&mut self, key: u32, va: u64, bytes: &[u8]) -> Result<(), Failure> {
        let (region, at) = self.find(key, va, bytes.len(), Access::REMOTE_WRITE)?;
        region.write(at, bytes).map_err(|_| Failure::Host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_to_be_inside() {
        let within = |va, len| offset(0x1000, 0x100, va, len);
        assert_eq!(
            (within(0x1000, 0x100), within(0x10ff, 1), within(0x1100, 0)),
            (Some(0), Some(0xff), Some(0x100))
        );
        assert_eq!((within(0xfff, 1), within(0xfff, 0), within(0x1000, 0x101)), (None, None, None));
        assert_eq!((within(0x10ff, 2), within(0x1101, 0), within(0x1001, usize::MAX)), (None, None, None));
        assert_eq!(
            (within(0, 1), within(u64::MAX, 1), offset(u64::MAX, 1, u64::MAX, 1)),
            (None, None, Some(0))
        );
    }
}
