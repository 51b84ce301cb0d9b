//! Fields become header bytes: lengths and the IPv4 checksum are computed on the way.

use rust_hdl::prelude::*;
use stroma_abi::Field;
use stroma_abi::wire::{Bth, Ethernet, Ipv4, Ipv6, Tag, Udp, icrc, udp};

use super::network::Network;
use super::transport::{TRANSPORT, Transport, opcodes};
use crate::constant::{constants, number};
use crate::head::Head;
use crate::prim::insert::Prefix;
use crate::prim::reg::Reg;
use crate::record;
use crate::stream::{StreamSink, StreamSource};

record! {
    /// What a head says of its frame's lengths.
    pub struct Sizes {
        /// The op-code is not in the table.
        pub unknown: Bit,
        /// Payload and pad.
        pub padded: Bits<16>,
        /// From UDP to the last extended header.
        pub datagram: Bits<16>,
    }
}

record! {
    /// The lengths of a frame.
    pub struct Lengths {
        /// The op-code is not in the table.
        pub unknown: Bit,
        /// What UDP says.
        pub udp: Bits<16>,
        /// All headers.
        pub header: Bits<16>,
        /// All of it.
        pub total: Bits<16>,
    }
}

block! {
    /// Writes the headers of each head.
    ///
    /// ```text
    ///   sink ─ lengths, pairs ─▮─ Transport, sum ─▮─ fold, Network ─ source
    /// ```
    ///
    /// - **Ports** `sink`: fields; `source`: the headers they make, in the same order. `pad` of the head is not read: it follows
    ///   from `payload_len`.
    /// - **Latency** 2 cycles. **Rate** 1 head per cycle up to the second that waits; 2 in 3 cycles, if each is taken at once.
    ///   `source` is no register: whoever takes a prefix has one for it.
    /// - **Backpressure** holds two heads, then stalls `sink`, drops nothing; no combinational path from any port to any other.
    /// - **Reset** clears `valid` alone.
    /// - **Limits** an op-code outside the table gets no extended header, and `err`, so that its frame is spoilt.
    pub struct Build {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub sink: StreamSink<Head>,
        pub source: StreamSource<Prefix>,
        valid: [Reg<Bit>; 2],
        head: [Reg<Head>; 2],
        sizes: Reg<Sizes>,
        lengths: Reg<Lengths>,
        /// The words of the IPv4 header: in pairs, and all.
        pair: [Reg<Bits<20>>; 4],
        sum: Reg<Bits<20>>,
        headers: Reg<Bits<TRANSPORT>>,
        transport: Transport,
        network: Network,
        takes: Signal<Local, Bit>,
        filled: Signal<Local, Bits<16>>,
        advance: Signal<Local, Bit>,
        outer: Signal<Local, Bits<16>>,
        zero: Constant<Bits<20>> = number(0_u64),
        none: Constant<Bits<16>> = number(0_u64),
        known: Constant<Bits<256>> = Constant::new(opcodes(|_| true)),
        /// One bit each of an op-code's length of extended headers, in words.
        length_bit: [Constant<Bits<256>>; 3] = constants(|bit| opcodes(|row| row.extended_len() >> (bit + 2) & 1 == 1)),
        whole_words: Constant<Bits<16>> = number(0xfffc_u64),
        fixed_len: Constant<Bits<16>> = number(Udp::LEN + Bth::LEN),
        icrc_len: Constant<Bits<16>> = number(icrc::LEN),
        ipv4_outer: Constant<Bits<16>> = number(Ethernet::LEN + Ipv4::LEN),
        ipv6_outer: Constant<Bits<16>> = number(Ethernet::LEN + Ipv6::LEN),
        tagged_ipv4_outer: Constant<Bits<16>> = number(Ethernet::LEN + Tag::LEN + Ipv4::LEN),
        tagged_ipv6_outer: Constant<Bits<16>> = number(Ethernet::LEN + Tag::LEN + Ipv6::LEN),
        version_word: Constant<Bits<20>> = number((4 << in_word(Ipv4::VERSION)) + (5 << in_word(Ipv4::IHL))),
        /// And what the IPv4 length counts beside datagram headers and padded payload.
        protocol_word: Constant<Bits<20>> = number((usize::from(udp::PROTOCOL) << in_word(Ipv4::PROTOCOL)) + Ipv4::LEN + icrc::LEN),
        tclass_at: Constant<Bits<5>> = number(in_word(Ipv4::ECN)),
        hops_at: Constant<Bits<5>> = number(in_word(Ipv4::TTL)),
        dont_fragment_at: Constant<Bits<5>> = number(in_word(Ipv4::DONT_FRAGMENT)),
    }
}

/// The place of a field in its 16-bit word.
const fn in_word(field: Field) -> usize {
    16 - field.offset() % 16 - field.width
}

impl Logic for Build {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, sizes, lengths, sum, headers);
        for i in 0..4 {
            self.pair[i].clock.next = self.clock.val();
            self.pair[i].d.next = self.pair[i].q.val();
        }
        for i in 0..2 {
            self.valid[i].clock.next = self.clock.val();
            self.valid[i].d.next = self.valid[i].q.val();
            self.head[i].clock.next = self.clock.val();
            self.head[i].d.next = self.head[i].q.val();
        }
        self.advance.next = self.source.ready.val() | !self.valid[1].q.val();
        // Not when the other place becomes free in this cycle: a thousand flip-flops would wait for that news.
        self.takes.next = !self.valid[1].q.val() | !self.valid[0].q.val();
        self.sink.ready.next = self.takes.val();

        if self.advance.val() {
            self.valid[0].d.next = false;
        }
        if self.takes.val() {
            self.valid[0].d.next = self.sink.valid.val();
            self.head[0].d.next = self.sink.payload.val();
            self.sizes.d.next.unknown = !self.known.val().get_bit(self.sink.payload.val().op.index());
            self.sizes.d.next.padded =
                (bit_cast::<16, 13>(self.sink.payload.val().payload_len) + 3) & self.whole_words.val();
            self.sizes.d.next.datagram = self.fixed_len.val()
                + ((self.none.val() + self.length_bit[0].val().get_bit(self.sink.payload.val().op.index()))
                    << 2)
                + ((self.none.val() + self.length_bit[1].val().get_bit(self.sink.payload.val().op.index()))
                    << 3)
                + ((self.none.val() + self.length_bit[2].val().get_bit(self.sink.payload.val().op.index()))
                    << 4);
            self.pair[0].d.next = self.version_word.val()
                + (bit_cast::<20, 8>(self.sink.payload.val().tclass) << self.tclass_at.val())
                + bit_cast::<20, 16>(self.sink.payload.val().ident);
            self.pair[1].d.next = self.protocol_word.val()
                + (bit_cast::<20, 8>(self.sink.payload.val().hops) << self.hops_at.val())
                + ((self.zero.val() + self.sink.payload.val().dont_fragment) << self.dont_fragment_at.val());
            self.pair[2].d.next = bit_cast::<20, 16>(self.sink.payload.val().src_ip.get_bits::<16>(0))
                + bit_cast::<20, 16>(self.sink.payload.val().src_ip.get_bits::<16>(16));
            self.pair[3].d.next = bit_cast::<20, 16>(self.sink.payload.val().dst_ip.get_bits::<16>(0))
                + bit_cast::<20, 16>(self.sink.payload.val().dst_ip.get_bits::<16>(16));
        }

        self.transport.head.next = self.head[0].q.val();
        self.transport.pad.next = bit_cast::<2, 13>(!self.head[0].q.val().payload_len + 1);
        self.outer.next = self.ipv4_outer.val();
        if self.head[0].q.val().tagged & self.head[0].q.val().v6 {
            self.outer.next = self.tagged_ipv6_outer.val();
        } else if self.head[0].q.val().tagged {
            self.outer.next = self.tagged_ipv4_outer.val();
        } else if self.head[0].q.val().v6 {
            self.outer.next = self.ipv6_outer.val();
        }
        self.filled.next = self.sizes.q.val().datagram + self.sizes.q.val().padded;
        if self.advance.val() {
            self.valid[1].d.next = self.valid[0].q.val();
            self.head[1].d.next = self.head[0].q.val();
            self.headers.d.next = self.transport.bytes.val();
            self.lengths.d.next.unknown = self.sizes.q.val().unknown;
            self.lengths.d.next.udp = self.filled.val() + self.icrc_len.val();
            self.lengths.d.next.header = self.sizes.q.val().datagram + self.outer.val();
            self.lengths.d.next.total = self.filled.val() + (self.outer.val() + self.icrc_len.val());
            self.sum.d.next = (self.pair[0].q.val() + self.pair[1].q.val())
                + (self.pair[2].q.val() + self.pair[3].q.val())
                + bit_cast::<20, 16>(self.filled.val());
        }

        self.network.head.next = self.head[1].q.val();
        self.network.transport.next = self.headers.q.val();
        self.network.udp_length.next = self.lengths.q.val().udp;
        self.network.sum.next = bit_cast::<17, 16>(self.sum.q.val().get_bits::<16>(0))
            + bit_cast::<17, 4>(self.sum.q.val().get_bits::<4>(16));
        self.source.valid.next = self.valid[1].q.val();
        self.source.payload.next.bytes = self.network.bytes.val();
        self.source.payload.next.len = bit_cast::<7, 16>(self.lengths.q.val().header);
        self.source.payload.next.payload_len = self.head[1].q.val().payload_len;
        self.source.payload.next.total = bit_cast::<14, 16>(self.lengths.q.val().total);
        self.source.payload.next.err = self.lengths.q.val().unknown;
        self.source.payload.next.v6 = self.head[1].q.val().v6;
        self.source.payload.next.tagged = self.head[1].q.val().tagged;
        if self.reset.val() {
            for i in 0..2 {
                self.valid[i].d.next = false;
            }
        }
    }
}
