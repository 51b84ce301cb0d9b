//! Ring arithmetic: indices in, indices out. Nothing here knows a device or touches memory.
//!
//! ```text
//!   WorkRing    driver ──▶ card    send and receive queues      reserve … doorbell … release
//!   EntryRing   card ──▶ driver    completion and event queues  is_new … take … doorbell
//! ```
//!
//! Indices run on past the end of the ring and wrap at their own width, so that the same slot has another index on
//! the next lap, and a full ring does not look empty.

use stroma_abi::desc::phase;

/// Why a ring refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RingError {
    /// A size the indices cannot count.
    #[error("a ring of 2^{log} slots: at most 2^{max} are possible")]
    Size {
        /// log2 of the size asked for.
        log: u32,
        /// log2 of the largest.
        max: u32,
    },
    /// No room: the request can be posted again when others have completed.
    #[error("{wanted} slots asked for, {room} are free")]
    Full {
        /// Slots asked for.
        wanted: u16,
        /// Slots free.
        room: u16,
    },
    /// A completion for what was not posted: card and driver disagree.
    #[error("release of {slots} slots from index {index}: outstanding are {consumer} up to {producer}")]
    NotOutstanding {
        /// First index.
        index: u16,
        /// Slots.
        slots: u16,
        /// Oldest index not yet released.
        consumer: u16,
        /// Index behind the last one posted.
        producer: u16,
    },
}

/// The driver's side of a ring it fills: send queues in 64-byte units, receive queues in entries.
///
/// A request of several slots may lie across the end of the ring: its last slots are then the first of the ring.
#[derive(Clone, Debug)]
pub struct WorkRing {
    log: u32,
    producer: u16,
    consumer: u16,
}

impl WorkRing {
    /// log2 of the largest ring. With 2^16 slots a full ring would look empty to 16-bit indices.
    pub const LOG_MAX: u32 = 15;

    /// An empty ring of `1 << log` slots.
    ///
    /// # Errors
    /// [`RingError::Size`].
    pub const fn new(log: u32) -> Result<Self, RingError> {
        if log > Self::LOG_MAX {
            return Err(RingError::Size { log, max: Self::LOG_MAX });
        }
        Ok(Self { log, producer: 0, consumer: 0 })
    }

    /// Slots.
    #[must_use]
    pub const fn size(&self) -> u16 {
        1 << self.log
    }

    /// Slots reserved and not yet released.
    #[must_use]
    pub const fn used(&self) -> u16 {
        self.producer.wrapping_sub(self.consumer)
    }

    /// Slots free.
    #[must_use]
    pub const fn room(&self) -> u16 {
        self.size() - self.used()
    }

    /// Index behind the last slot reserved: what a doorbell carries.
    #[must_use]
    pub const fn producer(&self) -> u16 {
        self.producer
    }

    /// Oldest index not yet released.
    #[must_use]
    pub const fn consumer(&self) -> u16 {
        self.consumer
    }

    /// Where in the ring `index` lies.
    #[must_use]
    pub const fn slot(&self, index: u16) -> usize {
        (index & (self.size() - 1)) as usize
    }

    /// Takes `slots` slots; the result is the index of the first, the others follow.
    ///
    /// # Errors
    /// [`RingError::Full`], and then none is taken.
    pub const fn reserve(&mut self, slots: u16) -> Result<u16, RingError> {
        let room = self.room();
        if slots > room {
            return Err(RingError::Full { wanted: slots, room });
        }
        let first = self.producer;
        self.producer = first.wrapping_add(slots);
        Ok(first)
    }

    /// Frees the `slots` slots from `index` on and all before them: requests complete in order, and those that did
    /// not ask for a completion of their own complete with the next that did.
    ///
    /// # Errors
    /// [`RingError::NotOutstanding`], and then none is freed.
    pub const fn release(&mut self, index: u16, slots: u16) -> Result<(), RingError> {
        let before = index.wrapping_sub(self.consumer);
        if before as u32 + slots as u32 > self.used() as u32 {
            let (consumer, producer) = (self.consumer, self.producer);
            return Err(RingError::NotOutstanding { index, slots, consumer, producer });
        }
        self.consumer = index.wrapping_add(slots);
        Ok(())
    }
}

/// The driver's side of a ring the card fills: completion and event queues. An entry is new when its phase bit is
/// the one of this lap.
#[derive(Clone, Debug)]
pub struct EntryRing {
    log: u32,
    position: u32,
}

impl EntryRing {
    /// log2 of the largest ring: the doorbell's consumer index has 24 bits, one of which tells full from empty.
    pub const LOG_MAX: u32 = 23;

    /// A ring of `1 << log` entries, all zero and none taken.
    ///
    /// # Errors
    /// [`RingError::Size`].
    pub const fn new(log: u32) -> Result<Self, RingError> {
        if log > Self::LOG_MAX {
            return Err(RingError::Size { log, max: Self::LOG_MAX });
        }
        Ok(Self { log, position: 0 })
    }

    /// Entries.
    #[must_use]
    pub const fn size(&self) -> u32 {
        1 << self.log
    }

    /// Where the next entry lies.
    #[must_use]
    pub const fn slot(&self) -> usize {
        (self.position & (self.size() - 1)) as usize
    }

    /// Is the next entry new, given the phase bit it shows? If so, and behind
    /// [`barrier::from_device`](crate::barrier::from_device), the rest of it may be read.
    #[must_use]
    pub const fn is_new(&self, bit: bool) -> bool {
        bit == phase(self.position, self.log)
    }

    /// Steps over the entry just read.
    pub const fn take(&mut self) {
        self.position = self.position.wrapping_add(1);
    }

    /// Entries taken, modulo 2^32: what the event queue's consumer register holds.
    #[must_use]
    pub const fn consumer(&self) -> u32 {
        self.position
    }

    /// Entries taken, modulo 2^24: what the completion doorbell carries.
    #[must_use]
    pub const fn consumer24(&self) -> u32 {
        self.position & 0xff_ffff
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
