//! Settle: all that may use a key has gone.

use rust_hdl::prelude::*;

use super::passed::Passed;

block! {
    /// Waits until all that was under way has left: arrivals, atomics, packets of answers.
    ///
    /// They are waited for one after the other: arrivals become atomics before they leave, so those that count
    /// have entered there by then. The answers come last; to begin with them late is to wait for more, never for less.
    ///
    /// - **Ports** `*_enters`, `*_leaves`: as in [`Keys`](super::Keys); `begins`: one cycle; `ended`: one cycle.
    /// - **Latency** 3 cycles if nothing is under way: each kind takes 1 at least. **Rate** one wait at a time.
    /// - **Reset** nothing is under way.
    pub struct Settle {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub arrival_enters: Signal<In, Bit>,
        pub arrival_leaves: Signal<In, Bit>,
        pub atomic_enters: Signal<In, Bit>,
        pub atomic_leaves: Signal<In, Bit>,
        pub answer_enters: Signal<In, Bit>,
        pub answer_leaves: Signal<In, Bit>,
        pub begins: Signal<In, Bit>,
        pub ended: Signal<Out, Bit>,
        arrivals: Passed,
        atomics: Passed,
        answers: Passed,
    }
}

impl Logic for Settle {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, arrivals, atomics, answers);
        self.arrivals.reset.next = self.reset.val();
        self.atomics.reset.next = self.reset.val();
        self.answers.reset.next = self.reset.val();
        self.arrivals.enters.next = self.arrival_enters.val();
        self.arrivals.leaves.next = self.arrival_leaves.val();
        self.atomics.enters.next = self.atomic_enters.val();
        self.atomics.leaves.next = self.atomic_leaves.val();
        self.answers.enters.next = self.answer_enters.val();
        self.answers.leaves.next = self.answer_leaves.val();
        self.arrivals.begins.next = self.begins.val();
        self.atomics.begins.next = self.arrivals.ended.val();
        self.answers.begins.next = self.atomics.ended.val();
        self.ended.next = self.answers.ended.val();
    }
}
