//! Judge: the one stage that decides, in order, what becomes of an errand.

use rust_hdl::prelude::*;
use stroma_abi::desc::Status;
use stroma_abi::wire::{NakCode, Syndrome};

use super::ask::Mark;
use super::collect::Found;
use super::command::Piece;
use crate::constant::number;
use crate::prim::reg::Reg;
use crate::state::access::Cause;
use crate::state::failures::Failure;
use crate::stream::{StreamSink, StreamSource};
use crate::transport::records::{Answer, Errand};

block! {
    /// Judges each errand when all before it are judged and its answers are there.
    ///
    /// - **Ports** `errand`, `mark`: as [`Ask`](super::ask::Ask) gives them; `found`: for each errand that asks; `look`, `failure`, `marks`,
    ///   `cause`: as [`Failures`](crate::state::failures::Failures); `open`: an errand may be judged; `piece`: what becomes of its payload; `judged`: the
    ///   errand as it has to end: `answer` is the task, `fails` the error, `completes` the completion; `untold`: of the error;
    ///   `refused`: a cycle high for each refusal that the peer is told.
    /// - **Rules** as [`Place`](super::Place) has them.
    /// - **Latency** 0 cycles, to `refused` 1. **Rate** 1 errand per cycle.
    /// - **Backpressure** `piece` and `judged` go into FIFOs and move together, so `valid` of either follows `ready` of the
    ///   other; `ready` of the sinks follows both.
    /// - **Reset** forgets the pulse.
    pub struct Judge {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub errand: StreamSink<Errand>,
        pub mark: Signal<In, Mark>,
        pub found: StreamSink<Found>,
        pub look: Signal<Out, Bits<24>>,
        pub failure: Signal<In, Failure>,
        pub marks: Signal<Out, Bit>,
        pub cause: Signal<Out, Bits<3>>,
        pub open: Signal<In, Bit>,
        pub piece: StreamSource<Piece>,
        pub judged: StreamSource<Errand>,
        pub untold: Signal<Out, Bit>,
        pub refused: Signal<Out, Bit>,
        is_refused: Reg<Bit>,
        goes: Signal<Local, Bit>,
        refusal: Signal<Local, Bits<3>>,
        told: Signal<Local, Bits<3>>,
        told_status: Signal<Local, Bits<8>>,
        is_list: Signal<Local, Bit>,
        tells: Signal<Local, Bit>,
        writes: Signal<Local, Bit>,
        spoils: Signal<Local, Bit>,
        denies: Signal<Local, Bit>,
        protection: Constant<Bits<8>> = number(Status::LocalProtection as u8),
        general: Constant<Bits<8>> = number(Status::General as u8),
        flushed: Constant<Bits<8>> = number(Status::Flushed as u8),
        remote_access: Constant<Bits<8>> = number(Status::RemoteAccess as u8),
        access_nak: Constant<Bits<8>> = number(Syndrome::Nak(NakCode::RemoteAccess).encode()),
        failed_nak: Constant<Bits<8>> = number(Syndrome::Nak(NakCode::RemoteOperational).encode()),
        acknowledge: Constant<Bits<2>> = number(Answer::Acknowledge as u8),
        bounds: Constant<Bits<3>> = number(Cause::Bounds as u8),
        page_list: Constant<Bits<3>> = number(Cause::PageList as u8),
    }
}

impl Logic for Judge {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, is_refused);
        self.look.next = self.errand.payload.val().qpn;
        self.refused.next = self.is_refused.q.val();
        self.goes.next = self.errand.valid.val()
            & (self.found.valid.val() | !self.mark.val().asks)
            & self.open.val()
            & self.piece.ready.val()
            & self.judged.ready.val();
        self.errand.ready.next = self.goes.val();
        self.found.ready.next = self.goes.val() & self.mark.val().asks;
        self.piece.valid.next = self.goes.val();
        self.judged.valid.next = self.goes.val();

        self.refusal.next = 0.into();
        if self.mark.val().wraps {
            self.refusal.next = self.bounds.val();
        } else if self.mark.val().asks {
            self.refusal.next = self.found.payload.val().cause;
        }
        self.spoils.next = !self.failure.val().failed & self.refusal.val().any();
        self.denies.next = self.spoils.val() & self.mark.val().is_request;
        // A message that has failed is told, signaled or not, once it is over.
        self.tells.next = self.errand.payload.val().completes | self.errand.payload.val().retires;
        self.told.next = self.refusal.val();
        if self.failure.val().failed {
            self.told.next = self.failure.val().cause;
        }
        self.is_list.next = self.told.val() == self.page_list.val();
        self.told_status.next = self.protection.val();
        if !self.told.val().any() {
            self.told_status.next = self.flushed.val();
        } else if self.is_list.val() {
            self.told_status.next = self.general.val();
        }

        self.judged.payload.next = self.errand.payload.val();
        self.untold.next = !self.errand.payload.val().completes;
        self.marks.next = self.goes.val() & self.errand.payload.val().fails;
        self.cause.next = 0.into();
        self.is_refused.d.next = false;
        if self.denies.val() {
            self.judged.payload.next.answer = self.acknowledge.val();
            self.judged.payload.next.syndrome = self.access_nak.val();
            self.judged.payload.next.status = self.remote_access.val();
            if self.is_list.val() {
                self.judged.payload.next.syndrome = self.failed_nak.val();
                self.judged.payload.next.status = self.general.val();
            }
            if self.errand.payload.val().counts {
                self.judged.payload.next.msn = self.errand.payload.val().msn - 1;
            }
            self.judged.payload.next.completes = false;
            self.judged.payload.next.fails = true;
            self.untold.next = true;
            self.marks.next = self.goes.val();
            self.is_refused.d.next = self.goes.val();
        } else if self.failure.val().failed | self.spoils.val() {
            self.judged.payload.next.answer = 0.into();
            self.judged.payload.next.status = self.told_status.val();
            self.judged.payload.next.vendor = bit_cast::<8, 3>(self.told.val());
            self.judged.payload.next.length = 0.into();
            self.judged.payload.next.completes = self.tells.val();
            self.judged.payload.next.fails = self.spoils.val();
            self.untold.next = false;
            // What is told once is not told again.
            self.marks.next = self.goes.val() & (self.spoils.val() | self.tells.val());
            if !self.tells.val() {
                self.cause.next = self.told.val();
            }
        }

        self.writes.next = self.errand.payload.val().places
            & self.errand.payload.val().payload_len.any()
            & self.mark.val().asks
            & !self.spoils.val()
            & !self.failure.val().failed;
        self.piece.payload.next.writes = self.writes.val();
        self.piece.payload.next.drops = self.errand.payload.val().payload_len.any() & !self.writes.val();
        self.piece.payload.next.qpn = self.errand.payload.val().qpn;
        self.piece.payload.next.iova = self.found.payload.val().iova;
        self.piece.payload.next.next_iova = self.found.payload.val().next_iova;
        self.piece.payload.next.crosses = self.writes.val() & self.found.payload.val().crosses;
        self.piece.payload.next.len = self.errand.payload.val().payload_len;
        if self.found.payload.val().crosses {
            self.piece.payload.next.len = self.found.payload.val().len;
        }
        self.piece.payload.next.rest = self.errand.payload.val().payload_len - self.found.payload.val().len;
        if self.reset.val() {
            self.is_refused.d.next = false;
        }
    }
}
