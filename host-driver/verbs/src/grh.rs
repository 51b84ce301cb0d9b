//! What a received datagram begins with: who has sent it, and to whom.

use std::net::IpAddr;

use stroma_abi::wire::{
    Ip,
    grh::{self, GRH_LEN},
};

use crate::{Address, Error, MemoryRegion, Port, Result};

/// The bits of a traffic class that are for congestion marks.
const ECN: u8 = 0b11;

/// The 40 bytes in front of a received datagram, understood: its IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Grh {
    /// Who has sent it.
    pub source: IpAddr,
    /// To whom: one of the port's addresses, or a group.
    pub destination: IpAddr,
    /// DSCP and ECN bits.
    pub traffic_class: u8,
    /// Hops that were left.
    pub hop_limit: u8,
    /// IPv6 flow label.
    pub flow_label: u32,
}

impl Grh {
    /// Bytes in front of the payload. A receive needs so many more, and its completion counts them.
    pub const LEN: usize = GRH_LEN;

    /// Understands the first bytes of a receive.
    ///
    /// # Errors
    /// [`Error::BadGrh`] when they are too few, or no IP header.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let bad = || Error::BadGrh { len: bytes.len(), first: bytes.first().copied() };
        match bytes.first_chunk().and_then(grh::parse).ok_or_else(bad)? {
            Ip::V4(header) => Ok(Self {
                source: header.source.into(),
                destination: header.destination.into(),
                traffic_class: header.dscp << 2 | header.ecn,
                hop_limit: header.ttl,
                flow_label: 0,
            }),
            Ip::V6(header) => Ok(Self {
                source: header.source.into(),
                destination: header.destination.into(),
                traffic_class: header.traffic_class,
                hop_limit: header.hop_limit,
                flow_label: header.flow_label,
            }),
        }
    }

    /// The same, of a receive at `offset` of a region, whose first piece has room for it.
    ///
    /// # Errors
    /// As [`Self::parse`]; when the region ends before.
    pub fn read(memory: &MemoryRegion, offset: usize) -> Result<Self> {
        let mut bytes = [0; Self::LEN];
        memory.read(offset, &mut bytes)?;
        Self::parse(&bytes)
    }

    /// The way back to the sender, whose next hop is `mac`: from the address that the datagram was for, or, if that is a group, from
    /// the one that [fits](Port::source_to). DSCP and flow label stay; marks of congestion and the hops that were left do not. A datagram
    /// does not say whether it came with a VLAN tag.
    ///
    /// # Errors
    /// [`Error::NotOurs`] when the datagram was not for this port; [`Error::NoSource`]; when the card cannot be reached.
    pub fn answer(&self, port: Port<'_>, mac: [u8; 6]) -> Result<Address> {
        let mut source_address = port.source_to(self.source)?;
        if !self.destination.is_multicast() {
            let is_it = |own: &IpAddr| *own == self.destination;
            let place = port.addresses()?.iter().position(is_it).and_then(|place| u8::try_from(place).ok());
            source_address = place.ok_or(Error::NotOurs { address: self.destination })?;
        }
        let (traffic_class, flow_label) = (self.traffic_class & !ECN, self.flow_label);
        Ok(Address { traffic_class, flow_label, source_address, ..port.way(self.source, mac)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An IPv4 header as RFC 791 draws it: TOS 0xba, TTL 63, from 10.0.0.2 to 10.0.0.1.
    const FOUR: [u8; 20] = [0x45, 0xba, 0, 60, 0, 0, 0x40, 0, 63, 17, 0xab, 0xcd, 10, 0, 0, 2, 10, 0, 0, 1];

    #[test]
    fn both_headers_are_read_from_their_places() {
        let mut bytes = [0; 44];
        bytes[20..40].copy_from_slice(&FOUR);
        let found = Grh::parse(&bytes).unwrap();
        let expected = Grh {
            source: [10, 0, 0, 2].into(),
            destination: [10, 0, 0, 1].into(),
            traffic_class: 0xba,
            hop_limit: 63,
            flow_label: 0,
        };
        assert_eq!(found, expected);
        let mut bytes = [0; 40];
        bytes[..8].copy_from_slice(&[0x6b, 0xa1, 0x23, 0x45, 0, 40, 17, 62]);
        bytes[8..10].copy_from_slice(&[0xfe, 0x80]);
        bytes[23] = 2;
        bytes[24..26].copy_from_slice(&[0xff, 0x02]);
        bytes[39] = 9;
        let expected = Grh {
            source: "fe80::2".parse().unwrap(),
            destination: "ff02::9".parse().unwrap(),
            traffic_class: 0xba,
            hop_limit: 62,
            flow_label: 0x1_2345,
        };
        assert_eq!(Grh::parse(&bytes).unwrap(), expected);
    }

    #[test]
    fn what_is_no_header_is_told() {
        let told = |bytes: &[u8]| Grh::parse(bytes).unwrap_err().to_string();
        assert_eq!(told(&[0x60; 39]), "a datagram of 39 bytes: it has no GRH, which has 40");
        assert_eq!(told(&[]), "a datagram of 0 bytes: it has no GRH, which has 40");
        assert_eq!(told(&[0x50; 41]), "a datagram that begins with 0x50: its GRH is no IP header");
    }
}
