//! Whose turn it is: one operation at a time on what is posted.

use rust_hdl::prelude::*;

use crate::constant::number;
use crate::prim::reg::Reg;
use crate::transport::records::ReceiveDoorbell;

block! {
    /// Chooses an operation, has its rows read, and says when to act on them.
    ///
    /// Changes come first: they are bounded by commands. Three doorbells go before a visit, then one visit before a doorbell;
    /// the two lines take turns.
    ///
    /// - **Ports** `change`, `renewal`, `doorbell`, `recall`, `limit`: such an operation waits, for the queue that stands beside it;
    ///   it stays until `reads`. `operation`: what is under way, of a visit or a change the queue alone. `reads`: rows are to
    ///   be read in this cycle, and what was chosen is taken; `looks`: they are there; `acts`: the operation is carried out.
    ///   `changes`, `renews`, `rings`, `recalls`, `limits`: which it is, steady from `reads` to `acts`. `works`: in any of these
    ///   cycles. `scrubs`: the rows of `operation.number` are to be cleared, of both tables.
    /// - **Latency** `reads`, `looks`, `acts` in successive cycles, from the one behind the choice on. **Rate** an operation
    ///   every 3 cycles: it is chosen while the one before is carried out, and reads what that wrote.
    /// - **Reset** scrubs a row a cycle, as many as the larger table has; operations wait.
    pub struct Choose<const QPS: usize, const SRQS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub change: Signal<In, Bit>,
        pub change_number: Signal<In, Bits<24>>,
        pub renewal: Signal<In, Bit>,
        pub renewal_number: Signal<In, Bits<24>>,
        pub doorbell: Signal<In, Bit>,
        pub doorbell_rung: Signal<In, ReceiveDoorbell>,
        pub recall: Signal<In, Bit>,
        pub recall_number: Signal<In, Bits<QPS>>,
        pub limit: Signal<In, Bit>,
        pub limit_number: Signal<In, Bits<SRQS>>,
        pub operation: Signal<Out, ReceiveDoorbell>,
        pub reads: Signal<Out, Bit>,
        pub looks: Signal<Out, Bit>,
        pub acts: Signal<Out, Bit>,
        pub changes: Signal<Out, Bit>,
        pub renews: Signal<Out, Bit>,
        pub rings: Signal<Out, Bit>,
        pub recalls: Signal<Out, Bit>,
        pub limits: Signal<Out, Bit>,
        pub works: Signal<Out, Bit>,
        pub scrubs: Signal<Out, Bit>,
        is_scrubbing: Reg<Bit>,
        is_reading: Reg<Bit>,
        is_looking: Reg<Bit>,
        is_acting: Reg<Bit>,
        is_change: Reg<Bit>,
        is_renewal: Reg<Bit>,
        is_doorbell: Reg<Bit>,
        is_recall: Reg<Bit>,
        is_limit: Reg<Bit>,
        /// The operation; after reset its number is the row to be cleared.
        work: Reg<ReceiveDoorbell>,
        /// Doorbells since the last visit, up to three.
        rung: Reg<Bits<2>>,
        /// A recall had its turn last.
        is_limit_due: Reg<Bit>,
        has_visit: Signal<Local, Bit>,
        goes_first: Signal<Local, Bit>,
        starts: Signal<Local, Bit>,
        last: Constant<Bits<24>> = number((1 << QPS.max(SRQS)) - 1),
    }
}

impl<const QPS: usize, const SRQS: usize> Logic for Choose<QPS, SRQS> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, is_scrubbing, is_reading, is_looking, is_acting, work, rung, is_limit_due);
        dff_setup!(self, clock, is_change, is_renewal, is_doorbell, is_recall, is_limit);
        self.has_visit.next = self.recall.val() | self.limit.val();
        self.goes_first.next = self.doorbell.val() & !(self.has_visit.val() & self.rung.q.val().all());
        self.starts.next = !self.is_scrubbing.q.val()
            & !self.is_reading.q.val()
            & !self.is_looking.q.val()
            & (self.change.val() | self.renewal.val() | self.doorbell.val() | self.has_visit.val());

        if self.starts.val() {
            self.is_change.d.next = false;
            self.is_renewal.d.next = false;
            self.is_doorbell.d.next = false;
            self.is_recall.d.next = false;
            self.is_limit.d.next = false;
            if self.change.val() {
                self.is_change.d.next = true;
                self.work.d.next.shared = false;
                self.work.d.next.number = self.change_number.val();
            } else if self.renewal.val() {
                self.is_renewal.d.next = true;
                self.work.d.next.shared = true;
                self.work.d.next.number = self.renewal_number.val();
            } else if self.goes_first.val() {
                self.is_doorbell.d.next = true;
                self.work.d.next = self.doorbell_rung.val();
                if !self.rung.q.val().all() {
                    self.rung.d.next = self.rung.q.val() + 1;
                }
            } else if self.recall.val() & !(self.limit.val() & self.is_limit_due.q.val()) {
                self.is_recall.d.next = true;
                self.is_limit_due.d.next = true;
                self.rung.d.next = 0.into();
                self.work.d.next.shared = false;
                self.work.d.next.number = bit_cast::<24, QPS>(self.recall_number.val());
            } else {
                self.is_limit.d.next = true;
                self.is_limit_due.d.next = false;
                self.rung.d.next = 0.into();
                self.work.d.next.shared = true;
                self.work.d.next.number = bit_cast::<24, SRQS>(self.limit_number.val());
            }
        }
        self.is_reading.d.next = self.starts.val();
        self.is_looking.d.next = self.is_reading.q.val();
        self.is_acting.d.next = self.is_looking.q.val();
        if self.is_scrubbing.q.val() {
            self.work.d.next.number = self.work.q.val().number + 1;
            self.is_scrubbing.d.next = self.work.q.val().number != self.last.val();
        }

        self.operation.next = self.work.q.val();
        self.reads.next = self.is_reading.q.val();
        self.looks.next = self.is_looking.q.val();
        self.acts.next = self.is_acting.q.val();
        self.changes.next = self.is_change.q.val();
        self.renews.next = self.is_renewal.q.val();
        self.rings.next = self.is_doorbell.q.val();
        self.recalls.next = self.is_recall.q.val();
        self.limits.next = self.is_limit.q.val();
        self.works.next = self.is_reading.q.val() | self.is_looking.q.val() | self.is_acting.q.val();
        self.scrubs.next = self.is_scrubbing.q.val();
        if self.reset.val() {
            self.is_scrubbing.d.next = true;
            self.is_reading.d.next = false;
            self.is_looking.d.next = false;
            self.is_acting.d.next = false;
            self.rung.d.next = 0.into();
            self.is_limit_due.d.next = false;
            self.work.d.next.number = 0.into();
        }
    }
}
