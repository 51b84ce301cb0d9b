//! Whose turn it is: operations on what queue pairs owe, one behind the other.

use rust_hdl::prelude::*;

use crate::constant::number;
use crate::prim::reg::Reg;
use crate::prim::round_robin::RoundRobin;

block! {
    /// Chooses operations, reads their rows, and says when to act on them: a pipeline of three stages.
    ///
    /// All five kinds take turns, so each goes on whatever the others do, and a flood of tasks does not stop the answers. A
    /// visit that a task has just made necessary begins at once if nothing else waits; it may find that nothing is owed.
    ///
    /// - **Ports** `asked` (a task), `notice`, `failure`, `change`, `line`: such an operation waits, for the queue pair `*_qpn`; it stays
    ///   until it is taken. `asks_head`: that task has to do with what is at the head. `room`: visits that begin now may send, and others only note; `visits`: they may begin without the line. `begins`: the row of `chosen` is read in this cycle, and `takes_line`: from the line; `looks`: it is
    ///   there, of `looked`, and the operation goes on; `follows`: the one before it has the same queue pair. With `looks` an
    ///   input is taken, as `takes_*` say. `decides`: the row of `index` can be acted on, and `lengthens` says
    ///   that more cycles are needed. `continues`: such a cycle; `stays`: it is not the last. `ends`: the operation does; `moves`: it does,
    ///   or there is none. `tasks`, `notices`, `fails`, `alters`, `serves`: which it is, from `decides` to `ends`; `may_send`: a visit that may. `keeps`: it leaves the READ at the head as it is,
    ///   so that one behind it may read that. `joins`: its queue pair does not stand in line; `direct`: a visit to it begins, and it
    ///   need not. `works`: an operation is under way. `scrubs`: the row of `index` is to be cleared.
    /// - **Latency** `begins`, `looks`, `decides` in successive cycles. **Rate** an operation a cycle, of the same kind every 2 cycles
    ///   but for visits, and one more cycle for each in which one `continues`, or waits behind one of its queue pair that does not keep
    ///   the READ at the head, if it needs that.
    /// - **Reset** scrubs a row a cycle; operations wait.
    pub struct Choose<const QPS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub asked: Signal<In, Bit>,
        pub asked_qpn: Signal<In, Bits<24>>,
        pub asks_head: Signal<In, Bit>,
        pub notice: Signal<In, Bit>,
        pub notice_qpn: Signal<In, Bits<24>>,
        pub failure: Signal<In, Bit>,
        pub failure_qpn: Signal<In, Bits<24>>,
        pub change: Signal<In, Bit>,
        pub change_qpn: Signal<In, Bits<24>>,
        pub line: Signal<In, Bit>,
        pub line_qpn: Signal<In, Bits<QPS>>,
        pub room: Signal<In, Bit>,
        pub visits: Signal<In, Bit>,
        pub lengthens: Signal<In, Bit>,
        pub stays: Signal<In, Bit>,
        pub keeps: Signal<In, Bit>,
        pub joins: Signal<In, Bit>,
        pub begins: Signal<Out, Bit>,
        pub chosen: Signal<Out, Bits<QPS>>,
        pub takes_line: Signal<Out, Bit>,
        pub direct: Signal<Out, Bit>,
        pub looks: Signal<Out, Bit>,
        pub looked: Signal<Out, Bits<QPS>>,
        pub follows: Signal<Out, Bit>,
        pub takes_task: Signal<Out, Bit>,
        pub takes_notice: Signal<Out, Bit>,
        pub takes_failure: Signal<Out, Bit>,
        pub takes_change: Signal<Out, Bit>,
        pub index: Signal<Out, Bits<QPS>>,
        pub decides: Signal<Out, Bit>,
        pub continues: Signal<Out, Bit>,
        pub ends: Signal<Out, Bit>,
        pub moves: Signal<Out, Bit>,
        pub works: Signal<Out, Bit>,
        pub tasks: Signal<Out, Bit>,
        pub notices: Signal<Out, Bit>,
        pub fails: Signal<Out, Bit>,
        pub alters: Signal<Out, Bit>,
        pub serves: Signal<Out, Bit>,
        pub may_send: Signal<Out, Bit>,
        pub scrubs: Signal<Out, Bit>,
        turn: RoundRobin<5>,
        is_scrubbing: Reg<Bit>,
        /// The operation whose row is being looked at, and the one that is decided.
        is_looking: Reg<Bit>,
        next_kind: Reg<Bits<5>>,
        next_queue_pair: Reg<Bits<QPS>>,
        needs_head: Reg<Bit>,
        had_room: Reg<Bit>,
        is_deciding: Reg<Bit>,
        is_continuing: Reg<Bit>,
        kind: Reg<Bits<5>>,
        sends: Reg<Bit>,
        /// After reset the row to be cleared.
        queue_pair: Reg<Bits<QPS>>,
        request: Signal<Local, Bits<5>>,
        waiting: Signal<Local, Bits<5>>,
        goes_on: Signal<Local, Bit>,
        is_same: Signal<Local, Bit>,
        has_passed: Signal<Local, Bit>,
        passes: Signal<Local, Bit>,
        has_place: Signal<Local, Bit>,
        is_direct: Signal<Local, Bit>,
        starts: Signal<Local, Bit>,
        grant: Signal<Local, Bits<5>>,
        first: Signal<Local, Bits<QPS>>,
        visit: Constant<Bits<5>> = number(1_u8 << 4),
        last: Constant<Bits<QPS>> = Constant::new(Bits::mask()),
    }
}

impl<const QPS: usize> Logic for Choose<QPS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, turn);
        dff_setup!(self, clock, is_scrubbing, is_looking, next_kind, next_queue_pair, needs_head, had_room);
        dff_setup!(self, clock, is_deciding, is_continuing, kind, sends, queue_pair);
        self.turn.reset.next = self.reset.val();

        // The last stage decides, for a cycle or more.
        self.has_passed.next = (self.is_deciding.q.val() & !self.lengthens.val())
            | (self.is_continuing.q.val() & !self.stays.val());
        self.goes_on.next = self.has_passed.val() | (!self.is_deciding.q.val() & !self.is_continuing.q.val());
        self.ends.next = self.has_passed.val();
        self.moves.next = self.goes_on.val();

        // The middle one waits for it, and a cycle longer for a READ that may be another.
        self.is_same.next = (self.is_deciding.q.val() | self.is_continuing.q.val())
            & (self.next_queue_pair.q.val() == self.queue_pair.q.val());
        self.passes.next = self.is_looking.q.val()
            & self.goes_on.val()
            & !(self.is_same.val() & !self.keeps.val() & self.needs_head.q.val());
        self.looks.next = self.passes.val();
        self.follows.next = self.is_same.val();
        self.looked.next = self.next_queue_pair.q.val();
        self.takes_task.next = self.passes.val() & self.next_kind.q.val().get_bit(0);
        self.takes_notice.next = self.passes.val() & self.next_kind.q.val().get_bit(1);
        self.takes_failure.next = self.passes.val() & self.next_kind.q.val().get_bit(2);
        self.takes_change.next = self.passes.val() & self.next_kind.q.val().get_bit(3);

        // The first one chooses; an input that is looked at is still there, and must not be chosen twice.
        self.waiting.next = 0.into();
        self.waiting.next = self.waiting.val().replace_bit(0, self.asked.val());
        self.waiting.next = self.waiting.val().replace_bit(1, self.notice.val());
        self.waiting.next = self.waiting.val().replace_bit(2, self.failure.val());
        self.waiting.next = self.waiting.val().replace_bit(3, self.change.val());
        self.request.next = self.waiting.val();
        if self.is_looking.q.val() {
            self.request.next = self.waiting.val() & !self.next_kind.q.val();
        }
        self.request.next = self.request.val().replace_bit(4, self.line.val());
        self.has_place.next = !self.is_scrubbing.q.val() & (!self.is_looking.q.val() | self.passes.val());
        self.is_direct.next = self.is_deciding.q.val()
            & self.kind.q.val().get_bit(0)
            & self.joins.val()
            & self.visits.val()
            & !self.request.val().any();
        self.starts.next = self.has_place.val() & (self.request.val().any() | self.is_direct.val());
        self.turn.request.next = self.request.val();
        self.turn.taken.next = self.has_place.val() & self.request.val().any();
        self.direct.next = self.has_place.val() & self.is_direct.val();
        self.grant.next = self.turn.grant.val();
        self.first.next = self.line_qpn.val();
        if self.is_direct.val() {
            self.grant.next = self.visit.val();
            self.first.next = self.queue_pair.q.val();
        }
        if self.turn.grant.val().get_bit(0) {
            self.first.next = bit_cast::<QPS, 24>(self.asked_qpn.val());
        } else if self.turn.grant.val().get_bit(1) {
            self.first.next = bit_cast::<QPS, 24>(self.notice_qpn.val());
        } else if self.turn.grant.val().get_bit(2) {
            self.first.next = bit_cast::<QPS, 24>(self.failure_qpn.val());
        } else if self.turn.grant.val().get_bit(3) {
            self.first.next = bit_cast::<QPS, 24>(self.change_qpn.val());
        }
        self.begins.next = self.starts.val();
        self.chosen.next = self.first.val();
        self.takes_line.next = self.has_place.val() & self.turn.grant.val().get_bit(4);

        if self.has_place.val() {
            self.is_looking.d.next = self.starts.val();
            self.next_kind.d.next = self.grant.val();
            self.next_queue_pair.d.next = self.first.val();
            self.needs_head.d.next = self.grant.val().get_bit(2)
                | self.grant.val().get_bit(4)
                | (self.grant.val().get_bit(0) & self.asks_head.val());
            self.had_room.d.next = self.room.val();
        }
        if self.goes_on.val() {
            self.is_deciding.d.next = self.passes.val();
            self.kind.d.next = self.next_kind.q.val();
            self.sends.d.next = self.had_room.q.val();
            self.queue_pair.d.next = self.next_queue_pair.q.val();
        } else {
            self.is_deciding.d.next = false;
        }
        self.is_continuing.d.next = (self.is_deciding.q.val() & self.lengthens.val())
            | (self.is_continuing.q.val() & self.stays.val());
        self.index.next = self.queue_pair.q.val();
        self.decides.next = self.is_deciding.q.val();
        self.continues.next = self.is_continuing.q.val();
        self.works.next = self.is_looking.q.val() | self.is_deciding.q.val() | self.is_continuing.q.val();
        self.tasks.next = self.kind.q.val().get_bit(0);
        self.notices.next = self.kind.q.val().get_bit(1);
        self.fails.next = self.kind.q.val().get_bit(2);
        self.alters.next = self.kind.q.val().get_bit(3);
        self.serves.next = self.kind.q.val().get_bit(4);
        self.may_send.next = self.sends.q.val();

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
