//! One class out of all reasons, and the plan for the frame's beats.

use rust_hdl::prelude::*;
use stroma_abi::wire::classify::PAYLOAD_MAX;
use stroma_abi::wire::grh::GRH_LEN;
use stroma_abi::wire::{Bth, Class, Deth, Ethernet, Ipv4, Ipv6, Tag, Udp};

use super::link::Link;
use super::network::Network;
use super::opcode::Carries;
use super::place::class;
use super::transport::Transport;
use crate::constant::number;
use crate::record;

// A datagram's IP header finds its place in front of the payload: there are as many bytes of other headers, of no use any more.
const _: () = assert!(
    Ethernet::LEN + Ipv4::LEN + Udp::LEN + Bth::LEN + Deth::LEN >= GRH_LEN,
    "the shortest headers of a datagram leave room for the IP header"
);

record! {
    /// What the beats of a frame need to know of its headers.
    pub struct Plan {
        /// The verdict so far; 0: RoCE, as far as the headers tell.
        pub class: Bits<4>,
        pub tagged: Bit,
        pub v6: Bit,
        /// Bytes before the payload, and before the place for its IP header if this is a datagram.
        pub skip: Bits<8>,
        /// Bytes of payload and of that place; zero unless `class` is.
        pub keep: Bits<13>,
        /// Bytes up to the end of the ICRC, if `class` is zero.
        pub end: Bits<13>,
    }
}

block! {
    /// Weighs what the layers found. Logic only.
    ///
    /// - **Ports** `link`, `network`, `transport`, `carries`: the frame, layer by layer; `plan`: what its beats need to
    ///   know.
    /// - **Latency** 0 cycles. **Reset** none.
    pub struct Settle {
        pub link: Signal<In, Link>,
        pub network: Signal<In, Network>,
        pub transport: Signal<In, Transport>,
        pub carries: Signal<In, Carries>,
        pub plan: Signal<Out, Plan>,
        payload: Signal<Local, Bits<17>>,
        sum: Signal<Local, Bits<16>>,
        class: Signal<Local, Bits<4>>,
        udp_at: Signal<Local, Bits<8>>,
        /// Bytes in front of the payload that stay there.
        place_len: Signal<Local, Bits<17>>,
        payload_max: Constant<Bits<17>> = number(PAYLOAD_MAX),
        v4_udp_at: Constant<Bits<8>> = number(Ethernet::LEN + Ipv4::LEN),
        v6_udp_at: Constant<Bits<8>> = number(Ethernet::LEN + Ipv6::LEN),
        tag_len: Constant<Bits<8>> = number(Tag::LEN),
        transport_len: Constant<Bits<8>> = number(Udp::LEN + Bth::LEN),
        grh_len: Constant<Bits<17>> = number(GRH_LEN),
        runt: Constant<Bits<4>> = class(Class::Runt),
        not_ip: Constant<Bits<4>> = class(Class::NotIp),
        ip_version: Constant<Bits<4>> = class(Class::IpVersion),
        ip_options: Constant<Bits<4>> = class(Class::IpOptions),
        ip_checksum: Constant<Bits<4>> = class(Class::IpChecksum),
        fragment: Constant<Bits<4>> = class(Class::Fragment),
        not_udp: Constant<Bits<4>> = class(Class::NotUdp),
        wrong_port: Constant<Bits<4>> = class(Class::WrongPort),
        length: Constant<Bits<4>> = class(Class::Length),
        oversize: Constant<Bits<4>> = class(Class::Oversize),
        bth_version: Constant<Bits<4>> = class(Class::BthVersion),
        opcode: Constant<Bits<4>> = class(Class::Opcode),
        roce: Constant<Bits<4>> = class(Class::Roce),
    }
}

impl Logic for Settle {
    #[hdl_gen]
    fn update(&mut self) {
        self.payload.next = self.transport.val().room - (bit_cast::<17, 3>(self.carries.val().words) << 2);
        self.sum.next = self.transport.val().sum.get_bits::<16>(0)
            + bit_cast::<16, 1>(self.transport.val().sum.get_bits::<1>(16));

        // The rule of `stroma_abi::wire::classify`: layer by layer, and the first reason wins.
        if self.link.val().short {
            self.class.next = self.runt.val();
        } else if self.link.val().not_ip {
            self.class.next = self.not_ip.val();
        } else if self.network.val().short {
            self.class.next = self.runt.val();
        } else if self.network.val().wrong_version {
            self.class.next = self.ip_version.val();
        } else if self.network.val().options {
            self.class.next = self.ip_options.val();
        } else if !self.link.val().v6 & !(self.sum.val() ^ self.network.val().checksum).all() {
            self.class.next = self.ip_checksum.val();
        } else if self.network.val().fragment {
            self.class.next = self.fragment.val();
        } else if self.network.val().not_udp {
            self.class.next = self.not_udp.val();
        } else if self.transport.val().short_udp {
            self.class.next = self.runt.val();
        } else if self.transport.val().wrong_port {
            self.class.next = self.wrong_port.val();
        } else if self.transport.val().short_bth {
            self.class.next = self.runt.val();
        } else if self.transport.val().wrong_length | self.payload.val().get_bit(16) {
            self.class.next = self.length.val();
        } else if self.payload.val() > self.payload_max.val() {
            self.class.next = self.oversize.val();
        } else if self.transport.val().wrong_version {
            self.class.next = self.bth_version.val();
        } else if !self.carries.val().known {
            self.class.next = self.opcode.val();
        } else {
            self.class.next = self.roce.val();
        }

        self.udp_at.next = self.v4_udp_at.val();
        if self.link.val().v6 & self.link.val().tagged {
            self.udp_at.next = self.v6_udp_at.val() + self.tag_len.val();
        } else if self.link.val().v6 {
            self.udp_at.next = self.v6_udp_at.val();
        } else if self.link.val().tagged {
            self.udp_at.next = self.v4_udp_at.val() + self.tag_len.val();
        }
        self.place_len.next = 0.into();
        if self.carries.val().deth {
            self.place_len.next = self.grh_len.val();
        }
        self.plan.next.class = self.class.val();
        self.plan.next.tagged = self.link.val().tagged;
        self.plan.next.v6 = self.link.val().v6;
        self.plan.next.skip =
            self.udp_at.val() + self.transport_len.val() + (bit_cast::<8, 3>(self.carries.val().words) << 2)
                - bit_cast::<8, 17>(self.place_len.val());
        self.plan.next.keep = 0.into();
        if !self.class.val().any() {
            self.plan.next.keep = bit_cast::<13, 17>(self.payload.val() + self.place_len.val());
        }
        self.plan.next.end =
            bit_cast::<13, 8>(self.udp_at.val()) + self.transport.val().length.get_bits::<13>(0);
    }
}
