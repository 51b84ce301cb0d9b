//! The headers that may stand between BTH and payload, by name.

use super::{Aeth, AtomicAckEth, AtomicEth, Cnp, Deth, Ieth, ImmDt, Reth, RpcEth};

/// A header that may follow the BTH. The order of the variants is the order on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Header {
    /// [`Deth`].
    Deth,
    /// [`Reth`].
    Reth,
    /// [`AtomicEth`].
    AtomicEth,
    /// [`Aeth`].
    Aeth,
    /// [`AtomicAckEth`].
    AtomicAckEth,
    /// [`RpcEth`].
    RpcEth,
    /// [`ImmDt`].
    ImmDt,
    /// [`Ieth`].
    Ieth,
    /// [`Cnp`].
    Cnp,
}

impl Header {
    /// Every header, in wire order.
    pub const ALL: [Self; 9] = [
        Self::Deth,
        Self::Reth,
        Self::AtomicEth,
        Self::Aeth,
        Self::AtomicAckEth,
        Self::RpcEth,
        Self::ImmDt,
        Self::Ieth,
        Self::Cnp,
    ];

    /// Length in bytes.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "no header is empty")]
    pub const fn len(self) -> usize {
        match self {
            Self::Deth => Deth::LEN,
            Self::Reth => Reth::LEN,
            Self::AtomicEth => AtomicEth::LEN,
            Self::Aeth => Aeth::LEN,
            Self::AtomicAckEth => AtomicAckEth::LEN,
            Self::RpcEth => RpcEth::LEN,
            Self::ImmDt => ImmDt::LEN,
            Self::Ieth => Ieth::LEN,
            Self::Cnp => Cnp::LEN,
        }
    }
}

/// Headers as a set: bit `Header as u8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderSet(pub u16);

impl HeaderSet {
    /// The set of a list.
    #[must_use]
    pub const fn of(list: &[Header]) -> Self {
        let mut bits = 0;
        let mut index = 0;
        while index < list.len() {
            bits |= 1 << list[index] as u8;
            index += 1;
        }
        Self(bits)
    }

    /// Is this header in the set?
    #[must_use]
    pub const fn contains(self, header: Header) -> bool {
        self.0 >> header as u8 & 1 != 0
    }
}
