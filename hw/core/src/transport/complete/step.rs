//! A step as a whole.

use rust_hdl::prelude::*;
use stroma_abi::desc::Statistics;
use stroma_abi::desc::statistics::REQUESTER_COUNTERS;

use super::judge::{Judge, Verdict};
use super::kind::Kind;
use super::rows::Answered;
use super::stand::Standing;
use super::tell::Tell;
use crate::constant::number;
use crate::transport::records::{Alarm, Arrival, Errand, Rewind, Sent};
use crate::transport::statistics::counter;

/// Place of the first counter here among all: that of answers that are overdue.
pub(super) const FIRST: usize = counter(Statistics::LOCAL_ACK_TIMEOUT_ERR);

block! {
    /// What comes of an arrival that stands so to a message, and who is told. Logic only.
    ///
    /// - **Ports** `standing`, `kind`, `arrival`, `row`, `unanswered`, `reach`, `ahead`, `here`, `base`, `follows`: as in [`Judge`]; `entry`,
    ///   `offset`: as in [`Tell`]; `counts`: a bit for each of the abi's counters of requesters; the rest as in both.
    /// - **Latency** 0 cycles. **Reset** none.
    pub struct Step {
        pub standing: Signal<In, Standing>,
        pub kind: Signal<In, Kind>,
        pub arrival: Signal<In, Arrival>,
        pub row: Signal<In, Answered>,
        pub entry: Signal<In, Sent>,
        pub unanswered: Signal<In, Bits<24>>,
        pub reach: Signal<In, Bits<24>>,
        pub ahead: Signal<In, Bits<24>>,
        pub here: Signal<In, Bits<24>>,
        pub base: Signal<In, Bits<24>>,
        pub offset: Signal<In, Bits<32>>,
        pub follows: Signal<In, Bit>,
        pub counts: Signal<Out, Bits<REQUESTER_COUNTERS>>,
        pub verdict: Signal<Out, Verdict>,
        pub after: Signal<Out, Answered>,
        pub answered: Signal<Out, Bits<24>>,
        pub errand: Signal<Out, Errand>,
        pub rewind: Signal<Out, Rewind>,
        pub alarm: Signal<Out, Alarm>,
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
        self.sum.next = 0.into();
        self.sum.next = self.sum.val().replace_bit(self.late_at.val().index(), self.standing.val().is_late);
        self.sum.next =
            self.sum.val().replace_bit(self.wanted_at.val().index(), self.standing.val().is_wanted);
        self.sum.next =
            self.sum.val().replace_bit(self.missing_at.val().index(), self.standing.val().is_missing);
        self.sum.next =
            self.sum.val().replace_bit(self.deferred_at.val().index(), self.standing.val().is_deferred);
        self.counts.next = self.sum.val();

        self.judge.standing.next = self.standing.val();
        self.judge.kind.next = self.kind.val();
        self.judge.arrival.next = self.arrival.val();
        self.judge.row.next = self.row.val();
        self.judge.is_signaled.next = self.entry.val().signaled;
        self.judge.unanswered.next = self.unanswered.val();
        self.judge.reach.next = self.reach.val();
        self.judge.ahead.next = self.ahead.val();
        self.judge.here.next = self.here.val();
        self.judge.base.next = self.base.val();
        self.judge.follows.next = self.follows.val();
        self.verdict.next = self.judge.verdict.val();
        self.after.next = self.judge.after.val();
        self.answered.next = self.judge.answered.val();

        self.tell.arrival.next = self.arrival.val();
        self.tell.kind.next = self.kind.val();
        self.tell.continues.next = self.standing.val().continues;
        self.tell.entry.next = self.entry.val();
        self.tell.offset.next = self.offset.val();
        self.tell.verdict.next = self.judge.verdict.val();
        self.tell.after.next = self.judge.after.val();
        self.errand.next = self.tell.errand.val();
        self.rewind.next = self.tell.rewind.val();
        self.alarm.next = self.tell.alarm.val();
    }
}
