//! Codes: which op-code a packet has, and what stands in its headers.

use rust_hdl::prelude::*;
use stroma_abi::desc::WorkOp;
use stroma_abi::wire::opcode::{
    RC_CMP_SWAP, RC_FETCH_ADD, RC_READ_REQUEST, RC_SEND_FIRST, RC_SEND_LAST, RC_SEND_LAST_IMM,
    RC_SEND_LAST_INV, RC_SEND_MIDDLE, RC_SEND_ONLY, RC_SEND_ONLY_IMM, RC_SEND_ONLY_INV, RC_WRITE_FIRST,
    RC_WRITE_LAST, RC_WRITE_LAST_IMM, RC_WRITE_MIDDLE, RC_WRITE_ONLY, RC_WRITE_ONLY_IMM, RPC_PARAMS,
    RPC_WRITE_FIRST, RPC_WRITE_LAST, RPC_WRITE_MIDDLE, RPC_WRITE_ONLY,
};
use stroma_abi::wire::{Header, Opcode};

use crate::constant::{constants, number};
use crate::host::parse::operations::one_of;

/// Rows of the table.
pub const ROWS: usize = 10;
/// Bits of a row's number.
pub const ROW_BITS: usize = 4;
/// What each operation is called in a message's first, middle, last and only packet. Those that are always one packet have
/// one name, wherever they take up an answer that broke off.
static TABLE: [(WorkOp, [Opcode; 4]); ROWS] = [
    (WorkOp::Send, [RC_SEND_FIRST, RC_SEND_MIDDLE, RC_SEND_LAST, RC_SEND_ONLY]),
    (WorkOp::SendImm, [RC_SEND_FIRST, RC_SEND_MIDDLE, RC_SEND_LAST_IMM, RC_SEND_ONLY_IMM]),
    (WorkOp::SendInv, [RC_SEND_FIRST, RC_SEND_MIDDLE, RC_SEND_LAST_INV, RC_SEND_ONLY_INV]),
    (WorkOp::Write, [RC_WRITE_FIRST, RC_WRITE_MIDDLE, RC_WRITE_LAST, RC_WRITE_ONLY]),
    (WorkOp::WriteImm, [RC_WRITE_FIRST, RC_WRITE_MIDDLE, RC_WRITE_LAST_IMM, RC_WRITE_ONLY_IMM]),
    (WorkOp::Read, [RC_READ_REQUEST; 4]),
    (WorkOp::CmpSwap, [RC_CMP_SWAP; 4]),
    (WorkOp::FetchAdd, [RC_FETCH_ADD; 4]),
    (WorkOp::Rpc, [RPC_PARAMS; 4]),
    (WorkOp::RpcWrite, [RPC_WRITE_FIRST, RPC_WRITE_MIDDLE, RPC_WRITE_LAST, RPC_WRITE_ONLY]),
];
/// Those that take a receive of the peer, whose completion may wake somebody.
const WAKING: &[WorkOp] = &[WorkOp::Send, WorkOp::SendImm, WorkOp::SendInv, WorkOp::WriteImm];
/// Which column of the table holds a packet that is neither first nor last, first, last, or both.
const COLUMNS: [usize; 4] = [1, 0, 2, 3];
/// Rows by columns.
const PACKETS: usize = 4 * ROWS;
/// As many as a packet's number could name.
const NUMBERS: usize = 4 << ROW_BITS;

const _: () = assert!(ROWS <= 1 << ROW_BITS && NUMBERS == 64, "four bits name a row, six a packet");

/// The operations of the table, by row.
pub(super) fn operations() -> [Constant<Bits<8>>; ROWS] {
    constants(|row| (TABLE[row].0 as u64).into())
}

/// One bit an operation: is it one packet, which carries nothing?
pub(super) fn asking() -> Constant<Bits<256>> {
    let asks = |row: &&(WorkOp, [Opcode; 4])| row.1.iter().all(|code| !code.payload);
    one_of(&TABLE.iter().filter(asks).map(|row| row.0).collect::<Vec<_>>())
}

/// The packet with this number: its row, and behind it whether it is last, and whether first.
fn packet(number: usize) -> &'static Opcode {
    &TABLE[number / 4].1[COLUMNS[number % 4]]
}

/// One bit a packet.
fn packets(holds: impl Fn(usize) -> bool) -> Constant<Bits<NUMBERS>> {
    number((0..PACKETS).filter(|number| holds(*number)).fold(0_u64, |mask, number| mask | 1 << number))
}

/// One bit a packet: does it carry one of these headers?
fn carriers(headers: &[Header]) -> Constant<Bits<NUMBERS>> {
    packets(|number| headers.iter().any(|header| packet(number).headers.contains(header)))
}

/// One bit a packet: does it carry an address, or is it a SEND that would be a datagram elsewhere?
fn addressed() -> Constant<Bits<NUMBERS>> {
    let has = |code: &Opcode| [Header::Reth, Header::AtomicEth].iter().any(|one| code.headers.contains(one));
    packets(|number| has(packet(number)) || [RC_SEND_ONLY, RC_SEND_ONLY_IMM].contains(packet(number)))
}

/// One bit a packet: does it end a message that takes a receive?
fn waking() -> Constant<Bits<NUMBERS>> {
    packets(|number| number % 4 >= 2 && WAKING.contains(&TABLE[number / 4].0))
}

block! {
    /// Looks up a packet. Logic only.
    ///
    /// What it is asked follows from six bits, so that each bit of the answer is one table of the chip.
    ///
    /// - **Ports** `row`: the operation, by its place in the table; `is_first`, `is_last`: the packet's place in the
    ///   message. `op`: its BTH op-code; `has_address`: RETH or AtomicETH, or a place that a datagram names; `has_length`: RETH; `has_operands`: AtomicETH;
    ///   `has_imm`: ImmDt or IETH; `may_wake`: it ends a message that takes a receive.
    /// - **Latency** 0 cycles. **Reset** none.
    pub struct Codes {
        pub row: Signal<In, Bits<ROW_BITS>>,
        pub is_first: Signal<In, Bit>,
        pub is_last: Signal<In, Bit>,
        pub op: Signal<Out, Bits<8>>,
        pub has_address: Signal<Out, Bit>,
        pub has_length: Signal<Out, Bit>,
        pub has_operands: Signal<Out, Bit>,
        pub has_imm: Signal<Out, Bit>,
        pub may_wake: Signal<Out, Bit>,
        place: Signal<Local, Bits<2>>,
        packet: Signal<Local, Bits<6>>,
        names: [Constant<Bits<8>>; PACKETS] = constants(|number| u64::from(packet(number).code).into()),
        address: Constant<Bits<NUMBERS>> = addressed(),
        length: Constant<Bits<NUMBERS>> = carriers(&[Header::Reth]),
        operands: Constant<Bits<NUMBERS>> = carriers(&[Header::AtomicEth]),
        imm: Constant<Bits<NUMBERS>> = carriers(&[Header::ImmDt, Header::Ieth]),
        waking: Constant<Bits<NUMBERS>> = waking(),
    }
}

impl Logic for Codes {
    #[hdl_gen]
    fn update(&mut self) {
        self.place.next = 0.into();
        if self.is_first.val() & self.is_last.val() {
            self.place.next = 3.into();
        } else if self.is_last.val() {
            self.place.next = 2.into();
        } else if self.is_first.val() {
            self.place.next = 1.into();
        }
        self.packet.next =
            (bit_cast::<6, ROW_BITS>(self.row.val()) << 2) | bit_cast::<6, 2>(self.place.val());
        self.op.next = self.names[0].val();
        for i in 1..PACKETS {
            if self.packet.val().index() == i {
                self.op.next = self.names[i].val();
            }
        }
        self.has_address.next = self.address.val().get_bit(self.packet.val().index());
        self.has_length.next = self.length.val().get_bit(self.packet.val().index());
        self.has_operands.next = self.operands.val().get_bit(self.packet.val().index());
        self.has_imm.next = self.imm.val().get_bit(self.packet.val().index());
        self.may_wake.next = self.waking.val().get_bit(self.packet.val().index());
    }
}
