//! Completion queues as the mailbox makes them.

use crate::layout::layout;

/// log2 of the fewest entries.
pub const CQ_LOG_MIN: usize = 4;
/// log2 of the most entries.
pub const CQ_LOG_MAX: usize = 20;

/// The one attribute of a modify command, as a bit of its mask: `count` and `period`.
pub const MODERATION_ATTRIBUTE: u64 = 1 << 0;

layout! {
    /// A completion queue. Its ring begins on a multiple of [`RING_ALIGN`](super::RING_ALIGN).
    ///
    /// An armed queue sends its event when `count` entries have come that it was armed for, or `period` microseconds after the
    /// first of them, whichever is earlier. A `count` of 0 or 1 moderates nothing: the first entry is told at once. With a
    /// `period` of 0 the count alone decides, and fewer entries than that are told by no event.
    CompletionQueue: Little, 32 bytes;
    BASE              base:       u64  =  0, 0, 64, "DMA address of the ring, a multiple of 4096; at creation only";
    LOG               log:        u8   =  8, 0,  8, "log2 of the entries, 4 to 20; at creation only";
    PAGE              page:       u16  = 10, 0, 16, "doorbell page it belongs to; at creation only";
    MODERATION_COUNT  count:      u16  = 12, 0, 16, "entries after which an armed queue sends its event; 0 and 1: at once; `MODERATION`";
    MODERATION_PERIOD period:     u16  = 14, 0, 16, "microseconds after the first of them after which it does so anyway; 0: never; `MODERATION`";
    PRODUCER          producer:   u32  = 16, 0, 24, "query: entries written, modulo 2^24";
    CONSUMER          consumer:   u32  = 20, 0, 24, "query: entries taken, as the last doorbell said";
    ARMED             armed:      u8   = 24, 0,  2, "query: what the last doorbell armed it for, until an event was sent";
    OVERFLOWED        overflowed: bool = 24, 7,  1, "query: an entry found the ring full and was lost";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_land_on_the_bytes_the_card_reads() {
        let queue = CompletionQueue {
            base: 0x0807_0605_0403_0201,
            log: 9,
            page: 0x0c0b,
            count: 0x0e0d,
            period: 0x100f,
            producer: 0x13_1211,
            consumer: 0x17_1615,
            armed: 2,
            overflowed: true,
        };
        let mut expected = [0; 32];
        expected[..16].copy_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 11, 12, 13, 14, 15, 16]);
        expected[16..25].copy_from_slice(&[0x11, 0x12, 0x13, 0, 0x15, 0x16, 0x17, 0, 0x82]);
        assert_eq!(queue.to_bytes(), expected);
        assert_eq!(CompletionQueue::parse(&expected), Some(queue));
    }
}
