//! Scatter/gather: where in local memory a message's bytes are.

use crate::layout::layout;

/// Most entries of one request.
pub const SGE_MAX: usize = 16;

layout! {
    /// One piece of local memory.
    Sge: Little, 16 bytes;
    ADDRESS   address:   u64 =  0, 0, 64, "virtual address";
    LOCAL_KEY local_key: u32 =  8, 0, 32, "`L_Key`";
    LENGTH    length:    u32 = 12, 0, 32, "bytes";
}

/// Up to [`SGE_MAX`] pieces, in message order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SgeList {
    count: usize,
    items: [Sge; SGE_MAX],
}

impl SgeList {
    /// The list of these pieces; `None` when there are more than [`SGE_MAX`].
    #[must_use]
    pub fn new(pieces: &[Sge]) -> Option<Self> {
        let mut list = Self { count: pieces.len(), ..Self::default() };
        list.items.get_mut(..pieces.len())?.copy_from_slice(pieces);
        Some(list)
    }

    /// The pieces.
    #[must_use]
    pub fn as_slice(&self) -> &[Sge] {
        &self.items[..self.count]
    }

    /// Bytes of all pieces together.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.as_slice().iter().map(|sge| u64::from(sge.length)).sum()
    }

    /// Bytes the list takes in a descriptor.
    #[must_use]
    pub const fn encoded_len(&self) -> usize {
        self.count * Sge::LEN
    }

    /// Reads `count` pieces; `None` when there cannot be as many or the bytes end too early.
    #[must_use]
    pub fn decode(count: usize, bytes: &[u8]) -> Option<Self> {
        let mut list = Self { count, ..Self::default() };
        for (item, place) in list.items.get_mut(..count)?.iter_mut().zip(0..) {
            *item = Sge::parse(bytes.get(place * Sge::LEN..)?)?;
        }
        Some(list)
    }

    /// Writes the pieces one behind the other.
    ///
    /// # Panics
    /// When `bytes` is shorter than [`Self::encoded_len`].
    pub fn encode(&self, bytes: &mut [u8]) {
        for (item, place) in self.as_slice().iter().zip(bytes.chunks_exact_mut(Sge::LEN)) {
            item.emit(place);
        }
        assert!(bytes.len() >= self.encoded_len(), "{} entries do not fit {} bytes", self.count, bytes.len());
    }
}
