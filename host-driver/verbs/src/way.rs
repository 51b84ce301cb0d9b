//! Ways: how packets of the port get to another station, or to a group of stations.

use std::net::{IpAddr, Ipv6Addr};

use stroma_abi::regs::map::PORT_ADDRESSES;

use crate::{Address, Error, Port, Result, port::FIRST_PORT};

/// Hops that packets to a station may take, unless told otherwise.
const HOPS: u8 = 64;
/// Those of packets to a group: they stay on the link.
const GROUP_HOPS: u8 = 1;

impl Port<'_> {
    /// The way to the station `ip`, whose next hop is `mac`: from the address of the port that [fits](Self::source_to), with 64 hops, and
    /// nothing else set. [`Neighbours::way`](crate::Neighbours::way) asks for the MAC address, too.
    ///
    /// # Errors
    /// [`Error::NoSource`] when the port has no address of this kind; when the card cannot be reached.
    pub fn way(&self, ip: IpAddr, mac: [u8; 6]) -> Result<Address> {
        Ok(Address {
            mac,
            ip,
            source_port: FIRST_PORT,
            hop_limit: HOPS,
            traffic_class: 0,
            vlan: None,
            flow_label: 0,
            source_address: self.source_to(ip)?,
        })
    }

    /// The way to a group of stations on this link: its MAC address follows from `group`.
    ///
    /// # Errors
    /// [`Error::NotMulticast`]; as [`Self::way`].
    pub fn group_way(&self, group: IpAddr) -> Result<Address> {
        let mac = group_mac(group).ok_or(Error::NotMulticast { address: group })?;
        Ok(Address { hop_limit: GROUP_HOPS, ..self.way(group, mac)? })
    }

    /// Place of the address that packets to `ip` leave from: the first of its kind, link-local to link-local.
    ///
    /// # Errors
    /// As [`Self::way`].
    ///
    /// # Panics
    /// Never: the port has 16 places.
    pub fn source_to(&self, ip: IpAddr) -> Result<u8> {
        let place = source(&self.addresses()?, ip).ok_or(Error::NoSource { address: ip })?;
        Ok(u8::try_from(place).expect("the port has 16 places"))
    }

    /// All addresses by their places; all zero where none was set.
    ///
    /// # Errors
    /// When the card cannot be reached.
    pub fn addresses(&self) -> Result<Vec<IpAddr>> {
        (0..PORT_ADDRESSES).map(|place| self.address(place)).collect()
    }
}

/// Place of the address that speaks to another, if there is one of its kind: link-local to link-local.
pub(crate) fn source(addresses: &[IpAddr], to: IpAddr) -> Option<usize> {
    let of = |is_it: &dyn Fn(&IpAddr) -> bool| addresses.iter().position(is_it);
    match to.to_canonical() {
        IpAddr::V4(_) => of(&IpAddr::is_ipv4),
        IpAddr::V6(to) => {
            let is_set = |address: &IpAddr| address.is_ipv6() && !address.is_unspecified();
            let alike = |address: &IpAddr| matches!(address, IpAddr::V6(own) if own.is_unicast_link_local() == is_link_local(to));
            of(&|address| is_set(address) && alike(address)).or_else(|| of(&is_set))
        }
    }
}

/// Is an address of one link, alone or as a group?
fn is_link_local(address: Ipv6Addr) -> bool {
    address.is_unicast_link_local() || address.segments()[0] & 0xff0f == 0xff02
}

/// The MAC address of a group of stations (RFC 1112, RFC 2464); `None` if the address is no group's.
pub(crate) fn group_mac(group: IpAddr) -> Option<[u8; 6]> {
    let group = group.to_canonical();
    group.is_multicast().then(|| match group {
        IpAddr::V4(group) => {
            let [_, b, c, d] = group.octets();
            [0x01, 0x00, 0x5e, b & 0x7f, c, d]
        }
        IpAddr::V6(group) => {
            let [.., c, d, e, f] = group.octets();
            [0x33, 0x33, c, d, e, f]
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn the_mac_address_of_a_group_follows_from_its_ip_address() {
        // The first is the example of RFC 1112's rule that drops a bit, the last that of RFC 2464, section 7.
        assert_eq!(group_mac(ip("239.129.2.3")), Some([0x01, 0x00, 0x5e, 0x01, 2, 3]));
        assert_eq!(group_mac(ip("224.0.0.251")), Some([0x01, 0x00, 0x5e, 0, 0, 251]));
        assert_eq!(group_mac(ip("::ffff:224.0.0.251")), Some([0x01, 0x00, 0x5e, 0, 0, 251]));
        assert_eq!(group_mac(ip("ff02::1:ff28:9c5a")), Some([0x33, 0x33, 0xff, 0x28, 0x9c, 0x5a]));
        for station in ["10.0.0.1", "223.255.255.255", "240.0.0.1", "fe80::1", "::"] {
            assert_eq!(group_mac(ip(station)), None, "{station}");
        }
    }

    #[test]
    fn packets_leave_from_an_address_of_the_same_kind() {
        let own = ["::", "2001:db8::1", "10.0.0.1", "fe80::1"].map(ip);
        for (to, place) in [
            ("10.0.0.9", Some(2)),
            ("239.1.1.1", Some(2)),
            ("2001:db8::9", Some(1)),
            ("fe80::9", Some(3)),
            ("ff02::9", Some(3)),
            ("ff0e::9", Some(1)),
        ] {
            assert_eq!(source(&own, ip(to)), place, "{to}");
        }
        assert_eq!(source(&own[..2], ip("fe80::9")), Some(1), "rather another than none");
        assert_eq!(source(&own[..2], ip("10.0.0.9")), None);
        assert_eq!(source(&own[..1], ip("fe80::9")), None, "nobody has the unspecified one");
    }
}
