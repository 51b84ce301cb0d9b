//! Shared receive queues as the mailbox makes and changes them.

use crate::layout::layout;

/// log2 of the fewest entries.
pub const SRQ_LOG_MIN: usize = super::queue_pair::QUEUE_LOG_MIN;
/// log2 of the most: an index of 16 bits tells full from empty.
pub const SRQ_LOG_MAX: usize = super::queue_pair::QUEUE_LOG_MAX;

/// The one attribute of a modify command, as a bit of its mask: `limit`.
pub const LIMIT_ATTRIBUTE: u64 = 1 << 0;

layout! {
    /// A shared receive queue. Its ring begins on a multiple of [`RING_ALIGN`](super::RING_ALIGN).
    SharedQueue: Little, 32 bytes;
    BASE   base:   u64 =  0, 0, 64, "DMA address of the ring, a multiple of 4096; at creation only";
    LOG    log:    u8  =  8, 0,  8, "log2 of the entries, 4 to 15; at creation only";
    STRIDE stride: u8  =  9, 0,  3, "entries have `16 << stride` bytes; at creation only";
    PAGE   page:   u16 = 10, 0, 16, "doorbell page it belongs to; at creation only";
    PD     pd:     u16 = 12, 0, 16, "protection domain of what its entries name; at creation only";
    LIMIT  limit:  u16 = 14, 0, 16, "one event tells that fewer entries are left, and then it is 0; 0: none does; `LIMIT`";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_land_on_the_bytes_the_card_reads() {
        let queue = SharedQueue {
            base: 0x0807_0605_0403_0201,
            log: 9,
            stride: 5,
            page: 0x0c0b,
            pd: 0x0e0d,
            limit: 0x100f,
        };
        let mut expected = [0; SharedQueue::LEN];
        expected[..16].copy_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 5, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10]);
        assert_eq!(queue.to_bytes(), expected);
        assert_eq!(SharedQueue::parse(&expected), Some(queue));
    }
}
