//! The head of a RoCE packet: every field the transport reads or writes, out of the bytes' order.
//!
//! One record serves both directions, so what the receive front end says of a frame is what the transmit front end
//! needs to build it again. Reserved header bits are sent as zero and not kept, but for the one that the IPv4 checksum of a
//! datagram would be wrong without.

use rust_hdl::prelude::*;

use crate::record;

mod model;

record! {
    /// All header fields of one packet. Fields of headers that the op-code does not carry are zero.
    pub struct Head {
        /// No RoCE packet, but a whole Ethernet frame, which is its payload; of the other fields `payload_len` alone counts.
        pub raw: Bit,
        /// Destination MAC address, first byte on the wire in the highest byte.
        pub dmac: Bits<48>,
        /// Source MAC address.
        pub smac: Bits<48>,
        /// An 802.1Q tag is present.
        pub tagged: Bit,
        /// Its control information: priority, drop eligibility, VLAN.
        pub tci: Bits<16>,
        /// IPv6, else IPv4.
        pub v6: Bit,
        /// IPv4 type of service or IPv6 traffic class: DSCP and ECN.
        pub tclass: Bits<8>,
        /// IPv6 flow label.
        pub flow: Bits<20>,
        /// IPv4 identification.
        pub ident: Bits<16>,
        /// IPv4 "don't fragment".
        pub dont_fragment: Bit,
        /// IPv4 reserved flag of a packet that was received; one that is sent has none.
        pub ip_reserved: Bit,
        /// IPv4 checksum of a packet that was received; that of one that is sent is computed.
        pub ip_sum: Bits<16>,
        /// Time to live or hop limit.
        pub hops: Bits<8>,
        /// Source address as a GID: IPv6, or IPv4 mapped into `::ffff:0:0/96`.
        pub src_ip: Bits<128>,
        /// Destination address as a GID.
        pub dst_ip: Bits<128>,
        /// UDP source port.
        pub sport: Bits<16>,
        /// UDP checksum as it stands in the header; RoCE v2 sends zero and does not look at it.
        pub udp_sum: Bits<16>,
        /// BTH op-code.
        pub op: Bits<8>,
        /// BTH solicited event.
        pub solicited: Bit,
        /// BTH migration request.
        pub migrated: Bit,
        /// BTH pad count.
        pub pad: Bits<2>,
        /// BTH partition key.
        pub pkey: Bits<16>,
        /// BTH byte 4: FECN, BECN and six reserved bits that the invariant CRC leaves out.
        pub congestion: Bits<8>,
        /// BTH destination queue pair.
        pub dqpn: Bits<24>,
        /// BTH acknowledge request.
        pub ackreq: Bit,
        /// BTH packet sequence number.
        pub psn: Bits<24>,
        /// RETH or AtomicETH virtual address.
        pub va: Bits<64>,
        /// RETH or AtomicETH remote key.
        pub rkey: Bits<32>,
        /// RETH DMA length.
        pub len: Bits<32>,
        /// AETH: syndrome and message sequence number.
        pub aeth: Bits<32>,
        /// ImmDt, or IETH's key.
        pub imm: Bits<32>,
        /// AtomicETH swap or add data, AtomicAckETH original data, or RPCETH status and bytes.
        pub a1: Bits<64>,
        /// AtomicETH compare data.
        pub a2: Bits<64>,
        /// DETH queue key.
        pub qkey: Bits<32>,
        /// DETH source queue pair.
        pub sqpn: Bits<24>,
        /// Payload bytes, pad and ICRC left out. Of a datagram that was received, 40 more: the IP header that its receive
        /// begins with, as `stroma_abi::wire::grh` has it.
        pub payload_len: Bits<13>,
    }
}

/// Bytes of header the front ends look at: Ethernet with tag 18, IPv6 40, UDP 8, BTH 12, AtomicETH 28, rounded up to
/// whole 64-bit beats.
pub const WINDOW_BYTES: usize = 112;
