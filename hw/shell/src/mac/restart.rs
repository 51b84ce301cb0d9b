//! Two clocks, two resets, one crossing: whichever reset comes, both of its ends begin anew, in an order in which neither sees the
//! other's pointers jump.

#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::prim::reg::Reg;
use stroma_hw::prim::sync2::Sync2;

block! {
    /// Stops both ends of a crossing, clears them, and lets them go.
    ///
    /// The core leads: it stops, waits until the MAC's side has stopped, clears, waits until the MAC's side has cleared, and lets go in
    /// the same way. Each step waits for an answer, so a clock that stands still delays the restart and does not spoil it.
    ///
    /// - **Ports** `reset` and `mac_reset`: each synchronous to its clock, as short as a cycle. On `clock`: `stops`: nothing may
    ///   pass, from the cycle of `reset` on; `clears`: reset of the crossing's end. `mac_stops`, `mac_clears`: the same on
    ///   `mac_clock`. An end clears only while both are stopped.
    /// - **Latency** a restart takes some 30 cycles of `clock` and 10 of `mac_clock`; both ends clear together for more than four cycles of
    ///   either clock.
    /// - **Reset** `reset` itself begins a restart, and so does `mac_reset`; one that lasts keeps both sides cleared.
    /// - **Limits** either clock at most four times as fast as the other.
    pub struct Restart {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub stops: Signal<Out, Bit>,
        pub clears: Signal<Out, Bit>,
        pub mac_clock: Signal<In, Clock>,
        pub mac_reset: Signal<In, Bit>,
        pub mac_stops: Signal<Out, Bit>,
        pub mac_clears: Signal<Out, Bit>,
        /// A restart is due, and the MAC's side does not run yet after the last one.
        wants: Reg<Bit>,
        /// Both sides stop.
        stop: Reg<Bit>,
        /// Both sides clear.
        clear: Reg<Bit>,
        /// They have cleared; what is left is to let go.
        is_cleared: Reg<Bit>,
        /// Cycles for which both sides have cleared: pointers must have come through.
        settles: Reg<Bits<4>>,
        restarts: Signal<Local, Bit>,
        asks_here: Sync2<Bit>,
        stopped_here: Sync2<Bit>,
        cleared_here: Sync2<Bit>,
        /// The MAC's side had a reset of its own, and has not cleared since.
        asks: Reg<Bit>,
        stopped: Reg<Bit>,
        cleared: Reg<Bit>,
        stop_there: Sync2<Bit>,
        clear_there: Sync2<Bit>,
    }
}

impl Logic for Restart {
    #[hdl_gen]
    fn update(&mut self) {
        // The core's side: runs, stops, clears, lets go, in this order. A step begins when the MAC's side has made the last one.
        clock!(self, clock, asks_here, stopped_here, cleared_here);
        dff_setup!(self, clock, wants, stop, clear, is_cleared, settles);
        self.asks_here.d.next = self.asks.q.val();
        self.stopped_here.d.next = self.stopped.q.val();
        self.cleared_here.d.next = self.cleared.q.val();
        self.restarts.next = self.reset.val() | self.asks_here.q.val();
        if !self.stop.q.val() {
            self.wants.d.next = self.wants.q.val() | self.restarts.val();
            if (self.wants.q.val() | self.restarts.val()) & !self.stopped_here.q.val() {
                self.wants.d.next = false;
                self.stop.d.next = true;
            }
            self.clear.d.next = false;
            self.is_cleared.d.next = false;
        } else if self.clear.q.val() {
            if self.restarts.val() | !self.cleared_here.q.val() {
                self.settles.d.next = 0.into();
            } else {
                self.settles.d.next = self.settles.q.val() + 1;
                if self.settles.q.val().all() {
                    self.clear.d.next = false;
                    self.is_cleared.d.next = true;
                }
            }
        } else if !self.is_cleared.q.val() {
            self.settles.d.next = 0.into();
            self.clear.d.next = self.stopped_here.q.val() & !self.cleared_here.q.val();
        } else if self.restarts.val() {
            self.is_cleared.d.next = false;
        } else if !self.cleared_here.q.val() {
            self.stop.d.next = false;
        }
        self.stops.next = self.stop.q.val() | self.wants.q.val() | self.reset.val();
        self.clears.next = self.clear.q.val();

        // The MAC's side: follows, and asks.
        clock!(self, mac_clock, stop_there, clear_there);
        dff_setup!(self, mac_clock, asks, stopped, cleared);
        self.stop_there.d.next = self.stop.q.val();
        self.clear_there.d.next = self.clear.q.val();
        if self.mac_reset.val() {
            self.asks.d.next = true;
        } else if self.clear_there.q.val() {
            self.asks.d.next = false;
        }
        self.stopped.d.next = self.stop_there.q.val();
        self.cleared.d.next = self.clear_there.q.val();
        self.mac_stops.next =
            self.mac_reset.val() | self.asks.q.val() | self.stop_there.q.val() | self.cleared.q.val();
        self.mac_clears.next = self.cleared.q.val();
    }
}
