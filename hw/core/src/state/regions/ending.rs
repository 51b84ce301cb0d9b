//! The end of a key: three waits, behind which no byte is touched under it.

use rust_hdl::prelude::*;

use crate::prim::reg::Reg;
use crate::stream::{StreamSink, StreamSource};

/// What is waited for.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Step {
    /// Nothing.
    Idle,
    /// Takes the row from the MMU.
    Invalidate,
    /// Waits until the MMU gives no address under it any more.
    Forget,
    /// Says `drain`.
    Drain,
    /// Waits for `drained`.
    Drained,
    /// Says `settle`.
    Settle,
    /// Waits for `settled`.
    Settled,
}

block! {
    /// Ends one key at a time: first in the MMU, then in the work that was begun with addresses from there, then in the DMA
    /// that this work has asked for.
    ///
    /// - **Ports** `begins`, `region`: a pulse, and whose key it is, until `over` says that it has ended. `invalidate`,
    ///   `done`: to the MMU, as in [`Maintain`](crate::state::maintain::Maintain). `drain`, `settle`: a pulse each; `drained`,
    ///   `settled`: the pulse, in a later cycle, that answers.
    /// - **Latency** from `begins` to `over`, 6 cycles, and those more that pass until `invalidate` is taken, `done` comes, and
    ///   the pulses are answered. `over` follows `settled` combinationally.
    /// - **Reset** forgets the key; the MMU has to be reset with it.
    pub struct Ending<const MRS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub begins: Signal<In, Bit>,
        pub region: Signal<In, Bits<MRS>>,
        pub over: Signal<Out, Bit>,
        pub invalidate: StreamSource<Bits<MRS>>,
        pub done: StreamSink<Bits<MRS>>,
        pub drain: Signal<Out, Bit>,
        pub drained: Signal<In, Bit>,
        pub settle: Signal<Out, Bit>,
        pub settled: Signal<In, Bit>,
        step: Reg<Step>,
    }
}

impl<const MRS: usize> Logic for Ending<MRS> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, step);
        self.invalidate.valid.next = self.step.q.val() == Step::Invalidate;
        self.invalidate.payload.next = self.region.val();
        self.done.ready.next = self.step.q.val() == Step::Forget;
        self.drain.next = self.step.q.val() == Step::Drain;
        self.settle.next = self.step.q.val() == Step::Settle;
        self.over.next = (self.step.q.val() == Step::Settled) & self.settled.val();
        match self.step.q.val() {
            Step::Idle => {
                if self.begins.val() {
                    self.step.d.next = Step::Invalidate;
                }
            }
            Step::Invalidate => {
                if self.invalidate.ready.val() {
                    self.step.d.next = Step::Forget;
                }
            }
            Step::Forget => {
                if self.done.valid.val() {
                    self.step.d.next = Step::Drain;
                }
            }
            Step::Drain => {
                self.step.d.next = Step::Drained;
            }
            Step::Drained => {
                if self.drained.val() {
                    self.step.d.next = Step::Settle;
                }
            }
            Step::Settle => {
                self.step.d.next = Step::Settled;
            }
            Step::Settled => {
                if self.settled.val() {
                    self.step.d.next = Step::Idle;
                }
            }
        }
        if self.reset.val() {
            self.step.d.next = Step::Idle;
        }
    }
}
