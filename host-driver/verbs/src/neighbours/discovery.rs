//! What IPv6 says of neighbours (RFC 4861), and its echoes: all of it is `ICMPv6`.

use std::net::{IpAddr, Ipv6Addr};

use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    EthernetAddress, EthernetFrame, Icmpv6Packet, Icmpv6Repr, IpProtocol, Ipv6Packet, Ipv6Repr,
    NdiscNeighborFlags, NdiscRepr, RawHardwareAddress,
};

use super::frame::{Way, ipv6, ipv6_of};
use super::station::{Heard, Station};

/// Packets about neighbours have come over no router: nobody can have lowered this.
const HOP_LIMIT: u8 = 255;
/// Hops of an echo.
const ECHO_HOPS: u8 = 64;
/// All nodes of a link.
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);

/// The group in which whoever has an address listens (RFC 4291, 2.7.1).
fn solicited_node(address: Ipv6Addr) -> Ipv6Addr {
    let [.., high, low] = address.segments();
    Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00 | high & 0xff, low)
}

/// Where frames to a group go (RFC 2464, 7).
fn group_mac(group: Ipv6Addr) -> EthernetAddress {
    let [.., a, b, c, d] = group.octets();
    EthernetAddress([0x33, 0x33, a, b, c, d])
}

fn frame(
    station: &Station,
    mac: EthernetAddress,
    way: Way<Ipv6Addr>,
    hop_limit: u8,
    says: &Icmpv6Repr,
) -> Vec<u8> {
    let macs = Way { from: station.hardware(), to: mac };
    ipv6(macs, way, hop_limit, IpProtocol::Icmpv6, says.buffer_len(), |bytes| {
        let mut packet = Icmpv6Packet::new_unchecked(bytes);
        says.emit(&way.from, &way.to, &mut packet, &ChecksumCapabilities::default());
    })
}

/// The question: who has `wanted`?
pub(super) fn question(station: &Station, wanted: Ipv6Addr) -> Vec<u8> {
    let group = solicited_node(wanted);
    let (from, lladdr) = match station.source(wanted.into()) {
        Some(IpAddr::V6(own)) => (own, Some(RawHardwareAddress::from(station.hardware()))),
        // Who has no address yet must not say where he is.
        _ => (Ipv6Addr::UNSPECIFIED, None),
    };
    let says = Icmpv6Repr::Ndisc(NdiscRepr::NeighborSolicit { target_addr: wanted, lladdr });
    frame(station, group_mac(group), Way { from, to: group }, HOP_LIMIT, &says)
}

/// An echo of this number to a neighbour.
pub(super) fn echo(
    station: &Station,
    mac: EthernetAddress,
    way: Way<Ipv6Addr>,
    number: u16,
    data: &[u8],
) -> Vec<u8> {
    let says = Icmpv6Repr::EchoRequest { ident: super::echo::IDENT, seq_no: number, data };
    frame(station, mac, way, ECHO_HOPS, &says)
}

/// Understands an IPv6 frame.
pub(super) fn hear(station: &Station, ethernet: &EthernetFrame<&[u8]>) -> Option<Heard> {
    let packet = Ipv6Packet::new_checked(ethernet.payload()).ok()?;
    let header = Ipv6Repr::parse(&packet).ok()?;
    if header.next_header != IpProtocol::Icmpv6 {
        return None;
    }
    let (from, to) = (header.src_addr, header.dst_addr);
    let message = Icmpv6Packet::new_checked(packet.payload()).ok()?;
    let is_ours = |address: Ipv6Addr| ipv6_of(&station.addresses).any(|own| own == address);
    let says = Icmpv6Repr::parse(&from, &to, &message, &ChecksumCapabilities::default()).ok()?;
    match says {
        Icmpv6Repr::EchoRequest { ident, seq_no, data }
            if is_ours(to) && ethernet.dst_addr() == station.hardware() =>
        {
            let says = Icmpv6Repr::EchoReply { ident, seq_no, data };
            let answer = frame(station, ethernet.src_addr(), Way { from: to, to: from }, ECHO_HOPS, &says);
            Some(Heard::Question { answer })
        }
        Icmpv6Repr::EchoReply { ident: super::echo::IDENT, seq_no, data } if is_ours(to) => {
            Some(Heard::Echo { from: from.into(), number: seq_no, bytes: data.to_vec() })
        }
        Icmpv6Repr::Ndisc(says) if header.hop_limit == HOP_LIMIT && message.msg_code() == 0 => match says {
            NdiscRepr::NeighborSolicit { target_addr, lladdr } if is_ours(target_addr) => {
                solicited(station, ethernet, from, target_addr, lladdr)
            }
            NdiscRepr::NeighborAdvert { target_addr, lladdr: Some(lladdr), .. } => {
                neighbour(target_addr, lladdr, None)
            }
            _ => None,
        },
        _ => None,
    }
}

/// Somebody asks for one of ours.
fn solicited(
    station: &Station,
    ethernet: &EthernetFrame<&[u8]>,
    from: Ipv6Addr,
    target: Ipv6Addr,
    lladdr: Option<RawHardwareAddress>,
) -> Option<Heard> {
    // Who has no address yet wants to know whether this one is free; all hear the answer.
    let is_probe = from.is_unspecified();
    let (to, mac, flags) = if is_probe {
        (ALL_NODES, group_mac(ALL_NODES), NdiscNeighborFlags::OVERRIDE)
    } else {
        (from, ethernet.src_addr(), NdiscNeighborFlags::OVERRIDE | NdiscNeighborFlags::SOLICITED)
    };
    let lladdr_own = Some(RawHardwareAddress::from(station.hardware()));
    let says = NdiscRepr::NeighborAdvert { flags, target_addr: target, lladdr: lladdr_own };
    let answer = frame(station, mac, Way { from: target, to }, HOP_LIMIT, &Icmpv6Repr::Ndisc(says));
    match lladdr {
        Some(lladdr) if !is_probe => neighbour(from, lladdr, Some(answer)),
        _ => Some(Heard::Question { answer }),
    }
}

/// Somebody has an address, where others can find him.
fn neighbour(address: Ipv6Addr, lladdr: RawHardwareAddress, answer: Option<Vec<u8>>) -> Option<Heard> {
    let mac = EthernetAddress(lladdr.as_bytes().get(..6)?.try_into().ok()?);
    let is_one = mac.is_unicast() && !address.is_multicast() && !address.is_unspecified();
    is_one.then(|| Heard::Neighbour { address: address.into(), mac: mac.0, answer })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0x1234, 0x5601);
    const YOU: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 2);

    fn station(last: u8, address: Ipv6Addr) -> Station {
        let addresses = vec![Ipv6Addr::UNSPECIFIED.into(), [10, 0, 0, last].into(), address.into()];
        Station { mac: [2, 0, 0, 0, 0, last], addresses }
    }

    /// Written by hand from RFCs 4861, 2460 and 2464: `fe80::2` at `02:00:00:00:00:02` asks for `fe80::1234:5601`.
    fn recorded() -> Vec<u8> {
        let mut bytes = vec![0x33, 0x33, 0xff, 0x34, 0x56, 0x01, 2, 0, 0, 0, 0, 2, 0x86, 0xdd];
        bytes.extend([0x60, 0, 0, 0, 0, 32, 58, 255]);
        bytes.extend([0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
        bytes.extend([0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0x34, 0x56, 0x01]);
        // The checksum: ones' complement of the sum of addresses, length, next header and message.
        bytes.extend([135, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend([0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x12, 0x34, 0x56, 0x01]);
        bytes.extend([1, 1, 2, 0, 0, 0, 0, 2]);
        let words = bytes[22..].chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
        let sum = words.sum::<u32>() + 32 + 58;
        let sum = !((sum & 0xffff) + (sum >> 16)) & 0xffff;
        bytes[56..58].copy_from_slice(&u16::try_from(sum).unwrap().to_be_bytes());
        bytes
    }

    #[test]
    fn a_question_is_what_the_rfc_says() {
        assert_eq!(station(2, YOU).question(ME.into()), recorded());
    }

    #[test]
    fn a_question_for_this_station_is_answered_and_teaches_who_asked() {
        let heard = station(1, ME).hear(&recorded());
        let Some(Heard::Neighbour { address, mac, answer: Some(answer) }) = heard else {
            panic!("{heard:?}")
        };
        assert_eq!((address, mac), (YOU.into(), [2, 0, 0, 0, 0, 2]));
        assert_eq!(answer[..14], [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x86, 0xdd]);
        assert_eq!((answer[54], answer[58]), (136, 0x60), "an advertisement, solicited, to be believed");
        let learnt = station(2, YOU).hear(&answer);
        assert_eq!(
            learnt,
            Some(Heard::Neighbour { address: ME.into(), mac: [2, 0, 0, 0, 0, 1], answer: None })
        );
    }

    #[test]
    fn who_asks_whether_an_address_is_free_is_told_before_all() {
        let nobody = Station { mac: [2, 0, 0, 0, 0, 3], addresses: Vec::new() };
        let heard = station(1, ME).hear(&nobody.question(ME.into()));
        let Some(Heard::Question { answer }) = heard else { panic!("{heard:?}") };
        assert_eq!(
            (&answer[..6], answer[58]),
            (&[0x33, 0x33, 0, 0, 0, 1][..], 0x20),
            "to all, not solicited"
        );
    }

    #[test]
    fn what_is_not_for_this_station_or_contradicts_itself_says_nothing() {
        assert_eq!(station(1, YOU).hear(&recorded()), None);
        let me = station(1, ME);
        // Next header, hop limit, an address, type, code, checksum, target.
        for at in [20, 21, 30, 54, 55, 57, 77] {
            let mut bytes = recorded();
            bytes[at] ^= 1;
            assert_eq!(me.hear(&bytes), None, "byte {at}");
        }
        for len in 0..recorded().len() {
            assert_eq!(me.hear(&recorded()[..len]), None, "{len} bytes");
        }
    }
}
