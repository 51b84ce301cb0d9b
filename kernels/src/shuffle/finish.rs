//! Finish: a task whose words are all in rows, from there to its answer.

use rust_hdl::prelude::*;
use stroma_abi::kernel::shuffle::ShuffleStatus;
use stroma_abi::wire::RpcStatus;
use stroma_hw::block;
use stroma_hw::constant::number;
use stroma_hw::prim::reg::Reg;
use stroma_hw::slot::{SlotResponse, TICKET_BITS};
use stroma_hw::stream::StreamSource;

use super::parameters::Task;

/// How far the end has come.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum End {
    /// No task is at its end.
    Rest,
    /// What is left in rows is written, and writes end.
    Flush,
    /// The table is written.
    Save,
    /// The answer is told.
    Tell,
    /// It was.
    Conclude,
}

block! {
    /// Ends one task after the other. Until one has been answered nothing of the next is written, so that it can begin once more.
    ///
    /// - **Ports** `now`: the last that has begun; `is_ahead`: it is the one behind the one at its end. `judges`: `now` may write from now on; `ticket`: of the one that may. `flushes`: one cycle, all words of `now` are in rows, `has_overflowed`: or had no
    ///   room; `tells`: one cycle, it is to be answered. `is_resting`: none is at its end; `may_follow`: one is, and has not failed yet. `is_settled`: no row of it is left, and no write open. `saves`: one cycle, the table is to be written;
    ///   `is_saving`: it is; `is_saved`: all of it has gone out. `is_refused`, `has_failed`: a read of the table or a write was, of the one at its end. `response`: how each task ended. `concludes`: one cycle, it is told, and the next may write;
    ///   `forgets`: one cycle, at the same time, all of the next is to be forgotten, as it went on from what did not come true; also behind reset.
    /// - **Order** what was refused comes before what failed, and that before an overflow.
    /// - **Latency** 1 cycle from each step to the next.
    /// - **Reset** forgets the task.
    pub struct Finish {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub now: Signal<In, Task>,
        pub is_ahead: Signal<In, Bit>,
        pub judges: Signal<In, Bit>,
        pub flushes: Signal<In, Bit>,
        pub has_overflowed: Signal<In, Bit>,
        pub tells: Signal<In, Bit>,
        pub ticket: Signal<Out, Bits<TICKET_BITS>>,
        pub is_resting: Signal<Out, Bit>,
        pub may_follow: Signal<Out, Bit>,
        pub is_settled: Signal<In, Bit>,
        pub saves: Signal<Out, Bit>,
        pub is_saving: Signal<Out, Bit>,
        pub is_saved: Signal<In, Bit>,
        pub is_refused: Signal<In, Bit>,
        pub has_failed: Signal<In, Bit>,
        pub response: StreamSource<SlotResponse>,
        pub concludes: Signal<Out, Bit>,
        pub forgets: Signal<Out, Bit>,
        end: Reg<End>,
        writer: Reg<Bits<TICKET_BITS>>,
        overflowed: Reg<Bit>,
        forgetting: Reg<Bit>,
        status: Signal<Local, Bits<32>>,
        is_bad: Signal<Local, Bit>,
        good: Constant<Bits<32>> = number(RpcStatus::Ok as u32),
        access: Constant<Bits<32>> = number(RpcStatus::Access as u32),
        host: Constant<Bits<32>> = number(RpcStatus::Host as u32),
        overflow: Constant<Bits<32>> = number(ShuffleStatus::Overflow as u32),
        bad_parameters: Constant<Bits<32>> = number(ShuffleStatus::BadParameters as u32),
    }
}

impl Logic for Finish {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, end, writer, overflowed, forgetting);
        self.is_bad.next = self.is_refused.val() | self.has_failed.val();
        self.status.next = self.good.val();
        if self.overflowed.q.val() {
            self.status.next = self.overflow.val();
        }
        if self.has_failed.val() {
            self.status.next = self.host.val();
        }
        if self.is_refused.val() {
            self.status.next = self.access.val();
        }
        // One that is ahead has payload and is not bad, and neither was the one before it.
        if !self.now.val().has_payload {
            self.status.next = self.good.val();
        }
        if self.now.val().is_bad {
            self.status.next = self.bad_parameters.val();
        }
        self.ticket.next = self.writer.q.val();
        self.response.valid.next = self.end.q.val() == End::Tell;
        self.response.payload.next.ticket = self.writer.q.val();
        self.response.payload.next.status = self.status.val();
        self.response.payload.next.len = 0.into();
        self.is_resting.next = self.end.q.val() == End::Rest;
        self.may_follow.next =
            ((self.end.q.val() == End::Flush) | (self.end.q.val() == End::Save)) & !self.is_bad.val();
        self.is_saving.next = self.end.q.val() == End::Save;
        self.concludes.next = self.end.q.val() == End::Conclude;
        self.forgets.next = self.forgetting.q.val();

        self.saves.next = false;
        self.forgetting.d.next = false;
        match self.end.q.val() {
            End::Rest => {
                if self.flushes.val() {
                    self.overflowed.d.next = self.has_overflowed.val();
                    self.end.d.next = End::Flush;
                } else if self.tells.val() {
                    self.end.d.next = End::Tell;
                }
            }
            End::Flush => {
                if self.is_settled.val() {
                    self.end.d.next = End::Tell;
                    if !self.is_bad.val() {
                        self.saves.next = true;
                        self.end.d.next = End::Save;
                    }
                }
            }
            End::Save => {
                if self.is_saved.val() & self.is_settled.val() {
                    self.end.d.next = End::Tell;
                }
            }
            End::Tell => {
                if self.response.ready.val() {
                    self.forgetting.d.next = self.is_ahead.val() & self.is_bad.val();
                    self.end.d.next = End::Conclude;
                }
            }
            End::Conclude => {
                self.end.d.next = End::Rest;
            }
        }
        if self.judges.val() | (self.end.q.val() == End::Conclude) {
            self.writer.d.next = self.now.val().ticket;
        }
        if self.reset.val() {
            self.end.d.next = End::Rest;
            self.forgetting.d.next = true;
        }
    }
}
