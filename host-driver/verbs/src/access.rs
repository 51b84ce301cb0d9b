//! What a key, or a peer, may be used for.

use std::ops::BitOr;

use stroma_abi::desc::region::rights;

use crate::{Error, Result};

/// Rights of a region, or of the peer of a queue pair. Local reading needs none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access(u8);

impl Access {
    /// Nothing but local reading.
    pub const LOCAL_READ: Self = Self(0);
    /// The owner's own requests may write.
    pub const LOCAL_WRITE: Self = Self(rights::LOCAL_WRITE);
    /// Peers may write.
    pub const REMOTE_WRITE: Self = Self(rights::REMOTE_WRITE);
    /// Peers may read.
    pub const REMOTE_READ: Self = Self(rights::REMOTE_READ);
    /// Peers may apply atomics.
    pub const REMOTE_ATOMIC: Self = Self(rights::REMOTE_ATOMIC);
    /// Kernels may act under the key for a peer: they read where he may, by [`Self::REMOTE_READ`] of region and connection, and write
    /// where he may, by [`Self::REMOTE_WRITE`]. Of a connection: the peer may call kernels.
    pub const RPC: Self = Self(rights::RPC);

    /// As the card counts them.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Are `others` among them?
    #[must_use]
    pub const fn allows(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    /// The rights of a region. libibverbs' rule: memory that peers may change, its owner may change.
    pub(crate) fn of_region(self) -> Result<u8> {
        let writing = rights::REMOTE_WRITE | rights::REMOTE_ATOMIC;
        if self.0 & writing != 0 && self.0 & rights::LOCAL_WRITE == 0 {
            return Err(Error::BadAccess { access: self.0 });
        }
        Ok(self.0)
    }
}

impl BitOr for Access {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_lets_peers_write_lets_itself_write() {
        assert!(Access::REMOTE_WRITE.of_region().is_err() && Access::REMOTE_ATOMIC.of_region().is_err());
        let both = Access::REMOTE_WRITE | Access::LOCAL_WRITE;
        assert_eq!(both.of_region().unwrap(), rights::REMOTE_WRITE | rights::LOCAL_WRITE);
        assert_eq!(
            (Access::REMOTE_READ | Access::RPC).of_region().unwrap(),
            rights::REMOTE_READ | rights::RPC
        );
        assert!(both.allows(Access::REMOTE_WRITE) && both.allows(Access::LOCAL_READ));
        assert!(!both.allows(Access::RPC) && !both.allows(Access::REMOTE_WRITE | Access::RPC));
    }
}
