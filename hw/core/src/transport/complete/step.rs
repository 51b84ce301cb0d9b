//! A step as a whole.

use rust_hdl::prelude::*;

use super::judge::{Judge, Verdict};
use super::kind::Kind;
use super::measure::Measures;
use super::rows::Answered;
use super::stand::Stand;
use super::tell::Tell;
use crate::transport::records::{Alarm, Arrival, Errand, Rewind, Sent};

block! {
    /// How an arrival stands to a message, what comes of it, and who is told. Logic only.
    ///
    /// - **Ports** `kind`, `arrival`, `row`, `outstanding`, `entry`, `measures`, `follows`: as in [`Stand`] and [`Judge`]; `is_late`: the
    ///   message's answer is overdue; the rest as in [`Judge`] and [`Tell`].
    /// - **Latency** 0 cycles. **Reset** none.
    pub struct Step {
        pub kind: Signal<In, Kind>,
        pub arrival: Signal<In, Arrival>,
        pub row: Signal<In, Answered>,
        pub outstanding: Signal<In, Bits<6>>,
        pub entry: Signal<In, Sent>,
        pub measures: Signal<In, Measures>,
        pub follows: Signal<In, Bit>,
        pub is_late: Signal<Out, Bit>,
        pub verdict: Signal<Out, Verdict>,
        pub after: Signal<Out, Answered>,
        pub errand: Signal<Out, Errand>,
        pub rewind: Signal<Out, Rewind>,
        pub alarm: Signal<Out, Alarm>,
        stand: Stand,
        judge: Judge,
        tell: Tell,
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
        self.is_late.next = self.stand.standing.val().is_late;

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
