//! Brings the link up.

#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::prim::reg::Reg;
use stroma_hw::prim::sync2::Sync2;

block! {
    /// Leads the MAC from reset to a link that carries frames, and tells the core.
    ///
    /// The order is the MAC's own (PG203, Core Bring Up Sequence): receive, and send remote fault until the receiver is aligned; then send.
    /// Lost alignment begins anew. A link carries frames when the receiver is aligned and neither end reports a fault.
    ///
    /// - **Ports** on `mac_clock`: `ctl_*`, `stat_*`: pins of the MAC, by its names; `is_up`: the link carries frames, for
    ///   [`Transmit`](super::transmit::Transmit); `pauses`: the peer asks for silence, low for a MAC that does not take pause frames. On
    ///   `clock`: `link_up`, `tx_pause`: the same for the card; `aligned`, `local_fault`, `remote_fault`: as the MAC has them, levels that may be
    ///   too short to be seen; `downs`: how often `link_up` fell, wraps.
    /// - **Latency** 256 cycles of `mac_clock` without a fault until `is_up`; it falls within 2, and so stays low for long enough that the
    ///   core sees it each time.
    /// - **Reset** `mac_reset` takes the link down; `reset` makes `downs` 0. Both must have come once.
    /// - **Limits** a `mac_clock` that stands still leaves everything as it is.
    pub struct Link {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub link_up: Signal<Out, Bit>,
        pub tx_pause: Signal<Out, Bit>,
        pub aligned: Signal<Out, Bit>,
        pub local_fault: Signal<Out, Bit>,
        pub remote_fault: Signal<Out, Bit>,
        pub downs: Signal<Out, Bits<32>>,
        pub mac_clock: Signal<In, Clock>,
        pub mac_reset: Signal<In, Bit>,
        pub stat_rx_aligned: Signal<In, Bit>,
        pub stat_rx_local_fault: Signal<In, Bit>,
        pub stat_rx_remote_fault: Signal<In, Bit>,
        pub ctl_rx_enable: Signal<Out, Bit>,
        pub ctl_tx_enable: Signal<Out, Bit>,
        pub ctl_tx_send_rfi: Signal<Out, Bit>,
        pub pauses: Signal<In, Bit>,
        pub is_up: Signal<Out, Bit>,
        receives: Reg<Bit>,
        sends: Reg<Bit>,
        sends_fault: Reg<Bit>,
        is_aligned: Reg<Bit>,
        has_local_fault: Reg<Bit>,
        has_remote_fault: Reg<Bit>,
        is_silent: Reg<Bit>,
        /// Cycles without a fault, up to 255.
        steady: Reg<Bits<8>>,
        carries: Reg<Bit>,
        is_well: Signal<Local, Bit>,
        up_here: Sync2<Bit>,
        silent_here: Sync2<Bit>,
        aligned_here: Sync2<Bit>,
        local_fault_here: Sync2<Bit>,
        remote_fault_here: Sync2<Bit>,
        was_up: Reg<Bit>,
        fell: Reg<Bits<32>>,
    }
}

impl Logic for Link {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, mac_clock, receives, sends, sends_fault, is_aligned, has_local_fault);
        dff_setup!(self, mac_clock, has_remote_fault, is_silent, steady, carries);
        self.receives.d.next = true;
        self.is_aligned.d.next = self.stat_rx_aligned.val();
        self.has_local_fault.d.next = self.stat_rx_local_fault.val();
        self.has_remote_fault.d.next = self.stat_rx_remote_fault.val();
        self.is_silent.d.next = self.pauses.val();
        self.sends.d.next = self.is_aligned.q.val();
        self.sends_fault.d.next = !self.is_aligned.q.val();
        self.is_well.next =
            self.is_aligned.q.val() & !self.has_local_fault.q.val() & !self.has_remote_fault.q.val();
        self.carries.d.next = self.is_well.val() & self.steady.q.val().all();
        if !self.is_well.val() {
            self.steady.d.next = 0.into();
        } else if !self.steady.q.val().all() {
            self.steady.d.next = self.steady.q.val() + 1;
        }
        if self.mac_reset.val() {
            self.receives.d.next = false;
            self.is_aligned.d.next = false;
            self.sends.d.next = false;
            self.sends_fault.d.next = true;
            self.is_silent.d.next = false;
            self.steady.d.next = 0.into();
            self.carries.d.next = false;
        }
        self.ctl_rx_enable.next = self.receives.q.val();
        self.ctl_tx_enable.next = self.sends.q.val();
        self.ctl_tx_send_rfi.next = self.sends_fault.q.val();
        self.is_up.next = self.carries.q.val();

        clock!(self, clock, up_here, silent_here, aligned_here, local_fault_here, remote_fault_here);
        dff_setup!(self, clock, was_up, fell);
        self.up_here.d.next = self.carries.q.val();
        self.silent_here.d.next = self.is_silent.q.val();
        self.aligned_here.d.next = self.is_aligned.q.val();
        self.local_fault_here.d.next = self.has_local_fault.q.val();
        self.remote_fault_here.d.next = self.has_remote_fault.q.val();
        self.link_up.next = self.up_here.q.val();
        self.tx_pause.next = self.silent_here.q.val();
        self.aligned.next = self.aligned_here.q.val();
        self.local_fault.next = self.local_fault_here.q.val();
        self.remote_fault.next = self.remote_fault_here.q.val();
        self.downs.next = self.fell.q.val();
        self.was_up.d.next = self.up_here.q.val();
        if self.was_up.q.val() & !self.up_here.q.val() {
            self.fell.d.next = self.fell.q.val() + 1;
        }
        if self.reset.val() {
            self.was_up.d.next = false;
            self.fell.d.next = 0.into();
        }
    }
}
