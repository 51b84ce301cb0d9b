//! Memory windows: a part of a region for the peer of one queue pair, opened and closed by requests.

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering},
};

use stroma_abi::desc::{ObjectKind, Region};

use crate::{ProtectionDomain, Result, object::Object};

/// A memory window of type 2. It stands for nothing until a request binds it, and again when its key was ended.
///
/// ```text
///   key = window.next_key();
///   queue_pair.start().bind(key, &region, offset, len, access).post()      the peer may use key now
///   peer: start().send_invalidate(&pieces, key)   or   here: start().invalidate(key)
/// ```
///
/// A region with windows bound to it cannot be deregistered. Dropped, a window is unbound first.
#[derive(Debug)]
pub struct MemoryWindow {
    object: Object,
    domain: Arc<ProtectionDomain>,
    /// Low byte of the key given out last.
    tag: AtomicU8,
}

impl MemoryWindow {
    pub(crate) fn new(domain: &Arc<ProtectionDomain>) -> Result<Self> {
        let device = domain.device();
        let number = device.numbers().regions.take()?;
        let tag = AtomicU8::new(device.next_key(number.value()));
        let body = Region { window: true, pd: domain.body_number(), ..Region::default() };
        let object = Object::create(device, ObjectKind::Region, number, &body.to_bytes(), Vec::new())?;
        Ok(Self { object, domain: Arc::clone(domain), tag })
    }

    /// The protection domain.
    #[must_use]
    pub fn domain(&self) -> &Arc<ProtectionDomain> {
        &self.domain
    }

    /// A key for the next bind, another than the 255 before, so that a peer with an old one finds nothing.
    #[must_use]
    pub fn next_key(&self) -> u32 {
        let before = self.tag.fetch_add(1, Ordering::Relaxed);
        self.object.number() << u8::BITS | u32::from(before.wrapping_add(1))
    }
}
