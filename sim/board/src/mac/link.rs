//! Alignment: it comes up a while after receive is enabled, if there is somebody at the other end.

use super::pins::FromShell;

/// Edges that alignment takes: milliseconds in truth.
const ALIGN_EDGES: u64 = 300;

#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a wire")]
pub(crate) struct Link {
    pub(crate) is_cabled: bool,
    pub(crate) peer_sends_rfi: bool,
    pub(crate) sends_rfi: bool,
    is_enabled: bool,
    listening: u64,
}

impl Link {
    pub(crate) fn cycle(&mut self, shell: &FromShell) {
        (self.is_enabled, self.sends_rfi) = (shell.rx_enable, shell.send_rfi);
        let is_listening = self.is_enabled && self.is_cabled;
        self.listening = if is_listening { (self.listening + 1).min(ALIGN_EDGES) } else { 0 };
    }

    pub(crate) fn is_aligned(&self) -> bool {
        self.listening == ALIGN_EDGES
    }

    pub(crate) fn is_receiving(&self) -> bool {
        self.is_aligned() && self.is_enabled
    }
}
