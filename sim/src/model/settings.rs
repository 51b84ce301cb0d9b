//! What two ends agree on before a queue pair runs.

use stroma_abi::desc::region::rights;
use stroma_abi::wire::aeth::RNR_TIMER_US;
use stroma_abi::{Psn, Qpn};

use super::Path;

/// Attributes of one queue pair, ready to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Own number.
    pub local: Qpn,
    /// The peer's number.
    pub remote: Qpn,
    /// Is it an unreliable connection? Then nothing is answered, and nothing sent again.
    pub unreliable: bool,
    /// Way to the peer.
    pub path: Path,
    /// `P_Key` sent and demanded.
    pub partition: u16,
    /// Protection domain.
    pub domain: u16,
    /// What the peer may do at all: `REMOTE_READ`, `REMOTE_WRITE`, `REMOTE_ATOMIC`, `RPC`.
    pub rights: u8,
    /// Path MTU in bytes: 256, 512, 1024, 2048 or 4096.
    pub mtu: u32,
    /// PSN of the first request sent.
    pub send_psn: Psn,
    /// PSN of the first request expected.
    pub receive_psn: Psn,
    /// READs, atomics and calls the requester may have open; the next one waits.
    pub reads_out: usize,
    /// READs, atomics and calls the responder keeps; one more while none is answered is an invalid request.
    pub reads_in: usize,
    /// Ticks without progress before sending again; `None` waits for ever.
    pub timeout: Option<u64>,
    /// Times the requester begins again without progress before it gives up.
    pub retries: u8,
    /// Times it begins again after RNR NAKs without progress before it gives up; 7: as often as need be.
    pub rnr_retries: u8,
    /// Timer code that the responder sends with RNR NAKs, an index of [`RNR_TIMER_US`].
    pub rnr_timer: u8,
    /// Ticks of a millisecond, for the times that such codes stand for.
    pub ticks_per_ms: u64,
    /// A packet in mid message asks for an ACK after this many that did not.
    pub ack_every: u32,
    /// Bytes of the largest result of a call that the responder keeps; a call that allows more is not executed.
    pub result_max: u32,
    /// Times a call that comes again is said to be still running before its answer goes.
    pub busy: u32,
    /// Ticks between two congestion notifications at least; packets that arrive marked meanwhile give none.
    pub notice_ticks: u64,
    /// Does a newer ACK take the place of one that still waits to be sent?
    pub coalesce: bool,
}

impl Settings {
    /// A queue pair with the values most tests want: no calls of kernels, 16 READs and atomics either way, 7 retries, RNR retries for ever after 10 us
    /// each, ticks of a nanosecond, 4 us between congestion notifications, an ACK asked for every 64 packets.
    ///
    /// # Panics
    /// When the MTU is not one of the five.
    #[must_use]
    pub fn new(local: Qpn, remote: Qpn, path: Path, mtu: u32) -> Self {
        assert!(mtu.is_power_of_two() && (256..=4096).contains(&mtu), "{mtu} is no path MTU");
        Self {
            local,
            remote,
            unreliable: false,
            path,
            partition: 0xffff,
            domain: 0,
            rights: rights::REMOTE_READ | rights::REMOTE_WRITE | rights::REMOTE_ATOMIC,
            mtu,
            send_psn: Psn::new(0),
            receive_psn: Psn::new(0),
            reads_out: 16,
            reads_in: 16,
            timeout: None,
            retries: 7,
            rnr_retries: 7,
            rnr_timer: 1,
            ticks_per_ms: 1_000_000,
            ack_every: 64,
            result_max: 4096,
            busy: 0,
            notice_ticks: 4000,
            coalesce: false,
        }
    }

    /// Packets that carry `length` bytes: one even for none.
    #[must_use]
    pub fn packets(&self, length: u32) -> u32 {
        length.div_ceil(self.mtu).max(1)
    }

    /// Ticks that an RNR timer code stands for, at least.
    #[must_use]
    pub fn rnr_ticks(&self, code: u8) -> u64 {
        let us = RNR_TIMER_US[usize::from(code) % RNR_TIMER_US.len()];
        (u64::from(us) * self.ticks_per_ms).div_ceil(1000)
    }
}
