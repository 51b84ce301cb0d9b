//! Attempt: from one reading of the object to the next, to the answer.

use rust_hdl::prelude::*;
use stroma_abi::kernel::consistency::{ConsistencyStatus, PAUSES_END};
use stroma_abi::wire::RpcStatus;
use stroma_hw::block;
use stroma_hw::constant::number;
use stroma_hw::prim::reg::Reg;
use stroma_hw::slot::{Ending, SlotResponse};
use stroma_hw::stream::{StreamSink, StreamSource};

use super::parameters::{OBJECT_BITS, Task};

/// Bits of the cycles that all pauses of a task take; the highest says that they are too many.
const PAUSED_BITS: usize = 21;

const _: () = assert!(PAUSES_END == 1 << (PAUSED_BITS - 1));

/// How far the task has come.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Step {
    /// There is none, or it has just come.
    Begin,
    /// The object is read.
    Read,
    /// It did not fit, and the pause goes on.
    Wait,
    /// It fits, and goes out.
    Give,
    /// The answer is told.
    Tell,
}

block! {
    /// Leads one task after the other through its attempts.
    ///
    /// - **Ports** `task`: stays until its answer has gone, and is taken with it. `begins`: one cycle, the object is to be read; `closes`, `ending`: one cycle, one of its reads has come, and how that ended;
    ///   `is_known`, `fits`: one cycle, behind all of them, the object is judged. `is_open`: it may go out; `is_over`: it has. `response`: how each task ended.
    /// - **Order** the first read that failed comes before the CRC. Another attempt is begun if one is left, and all pauses take less than [`PAUSES_END`].
    /// - **Latency** no cycle from a task to `begins`, 1 from `is_known` to `is_open` or `response`, `pause` and 1 to the next `begins`, 1 from `is_over` to `response`.
    ///   **Rate** one task at a time.
    /// - **Reset** forgets how far the task has come.
    pub struct Attempt {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub task: StreamSink<Task>,
        pub begins: Signal<Out, Bit>,
        pub closes: Signal<In, Bit>,
        pub ending: Signal<In, Bits<2>>,
        pub is_known: Signal<In, Bit>,
        pub fits: Signal<In, Bit>,
        pub is_open: Signal<Out, Bit>,
        pub is_over: Signal<In, Bit>,
        pub response: StreamSource<SlotResponse>,
        step: Reg<Step>,
        /// Attempts that were begun.
        used: Reg<Bits<16>>,
        /// Cycles of the pause that remain.
        rest: Reg<Bits<16>>,
        /// Cycles of all pauses so far.
        paused: Reg<Bits<PAUSED_BITS>>,
        how: Reg<Bits<2>>,
        status: Reg<Bits<32>>,
        answered: Reg<Bits<OBJECT_BITS>>,
        failure: Signal<Local, Bits<32>>,
        pauses: Signal<Local, Bits<PAUSED_BITS>>,
        top: Constant<Bits<5>> = number(PAUSED_BITS - 1),
        good: Constant<Bits<32>> = number(RpcStatus::Ok as u32),
        access: Constant<Bits<32>> = number(RpcStatus::Access as u32),
        host: Constant<Bits<32>> = number(RpcStatus::Host as u32),
        inconsistent: Constant<Bits<32>> = number(ConsistencyStatus::Inconsistent as u32),
        bad_parameters: Constant<Bits<32>> = number(ConsistencyStatus::BadParameters as u32),
        refused: Constant<Bits<2>> = number(Ending::Refused as u8),
    }
}

impl Logic for Attempt {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, step, used, rest, paused, how, status, answered);
        self.is_open.next = self.step.q.val() == Step::Give;
        self.response.valid.next = self.step.q.val() == Step::Tell;
        self.response.payload.next.ticket = self.task.payload.val().ticket;
        self.response.payload.next.status = self.status.q.val();
        self.response.payload.next.len = bit_cast::<32, OBJECT_BITS>(self.answered.q.val());
        self.task.ready.next = (self.step.q.val() == Step::Tell) & self.response.ready.val();

        self.failure.next = self.host.val();
        if self.how.q.val() == self.refused.val() {
            self.failure.next = self.access.val();
        }
        if self.closes.val() & !self.how.q.val().any() {
            self.how.d.next = self.ending.val();
        }
        self.pauses.next = self.paused.q.val() + bit_cast::<PAUSED_BITS, 16>(self.task.payload.val().pause);
        self.begins.next = false;
        match self.step.q.val() {
            Step::Begin => {
                self.used.d.next = 1.into();
                self.paused.d.next = 0.into();
                self.how.d.next = 0.into();
                self.answered.d.next = 0.into();
                if self.task.valid.val() {
                    if self.task.payload.val().is_bad {
                        self.status.d.next = self.bad_parameters.val();
                        self.step.d.next = Step::Tell;
                    } else {
                        self.begins.next = true;
                        self.step.d.next = Step::Read;
                    }
                }
            }
            Step::Read => {
                self.rest.d.next = self.task.payload.val().pause;
                if self.is_known.val() {
                    self.step.d.next = Step::Tell;
                    if self.how.q.val().any() {
                        self.status.d.next = self.failure.val();
                    } else if self.fits.val() {
                        self.status.d.next = self.good.val();
                        self.answered.d.next = self.task.payload.val().answer_len;
                        self.step.d.next = Step::Give;
                    } else if (self.used.q.val() == self.task.payload.val().attempts)
                        | self.pauses.val().get_bit(self.top.val().index())
                    {
                        self.status.d.next = self.inconsistent.val();
                    } else {
                        self.paused.d.next = self.pauses.val();
                        self.step.d.next = Step::Wait;
                    }
                }
            }
            Step::Wait => {
                self.rest.d.next = self.rest.q.val() - 1;
                if !self.rest.q.val().any() {
                    self.begins.next = true;
                    self.used.d.next = self.used.q.val() + 1;
                    self.step.d.next = Step::Read;
                }
            }
            Step::Give => {
                if self.is_over.val() {
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
