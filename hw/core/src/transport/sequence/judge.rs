//! From what is known of a request to all that comes of it.

use rust_hdl::prelude::*;

use super::advance::Advance;
use super::callee::Callee;
use super::classify::Kind;
use super::commission::Commission;
use super::decide::{Decide, Verdict};
use super::fit::Fit;
use super::measure::Measured;
use super::receipt::Receipts;
use super::reply::Replies;
use super::standing::Standing;
use super::wait::Reasons;
use crate::transport::records::{Arrival, DEFERRED_LOG, Errand};

block! {
    /// Decides, and draws the conclusions. Combinational.
    ///
    /// ```text
    ///   Decide ─ verdict ─┬─ Replies, Receipts ─ Commission ─ errand
    ///                     └─ Advance ─ changed
    /// ```
    ///
    /// - **Ports** `arrival`, `kind`, `fit`, `measured`, `callee`, `reasons`: the request; `standing`: what is known of its queue pair;
    ///   `place`: that of the next request that is deferred. `verdict`: what becomes of it; `errand`: what has to be done; `changed`: what is known of the queue pair afterwards.
    pub struct Judge {
        pub arrival: Signal<In, Arrival>,
        pub kind: Signal<In, Kind>,
        pub fit: Signal<In, Fit>,
        pub measured: Signal<In, Measured>,
        pub callee: Signal<In, Callee>,
        pub reasons: Signal<In, Reasons>,
        pub standing: Signal<In, Standing>,
        pub place: Signal<In, Bits<DEFERRED_LOG>>,
        pub verdict: Signal<Out, Verdict>,
        pub errand: Signal<Out, Errand>,
        pub changed: Signal<Out, Standing>,
        decide: Decide,
        replies: Replies,
        receipts: Receipts,
        commission: Commission,
        advance: Advance,
    }
}

impl Logic for Judge {
    #[hdl_gen]
    fn update(&mut self) {
        self.decide.kind.next = self.kind.val();
        self.decide.fit.next = self.fit.val();
        self.decide.measured.next = self.measured.val();
        self.decide.callee.next = self.callee.val();
        self.decide.reasons.next = self.reasons.val();
        self.decide.standing.next = self.standing.val();
        self.decide.again.next = self.arrival.val().again;
        self.verdict.next = self.decide.verdict.val();

        self.replies.arrival.next = self.arrival.val();
        self.replies.kind.next = self.kind.val();
        self.replies.measured.next = self.measured.val();
        self.replies.verdict.next = self.decide.verdict.val();
        self.replies.standing.next = self.standing.val();

        self.receipts.arrival.next = self.arrival.val();
        self.receipts.kind.next = self.kind.val();
        self.receipts.fit.next = self.fit.val();
        self.receipts.measured.next = self.measured.val();
        self.receipts.verdict.next = self.decide.verdict.val();
        self.receipts.standing.next = self.standing.val();

        self.commission.arrival.next = self.arrival.val();
        self.commission.kind.next = self.kind.val();
        self.commission.fit.next = self.fit.val();
        self.commission.callee.next = self.callee.val();
        self.commission.verdict.next = self.decide.verdict.val();
        self.commission.reply.next = self.replies.reply.val();
        self.commission.receipt.next = self.receipts.receipt.val();
        self.commission.standing.next = self.standing.val();
        self.commission.deferred_place.next = self.place.val();
        self.errand.next = self.commission.errand.val();

        self.advance.arrival.next = self.arrival.val();
        self.advance.kind.next = self.kind.val();
        self.advance.fit.next = self.fit.val();
        self.advance.measured.next = self.measured.val();
        self.advance.callee.next = self.callee.val();
        self.advance.verdict.next = self.decide.verdict.val();
        self.advance.standing.next = self.standing.val();
        self.changed.next = self.advance.changed.val();
    }
}
