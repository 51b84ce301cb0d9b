//! Kind: what a work is, told as it comes.

use rust_hdl::prelude::*;
use stroma_abi::desc::WorkOp;
use stroma_abi::wire::RpcTarget;

use super::measure::Measure;
use crate::constant::number;
use crate::host::parse::operations::{KEYS, one_of};
use crate::host::work::Work;
use crate::record;

const _: () = assert!(
    WorkOp::Send as u8 + 9 == WorkOp::RpcWrite as u8
        && WorkOp::Read as u8 + 1 == WorkOp::CmpSwap as u8
        && WorkOp::CmpSwap as u8 + 1 == WorkOp::FetchAdd as u8
        && WorkOp::FetchAdd as u8 + 1 == WorkOp::Rpc as u8
        && WorkOp::Rpc as u8 + 1 == WorkOp::RpcWrite as u8,
    "requests are the codes from SEND to RPC_WRITE, and those that ask for data are the last"
);

record! {
    /// What a work is.
    pub struct Kind {
        /// It has units.
        pub has_units: Bit,
        /// It is a request to the peer, without a status: SEND, WRITE, READ, an atomic or an RPC.
        pub is_request: Bit,
        /// It is work on a key, without a status.
        pub is_key: Bit,
        /// Its op-code asks for data: READ, an atomic or an RPC.
        pub asks: Bit,
        /// Its op-code is an atomic's.
        pub is_atomic: Bit,
        /// Its op-code is an RPC's.
        pub is_call: Bit,
        /// Packets that its bytes fill.
        pub packets: Bits<24>,
        /// Packets that the longest answer of an RPC fills; of others this means nothing.
        pub answers: Bits<9>,
    }
}

block! {
    /// Tells the kind of a work. Logic only.
    ///
    /// - **Ports** `work`: the work; `kind`: its kind.
    /// - **Latency** 0 cycles. **Reset** none.
    /// - **Limits** an RPC is answered with `2^16` bytes at most.
    pub struct Sort {
        pub work: Signal<In, Work>,
        pub kind: Signal<Out, Kind>,
        measure: Measure,
        answer: Measure,
        is_bare: Signal<Local, Bit>,
        is_request: Signal<Local, Bit>,
        is_atomic: Signal<Local, Bit>,
        has_list: Signal<Local, Bit>,
        gather: Constant<Bits<8>> = number(WorkOp::Gather as u64),
        scatter: Constant<Bits<8>> = number(WorkOp::Scatter as u64),
        bind: Constant<Bits<8>> = number(WorkOp::Bind as u64),
        keys: Constant<Bits<256>> = one_of(KEYS),
        send: Constant<Bits<8>> = number(WorkOp::Send as u64),
        read: Constant<Bits<8>> = number(WorkOp::Read as u64),
        fetch_add: Constant<Bits<8>> = number(WorkOp::FetchAdd as u64),
        rpc_write: Constant<Bits<8>> = number(WorkOp::RpcWrite as u64),
        response_at: Constant<Bits<6>> = number(RpcTarget::RESPONSE_MAX.low_bit(RpcTarget::LEN)),
    }
}

impl Logic for Sort {
    #[hdl_gen]
    fn update(&mut self) {
        self.is_bare.next = self.work.val().ends | self.work.val().status.any();
        self.is_request.next =
            (self.work.val().opcode >= self.send.val()) & (self.work.val().opcode <= self.rpc_write.val());
        self.is_atomic.next =
            (self.work.val().opcode > self.read.val()) & (self.work.val().opcode <= self.fetch_add.val());
        self.has_list.next = (self.work.val().opcode == self.bind.val())
            | (self.work.val().opcode == self.gather.val())
            | (self.work.val().opcode == self.scatter.val());
        self.kind.next.has_units = !self.is_bare.val() & (self.is_request.val() | self.has_list.val());
        self.kind.next.is_request = !self.is_bare.val() & self.is_request.val();
        self.kind.next.is_key = !self.is_bare.val() & self.keys.val().get_bit(self.work.val().opcode.index());
        self.kind.next.asks =
            (self.work.val().opcode >= self.read.val()) & (self.work.val().opcode <= self.rpc_write.val());
        self.kind.next.is_call = (self.work.val().opcode > self.fetch_add.val())
            & (self.work.val().opcode <= self.rpc_write.val());
        self.kind.next.is_atomic = self.is_atomic.val();
        self.measure.length.next = self.work.val().length;
        self.measure.path_mtu.next = self.work.val().path_mtu;
        self.answer.length.next = bit_cast::<32, 64>(self.work.val().remote >> self.response_at.val());
        self.answer.path_mtu.next = self.work.val().path_mtu;
        self.kind.next.packets = self.measure.packets.val();
        self.kind.next.answers = bit_cast::<9, 24>(self.answer.packets.val());
    }
}
