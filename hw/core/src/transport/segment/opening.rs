//! Opening: all that can be said of a message before its first packet.

use rust_hdl::prelude::*;
use stroma_abi::desc::wqe::UNIT;

use super::MTU_BASE;
use super::codes::{ROW_BITS, ROWS, asking, operations};
use crate::constant::{constants, number};
use crate::host::parse::operations::{CALLS, one_of};
use crate::record;
use crate::transport::records::Message;

record! {
    /// A message, with its first packet worked out.
    pub struct Plan {
        /// The queue pair.
        pub qpn: Bits<24>,
        /// Its protection domain.
        pub pd: Bits<16>,
        /// Bytes of a full packet.
        pub mtu: Bits<13>,
        /// The operation, by its row.
        pub row: Bits<ROW_BITS>,
        /// The receiver is to be woken.
        pub solicited: Bit,
        /// Immediate data, or the key to invalidate.
        pub imm: Bits<32>,
        /// Atomic: what to add or to swap in.
        pub a1: Bits<64>,
        /// Atomic: what to compare.
        pub a2: Bits<64>,
        /// It carries data, from the WQE.
        pub inline: Bit,
        /// It carries data, from memory.
        pub fetched: Bit,
        /// It is an RPC: what it carries stands behind the entry of its result.
        pub is_call: Bit,
        /// Address at the peer of the first byte that is to be sent; of an RPC, its `RpcTarget`.
        pub remote: Bits<64>,
        /// `R_Key`.
        pub key: Bits<32>,
        /// Bytes from there to the end of the message.
        pub rest: Bits<32>,
        /// Packets to send.
        pub packets: Bits<24>,
        /// PSN of the first of them.
        pub psn: Bits<24>,
        /// Bytes of its payload.
        pub payload_len: Bits<13>,
        /// Row of the inline data that it begins with.
        pub place: Bits<3>,
        /// It is the first of the message.
        pub is_first: Bit,
        /// It is the last of the message.
        pub is_last: Bit,
        /// It is the only one that is sent.
        pub ends: Bit,
        /// Place among the queue pair's unacknowledged messages.
        pub slot: Bits<6>,
        /// All of it was admitted before.
        pub again: Bit,
        /// Colour it was admitted in.
        pub colour: Bit,
        /// Epoch of its queue pair when it was admitted.
        pub epoch: Bits<4>,
    }
}

block! {
    /// Works out a message's first packet. Logic only.
    ///
    /// Whoever counts the packets has it at once, and finds while one packet goes what the next one is.
    ///
    /// - **Ports** `message`: in; `plan`: out.
    /// - **Latency** 0 cycles. **Reset** none.
    /// - **Limits** as [`Segment`](super::Segment) has them; an operation outside the table is taken for its first row.
    pub struct Opening {
        pub message: Signal<In, Message>,
        pub plan: Signal<Out, Plan>,
        row: Signal<Local, Bits<ROW_BITS>>,
        asks: Signal<Local, Bit>,
        carries: Signal<Local, Bit>,
        rest: Signal<Local, Bits<32>>,
        mtu: Signal<Local, Bits<13>>,
        is_last: Signal<Local, Bit>,
        operations: [Constant<Bits<8>>; ROWS] = operations(),
        rows: [Constant<Bits<ROW_BITS>>; ROWS] = constants(|row| (row as u64).into()),
        calls: Constant<Bits<256>> = one_of(CALLS),
        asking: Constant<Bits<256>> = asking(),
        mtu_base: Constant<Bits<13>> = number(MTU_BASE),
        row_log: Constant<Bits<4>> = number(UNIT.ilog2()),
    }
}

impl Logic for Opening {
    #[hdl_gen]
    fn update(&mut self) {
        self.row.next = self.rows[0].val();
        for i in 1..ROWS {
            if self.message.val().opcode == self.operations[i].val() {
                self.row.next = self.rows[i].val();
            }
        }
        self.asks.next = self.asking.val().get_bit(self.message.val().opcode.index());
        self.carries.next = !self.asks.val() & self.message.val().length.any();
        self.rest.next = self.message.val().length - self.message.val().skips;
        self.mtu.next = self.mtu_base.val() << self.message.val().path_mtu;
        self.is_last.next = self.rest.val() <= bit_cast::<32, 13>(self.mtu.val());

        self.plan.next.qpn = self.message.val().qpn;
        self.plan.next.pd = self.message.val().pd;
        self.plan.next.mtu = self.mtu.val();
        self.plan.next.row = self.row.val();
        self.plan.next.solicited = self.message.val().solicited;
        self.plan.next.imm = self.message.val().imm;
        self.plan.next.a1 = self.message.val().a1;
        self.plan.next.a2 = self.message.val().a2;
        self.plan.next.inline = self.message.val().inline & self.carries.val();
        self.plan.next.fetched = !self.message.val().inline & self.carries.val();
        self.plan.next.is_call = self.calls.val().get_bit(self.message.val().opcode.index());
        self.plan.next.remote = self.message.val().remote + bit_cast::<64, 32>(self.message.val().skips);
        self.plan.next.key = self.message.val().key;
        self.plan.next.rest = self.rest.val();
        self.plan.next.packets = self.message.val().packets;
        self.plan.next.psn = self.message.val().psn;
        self.plan.next.payload_len = self.mtu.val();
        if self.asks.val() {
            self.plan.next.payload_len = 0.into();
        } else if self.is_last.val() {
            self.plan.next.payload_len = bit_cast::<13, 32>(self.rest.val());
        }
        self.plan.next.place = bit_cast::<3, 32>(self.message.val().skips >> self.row_log.val());
        self.plan.next.is_first = !self.message.val().skips.any();
        self.plan.next.is_last = self.is_last.val();
        self.plan.next.ends = self.asks.val() | self.is_last.val() | (self.message.val().packets == 1);
        self.plan.next.slot = self.message.val().slot;
        self.plan.next.again = self.message.val().again;
        self.plan.next.colour = self.message.val().colour;
        self.plan.next.epoch = self.message.val().epoch;
    }
}
