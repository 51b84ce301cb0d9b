//! Whose turn is it? The choice behind the arbiters, without their data.

use rust_hdl::prelude::*;

use super::reg::Reg;

/// Grants one of `N` requests, looking first behind the one granted last.
///
/// - **Ports** `request`: one bit per candidate; `grant`: at most one of them, in the same cycle; `taken`: the grant
///   was used, and the turn passes on.
/// - **Latency** 0 cycles. **Rate** one grant per cycle.
/// - **Fairness** a standing request is granted after at most `N - 1` grants to others.
/// - **Reset** candidate 0 goes first.
#[derive(LogicBlock, Default)]
pub struct RoundRobin<const N: usize> {
    pub clock: Signal<In, Clock>,
    pub reset: Signal<In, Bit>,
    pub request: Signal<In, Bits<N>>,
    pub taken: Signal<In, Bit>,
    pub grant: Signal<Out, Bits<N>>,
    behind: Reg<Bits<N>>,
    preferred: Signal<Local, Bits<N>>,
    chosen: Signal<Local, Bits<N>>,
}

impl<const N: usize> Logic for RoundRobin<N> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, behind);
        self.preferred.next = self.request.val() & self.behind.q.val();
        // x & -x is the lowest bit of x.
        self.chosen.next = self.request.val() & (!self.request.val() + 1);
        if self.preferred.val().any() {
            self.chosen.next = self.preferred.val() & (!self.preferred.val() + 1);
        }
        self.grant.next = self.chosen.val();
        if self.taken.val() {
            // Every bit above the chosen one.
            self.behind.d.next = !(self.chosen.val() | (self.chosen.val() - 1));
        }
        if self.reset.val() {
            self.behind.d.next = 0.into();
        }
    }
}

/// The same choice in plain Rust: the first request at or after `next`, cyclically.
#[cfg(test)]
pub(crate) fn choose(requests: &[bool], next: usize) -> Option<usize> {
    (0..requests.len()).map(|step| (next + step) % requests.len()).find(|&candidate| requests[candidate])
}
