//! What ARP says: questions, answers, and what both teach about whoever sent them (RFC 826).

use std::net::Ipv4Addr;

use smoltcp::wire::{ArpOperation, ArpPacket, ArpRepr, EthernetAddress, EthernetFrame, EthernetProtocol};

use super::frame::{Way, ethernet, ipv4_of};
use super::station::{Heard, Station};

/// The question: who has `wanted`?
pub(super) fn question(station: &Station, wanted: Ipv4Addr) -> Vec<u8> {
    let own = ipv4_of(&station.addresses).next().unwrap_or(Ipv4Addr::UNSPECIFIED);
    frame(
        EthernetAddress::BROADCAST,
        ArpRepr::EthernetIpv4 {
            operation: ArpOperation::Request,
            source_hardware_addr: station.hardware(),
            source_protocol_addr: own,
            target_hardware_addr: EthernetAddress([0; 6]),
            target_protocol_addr: wanted,
        },
    )
}

/// Understands an ARP frame. A sender without an address of its own is nobody's neighbour.
pub(super) fn hear(station: &Station, ethernet: &EthernetFrame<&[u8]>) -> Option<Heard> {
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
    let is_ours = ipv4_of(&station.addresses).any(|own| own == wanted);
    if !is_known || !mac.is_unicast() || sender.is_unspecified() || !is_ours {
        return None;
    }
    let answer = (operation == ArpOperation::Request).then(|| {
        frame(
            mac,
            ArpRepr::EthernetIpv4 {
                operation: ArpOperation::Reply,
                source_hardware_addr: station.hardware(),
                source_protocol_addr: wanted,
                target_hardware_addr: mac,
                target_protocol_addr: sender,
            },
        )
    });
    Some(Heard::Neighbour { address: sender.into(), mac: mac.0, answer })
}

/// A frame with this in it.
fn frame(to: EthernetAddress, arp: ArpRepr) -> Vec<u8> {
    let ArpRepr::EthernetIpv4 { source_hardware_addr: from, .. } = arp else {
        unreachable!("there is no other ARP here")
    };
    ethernet(Way { from, to }, EthernetProtocol::Arp, arp.buffer_len(), |bytes| {
        arp.emit(&mut ArpPacket::new_unchecked(bytes));
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
    const YOU: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

    fn station(last: u8, address: Ipv4Addr) -> Station {
        Station { mac: [2, 0, 0, 0, 0, last], addresses: vec![address.into()] }
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
        assert_eq!(station(2, YOU).question(ME.into()), recorded());
    }

    #[test]
    fn a_question_for_this_station_is_answered_and_teaches_who_asked() {
        let heard = station(1, ME).hear(&recorded());
        let Some(Heard::Neighbour { address, mac, answer: Some(answer) }) = heard else {
            panic!("{heard:?}")
        };
        assert_eq!((address, mac), (YOU.into(), [2, 0, 0, 0, 0, 2]));
        assert_eq!(answer[..14], [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 6]);
        assert_eq!(answer[20..22], [0, 2], "a reply");
        assert_eq!((answer[28..32].to_vec(), answer.len()), (vec![10, 0, 0, 1], 60));
        let learnt = station(2, YOU).hear(&answer);
        assert_eq!(
            learnt,
            Some(Heard::Neighbour { address: ME.into(), mac: [2, 0, 0, 0, 0, 1], answer: None })
        );
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
