//! The owner's side of a list of free buffers. It knows no memory: it says what is to be stored where, and in which order.

use stroma_abi::kernel::prism::FreeList;
use thiserror::Error;

/// All places of the ring are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the list has room for {places} buffers, and has them")]
pub struct Full {
    /// How many there are.
    pub places: u64,
}

/// A word to be stored; it has to be visible to the card before the next one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Store {
    /// Where, aligned to 8 bytes if list and ring are.
    pub address: u64,
    /// What, little-endian.
    pub word: u64,
}

/// Gives buffers to a list. There is one for each list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Giver {
    at: u64,
    list: FreeList,
}

impl Giver {
    /// A list at address `at` without buffers, of `2^places_log` places at `ring`, for buffers of `buffer_length` bytes; and its bytes, which are to be stored before
    /// anybody allocates.
    ///
    /// # Panics
    /// When `places_log` is above 31.
    #[must_use]
    pub fn new(at: u64, ring: u64, places_log: u8, buffer_length: u32) -> (Self, [u8; FreeList::LEN]) {
        assert!(places_log < 32, "2^{places_log} places are more than a list can have");
        let list = FreeList { head: 0, tail: 0, ring, buffer_length, places_log };
        (Self { at, list }, list.to_bytes())
    }

    /// Bytes of the ring.
    #[must_use]
    pub const fn ring_length(&self) -> u64 {
        8 << self.list.places_log
    }

    /// Buffers that are free, if `head` is the list's head as it stands in memory: an old value gives too many.
    #[must_use]
    pub const fn free(&self, head: u64) -> u64 {
        self.list.tail.wrapping_sub(head)
    }

    /// Gives a buffer: what is to be stored. `head` is as in [`Giver::free`]; an old one may find the list full when it is not.
    ///
    /// # Errors
    /// When there is no place for it.
    pub fn give(&mut self, buffer: u64, head: u64) -> Result<[Store; 2], Full> {
        let places = 1 << self.list.places_log;
        if self.free(head) >= places {
            return Err(Full { places });
        }
        let place = self.list.tail & (places - 1);
        let entry = Store { address: self.list.ring.wrapping_add(8 * place), word: buffer };
        self.list.tail = self.list.tail.wrapping_add(1);
        let tail = FreeList::TAIL.byte as u64;
        Ok([entry, Store { address: self.at.wrapping_add(tail), word: self.list.tail }])
    }
}
