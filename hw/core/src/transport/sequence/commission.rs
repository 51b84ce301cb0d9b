//! What has to be done for a request.

use rust_hdl::prelude::*;
use stroma_abi::desc::Status;
use stroma_abi::desc::region::rights;
use stroma_abi::wire::{NakCode, Syndrome};

use super::decide::Verdict;
use super::measure::{Measured, Standing};
use crate::constant::number;
use crate::transport::records::{Answer, Arrival, Errand};

/// What a positive answer says of credits: that they are not counted. WRITE and READ take no receive, so a limit could
/// only slow the peer.
pub const POSITIVE: Syndrome = Syndrome::Ack { credits: 31 };

block! {
    /// Puts the errand of a request together. Combinational.
    ///
    /// - **Ports** `arrival`, `measured`, `verdict`: the request, and what becomes of it; `standing`: what was known before it.
    ///   `errand`: what has to be done. Without `span`, `va`, `key` and `need` mean nothing; without `answer`, `syndrome`.
    pub struct Commission {
        pub arrival: Signal<In, Arrival>,
        pub measured: Signal<In, Measured>,
        pub verdict: Signal<In, Verdict>,
        pub standing: Signal<In, Standing>,
        pub errand: Signal<Out, Errand>,
        counts: Signal<Local, Bit>,
        none: Constant<Bits<2>> = number(Answer::None as u8),
        acknowledge: Constant<Bits<2>> = number(Answer::Acknowledge as u8),
        data: Constant<Bits<2>> = number(Answer::Data as u8),
        remote_write: Constant<Bits<5>> = number(rights::REMOTE_WRITE),
        remote_read: Constant<Bits<5>> = number(rights::REMOTE_READ),
        positive: Constant<Bits<8>> = number(POSITIVE.encode()),
        invalid: Constant<Bits<8>> = number(Syndrome::Nak(NakCode::InvalidRequest).encode()),
        missing: Constant<Bits<8>> = number(Syndrome::Nak(NakCode::PsnSequence).encode()),
        refused: Constant<Bits<8>> = number(Status::RemoteInvalid as u8),
    }
}

impl Logic for Commission {
    #[hdl_gen]
    fn update(&mut self) {
        self.errand.next.ends = true;
        self.errand.next.colour = self.arrival.val().colour;
        self.errand.next.qpn = self.arrival.val().qpn;
        self.errand.next.pd = self.arrival.val().pd;
        self.errand.next.path_mtu = self.arrival.val().path_mtu;
        self.errand.next.payload_len = self.arrival.val().payload_len;

        // The range: the whole message when it begins, so that one refused for its end writes nothing; then each packet
        // again, for the region may be gone since.
        self.errand.next.places = self.verdict.val().writes & self.arrival.val().payload_len.any();
        self.errand.next.va = self.arrival.val().va;
        self.errand.next.key = self.arrival.val().rkey;
        if self.measured.val().is_write & !self.measured.val().begins {
            self.errand.next.va = self.standing.val().va;
            self.errand.next.key = self.standing.val().key;
        }
        self.errand.next.need = self.remote_read.val();
        if self.measured.val().is_write {
            self.errand.next.need = self.remote_write.val();
        }
        self.errand.next.span = 0.into();
        if self.verdict.val().writes {
            self.errand.next.span = bit_cast::<32, 13>(self.arrival.val().payload_len);
        }
        if self.verdict.val().reads
            | self.verdict.val().repeats
            | (self.verdict.val().writes & self.measured.val().begins)
        {
            self.errand.next.span = self.arrival.val().len;
        }

        // The answer.
        self.counts.next = self.verdict.val().reads | (self.verdict.val().writes & self.measured.val().ends);
        self.errand.next.counts = self.counts.val();
        self.errand.next.msn = self.standing.val().msn + self.counts.val();
        self.errand.next.fresh = self.verdict.val().reads;
        self.errand.next.answer = self.none.val();
        if (self.verdict.val().writes & self.arrival.val().ackreq)
            | self.verdict.val().acknowledges
            | self.verdict.val().refuses
            | self.verdict.val().tells_gap
        {
            self.errand.next.answer = self.acknowledge.val();
        }
        if self.verdict.val().reads | self.verdict.val().repeats {
            self.errand.next.answer = self.data.val();
        }
        self.errand.next.psn = self.arrival.val().psn;
        self.errand.next.syndrome = self.positive.val();
        // What came again is acknowledged with all that came since: the peer may have missed those answers, too.
        if self.verdict.val().acknowledges {
            self.errand.next.psn = self.measured.val().expected - 1;
        }
        if self.verdict.val().tells_gap {
            self.errand.next.psn = self.measured.val().expected;
            self.errand.next.syndrome = self.missing.val();
        }
        if self.verdict.val().refuses {
            self.errand.next.syndrome = self.invalid.val();
        }

        // A request completes nothing here; a refusal is told by an event.
        self.errand.next.fails = self.verdict.val().refuses;
        self.errand.next.status = 0.into();
        if self.verdict.val().refuses {
            self.errand.next.status = self.refused.val();
        }
        self.errand.next.completes = false;
        self.errand.next.cq = 0.into();
        self.errand.next.index = 0.into();
        self.errand.next.opcode = 0.into();
        self.errand.next.vendor = 0.into();
        self.errand.next.length = 0.into();
        self.errand.next.retires = false;
        self.errand.next.tail = 0.into();
        self.errand.next.reads = 0.into();
    }
}
