//! Spoil: what becomes of an errand whose list is of no use.

use rust_hdl::prelude::*;
use stroma_abi::desc::Status;
use stroma_abi::wire::{NakCode, Syndrome};

use super::unfold::Fault;
use crate::constant::number;
use crate::transport::records::{Answer, Errand};

block! {
    /// Makes the errand that throws away what could not be placed, and tells it. Logic only.
    ///
    /// - **Ports** `errand`, `is_request`: what was to be done; `fault`: a [`Fault`], or none if the list was too short; `rest`: bytes that
    ///   are left; `thrown`: what is done instead, as [`Scatter`](super::Scatter) has it.
    /// - **Latency** 0 cycles. **Reset** none.
    pub struct Spoil {
        pub errand: Signal<In, Errand>,
        pub is_request: Signal<In, Bit>,
        pub fault: Signal<In, Bits<2>>,
        pub rest: Signal<In, Bits<13>>,
        pub thrown: Signal<Out, Errand>,
        acknowledge: Constant<Bits<3>> = number(Answer::Acknowledge as u8),
        unreadable: Constant<Bits<2>> = number(Fault::Unreadable as u8),
        too_long: Constant<Bits<8>> = number(Status::LocalLength as u8),
        general: Constant<Bits<8>> = number(Status::General as u8),
        contradiction: Constant<Bits<8>> = number(Status::LocalQueuePair as u8),
        invalid_nak: Constant<Bits<8>> = number(Syndrome::Nak(NakCode::InvalidRequest).encode()),
        failed_nak: Constant<Bits<8>> = number(Syndrome::Nak(NakCode::RemoteOperational).encode()),
    }
}

impl Logic for Spoil {
    #[hdl_gen]
    fn update(&mut self) {
        self.thrown.next = self.errand.val();
        self.thrown.next.payload_len = self.rest.val();
        self.thrown.next.places = false;
        self.thrown.next.span = 0.into();
        self.thrown.next.answer = 0.into();
        self.thrown.next.fails = true;
        self.thrown.next.length = 0.into();
        // A message that has failed is told, signaled or not, once it is over.
        self.thrown.next.completes = self.errand.val().completes | self.errand.val().retires;
        self.thrown.next.status = self.contradiction.val();
        if self.fault.val() == self.unreadable.val() {
            self.thrown.next.status = self.general.val();
        } else if self.is_request.val() & !self.fault.val().any() {
            self.thrown.next.status = self.too_long.val();
        }
        if self.is_request.val() {
            self.thrown.next.answer = self.acknowledge.val();
            self.thrown.next.syndrome = self.invalid_nak.val();
            if self.fault.val().any() {
                self.thrown.next.syndrome = self.failed_nak.val();
            }
            self.thrown.next.counts = false;
            if self.errand.val().counts {
                self.thrown.next.msn = self.errand.val().msn - 1;
            }
        }
    }
}
