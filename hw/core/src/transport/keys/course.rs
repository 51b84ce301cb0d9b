//! Course: from one work on a key to the next.

use rust_hdl::prelude::*;

use crate::prim::reg::Reg;

/// How far the work under way has come.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Step {
    /// There is none.
    Idle,
    /// What the peer sent before it goes first.
    Before,
    /// It is put to the owner of the keys.
    Ask,
    /// The owner judges it.
    Judge,
    /// What was begun under the key goes before its end is told.
    After,
    /// It is told.
    Tell,
}

block! {
    /// Leads one work after the other through its steps.
    ///
    /// - **Ports** `has_job`, `has_part`: one waits; `is_bind`: the job is a `Bind`. `is_part`: the one under way is a part. `asks`: it is put to
    ///   the owner; `asked`: the owner takes it. `judges`: the owner's reply is awaited; `replies`, `reply`: it comes. `settles`: one
    ///   cycle, what is under way has to go; `settled`: it has. `tells`: its end is told, as `cause` says; `told`: that is over.
    /// - **Order** jobs and parts take turns when both wait. A part settles first; a key that has ended settles before its end is told. Of a key
    ///   that begins nothing is under way, and one that was refused has not changed.
    /// - **Latency** 1 cycle a step. **Reset** there is none under way.
    pub struct Course {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub has_job: Signal<In, Bit>,
        pub has_part: Signal<In, Bit>,
        pub is_bind: Signal<In, Bit>,
        pub is_part: Signal<Out, Bit>,
        pub asks: Signal<Out, Bit>,
        pub asked: Signal<In, Bit>,
        pub judges: Signal<Out, Bit>,
        pub replies: Signal<In, Bit>,
        pub reply: Signal<In, Bits<3>>,
        pub settles: Signal<Out, Bit>,
        pub settled: Signal<In, Bit>,
        pub tells: Signal<Out, Bit>,
        pub cause: Signal<Out, Bits<3>>,
        pub told: Signal<In, Bit>,
        step: Reg<Step>,
        is_of_part: Reg<Bit>,
        why: Reg<Bits<3>>,
        picks_part: Signal<Local, Bit>,
        is_done: Signal<Local, Bit>,
        goes: Signal<Local, Bit>,
    }
}

impl Logic for Course {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, step, is_of_part, why);
        self.is_part.next = self.is_of_part.q.val();
        self.cause.next = self.why.q.val();
        self.asks.next = self.step.q.val() == Step::Ask;
        self.judges.next = self.step.q.val() == Step::Judge;
        self.tells.next = self.step.q.val() == Step::Tell;

        // The kind that did not have its turn last goes first.
        self.picks_part.next = self.has_part.val() & (!self.has_job.val() | !self.is_of_part.q.val());
        self.is_done.next = self.reply.val().any() | (!self.is_of_part.q.val() & self.is_bind.val());
        self.goes.next = false;
        match self.step.q.val() {
            Step::Idle => {
                if self.picks_part.val() {
                    self.is_of_part.d.next = true;
                    self.goes.next = true;
                    self.step.d.next = Step::Before;
                } else if self.has_job.val() {
                    self.is_of_part.d.next = false;
                    self.step.d.next = Step::Ask;
                }
            }
            Step::Before => {
                if self.settled.val() {
                    self.step.d.next = Step::Ask;
                }
            }
            Step::Ask => {
                if self.asked.val() {
                    self.step.d.next = Step::Judge;
                }
            }
            Step::Judge => {
                if self.replies.val() {
                    self.why.d.next = self.reply.val();
                    self.goes.next = !self.is_done.val();
                    self.step.d.next = Step::After;
                    if self.is_done.val() {
                        self.step.d.next = Step::Tell;
                    }
                }
            }
            Step::After => {
                if self.settled.val() {
                    self.step.d.next = Step::Tell;
                }
            }
            Step::Tell => {
                if self.told.val() {
                    self.step.d.next = Step::Idle;
                }
            }
        }
        self.settles.next = self.goes.val();
        if self.reset.val() {
            self.step.d.next = Step::Idle;
            self.is_of_part.d.next = false;
        }
    }
}
