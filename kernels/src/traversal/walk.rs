//! Walk: from element to element, to the value, to the answer.

use rust_hdl::prelude::*;
use stroma_abi::kernel::traversal::TraversalStatus;
use stroma_abi::wire::RpcStatus;
use stroma_hw::block;
use stroma_hw::constant::number;
use stroma_hw::prim::reg::Reg;
use stroma_hw::slot::{Ending, LENGTH_BITS, SlotRead, SlotResponse};
use stroma_hw::stream::{StreamSink, StreamSource};

use super::compare::Verdict;
use super::parameters::{Task, VALUE_BITS};

/// How far the task has come.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Step {
    /// There is none, or it has just come.
    Begin,
    /// An element is asked for.
    Ask,
    /// It is awaited.
    Look,
    /// The value goes out.
    Value,
    /// The answer is told.
    Tell,
}

block! {
    /// Leads one task after the other through its elements.
    ///
    /// - **Ports** `task`: stays until its answer has gone, and is taken with it. `read`: of an element; `at`: where that is; `is_judged`, `verdict`: what it leads to. `begins_value`: one
    ///   cycle, the value at `value_va` is to go out; `value_ends`: it has, as `value_ending` says, with `value_len` bytes; `is_value`: in between.
    ///   `response`: how each task ended.
    /// - **Order** a key that fits comes before everything else, a pointer of 0 before the limit of hops.
    /// - **Latency** 1 cycle from a task to `read` or `response`, from a verdict to `read` or `response`, none to `begins_value`, 1 from the end of a value to `response`.
    ///   **Rate** one task at a time.
    /// - **Reset** forgets how far the task has come.
    pub struct Walk {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub task: StreamSink<Task>,
        pub read: StreamSource<SlotRead>,
        pub at: Signal<Out, Bits<64>>,
        pub is_judged: Signal<In, Bit>,
        pub verdict: Signal<In, Verdict>,
        pub begins_value: Signal<Out, Bit>,
        pub value_va: Signal<Out, Bits<64>>,
        pub is_value: Signal<Out, Bit>,
        pub value_ends: Signal<In, Bit>,
        pub value_ending: Signal<In, Bits<2>>,
        pub value_len: Signal<In, Bits<VALUE_BITS>>,
        pub response: StreamSource<SlotResponse>,
        step: Reg<Step>,
        element: Reg<Bits<64>>,
        /// Elements asked for.
        hops: Reg<Bits<16>>,
        status: Reg<Bits<32>>,
        len: Reg<Bits<VALUE_BITS>>,
        ending: Signal<Local, Bits<2>>,
        failure: Signal<Local, Bits<32>>,
        good: Constant<Bits<32>> = number(RpcStatus::Ok as u32),
        access: Constant<Bits<32>> = number(RpcStatus::Access as u32),
        host: Constant<Bits<32>> = number(RpcStatus::Host as u32),
        limit: Constant<Bits<32>> = number(RpcStatus::Limit as u32),
        not_found: Constant<Bits<32>> = number(TraversalStatus::NotFound as u32),
        bad_parameters: Constant<Bits<32>> = number(TraversalStatus::BadParameters as u32),
        refused: Constant<Bits<2>> = number(Ending::Refused as u8),
    }
}

impl Logic for Walk {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, step, element, hops, status, len);
        self.read.valid.next = self.step.q.val() == Step::Ask;
        self.read.payload.next.ticket = self.task.payload.val().ticket;
        self.read.payload.next.va = self.element.q.val();
        self.read.payload.next.key = self.task.payload.val().key;
        self.read.payload.next.len = bit_cast::<LENGTH_BITS, 7>(self.task.payload.val().element_len);
        self.at.next = self.element.q.val();
        self.value_va.next = self.verdict.val().value;
        self.is_value.next = self.step.q.val() == Step::Value;
        self.response.valid.next = self.step.q.val() == Step::Tell;
        self.response.payload.next.ticket = self.task.payload.val().ticket;
        self.response.payload.next.status = self.status.q.val();
        self.response.payload.next.len = bit_cast::<32, VALUE_BITS>(self.len.q.val());
        self.task.ready.next = (self.step.q.val() == Step::Tell) & self.response.ready.val();

        self.ending.next = self.verdict.val().ending;
        if self.step.q.val() == Step::Value {
            self.ending.next = self.value_ending.val();
        }
        self.failure.next = self.host.val();
        if self.ending.val() == self.refused.val() {
            self.failure.next = self.access.val();
        }
        self.begins_value.next = false;
        match self.step.q.val() {
            Step::Begin => {
                self.element.d.next = self.task.payload.val().root;
                self.hops.d.next = 1.into();
                self.len.d.next = 0.into();
                if self.task.valid.val() {
                    self.step.d.next = Step::Tell;
                    if self.task.payload.val().is_bad {
                        self.status.d.next = self.bad_parameters.val();
                    } else if self.task.payload.val().is_null {
                        self.status.d.next = self.not_found.val();
                    } else {
                        self.step.d.next = Step::Ask;
                    }
                }
            }
            Step::Ask => {
                if self.read.ready.val() {
                    self.step.d.next = Step::Look;
                }
            }
            Step::Look => {
                if self.is_judged.val() {
                    self.step.d.next = Step::Tell;
                    if self.verdict.val().ending.any() {
                        self.status.d.next = self.failure.val();
                    } else if self.verdict.val().fits {
                        self.status.d.next = self.good.val();
                        if self.task.payload.val().value_len.any() {
                            self.begins_value.next = true;
                            self.step.d.next = Step::Value;
                        }
                    } else if !self.verdict.val().successor.any() {
                        self.status.d.next = self.not_found.val();
                    } else if self.hops.q.val() == self.task.payload.val().hop_limit {
                        self.status.d.next = self.limit.val();
                    } else {
                        self.element.d.next = self.verdict.val().successor;
                        self.hops.d.next = self.hops.q.val() + 1;
                        self.step.d.next = Step::Ask;
                    }
                }
            }
            Step::Value => {
                self.len.d.next = self.value_len.val();
                if self.value_ends.val() {
                    self.step.d.next = Step::Tell;
                    if self.value_ending.val().any() {
                        self.status.d.next = self.failure.val();
                    }
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
