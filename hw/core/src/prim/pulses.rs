//! Pulses: several causes may come in one cycle, and whoever counts the pulses of one wire must not lose any.

#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;

use super::reg::Reg;

block! {
    /// Gives one pulse for each that comes on any of `N` wires, one after the other.
    ///
    /// - **Ports** `happens`: a cycle high is a pulse, on each wire; `pulse`: a cycle high for each of them; `busy`: some
    ///   are still to be given.
    /// - **Latency** 1 cycle if none wait. **Rate** 1 pulse out per cycle.
    /// - **Reset** forgets those that wait.
    /// - **Limits** 255 may wait: the owner sees to it, the next one makes the count 0.
    pub struct Pulses<const N: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub happens: Signal<In, Bits<N>>,
        pub pulse: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        waiting: Reg<Bits<8>>,
        left: Signal<Local, Bits<8>>,
    }
}

impl<const N: usize> Logic for Pulses<N> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, waiting);
        self.pulse.next = self.waiting.q.val().any();
        self.busy.next = self.waiting.q.val().any();
        self.left.next = 0.into();
        if self.waiting.q.val().any() {
            self.left.next = self.waiting.q.val() - 1;
        }
        for i in 0..N {
            self.left.next = self.left.val() + self.happens.val().get_bit(i);
        }
        self.waiting.d.next = self.left.val();
        if self.reset.val() {
            self.waiting.d.next = 0.into();
        }
    }
}
