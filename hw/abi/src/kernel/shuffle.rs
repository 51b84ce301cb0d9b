//! `shuffle`: the payload is a stream of tuples, and each goes to the buffer of its partition in the caller's memory.
//!
//! A tuple has 8 or 16 bytes. Its partition is `partitions_log` bits of its first 8 bytes, read little-endian, from bit `first_bit` on. The
//! buffers stand in a table of `2^partitions_log` entries, [`Buffer`], at any address. A tuple is stored at `address + used` of its
//! partition, and `used` grows by its size: order within a partition is that of the stream. Tuples leave the card many at a time.
//!
//! The table is read before the first tuple is stored, and written back, with the new `used`, when all tuples are visible in memory and none of the writes has failed.
//! Who shares the table sees by `used` what the buffers hold, and shuffles one after the other fill the same buffers: the kernel carries
//! them out one at a time. One that came before the one before it was answered, from the same queue pair and with the same key and parameters, may go on from what that
//! one has left in the table without reading it again. With status Access or Host, whatever was written, the table is as it was, so that no buffer has grown.
//!
//! A tuple that does not fit whole into what is left of its buffer, `capacity - used`, is not stored, nor is anything behind a buffer's capacity; `used`
//! counts it all the same, up to 2^32 - 1. So `used > capacity` tells where and how much is missing, [`Buffer::missing`], and a buffer that overflowed takes nothing
//! more until its owner has emptied it. All other tuples are stored, and the status is Overflow. The answer has no bytes.
//!
//! Which bytes there are where buffers overlap each other or the table is not told.

use crate::codes::codes;
use crate::layout::layout;
use crate::wire::RpcStatus;

/// RPC op-code of the kernel.
pub const OPERATION: u16 = 4;
/// Most partitions, as a power of two.
pub const PARTITIONS_LOG_MAX: u8 = 10;

layout! {
    /// The parameters, all of them in every request.
    Shuffle: Little, 12 bytes;
    BUFFERS        buffers:        u64  =  0, 0, 64, "address of the table of buffers";
    PARTITIONS_LOG partitions_log: u8   =  8, 0,  8, "partitions, as a power of two: 0 to 10";
    FIRST_BIT      first_bit:      u8   =  9, 0,  8, "lowest bit of the tuple's first 8 bytes that counts for its partition; with `partitions_log` at most 64";
    WIDE           wide:           bool = 10, 0,  1, "tuples have 16 bytes, else 8; the payload is a multiple of that";
}

layout! {
    /// An entry of the table: the buffer of a partition.
    Buffer: Little, 16 bytes;
    ADDRESS  address:  u64 =  0, 0, 64, "where it begins";
    CAPACITY capacity: u32 =  8, 0, 32, "its bytes";
    USED     used:     u32 = 12, 0, 32, "bytes that tuples have taken; the next begins behind them. Beyond the capacity: bytes that were asked for";
}

impl Shuffle {
    /// Bytes of a tuple.
    #[must_use]
    pub const fn tuple_bytes(&self) -> usize {
        if self.wide { 16 } else { 8 }
    }

    /// Entries of the table.
    #[must_use]
    pub const fn partitions(&self) -> usize {
        1 << self.partitions_log
    }

    /// The partition of a tuple whose first 8 bytes these are.
    #[must_use]
    pub const fn partition(&self, first: u64) -> usize {
        #[expect(clippy::cast_possible_truncation, reason = "ten bits are left")]
        let partition = match first.checked_shr(self.first_bit as u32) {
            Some(bits) => (bits & ((1 << self.partitions_log) - 1)) as usize,
            None => 0,
        };
        partition
    }
}

impl Buffer {
    /// Bytes that more tuples of a size may take: whole ones.
    #[must_use]
    pub const fn room(&self, tuple_bytes: u32) -> u32 {
        let left = self.capacity.saturating_sub(self.used);
        left - left % tuple_bytes
    }

    /// Bytes of tuples that found no room, if all have one size and began at the front of a buffer of whole tuples.
    #[must_use]
    pub const fn missing(&self) -> u32 {
        self.used.saturating_sub(self.capacity)
    }
}

codes! {
    /// Statuses of the kernel's own.
    ShuffleStatus: u32 {
        0x100 Overflow      "Some tuples did not fit into their buffer; the table tells which. All others are stored.";
        0x101 BadParameters "A parameter is out of range, their number is wrong, the request has flags, or its payload is no whole number of tuples; nothing was read or written.";
    }
}

const _: () = assert!(ShuffleStatus::Overflow as u32 >= RpcStatus::KERNEL);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parameters_land_on_the_bytes_the_kernel_reads() {
        let parameters =
            Shuffle { buffers: 0x0807_0605_0403_0201, partitions_log: 0x09, first_bit: 0x0a, wide: true };
        assert_eq!(parameters.to_bytes(), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1, 0]);
        let buffer = Buffer { address: 0x0807_0605_0403_0201, capacity: 0x0c0b_0a09, used: 0x100f_0e0d };
        let expected: [u8; Buffer::LEN] = core::array::from_fn(|at| u8::try_from(at + 1).unwrap());
        assert_eq!(buffer.to_bytes(), expected);
    }

    #[test]
    fn a_partition_is_some_bits_of_the_first_word() {
        let shuffle = Shuffle { partitions_log: 8, first_bit: 12, ..Shuffle::default() };
        assert_eq!((shuffle.partitions(), shuffle.tuple_bytes()), (256, 8));
        assert_eq!(shuffle.partition(0x1234_5678_9abc_def0), 0xcd);
        assert_eq!(Shuffle { first_bit: 56, ..shuffle }.partition(0x1234_5678_9abc_def0), 0x12);
        assert_eq!(Shuffle { partitions_log: 0, first_bit: 64, ..shuffle }.partition(u64::MAX), 0);
    }

    #[test]
    fn room_is_whole_tuples_and_what_is_missing_is_beyond_the_capacity() {
        let buffer = |capacity, used| Buffer { address: 0, capacity, used };
        assert_eq!(buffer(100, 4).room(8), 96);
        assert_eq!(buffer(100, 5).room(8), 88);
        assert_eq!(buffer(100, 4).room(16), 96);
        assert_eq!(buffer(100, 12).room(16), 80);
        assert_eq!(
            (buffer(100, 101).room(8), buffer(96, 120).missing(), buffer(96, 96).missing()),
            (0, 24, 0)
        );
    }

    proptest! {
        #[test]
        fn parameters_come_back_as_they_were(bytes in any::<[u8; Shuffle::LEN]>()) {
            let parameters = Shuffle::parse(&bytes).unwrap();
            prop_assert_eq!(Shuffle::parse(&parameters.to_bytes()), Some(parameters));
        }
    }
}
