//! What the peer hears of a request.

use rust_hdl::prelude::*;
use stroma_abi::wire::{NakCode, Syndrome};

use super::classify::Kind;
use super::decide::Verdict;
use super::measure::Measured;
use super::standing::Standing;
use crate::constant::number;
use crate::record;
use crate::transport::records::{Answer, Arrival};

/// What a positive answer says of credits: that they are not counted. WRITE and READ take no receive, so a limit could
/// only slow the peer; a SEND without one is answered with an RNR NAK.
pub const POSITIVE: Syndrome = Syndrome::Ack { credits: 31 };

record! {
    /// An answer.
    pub struct Reply {
        /// An [`Answer`].
        pub answer: Bits<3>,
        /// Its PSN; without one, that of the request.
        pub psn: Bits<24>,
        /// Acknowledgement: its syndrome.
        pub syndrome: Bits<8>,
        /// Messages completed.
        pub msn: Bits<24>,
        /// This one among them.
        pub counts: Bit,
    }
}

block! {
    /// Writes the reply. Combinational.
    ///
    /// - **Ports** `arrival`, `kind`, `measured`, `verdict`: the request, and what becomes of it; `standing`: what was known before it.
    ///   `reply`: what the peer hears; of an atomic from where it is applied, of an RPC that came again from who knows it.
    pub struct Replies {
        pub arrival: Signal<In, Arrival>,
        pub kind: Signal<In, Kind>,
        pub measured: Signal<In, Measured>,
        pub verdict: Signal<In, Verdict>,
        pub standing: Signal<In, Standing>,
        pub reply: Signal<Out, Reply>,
        goes_on: Signal<Local, Bit>,
        counts: Signal<Local, Bit>,
        none: Constant<Bits<3>> = number(Answer::None as u8),
        acknowledge: Constant<Bits<3>> = number(Answer::Acknowledge as u8),
        data: Constant<Bits<3>> = number(Answer::Data as u8),
        result: Constant<Bits<3>> = number(Answer::Result as u8),
        positive: Constant<Bits<8>> = number(POSITIVE.encode()),
        invalid: Constant<Bits<8>> = number(Syndrome::Nak(NakCode::InvalidRequest).encode()),
        denied: Constant<Bits<8>> = number(Syndrome::Nak(NakCode::RemoteAccess).encode()),
        missing: Constant<Bits<8>> = number(Syndrome::Nak(NakCode::PsnSequence).encode()),
        not_ready: Constant<Bits<8>> = number(Syndrome::RnrNak { timer: 0 }.encode()),
    }
}

impl Logic for Replies {
    #[hdl_gen]
    fn update(&mut self) {
        self.goes_on.next = self.verdict.val().sends | self.verdict.val().writes | self.verdict.val().calls;
        self.counts.next = self.verdict.val().reads
            | self.verdict.val().applies
            | self.verdict.val().concludes
            | (self.goes_on.val() & self.kind.val().ends & !self.kind.val().ends_key);
        self.reply.next.counts = self.counts.val();
        self.reply.next.msn = self.standing.val().msn + self.counts.val();

        self.reply.next.answer = self.none.val();
        if (self.goes_on.val()
            & self.arrival.val().ackreq
            & !self.kind.val().is_unreliable
            & !self.verdict.val().parts)
            | self.verdict.val().concludes
            | self.verdict.val().denies
            | self.verdict.val().acknowledges
            | self.verdict.val().refuses
            | self.verdict.val().tells_gap
            | self.verdict.val().rests
        {
            self.reply.next.answer = self.acknowledge.val();
        }
        if self.verdict.val().reads | self.verdict.val().repeats {
            self.reply.next.answer = self.data.val();
        }

        if self.verdict.val().calls & self.kind.val().ends {
            self.reply.next.answer = self.result.val();
        }

        self.reply.next.psn = self.arrival.val().psn;
        self.reply.next.syndrome = self.positive.val();
        // What came again is acknowledged with all that came since: the peer may have missed those answers, too.
        // So is a SEND whose key has ended, or could not be: nothing came behind it.
        if self.verdict.val().acknowledges | self.verdict.val().concludes | self.verdict.val().denies {
            self.reply.next.psn = self.measured.val().expected - 1;
        }
        if self.verdict.val().tells_gap {
            self.reply.next.psn = self.measured.val().expected;
            self.reply.next.syndrome = self.missing.val();
        }
        if self.verdict.val().rests {
            self.reply.next.syndrome = self.not_ready.val() | bit_cast::<8, 5>(self.arrival.val().min_rnr);
        }
        if self.verdict.val().refuses {
            self.reply.next.syndrome = self.invalid.val();
        }
        if self.verdict.val().denies {
            self.reply.next.syndrome = self.denied.val();
        }
    }
}
