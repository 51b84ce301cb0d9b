//! The IP header that a datagram came with, out of its head.

use rust_hdl::prelude::*;
use stroma_abi::wire::grh::{GRH_LEN, IPV4_AT};
use stroma_abi::wire::opcode::{UD_SEND_ONLY, UD_SEND_ONLY_IMM};
use stroma_abi::wire::{Header, Ipv4, Opcode, Udp, icrc, udp};

use crate::constant::number;
use crate::head::Head;
use crate::prim::reverse::Reverse;
use crate::tx::transport::opcodes;
use crate::tx::wire::{IPV4, Ipv4Header, Ipv6Header};

/// Bits in front of a datagram's payload.
pub(super) const GRH: usize = 8 * GRH_LEN;

const _: () = assert!(IPV4_AT + Ipv4::LEN == GRH_LEN, "an IPv4 header is the end of the bytes");

block! {
    /// Makes the bytes that the receive of a datagram begins with. Logic only.
    ///
    /// - **Ports** `head`: a datagram's, as it was received: `payload_len` counts these bytes; `bytes`: `stroma_abi::wire::grh` of its IP
    ///   header, every bit as it came, first byte lowest.
    /// - **Latency** 0 cycles. **Reset** none.
    pub struct Grh {
        pub head: Signal<In, Head>,
        pub bytes: Signal<Out, Bits<GRH>>,
        ipv4: Signal<Local, Ipv4Header>,
        ipv6: Signal<Local, Ipv6Header>,
        ipv4_bits: Signal<Local, Bits<IPV4>>,
        /// What IP's length counts beside the payload.
        others: Signal<Local, Bits<16>>,
        length: Signal<Local, Bits<16>>,
        reverse: Reverse<GRH>,
        /// One bit an op-code.
        with_imm: Constant<Bits<256>> = Constant::new(opcodes(|row| row.headers.contains(&Header::ImmDt))),
        v4_others: Constant<Bits<16>> = others(Ipv4::LEN, &UD_SEND_ONLY),
        v4_imm_others: Constant<Bits<16>> = others(Ipv4::LEN, &UD_SEND_ONLY_IMM),
        v6_others: Constant<Bits<16>> = others(0, &UD_SEND_ONLY),
        v6_imm_others: Constant<Bits<16>> = others(0, &UD_SEND_ONLY_IMM),
        protocol: Constant<Bits<8>> = number(udp::PROTOCOL),
    }
}

/// What IP's length counts beside payload and pad, less what `payload_len` counts and IP does not, modulo 2^16. `ip`: of its own header.
fn others(ip: usize, row: &Opcode) -> Constant<Bits<16>> {
    number(((1 << 16) + ip + Udp::LEN + row.header_len() + icrc::LEN - GRH_LEN) % (1 << 16))
}

impl Logic for Grh {
    #[hdl_gen]
    fn update(&mut self) {
        if self.with_imm.val().get_bit(self.head.val().op.index()) {
            self.others.next = self.v4_imm_others.val();
            if self.head.val().v6 {
                self.others.next = self.v6_imm_others.val();
            }
        } else {
            self.others.next = self.v4_others.val();
            if self.head.val().v6 {
                self.others.next = self.v6_others.val();
            }
        }
        self.length.next = bit_cast::<16, 13>(self.head.val().payload_len)
            + bit_cast::<16, 2>(self.head.val().pad)
            + self.others.val();

        // Packets with other lengths of header, or in fragments, do not get here.
        self.ipv4.next.version = 4.into();
        self.ipv4.next.ihl = 5.into();
        self.ipv4.next.dscp = self.head.val().tclass.get_bits::<6>(2);
        self.ipv4.next.ecn = self.head.val().tclass.get_bits::<2>(0);
        self.ipv4.next.total_length = self.length.val();
        self.ipv4.next.identification = self.head.val().ident;
        self.ipv4.next.reserved = self.head.val().ip_reserved;
        self.ipv4.next.dont_fragment = self.head.val().dont_fragment;
        self.ipv4.next.more_fragments = false;
        self.ipv4.next.fragment = 0.into();
        self.ipv4.next.ttl = self.head.val().hops;
        self.ipv4.next.protocol = self.protocol.val();
        self.ipv4.next.checksum = self.head.val().ip_sum;
        self.ipv4.next.source = self.head.val().src_ip.get_bits::<32>(0);
        self.ipv4.next.destination = self.head.val().dst_ip.get_bits::<32>(0);
        self.ipv4_bits.next = self.ipv4.val().to_bits();

        self.ipv6.next.version = 6.into();
        self.ipv6.next.traffic_class = self.head.val().tclass;
        self.ipv6.next.flow_label = self.head.val().flow;
        self.ipv6.next.payload_length = self.length.val();
        self.ipv6.next.next_header = self.protocol.val();
        self.ipv6.next.hop_limit = self.head.val().hops;
        self.ipv6.next.source = self.head.val().src_ip;
        self.ipv6.next.destination = self.head.val().dst_ip;

        self.reverse.forward.next = bit_cast::<GRH, IPV4>(self.ipv4_bits.val());
        if self.head.val().v6 {
            self.reverse.forward.next = self.ipv6.val().to_bits();
        }
        self.bytes.next = self.reverse.reversed.val();
    }
}
