//! Control: one request after the other, from the table to the answer.

use rust_hdl::prelude::*;
use stroma_abi::kernel::shuffle::ShuffleStatus;
use stroma_abi::wire::RpcStatus;
use stroma_hw::block;
use stroma_hw::constant::number;
use stroma_hw::prim::reg::Reg;
use stroma_hw::slot::SlotResponse;
use stroma_hw::stream::{StreamSink, StreamSource};

use super::parameters::Task;

/// How far the task has come.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Step {
    /// There is none, or it has just come.
    Begin,
    /// The table is read.
    Open,
    /// Payload goes to the banks.
    Pass,
    /// Payload goes nowhere.
    Drop,
    /// Words are on their way into rows.
    Take,
    /// What is left in rows is written, and writes end.
    Flush,
    /// The table is written.
    Save,
    /// The answer is told.
    Tell,
}

block! {
    /// Leads one task after the other through the parts.
    ///
    /// - **Ports** `task`: stays until its answer has gone, and is taken with it. `opens`: one cycle, the table is to be read, and the banks begin; `is_open`: it is. `passes`, `drops`: what becomes of the payload, until `has_passed`. `is_taken`: no word is
    ///   on its way to a row; `flushes`: one cycle, rows that are not full are to be written too; `is_idle`: no row is left, and no write open. `saves`: one cycle, the table is to be written; `is_saving`: it is; `is_saved`: all of it has gone out.
    ///   `is_refused`, `has_failed`: a read of the table or a write was, since `opens`; `overflows`: a word had no room in this cycle. `response`: how each task ended.
    /// - **Order** what was refused comes before what failed, and that before an overflow.
    /// - **Latency** 1 cycle from each step to the next.
    /// - **Reset** forgets how far the task has come.
    pub struct Control {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub task: StreamSink<Task>,
        pub opens: Signal<Out, Bit>,
        pub is_open: Signal<In, Bit>,
        pub passes: Signal<Out, Bit>,
        pub drops: Signal<Out, Bit>,
        pub has_passed: Signal<In, Bit>,
        pub is_taken: Signal<In, Bit>,
        pub flushes: Signal<Out, Bit>,
        pub is_idle: Signal<In, Bit>,
        pub saves: Signal<Out, Bit>,
        pub is_saving: Signal<Out, Bit>,
        pub is_saved: Signal<In, Bit>,
        pub is_refused: Signal<In, Bit>,
        pub has_failed: Signal<In, Bit>,
        pub overflows: Signal<In, Bit>,
        pub response: StreamSource<SlotResponse>,
        step: Reg<Step>,
        has_overflowed: Reg<Bit>,
        /// No cycle counts in which a part may not have heard of its pulse yet.
        is_new: Reg<Bit>,
        status: Signal<Local, Bits<32>>,
        is_bad: Signal<Local, Bit>,
        good: Constant<Bits<32>> = number(RpcStatus::Ok as u32),
        access: Constant<Bits<32>> = number(RpcStatus::Access as u32),
        host: Constant<Bits<32>> = number(RpcStatus::Host as u32),
        overflow: Constant<Bits<32>> = number(ShuffleStatus::Overflow as u32),
        bad_parameters: Constant<Bits<32>> = number(ShuffleStatus::BadParameters as u32),
    }
}

impl Logic for Control {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, step, has_overflowed, is_new);
        self.is_bad.next = self.is_refused.val() | self.has_failed.val();
        self.status.next = self.good.val();
        if self.has_overflowed.q.val() {
            self.status.next = self.overflow.val();
        }
        if self.has_failed.val() {
            self.status.next = self.host.val();
        }
        if self.is_refused.val() {
            self.status.next = self.access.val();
        }
        if !self.task.payload.val().has_payload {
            self.status.next = self.good.val();
        }
        if self.task.payload.val().is_bad {
            self.status.next = self.bad_parameters.val();
        }
        self.response.valid.next = self.step.q.val() == Step::Tell;
        self.response.payload.next.ticket = self.task.payload.val().ticket;
        self.response.payload.next.status = self.status.val();
        self.response.payload.next.len = 0.into();
        self.task.ready.next = (self.step.q.val() == Step::Tell) & self.response.ready.val();
        self.passes.next = self.step.q.val() == Step::Pass;
        self.drops.next = self.step.q.val() == Step::Drop;
        self.is_saving.next = self.step.q.val() == Step::Save;

        self.opens.next = false;
        self.flushes.next = false;
        self.saves.next = false;
        self.is_new.d.next = false;
        if self.overflows.val() {
            self.has_overflowed.d.next = true;
        }
        match self.step.q.val() {
            Step::Begin => {
                self.has_overflowed.d.next = false;
                if self.task.valid.val() {
                    if !self.task.payload.val().has_payload {
                        self.step.d.next = Step::Tell;
                    } else if self.task.payload.val().is_bad {
                        self.step.d.next = Step::Drop;
                    } else {
                        self.opens.next = true;
                        self.is_new.d.next = true;
                        self.step.d.next = Step::Open;
                    }
                }
            }
            Step::Open => {
                if self.is_open.val() & !self.is_new.q.val() {
                    self.step.d.next = Step::Pass;
                    if self.is_bad.val() {
                        self.step.d.next = Step::Drop;
                    }
                }
            }
            Step::Pass => {
                if self.has_passed.val() {
                    self.is_new.d.next = true;
                    self.step.d.next = Step::Take;
                }
            }
            Step::Drop => {
                if self.has_passed.val() {
                    self.step.d.next = Step::Tell;
                }
            }
            Step::Take => {
                if self.is_taken.val() & !self.is_new.q.val() {
                    self.flushes.next = true;
                    self.is_new.d.next = true;
                    self.step.d.next = Step::Flush;
                }
            }
            Step::Flush => {
                if self.is_idle.val() & !self.is_new.q.val() {
                    self.step.d.next = Step::Tell;
                    if !self.is_bad.val() {
                        self.saves.next = true;
                        self.is_new.d.next = true;
                        self.step.d.next = Step::Save;
                    }
                }
            }
            Step::Save => {
                if self.is_saved.val() & self.is_idle.val() & !self.is_new.q.val() {
                    self.step.d.next = Step::Tell;
                }
            }
            Step::Tell => {
                if self.response.ready.val() {
                    self.step.d.next = Step::Begin;
                }
            }
        }
        if self.reset.val() {
            self.step.d.next = Step::Begin;
        }
    }
}
