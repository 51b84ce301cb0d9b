//! The network layer of a window: IPv4 or IPv6 become one set of fields, and UDP moves to a fixed place.

use rust_hdl::prelude::*;
use stroma_abi::wire::{Ipv4, Ipv6, udp};

use super::link::{Link, PACKET_BYTES};
use super::place::place;
use crate::constant::number;
use crate::record;

/// Bytes from the UDP header to the end of the longest headers.
pub(super) const DATAGRAM_BYTES: usize = PACKET_BYTES - Ipv6::LEN;

const _: () = assert!(DATAGRAM_BYTES * 8 == 384, "Bits<384> below holds DATAGRAM_BYTES");

record! {
    /// What the IP header says.
    pub struct Network {
        pub tclass: Bits<8>,
        pub flow: Bits<20>,
        pub ident: Bits<16>,
        pub dont_fragment: Bit,
        /// IPv4: the reserved flag.
        pub reserved: Bit,
        pub hops: Bits<8>,
        pub src_ip: Bits<128>,
        pub dst_ip: Bits<128>,
        /// Total length (IPv4) or payload length (IPv6).
        pub length: Bits<16>,
        /// IPv4: sum of all 16-bit words but the checksum, carries not yet folded in.
        pub sum: Bits<20>,
        /// IPv4: the checksum in the header; zero of IPv6, which has none.
        pub checksum: Bits<16>,
        /// The frame ends inside the IP header.
        pub short: Bit,
        /// The version is not the one the Ethernet type promises.
        pub wrong_version: Bit,
        /// IPv4 with a header of other than five words.
        pub options: Bit,
        /// IPv4, and one of several fragments.
        pub fragment: Bit,
        /// Another protocol than UDP.
        pub not_udp: Bit,
        /// Bytes of the frame from the UDP header on, unless `short`; exact while they matter.
        pub have: Bits<8>,
    }
}

/// Where the 16-bit words under the checksum are: all of the header but the checksum itself.
fn summed_words() -> [Constant<Bits<10>>; 9] {
    let words = (0..Ipv4::LEN / 2).filter(|word| 2 * word != Ipv4::CHECKSUM.byte);
    let places: Vec<_> = words.map(|word| number(8 * (PACKET_BYTES - 2 * word - 2))).collect();
    places.try_into().unwrap_or_else(|_| panic!("an IPv4 header has nine words beside its checksum"))
}

block! {
    /// Reads the network layer. Logic only.
    ///
    /// - **Ports** `link`: the layer before; `packet`: bytes from the IP header on; `network`: its fields; `datagram`:
    ///   the bytes from the UDP header on. First byte on top.
    /// - **Latency** 0 cycles. **Reset** none.
    pub struct NetworkLayer {
        pub link: Signal<In, Link>,
        pub packet: Signal<In, Bits<704>>,
        pub network: Signal<Out, Network>,
        pub datagram: Signal<Out, Bits<384>>,
        word: [Signal<Local, Bits<20>>; 9],
        pair: [Signal<Local, Bits<20>>; 4],
        half: [Signal<Local, Bits<20>>; 2],
        word_mask: Constant<Bits<20>> = number(0xffff_u64),
        word_at: [Constant<Bits<10>>; 9] = summed_words(),
        v4_version_at: Constant<Bits<10>> = place(Ipv4::VERSION, PACKET_BYTES),
        v4_ihl_at: Constant<Bits<10>> = place(Ipv4::IHL, PACKET_BYTES),
        v4_tclass_at: Constant<Bits<10>> = place(Ipv4::ECN, PACKET_BYTES),
        v4_length_at: Constant<Bits<10>> = place(Ipv4::TOTAL_LENGTH, PACKET_BYTES),
        v4_ident_at: Constant<Bits<10>> = place(Ipv4::IDENTIFICATION, PACKET_BYTES),
        v4_reserved_at: Constant<Bits<10>> = place(Ipv4::RESERVED, PACKET_BYTES),
        v4_dont_fragment_at: Constant<Bits<10>> = place(Ipv4::DONT_FRAGMENT, PACKET_BYTES),
        v4_more_fragments_at: Constant<Bits<10>> = place(Ipv4::MORE_FRAGMENTS, PACKET_BYTES),
        v4_fragment_at: Constant<Bits<10>> = place(Ipv4::FRAGMENT, PACKET_BYTES),
        v4_hops_at: Constant<Bits<10>> = place(Ipv4::TTL, PACKET_BYTES),
        v4_protocol_at: Constant<Bits<10>> = place(Ipv4::PROTOCOL, PACKET_BYTES),
        v4_checksum_at: Constant<Bits<10>> = place(Ipv4::CHECKSUM, PACKET_BYTES),
        v4_source_at: Constant<Bits<10>> = place(Ipv4::SOURCE, PACKET_BYTES),
        v4_destination_at: Constant<Bits<10>> = place(Ipv4::DESTINATION, PACKET_BYTES),
        v4_datagram_at: Constant<Bits<10>> = number(8 * (PACKET_BYTES - Ipv4::LEN - DATAGRAM_BYTES)),
        v4_len: Constant<Bits<8>> = number(Ipv4::LEN),
        v4_version: Constant<Bits<4>> = number(4_u64),
        v4_words: Constant<Bits<4>> = number(Ipv4::LEN / 4),
        v4_mapped: Constant<Bits<128>> = Constant::new(Bits::from(0xffff_u64) << 32_u64),
        v6_version_at: Constant<Bits<10>> = place(Ipv6::VERSION, PACKET_BYTES),
        v6_tclass_at: Constant<Bits<10>> = place(Ipv6::TRAFFIC_CLASS, PACKET_BYTES),
        v6_flow_at: Constant<Bits<10>> = place(Ipv6::FLOW_LABEL, PACKET_BYTES),
        v6_length_at: Constant<Bits<10>> = place(Ipv6::PAYLOAD_LENGTH, PACKET_BYTES),
        v6_protocol_at: Constant<Bits<10>> = place(Ipv6::NEXT_HEADER, PACKET_BYTES),
        v6_hops_at: Constant<Bits<10>> = place(Ipv6::HOP_LIMIT, PACKET_BYTES),
        v6_source_at: Constant<Bits<10>> = place(Ipv6::SOURCE, PACKET_BYTES),
        v6_destination_at: Constant<Bits<10>> = place(Ipv6::DESTINATION, PACKET_BYTES),
        v6_datagram_at: Constant<Bits<10>> = number(8 * (PACKET_BYTES - Ipv6::LEN - DATAGRAM_BYTES)),
        v6_len: Constant<Bits<8>> = number(Ipv6::LEN),
        v6_version: Constant<Bits<4>> = number(6_u64),
        udp: Constant<Bits<8>> = number(udp::PROTOCOL),
    }
}

impl Logic for NetworkLayer {
    #[hdl_gen]
    fn update(&mut self) {
        for i in 0..9 {
            self.word[i].next =
                self.packet.val().get_bits::<20>(self.word_at[i].val().index()) & self.word_mask.val();
        }
        for i in 0..4 {
            self.pair[i].next = self.word[2 * i].val() + self.word[2 * i + 1].val();
        }
        for i in 0..2 {
            self.half[i].next = self.pair[2 * i].val() + self.pair[2 * i + 1].val();
        }
        self.network.next.sum = self.half[0].val() + self.half[1].val() + self.word[8].val();
        if self.link.val().v6 {
            self.network.next.tclass = self.packet.val().get_bits::<8>(self.v6_tclass_at.val().index());
            self.network.next.flow = self.packet.val().get_bits::<20>(self.v6_flow_at.val().index());
            self.network.next.ident = 0.into();
            self.network.next.dont_fragment = false;
            self.network.next.reserved = false;
            self.network.next.checksum = 0.into();
            self.network.next.hops = self.packet.val().get_bits::<8>(self.v6_hops_at.val().index());
            self.network.next.src_ip = self.packet.val().get_bits::<128>(self.v6_source_at.val().index());
            self.network.next.dst_ip =
                self.packet.val().get_bits::<128>(self.v6_destination_at.val().index());
            self.network.next.length = self.packet.val().get_bits::<16>(self.v6_length_at.val().index());
            self.network.next.short = self.link.val().have < self.v6_len.val();
            self.network.next.wrong_version =
                self.packet.val().get_bits::<4>(self.v6_version_at.val().index()) != self.v6_version.val();
            self.network.next.options = false;
            self.network.next.fragment = false;
            self.network.next.not_udp =
                self.packet.val().get_bits::<8>(self.v6_protocol_at.val().index()) != self.udp.val();
            self.network.next.have = self.link.val().have - self.v6_len.val();
            self.datagram.next = self.packet.val().get_bits::<384>(self.v6_datagram_at.val().index());
        } else {
            self.network.next.tclass = self.packet.val().get_bits::<8>(self.v4_tclass_at.val().index());
            self.network.next.flow = 0.into();
            self.network.next.ident = self.packet.val().get_bits::<16>(self.v4_ident_at.val().index());
            self.network.next.dont_fragment =
                self.packet.val().get_bit(self.v4_dont_fragment_at.val().index());
            self.network.next.reserved = self.packet.val().get_bit(self.v4_reserved_at.val().index());
            self.network.next.checksum = self.packet.val().get_bits::<16>(self.v4_checksum_at.val().index());
            self.network.next.hops = self.packet.val().get_bits::<8>(self.v4_hops_at.val().index());
            self.network.next.src_ip = self.v4_mapped.val()
                | bit_cast::<128, 32>(self.packet.val().get_bits::<32>(self.v4_source_at.val().index()));
            self.network.next.dst_ip = self.v4_mapped.val()
                | bit_cast::<128, 32>(self.packet.val().get_bits::<32>(self.v4_destination_at.val().index()));
            self.network.next.length = self.packet.val().get_bits::<16>(self.v4_length_at.val().index());
            self.network.next.short = self.link.val().have < self.v4_len.val();
            self.network.next.wrong_version =
                self.packet.val().get_bits::<4>(self.v4_version_at.val().index()) != self.v4_version.val();
            self.network.next.options =
                self.packet.val().get_bits::<4>(self.v4_ihl_at.val().index()) != self.v4_words.val();
            self.network.next.fragment = self.packet.val().get_bit(self.v4_more_fragments_at.val().index())
                | self.packet.val().get_bits::<13>(self.v4_fragment_at.val().index()).any();
            self.network.next.not_udp =
                self.packet.val().get_bits::<8>(self.v4_protocol_at.val().index()) != self.udp.val();
            self.network.next.have = self.link.val().have - self.v4_len.val();
            self.datagram.next = self.packet.val().get_bits::<384>(self.v4_datagram_at.val().index());
        }
    }
}
