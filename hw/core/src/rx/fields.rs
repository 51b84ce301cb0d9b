//! The head of a packet, put together from its layers.

use rust_hdl::prelude::*;
use stroma_abi::Field;
use stroma_abi::wire::{Aeth, AtomicAckEth, AtomicEth, Deth, ImmDt, Reth, RpcEth};

use super::link::Link;
use super::network::Network;
use super::opcode::Carries;
use super::place::place;
use super::settle::Plan;
use super::transport::{EXTENDED_BYTES, Transport};
use crate::head::Head;

block! {
    /// Fills in the [`Head`]. Logic only.
    ///
    /// - **Ports** `link`, `network`, `transport`, `carries`, `extended`, `plan`: the frame, layer by layer; `head`:
    ///   its fields, meant if `plan.class` is zero.
    /// - **Latency** 0 cycles. **Reset** none.
    pub struct Fields {
        pub link: Signal<In, Link>,
        pub network: Signal<In, Network>,
        pub transport: Signal<In, Transport>,
        pub carries: Signal<In, Carries>,
        pub extended: Signal<In, Bits<224>>,
        pub plan: Signal<In, Plan>,
        pub head: Signal<Out, Head>,
        va_at: Constant<Bits<10>> = behind(0, Reth::ADDRESS),
        rkey_at: Constant<Bits<10>> = behind(0, Reth::REMOTE_KEY),
        len_at: Constant<Bits<10>> = behind(0, Reth::LENGTH),
        aeth_at: Constant<Bits<10>> = behind(0, Aeth::MSN),
        answer_at: Constant<Bits<10>> = behind(Aeth::LEN, AtomicAckEth::ORIGINAL),
        swap_at: Constant<Bits<10>> = behind(0, AtomicEth::SWAP_ADD),
        compare_at: Constant<Bits<10>> = behind(0, AtomicEth::COMPARE),
        imm_at: Constant<Bits<10>> = behind(0, ImmDt::DATA),
        imm_after_reth_at: Constant<Bits<10>> = behind(Reth::LEN, ImmDt::DATA),
        imm_after_deth_at: Constant<Bits<10>> = behind(Deth::LEN, ImmDt::DATA),
        qkey_at: Constant<Bits<10>> = behind(0, Deth::QUEUE_KEY),
        sqpn_at: Constant<Bits<10>> = behind(0, Deth::SOURCE_QP),
    }
}

/// A field of a header that begins `bytes` behind the BTH.
fn behind(bytes: usize, field: Field) -> Constant<Bits<10>> {
    place(field.at(bytes), EXTENDED_BYTES)
}

// One slice serves two headers where they agree.
const _: () = {
    assert!(AtomicEth::ADDRESS.offset() == Reth::ADDRESS.offset(), "`va_at` serves RETH and AtomicETH");
    assert!(
        AtomicEth::REMOTE_KEY.offset() == Reth::REMOTE_KEY.offset(),
        "`rkey_at` serves RETH and AtomicETH"
    );
    assert!(
        RpcEth::LEN == AtomicAckEth::LEN && RpcEth::STATUS.offset() == 0,
        "`answer_at` takes RPCETH whole"
    );
};

impl Logic for Fields {
    #[hdl_gen]
    fn update(&mut self) {
        self.head.next.raw = false;
        self.head.next.dmac = self.link.val().dmac;
        self.head.next.smac = self.link.val().smac;
        self.head.next.tagged = self.link.val().tagged;
        self.head.next.tci = self.link.val().tci;
        self.head.next.v6 = self.link.val().v6;
        self.head.next.tclass = self.network.val().tclass;
        self.head.next.flow = self.network.val().flow;
        self.head.next.ident = self.network.val().ident;
        self.head.next.dont_fragment = self.network.val().dont_fragment;
        self.head.next.ip_reserved = self.network.val().reserved;
        self.head.next.ip_sum = self.network.val().checksum;
        self.head.next.hops = self.network.val().hops;
        self.head.next.src_ip = self.network.val().src_ip;
        self.head.next.dst_ip = self.network.val().dst_ip;
        self.head.next.sport = self.transport.val().sport;
        self.head.next.udp_sum = self.transport.val().udp_sum;
        self.head.next.op = self.transport.val().op;
        self.head.next.solicited = self.transport.val().solicited;
        self.head.next.migrated = self.transport.val().migrated;
        self.head.next.pad = self.transport.val().pad;
        self.head.next.pkey = self.transport.val().pkey;
        self.head.next.congestion = self.transport.val().congestion;
        self.head.next.dqpn = self.transport.val().dqpn;
        self.head.next.ackreq = self.transport.val().ackreq;
        self.head.next.psn = self.transport.val().psn;
        self.head.next.payload_len = self.plan.val().keep;
        self.head.next.va = 0.into();
        self.head.next.rkey = 0.into();
        self.head.next.len = 0.into();
        self.head.next.aeth = 0.into();
        self.head.next.imm = 0.into();
        self.head.next.a1 = 0.into();
        self.head.next.a2 = 0.into();
        self.head.next.qkey = 0.into();
        self.head.next.sqpn = 0.into();
        if self.carries.val().reth | self.carries.val().atomic {
            self.head.next.va = self.extended.val().get_bits::<64>(self.va_at.val().index());
            self.head.next.rkey = self.extended.val().get_bits::<32>(self.rkey_at.val().index());
        }
        if self.carries.val().reth {
            self.head.next.len = self.extended.val().get_bits::<32>(self.len_at.val().index());
        }
        if self.carries.val().atomic {
            self.head.next.a1 = self.extended.val().get_bits::<64>(self.swap_at.val().index());
            self.head.next.a2 = self.extended.val().get_bits::<64>(self.compare_at.val().index());
        }
        if self.carries.val().aeth {
            self.head.next.aeth = self.extended.val().get_bits::<32>(self.aeth_at.val().index());
        }
        if self.carries.val().answer {
            self.head.next.a1 = self.extended.val().get_bits::<64>(self.answer_at.val().index());
        }
        if self.carries.val().imm {
            self.head.next.imm = self.extended.val().get_bits::<32>(self.imm_at.val().index());
        }
        if self.carries.val().imm_after_reth {
            self.head.next.imm = self.extended.val().get_bits::<32>(self.imm_after_reth_at.val().index());
        }
        if self.carries.val().imm_after_deth {
            self.head.next.imm = self.extended.val().get_bits::<32>(self.imm_after_deth_at.val().index());
        }
        if self.carries.val().deth {
            self.head.next.qkey = self.extended.val().get_bits::<32>(self.qkey_at.val().index());
            self.head.next.sqpn = self.extended.val().get_bits::<24>(self.sqpn_at.val().index());
        }
    }
}
