//! Echoes: is somebody there, and how far is he?

use std::net::{IpAddr, Ipv4Addr};

use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    EthernetAddress, EthernetFrame, Icmpv4Packet, Icmpv4Repr, IpProtocol, Ipv4Packet, Ipv4Repr,
};

use super::discovery;
use super::frame::{Way, ipv4, ipv4_of};
use super::station::{Heard, Station};

/// Whose our echoes are; a card has one who sends any.
pub(super) const IDENT: u16 = 0x5354;

/// An echo of this number from a station to a neighbour; `None` when it has no address of his kind.
pub(super) fn question(
    station: &Station,
    to: IpAddr,
    mac: [u8; 6],
    number: u16,
    data: &[u8],
) -> Option<Vec<u8>> {
    let mac = EthernetAddress(mac);
    match (station.source(to)?, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let says = Icmpv4Repr::EchoRequest { ident: IDENT, seq_no: number, data };
            Some(frame(station, mac, Way { from, to }, &says))
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            Some(discovery::echo(station, mac, Way { from, to }, number, data))
        }
        _ => None,
    }
}

fn frame(station: &Station, mac: EthernetAddress, way: Way<Ipv4Addr>, says: &Icmpv4Repr) -> Vec<u8> {
    let macs = Way { from: station.hardware(), to: mac };
    ipv4(macs, way, IpProtocol::Icmp, says.buffer_len(), |bytes| {
        says.emit(&mut Icmpv4Packet::new_unchecked(bytes), &ChecksumCapabilities::default());
    })
}

/// Understands an IPv4 frame.
pub(super) fn hear_v4(station: &Station, ethernet: &EthernetFrame<&[u8]>) -> Option<Heard> {
    let packet = Ipv4Packet::new_checked(ethernet.payload()).ok()?;
    let header = Ipv4Repr::parse(&packet, &ChecksumCapabilities::default()).ok()?;
    let is_whole = !packet.more_frags() && packet.frag_offset() == 0;
    let is_ours = ipv4_of(&station.addresses).any(|own| own == header.dst_addr);
    if header.next_header != IpProtocol::Icmp
        || !is_whole
        || !is_ours
        || ethernet.dst_addr() != station.hardware()
    {
        return None;
    }
    let message = Icmpv4Packet::new_checked(packet.payload()).ok()?;
    match Icmpv4Repr::parse(&message, &ChecksumCapabilities::default()).ok()? {
        Icmpv4Repr::EchoRequest { ident, seq_no, data } => {
            let way = Way { from: header.dst_addr, to: header.src_addr };
            let says = Icmpv4Repr::EchoReply { ident, seq_no, data };
            Some(Heard::Question { answer: frame(station, ethernet.src_addr(), way, &says) })
        }
        Icmpv4Repr::EchoReply { ident: IDENT, seq_no, data } => {
            Some(Heard::Echo { from: header.src_addr.into(), number: seq_no, bytes: data.to_vec() })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn station(last: u8) -> Station {
        let addresses = vec![[10, 0, 0, last].into(), [0xfd00, 0, 0, 0, 0, 0, 0, u16::from(last)].into()];
        Station { mac: [2, 0, 0, 0, 0, last], addresses }
    }

    /// Written by hand from RFCs 791 and 792: 10.0.0.2 asks 10.0.0.1, with two bytes of data.
    fn recorded() -> Vec<u8> {
        let mut bytes = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
        bytes.extend([0x45, 0, 0, 30, 0, 0, 0x40, 0, 64, 1, 0x26, 0xdd, 10, 0, 0, 2, 10, 0, 0, 1]);
        bytes.extend([8, 0, 0x00, 0x00, 0x53, 0x54, 0, 7, 0xab, 0xcd]);
        let sum: u32 = 0x0800 + 0x5354 + 7 + 0xabcd;
        let sum = !((sum & 0xffff) + (sum >> 16)) & 0xffff;
        bytes[36..38].copy_from_slice(&u16::try_from(sum).unwrap().to_be_bytes());
        bytes.resize(60, 0);
        bytes
    }

    #[test]
    fn a_question_is_what_the_rfc_says() {
        let bytes = question(&station(2), [10, 0, 0, 1].into(), [2, 0, 0, 0, 0, 1], 7, &[0xab, 0xcd]);
        assert_eq!(bytes, Some(recorded()));
    }

    #[test]
    fn an_echo_comes_back_with_its_number_and_its_bytes_in_both_versions() {
        let data: Vec<u8> = (0..=255).cycle().take(1400).collect();
        for index in [0, 1] {
            let [me, you] = [station(1), station(2)];
            let (from, to) = (you.addresses[index], me.addresses[index]);
            let asked = question(&you, to, me.mac, 9, &data).unwrap();
            let heard = me.hear(&asked);
            let Some(Heard::Question { answer }) = heard else { panic!("{heard:?}") };
            let heard = you.hear(&answer);
            assert_eq!(heard, Some(Heard::Echo { from: to, number: 9, bytes: data.clone() }), "{from}");
            // Of somebody else, for somebody else, or damaged.
            let mut other = station(2);
            other.addresses = vec![[10, 0, 0, 9].into()];
            assert_eq!(other.hear(&answer), None);
            let mut damaged = answer.clone();
            damaged[100] ^= 4;
            assert_eq!(you.hear(&damaged), None);
            let mut astray = asked;
            astray[5] ^= 1;
            assert_eq!(me.hear(&astray), None);
        }
    }

    #[test]
    fn who_has_no_address_of_a_kind_asks_nobody_of_it() {
        let mut station = station(1);
        station.addresses.truncate(1);
        assert_eq!(question(&station, station_v6(), [2; 6], 1, &[]), None);
    }

    fn station_v6() -> IpAddr {
        station(2).addresses[1]
    }

    #[test]
    fn pieces_of_a_packet_say_nothing() {
        let me = station(1);
        assert!(me.hear(&recorded()).is_some());
        let mut piece = recorded();
        // More fragments follow; the checksum of the header goes with it.
        piece[20] = 0x60;
        piece[24] -= 0x20;
        assert_eq!(me.hear(&piece), None);
    }
}
