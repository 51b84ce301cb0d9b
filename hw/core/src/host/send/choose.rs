//! Whose turn it is: one operation at a time on the rows of the send queues.

use rust_hdl::prelude::*;

use crate::prim::reg::Reg;

block! {
    /// Chooses an operation, reads its rows, and says when to act on them.
    ///
    /// Progress comes first, then changes, then kicks: they are bounded by jobs, commands and answers under way. Doorbells
    /// and the line of queue pairs that wait take turns, so that neither a flood of doorbells nor a long line stops the other.
    ///
    /// - **Ports** `progress`, `change`, `kick`, `doorbell`, `line`: such an operation waits, for the queue pair `*_qpn`; it
    ///   stays until it was acted on. `hold`: begin none. `begins`: the rows of `index` are read in this cycle. `looks`: they
    ///   are there. `paced`: with `looks`, the product that progress needs is on its way. `acts`: the operation is carried
    ///   out in this cycle, `progresses`, `changes`, `kicks`, `rings` or `serves`, which are steady from `looks` on. `works`:
    ///   from `looks` to `acts`. `scrubs`: the row of `index` is to be cleared.
    /// - **Latency** `begins`, `looks`, `acts` in successive cycles; 2 more in between for progress with `paced`. **Rate** an
    ///   operation every 3 cycles, or 5.
    /// - **Reset** scrubs a row a cycle; operations wait.
    pub struct Choose<const QPS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub progress: Signal<In, Bit>,
        pub progress_qpn: Signal<In, Bits<24>>,
        pub change: Signal<In, Bit>,
        pub change_qpn: Signal<In, Bits<24>>,
        pub kick: Signal<In, Bit>,
        pub kick_qpn: Signal<In, Bits<24>>,
        pub doorbell: Signal<In, Bit>,
        pub doorbell_qpn: Signal<In, Bits<24>>,
        pub line: Signal<In, Bit>,
        pub line_qpn: Signal<In, Bits<QPS>>,
        pub hold: Signal<In, Bit>,
        pub paced: Signal<In, Bit>,
        pub begins: Signal<Out, Bit>,
        pub index: Signal<Out, Bits<QPS>>,
        pub looks: Signal<Out, Bit>,
        pub acts: Signal<Out, Bit>,
        pub works: Signal<Out, Bit>,
        pub progresses: Signal<Out, Bit>,
        pub changes: Signal<Out, Bit>,
        pub kicks: Signal<Out, Bit>,
        pub rings: Signal<Out, Bit>,
        pub serves: Signal<Out, Bit>,
        pub scrubs: Signal<Out, Bit>,
        is_scrubbing: Reg<Bit>,
        is_looking: Reg<Bit>,
        /// The product is due in two cycles, in one.
        weighs: [Reg<Bit>; 2],
        is_acting: Reg<Bit>,
        is_progress: Reg<Bit>,
        is_change: Reg<Bit>,
        is_kick: Reg<Bit>,
        is_doorbell: Reg<Bit>,
        /// A doorbell had its turn last.
        is_line_due: Reg<Bit>,
        /// The queue pair of the operation; after reset the row to be cleared.
        queue_pair: Reg<Bits<QPS>>,
        is_idle: Signal<Local, Bit>,
        starts: Signal<Local, Bit>,
        chosen: Signal<Local, Bits<QPS>>,
        weighs_now: Signal<Local, Bit>,
        last: Constant<Bits<QPS>> = Constant::new(Bits::mask()),
    }
}

impl<const QPS: usize> Logic for Choose<QPS> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, is_scrubbing, is_looking, is_acting, is_progress, is_change, is_kick);
        dff_setup!(self, clock, is_doorbell, is_line_due, queue_pair);
        for i in 0..2 {
            self.weighs[i].clock.next = self.clock.val();
        }
        self.is_idle.next = !self.is_scrubbing.q.val()
            & !self.is_looking.q.val()
            & !self.weighs[0].q.val()
            & !self.weighs[1].q.val()
            & !self.is_acting.q.val();
        self.starts.next = self.is_idle.val()
            & !self.hold.val()
            & (self.progress.val()
                | self.change.val()
                | self.kick.val()
                | self.doorbell.val()
                | self.line.val());

        self.chosen.next = self.queue_pair.q.val();
        if self.starts.val() {
            self.is_progress.d.next = false;
            self.is_change.d.next = false;
            self.is_kick.d.next = false;
            self.is_doorbell.d.next = false;
            if self.progress.val() {
                self.is_progress.d.next = true;
                self.chosen.next = bit_cast::<QPS, 24>(self.progress_qpn.val());
            } else if self.change.val() {
                self.is_change.d.next = true;
                self.chosen.next = bit_cast::<QPS, 24>(self.change_qpn.val());
            } else if self.kick.val() {
                self.is_kick.d.next = true;
                self.chosen.next = bit_cast::<QPS, 24>(self.kick_qpn.val());
            } else if self.doorbell.val() & !(self.line.val() & self.is_line_due.q.val()) {
                self.is_doorbell.d.next = true;
                self.is_line_due.d.next = true;
                self.chosen.next = bit_cast::<QPS, 24>(self.doorbell_qpn.val());
            } else {
                self.is_line_due.d.next = false;
                self.chosen.next = self.line_qpn.val();
            }
        }
        self.queue_pair.d.next = self.chosen.val();
        self.index.next = self.chosen.val();
        self.begins.next = self.starts.val();

        self.is_looking.d.next = self.starts.val();
        self.weighs_now.next = self.is_looking.q.val() & self.is_progress.q.val() & self.paced.val();
        self.weighs[0].d.next = self.weighs_now.val();
        self.weighs[1].d.next = self.weighs[0].q.val();
        self.is_acting.d.next = (self.is_looking.q.val() & !self.weighs_now.val()) | self.weighs[1].q.val();
        self.looks.next = self.is_looking.q.val();
        self.acts.next = self.is_acting.q.val();
        self.works.next = !self.is_idle.val() & !self.is_scrubbing.q.val();
        self.progresses.next = self.is_progress.q.val();
        self.changes.next = self.is_change.q.val();
        self.kicks.next = self.is_kick.q.val();
        self.rings.next = self.is_doorbell.q.val();
        self.serves.next = !self.is_progress.q.val()
            & !self.is_change.q.val()
            & !self.is_kick.q.val()
            & !self.is_doorbell.q.val();
        self.scrubs.next = self.is_scrubbing.q.val();
        if self.is_scrubbing.q.val() {
            self.queue_pair.d.next = self.queue_pair.q.val() + 1;
            self.is_scrubbing.d.next = self.queue_pair.q.val() != self.last.val();
        }

        if self.reset.val() {
            self.is_scrubbing.d.next = true;
            self.is_looking.d.next = false;
            self.weighs[0].d.next = false;
            self.weighs[1].d.next = false;
            self.is_acting.d.next = false;
            self.is_line_due.d.next = false;
            self.queue_pair.d.next = 0.into();
        }
    }
}
