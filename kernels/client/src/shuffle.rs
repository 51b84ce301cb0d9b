//! Client of `shuffle`: parameters, the table of buffers, and what came of them. What the kernel does is told in
//! [`stroma_abi::kernel::shuffle`].

use stroma_abi::desc::Parameters;
use stroma_abi::kernel::shuffle::{Buffer, OPERATION, PARTITIONS_LOG_MAX, Shuffle, ShuffleStatus};
use stroma_abi::wire::RpcStatus;

use crate::call::{Call, Failed, block, failed};

/// The parameters of a shuffle with the table at `buffers`; `None` if the kernel would refuse them.
#[must_use]
pub fn parameters(buffers: u64, partitions_log: u8, first_bit: u8, wide: bool) -> Option<Shuffle> {
    let fits =
        partitions_log <= PARTITIONS_LOG_MAX && u32::from(first_bit) + u32::from(partitions_log) <= u64::BITS;
    fits.then_some(Shuffle { buffers, partitions_log, first_bit, wide })
}

/// What came of a stream of which no DMA failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shuffled {
    /// Every tuple is in its buffer.
    All,
    /// Some did not fit: [`Table::missing`] tells which partitions lack how much.
    Overflow,
}

/// The payload is a stream of tuples. When it fails, no buffer has grown.
impl Call for Shuffle {
    type Answer = Shuffled;
    const OPERATION: u16 = OPERATION;

    fn parameters(&self) -> Parameters {
        block(&self.to_bytes())
    }

    fn response_max(&self) -> u32 {
        0
    }

    fn answer(&self, status: u32, _: &[u8]) -> Result<Self::Answer, Failed> {
        if status == RpcStatus::Ok as u32 {
            Ok(Shuffled::All)
        } else if status == ShuffleStatus::Overflow as u32 {
            Ok(Shuffled::Overflow)
        } else {
            Err(failed(OPERATION, status))
        }
    }
}

/// The table of buffers, one a partition, as it stands in the memory of their owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table(Vec<Buffer>);

impl Table {
    /// Empty buffers of `capacity` bytes each, one behind the other from `base` on. The card writes fastest when both are multiples of 256.
    #[must_use]
    pub fn evenly(base: u64, capacity: u32, partitions_log: u8) -> Self {
        let place = |partition: u64| base.wrapping_add(partition * u64::from(capacity));
        let buffer = |partition| Buffer { address: place(partition), capacity, used: 0 };
        Self((0..1 << partitions_log.min(PARTITIONS_LOG_MAX)).map(buffer).collect())
    }

    /// Buffers of anybody's making; their number is to be a power of two.
    #[must_use]
    pub const fn of(buffers: Vec<Buffer>) -> Self {
        Self(buffers)
    }

    /// The table in memory.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Self {
        Self(bytes.chunks_exact(Buffer::LEN).filter_map(Buffer::parse).collect())
    }

    /// As it is to stand in memory.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(Buffer::to_bytes).collect()
    }

    /// Its buffers, by partition.
    #[must_use]
    pub fn buffers(&self) -> &[Buffer] {
        &self.0
    }

    /// Says that the owner has taken everything out of the buffers.
    pub fn clear(&mut self) {
        self.0.iter_mut().for_each(|buffer| buffer.used = 0);
    }

    /// Partitions with tuples that found no room, and the bytes of those: what is beyond the capacity of buffers that hold whole tuples.
    pub fn missing(&self) -> impl Iterator<Item = (usize, u32)> {
        let missing = self.0.iter().map(Buffer::missing).enumerate();
        missing.filter(|(_, missing)| *missing > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_reads_back_what_it_wrote() {
        let mut table = Table::evenly(0x10_0000, 0x400, 3);
        assert_eq!(table.buffers().len(), 8);
        assert_eq!(table.buffers()[7], Buffer { address: 0x10_1c00, capacity: 0x400, used: 0 });
        let bytes = table.to_bytes();
        assert_eq!(bytes[16..32], [0, 4, 0x10, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0]);
        assert_eq!(Table::parse(&bytes), table);
        let full = Buffer { address: 0, capacity: 64, used: 80 };
        table = Table::of(vec![Buffer { used: 64, ..full }, full]);
        assert_eq!(table.missing().collect::<Vec<_>>(), [(1, 16)]);
        table.clear();
        assert_eq!(table.missing().count(), 0);
    }

    #[test]
    fn parameters_that_the_kernel_refuses_are_not_made() {
        assert_eq!(
            parameters(8, 10, 54, true),
            Some(Shuffle { buffers: 8, partitions_log: 10, first_bit: 54, wide: true })
        );
        assert_eq!(parameters(8, 10, 55, true), None);
        assert_eq!(parameters(8, 11, 0, true), None);
    }
}
