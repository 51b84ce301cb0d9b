//! The link layer of a window: addresses, the tag if there is one, and the IP packet moved to a fixed place.

use rust_hdl::prelude::*;
use stroma_abi::wire::ethernet::ethertype;
use stroma_abi::wire::opcode::EXTENDED_MAX;
use stroma_abi::wire::{Bth, Ethernet, Ipv6, Tag, Udp};

use super::gather::Window;
use super::place::place;
use crate::constant::number;
use crate::head::WINDOW_BYTES;
use crate::record;

/// Bytes from the IP header to the end of the longest headers.
pub(super) const PACKET_BYTES: usize = Ipv6::LEN + Udp::LEN + Bth::LEN + EXTENDED_MAX;

const _: () = assert!(PACKET_BYTES * 8 == 704, "Bits<704> below holds PACKET_BYTES");
const _: () =
    assert!(Ethernet::LEN + Tag::LEN + PACKET_BYTES <= WINDOW_BYTES, "the window holds all headers");

record! {
    /// What the Ethernet header and the tag say.
    pub struct Link {
        pub dmac: Bits<48>,
        pub smac: Bits<48>,
        pub tagged: Bit,
        pub tci: Bits<16>,
        pub v6: Bit,
        /// The frame ends inside the Ethernet header or the tag.
        pub short: Bit,
        /// The type is neither IPv4 nor IPv6.
        pub not_ip: Bit,
        /// Bytes of the frame from the IP header on, unless `short`; exact while they matter.
        pub have: Bits<8>,
    }
}

block! {
    /// Reads the link layer. Logic only.
    ///
    /// - **Ports** `window`: the frame's first bytes; `link`: its fields; `packet`: the bytes from the IP header on,
    ///   first byte on top.
    /// - **Latency** 0 cycles. **Reset** none.
    pub struct LinkLayer {
        pub window: Signal<In, Window>,
        pub link: Signal<Out, Link>,
        pub packet: Signal<Out, Bits<704>>,
        tagged: Signal<Local, Bit>,
        kind: Signal<Local, Bits<16>>,
        dmac_at: Constant<Bits<10>> = place(Ethernet::DESTINATION, WINDOW_BYTES),
        smac_at: Constant<Bits<10>> = place(Ethernet::SOURCE, WINDOW_BYTES),
        kind_at: Constant<Bits<10>> = place(Ethernet::ETHERTYPE, WINDOW_BYTES),
        tci_at: Constant<Bits<10>> = place(Tag::VLAN.at(Ethernet::LEN), WINDOW_BYTES),
        tagged_kind_at: Constant<Bits<10>> = place(Tag::ETHERTYPE.at(Ethernet::LEN), WINDOW_BYTES),
        packet_at: Constant<Bits<10>> = number(8 * (WINDOW_BYTES - Ethernet::LEN - PACKET_BYTES)),
        tagged_packet_at: Constant<Bits<10>> = number(8 * (WINDOW_BYTES - Ethernet::LEN - Tag::LEN - PACKET_BYTES)),
        tag_kind: Constant<Bits<16>> = number(ethertype::TAG),
        ipv4_kind: Constant<Bits<16>> = number(ethertype::IPV4),
        ipv6_kind: Constant<Bits<16>> = number(ethertype::IPV6),
        header_len: Constant<Bits<8>> = number(Ethernet::LEN),
        tagged_header_len: Constant<Bits<8>> = number(Ethernet::LEN + Tag::LEN),
    }
}

impl Logic for LinkLayer {
    #[hdl_gen]
    fn update(&mut self) {
        self.tagged.next =
            self.window.val().bytes.get_bits::<16>(self.kind_at.val().index()) == self.tag_kind.val();
        self.link.next.dmac = self.window.val().bytes.get_bits::<48>(self.dmac_at.val().index());
        self.link.next.smac = self.window.val().bytes.get_bits::<48>(self.smac_at.val().index());
        self.link.next.tagged = self.tagged.val();
        if self.tagged.val() {
            self.kind.next = self.window.val().bytes.get_bits::<16>(self.tagged_kind_at.val().index());
            self.link.next.tci = self.window.val().bytes.get_bits::<16>(self.tci_at.val().index());
            self.packet.next = self.window.val().bytes.get_bits::<704>(self.tagged_packet_at.val().index());
            self.link.next.short = self.window.val().have < self.tagged_header_len.val();
            self.link.next.have = self.window.val().have - self.tagged_header_len.val();
        } else {
            self.kind.next = self.window.val().bytes.get_bits::<16>(self.kind_at.val().index());
            self.link.next.tci = 0.into();
            self.packet.next = self.window.val().bytes.get_bits::<704>(self.packet_at.val().index());
            self.link.next.short = self.window.val().have < self.header_len.val();
            self.link.next.have = self.window.val().have - self.header_len.val();
        }
        self.link.next.v6 = self.kind.val() == self.ipv6_kind.val();
        self.link.next.not_ip =
            (self.kind.val() != self.ipv6_kind.val()) & (self.kind.val() != self.ipv4_kind.val());
    }
}
