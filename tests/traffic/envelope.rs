//! What datagrams begin with where they arrive: the IP header that they came with.

use std::net::IpAddr;

use stroma_abi::Qpn;
use stroma_abi::wire::grh::{self, GRH_LEN};
use stroma_abi::wire::{Bth, Deth, ImmDt, Ip, Ipv4, Ipv6, Udp, ipv4, udp};

use super::side::{HOP_LIMIT, TRAFFIC_CLASS};
use super::{Kind, Offer};

/// Bytes of an ICRC.
const ICRC: usize = 4;

/// Who sends datagrams to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Envelope {
    from: IpAddr,
    to: IpAddr,
    /// The queue pair that sends them.
    pub(super) source: Qpn,
}

impl Envelope {
    pub(super) fn new(near: &Offer, far: &Offer) -> Self {
        Self { from: near.address, to: far.address, source: near.number }
    }

    /// What lies in front of a payload. Nobody on the way changes hops or marks congestion, and nothing has an identification, for
    /// nothing is cut.
    pub(super) fn header(&self, kind: Kind, payload: usize) -> [u8; GRH_LEN] {
        let immediate = if kind.immediate().is_some() { ImmDt::LEN } else { 0 };
        let behind = Udp::LEN + Bth::LEN + Deth::LEN + immediate + payload.next_multiple_of(4) + ICRC;
        let length = |length: usize| u16::try_from(length).expect("one packet");
        let ip = match (self.from, self.to) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                let header = Ipv4 {
                    version: 4,
                    ihl: 5,
                    dscp: TRAFFIC_CLASS >> 2,
                    ecn: TRAFFIC_CLASS & 3,
                    total_length: length(Ipv4::LEN + behind),
                    dont_fragment: true,
                    ttl: HOP_LIMIT,
                    protocol: udp::PROTOCOL,
                    source,
                    destination,
                    ..Ipv4::default()
                };
                Ip::V4(Ipv4 { checksum: ipv4::checksum(&header.to_bytes()), ..header })
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => Ip::V6(Ipv6 {
                version: 6,
                traffic_class: TRAFFIC_CLASS,
                flow_label: 0,
                payload_length: length(behind),
                next_header: udp::PROTOCOL,
                hop_limit: HOP_LIMIT,
                source,
                destination,
            }),
            (from, to) => panic!("nothing goes from {from} to {to}"),
        };
        grh::emit(&ip)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envelope(from: &str, to: &str) -> Envelope {
        Envelope { from: from.parse().unwrap(), to: to.parse().unwrap(), source: Qpn::new(7) }
    }

    #[test]
    fn a_datagram_lies_behind_an_ipv4_header() {
        let found = envelope("10.0.0.1", "10.0.0.2").header(Kind::Send, 5);
        // 20 bytes of IP, 28 of UDP, BTH and DETH, 5 and 3 that fill words, 4 of the ICRC; the words of the header with the checksum
        // have the sum 0xffff.
        let expected = [0x45, 2, 0, 60, 0, 0, 0x40, 0, 64, 17, 0x26, 0xad, 10, 0, 0, 1, 10, 0, 0, 2];
        assert_eq!((&found[..20], &found[20..]), (&[0; 20][..], &expected[..]));
    }

    #[test]
    fn a_datagram_lies_behind_an_ipv6_header() {
        let found = envelope("fe80::1", "fe80::2").header(Kind::SendImm(9), 0);
        let mut expected = [0; GRH_LEN];
        expected[..10].copy_from_slice(&[0x60, 0x20, 0, 0, 0, 36, 17, 64, 0xfe, 0x80]);
        (expected[23], expected[24], expected[25], expected[39]) = (1, 0xfe, 0x80, 2);
        assert_eq!(found, expected);
    }
}
