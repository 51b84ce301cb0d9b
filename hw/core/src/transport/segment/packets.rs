//! Packets: a message becomes the heads of its packets.

use rust_hdl::prelude::*;
use stroma_abi::desc::wqe::UNIT;

use super::codes::Codes;
use super::data::Part;
use super::opening::Plan;
use crate::constant::number;
use crate::prim::reg::Reg;
use crate::record;
use crate::stream::{StreamSink, StreamSource};

record! {
    /// What all steps of a packet say.
    pub struct Packet {
        /// The queue pair.
        pub qpn: Bits<24>,
        /// Its protection domain.
        pub pd: Bits<16>,
        /// BTH op-code.
        pub op: Bits<8>,
        /// BTH packet sequence number.
        pub psn: Bits<24>,
        /// BTH solicited event.
        pub solicited: Bit,
        /// RETH or AtomicETH virtual address.
        pub va: Bits<64>,
        /// RETH or AtomicETH remote key.
        pub rkey: Bits<32>,
        /// RETH DMA length.
        pub len: Bits<32>,
        /// ImmDt, or IETH's key.
        pub imm: Bits<32>,
        /// AtomicETH swap or add data.
        pub a1: Bits<64>,
        /// AtomicETH compare data.
        pub a2: Bits<64>,
        /// Bytes of payload.
        pub payload_len: Bits<13>,
        /// They come from memory.
        pub fetched: Bit,
        /// They come from the WQE.
        pub inline: Bit,
        /// Place of the message.
        pub slot: Bits<6>,
        /// It was admitted before.
        pub again: Bit,
        /// Colour it was admitted in.
        pub colour: Bit,
        /// Last packet of what was admitted.
        pub ends: Bit,
        /// Epoch it was admitted in.
        pub epoch: Bits<4>,
    }
}

block! {
    /// Counts out the packets of each message.
    ///
    /// - **Ports** `plan`: messages; `source`: their packets; `part`: for each packet with inline data, which data.
    /// - **Latency** 0 cycles. **Rate** a packet per cycle.
    /// - **Backpressure** stalls `plan`, whose `ready` follows `source.ready` combinationally, as `part.valid` does; no packet
    ///   is offered while `part` has no room, which must stay there until it is used.
    /// - **Reset** forgets the message under way.
    /// - **Limits** a message ends with its last byte, whatever it says of packets; one that carries nothing, with its first.
    pub struct Packets {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub plan: StreamSink<Plan>,
        pub source: StreamSource<Packet>,
        pub part: StreamSource<Part>,
        codes: Codes,
        /// A packet of the message has gone. Of the next one: bytes and packets from it on, PSN, bytes of payload, row of
        /// inline data, and whether it is the last of the message, and of the visit.
        is_begun: Reg<Bit>,
        rest: Reg<Bits<32>>,
        left: Reg<Bits<24>>,
        psn: Reg<Bits<24>>,
        payload_len: Reg<Bits<13>>,
        place: Reg<Bits<3>>,
        is_last: Reg<Bit>,
        ends: Reg<Bit>,
        rest_now: Signal<Local, Bits<32>>,
        left_now: Signal<Local, Bits<24>>,
        psn_now: Signal<Local, Bits<24>>,
        payload_len_now: Signal<Local, Bits<13>>,
        place_now: Signal<Local, Bits<3>>,
        is_last_now: Signal<Local, Bit>,
        ends_now: Signal<Local, Bit>,
        mtu: Signal<Local, Bits<32>>,
        rest_next: Signal<Local, Bits<32>>,
        is_last_next: Signal<Local, Bit>,
        offers: Signal<Local, Bit>,
        goes: Signal<Local, Bit>,
        row_log: Constant<Bits<4>> = number(UNIT.ilog2()),
    }
}

impl Logic for Packets {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, is_begun, rest, left, psn, payload_len, place, is_last, ends);

        self.rest_now.next = self.plan.payload.val().rest;
        self.left_now.next = self.plan.payload.val().packets;
        self.psn_now.next = self.plan.payload.val().psn;
        self.payload_len_now.next = self.plan.payload.val().payload_len;
        self.place_now.next = self.plan.payload.val().place;
        self.is_last_now.next = self.plan.payload.val().is_last;
        self.ends_now.next = self.plan.payload.val().ends;
        if self.is_begun.q.val() {
            self.rest_now.next = self.rest.q.val();
            self.left_now.next = self.left.q.val();
            self.psn_now.next = self.psn.q.val();
            self.payload_len_now.next = self.payload_len.q.val();
            self.place_now.next = self.place.q.val();
            self.is_last_now.next = self.is_last.q.val();
            self.ends_now.next = self.ends.q.val();
        }
        self.codes.row.next = self.plan.payload.val().row;
        self.codes.is_first.next = self.plan.payload.val().is_first & !self.is_begun.q.val();
        self.codes.is_last.next = self.is_last_now.val();

        self.offers.next = self.plan.valid.val() & self.part.ready.val();
        self.goes.next = self.offers.val() & self.source.ready.val();
        self.plan.ready.next = self.goes.val() & self.ends_now.val();
        self.source.valid.next = self.offers.val();
        self.source.payload.next.qpn = self.plan.payload.val().qpn;
        self.source.payload.next.pd = self.plan.payload.val().pd;
        self.source.payload.next.op = self.codes.op.val();
        self.source.payload.next.psn = self.psn_now.val();
        self.source.payload.next.solicited = self.plan.payload.val().solicited & self.codes.may_wake.val();
        // These stand in the first packet of a visit, if in any.
        self.source.payload.next.va = 0.into();
        self.source.payload.next.rkey = 0.into();
        if self.codes.has_address.val() {
            self.source.payload.next.va = self.plan.payload.val().remote;
            self.source.payload.next.rkey = self.plan.payload.val().key;
        }
        self.source.payload.next.len = 0.into();
        if self.codes.has_length.val() {
            self.source.payload.next.len = self.plan.payload.val().rest;
        }
        self.source.payload.next.imm = 0.into();
        if self.codes.has_imm.val() {
            self.source.payload.next.imm = self.plan.payload.val().imm;
        }
        self.source.payload.next.a1 = 0.into();
        self.source.payload.next.a2 = 0.into();
        if self.codes.has_operands.val() {
            self.source.payload.next.a1 = self.plan.payload.val().a1;
            self.source.payload.next.a2 = self.plan.payload.val().a2;
        }
        self.source.payload.next.payload_len = self.payload_len_now.val();
        self.source.payload.next.fetched = self.plan.payload.val().fetched;
        self.source.payload.next.inline = self.plan.payload.val().inline;
        self.source.payload.next.slot = self.plan.payload.val().slot;
        self.source.payload.next.again = self.plan.payload.val().again;
        self.source.payload.next.colour = self.plan.payload.val().colour;
        self.source.payload.next.ends = self.ends_now.val();
        self.source.payload.next.epoch = self.plan.payload.val().epoch;

        self.part.valid.next = self.goes.val() & self.plan.payload.val().inline;
        self.part.payload.next.row = self.place_now.val();
        self.part.payload.next.len = bit_cast::<9, 13>(self.payload_len_now.val());
        self.part.payload.next.is_second = self.plan.payload.val().is_call;
        self.part.payload.next.last = self.ends_now.val();

        // The next packet is the last if two hold all that is left.
        self.mtu.next = bit_cast::<32, 13>(self.plan.payload.val().mtu);
        self.rest_next.next = self.rest_now.val() - self.mtu.val();
        self.is_last_next.next = self.rest_now.val() <= (self.mtu.val() << 1);
        if self.goes.val() {
            self.is_begun.d.next = !self.ends_now.val();
            self.rest.d.next = self.rest_next.val();
            self.left.d.next = self.left_now.val() - 1;
            self.psn.d.next = self.psn_now.val() + 1;
            self.payload_len.d.next = self.plan.payload.val().mtu;
            if self.is_last_next.val() {
                self.payload_len.d.next = bit_cast::<13, 32>(self.rest_next.val());
            }
            self.place.d.next =
                self.place_now.val() + bit_cast::<3, 32>(self.mtu.val() >> self.row_log.val());
            self.is_last.d.next = self.is_last_next.val();
            self.ends.d.next = self.is_last_next.val() | (self.left_now.val() == 2);
        }
        if self.reset.val() {
            self.is_begun.d.next = false;
        }
    }
}
