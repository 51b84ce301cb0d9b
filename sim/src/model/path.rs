//! The way to the peer: everything outside the transport's own headers.

use std::net::{Ipv4Addr, Ipv6Addr};

use stroma_abi::Qpn;
use stroma_abi::wire::ethernet::ethertype;
use stroma_abi::wire::opcode::{CNP, RC_ACKNOWLEDGE, RC_ATOMIC_ACKNOWLEDGE, RPC_BUSY};
use stroma_abi::wire::{Bth, Ethernet, Frame, Ip, Ipv4, Ipv6, Mac, Opcode, Tag, Udp, udp};

use super::Packet;

/// Network addresses of both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addresses {
    /// IPv4.
    V4 {
        /// Own.
        local: Ipv4Addr,
        /// The peer's.
        remote: Ipv4Addr,
    },
    /// IPv6.
    V6 {
        /// Own.
        local: Ipv6Addr,
        /// The peer's.
        remote: Ipv6Addr,
    },
}

/// Outer headers of one queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// Own Ethernet address.
    pub local: Mac,
    /// The peer's, or the router's.
    pub remote: Mac,
    /// 802.1Q tag: priority and VLAN.
    pub tag: Option<(u8, u16)>,
    /// Network addresses.
    pub addresses: Addresses,
    /// UDP source port.
    pub source_port: u16,
    /// DSCP and ECN, as in the byte of IPv4 and IPv6.
    pub traffic_class: u8,
    /// TTL or hop limit.
    pub hop_limit: u8,
}

/// The ECN code point of a packet that met congestion.
const CONGESTION: u8 = 0b11;
/// What brings no data and is no request: its sender could not slow it down, so it does not say that it understands marks.
const BARE: [Opcode; 4] = [CNP, RC_ACKNOWLEDGE, RC_ATOMIC_ACKNOWLEDGE, RPC_BUSY];

impl Path {
    /// A frame with this packet, sealed. The IPv4 identification is zero: RoCE never fragments (RFC 6864).
    ///
    /// # Panics
    /// When the packet's headers are not those of its op-code: the model made it, so the model is wrong.
    #[must_use]
    pub fn frame(&self, packet: &Packet, remote: Qpn, partition: u16) -> Vec<u8> {
        let inner = match self.addresses {
            Addresses::V4 { .. } => ethertype::IPV4,
            Addresses::V6 { .. } => ethertype::IPV6,
        };
        let tag =
            self.tag.map(|(priority, vlan)| Tag { priority, vlan, drop_eligible: false, ethertype: inner });
        let frame = Frame {
            ethernet: Ethernet {
                destination: self.remote,
                source: self.local,
                ethertype: if tag.is_some() { ethertype::TAG } else { inner },
            },
            tag,
            ip: self.ip(&packet.opcode),
            udp: Udp {
                source_port: self.source_port,
                destination_port: udp::ROCE_PORT,
                length: 0,
                checksum: 0,
            },
            bth: Bth {
                opcode: packet.opcode.code,
                solicited: packet.solicited,
                partition,
                becn: packet.becn,
                destination_qp: remote,
                ack_request: packet.ack_request,
                psn: packet.psn,
                ..Bth::default()
            },
            extended: packet.extended,
            payload: &packet.payload,
            pad: &[],
            icrc: 0,
            padding: &[],
        };
        let sealed = frame.seal().and_then(|frame| frame.to_vec());
        sealed.unwrap_or_else(|error| panic!("the model made no packet: {error}"))
    }

    fn ip(&self, opcode: &Opcode) -> Ip {
        let ecn = if BARE.contains(opcode) { 0 } else { self.traffic_class & CONGESTION };
        match self.addresses {
            Addresses::V4 { local, remote } => Ip::V4(Ipv4 {
                version: 4,
                ihl: 5,
                dscp: self.traffic_class >> 2,
                ecn,
                dont_fragment: true,
                ttl: self.hop_limit,
                protocol: udp::PROTOCOL,
                source: local,
                destination: remote,
                ..Ipv4::default()
            }),
            Addresses::V6 { local, remote } => Ip::V6(Ipv6 {
                version: 6,
                traffic_class: self.traffic_class & !CONGESTION | ecn,
                flow_label: 0,
                payload_length: 0,
                next_header: udp::PROTOCOL,
                hop_limit: self.hop_limit,
                source: local,
                destination: remote,
            }),
        }
    }

    /// Did this frame come from the peer, to us?
    #[must_use]
    pub fn is_way_of(&self, frame: &Frame) -> bool {
        match (self.addresses, frame.ip) {
            (Addresses::V4 { local, remote }, Ip::V4(ip)) => (ip.source, ip.destination) == (remote, local),
            (Addresses::V6 { local, remote }, Ip::V6(ip)) => (ip.source, ip.destination) == (remote, local),
            _ => false,
        }
    }
}

/// Did the frame meet congestion on its way?
pub(super) fn is_marked(frame: &Frame) -> bool {
    match frame.ip {
        Ip::V4(ip) => ip.ecn == CONGESTION,
        Ip::V6(ip) => ip.traffic_class & CONGESTION == CONGESTION,
    }
}
