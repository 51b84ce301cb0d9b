//! Control: one request after the other, from the table to its last word; [`Finish`](super::finish::Finish) does the rest.

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::prim::reg::Reg;
use stroma_hw::stream::StreamSink;

use super::parameters::Task;

/// How far the task has come.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Step {
    /// There is none, or it waits for the one before.
    Begin,
    /// It has just come.
    Judge,
    /// The table is read.
    Open,
    /// Payload goes to the banks.
    Pass,
    /// Payload goes nowhere.
    Drop,
    /// Words are on their way into rows.
    Take,
}

block! {
    /// Leads one task after the other through the parts, until its words are in rows.
    ///
    /// A task that goes on where the one before it stops, with the same table, may follow before that has ended: all it needs is on the card.
    ///
    /// - **Ports** `tasks`: requests; `now`: the one under way, or the last; `judges`: one cycle, it begins, and follows none. `opens`: one cycle, the table is to be read, and the banks begin; `is_open`: it is; `is_refused`, `has_failed`: its read was. `passes`, `drops`: what becomes of the payload, until
    ///   `has_passed`. `is_taken`: no word is on its way to a row; `overflows`: a word had no room in this cycle. `flushes`: one cycle, all words of the task are in rows, `has_overflowed` some were not; `tells`: one cycle, it is to be answered without.
    ///   `is_resting`: those before have been answered; `may_follow`: the one before has not, and has not failed; `is_ahead`: the task follows it. `concludes`: one cycle, that has been answered; `forgets`: with it, it had failed, and the task begins once more, as if it had just come.
    /// - **Latency** 1 cycle from each step to the next, 2 from `tasks` to `opens`.
    /// - **Backpressure** takes a task when the one before has been answered, or may be followed.
    /// - **Reset** forgets how far the task has come.
    pub struct Control {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub tasks: StreamSink<Task>,
        pub now: Signal<Out, Task>,
        pub judges: Signal<Out, Bit>,
        pub opens: Signal<Out, Bit>,
        pub is_open: Signal<In, Bit>,
        pub is_refused: Signal<In, Bit>,
        pub has_failed: Signal<In, Bit>,
        pub passes: Signal<Out, Bit>,
        pub drops: Signal<Out, Bit>,
        pub has_passed: Signal<In, Bit>,
        pub is_taken: Signal<In, Bit>,
        pub overflows: Signal<In, Bit>,
        pub flushes: Signal<Out, Bit>,
        pub has_overflowed: Signal<Out, Bit>,
        pub tells: Signal<Out, Bit>,
        pub is_resting: Signal<In, Bit>,
        pub may_follow: Signal<In, Bit>,
        pub is_ahead: Signal<Out, Bit>,
        pub concludes: Signal<In, Bit>,
        pub forgets: Signal<In, Bit>,
        step: Reg<Step>,
        held: Reg<Task>,
        /// The next task goes on where this one stops.
        goes_on: Reg<Bit>,
        ahead: Reg<Bit>,
        overflowed: Reg<Bit>,
        upcoming: Signal<Local, Task>,
        begins: Signal<Local, Bit>,
        follows: Signal<Local, Bit>,
    }
}

impl Logic for Control {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, step, held, goes_on, ahead, overflowed);
        self.now.next = self.held.q.val();
        self.judges.next = self.step.q.val() == Step::Judge;
        self.passes.next = self.step.q.val() == Step::Pass;
        self.drops.next = self.step.q.val() == Step::Drop;
        self.is_ahead.next = self.ahead.q.val();
        self.has_overflowed.next = self.overflowed.q.val();

        // Of a register: tasks wait unchanged for long before anybody asks.
        self.upcoming.next = self.tasks.payload.val();
        self.goes_on.d.next = self.tasks.valid.val()
            & self.upcoming.val().has_payload
            & !self.upcoming.val().is_bad
            & (self.upcoming.val().qpn == self.held.q.val().qpn)
            & (self.upcoming.val().key == self.held.q.val().key)
            & (self.upcoming.val().buffers == self.held.q.val().buffers)
            & (self.upcoming.val().last == self.held.q.val().last)
            & (self.upcoming.val().first_bit == self.held.q.val().first_bit)
            & (self.upcoming.val().wide == self.held.q.val().wide);
        self.begins.next = (self.step.q.val() == Step::Begin) & self.is_resting.val();
        self.follows.next = (self.step.q.val() == Step::Begin) & self.may_follow.val() & self.goes_on.q.val();
        self.tasks.ready.next = self.begins.val() | self.follows.val();

        self.opens.next = false;
        self.flushes.next = false;
        self.tells.next = false;
        if self.overflows.val() {
            self.overflowed.d.next = true;
        }
        match self.step.q.val() {
            Step::Begin => {
                if self.tasks.valid.val() & (self.begins.val() | self.follows.val()) {
                    self.held.d.next = self.upcoming.val();
                    self.step.d.next = Step::Judge;
                    if self.follows.val() {
                        self.ahead.d.next = true;
                        self.step.d.next = Step::Pass;
                    }
                }
            }
            Step::Judge => {
                self.overflowed.d.next = false;
                if !self.held.q.val().has_payload {
                    self.tells.next = true;
                    self.step.d.next = Step::Begin;
                } else if self.held.q.val().is_bad {
                    self.step.d.next = Step::Drop;
                } else {
                    self.opens.next = true;
                    self.step.d.next = Step::Open;
                }
            }
            Step::Open => {
                if self.is_open.val() {
                    self.step.d.next = Step::Pass;
                    if self.is_refused.val() | self.has_failed.val() {
                        self.step.d.next = Step::Drop;
                    }
                }
            }
            Step::Pass => {
                if self.has_passed.val() {
                    self.step.d.next = Step::Take;
                }
            }
            Step::Drop => {
                if self.has_passed.val() {
                    self.tells.next = true;
                    self.step.d.next = Step::Begin;
                }
            }
            Step::Take => {
                if self.is_taken.val() & self.is_resting.val() {
                    self.flushes.next = true;
                    self.overflowed.d.next = false;
                    self.step.d.next = Step::Begin;
                }
            }
        }
        if self.concludes.val() {
            self.ahead.d.next = false;
            if self.forgets.val() {
                self.step.d.next = Step::Judge;
            }
        }
        if self.reset.val() {
            self.step.d.next = Step::Begin;
            self.ahead.d.next = false;
        }
    }
}
