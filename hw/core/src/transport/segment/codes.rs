//! Codes: which op-code a packet has, and what stands in its headers.

use rust_hdl::prelude::*;
use stroma_abi::desc::WorkOp;
use stroma_abi::wire::opcode::{
    RC_CMP_SWAP, RC_FETCH_ADD, RC_READ_REQUEST, RC_SEND_FIRST, RC_SEND_LAST, RC_SEND_LAST_IMM,
    RC_SEND_LAST_INV, RC_SEND_MIDDLE, RC_SEND_ONLY, RC_SEND_ONLY_IMM, RC_SEND_ONLY_INV, RC_WRITE_FIRST,
    RC_WRITE_LAST, RC_WRITE_LAST_IMM, RC_WRITE_MIDDLE, RC_WRITE_ONLY, RC_WRITE_ONLY_IMM,
};
use stroma_abi::wire::{Header, Opcode};

use crate::constant::constants;
use crate::host::parse::operations::one_of;
use crate::tx::transport::opcodes;

/// Rows of the table.
const ROWS: usize = 8;
/// What each operation is called in a message's first, middle, last and only packet. Those that are always one packet have
/// one name, wherever they take up an answer that broke off.
const TABLE: [(WorkOp, [Opcode; 4]); ROWS] = [
    (WorkOp::Send, [RC_SEND_FIRST, RC_SEND_MIDDLE, RC_SEND_LAST, RC_SEND_ONLY]),
    (WorkOp::SendImm, [RC_SEND_FIRST, RC_SEND_MIDDLE, RC_SEND_LAST_IMM, RC_SEND_ONLY_IMM]),
    (WorkOp::SendInv, [RC_SEND_FIRST, RC_SEND_MIDDLE, RC_SEND_LAST_INV, RC_SEND_ONLY_INV]),
    (WorkOp::Write, [RC_WRITE_FIRST, RC_WRITE_MIDDLE, RC_WRITE_LAST, RC_WRITE_ONLY]),
    (WorkOp::WriteImm, [RC_WRITE_FIRST, RC_WRITE_MIDDLE, RC_WRITE_LAST_IMM, RC_WRITE_ONLY_IMM]),
    (WorkOp::Read, [RC_READ_REQUEST; 4]),
    (WorkOp::CmpSwap, [RC_CMP_SWAP; 4]),
    (WorkOp::FetchAdd, [RC_FETCH_ADD; 4]),
];
/// Those that take a receive of the peer, whose completion may wake somebody.
const WAKING: &[WorkOp] = &[WorkOp::Send, WorkOp::SendImm, WorkOp::SendInv, WorkOp::WriteImm];

/// One bit an operation: is it one packet, which carries nothing?
pub(super) fn asking() -> Constant<Bits<256>> {
    let asks = |row: &&(WorkOp, [Opcode; 4])| row.1.iter().all(|code| !code.payload);
    one_of(&TABLE.iter().filter(asks).map(|row| row.0).collect::<Vec<_>>())
}

/// The op-codes of all operations at a place in the message, by row.
fn column(place: usize) -> [Constant<Bits<8>>; ROWS] {
    constants(|row| u64::from(TABLE[row].1[place].code).into())
}

/// One bit an op-code: does it carry one of these headers?
fn carriers(headers: &[Header]) -> Constant<Bits<256>> {
    Constant::new(opcodes(|row| headers.iter().any(|header| row.headers.contains(header))))
}

block! {
    /// Looks up a packet. Logic only.
    ///
    /// - **Ports** `operation`: the message's `WorkOp`; `is_first`, `is_last`: the packet's place in it. `op`: its BTH op-code.
    ///   `has_payload`: it may carry data; `has_address`: RETH or AtomicETH; `has_length`: RETH; `has_operands`: AtomicETH;
    ///   `has_imm`: ImmDt or IETH; `may_wake`: it ends a message that takes a receive.
    /// - **Latency** 0 cycles. **Reset** none.
    /// - **Limits** an operation outside the table is taken for a SEND's middle.
    pub struct Codes {
        pub operation: Signal<In, Bits<8>>,
        pub is_first: Signal<In, Bit>,
        pub is_last: Signal<In, Bit>,
        pub op: Signal<Out, Bits<8>>,
        pub has_payload: Signal<Out, Bit>,
        pub has_address: Signal<Out, Bit>,
        pub has_length: Signal<Out, Bit>,
        pub has_operands: Signal<Out, Bit>,
        pub has_imm: Signal<Out, Bit>,
        pub may_wake: Signal<Out, Bit>,
        code: Signal<Local, Bits<8>>,
        operations: [Constant<Bits<8>>; ROWS] = constants(|row| (TABLE[row].0 as u64).into()),
        first: [Constant<Bits<8>>; ROWS] = column(0),
        middle: [Constant<Bits<8>>; ROWS] = column(1),
        last: [Constant<Bits<8>>; ROWS] = column(2),
        only: [Constant<Bits<8>>; ROWS] = column(3),
        waking: Constant<Bits<256>> = one_of(WAKING),
        payload: Constant<Bits<256>> = Constant::new(opcodes(|row| row.payload)),
        address: Constant<Bits<256>> = carriers(&[Header::Reth, Header::AtomicEth]),
        length: Constant<Bits<256>> = carriers(&[Header::Reth]),
        operands: Constant<Bits<256>> = carriers(&[Header::AtomicEth]),
        imm: Constant<Bits<256>> = carriers(&[Header::ImmDt, Header::Ieth]),
    }
}

impl Logic for Codes {
    #[hdl_gen]
    fn update(&mut self) {
        self.code.next = self.middle[0].val();
        for i in 0..8 {
            if self.operation.val() == self.operations[i].val() {
                self.code.next = self.middle[i].val();
                if self.is_first.val() & self.is_last.val() {
                    self.code.next = self.only[i].val();
                } else if self.is_first.val() {
                    self.code.next = self.first[i].val();
                } else if self.is_last.val() {
                    self.code.next = self.last[i].val();
                }
            }
        }
        self.op.next = self.code.val();
        self.has_payload.next = self.payload.val().get_bit(self.code.val().index());
        self.has_address.next = self.address.val().get_bit(self.code.val().index());
        self.has_length.next = self.length.val().get_bit(self.code.val().index());
        self.has_operands.next = self.operands.val().get_bit(self.code.val().index());
        self.has_imm.next = self.imm.val().get_bit(self.code.val().index());
        self.may_wake.next = self.is_last.val() & self.waking.val().get_bit(self.operation.val().index());
    }
}
