//! Ethernet, tag, IP and UDP around the transport headers, and the turn into byte lanes.

use rust_hdl::prelude::*;
use stroma_abi::wire::ethernet::ethertype;
use stroma_abi::wire::udp;

use super::transport::TRANSPORT;
use super::wire::{
    ETHERNET, EthernetHeader, IPV4, IPV6, Ipv4Header, Ipv6Header, TAG, TagHeader, UDP, UdpHeader,
};
use crate::constant::number;
use crate::head::{Head, WINDOW_BYTES};
use crate::prim::reverse::Reverse;

/// Bits of the header window.
pub(crate) const WINDOW: usize = 8 * WINDOW_BYTES;
/// UDP and what it carries.
const DATAGRAM: usize = UDP + TRANSPORT;
/// The longest IP packet without its payload.
const PACKET: usize = IPV6 + DATAGRAM;

block! {
    /// Writes all headers of a frame.
    ///
    /// - **Ports** `head`: the fields; `transport`: BTH and extended headers; `udp_length`, `sum`: UDP's length, and the sum
    ///   of the IPv4 header's words, folded once; `bytes`: the headers, first byte lowest, zeros behind the last.
    /// - **Latency** 0 cycles. **Reset** none: it holds nothing. `clock` and `reset` are absent.
    pub struct Network {
        pub head: Signal<In, Head>,
        pub transport: Signal<In, Bits<TRANSPORT>>,
        pub udp_length: Signal<In, Bits<16>>,
        pub sum: Signal<In, Bits<17>>,
        pub bytes: Signal<Out, Bits<WINDOW>>,
        ethernet: Signal<Local, EthernetHeader>,
        tag: Signal<Local, TagHeader>,
        ipv4: Signal<Local, Ipv4Header>,
        ipv6: Signal<Local, Ipv6Header>,
        udp: Signal<Local, UdpHeader>,
        ethernet_bits: Signal<Local, Bits<ETHERNET>>,
        tag_bits: Signal<Local, Bits<TAG>>,
        ipv4_bits: Signal<Local, Bits<IPV4>>,
        ipv6_bits: Signal<Local, Bits<IPV6>>,
        udp_bits: Signal<Local, Bits<UDP>>,
        datagram: Signal<Local, Bits<DATAGRAM>>,
        packet: Signal<Local, Bits<PACKET>>,
        frame: Signal<Local, Bits<WINDOW>>,
        packet_type: Signal<Local, Bits<16>>,
        reverse: Reverse<WINDOW>,
        ipv4_type: Constant<Bits<16>> = number(ethertype::IPV4),
        ipv6_type: Constant<Bits<16>> = number(ethertype::IPV6),
        tag_type: Constant<Bits<16>> = number(ethertype::TAG),
        protocol: Constant<Bits<8>> = number(udp::PROTOCOL),
        roce_port: Constant<Bits<16>> = number(udp::ROCE_PORT),
        ipv4_len: Constant<Bits<16>> = number(IPV4 / 8),
        udp_at: Constant<Bits<10>> = number(DATAGRAM - UDP),
        ipv4_at: Constant<Bits<10>> = number(PACKET - IPV4),
        behind_ipv4_at: Constant<Bits<10>> = number(PACKET - IPV4 - DATAGRAM),
        ipv6_at: Constant<Bits<10>> = number(PACKET - IPV6),
        ethernet_at: Constant<Bits<10>> = number(WINDOW - ETHERNET),
        tag_at: Constant<Bits<10>> = number(WINDOW - ETHERNET - TAG),
        tagged_packet_at: Constant<Bits<10>> = number(WINDOW - ETHERNET - TAG - PACKET),
        packet_at: Constant<Bits<10>> = number(WINDOW - ETHERNET - PACKET),
    }
}

impl Logic for Network {
    #[hdl_gen]
    fn update(&mut self) {
        self.ipv4.next.version = 4.into();
        self.ipv4.next.ihl = 5.into();
        self.ipv4.next.dscp = self.head.val().tclass.get_bits::<6>(2);
        self.ipv4.next.ecn = self.head.val().tclass.get_bits::<2>(0);
        self.ipv4.next.total_length = self.udp_length.val() + self.ipv4_len.val();
        self.ipv4.next.identification = self.head.val().ident;
        self.ipv4.next.reserved = false;
        self.ipv4.next.dont_fragment = self.head.val().dont_fragment;
        self.ipv4.next.more_fragments = false;
        self.ipv4.next.fragment = 0.into();
        self.ipv4.next.ttl = self.head.val().hops;
        self.ipv4.next.protocol = self.protocol.val();
        self.ipv4.next.checksum = !(self.sum.val().get_bits::<16>(0) + self.sum.val().get_bit(16));
        self.ipv4.next.source = self.head.val().src_ip.get_bits::<32>(0);
        self.ipv4.next.destination = self.head.val().dst_ip.get_bits::<32>(0);
        self.ipv4_bits.next = self.ipv4.val().to_bits();

        self.ipv6.next.version = 6.into();
        self.ipv6.next.traffic_class = self.head.val().tclass;
        self.ipv6.next.flow_label = self.head.val().flow;
        self.ipv6.next.payload_length = self.udp_length.val();
        self.ipv6.next.next_header = self.protocol.val();
        self.ipv6.next.hop_limit = self.head.val().hops;
        self.ipv6.next.source = self.head.val().src_ip;
        self.ipv6.next.destination = self.head.val().dst_ip;
        self.ipv6_bits.next = self.ipv6.val().to_bits();

        self.udp.next.source_port = self.head.val().sport;
        self.udp.next.destination_port = self.roce_port.val();
        self.udp.next.length = self.udp_length.val();
        self.udp.next.checksum = self.head.val().udp_sum;
        self.udp_bits.next = self.udp.val().to_bits();
        self.datagram.next = (bit_cast::<DATAGRAM, UDP>(self.udp_bits.val()) << self.udp_at.val())
            | bit_cast::<DATAGRAM, TRANSPORT>(self.transport.val());

        if self.head.val().v6 {
            self.packet_type.next = self.ipv6_type.val();
            self.packet.next = (bit_cast::<PACKET, IPV6>(self.ipv6_bits.val()) << self.ipv6_at.val())
                | bit_cast::<PACKET, DATAGRAM>(self.datagram.val());
        } else {
            self.packet_type.next = self.ipv4_type.val();
            self.packet.next = (bit_cast::<PACKET, IPV4>(self.ipv4_bits.val()) << self.ipv4_at.val())
                | (bit_cast::<PACKET, DATAGRAM>(self.datagram.val()) << self.behind_ipv4_at.val());
        }

        self.tag.next.priority = self.head.val().tci.get_bits::<3>(13);
        self.tag.next.drop_eligible = self.head.val().tci.get_bit(12);
        self.tag.next.vlan = self.head.val().tci.get_bits::<12>(0);
        self.tag.next.ethertype = self.packet_type.val();
        self.tag_bits.next = self.tag.val().to_bits();
        self.ethernet.next.destination = self.head.val().dmac;
        self.ethernet.next.source = self.head.val().smac;
        self.ethernet.next.ethertype = self.packet_type.val();
        if self.head.val().tagged {
            self.ethernet.next.ethertype = self.tag_type.val();
        }
        self.ethernet_bits.next = self.ethernet.val().to_bits();
        if self.head.val().tagged {
            self.frame.next = (bit_cast::<WINDOW, ETHERNET>(self.ethernet_bits.val())
                << self.ethernet_at.val())
                | (bit_cast::<WINDOW, TAG>(self.tag_bits.val()) << self.tag_at.val())
                | (bit_cast::<WINDOW, PACKET>(self.packet.val()) << self.tagged_packet_at.val());
        } else {
            self.frame.next = (bit_cast::<WINDOW, ETHERNET>(self.ethernet_bits.val())
                << self.ethernet_at.val())
                | (bit_cast::<WINDOW, PACKET>(self.packet.val()) << self.packet_at.val());
        }
        self.reverse.forward.next = self.frame.val();
        self.bytes.next = self.reverse.reversed.val();
    }
}
