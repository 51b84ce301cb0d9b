//! The network port: who the card is to its peers.

use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use stroma_abi::regs::map::{PORT_ADDRESSES, port};
use stroma_device::Card;

use crate::{Address, Device, Error, Result};

/// First of the UDP ports that RoCE v2 packets leave from.
pub(crate) const FIRST_PORT: u16 = 0xc000;

/// The network port of a card. What is set here counts from the next packet on.
#[derive(Clone, Copy, Debug)]
pub struct Port<'a> {
    card: &'a Card,
}

impl<'a> Port<'a> {
    /// The port of a card, whoever has opened it.
    #[must_use]
    pub fn new(card: &'a Card) -> Self {
        Self { card }
    }

    /// Is it the port of this device?
    pub(crate) fn check_same(self, device: &Device, what: &'static str) -> Result<()> {
        if std::ptr::eq(self.card, device.card()) { Ok(()) } else { Err(Error::OtherDevice { what }) }
    }

    /// Is the link up?
    ///
    /// # Errors
    /// When the card cannot be reached.
    pub fn is_up(&self) -> Result<bool> {
        Ok(self.card.link_is_up()?)
    }

    /// The MAC address packets leave with.
    ///
    /// # Errors
    /// When the card cannot be reached.
    pub fn mac(&self) -> Result<[u8; 6]> {
        let bytes = self.card.read(&port::BLOCK, &port::MAC)?.to_le_bytes();
        Ok(std::array::from_fn(|at| bytes[at]))
    }

    /// Sets the MAC address.
    ///
    /// # Errors
    /// When the card cannot be reached.
    pub fn set_mac(&self, mac: [u8; 6]) -> Result<()> {
        Ok(self.card.write(&port::BLOCK, &port::MAC, mac_bits(mac))?)
    }

    /// The queue pair that gets the frames that are not RoCE, if one does.
    ///
    /// # Errors
    /// When the card cannot be reached.
    ///
    /// # Panics
    /// Never: the number has 24 bits.
    pub fn raw_queue_pair(&self) -> Result<Option<u32>> {
        let word = self.card.read(&port::BLOCK, &port::RAW_QUEUE_PAIR)?;
        let number = u32::try_from(word & u64::from(QUEUE_PAIR)).expect("24 bits");
        Ok((word & u64::from(ENABLE) != 0).then_some(number))
    }

    /// Chooses it. [`RawQueue`](crate::RawQueue) does so for its own.
    ///
    /// # Errors
    /// When the card cannot be reached.
    pub fn set_raw_queue_pair(&self, number: Option<u32>) -> Result<()> {
        let word = number.map_or(0, |number| number & QUEUE_PAIR | ENABLE);
        Ok(self.card.write(&port::BLOCK, &port::RAW_QUEUE_PAIR, word.into())?)
    }

    /// How long a queue pair is silent after it has told its peer of congestion, whatever arrives marked meanwhile.
    ///
    /// # Errors
    /// When the card cannot be reached.
    pub fn cnp_interval(&self) -> Result<Duration> {
        Ok(Duration::from_micros(self.card.read(&port::BLOCK, &port::CNP_INTERVAL)?))
    }

    /// Sets it, in whole microseconds, up to 65,535; 0 tells of each packet that arrives marked.
    ///
    /// # Errors
    /// [`Error::TooWide`] when it is longer; when the card cannot be reached.
    pub fn set_cnp_interval(&self, interval: Duration) -> Result<()> {
        let part = &port::CNP_INTERVAL.fields[0];
        let (value, bits) = (interval.as_micros(), part.field.width);
        let micros = u16::try_from(value).map_err(|_| Error::TooWide { field: part.name, value, bits })?;
        Ok(self.card.write(&port::BLOCK, &port::CNP_INTERVAL, micros.into())?)
    }

    /// One of the addresses; all zero when none was set.
    ///
    /// # Errors
    /// [`Error::NoAddress`] when the port has no such place; when the card cannot be reached.
    pub fn address(&self, index: usize) -> Result<IpAddr> {
        is_place(index)?;
        let low = self.card.read_element(&port::BLOCK, &port::ADDRESS_LOW, index)?;
        let high = self.card.read_element(&port::BLOCK, &port::ADDRESS_HIGH, index)?;
        let bytes = u128::from(low) | u128::from(high) << 64;
        Ok(Ipv6Addr::from(bytes.to_le_bytes()).to_canonical())
    }

    /// The GID table: the addresses that are set, by their places, each as the sixteen bytes of a GID. One of IPv4 is mapped into IPv6, as
    /// `RoCE` v2 has it.
    ///
    /// # Errors
    /// When the card cannot be reached.
    pub fn gids(&self) -> Result<Vec<(usize, [u8; 16])>> {
        let gid = |place: usize| Ok((place, bits(self.address(place)?).to_le_bytes()));
        let gids = (0..PORT_ADDRESSES).map(gid).collect::<Result<Vec<_>>>()?;
        Ok(gids.into_iter().filter(|(_, gid)| *gid != [0; 16]).collect())
    }

    /// The largest path MTU that the port carries, by its code: 5 is 4096 bytes.
    #[must_use]
    pub fn path_mtu(&self) -> u8 {
        // Code 1 is 256 bytes, and each next twice as many.
        u8::try_from(self.card.capabilities().mtu_log.saturating_sub(7)).unwrap_or(u8::MAX)
    }

    /// Where the card finds itself: its MAC and first address. Frames to there do not leave it.
    ///
    /// # Errors
    /// [`Error::NoOwnAddress`] when either was not set; when the card cannot be reached.
    pub fn own_address(&self) -> Result<Address> {
        let (mac, ip) = (self.mac()?, self.address(0)?);
        if mac == [0; 6] || ip.is_unspecified() {
            return Err(Error::NoOwnAddress { mac, ip });
        }
        Ok(Address {
            mac,
            ip,
            source_port: FIRST_PORT,
            hop_limit: 1,
            traffic_class: 0,
            vlan: None,
            flow_label: 0,
            source_address: 0,
        })
    }

    /// Sets one of the addresses. Queue pairs name it by its place.
    ///
    /// # Errors
    /// [`Error::NoAddress`] when the port has no such place; when the card cannot be reached.
    pub fn set_address(&self, index: usize, address: IpAddr) -> Result<()> {
        is_place(index)?;
        let [low, high] = halves(address);
        self.card.write_element(&port::BLOCK, &port::ADDRESS_LOW, index, low)?;
        Ok(self.card.write_element(&port::BLOCK, &port::ADDRESS_HIGH, index, high)?)
    }
}

/// The bits of a part of the register `raw_queue_pair`.
const fn raw_part(index: usize) -> u32 {
    let field = port::RAW_QUEUE_PAIR.fields[index].field;
    (u32::MAX >> (u32::BITS as usize - field.width)) << field.offset()
}

/// Which queue pair.
const QUEUE_PAIR: u32 = raw_part(0);
/// Is there one?
const ENABLE: u32 = raw_part(1);

fn is_place(index: usize) -> Result<()> {
    let count = PORT_ADDRESSES;
    if index < count { Ok(()) } else { Err(Error::NoAddress { index, count }) }
}

/// An address as the card keeps it: IPv4 mapped into IPv6, first byte lowest.
pub(crate) fn bits(address: IpAddr) -> u128 {
    let address = match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    };
    u128::from_le_bytes(address.octets())
}

/// A MAC address as the card keeps it, first byte lowest.
pub(crate) fn mac_bits(mac: [u8; 6]) -> u64 {
    let mut bytes = [0; size_of::<u64>()];
    bytes[..mac.len()].copy_from_slice(&mac);
    u64::from_le_bytes(bytes)
}

/// The two halves of an address, as registers hold them.
pub(crate) fn halves(address: IpAddr) -> [u64; 2] {
    let bytes = bits(address).to_le_bytes();
    let half = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]));
    [half(0), half(8)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lie_first_byte_lowest() {
        let [low, high] = halves("10.1.2.3".parse().unwrap());
        assert_eq!((low, high.to_le_bytes()), (0, [0, 0, 0xff, 0xff, 10, 1, 2, 3]));
        let [low, high] = halves("fe80::1".parse().unwrap());
        assert_eq!((low.to_le_bytes()[..2].to_vec(), high.to_le_bytes()[7]), (vec![0xfe, 0x80], 1));
    }

    #[test]
    fn the_raw_queue_pair_has_24_bits_and_a_flag() {
        assert_eq!((QUEUE_PAIR, ENABLE), (0x00ff_ffff, 0x8000_0000));
    }

    #[test]
    fn a_place_that_the_port_lacks_is_named() {
        assert_eq!(is_place(16).unwrap_err().to_string(), "the port has 16 addresses, and none at place 16");
        assert!(is_place(15).is_ok());
    }
}
