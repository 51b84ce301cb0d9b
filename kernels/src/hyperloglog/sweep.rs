//! Sweep: every word of the registers, one after the other.

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::constant::number;
use stroma_hw::prim::reg::Reg;

use super::lane::WORD_LOG;
use super::quad::Sweeping;

/// Cycles that items may still be on their way to the registers.
const DRAIN: u64 = 24;

block! {
    /// Waits until all items are in the registers, then goes through these.
    ///
    /// - **Ports** `begins`: one cycle; `reads`: there must be `has_room` for each word; `wipes`: words are set to 0; both stay until `ends`, one cycle, in which
    ///   the last step is made. `step`: goes to the first quad.
    /// - **Latency** 25 cycles from `begins` to the first step. **Rate** a word per cycle. **Reset** ends it.
    pub struct Sweep {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub begins: Signal<In, Bit>,
        pub reads: Signal<In, Bit>,
        pub wipes: Signal<In, Bit>,
        pub has_room: Signal<In, Bit>,
        pub step: Signal<Out, Sweeping>,
        pub ends: Signal<Out, Bit>,
        is_under_way: Reg<Bit>,
        wait: Reg<Bits<5>>,
        at: Reg<Bits<WORD_LOG>>,
        steps: Signal<Local, Bit>,
        drain: Constant<Bits<5>> = number(DRAIN),
    }
}

impl Logic for Sweep {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, is_under_way, wait, at);
        self.steps.next =
            self.is_under_way.q.val() & !self.wait.q.val().any() & (self.has_room.val() | !self.reads.val());
        self.step.next.is_there = self.steps.val();
        self.step.next.reads = self.reads.val();
        self.step.next.wipes = self.wipes.val();
        self.step.next.at = self.at.q.val();
        self.ends.next = self.steps.val() & self.at.q.val().all();
        if self.wait.q.val().any() {
            self.wait.d.next = self.wait.q.val() - 1;
        }
        if self.steps.val() {
            self.at.d.next = self.at.q.val() + 1;
        }
        if self.ends.val() {
            self.is_under_way.d.next = false;
        }
        if self.begins.val() {
            self.is_under_way.d.next = true;
            self.wait.d.next = self.drain.val();
            self.at.d.next = 0.into();
        }
        if self.reset.val() {
            self.is_under_way.d.next = false;
        }
    }
}
