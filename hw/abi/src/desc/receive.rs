//! Receive queue entries, of one stride a queue: a head and the pieces of one buffer.

use super::{Sge, SgeList};
use crate::layout::layout;

layout! {
    /// What an entry begins with. The stride, `16 << s` bytes, is chosen when the queue is created.
    ReceiveHead: Little, 16 bytes;
    SGE_COUNT sge_count: u8 = 0, 0, 8, "scatter entries that follow";
}

/// A buffer to receive one message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Receive(pub SgeList);

impl Receive {
    /// Bytes used of the stride.
    #[must_use]
    pub const fn encoded_len(&self) -> usize {
        ReceiveHead::LEN + self.0.encoded_len()
    }

    /// Least `s` with `16 << s` bytes for as many pieces.
    #[must_use]
    pub const fn stride_log(sge_count: usize) -> u32 {
        (sge_count + 1).next_power_of_two().trailing_zeros()
    }

    /// Writes the entry over the front of its stride.
    ///
    /// # Panics
    /// When `entry` is shorter than [`Self::encoded_len`].
    pub fn encode(&self, entry: &mut [u8]) {
        ReceiveHead { sge_count: self.0.as_slice().len().to_le_bytes()[0] }.emit(entry);
        self.0.encode(&mut entry[ReceiveHead::LEN..]);
    }

    /// Reads an entry; `None` when it claims more pieces than its stride holds or a list may have.
    #[must_use]
    pub fn decode(entry: &[u8]) -> Option<Self> {
        let head = ReceiveHead::parse(entry)?;
        SgeList::decode(usize::from(head.sge_count), &entry[ReceiveHead::LEN..]).map(Self)
    }
}

const _: () = assert!(ReceiveHead::LEN == Sge::LEN);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_stride_holds_its_entries_and_no_smaller_one_does() {
        let fits = |count: usize, log: u32| ReceiveHead::LEN + count * Sge::LEN <= 16 << log;
        for count in 1..=16 {
            let log = Receive::stride_log(count);
            assert!(fits(count, log) && !fits(count, log - 1), "{count} entries");
        }
    }

    #[test]
    fn a_count_beyond_the_stride_is_refused() {
        let mut entry = [0; 64];
        entry[0] = 4;
        assert_eq!(Receive::decode(&entry), None);
        entry[0] = 3;
        assert!(Receive::decode(&entry).is_some());
        assert_eq!(Receive::decode(&entry[..15]), None);
    }

    proptest! {
        #[test]
        fn entries_come_back_as_they_were(pieces in prop::collection::vec(any::<(u64, u32, u32)>(), 0..=16)) {
            let pieces: std::vec::Vec<_> =
                pieces.into_iter().map(|(address, local_key, length)| Sge { address, local_key, length }).collect();
            let receive = Receive(SgeList::new(&pieces).unwrap());
            let mut entry = std::vec![0xa5; 16 << Receive::stride_log(pieces.len())];
            receive.encode(&mut entry);
            prop_assert_eq!(Receive::decode(&entry), Some(receive));
        }

        #[test]
        fn any_bytes_decode_or_are_refused(entry in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Some(receive) = Receive::decode(&entry) {
                prop_assert!(receive.encoded_len() <= entry.len());
            }
        }
    }
}
