//! Packets: a message becomes the heads of its packets.

use rust_hdl::prelude::*;
use stroma_abi::desc::wqe::UNIT;

use super::MTU_BASE;
use super::codes::Codes;
use super::data::Part;
use crate::constant::number;
use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::record;
use crate::stream::{StreamSink, StreamSource};
use crate::transport::records::Message;

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
    /// - **Ports** `plan`: messages; `source`: their packets; `part`: for each packet with inline data, which data; `busy`:
    ///   a packet waits.
    /// - **Latency** 2 cycles. **Rate** a packet per cycle, and 1 cycle more for each message.
    /// - **Backpressure** stalls `plan`. No combinational path from port to port but from `part.ready` back.
    /// - **Reset** empties it.
    /// - **Limits** a message ends with its last byte, whatever it says of packets; one that carries nothing, with its first.
    pub struct Packets {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub plan: StreamSink<Message>,
        pub source: StreamSource<Packet>,
        pub part: StreamSource<Part>,
        pub busy: Signal<Out, Bit>,
        codes: Codes,
        found: Fifo<Packet, 2>,
        /// A message is under way: whether its first packet comes next, and where that begins at the peer.
        is_open: Reg<Bit>,
        is_first: Reg<Bit>,
        remote: Reg<Bits<64>>,
        /// Bytes and packets to come.
        rest: Reg<Bits<32>>,
        left: Reg<Bits<24>>,
        psn: Reg<Bits<24>>,
        mtu: Signal<Local, Bits<32>>,
        is_last: Signal<Local, Bit>,
        ends: Signal<Local, Bit>,
        payload_len: Signal<Local, Bits<13>>,
        has_room: Signal<Local, Bit>,
        goes: Signal<Local, Bit>,
        at: Signal<Local, Bits<32>>,
        mtu_base: Constant<Bits<32>> = number(MTU_BASE),
        row_log: Constant<Bits<4>> = number(UNIT.ilog2()),
    }
}

impl Logic for Packets {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, found);
        dff_setup!(self, clock, is_open, is_first, remote, rest, left, psn);
        self.found.reset.next = self.reset.val();

        if !self.is_open.q.val() {
            self.is_open.d.next = self.plan.valid.val();
            self.is_first.d.next = !self.plan.payload.val().skips.any();
            self.remote.d.next =
                self.plan.payload.val().remote + bit_cast::<64, 32>(self.plan.payload.val().skips);
            self.rest.d.next = self.plan.payload.val().length - self.plan.payload.val().skips;
            self.left.d.next = self.plan.payload.val().packets;
            self.psn.d.next = self.plan.payload.val().psn;
        }

        self.mtu.next = self.mtu_base.val() << self.plan.payload.val().path_mtu;
        self.is_last.next = self.rest.q.val() <= self.mtu.val();
        self.ends.next = self.is_last.val() | (self.left.q.val() == 1);
        self.payload_len.next = bit_cast::<13, 32>(self.mtu.val());
        if self.is_last.val() {
            self.payload_len.next = bit_cast::<13, 32>(self.rest.q.val());
        }
        self.codes.operation.next = self.plan.payload.val().opcode;
        self.codes.is_first.next = self.is_first.q.val();
        self.codes.is_last.next = self.is_last.val();
        if !self.codes.has_payload.val() {
            self.ends.next = true;
            self.payload_len.next = 0.into();
        }

        self.has_room.next = self.found.sink.ready.val() & self.part.ready.val();
        self.goes.next = self.is_open.q.val() & self.has_room.val();
        self.plan.ready.next = self.goes.val() & self.ends.val();
        self.found.sink.valid.next = self.goes.val();
        self.found.sink.payload.next.qpn = self.plan.payload.val().qpn;
        self.found.sink.payload.next.pd = self.plan.payload.val().pd;
        self.found.sink.payload.next.op = self.codes.op.val();
        self.found.sink.payload.next.psn = self.psn.q.val();
        self.found.sink.payload.next.solicited =
            self.plan.payload.val().solicited & self.codes.may_wake.val();
        self.found.sink.payload.next.va = 0.into();
        self.found.sink.payload.next.rkey = 0.into();
        if self.codes.has_address.val() {
            self.found.sink.payload.next.va = self.remote.q.val();
            self.found.sink.payload.next.rkey = self.plan.payload.val().key;
        }
        self.found.sink.payload.next.len = 0.into();
        if self.codes.has_length.val() {
            self.found.sink.payload.next.len = self.rest.q.val();
        }
        self.found.sink.payload.next.imm = 0.into();
        if self.codes.has_imm.val() {
            self.found.sink.payload.next.imm = self.plan.payload.val().imm;
        }
        self.found.sink.payload.next.a1 = 0.into();
        self.found.sink.payload.next.a2 = 0.into();
        if self.codes.has_operands.val() {
            self.found.sink.payload.next.a1 = self.plan.payload.val().a1;
            self.found.sink.payload.next.a2 = self.plan.payload.val().a2;
        }
        self.found.sink.payload.next.payload_len = self.payload_len.val();
        self.found.sink.payload.next.inline = self.plan.payload.val().inline & self.payload_len.val().any();
        self.found.sink.payload.next.slot = self.plan.payload.val().slot;
        self.found.sink.payload.next.again = self.plan.payload.val().again;
        self.found.sink.payload.next.colour = self.plan.payload.val().colour;
        self.found.sink.payload.next.ends = self.ends.val();
        self.found.sink.payload.next.epoch = self.plan.payload.val().epoch;

        self.at.next = self.plan.payload.val().length - self.rest.q.val();
        self.part.valid.next =
            self.goes.val() & self.plan.payload.val().inline & self.payload_len.val().any();
        self.part.payload.next.row = bit_cast::<3, 32>(self.at.val() >> self.row_log.val());
        self.part.payload.next.len = bit_cast::<9, 13>(self.payload_len.val());
        self.part.payload.next.last = self.ends.val();

        if self.goes.val() {
            self.is_open.d.next = !self.ends.val();
            self.is_first.d.next = false;
            self.rest.d.next = self.rest.q.val() - self.mtu.val();
            self.left.d.next = self.left.q.val() - 1;
            self.psn.d.next = self.psn.q.val() + 1;
        }
        StreamSource::<Packet>::link(&mut self.source, &mut self.found.source);
        self.busy.next = self.found.source.valid.val();
        if self.reset.val() {
            self.is_open.d.next = false;
        }
    }
}
