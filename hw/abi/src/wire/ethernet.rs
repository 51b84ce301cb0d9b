//! Ethernet, and the one 802.1Q tag the card understands.

use core::fmt;

use crate::{layout::layout, value::Value};

/// An Ethernet address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// Everybody on the link.
    pub const BROADCAST: Self = Self([0xff; 6]);
    /// The bit of an address, the first byte on top, that tells a group, or everybody, from a single station.
    pub const GROUP_BIT: u32 = 40;

    /// Does it name more than one station?
    #[must_use]
    pub const fn is_group(self) -> bool {
        self.0[0] & 1 == 1
    }
}

impl Value for Mac {
    const BITS: usize = 48;
    fn from_bits(bits: u128) -> Self {
        let mut octets = [0; 6];
        octets.copy_from_slice(&bits.to_be_bytes()[10..]);
        Self(octets)
    }
    fn to_bits(self) -> u128 {
        self.0.iter().fold(0, |bits, octet| bits << 8 | u128::from(*octet))
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, rest @ ..] = self.0;
        write!(f, "{first:02x}")?;
        rest.iter().try_for_each(|octet| write!(f, ":{octet:02x}"))
    }
}

/// Values of [`Ethernet::ethertype`] and [`Tag::ethertype`].
pub mod ethertype {
    /// IPv4.
    pub const IPV4: u16 = 0x0800;
    /// ARP.
    pub const ARP: u16 = 0x0806;
    /// An 802.1Q tag follows.
    pub const TAG: u16 = 0x8100;
    /// IPv6.
    pub const IPV6: u16 = 0x86dd;
}

layout! {
    /// Ethernet header.
    Ethernet: Big, 14 bytes;
    DESTINATION destination: Mac =  0, 0, 48, "receiver";
    SOURCE      source:      Mac =  6, 0, 48, "sender";
    ETHERTYPE   ethertype:   u16 = 12, 0, 16, "what follows";
}

layout! {
    /// What follows the Ethernet header when its type is 0x8100.
    Tag: Big, 4 bytes;
    PRIORITY      priority:      u8   = 0, 0,  3, "priority code point";
    DROP_ELIGIBLE drop_eligible: bool = 0, 3,  1, "may be dropped first";
    VLAN          vlan:          u16  = 0, 4, 12, "VLAN identifier";
    ETHERTYPE     ethertype:     u16  = 2, 0, 16, "what follows the tag";
}
