//! A step as a whole.

use rust_hdl::prelude::*;
use stroma_abi::desc::Statistics;
use stroma_abi::desc::statistics::REQUESTER_COUNTERS;

use super::judge::{Judge, Verdict};
use super::kind::Kind;
use super::measure::Measures;
use super::rows::Answered;
use super::stand::Stand;
use super::tell::Tell;
use crate::constant::number;
use crate::transport::records::{Alarm, Arrival, Errand, Rewind, Sent};
use crate::transport::statistics::counter;

/// Place of the first counter here among all: that of answers that are overdue.
pub(super) const FIRST: usize = counter(Statistics::LOCAL_ACK_TIMEOUT_ERR);

block! {
    /// How an arrival stands to a message, what comes of it, and who is told. Logic only.
    ///
    /// - **Ports** `kind`, `arrival`, `row`, `outstanding`, `entry`, `measures`, `follows`: as in [`Stand`] and [`Judge`]; `counts`: a
    ///   bit for each of the abi's counters of requesters; the rest as in [`Judge`] and [`Tell`].
    /// - **Latency** 0 cycles. **Reset** none.
    pub struct Step {
        pub kind: Signal<In, Kind>,
        pub arrival: Signal<In, Arrival>,
        pub row: Signal<In, Answered>,
        pub outstanding: Signal<In, Bits<6>>,
        pub entry: Signal<In, Sent>,
        pub measures: Signal<In, Measures>,
        pub follows: Signal<In, Bit>,
        pub counts: Signal<Out, Bits<REQUESTER_COUNTERS>>,
        pub verdict: Signal<Out, Verdict>,
        pub after: Signal<Out, Answered>,
        pub errand: Signal<Out, Errand>,
        pub rewind: Signal<Out, Rewind>,
        pub alarm: Signal<Out, Alarm>,
        stand: Stand,
        judge: Judge,
        tell: Tell,
        sum: Signal<Local, Bits<REQUESTER_COUNTERS>>,
        late_at: Constant<Bits<2>> = number(counter(Statistics::LOCAL_ACK_TIMEOUT_ERR) - FIRST),
        wanted_at: Constant<Bits<2>> = number(counter(Statistics::PACKET_SEQ_ERR) - FIRST),
        missing_at: Constant<Bits<2>> = number(counter(Statistics::IMPLIED_NAK_SEQ_ERR) - FIRST),
        deferred_at: Constant<Bits<2>> = number(counter(Statistics::RNR_NAK_RETRY_ERR) - FIRST),
    }
}

impl Logic for Step {
    #[hdl_gen]
    fn update(&mut self) {
        self.stand.kind.next = self.kind.val();
        self.stand.arrival.next = self.arrival.val();
        self.stand.row.next = self.row.val();
        self.stand.outstanding.next = self.outstanding.val();
        self.stand.entry.next = self.entry.val();
        self.stand.measures.next = self.measures.val();
        self.sum.next = 0.into();
        self.sum.next =
            self.sum.val().replace_bit(self.late_at.val().index(), self.stand.standing.val().is_late);
        self.sum.next =
            self.sum.val().replace_bit(self.wanted_at.val().index(), self.stand.standing.val().is_wanted);
        self.sum.next =
            self.sum.val().replace_bit(self.missing_at.val().index(), self.stand.standing.val().is_missing);
        self.sum.next =
            self.sum.val().replace_bit(self.deferred_at.val().index(), self.stand.standing.val().is_deferred);
        self.counts.next = self.sum.val();

        self.judge.standing.next = self.stand.standing.val();
        self.judge.kind.next = self.kind.val();
        self.judge.arrival.next = self.arrival.val();
        self.judge.row.next = self.row.val();
        self.judge.outstanding.next = self.outstanding.val();
        self.judge.entry.next = self.entry.val();
        self.judge.measures.next = self.measures.val();
        self.judge.follows.next = self.follows.val();
        self.verdict.next = self.judge.verdict.val();
        self.after.next = self.judge.after.val();

        self.tell.arrival.next = self.arrival.val();
        self.tell.kind.next = self.kind.val();
        self.tell.entry.next = self.entry.val();
        self.tell.measures.next = self.measures.val();
        self.tell.verdict.next = self.judge.verdict.val();
        self.tell.after.next = self.judge.after.val();
        self.errand.next = self.tell.errand.val();
        self.rewind.next = self.tell.rewind.val();
        self.alarm.next = self.tell.alarm.val();
    }
}
