//! Operate: one operation, from DMA to DMA.

use rust_hdl::prelude::*;
use stroma_abi::kernel::prism::{Kind, Outcome, Stage};
use stroma_hw::block;
use stroma_hw::constant::number;
use stroma_hw::prim::reg::Reg;
use stroma_hw::slot::{Ending, LENGTH_BITS, SlotRead, TICKET_BITS};
use stroma_hw::stream::StreamSource;

use super::judge::Order;
use super::plan::{Known, Plan, Purpose};
use super::put::Gift;
use super::store::LINE_BITS;

/// How far the operation has come.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Step {
    /// There is none.
    Idle,
    /// What is to be done next?
    Plan,
    /// A read is asked for.
    Ask,
    /// It is awaited.
    Look,
    /// What is there has come, perhaps before the operands.
    Weigh,
    /// The comparison is awaited.
    Compare,
    /// A write begins.
    Put,
    /// Writes are awaited.
    Settle,
    /// It is over.
    End,
}

block! {
    /// Carries out one operation after the other.
    ///
    /// - **Ports** `begins`: one cycle, a new chain, for `ticket`, which stays. `starts`: one cycle, the operation `order`; `result_line`: where its result is kept, until `ends`: one cycle, it ended as `outcome`,
    ///   `stage`, `applied`, `answered`, `len` and `target` say, which stay until the next starts. `now`: the operation under way; `fetches_operands`: one cycle, its operands are wanted; `loads`: they have not all come. `read`: asked for; `line`: where its data go; `is_there`, `words`, `ending`: what came.
    ///   `weighs`: one cycle, what is there can be compared, with `fetched`, data from memory, and `allocated`, the last buffer; `is_known`, `holds`: what came of it. `puts`: `gift` is to be written, which for a list is its `head`; `has_put`: it has begun; `is_settled`, `how`: all writes have ended.
    /// - **Latency** 2 cycles from `starts` to `read` or `puts`, 2 from `is_there` to the next, 1 from a ring to `puts`, 1 to `weighs`, 1 from `is_known` to `puts`; 1 from `is_there` or `is_settled` to `ends`.
    ///   **Rate** one operation at a time, and of it one read, or two writes.
    /// - **Backpressure** waits for `read` and `has_put`.
    /// - **Reset** forgets the operation; nothing of it must come any more.
    pub struct Operate {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub ticket: Signal<In, Bits<TICKET_BITS>>,
        pub begins: Signal<In, Bit>,
        pub starts: Signal<In, Bit>,
        pub order: Signal<In, Order>,
        pub result_line: Signal<In, Bits<LINE_BITS>>,
        pub read: StreamSource<SlotRead>,
        pub line: Signal<Out, Bits<LINE_BITS>>,
        pub is_there: Signal<In, Bit>,
        pub words: Signal<In, Bits<256>>,
        pub ending: Signal<In, Bits<2>>,
        pub now: Signal<Out, Order>,
        pub fetched: Signal<Out, Bits<256>>,
        pub allocated: Signal<Out, Bits<64>>,
        pub loads: Signal<In, Bit>,
        pub weighs: Signal<Out, Bit>,
        pub is_known: Signal<In, Bit>,
        pub holds: Signal<In, Bit>,
        pub puts: Signal<Out, Bit>,
        pub gift: Signal<Out, Gift>,
        pub head: Signal<Out, Bits<64>>,
        pub has_put: Signal<In, Bit>,
        pub is_settled: Signal<In, Bit>,
        pub how: Signal<In, Bits<2>>,
        pub fetches_operands: Signal<Out, Bit>,
        pub ends: Signal<Out, Bit>,
        pub outcome: Signal<Out, Bits<4>>,
        pub stage: Signal<Out, Bits<3>>,
        pub applied: Signal<Out, Bit>,
        pub answered: Signal<Out, Bit>,
        pub len: Signal<Out, Bits<LENGTH_BITS>>,
        pub target: Signal<Out, Bits<64>>,
        plan: Plan,
        step: Reg<Step>,
        purpose: Reg<Purpose>,
        given: Reg<Gift>,
        known: Reg<Known>,
        task: Reg<Order>,
        asked: Reg<SlotRead>,
        asked_line: Reg<Bits<LINE_BITS>>,
        size: Reg<Bits<LENGTH_BITS>>,
        at: Reg<Bits<64>>,
        /// The list's: head when a buffer is taken, place of its address in the ring, and the ring.
        taken: Reg<Bits<64>>,
        place: Reg<Bits<64>>,
        ring: Reg<Bits<64>>,
        buffer: Reg<Bits<64>>,
        data: Reg<Bits<256>>,
        end: Reg<Bits<4>>,
        end_stage: Reg<Bits<3>>,
        is_applied: Reg<Bit>,
        is_answered: Reg<Bit>,
        is_read: Signal<Local, Bit>,
        is_swap: Signal<Local, Bit>,
        is_allocate: Signal<Local, Bit>,
        first: Signal<Local, Bits<64>>,
        second: Signal<Local, Bits<64>>,
        third: Signal<Local, Bits<64>>,
        fourth: Signal<Local, Bits<64>>,
        is_null: Signal<Local, Bit>,
        is_bound: Signal<Local, Bit>,
        is_too_long: Signal<Local, Bit>,
        places_log: Signal<Local, Bits<5>>,
        mask: Signal<Local, Bits<32>>,
        bad: Signal<Local, Bits<2>>,
        failure: Signal<Local, Bits<4>>,
        read_stage: Signal<Local, Bits<3>>,
        kind_read: Constant<Bits<2>> = number(Kind::Read as u8),
        kind_swap: Constant<Bits<2>> = number(Kind::CompareAndSwap as u8),
        kind_allocate: Constant<Bits<2>> = number(Kind::Allocate as u8),
        done: Constant<Bits<4>> = number(Outcome::Done as u8),
        not_swapped: Constant<Bits<4>> = number(Outcome::NotSwapped as u8),
        no_buffer: Constant<Bits<4>> = number(Outcome::NoBuffer as u8),
        too_long: Constant<Bits<4>> = number(Outcome::TooLong as u8),
        null: Constant<Bits<4>> = number(Outcome::Null as u8),
        refused: Constant<Bits<4>> = number(Outcome::Refused as u8),
        failed: Constant<Bits<4>> = number(Outcome::Failed as u8),
        stage_pointer: Constant<Bits<3>> = number(Stage::Pointer as u8),
        stage_data: Constant<Bits<3>> = number(Stage::Data as u8),
        stage_list: Constant<Bits<3>> = number(Stage::List as u8),
        stage_target: Constant<Bits<3>> = number(Stage::Target as u8),
        stage_write: Constant<Bits<3>> = number(Stage::Write as u8),
        stage_redirect: Constant<Bits<3>> = number(Stage::Redirect as u8),
        is_refusal: Constant<Bits<2>> = number(Ending::Refused as u8),
        one: Constant<Bits<32>> = number(1),
    }
}

impl Logic for Operate {
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "a state machine of nine steps")]
    fn update(&mut self) {
        dff_setup!(self, clock, step, purpose, given, known, task, asked, asked_line, size, at);
        dff_setup!(self, clock, taken, place, ring, buffer, data);
        dff_setup!(self, clock, end, end_stage, is_applied, is_answered);
        self.is_read.next = self.task.q.val().kind == self.kind_read.val();
        self.is_swap.next = self.task.q.val().kind == self.kind_swap.val();
        self.is_allocate.next = self.task.q.val().kind == self.kind_allocate.val();
        self.now.next = self.task.q.val();
        self.fetched.next = self.data.q.val();
        self.allocated.next = self.buffer.q.val();
        self.line.next = self.asked_line.q.val();
        self.read.valid.next = self.step.q.val() == Step::Ask;
        self.read.payload.next = self.asked.q.val();
        self.weighs.next = (self.step.q.val() == Step::Weigh) & !self.loads.val();

        // Of what was read: pointer and bound, or the list.
        self.first.next = self.words.val().get_bits::<64>(0);
        self.second.next = self.words.val().get_bits::<64>(64);
        self.third.next = self.words.val().get_bits::<64>(128);
        self.fourth.next = self.words.val().get_bits::<64>(192);
        self.is_null.next = !self.first.val().any();
        self.is_bound.next = self.task.q.val().bounded
            & !self.second.val().get_bits::<51>(13).any()
            & (self.second.val().get_bits::<LENGTH_BITS>(0) < self.size.q.val());
        self.is_too_long.next =
            bit_cast::<32, LENGTH_BITS>(self.size.q.val()) > self.fourth.val().get_bits::<32>(0);
        self.places_log.next = self.fourth.val().get_bits::<5>(32);
        self.mask.next = (self.one.val() << self.places_log.val()) - 1;
        self.bad.next = self.how.val();
        if self.step.q.val() == Step::Look {
            self.bad.next = self.ending.val();
        }
        self.failure.next = self.failed.val();
        if self.bad.val() == self.is_refusal.val() {
            self.failure.next = self.refused.val();
        }
        self.read_stage.next = self.stage_target.val();
        if self.purpose.q.val().pointer {
            self.read_stage.next = self.stage_pointer.val();
        } else if self.purpose.q.val().data {
            self.read_stage.next = self.stage_data.val();
        } else if self.purpose.q.val().list | self.purpose.q.val().ring {
            self.read_stage.next = self.stage_list.val();
        }

        self.plan.ticket.next = self.ticket.val();
        self.plan.order.next = self.task.q.val();
        self.plan.known.next = self.known.q.val();
        self.plan.len.next = self.size.q.val();
        self.plan.target.next = self.at.q.val();
        self.plan.ring.next = self.ring.q.val();
        self.plan.place.next = self.place.q.val();
        self.plan.result_line.next = self.result_line.val();
        self.puts.next = self.step.q.val() == Step::Put;
        self.gift.next = self.given.q.val();
        self.head.next = self.taken.q.val();
        self.fetches_operands.next = self.is_swap.val()
            & (self.step.q.val() == Step::Plan)
            & !self.known.q.val().pointer
            & !self.known.q.val().data;
        match self.step.q.val() {
            Step::Idle => {
                self.task.d.next = self.order.val();
                self.size.d.next = self.order.val().len;
                self.at.d.next = self.order.val().address;
                if self.order.val().indirect | (self.order.val().kind == self.kind_allocate.val()) {
                    self.at.d.next = 0.into();
                }
                self.known.d.next.pointer = false;
                self.known.d.next.data = false;
                self.known.d.next.list = false;
                self.given.d.next.fresh = false;
                self.given.d.next.head = false;
                self.given.d.next.aside = false;
                self.end.d.next = self.done.val();
                self.end_stage.d.next = 0.into();
                self.is_applied.d.next = false;
                self.is_answered.d.next = false;
                if self.starts.val() {
                    self.step.d.next = Step::Plan;
                }
            }
            Step::Plan => {
                self.purpose.d.next = self.plan.purpose.val();
                self.asked.d.next = self.plan.ask.val();
                self.asked_line.d.next = self.plan.line.val();
                if self.plan.reads.val() {
                    self.step.d.next = Step::Ask;
                } else if self.plan.writes.val() {
                    self.step.d.next = Step::Put;
                } else {
                    self.is_applied.d.next = true;
                    self.is_answered.d.next = self.is_read.val() & !self.task.q.val().redirect;
                    self.step.d.next = Step::End;
                }
            }
            Step::Ask => {
                if self.read.ready.val() {
                    self.step.d.next = Step::Look;
                }
            }
            Step::Look => {
                if self.is_there.val() {
                    self.step.d.next = Step::End;
                    if self.ending.val().any() {
                        self.end.d.next = self.failure.val();
                        self.end_stage.d.next = self.read_stage.val();
                    } else if self.is_null.val() & (self.purpose.q.val().pointer | self.purpose.q.val().ring)
                    {
                        self.end.d.next = self.null.val();
                    } else if self.purpose.q.val().pointer {
                        self.at.d.next = self.first.val();
                        if self.is_bound.val() {
                            self.size.d.next = self.second.val().get_bits::<LENGTH_BITS>(0);
                        }
                        self.known.d.next.pointer = true;
                        self.step.d.next = Step::Plan;
                    } else if self.purpose.q.val().data {
                        self.data.d.next = self.words.val();
                        self.known.d.next.data = true;
                        self.step.d.next = Step::Plan;
                    } else if self.purpose.q.val().list {
                        self.taken.d.next = self.first.val() + 1;
                        self.place.d.next =
                            bit_cast::<64, 32>(self.first.val().get_bits::<32>(0) & self.mask.val()) << 3;
                        self.ring.d.next = self.third.val();
                        self.known.d.next.list = true;
                        if self.first.val() == self.second.val() {
                            self.end.d.next = self.no_buffer.val();
                        } else if self.is_too_long.val() {
                            self.end.d.next = self.too_long.val();
                        } else {
                            self.step.d.next = Step::Plan;
                        }
                    } else if self.purpose.q.val().ring {
                        self.at.d.next = self.first.val();
                        self.buffer.d.next = self.first.val();
                        self.given.d.next.head = true;
                        self.step.d.next = Step::Put;
                    } else if self.is_swap.val() {
                        self.step.d.next = Step::Weigh;
                    } else {
                        self.is_applied.d.next = true;
                        self.is_answered.d.next = !self.task.q.val().redirect;
                        if self.task.q.val().redirect {
                            self.given.d.next.aside = true;
                            self.step.d.next = Step::Put;
                        }
                    }
                }
            }
            Step::Weigh => {
                if !self.loads.val() {
                    self.step.d.next = Step::Compare;
                }
            }
            Step::Compare => {
                if self.is_known.val() {
                    self.given.d.next.fresh = self.holds.val();
                    self.step.d.next = Step::Put;
                    if !self.holds.val() {
                        self.end.d.next = self.not_swapped.val();
                        self.given.d.next.aside = true;
                        if !self.task.q.val().redirect {
                            self.is_answered.d.next = true;
                            self.step.d.next = Step::End;
                        }
                    }
                }
            }
            Step::Put => {
                if self.has_put.val() {
                    self.step.d.next = Step::Settle;
                    if self.given.q.val().head {
                        self.given.d.next.head = false;
                        self.step.d.next = Step::Put;
                    }
                }
            }
            Step::Settle => {
                if self.is_settled.val() {
                    self.step.d.next = Step::End;
                    if self.how.val().any() {
                        self.end.d.next = self.failure.val();
                        self.end_stage.d.next = self.stage_write.val();
                        if self.given.q.val().aside {
                            self.end_stage.d.next = self.stage_redirect.val();
                        }
                    } else if !self.given.q.val().aside {
                        self.is_applied.d.next = true;
                        self.is_answered.d.next = self.is_swap.val() & !self.task.q.val().redirect;
                        if self.task.q.val().redirect {
                            self.given.d.next.aside = true;
                            self.step.d.next = Step::Put;
                        }
                    }
                }
            }
            Step::End => {
                if !self.loads.val() {
                    self.step.d.next = Step::Idle;
                }
            }
        }
        self.ends.next = (self.step.q.val() == Step::End) & !self.loads.val();
        self.outcome.next = self.end.q.val();
        self.stage.next = self.end_stage.q.val();
        self.applied.next = self.is_applied.q.val();
        self.answered.next = self.is_answered.q.val();
        self.len.next = self.size.q.val();
        self.target.next = self.at.q.val();
        if self.begins.val() {
            self.buffer.d.next = 0.into();
        }
        if self.reset.val() {
            self.step.d.next = Step::Idle;
        }
    }
}
