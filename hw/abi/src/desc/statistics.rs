//! What a queue pair is doing, and what has happened to it, as the mailbox shows it.
//!
//! Counters have the names that users of `rdma statistic` know: those of mlx5, but for `sent_pkts` (rxe), `retrans_pkts`
//! (EFA) and `rx_send_requests`, which stands beside mlx5's WRITEs, READs and atomics. They go round at 2^32, and begin at
//! zero when the queue pair is made or taken to RESET.

use crate::{Entry, Psn, layout::layout};

layout! {
    /// A queue pair under way. The first six rows are as of the moment of the query, the others counters.
    Statistics: Little, 80 bytes;
    NEXT_PSN             next_psn:             Psn  =  0, 0, 24, "with `has_sent`: PSN behind the last request that was ever begun";
    OUTSTANDING          outstanding:          u8   =  3, 0,  6, "requests that are not over: sent, or about to be, and not completed";
    EXPECTED_PSN         expected_psn:         Psn  =  4, 0, 24, "with `has_received`: PSN of the next request of the peer";
    READS                reads:                u8   =  7, 0,  5, "READs and atomics among the outstanding";
    MSN                  msn:                  u32  =  8, 0, 24, "messages of the peer that were carried out, modulo 2^24";
    HAS_SENT             has_sent:             bool = 11, 0,  1, "something was begun since RESET, be it local work";
    STOPPED              stopped:              bool = 11, 1,  1, "nothing is sent any more: the queue pair has failed, or ends";
    RESTING              resting:              bool = 11, 2,  1, "the peer was not ready: nothing is sent until its RNR timer runs out";
    HAS_RECEIVED         has_received:         bool = 11, 3,  1, "a request of the peer has come since RESET";
    IN_GAP               in_gap:               bool = 11, 4,  1, "the peer was told to send again from `expected_psn` on, and has not yet";
    REFUSED              refused:              bool = 11, 5,  1, "a request of the peer was refused, or receives were recalled: none is carried out any more";
    POSTED               posted:               u16  = 12, 0, 16, "receives posted to its own queue and not taken; 0 with an SRQ";
    SENT_PKTS            sent_pkts:            u32  = 16, 0, 32, "packets sent, requests and answers, those sent again included";
    RETRANS_PKTS         retrans_pkts:         u32  = 20, 0, 32, "request packets sent again";
    LOCAL_ACK_TIMEOUT_ERR local_ack_timeout_err: u32 = 24, 0, 32, "times an answer was overdue; the end of an RNR rest is none";
    PACKET_SEQ_ERR       packet_seq_err:       u32  = 28, 0, 32, "NAKs for a sequence error received that name an outstanding request";
    IMPLIED_NAK_SEQ_ERR  implied_nak_seq_err:  u32  = 32, 0, 32, "answers received from behind a READ or atomic whose own answer is missing";
    RNR_NAK_RETRY_ERR    rnr_nak_retry_err:    u32  = 36, 0, 32, "RNR NAKs received that name an outstanding request";
    RX_SEND_REQUESTS     rx_send_requests:     u32  = 40, 0, 32, "SENDs carried out, each counted with its last packet";
    RX_WRITE_REQUESTS    rx_write_requests:    u32  = 44, 0, 32, "WRITEs carried out, each counted with its last packet";
    RX_READ_REQUESTS     rx_read_requests:     u32  = 48, 0, 32, "READs carried out; repetitions do not count";
    RX_ATOMIC_REQUESTS   rx_atomic_requests:   u32  = 52, 0, 32, "atomics carried out; repetitions do not count";
    DUPLICATE_REQUEST    duplicate_request:    u32  = 56, 0, 32, "request packets that had come before";
    OUT_OF_SEQUENCE      out_of_sequence:      u32  = 60, 0, 32, "request packets from behind a gap, thrown away";
    OUT_OF_BUFFER        out_of_buffer:        u32  = 64, 0, 32, "requests without a receive, or without room at their kernel, answered with an RNR NAK";
}

/// Counters of packets that leave, the first of them at [`Statistics::SENT_PKTS`].
pub const SENDING_COUNTERS: usize = 2;
/// Counters of the requester, behind those.
pub const REQUESTER_COUNTERS: usize = 4;
/// Counters of the responder, behind those.
pub const RESPONDER_COUNTERS: usize = 7;
/// All counters. Each has 32 bits, and they lie side by side.
pub const COUNTERS: usize = SENDING_COUNTERS + REQUESTER_COUNTERS + RESPONDER_COUNTERS;

/// Where the counters begin in the table.
const FIRST_COUNTER: usize = Statistics::TABLE.len() - COUNTERS;

impl Statistics {
    /// The rows of the counters, in order.
    #[must_use]
    pub fn counters() -> &'static [Entry] {
        &Self::TABLE[FIRST_COUNTER..]
    }

    /// The counters' values, in the same order.
    #[must_use]
    pub const fn counts(&self) -> [u32; COUNTERS] {
        [
            self.sent_pkts,
            self.retrans_pkts,
            self.local_ack_timeout_err,
            self.packet_seq_err,
            self.implied_nak_seq_err,
            self.rnr_nak_retry_err,
            self.rx_send_requests,
            self.rx_write_requests,
            self.rx_read_requests,
            self.rx_atomic_requests,
            self.duplicate_request,
            self.out_of_sequence,
            self.out_of_buffer,
        ]
    }
}

const _: () = {
    let mut index = 0;
    while index < COUNTERS {
        let field = Statistics::TABLE[FIRST_COUNTER + index].field;
        assert!(field.offset() == Statistics::SENT_PKTS.offset() + 32 * index && field.width == 32);
        index += 1;
    }
    assert!(Statistics::LEN <= super::mailbox::BODY_LEN);
};

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bodies_come_back_as_they_were(bytes in any::<[u8; Statistics::LEN]>()) {
            let body = Statistics::parse(&bytes).unwrap();
            prop_assert_eq!(Statistics::parse(&body.to_bytes()), Some(body));
        }

        #[test]
        fn counters_are_the_last_rows_of_the_table(bytes in any::<[u8; Statistics::LEN]>()) {
            let body = Statistics::parse(&bytes).unwrap();
            let by_table = Statistics::counters().iter().map(|entry| entry.field.get::<u32>(&bytes));
            prop_assert!(by_table.eq(body.counts()));
        }
    }

    #[test]
    fn fields_land_on_the_bytes_the_driver_reads() {
        let body = Statistics {
            next_psn: Psn::new(0x03_0201),
            outstanding: 4,
            expected_psn: Psn::new(0x07_0605),
            reads: 8,
            msn: 0x0b_0a09,
            resting: true,
            posted: 0x0e0d,
            out_of_buffer: 0x4443_4241,
            ..Statistics::default()
        };
        let bytes = body.to_bytes();
        assert_eq!(bytes[..16], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 4, 13, 14, 0, 0]);
        assert_eq!(bytes[64..68], [0x41, 0x42, 0x43, 0x44]);
    }
}
