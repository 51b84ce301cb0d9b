//! The MAC, as the shell meets it: CMAC's user side on its own clock, and frames on the wire behind it.
//!
//! [`Mac`] is called once for each edge of `gt_txusrclk2`. Frames leave and arrive at 100 Gb/s with all that stands around them on
//! the wire: preamble, FCS and gap. Receive has no ready; transmit has one, and rules that the real core punishes by spoilt frames
//! or by locking up (PG203, "Invalid Cycles" and "Valid Cycles"): breaking one is a panic here.

mod link;
mod pins;
mod receive;
#[cfg(test)]
mod tests;
mod transmit;
mod wire;

pub use pins::{FromShell, MacBeat, ToShell};
pub use wire::Frame;

use link::Link;
use receive::Receive;
use stroma_verilate::Pause;
use transmit::Transmit;

/// Edges after power-up for which both sides are in reset.
const RESET_EDGES: u64 = 16;

/// One MAC.
#[derive(Debug)]
pub struct Mac {
    edges: u64,
    out: ToShell,
    link: Link,
    transmit: Transmit,
    receive: Receive,
}

impl Mac {
    /// A MAC without a cable. The seed chooses where frames have idle beats inside.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut mac = Self {
            edges: 0,
            out: ToShell::default(),
            link: Link::default(),
            transmit: Transmit::default(),
            receive: Receive::new(seed),
        };
        mac.show(None);
        mac
    }

    /// What it shows in this cycle.
    #[must_use]
    pub fn pins(&self) -> &ToShell {
        &self.out
    }

    /// The edge that ends a cycle in which the shell showed `shell`: what the MAC shows in the next.
    ///
    /// # Panics
    /// When the shell breaks a rule.
    pub fn edge(&mut self, shell: &FromShell) -> &ToShell {
        let is_reset = self.edges < RESET_EDGES;
        let shell = if is_reset { &FromShell::default() } else { shell };
        self.link.cycle(shell);
        self.transmit.take(shell.tx.as_ref(), self.out.tx_ready);
        self.transmit.send(shell.tx_enable && !shell.send_rfi);
        let beat = self.receive.cycle(self.edges);
        self.edges += 1;
        self.show(beat);
        &self.out
    }

    fn show(&mut self, rx: Option<MacBeat>) {
        let in_reset = self.edges < RESET_EDGES;
        self.out = ToShell {
            rx,
            tx_ready: !in_reset && self.transmit.takes(self.edges),
            rx_reset: in_reset,
            tx_reset: in_reset,
            aligned: self.link.is_aligned(),
            remote_fault: self.link.is_aligned() && self.link.peer_sends_rfi,
            local_fault: !self.link.is_aligned(),
        };
    }

    /// A frame whose last bit has left, if one has since the last call.
    pub fn sent(&mut self) -> Option<Frame> {
        self.transmit.sent()
    }

    /// A frame begins to arrive, or queues up behind those that do. One that finds the link down is lost: whether it was not.
    pub fn arrive(&mut self, frame: &Frame) -> bool {
        let is_up = self.link.is_receiving();
        if is_up {
            self.receive.arrive(self.edges, frame);
        }
        is_up
    }

    /// What the other end of the cable does: `None` without a cable, else whether it sends remote fault.
    pub fn hear(&mut self, peer_sends_rfi: Option<bool>) {
        self.link.is_cabled = peer_sends_rfi.is_some();
        self.link.peer_sends_rfi = peer_sends_rfi.unwrap_or(false);
    }

    /// Does it send remote fault?
    #[must_use]
    pub fn sends_rfi(&self) -> bool {
        self.link.sends_rfi
    }

    /// Chooses when `tx_axis_tready` is low though there is room.
    pub fn stall(&mut self, pause: Pause) {
        self.transmit.stalls = pause;
    }

    /// Cycles in which a beat of the shell waited for `tx_axis_tready`.
    #[must_use]
    pub fn stalled(&self) -> u64 {
        self.transmit.stalled
    }

    /// Edges so far.
    #[must_use]
    pub fn edges(&self) -> u64 {
        self.edges
    }

    /// Is nothing on its way in or out?
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.receive.is_idle() && self.transmit.is_idle()
    }
}
