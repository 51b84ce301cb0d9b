//! The head of a packet: what it says itself, and what its way adds.

use rust_hdl::prelude::*;
use stroma_abi::desc::UdTarget;
use stroma_abi::wire::deth::OWN_KEY_BIT;
use stroma_abi::wire::opcode::{
    CNP, DATAGRAM_BITS, RC_ACKNOWLEDGE, RC_ATOMIC_ACKNOWLEDGE, RPC_BUSY, SERVICE_AT, UNRELIABLE_BIT,
};

use crate::constant::number;
use crate::head::Head;
use crate::transport::records::{HandleRow, PathRow, TxPacket};
use crate::tx::transport::opcodes;

/// Bits above an IPv4 address in its GID, and what stands there.
const MAPPED_AT: usize = 32;
const MAPPED: u64 = 0xffff;
/// BTH byte 4 of a congestion notification: BECN.
const BECN: u64 = 0x40;

block! {
    /// Fills in a head. Logic only.
    ///
    /// - **Ports** `packet`: the packet; `path`: of its queue pair; `handle`: the one it names, if it is a datagram; `address_index`, `address`:
    ///   one of the port's addresses; `mac`: the port's. `head`: the head, if the packet has a way. `is_unanswered`: it is a request that
    ///   nobody will answer.
    /// - **Latency** 0 cycles. **Reset** none.
    pub struct Heading {
        pub packet: Signal<In, TxPacket>,
        pub path: Signal<In, PathRow>,
        pub handle: Signal<In, HandleRow>,
        pub address_index: Signal<Out, Bits<4>>,
        pub address: Signal<In, Bits<128>>,
        pub mac: Signal<In, Bits<48>>,
        pub head: Signal<Out, Head>,
        pub is_unanswered: Signal<Out, Bit>,
        unanswered: Signal<Local, Bit>,
        /// The way it takes: its queue pair's path, or a handle.
        way: Signal<Local, HandleRow>,
        mapped_at: Constant<Bits<8>> = number(MAPPED_AT),
        mapped: Constant<Bits<128>> = number(MAPPED),
        cnp: Constant<Bits<8>> = number(CNP.code),
        becn: Constant<Bits<8>> = number(BECN),
        /// What has no data that a peer could send more slowly: a router must not mark it instead of dropping it.
        unmarkable: Constant<Bits<256>> = Constant::new(opcodes(|row| {
            [CNP, RC_ACKNOWLEDGE, RC_ATOMIC_ACKNOWLEDGE, RPC_BUSY].iter().any(|bare| bare.code == row.code)
        })),
        /// The traffic class without the two bits of ECN.
        class: Constant<Bits<8>> = number(!0b11_u8),
        /// What op-codes of unreliable connections have, and those of reliable ones have not; and those of datagrams.
        unreliable_bit: Constant<Bits<8>> = number(UNRELIABLE_BIT),
        datagram_bits: Constant<Bits<8>> = number(DATAGRAM_BITS),
        service_at: Constant<Bits<3>> = number(SERVICE_AT),
        peer_at: Constant<Bits<6>> = number(UdTarget::DESTINATION_QP.offset()),
        own_key_at: Constant<Bits<5>> = number(OWN_KEY_BIT.ilog2()),
    }
}

impl Logic for Heading {
    #[hdl_gen]
    fn update(&mut self) {
        self.way.next = self.handle.val();
        if !self.path.val().datagram {
            self.way.next.exists = self.path.val().exists;
            self.way.next.pd = self.path.val().pd;
            self.way.next.peer_mac = self.path.val().peer_mac;
            self.way.next.peer_ip = self.path.val().peer_ip;
            self.way.next.source_port = self.path.val().source_port;
            self.way.next.hop_limit = self.path.val().hop_limit;
            self.way.next.traffic_class = self.path.val().traffic_class;
            self.way.next.has_vlan = self.path.val().has_vlan;
            self.way.next.vlan = self.path.val().vlan;
            self.way.next.flow_label = self.path.val().flow_label;
            self.way.next.source_address = self.path.val().source_address;
        }
        self.address_index.next = self.way.val().source_address;

        self.head.next.raw = false;
        self.head.next.dmac = self.way.val().peer_mac;
        self.head.next.smac = self.mac.val();
        self.head.next.tagged = self.way.val().has_vlan;
        self.head.next.tci = self.way.val().vlan;
        self.head.next.v6 = (self.way.val().peer_ip >> self.mapped_at.val()) != self.mapped.val();
        self.head.next.tclass = self.way.val().traffic_class;
        if self.unmarkable.val().get_bit(self.packet.val().op.index()) {
            self.head.next.tclass = self.way.val().traffic_class & self.class.val();
        }
        self.head.next.flow = self.way.val().flow_label;
        self.head.next.ident = 0.into();
        self.head.next.dont_fragment = true;
        self.head.next.ip_reserved = false;
        self.head.next.ip_sum = 0.into();
        self.head.next.hops = self.way.val().hop_limit;
        self.head.next.src_ip = self.address.val();
        self.head.next.dst_ip = self.way.val().peer_ip;
        self.head.next.sport = self.way.val().source_port;
        self.head.next.udp_sum = 0.into();
        // A notification of congestion belongs to no service, and is the same for all.
        self.unanswered.next =
            self.path.val().unreliable & !(self.packet.val().op >> self.service_at.val()).any();
        self.is_unanswered.next = self.unanswered.val();
        self.head.next.op = self.packet.val().op;
        if self.unanswered.val() {
            self.head.next.op = self.packet.val().op | self.unreliable_bit.val();
        }
        if self.path.val().datagram {
            self.head.next.op = self.packet.val().op | self.datagram_bits.val();
        }
        self.head.next.solicited = self.packet.val().solicited;
        // No other path is ever armed, and the specification calls that migrated; but not in a notification.
        self.head.next.migrated = self.packet.val().op != self.cnp.val();
        self.head.next.pad = 0.into();
        self.head.next.pkey = self.path.val().p_key;
        self.head.next.congestion = 0.into();
        if self.packet.val().op == self.cnp.val() {
            self.head.next.congestion = self.becn.val();
        }
        self.head.next.dqpn = self.path.val().peer;
        self.head.next.ackreq = self.packet.val().ackreq & !self.path.val().unreliable;
        self.head.next.psn = self.packet.val().psn;
        self.head.next.va = self.packet.val().va;
        self.head.next.rkey = self.packet.val().rkey;
        self.head.next.len = self.packet.val().len;
        self.head.next.aeth = self.packet.val().aeth;
        self.head.next.imm = self.packet.val().imm;
        self.head.next.a1 = self.packet.val().a1;
        self.head.next.a2 = self.packet.val().a2;
        self.head.next.qkey = 0.into();
        self.head.next.sqpn = 0.into();
        if self.path.val().datagram {
            self.head.next.dqpn = self.packet.val().va.get_bits::<24>(self.peer_at.val().index());
            self.head.next.sqpn = self.packet.val().qpn;
            self.head.next.qkey = self.packet.val().rkey;
            if self.packet.val().rkey.get_bit(self.own_key_at.val().index()) {
                self.head.next.qkey = self.path.val().q_key;
            }
        }
        self.head.next.payload_len = self.packet.val().payload_len;
    }
}
