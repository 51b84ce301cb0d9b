//! Lead: from operation to operation, to the answer.

use rust_hdl::prelude::*;
use stroma_abi::kernel::prism::{Outcome, PrismStatus, Report};
use stroma_abi::wire::RpcStatus;
use stroma_hw::block;
use stroma_hw::constant::{constants, number};
use stroma_hw::prim::reg::Reg;
use stroma_hw::slot::{LENGTH_BITS, SlotResponse};
use stroma_hw::stream::{StreamSink, StreamSource};

use super::parameters::{ROOM_BITS, Task};
use super::store::{LINE_BITS, RESULT_LINE, SIZE_BITS};

/// Reports of an answer.
const REPORTS: usize = stroma_abi::kernel::prism::OPERATIONS_MAX;

/// How far the chain has come.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Step {
    /// There is none, or it has just come.
    Begin,
    /// Its payload comes.
    Take,
    /// Which operation is next?
    Pick,
    /// It is carried out.
    Run,
    /// The answer begins.
    Answer,
    /// It goes out.
    Send,
    /// It is told.
    Tell,
}

block! {
    /// Leads one chain after the other through its operations.
    ///
    /// - **Ports** `task`: stays until its answer has gone, and is taken with it. `begins`: one cycle, a new chain; `takes`: its payload is wanted, until `is_ready`: one cycle, it is there and judged, as `is_bad` and `lines` say. `index`: the operation
    ///   at hand; `is_conditional`: of that one; `starts`: one cycle, it is to be carried out, with its result at `result_line`; `ends`: one cycle, it was, as `outcome`, `stage`, `applied`, `answered`, `len` and `target` say. `gathers`: one cycle, `result_len` bytes of results are
    ///   wanted; `answers`: one cycle, later, an answer is to go out, of `reports` and those, together `answer_len`; `has_answered`: one cycle, it has. `response`: how each chain ended.
    /// - **Latency** 1 cycle from `is_ready` to `starts` or `answers`, 1 from `ends` to `starts`, 2 to `answers`, 1 from `has_answered` to `response`, 1 from a task without payload.
    ///   **Rate** one chain at a time; an operation that is skipped takes a cycle.
    /// - **Reset** forgets how far the chain has come.
    pub struct Lead {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub task: StreamSink<Task>,
        pub begins: Signal<Out, Bit>,
        pub takes: Signal<Out, Bit>,
        pub is_ready: Signal<In, Bit>,
        pub is_bad: Signal<In, Bit>,
        pub lines: Signal<In, Bits<ROOM_BITS>>,
        pub index: Signal<Out, Bits<2>>,
        pub is_conditional: Signal<In, Bit>,
        pub starts: Signal<Out, Bit>,
        pub result_line: Signal<Out, Bits<LINE_BITS>>,
        pub ends: Signal<In, Bit>,
        pub outcome: Signal<In, Bits<4>>,
        pub stage: Signal<In, Bits<3>>,
        pub applied: Signal<In, Bit>,
        pub answered: Signal<In, Bit>,
        pub len: Signal<In, Bits<LENGTH_BITS>>,
        pub target: Signal<In, Bits<64>>,
        pub gathers: Signal<Out, Bit>,
        pub answers: Signal<Out, Bit>,
        pub reports: Signal<Out, Bits<512>>,
        pub result_len: Signal<Out, Bits<SIZE_BITS>>,
        pub answer_len: Signal<Out, Bits<SIZE_BITS>>,
        pub has_answered: Signal<In, Bit>,
        pub response: StreamSource<SlotResponse>,
        step: Reg<Step>,
        at: Reg<Bits<3>>,
        is_done: Reg<Bit>,
        /// Behind the last result.
        next_line: Reg<Bits<LINE_BITS>>,
        noted: [Reg<Bits<128>>; REPORTS] = std::array::from_fn(|_| Reg::default()),
        status: Reg<Bits<32>>,
        size: Reg<Bits<SIZE_BITS>>,
        is_refused: Signal<Local, Bit>,
        skips: Signal<Local, Bit>,
        notes: Signal<Local, Bit>,
        entry: Signal<Local, Bits<128>>,
        rounded: Signal<Local, Bits<LENGTH_BITS>>,
        result_lines: Signal<Local, Bits<LINE_BITS>>,
        number: [Constant<Bits<3>>; REPORTS] = constants(|at| (at as u64).into()),
        first_line: Constant<Bits<LINE_BITS>> = number(RESULT_LINE),
        stage_at: Constant<Bits<7>> = number(Report::STAGE.offset()),
        len_at: Constant<Bits<7>> = number(Report::LENGTH.offset()),
        target_at: Constant<Bits<7>> = number(Report::ADDRESS.offset()),
        applied_bit: Constant<Bits<128>> = Constant::new((1_u64 << Report::APPLIED.offset()).into()),
        answered_bit: Constant<Bits<128>> = Constant::new((1_u64 << Report::ANSWERED.offset()).into()),
        skipped: Constant<Bits<128>> = number(Outcome::Skipped as u8),
        done: Constant<Bits<4>> = number(Outcome::Done as u8),
        refused: Constant<Bits<4>> = number(Outcome::Refused as u8),
        good: Constant<Bits<32>> = number(RpcStatus::Ok as u32),
        bad_parameters: Constant<Bits<32>> = number(PrismStatus::BadParameters as u32),
    }
}

const _: () = assert!(Outcome::Failed as u8 == Outcome::Refused as u8 + 1, "both are the last");

impl Logic for Lead {
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "a state machine of seven steps")]
    fn update(&mut self) {
        dff_setup!(self, clock, step, at, is_done, next_line, status, size);
        for i in 0..REPORTS {
            self.noted[i].clock.next = self.clock.val();
            self.noted[i].d.next = self.noted[i].q.val();
        }
        self.begins.next = (self.step.q.val() == Step::Begin) & self.task.valid.val();
        self.takes.next = self.step.q.val() == Step::Take;
        self.index.next = self.at.q.val().get_bits::<2>(0);
        self.result_line.next = self.next_line.q.val();
        self.reports.next = bit_cast::<512, 128>(self.noted[0].q.val())
            | (bit_cast::<512, 128>(self.noted[1].q.val()) << 128)
            | (bit_cast::<512, 128>(self.noted[2].q.val()) << 256)
            | (bit_cast::<512, 128>(self.noted[3].q.val()) << 384);
        self.result_lines.next = self.next_line.q.val() - self.first_line.val();
        self.result_len.next = bit_cast::<SIZE_BITS, LINE_BITS>(self.result_lines.val()) << 6;
        self.answer_len.next = self.size.q.val();
        self.answers.next = self.step.q.val() == Step::Answer;
        self.response.valid.next = self.step.q.val() == Step::Tell;
        self.response.payload.next.ticket = self.task.payload.val().ticket;
        self.response.payload.next.status = self.status.q.val();
        self.response.payload.next.len = bit_cast::<32, SIZE_BITS>(self.size.q.val());
        self.task.ready.next = (self.step.q.val() == Step::Tell) & self.response.ready.val();

        // One line more is for the reports.
        self.is_refused.next = self.task.payload.val().is_bad
            | self.is_bad.val()
            | (self.lines.val() >= self.task.payload.val().room);
        self.rounded.next = self.len.val() + 63;
        self.entry.next = bit_cast::<128, 4>(self.outcome.val())
            | (bit_cast::<128, 3>(self.stage.val()) << self.stage_at.val())
            | (bit_cast::<128, LENGTH_BITS>(self.len.val()) << self.len_at.val())
            | (bit_cast::<128, 64>(self.target.val()) << self.target_at.val());
        if self.applied.val() {
            self.entry.next = self.entry.val() | self.applied_bit.val();
        }
        if self.answered.val() {
            self.entry.next = self.entry.val() | self.answered_bit.val();
        }
        self.skips.next = self.is_conditional.val() & !self.is_done.q.val();
        if self.step.q.val() == Step::Pick {
            self.entry.next = self.skipped.val();
        }
        self.gathers.next = false;
        self.notes.next = false;
        self.starts.next = false;
        match self.step.q.val() {
            Step::Begin => {
                self.at.d.next = 0.into();
                self.is_done.d.next = true;
                self.next_line.d.next = self.first_line.val();
                self.status.d.next = self.bad_parameters.val();
                self.size.d.next = 0.into();
                for i in 0..REPORTS {
                    self.noted[i].d.next = 0.into();
                }
                if self.task.valid.val() {
                    self.step.d.next = Step::Take;
                    if !self.task.payload.val().has_payload {
                        self.step.d.next = Step::Tell;
                    }
                }
            }
            Step::Take => {
                if self.is_ready.val() {
                    self.step.d.next = Step::Tell;
                    if !self.is_refused.val() {
                        self.status.d.next = self.good.val();
                        self.step.d.next = Step::Pick;
                    }
                }
            }
            Step::Pick => {
                if self.at.q.val() == self.task.payload.val().count {
                    // The memory is slower than registers by a cycle.
                    self.gathers.next = true;
                    self.step.d.next = Step::Answer;
                } else if self.skips.val() {
                    self.notes.next = true;
                    self.at.d.next = self.at.q.val() + 1;
                } else {
                    self.starts.next = true;
                    self.step.d.next = Step::Run;
                }
                self.size.d.next = (bit_cast::<SIZE_BITS, LINE_BITS>(self.result_lines.val()) << 6) + 64;
            }
            Step::Run => {
                if self.ends.val() {
                    self.notes.next = true;
                    self.is_done.d.next = self.outcome.val() == self.done.val();
                    if self.answered.val() {
                        self.next_line.d.next = self.next_line.q.val()
                            + bit_cast::<LINE_BITS, 7>(self.rounded.val().get_bits::<7>(6));
                    }
                    self.at.d.next = self.at.q.val() + 1;
                    self.step.d.next = Step::Pick;
                    if self.outcome.val() >= self.refused.val() {
                        // Nothing behind it is carried out.
                        self.at.d.next = self.task.payload.val().count;
                    }
                }
            }
            Step::Answer => {
                self.step.d.next = Step::Send;
            }
            Step::Send => {
                if self.has_answered.val() {
                    self.step.d.next = Step::Tell;
                }
            }
            Step::Tell => {
                if self.response.ready.val() {
                    self.step.d.next = Step::Begin;
                }
            }
        }
        for i in 0..REPORTS {
            if self.notes.val() & (self.at.q.val() == self.number[i].val()) {
                self.noted[i].d.next = self.entry.val();
            }
        }
        if self.reset.val() {
            self.step.d.next = Step::Begin;
        }
    }
}
