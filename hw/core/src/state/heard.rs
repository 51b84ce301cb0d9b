//! Heard: have errors that were under way reached the queue pairs?

#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;

use crate::prim::reg::Reg;

block! {
    /// Waits until all that was on offer at `N` streams, and in the one stream they are mixed to, has been taken.
    ///
    /// An error names its queue pair by number. One that is late would hit the next queue pair under the number of one that
    /// has ended. Each stream is looked at by itself: it keeps its order, so a single cycle without an offer means that all
    /// from before has gone on. To wait for all of them to be silent at once could take for ever, for others may fail
    /// as fast as errors are served.
    ///
    /// - **Ports** `begins`: one cycle, what is on offer from the next cycle on is awaited; `offered`: the streams' `valid`;
    ///   `mixed`: `valid` of what they are mixed to, of a mixer that takes 1 cycle; `ends`: one cycle, what was awaited
    ///   has been taken from there.
    /// - **Latency** 1 cycle at least. `ends` follows `offered` and `mixed` combinationally.
    /// - **Reset** nothing is awaited.
    /// - **Limits** `begins` while something is awaited begins anew, and gives one answer for both.
    pub struct Heard<const N: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub begins: Signal<In, Bit>,
        pub offered: Signal<In, Bits<N>>,
        pub mixed: Signal<In, Bit>,
        pub ends: Signal<Out, Bit>,
        awaits: Reg<Bit>,
        /// Streams that had something on offer in every cycle since.
        unheard: Reg<Bits<N>>,
        left: Signal<Local, Bits<N>>,
        is_over: Signal<Local, Bit>,
        all: Constant<Bits<N>> = Constant::new(Bits::mask()),
    }
}

impl<const N: usize> Logic for Heard<N> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, awaits, unheard);
        self.left.next = self.unheard.q.val() & self.offered.val();
        self.unheard.d.next = self.left.val();
        self.is_over.next = self.awaits.q.val() & !self.left.val().any() & !self.mixed.val();
        self.ends.next = self.is_over.val();
        if self.is_over.val() {
            self.awaits.d.next = false;
        }
        if self.begins.val() {
            self.awaits.d.next = true;
            self.unheard.d.next = self.all.val();
        }
        if self.reset.val() {
            self.awaits.d.next = false;
        }
    }
}
