//! Whose turn it is: one operation at a time on what queue pairs owe.

use rust_hdl::prelude::*;

use crate::prim::reg::Reg;
use crate::prim::round_robin::RoundRobin;

block! {
    /// Chooses an operation, reads its rows, and says when to act on them.
    ///
    /// All five kinds take turns, so each goes on whatever the others do, and a flood of tasks does not stop the answers.
    ///
    /// - **Ports** `asked` (a task), `notice`, `failure`, `change`, `line`: such an operation waits, for the queue pair `*_qpn`; it stays
    ///   until it has ended. `begins`: the rows of `index` are read in this cycle. `looks`: they are there. `decides`: they
    ///   can be acted on, and `lengthens` says that more cycles are needed. `continues`: such a cycle; `stays`: it is not
    ///   the last. `ends`: the operation does. `tasks`, `notices`, `fails`, `alters`, `serves`: which it is, steady from
    ///   `looks` to `ends`. `works`: from `looks` to `ends`. `scrubs`: the row of `index` is to be cleared.
    /// - **Latency** `begins`, `looks`, `decides` in successive cycles. **Rate** an operation every 3 cycles, and one more for
    ///   each in which it `continues`.
    /// - **Reset** scrubs a row a cycle; operations wait.
    pub struct Choose<const QPS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub asked: Signal<In, Bit>,
        pub asked_qpn: Signal<In, Bits<24>>,
        pub notice: Signal<In, Bit>,
        pub notice_qpn: Signal<In, Bits<24>>,
        pub failure: Signal<In, Bit>,
        pub failure_qpn: Signal<In, Bits<24>>,
        pub change: Signal<In, Bit>,
        pub change_qpn: Signal<In, Bits<24>>,
        pub line: Signal<In, Bit>,
        pub line_qpn: Signal<In, Bits<QPS>>,
        pub lengthens: Signal<In, Bit>,
        pub stays: Signal<In, Bit>,
        pub begins: Signal<Out, Bit>,
        pub index: Signal<Out, Bits<QPS>>,
        pub looks: Signal<Out, Bit>,
        pub decides: Signal<Out, Bit>,
        pub continues: Signal<Out, Bit>,
        pub ends: Signal<Out, Bit>,
        pub works: Signal<Out, Bit>,
        pub tasks: Signal<Out, Bit>,
        pub notices: Signal<Out, Bit>,
        pub fails: Signal<Out, Bit>,
        pub alters: Signal<Out, Bit>,
        pub serves: Signal<Out, Bit>,
        pub scrubs: Signal<Out, Bit>,
        turn: RoundRobin<5>,
        is_scrubbing: Reg<Bit>,
        is_looking: Reg<Bit>,
        is_deciding: Reg<Bit>,
        is_continuing: Reg<Bit>,
        kind: Reg<Bits<5>>,
        /// The queue pair of the operation; after reset the row to be cleared.
        queue_pair: Reg<Bits<QPS>>,
        request: Signal<Local, Bits<5>>,
        is_idle: Signal<Local, Bit>,
        starts: Signal<Local, Bit>,
        chosen: Signal<Local, Bits<QPS>>,
        last: Constant<Bits<QPS>> = Constant::new(Bits::mask()),
    }
}

impl<const QPS: usize> Logic for Choose<QPS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, turn);
        dff_setup!(self, clock, is_scrubbing, is_looking, is_deciding, is_continuing, kind, queue_pair);
        self.turn.reset.next = self.reset.val();
        self.is_idle.next = !self.is_scrubbing.q.val()
            & !self.is_looking.q.val()
            & !self.is_deciding.q.val()
            & !self.is_continuing.q.val();
        self.request.next = 0.into();
        self.request.next = self.request.val().replace_bit(0, self.asked.val());
        self.request.next = self.request.val().replace_bit(1, self.notice.val());
        self.request.next = self.request.val().replace_bit(2, self.failure.val());
        self.request.next = self.request.val().replace_bit(3, self.change.val());
        self.request.next = self.request.val().replace_bit(4, self.line.val());
        self.starts.next = self.is_idle.val() & self.request.val().any();
        self.turn.request.next = self.request.val();
        self.turn.taken.next = self.starts.val();

        self.chosen.next = self.queue_pair.q.val();
        if self.starts.val() {
            self.kind.d.next = self.turn.grant.val();
            self.chosen.next = self.line_qpn.val();
            if self.turn.grant.val().get_bit(0) {
                self.chosen.next = bit_cast::<QPS, 24>(self.asked_qpn.val());
            } else if self.turn.grant.val().get_bit(1) {
                self.chosen.next = bit_cast::<QPS, 24>(self.notice_qpn.val());
            } else if self.turn.grant.val().get_bit(2) {
                self.chosen.next = bit_cast::<QPS, 24>(self.failure_qpn.val());
            } else if self.turn.grant.val().get_bit(3) {
                self.chosen.next = bit_cast::<QPS, 24>(self.change_qpn.val());
            }
        }
        self.queue_pair.d.next = self.chosen.val();
        self.index.next = self.chosen.val();
        self.begins.next = self.starts.val();
        self.is_looking.d.next = self.starts.val();
        self.is_deciding.d.next = self.is_looking.q.val();
        self.is_continuing.d.next = (self.is_deciding.q.val() & self.lengthens.val())
            | (self.is_continuing.q.val() & self.stays.val());
        self.looks.next = self.is_looking.q.val();
        self.decides.next = self.is_deciding.q.val();
        self.continues.next = self.is_continuing.q.val();
        self.ends.next = (self.is_deciding.q.val() & !self.lengthens.val())
            | (self.is_continuing.q.val() & !self.stays.val());
        self.works.next = !self.is_idle.val() & !self.is_scrubbing.q.val();
        self.tasks.next = self.kind.q.val().get_bit(0);
        self.notices.next = self.kind.q.val().get_bit(1);
        self.fails.next = self.kind.q.val().get_bit(2);
        self.alters.next = self.kind.q.val().get_bit(3);
        self.serves.next = self.kind.q.val().get_bit(4);

        self.scrubs.next = self.is_scrubbing.q.val();
        if self.is_scrubbing.q.val() {
            self.queue_pair.d.next = self.queue_pair.q.val() + 1;
            self.is_scrubbing.d.next = self.queue_pair.q.val() != self.last.val();
        }
        if self.reset.val() {
            self.is_scrubbing.d.next = true;
            self.is_looking.d.next = false;
            self.is_deciding.d.next = false;
            self.is_continuing.d.next = false;
            self.queue_pair.d.next = 0.into();
        }
    }
}
