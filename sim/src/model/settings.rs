//! What two ends agree on before a queue pair runs.

use stroma_abi::desc::region::rights;
use stroma_abi::{Psn, Qpn};

use super::Path;

/// Attributes of one queue pair, ready to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Own number.
    pub local: Qpn,
    /// The peer's number.
    pub remote: Qpn,
    /// Way to the peer.
    pub path: Path,
    /// `P_Key` sent and demanded.
    pub partition: u16,
    /// Protection domain.
    pub domain: u16,
    /// What the peer may do at all: `REMOTE_READ`, `REMOTE_WRITE`.
    pub rights: u8,
    /// Path MTU in bytes: 256, 512, 1024, 2048 or 4096.
    pub mtu: u32,
    /// PSN of the first request sent.
    pub send_psn: Psn,
    /// PSN of the first request expected.
    pub receive_psn: Psn,
    /// READs the requester may have open; the next one waits.
    pub reads_out: usize,
    /// READs the responder keeps; one more while none is answered is an invalid request.
    pub reads_in: usize,
    /// Ticks without progress before sending again; `None` waits for ever.
    pub timeout: Option<u64>,
    /// Times the requester begins again without progress before it gives up.
    pub retries: u8,
    /// A packet in mid message asks for an ACK after this many that did not.
    pub ack_every: u32,
    /// Does a newer ACK take the place of one that still waits to be sent?
    pub coalesce: bool,
}

impl Settings {
    /// A queue pair with the values most tests want: 16 READs either way, 7 retries, an ACK asked for every 64 packets.
    ///
    /// # Panics
    /// When the MTU is not one of the five.
    #[must_use]
    pub fn new(local: Qpn, remote: Qpn, path: Path, mtu: u32) -> Self {
        assert!(mtu.is_power_of_two() && (256..=4096).contains(&mtu), "{mtu} is no path MTU");
        Self {
            local,
            remote,
            path,
            partition: 0xffff,
            domain: 0,
            rights: rights::REMOTE_READ | rights::REMOTE_WRITE,
            mtu,
            send_psn: Psn::new(0),
            receive_psn: Psn::new(0),
            reads_out: 16,
            reads_in: 16,
            timeout: None,
            retries: 7,
            ack_every: 64,
            coalesce: false,
        }
    }

    /// Packets that carry `length` bytes: one even for none.
    #[must_use]
    pub fn packets(&self, length: u32) -> u32 {
        length.div_ceil(self.mtu).max(1)
    }
}
