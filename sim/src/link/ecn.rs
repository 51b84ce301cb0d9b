//! Explicit congestion notification (RFC 3168): a queue that grows says so in the IP header.

use stroma_abi::wire::ethernet::ethertype;
use stroma_abi::wire::{Ethernet, Ipv4, Ipv6, Tag};

/// The sender does not understand marks.
const NOT_CAPABLE: u8 = 0;
/// Congestion experienced.
const EXPERIENCED: u8 = 3;
/// The two bits of the IPv6 traffic class that are ECN.
const ECN_MASK: u8 = 3;

/// Marks a frame, if its sender understands marks and nobody has marked it yet; whether it did.
pub(super) fn mark(frame: &mut [u8]) -> bool {
    let Some(ethernet) = Ethernet::parse(frame) else { return false };
    let (ethertype, at) = match (ethernet.ethertype, frame.get(Ethernet::LEN..).and_then(Tag::parse)) {
        (ethertype::TAG, Some(tag)) => (tag.ethertype, Ethernet::LEN + Tag::LEN),
        (plain, _) => (plain, Ethernet::LEN),
    };
    let Some(packet) = frame.get_mut(at..) else { return false };
    match ethertype {
        ethertype::IPV4 if packet.len() >= Ipv4::LEN => mark_v4(packet),
        ethertype::IPV6 if packet.len() >= Ipv6::LEN => mark_v6(packet),
        _ => false,
    }
}

fn is_markable(ecn: u8) -> bool {
    ecn != NOT_CAPABLE && ecn != EXPERIENCED
}

fn mark_v4(packet: &mut [u8]) -> bool {
    let before: u8 = Ipv4::ECN.get(packet);
    if !is_markable(before) {
        return false;
    }
    Ipv4::ECN.set(packet, EXPERIENCED);
    // RFC 1624: the sum over the header grows by what the field grows, whatever options there are; and a checksum that was
    // wrong stays wrong.
    let carried: u16 = Ipv4::CHECKSUM.get(packet);
    let (sum, is_carried) = (!carried).overflowing_add(u16::from(EXPERIENCED - before));
    Ipv4::CHECKSUM.set(packet, !(sum + u16::from(is_carried)));
    true
}

fn mark_v6(packet: &mut [u8]) -> bool {
    let class: u8 = Ipv6::TRAFFIC_CLASS.get(packet);
    let marks = is_markable(class & ECN_MASK);
    if marks {
        Ipv6::TRAFFIC_CLASS.set(packet, class | EXPERIENCED);
    }
    marks
}
