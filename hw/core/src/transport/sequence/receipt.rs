//! What the owner of a receive hears of it.

use rust_hdl::prelude::*;
use stroma_abi::desc::{Cqe, Status, WorkOp};

use super::classify::Kind;
use super::decide::Verdict;
use super::fit::Fit;
use super::measure::Measured;
use super::standing::Standing;
use crate::constant::number;
use crate::record;
use crate::transport::records::Arrival;

record! {
    /// The completion of a receive.
    pub struct Receipt {
        /// Index of the receive.
        pub index: Bits<16>,
        /// What the peer posted, a `WorkOp`.
        pub opcode: Bits<8>,
        /// The CQE's flags, as its byte 19.
        pub flags: Bits<8>,
        /// Bytes received or written.
        pub length: Bits<32>,
        /// A `Status`.
        pub status: Bits<8>,
    }
}

block! {
    /// Writes the receipt. Combinational.
    ///
    /// - **Ports** `arrival`, `kind`, `fit`, `measured`, `verdict`: the request, and what becomes of it; `standing`: what was known
    ///   before it. `receipt`: of the receive that is completed; `index` is also that of one that goes on. It says nothing of
    ///   others.
    pub struct Receipts {
        pub arrival: Signal<In, Arrival>,
        pub kind: Signal<In, Kind>,
        pub fit: Signal<In, Fit>,
        pub measured: Signal<In, Measured>,
        pub verdict: Signal<In, Verdict>,
        pub standing: Signal<In, Standing>,
        pub receipt: Signal<Out, Receipt>,
        flags: Signal<Local, Bits<8>>,
        wakes: Signal<Local, Bit>,
        send: Constant<Bits<8>> = number(WorkOp::Send as u8),
        send_imm: Constant<Bits<8>> = number(WorkOp::SendImm as u8),
        send_inv: Constant<Bits<8>> = number(WorkOp::SendInv as u8),
        write_imm: Constant<Bits<8>> = number(WorkOp::WriteImm as u8),
        is_receive: Constant<Bits<8>> = number(1 << Cqe::RECEIVE.bit),
        has_immediate: Constant<Bits<8>> = number(1 << Cqe::HAS_IMMEDIATE.bit),
        has_invalidated: Constant<Bits<8>> = number(1 << Cqe::HAS_INVALIDATED.bit),
        has_grh: Constant<Bits<8>> = number(1 << Cqe::HAS_GRH.bit),
        is_solicited: Constant<Bits<8>> = number(1 << Cqe::SOLICITED.bit),
        success: Constant<Bits<8>> = number(Status::Success as u8),
        flushed: Constant<Bits<8>> = number(Status::Flushed as u8),
        remote_access: Constant<Bits<8>> = number(Status::RemoteAccess as u8),
    }
}

impl Logic for Receipts {
    #[hdl_gen]
    fn update(&mut self) {
        self.receipt.next.index = self.standing.val().receive;
        if self.verdict.val().takes {
            self.receipt.next.index = self.measured.val().receive;
        }
        self.receipt.next.opcode = self.send.val();
        self.receipt.next.length = self.fit.val().received;
        self.receipt.next.status = self.success.val();
        self.flags.next = self.is_receive.val();
        if self.verdict.val().gives_up {
            self.receipt.next.length = 0.into();
            self.receipt.next.status = self.flushed.val();
        } else if self.verdict.val().denies {
            self.receipt.next.opcode = self.send_inv.val();
            self.receipt.next.length = 0.into();
            self.receipt.next.status = self.remote_access.val();
        } else if self.verdict.val().concludes {
            self.receipt.next.opcode = self.send_inv.val();
            self.receipt.next.length = self.standing.val().received;
            self.flags.next = self.is_receive.val() | self.has_invalidated.val();
        } else {
            if self.kind.val().has_immediate {
                self.receipt.next.opcode = self.send_imm.val();
                self.flags.next = self.is_receive.val() | self.has_immediate.val();
            }
            if self.kind.val().is_write {
                self.receipt.next.opcode = self.write_imm.val();
            }
            if self.arrival.val().datagram {
                self.flags.next = self.flags.val() | self.has_grh.val();
            }
        }
        self.receipt.next.flags = self.flags.val();
        self.wakes.next = self.arrival.val().solicited;
        if self.verdict.val().concludes {
            self.wakes.next = self.standing.val().solicited;
        }
        if self.wakes.val() {
            self.receipt.next.flags = self.flags.val() | self.is_solicited.val();
        }
    }
}
