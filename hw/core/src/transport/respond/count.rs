//! How many READs and atomics are over, for the one who judges requests.

use rust_hdl::prelude::*;

use super::rows::AnswerRow;
use crate::prim::reg::Reg;

block! {
    /// Counts the READs and atomics of a queue pair's peer that were not asked for before, and those of them that are over, and
    /// tells the latter: so others know how many a peer has open.
    ///
    /// - **Ports** `row`, `index`: of the operation; `ends`: its last cycle. In that cycle `comes`: one has come, and `drops`: had
    ///   no room; `goes`: one is answered; `forgets`: none waits any more; `resets`: none has ever come. `came`, `over`: of the row from now
    ///   on. `scrubs`: the row of `index` is cleared. `answered_write`, `answered_index`, `answered`: news.
    /// - **Latency** 0 cycles to `came` and `over`, 1 from `ends` and `scrubs` to `answered_write`. **Rate** an operation a cycle.
    /// - **Reset** none: the owner scrubs.
    pub struct Count<const QPS: usize> {
        pub clock: Signal<In, Clock>,
        pub row: Signal<In, AnswerRow>,
        pub index: Signal<In, Bits<QPS>>,
        pub ends: Signal<In, Bit>,
        pub comes: Signal<In, Bit>,
        pub drops: Signal<In, Bit>,
        pub goes: Signal<In, Bit>,
        pub forgets: Signal<In, Bit>,
        pub resets: Signal<In, Bit>,
        pub scrubs: Signal<In, Bit>,
        pub came: Signal<Out, Bits<5>>,
        pub over: Signal<Out, Bits<5>>,
        pub answered_write: Signal<Out, Bit>,
        pub answered_index: Signal<Out, Bits<QPS>>,
        pub answered: Signal<Out, Bits<5>>,
        tells: Reg<Bit>,
        told: Reg<Bits<QPS>>,
        number: Reg<Bits<5>>,
        all: Signal<Local, Bits<5>>,
        past: Signal<Local, Bits<5>>,
    }
}

impl<const QPS: usize> Logic for Count<QPS> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, tells, told, number);
        self.all.next = self.row.val().came + self.comes.val();
        self.past.next = self.row.val().over;
        if (self.comes.val() & self.drops.val()) | self.goes.val() {
            self.past.next = self.row.val().over + 1;
        }
        if self.forgets.val() {
            self.past.next = self.all.val();
        }
        if self.resets.val() | self.scrubs.val() {
            self.all.next = 0.into();
            self.past.next = 0.into();
        }
        self.came.next = self.all.val();
        self.over.next = self.past.val();
        self.tells.d.next = self.ends.val() | self.scrubs.val();
        self.told.d.next = self.index.val();
        self.number.d.next = self.past.val();
        self.answered_write.next = self.tells.q.val();
        self.answered_index.next = self.told.q.val();
        self.answered.next = self.number.q.val();
    }
}
