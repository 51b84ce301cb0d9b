//! How a store lies in the server's memory. All of it is one region, registered once.
//!
//! ```text
//!   0 ─┬─────────────────┐
//!      │ list of buffers │ head · tail · ring · buffer_length · places     one line; `prism` takes, the owner gives
//!  64 ─┼─────────────────┤
//!      │ ring            │ addresses of free buffers, 8 bytes each         2^log_buffers of them
//!      ├─────────────────┤
//!      │ buckets         │ entry 0 · entry 1 · entry 2 · link              2^log_buckets of 64 bytes
//!      │                 │   │                             └ next 8: 0 · spare 8: the bucket's count
//!      │                 │   └ fingerprint 4 · length 4 · address 8 ─┐
//!      ├─────────────────┤                                           │
//!      │ buffers         │ value_length 4 · key_length 2 · 0 2 ◀─────┘     2^log_buffers of buffer_bytes
//!      │                 │ key, zeros · value · CRC-64 of all before it
//!      └─────────────────┘
//! ```
//!
//! Buckets and objects are as the kernel `get` reads them, and the whole object is as `consistency` does: to `get` the CRC is the end of
//! the value. A bucket has no successor: three keys are all it holds.
//!
//! The **count** of a bucket grows with every key that comes into it. A key can only come into a bucket through it, so who found the key absent and
//! finds the count unchanged knows that it still is. Its highest bit is a lock of those who write by plain verbs.

use stroma_abi::kernel::get::{BUCKET_LEN, BucketEntry, KEY_MAX, LINK_AT, ObjectHead};
use stroma_abi::kernel::prism::{FreeList, LENGTH_MAX};
use stroma_kernel_client::get::Shape;

use crate::{Error, Result};

/// Where a bucket's count is in it: what `get` does not look at.
pub(crate) const COUNT_AT: usize = LINK_AT + 8;
/// Where an entry's address is in it.
pub(crate) const ADDRESS_AT: usize = BucketEntry::ADDRESS.byte;
/// Bit of a count that somebody has set who changes the bucket by plain verbs.
pub(crate) const LOCK: u64 = 1 << 63;

/// What everything begins at a multiple of.
const LINE: usize = 64;
/// Fewest bytes of a buffer: head and longest key can be read of any.
const BUFFER_MIN: u32 = 64;
/// Where the ring begins.
const RING_AT: usize = LINE;

const _: () = assert!(FreeList::LEN <= RING_AT && ObjectHead::LEN + KEY_MAX as usize <= BUFFER_MIN as usize);

/// Sizes of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// log2 of the buckets, at most 20.
    pub log_buckets: u32,
    /// log2 of the buffers, at most 20. There are as many places in the ring.
    pub log_buffers: u8,
    /// Bytes of a buffer: whole lines of 64 bytes, at most 4096, which is what one step of `prism` appends.
    pub buffer_bytes: u32,
}

impl Layout {
    /// Can it be laid out?
    ///
    /// # Errors
    /// [`Error::Layout`].
    pub(crate) fn check(&self) -> Result<()> {
        let &Self { log_buckets, log_buffers, buffer_bytes } = self;
        let wrong = |reason| Err(Error::Layout { log_buckets, log_buffers, buffer_bytes, reason });
        if log_buckets > 20 || log_buffers > 20 {
            return wrong("at most 2^20 of either");
        }
        if !(BUFFER_MIN..=LENGTH_MAX).contains(&buffer_bytes) || !(buffer_bytes as usize).is_multiple_of(LINE)
        {
            return wrong("buffers have 64 to 4096 bytes, whole lines of 64");
        }
        Ok(())
    }

    /// Number of buffers.
    pub(crate) const fn buffers(&self) -> usize {
        1 << self.log_buffers
    }

    /// Number of buckets.
    pub(crate) const fn buckets(&self) -> usize {
        1 << self.log_buckets
    }

    /// Where the ring begins.
    pub(crate) const fn ring_at() -> usize {
        RING_AT
    }

    /// Where the buckets begin.
    pub(crate) const fn buckets_at(&self) -> usize {
        (RING_AT + 8 * self.buffers()).next_multiple_of(LINE)
    }

    /// Where the buffers begin.
    pub(crate) const fn buffers_at(&self) -> usize {
        self.buckets_at() + self.buckets() * BUCKET_LEN
    }

    /// Bytes of all of it.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.buffers_at() + self.buffers() * self.buffer_bytes as usize
    }
}

/// All that a client has to know of a store. How it comes to know is not the store's affair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Directory {
    /// What opens the region.
    pub key: u32,
    /// Address of the list of buffers.
    pub list: u64,
    /// Where the buckets are.
    pub shape: Shape,
    /// Its sizes.
    pub layout: Layout,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_each_other_on_whole_lines() {
        let layout = Layout { log_buckets: 2, log_buffers: 5, buffer_bytes: 128 };
        layout.check().unwrap();
        assert_eq!((layout.buckets_at(), layout.buffers_at()), (64 + 32 * 8, 64 + 32 * 8 + 4 * 64));
        assert_eq!(layout.bytes(), 576 + 32 * 128);
        // A ring of one place still takes a line.
        assert_eq!(Layout { log_buffers: 0, ..layout }.buckets_at(), 128);
    }

    #[test]
    fn what_cannot_be_laid_out_is_refused() {
        let good = Layout { log_buckets: 20, log_buffers: 20, buffer_bytes: 4096 };
        good.check().unwrap();
        for bad in [
            Layout { log_buckets: 21, ..good },
            Layout { log_buffers: 21, ..good },
            Layout { buffer_bytes: 0, ..good },
            Layout { buffer_bytes: 100, ..good },
            Layout { buffer_bytes: 4160, ..good },
        ] {
            assert!(matches!(bad.check(), Err(Error::Layout { .. })), "{bad:?}");
        }
    }
}
