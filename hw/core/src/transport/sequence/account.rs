//! What is counted of a request.

use rust_hdl::prelude::*;
use stroma_abi::desc::Statistics;
use stroma_abi::desc::statistics::RESPONDER_COUNTERS;

use super::classify::Kind;
use super::decide::Verdict;
use super::measure::Measured;
use super::standing::Standing;
use crate::constant::number;
use crate::transport::statistics::counter;

/// Place of the first counter here among all.
pub(super) const FIRST: usize = counter(Statistics::RX_SEND_REQUESTS);

block! {
    /// Sorts a request among the counters. Combinational.
    ///
    /// - **Ports** `kind`, `measured`, `verdict`: the request, and what becomes of it; `standing`: what was known of its queue pair.
    ///   `counts`: a bit for each counter of responders, in the order of the abi.
    pub struct Account {
        pub kind: Signal<In, Kind>,
        pub measured: Signal<In, Measured>,
        pub verdict: Signal<In, Verdict>,
        pub standing: Signal<In, Standing>,
        pub counts: Signal<Out, Bits<RESPONDER_COUNTERS>>,
        is_ahead: Signal<Local, Bit>,
        sum: Signal<Local, Bits<RESPONDER_COUNTERS>>,
        sends_at: Constant<Bits<3>> = number(counter(Statistics::RX_SEND_REQUESTS) - FIRST),
        writes_at: Constant<Bits<3>> = number(counter(Statistics::RX_WRITE_REQUESTS) - FIRST),
        reads_at: Constant<Bits<3>> = number(counter(Statistics::RX_READ_REQUESTS) - FIRST),
        atomics_at: Constant<Bits<3>> = number(counter(Statistics::RX_ATOMIC_REQUESTS) - FIRST),
        duplicates_at: Constant<Bits<3>> = number(counter(Statistics::DUPLICATE_REQUEST) - FIRST),
        gaps_at: Constant<Bits<3>> = number(counter(Statistics::OUT_OF_SEQUENCE) - FIRST),
        rests_at: Constant<Bits<3>> = number(counter(Statistics::OUT_OF_BUFFER) - FIRST),
    }
}

impl Logic for Account {
    #[hdl_gen]
    fn update(&mut self) {
        self.is_ahead.next = !self.kind.val().is_recall
            & !self.kind.val().is_parted
            & !self.kind.val().is_raw
            & !self.standing.val().parting
            & !self.standing.val().failed
            & !self.verdict.val().stays
            & !self.measured.val().is_next
            & !self.measured.val().is_before;
        self.sum.next = 0.into();
        self.sum.next = self
            .sum
            .val()
            .replace_bit(self.sends_at.val().index(), self.verdict.val().sends & self.kind.val().ends);
        self.sum.next = self
            .sum
            .val()
            .replace_bit(self.writes_at.val().index(), self.verdict.val().writes & self.kind.val().ends);
        self.sum.next = self.sum.val().replace_bit(self.reads_at.val().index(), self.verdict.val().reads);
        self.sum.next = self.sum.val().replace_bit(self.atomics_at.val().index(), self.verdict.val().applies);
        self.sum.next =
            self.sum.val().replace_bit(self.duplicates_at.val().index(), self.verdict.val().is_duplicate);
        self.sum.next = self.sum.val().replace_bit(self.gaps_at.val().index(), self.is_ahead.val());
        self.sum.next = self
            .sum
            .val()
            .replace_bit(self.rests_at.val().index(), self.verdict.val().rests | self.verdict.val().starves);
        self.counts.next = self.sum.val();
    }
}
