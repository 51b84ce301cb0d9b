//! What ARP says: questions, answers, and what both teach about whoever sent them (RFC 826).

use std::net::Ipv4Addr;

use smoltcp::wire::{
    ArpOperation, ArpPacket, ArpRepr, EthernetAddress, EthernetFrame, EthernetProtocol, EthernetRepr,
};

/// Bytes of the shortest Ethernet frame, without its check sequence; ARP is padded to it.
const FRAME_MIN: usize = 60;

/// Who speaks: a card's MAC address, and those of its addresses that are IPv4.
#[derive(Clone, Debug)]
pub(crate) struct Station {
    pub(crate) mac: [u8; 6],
    pub(crate) addresses: Vec<Ipv4Addr>,
}

/// What a frame says, if it is ARP and concerns this station.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Heard {
    /// Whoever sent it has this address.
    pub(crate) neighbour: (Ipv4Addr, [u8; 6]),
    /// It asks for an address of this station: the answer.
    pub(crate) answer: Option<Vec<u8>>,
}

impl Station {
    /// The question: who has `wanted`?
    pub(crate) fn question(&self, wanted: Ipv4Addr) -> Vec<u8> {
        let own = self.addresses.first().copied().unwrap_or(Ipv4Addr::UNSPECIFIED);
        frame(
            EthernetAddress::BROADCAST,
            ArpRepr::EthernetIpv4 {
                operation: ArpOperation::Request,
                source_hardware_addr: EthernetAddress(self.mac),
                source_protocol_addr: own,
                target_hardware_addr: EthernetAddress([0; 6]),
                target_protocol_addr: wanted,
            },
        )
    }

    /// Understands a frame. Whatever is not ARP for one of this station's addresses, or contradicts itself, says nothing: who
    /// hears others talk learns nothing from it, and a sender without an address of its own is nobody's neighbour.
    pub(crate) fn hear(&self, bytes: &[u8]) -> Option<Heard> {
        let ethernet = EthernetFrame::new_checked(bytes).ok()?;
        if ethernet.ethertype() != EthernetProtocol::Arp {
            return None;
        }
        let packet = ArpPacket::new_checked(ethernet.payload()).ok()?;
        let ArpRepr::EthernetIpv4 {
            operation,
            source_hardware_addr: mac,
            source_protocol_addr: sender,
            target_protocol_addr: wanted,
            ..
        } = ArpRepr::parse(&packet).ok()?
        else {
            return None;
        };
        let is_known = matches!(operation, ArpOperation::Request | ArpOperation::Reply);
        if !is_known || !mac.is_unicast() || sender.is_unspecified() || !self.addresses.contains(&wanted) {
            return None;
        }
        let answer = (operation == ArpOperation::Request).then(|| {
            frame(
                mac,
                ArpRepr::EthernetIpv4 {
                    operation: ArpOperation::Reply,
                    source_hardware_addr: EthernetAddress(self.mac),
                    source_protocol_addr: wanted,
                    target_hardware_addr: mac,
                    target_protocol_addr: sender,
                },
            )
        });
        Some(Heard { neighbour: (sender, mac.0), answer })
    }
}

/// A frame with this in it.
fn frame(to: EthernetAddress, arp: ArpRepr) -> Vec<u8> {
    let ArpRepr::EthernetIpv4 { source_hardware_addr: from, .. } = arp else {
        unreachable!("there is no other ARP here")
    };
    let ethernet = EthernetRepr { src_addr: from, dst_addr: to, ethertype: EthernetProtocol::Arp };
    let mut bytes = vec![0; FRAME_MIN];
    let mut frame = EthernetFrame::new_unchecked(&mut bytes[..]);
    ethernet.emit(&mut frame);
    arp.emit(&mut ArpPacket::new_unchecked(frame.payload_mut()));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
    const YOU: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

    fn station(last: u8, address: Ipv4Addr) -> Station {
        Station { mac: [2, 0, 0, 0, 0, last], addresses: vec![address] }
    }

    /// Written by hand from RFC 826: 10.0.0.2 at 02:00:00:00:00:02 asks for 10.0.0.1.
    fn recorded() -> Vec<u8> {
        let mut bytes = vec![0xff; 6];
        bytes.extend([2, 0, 0, 0, 0, 2, 0x08, 0x06]);
        bytes.extend([0, 1, 0x08, 0, 6, 4, 0, 1]);
        bytes.extend([2, 0, 0, 0, 0, 2, 10, 0, 0, 2, 0, 0, 0, 0, 0, 0, 10, 0, 0, 1]);
        bytes.resize(60, 0);
        bytes
    }

    #[test]
    fn a_question_is_what_the_rfc_says() {
        assert_eq!(station(2, YOU).question(ME), recorded());
    }

    #[test]
    fn a_question_for_this_station_is_answered_and_teaches_who_asked() {
        let heard = station(1, ME).hear(&recorded()).unwrap();
        assert_eq!(heard.neighbour, (YOU, [2, 0, 0, 0, 0, 2]));
        let answer = heard.answer.unwrap();
        assert_eq!(answer[..14], [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 6]);
        assert_eq!(answer[20..22], [0, 2], "a reply");
        assert_eq!((answer[28..32].to_vec(), answer.len()), (vec![10, 0, 0, 1], 60));
        let learnt = station(2, YOU).hear(&answer).unwrap();
        assert_eq!(learnt, Heard { neighbour: (ME, [2, 0, 0, 0, 0, 1]), answer: None });
    }

    #[test]
    fn what_is_not_for_this_station_or_is_no_arp_says_nothing() {
        let other = station(1, Ipv4Addr::new(10, 0, 0, 9));
        assert_eq!(other.hear(&recorded()), None);
        let me = station(1, ME);
        for (at, value) in [(12, 9), (14, 7), (16, 9), (18, 5), (19, 3), (20, 1), (21, 9), (6 + 16, 3)] {
            let mut bytes = recorded();
            bytes[at] = value;
            assert_eq!(me.hear(&bytes), None, "byte {at}");
        }
        let mut nobody = recorded();
        nobody[28..32].fill(0);
        assert_eq!(me.hear(&nobody), None);
        for len in 0..42 {
            assert_eq!(me.hear(&recorded()[..len]), None, "{len} bytes");
        }
    }
}
