//! The transport layer of a window: UDP and BTH, and where the lengths begin to agree or not.

use rust_hdl::prelude::*;
use stroma_abi::wire::{Bth, Ipv4, Udp, icrc, udp};

use super::link::Link;
use super::network::{DATAGRAM_BYTES, Network};
use super::place::place;
use crate::constant::number;
use crate::record;

/// Bytes of the longest extended headers.
pub(super) const EXTENDED_BYTES: usize = DATAGRAM_BYTES - Udp::LEN - Bth::LEN;

const _: () = assert!(EXTENDED_BYTES * 8 == 224, "Bits<224> below holds EXTENDED_BYTES");

record! {
    /// What UDP and BTH say.
    pub struct Transport {
        pub sport: Bits<16>,
        pub udp_sum: Bits<16>,
        pub op: Bits<8>,
        pub solicited: Bit,
        pub migrated: Bit,
        pub pad: Bits<2>,
        pub pkey: Bits<16>,
        pub congestion: Bits<8>,
        pub dqpn: Bits<24>,
        pub ackreq: Bit,
        pub psn: Bits<24>,
        /// UDP's length.
        pub length: Bits<16>,
        /// `length` without UDP header, BTH, pad and ICRC: what extended headers and payload share. Bit 16: not even
        /// those fit.
        pub room: Bits<17>,
        /// IPv4: the header sum, folded once.
        pub sum: Bits<17>,
        /// The frame ends inside the UDP header.
        pub short_udp: Bit,
        /// The destination port is not RoCE's.
        pub wrong_port: Bit,
        /// The frame ends inside the BTH.
        pub short_bth: Bit,
        /// IP's length is no multiple of 4, or not UDP's.
        pub wrong_length: Bit,
        /// The header version is not 0.
        pub wrong_version: Bit,
    }
}

block! {
    /// Reads the transport layer. Logic only.
    ///
    /// - **Ports** `link`, `network`: the layers before; `datagram`: bytes from the UDP header on; `transport`: the
    ///   fields; `extended`: the bytes behind the BTH. First byte on top.
    /// - **Latency** 0 cycles. **Reset** none.
    pub struct TransportLayer {
        pub link: Signal<In, Link>,
        pub network: Signal<In, Network>,
        pub datagram: Signal<In, Bits<384>>,
        pub transport: Signal<Out, Transport>,
        pub extended: Signal<Out, Bits<224>>,
        length: Signal<Local, Bits<16>>,
        pad: Signal<Local, Bits<2>>,
        ip_length: Signal<Local, Bits<17>>,
        sport_at: Constant<Bits<10>> = place(Udp::SOURCE_PORT, DATAGRAM_BYTES),
        dport_at: Constant<Bits<10>> = place(Udp::DESTINATION_PORT, DATAGRAM_BYTES),
        length_at: Constant<Bits<10>> = place(Udp::LENGTH, DATAGRAM_BYTES),
        udp_sum_at: Constant<Bits<10>> = place(Udp::CHECKSUM, DATAGRAM_BYTES),
        op_at: Constant<Bits<10>> = bth(Bth::OPCODE),
        solicited_at: Constant<Bits<10>> = bth(Bth::SOLICITED),
        migrated_at: Constant<Bits<10>> = bth(Bth::MIGRATION),
        pad_at: Constant<Bits<10>> = bth(Bth::PAD),
        version_at: Constant<Bits<10>> = bth(Bth::VERSION),
        pkey_at: Constant<Bits<10>> = bth(Bth::PARTITION),
        congestion_at: Constant<Bits<10>> = bth(Bth::RESERVED6),
        dqpn_at: Constant<Bits<10>> = bth(Bth::DESTINATION_QP),
        ackreq_at: Constant<Bits<10>> = bth(Bth::ACK_REQUEST),
        psn_at: Constant<Bits<10>> = bth(Bth::PSN),
        roce_port: Constant<Bits<16>> = number(udp::ROCE_PORT),
        udp_len: Constant<Bits<8>> = number(Udp::LEN),
        headers_len: Constant<Bits<8>> = number(Udp::LEN + Bth::LEN),
        v4_len: Constant<Bits<17>> = number(Ipv4::LEN),
        least_len: Constant<Bits<17>> = number(Udp::LEN + Bth::LEN + icrc::LEN),
    }
}

fn bth(field: stroma_abi::Field) -> Constant<Bits<10>> {
    place(field.at(Udp::LEN), DATAGRAM_BYTES)
}

impl Logic for TransportLayer {
    #[hdl_gen]
    fn update(&mut self) {
        self.transport.next.sport = self.datagram.val().get_bits::<16>(self.sport_at.val().index());
        self.transport.next.udp_sum = self.datagram.val().get_bits::<16>(self.udp_sum_at.val().index());
        self.transport.next.op = self.datagram.val().get_bits::<8>(self.op_at.val().index());
        self.transport.next.solicited = self.datagram.val().get_bit(self.solicited_at.val().index());
        self.transport.next.migrated = self.datagram.val().get_bit(self.migrated_at.val().index());
        self.pad.next = self.datagram.val().get_bits::<2>(self.pad_at.val().index());
        self.transport.next.pad = self.pad.val();
        self.transport.next.pkey = self.datagram.val().get_bits::<16>(self.pkey_at.val().index());
        self.transport.next.congestion = self.datagram.val().get_bits::<8>(self.congestion_at.val().index());
        self.transport.next.dqpn = self.datagram.val().get_bits::<24>(self.dqpn_at.val().index());
        self.transport.next.ackreq = self.datagram.val().get_bit(self.ackreq_at.val().index());
        self.transport.next.psn = self.datagram.val().get_bits::<24>(self.psn_at.val().index());
        self.extended.next = self.datagram.val().get_bits::<224>(0);

        self.length.next = self.datagram.val().get_bits::<16>(self.length_at.val().index());
        self.transport.next.length = self.length.val();
        self.transport.next.room =
            bit_cast::<17, 16>(self.length.val()) - self.least_len.val() - bit_cast::<17, 2>(self.pad.val());
        // IPv4 counts its own header, IPv6 does not.
        self.ip_length.next = bit_cast::<17, 16>(self.length.val()) + self.v4_len.val();
        if self.link.val().v6 {
            self.ip_length.next = bit_cast::<17, 16>(self.length.val());
        }
        self.transport.next.wrong_length = (self.ip_length.val()
            != bit_cast::<17, 16>(self.network.val().length))
            | self.network.val().length.get_bits::<2>(0).any();
        self.transport.next.sum = bit_cast::<17, 16>(self.network.val().sum.get_bits::<16>(0))
            + bit_cast::<17, 4>(self.network.val().sum.get_bits::<4>(16));
        self.transport.next.short_udp = self.network.val().have < self.udp_len.val();
        self.transport.next.wrong_port =
            self.datagram.val().get_bits::<16>(self.dport_at.val().index()) != self.roce_port.val();
        self.transport.next.short_bth = self.network.val().have < self.headers_len.val();
        self.transport.next.wrong_version =
            self.datagram.val().get_bits::<4>(self.version_at.val().index()).any();
    }
}
