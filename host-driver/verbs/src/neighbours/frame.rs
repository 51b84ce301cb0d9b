//! Frames from the inside out: what is in a packet, the packet, the frame.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    EthernetAddress, EthernetFrame, EthernetProtocol, EthernetRepr, IpProtocol, Ipv4Packet, Ipv4Repr,
    Ipv6Packet, Ipv6Repr,
};

/// Bytes of the shortest Ethernet frame, without its check sequence; what is shorter is padded to it.
const FRAME_MIN: usize = 60;

/// Who sends a packet to whom.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way<A> {
    pub(super) from: A,
    pub(super) to: A,
}

/// A frame with so many bytes in it, which `fill` writes.
pub(super) fn ethernet(
    way: Way<EthernetAddress>,
    ethertype: EthernetProtocol,
    len: usize,
    fill: impl FnOnce(&mut [u8]),
) -> Vec<u8> {
    let mut bytes = vec![0; EthernetFrame::<&[u8]>::buffer_len(len).max(FRAME_MIN)];
    let mut frame = EthernetFrame::new_unchecked(&mut bytes[..]);
    EthernetRepr { src_addr: way.from, dst_addr: way.to, ethertype }.emit(&mut frame);
    fill(&mut frame.payload_mut()[..len]);
    bytes
}

/// A frame with an IPv4 packet of so many bytes behind its header.
pub(super) fn ipv4(
    macs: Way<EthernetAddress>,
    way: Way<Ipv4Addr>,
    next_header: IpProtocol,
    len: usize,
    fill: impl FnOnce(&mut [u8]),
) -> Vec<u8> {
    let header =
        Ipv4Repr { src_addr: way.from, dst_addr: way.to, next_header, payload_len: len, hop_limit: 64 };
    ethernet(macs, EthernetProtocol::Ipv4, header.buffer_len() + len, |bytes| {
        let mut packet = Ipv4Packet::new_unchecked(bytes);
        header.emit(&mut packet, &ChecksumCapabilities::default());
        fill(packet.payload_mut());
    })
}

/// A frame with an IPv6 packet of so many bytes behind its header.
pub(super) fn ipv6(
    macs: Way<EthernetAddress>,
    way: Way<Ipv6Addr>,
    hop_limit: u8,
    next_header: IpProtocol,
    len: usize,
    fill: impl FnOnce(&mut [u8]),
) -> Vec<u8> {
    let header = Ipv6Repr { src_addr: way.from, dst_addr: way.to, next_header, payload_len: len, hop_limit };
    ethernet(macs, EthernetProtocol::Ipv6, header.buffer_len() + len, |bytes| {
        let mut packet = Ipv6Packet::new_unchecked(bytes);
        header.emit(&mut packet);
        fill(packet.payload_mut());
    })
}

/// The addresses of IPv4 among them.
pub(super) fn ipv4_of(addresses: &[IpAddr]) -> impl Iterator<Item = Ipv4Addr> + '_ {
    addresses.iter().filter_map(|address| match address {
        IpAddr::V4(address) => Some(*address),
        IpAddr::V6(_) => None,
    })
}

/// The addresses of IPv6 among them; a place that was not set holds the unspecified one, which is nobody's.
pub(super) fn ipv6_of(addresses: &[IpAddr]) -> impl Iterator<Item = Ipv6Addr> + '_ {
    addresses.iter().filter_map(|address| match address {
        IpAddr::V6(address) if !address.is_unspecified() => Some(*address),
        _ => None,
    })
}
