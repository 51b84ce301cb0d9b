//! Restart: ends a kernel that does not answer, or whose stream has stopped, and begins with it anew.

use rust_hdl::prelude::*;
use stroma_abi::wire::RpcStatus;

use super::room::BEAT_CYCLES;
use crate::constant::number;
use crate::prim::reg::Reg;

/// Cycles without an access on offer before memory is asked whether anything of the kernel is under way; then cycles of rest.
const SETTLE: usize = 8;

/// How far it has come.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Step {
    /// The kernel runs.
    Run,
    /// What is under way goes.
    Stop,
    /// Those who wait are told.
    Tell,
    /// The kernel rests.
    Rest,
}

block! {
    /// Watches the oldest invocation, and takes the kernel out of what it does.
    ///
    /// - **Ports** `limit`: cycles that an invocation may be the oldest, and [`BEAT_CYCLES`] more for each beat of its payload that the kernel takes; 0: any number. `some`: one is open; `is_commanded`, `is_youngest`: the oldest
    ///   has had its command, and is the only one. `is_open`: the stream of the youngest goes on; `is_dead`: it was aborted. `moves`: a beat of the payload
    ///   of the youngest is taken. `closes`: the oldest is answered. `kernel_reset`, `dma_reset`: registers, high from the cycle behind the decision. `is_halted`: nothing is fed; `is_empty`: no
    ///   access is on offer; `dma_idle`: nothing is under way in memory. `ends`, `status`, `silently`: the oldest is ended; `ended`: in
    ///   this cycle; `forgets`: and never had its command; `ends_stream`: and its stream with it. `clears`: nothing is under way any more.
    ///   `expired`: a cycle high when the limit is over. `busy`: the kernel does not run.
    /// - **Order** the oldest is ended with `Limit` if its time is over, command or not; all others that have had their command with `Aborted`: they
    ///   are of the same queue pair. For a stream that was aborted the kernel is reset when all before it are answered. One whose
    ///   stream goes on is ended without an answer: its last packet will have one. One without a command waits for the
    ///   kernel, unless its stream was aborted.
    /// - **Latency** 8 cycles at least until the first is ended, then 1 each, then 8 until the kernel runs.
    /// - **Reset** the kernel runs.
    pub struct Restart {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub limit: Signal<In, Bits<32>>,
        pub some: Signal<In, Bit>,
        pub is_commanded: Signal<In, Bit>,
        pub is_youngest: Signal<In, Bit>,
        pub is_open: Signal<In, Bit>,
        pub is_dead: Signal<In, Bit>,
        pub moves: Signal<In, Bit>,
        pub closes: Signal<In, Bit>,
        pub kernel_reset: Signal<Out, Bit>,
        pub dma_reset: Signal<Out, Bit>,
        pub is_halted: Signal<In, Bit>,
        pub is_empty: Signal<In, Bit>,
        pub dma_idle: Signal<In, Bit>,
        pub ends: Signal<Out, Bit>,
        pub status: Signal<Out, Bits<32>>,
        pub silently: Signal<Out, Bit>,
        pub ended: Signal<In, Bit>,
        pub forgets: Signal<Out, Bit>,
        pub ends_stream: Signal<Out, Bit>,
        pub clears: Signal<Out, Bit>,
        pub expired: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        step: Reg<Step>,
        stops: Reg<Bit>,
        /// Cycles that the oldest has been that, without those that its payload has given.
        waited: Reg<Bits<32>>,
        settled: Reg<Bits<4>>,
        /// The oldest has come to its limit, and is not ended yet.
        is_expired: Reg<Bit>,
        was_expired: Reg<Bit>,
        is_late: Signal<Local, Bit>,
        is_lost: Signal<Local, Bit>,
        tells: Signal<Local, Bit>,
        is_silent: Signal<Local, Bit>,
        over: Constant<Bits<32>> = number(RpcStatus::Limit as u32),
        aborted: Constant<Bits<32>> = number(RpcStatus::Aborted as u32),
        settle: Constant<Bits<4>> = number(SETTLE - 1),
        given: Constant<Bits<32>> = number(BEAT_CYCLES - 1),
    }
}

impl Logic for Restart {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, step, stops, waited, settled, is_expired, was_expired);
        self.kernel_reset.next = self.stops.q.val();
        self.dma_reset.next = self.stops.q.val();
        self.expired.next = self.was_expired.q.val();
        self.busy.next = self.stops.q.val();
        self.was_expired.d.next = false;

        self.waited.d.next = self.waited.q.val() + 1;
        // A request may be longer than what comes in that time, but not as slow as its peer likes.
        if self.moves.val() & self.is_youngest.val() {
            self.waited.d.next = 0.into();
            if self.waited.q.val() > self.given.val() {
                self.waited.d.next = self.waited.q.val() - self.given.val();
            }
        }
        if !self.some.val() | self.closes.val() {
            self.waited.d.next = 0.into();
        }
        self.is_late.next =
            self.limit.val().any() & self.some.val() & (self.waited.q.val() >= self.limit.val());
        self.is_lost.next = self.is_open.val() & self.is_dead.val() & self.is_youngest.val();
        self.is_silent.next = self.is_open.val() & self.is_youngest.val();
        self.tells.next =
            self.some.val() & (self.is_commanded.val() | self.is_expired.q.val() | self.is_lost.val());
        self.ends.next = false;
        self.clears.next = false;
        self.settled.d.next = 0.into();
        match self.step.q.val() {
            Step::Run => {
                if self.is_late.val() & !self.closes.val() {
                    self.is_expired.d.next = true;
                    self.was_expired.d.next = true;
                    self.stops.d.next = true;
                    self.step.d.next = Step::Stop;
                } else if self.is_lost.val() {
                    self.stops.d.next = true;
                    self.step.d.next = Step::Stop;
                }
            }
            Step::Stop => {
                if self.is_empty.val() {
                    self.settled.d.next = self.settled.q.val();
                    if self.settled.q.val() != self.settle.val() {
                        self.settled.d.next = self.settled.q.val() + 1;
                    } else if self.is_halted.val() & self.dma_idle.val() {
                        self.step.d.next = Step::Tell;
                    }
                }
            }
            Step::Tell => {
                self.ends.next = self.tells.val();
                if !self.tells.val() {
                    self.step.d.next = Step::Rest;
                }
                if self.ended.val() {
                    self.is_expired.d.next = false;
                }
            }
            Step::Rest => {
                self.clears.next = true;
                self.settled.d.next = self.settled.q.val() + 1;
                if self.settled.q.val() == self.settle.val() {
                    self.stops.d.next = false;
                    self.step.d.next = Step::Run;
                }
            }
        }
        self.status.next = self.aborted.val();
        if self.is_expired.q.val() {
            self.status.next = self.over.val();
        }
        self.silently.next = self.is_silent.val();
        self.forgets.next = self.ended.val() & !self.is_commanded.val();
        self.ends_stream.next = self.ended.val() & self.is_silent.val();
        if self.reset.val() {
            self.step.d.next = Step::Run;
            self.stops.d.next = false;
            self.is_expired.d.next = false;
            self.was_expired.d.next = false;
        }
    }
}
