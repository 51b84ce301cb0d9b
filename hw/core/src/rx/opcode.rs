//! The op-code table in hardware: one comparison a row, and what the row says.

use rust_hdl::prelude::*;
use stroma_abi::wire::opcode::{EXTENDED_MAX, TABLE};
use stroma_abi::wire::{Aeth, Deth, Header, Opcode, Reth};

use crate::constant::{constants, number};
use crate::record;

/// Rows of the table.
const ROWS: usize = TABLE.len();
/// One answer before the first row, and one behind each.
const ANSWERS: usize = ROWS + 1;

const _: () = assert!(EXTENDED_MAX < 4 << 3, "three bits count the words of the extended headers");

record! {
    /// What follows the BTH: how many words, and which fields are where.
    pub struct Carries {
        /// The op-code is in the table.
        pub known: Bit,
        /// Length of the extended headers in 4-byte words.
        pub words: Bits<3>,
        /// DETH behind the BTH.
        pub deth: Bit,
        /// RETH behind the BTH.
        pub reth: Bit,
        /// `AtomicETH` behind the BTH.
        pub atomic: Bit,
        /// AETH behind the BTH.
        pub aeth: Bit,
        /// `AtomicAckETH` or RPCETH behind an AETH: eight bytes that travel as one value.
        pub answer: Bit,
        /// `ImmDt` or IETH behind the BTH.
        pub imm: Bit,
        /// `ImmDt` behind a RETH.
        pub imm_after_reth: Bit,
        /// `ImmDt` behind a DETH.
        pub imm_after_deth: Bit,
    }
}

/// A row of the table as the hardware's record.
///
/// # Panics
/// If the op-code has a header where no field is taken from.
pub(super) fn carries(row: &Opcode) -> Carries {
    let mut carries =
        Carries { known: true, words: (row.extended_len() as u64 / 4).into(), ..Carries::default() };
    let mut at = 0;
    for header in row.headers {
        match (header, at) {
            (Header::Deth, 0) => carries.deth = true,
            (Header::Reth, 0) => carries.reth = true,
            (Header::AtomicEth, 0) => carries.atomic = true,
            (Header::Aeth, 0) => carries.aeth = true,
            (Header::AtomicAckEth | Header::RpcEth, Aeth::LEN) => carries.answer = true,
            (Header::ImmDt | Header::Ieth, 0) => carries.imm = true,
            (Header::ImmDt, Reth::LEN) => carries.imm_after_reth = true,
            (Header::ImmDt, Deth::LEN) => carries.imm_after_deth = true,
            // Sixteen reserved bytes, of which nothing is kept.
            (Header::Cnp, 0) => {}
            _ => {
                panic!("{} carries {header:?} at byte {at}, where the decoder takes no field from", row.name)
            }
        }
        at += header.len();
    }
    carries
}

block! {
    /// Looks an op-code up. Logic only.
    ///
    /// - **Ports** `op`: the BTH's first byte; `carries`: what its row says, all zero when it has none.
    /// - **Latency** 0 cycles. **Reset** none.
    pub struct OpcodeTable {
        pub op: Signal<In, Bits<8>>,
        pub carries: Signal<Out, Carries>,
        /// What the rows before each say of `op`; the last is the answer.
        found: [Signal<Local, Carries>; ANSWERS] = std::array::from_fn(|_| Signal::default()),
        nothing: Constant<Carries> = Constant::new(Carries::default()),
        code: [Constant<Bits<8>>; ROWS] = std::array::from_fn(|row| number(TABLE[row].code)),
        row: [Constant<Carries>; ROWS] = constants(|row| carries(&TABLE[row])),
    }
}

impl Logic for OpcodeTable {
    #[hdl_gen]
    fn update(&mut self) {
        self.found[0].next = self.nothing.val();
        for i in 0..ROWS {
            self.found[i + 1].next = self.found[i].val();
            if self.op.val() == self.code[i].val() {
                self.found[i + 1].next = self.row[i].val();
            }
        }
        for i in ROWS..ANSWERS {
            self.carries.next = self.found[i].val();
        }
    }
}
