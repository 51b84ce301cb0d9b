//! Settle: all that may use a key has gone.

use rust_hdl::prelude::*;

use super::passed::Passed;

block! {
    /// Waits until all that was under way has left: arrivals, atomics, packets of answers, reads and writes of kernels.
    ///
    /// They are waited for one after the other: arrivals become atomics before they leave, so those that count
    /// have entered there by then. The others come behind; to begin with them late is to wait for more, never for less.
    ///
    /// - **Ports** `*_enters`, `*_leaves`: as in [`Keys`](super::Keys); `begins`: one cycle; `ended`: one cycle.
    /// - **Latency** 5 cycles if nothing is under way: each kind takes 1 at least. **Rate** one wait at a time.
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
        pub kernel_read_enters: Signal<In, Bit>,
        pub kernel_read_leaves: Signal<In, Bit>,
        pub kernel_write_enters: Signal<In, Bit>,
        pub kernel_write_leaves: Signal<In, Bit>,
        pub begins: Signal<In, Bit>,
        pub ended: Signal<Out, Bit>,
        arrivals: Passed,
        atomics: Passed,
        answers: Passed,
        kernel_reads: Passed,
        kernel_writes: Passed,
    }
}

impl Logic for Settle {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, arrivals, atomics, answers, kernel_reads, kernel_writes);
        self.arrivals.reset.next = self.reset.val();
        self.atomics.reset.next = self.reset.val();
        self.answers.reset.next = self.reset.val();
        self.kernel_reads.reset.next = self.reset.val();
        self.kernel_writes.reset.next = self.reset.val();
        self.arrivals.enters.next = self.arrival_enters.val();
        self.arrivals.leaves.next = self.arrival_leaves.val();
        self.atomics.enters.next = self.atomic_enters.val();
        self.atomics.leaves.next = self.atomic_leaves.val();
        self.answers.enters.next = self.answer_enters.val();
        self.answers.leaves.next = self.answer_leaves.val();
        self.kernel_reads.enters.next = self.kernel_read_enters.val();
        self.kernel_reads.leaves.next = self.kernel_read_leaves.val();
        self.kernel_writes.enters.next = self.kernel_write_enters.val();
        self.kernel_writes.leaves.next = self.kernel_write_leaves.val();
        self.arrivals.begins.next = self.begins.val();
        self.atomics.begins.next = self.arrivals.ended.val();
        self.answers.begins.next = self.atomics.ended.val();
        self.kernel_reads.begins.next = self.answers.ended.val();
        self.kernel_writes.begins.next = self.kernel_reads.ended.val();
        self.ended.next = self.kernel_writes.ended.val();
    }
}
