//! The block in plain Rust: rows as they were written, and counters.

use stroma_abi::Psn;
use stroma_abi::desc::Statistics as Shown;
use stroma_abi::desc::statistics::{COUNTERS, REQUESTER_COUNTERS, SENDING_COUNTERS};

use crate::transport::records::{AckedRow, RequesterRow, ResponderRow};

/// Who counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Source {
    Sending,
    Requester,
    Responder,
}

impl Source {
    /// All of them, with the ports they have and how many counters.
    pub(super) const ALL: [(Self, &str, usize); 3] = [
        (Self::Sending, "sending", SENDING_COUNTERS),
        (Self::Requester, "requester", REQUESTER_COUNTERS),
        (Self::Responder, "responder", COUNTERS - SENDING_COUNTERS - REQUESTER_COUNTERS),
    ];

    fn first(self) -> usize {
        match self {
            Self::Sending => 0,
            Self::Requester => SENDING_COUNTERS,
            Self::Responder => SENDING_COUNTERS + REQUESTER_COUNTERS,
        }
    }
}

/// One queue pair.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct QueuePair {
    pub(super) counts: [u32; COUNTERS],
    pub(super) requester: RequesterRow,
    pub(super) responder: ResponderRow,
    pub(super) acked: AckedRow,
    pub(super) posted: u16,
}

impl QueuePair {
    /// Counters of one source count.
    pub(super) fn count(&mut self, source: Source, mask: u64) {
        for bit in (0..COUNTERS).filter(|bit| mask >> bit & 1 == 1) {
            let count = &mut self.counts[source.first() + bit];
            *count = count.wrapping_add(1);
        }
    }

    /// What a query shows.
    pub(super) fn show(&self) -> Shown {
        let (requester, responder) = (&self.requester, &self.responder);
        let small = |bits: u64| u8::try_from(bits).expect("a small field");
        let psn = |bits: u64| Psn::new(u32::try_from(bits).expect("24 bits"));
        let (head, tail) = (u64::from(requester.head), u64::from(self.acked.tail));
        let (begun, over) = (u64::from(requester.reads), u64::from(self.acked.reads));
        let counts = self.counts;
        Shown {
            next_psn: psn(requester.frontier.into()),
            outstanding: small(head.wrapping_sub(tail) % 64),
            expected_psn: psn(responder.expected.into()),
            reads: small(begun.wrapping_sub(over) % 32),
            msn: u32::try_from(u64::from(responder.msn)).expect("24 bits"),
            has_sent: requester.started,
            stopped: requester.stopped,
            resting: requester.held,
            has_received: responder.started,
            in_gap: responder.gap_told,
            refused: responder.failed,
            posted: self.posted,
            sent_pkts: counts[0],
            retrans_pkts: counts[1],
            local_ack_timeout_err: counts[2],
            packet_seq_err: counts[3],
            implied_nak_seq_err: counts[4],
            rnr_nak_retry_err: counts[5],
            rx_send_requests: counts[6],
            rx_write_requests: counts[7],
            rx_read_requests: counts[8],
            rx_atomic_requests: counts[9],
            duplicate_request: counts[10],
            out_of_sequence: counts[11],
            out_of_buffer: counts[12],
        }
    }
}
