//! The function begins anew when the host says so, and the link stays up.

#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::constant::number;
use stroma_hw::prim::reg::Reg;

/// Cycles in a row in which nothing was under way.
const CALM_CYCLES: usize = 8;
/// Cycles for which the card is held in reset.
const HOLD_CYCLES: usize = 16;
/// Cycles after which it is not waited any longer: 4 ms at 250 MHz, of the 100 ms that a host gives a function.
const PATIENCE: u64 = 1 << 20;
/// The functions that there are not, and that nothing has to be done for.
const OTHERS: u64 = 0b1110;

/// How far it has come.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Step {
    /// The function works.
    Run,
    /// What is under way ends.
    Drain,
    /// The card is in reset.
    Hold,
    /// The hard block is told.
    Tell,
    /// It understands.
    Wait,
}

block! {
    /// Resets the card when the host resets the function, and not before everything that was asked of either has its answer.
    ///
    /// The hard block's streams live on, so whoever speaks them must not be cut off within a transaction: only the card is reset, and what of the shell the host
    /// can see the state of.
    ///
    /// - **Ports** `cfg_flr_in_process`, `cfg_flr_done`: the hard block, a bit for each function; AMD's example for the block answers in the same way, by a pulse behind
    ///   the rise of a bit. `stops`: nothing new is to be taken, neither of the card nor of the host; `is_drained`: nothing is under way; `halts`: no transaction of the card is to begin, either; `may_cut`: what is under
    ///   way may be forgotten, for no transaction is half sent and the host waits for nothing; `card_reset`: reset of the card, of its requests and of the table of vectors.
    /// - **Latency** `card_reset` rises when `is_drained` was high for 8 cycles and lasts 16, then `cfg_flr_done` is high for one. Functions other than 0, which there are not,
    ///   are done at once.
    /// - **Reset** of the whole link holds the card, too, until 16 cycles behind it.
    /// - **Limits** hosts forbid a function to reach memory before they reset it, so requests may wait for ever: after 4 ms they are forgotten, as soon as that may
    ///   be. A bit that rises again before it has fallen is not seen.
    pub struct Restart {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub cfg_flr_in_process: Signal<In, Bits<4>>,
        pub cfg_flr_done: Signal<Out, Bits<4>>,
        pub stops: Signal<Out, Bit>,
        pub is_drained: Signal<In, Bit>,
        pub halts: Signal<Out, Bit>,
        pub may_cut: Signal<In, Bit>,
        pub card_reset: Signal<Out, Bit>,
        step: Reg<Step>,
        left: Reg<Bits<5>>,
        /// Cycles until it is not waited any longer.
        patience: Reg<Bits<21>>,
        halted: Reg<Bit>,
        is_calm: Signal<Local, Bit>,
        seen: Reg<Bits<4>>,
        done: Reg<Bits<4>>,
        holds: Reg<Bit>,
        stopped: Reg<Bit>,
        /// Behind a reset of the link nobody waits to be told.
        tells: Reg<Bit>,
        others: Constant<Bits<4>> = number(OTHERS),
        own: Constant<Bits<4>> = number(1_u64),
        calm: Constant<Bits<5>> = number(CALM_CYCLES - 1),
        held: Constant<Bits<5>> = number(HOLD_CYCLES - 1),
        longest: Constant<Bits<21>> = number(PATIENCE),
    }
}

impl Restart {
    /// One that waits for at most so many cycles, below 2^21.
    #[must_use]
    pub fn new(patience: u32) -> Self {
        Self { longest: number(patience), ..Self::default() }
    }
}

impl Logic for Restart {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, step, left, patience, halted, seen, done, holds, stopped, tells);
        self.cfg_flr_done.next = self.done.q.val();
        self.stops.next = self.stopped.q.val();
        self.halts.next = self.halted.q.val();
        self.card_reset.next = self.holds.q.val();
        self.seen.d.next = self.cfg_flr_in_process.val();
        self.done.d.next = self.cfg_flr_in_process.val() & !self.seen.q.val() & self.others.val();
        self.left.d.next = self.left.q.val() - 1;
        self.is_calm.next = self.is_drained.val() | (self.halted.q.val() & self.may_cut.val());
        match self.step.q.val() {
            Step::Run => {
                self.left.d.next = self.calm.val();
                self.patience.d.next = self.longest.val();
                self.tells.d.next = true;
                if self.cfg_flr_in_process.val().get_bit(0) {
                    self.stopped.d.next = true;
                    self.step.d.next = Step::Drain;
                }
            }
            Step::Drain => {
                self.patience.d.next = self.patience.q.val() - 1;
                if !self.patience.q.val().any() {
                    self.patience.d.next = 0.into();
                    self.halted.d.next = true;
                }
                if !self.is_calm.val() {
                    self.left.d.next = self.calm.val();
                } else if !self.left.q.val().any() {
                    self.left.d.next = self.held.val();
                    self.holds.d.next = true;
                    self.step.d.next = Step::Hold;
                }
            }
            Step::Hold => {
                if !self.left.q.val().any() {
                    self.holds.d.next = false;
                    self.halted.d.next = false;
                    self.stopped.d.next = false;
                    self.step.d.next = Step::Run;
                    if self.tells.q.val() {
                        self.step.d.next = Step::Tell;
                    }
                }
            }
            Step::Tell => {
                self.done.d.next =
                    (self.cfg_flr_in_process.val() & !self.seen.q.val() & self.others.val()) | self.own.val();
                self.step.d.next = Step::Wait;
            }
            Step::Wait => {
                if !self.cfg_flr_in_process.val().get_bit(0) {
                    self.step.d.next = Step::Run;
                }
            }
        }
        if self.reset.val() {
            self.step.d.next = Step::Hold;
            self.left.d.next = self.held.val();
            self.holds.d.next = true;
            self.stopped.d.next = true;
            self.halted.d.next = false;
            self.tells.d.next = false;
            self.seen.d.next = 0.into();
            self.done.d.next = 0.into();
        }
    }
}
