//! The body of a reply.

use rust_hdl::prelude::*;
use stroma_abi::desc::Statistics;
use stroma_abi::desc::statistics::{REQUESTER_COUNTERS, RESPONDER_COUNTERS, SENDING_COUNTERS};

use crate::constant::number;
use crate::transport::records::{AckedRow, RequesterRow, ResponderRow};

/// Bits of the counters of packets.
pub const SENDING_BITS: usize = 32 * SENDING_COUNTERS;
/// Bits of the counters of requesters.
pub const REQUESTER_BITS: usize = 32 * REQUESTER_COUNTERS;
/// Bits of the counters of responders.
pub const RESPONDER_BITS: usize = 32 * RESPONDER_COUNTERS;

block! {
    /// Puts everything in its place. Combinational.
    ///
    /// - **Ports** `requester`, `acked`, `responder`, `posted`: what a queue pair is doing; `sending_counts`, `requester_counts`,
    ///   `responder_counts`: its counters. `body`: its `Statistics`, first byte lowest.
    pub struct Show {
        pub requester: Signal<In, RequesterRow>,
        pub acked: Signal<In, AckedRow>,
        pub responder: Signal<In, ResponderRow>,
        pub posted: Signal<In, Bits<16>>,
        pub sending_counts: Signal<In, Bits<SENDING_BITS>>,
        pub requester_counts: Signal<In, Bits<REQUESTER_BITS>>,
        pub responder_counts: Signal<In, Bits<RESPONDER_BITS>>,
        pub body: Signal<Out, Bits<896>>,
        outstanding: Signal<Local, Bits<6>>,
        reads: Signal<Local, Bits<5>>,
        flags: Signal<Local, Bits<896>>,
        next_psn_at: Constant<Bits<10>> = number(Statistics::NEXT_PSN.offset()),
        outstanding_at: Constant<Bits<10>> = number(Statistics::OUTSTANDING.offset()),
        expected_psn_at: Constant<Bits<10>> = number(Statistics::EXPECTED_PSN.offset()),
        reads_at: Constant<Bits<10>> = number(Statistics::READS.offset()),
        msn_at: Constant<Bits<10>> = number(Statistics::MSN.offset()),
        has_sent_at: Constant<Bits<10>> = number(Statistics::HAS_SENT.offset()),
        stopped_at: Constant<Bits<10>> = number(Statistics::STOPPED.offset()),
        resting_at: Constant<Bits<10>> = number(Statistics::RESTING.offset()),
        has_received_at: Constant<Bits<10>> = number(Statistics::HAS_RECEIVED.offset()),
        in_gap_at: Constant<Bits<10>> = number(Statistics::IN_GAP.offset()),
        refused_at: Constant<Bits<10>> = number(Statistics::REFUSED.offset()),
        posted_at: Constant<Bits<10>> = number(Statistics::POSTED.offset()),
        sending_at: Constant<Bits<10>> = number(Statistics::SENT_PKTS.offset()),
        requester_at: Constant<Bits<10>> = number(Statistics::LOCAL_ACK_TIMEOUT_ERR.offset()),
        responder_at: Constant<Bits<10>> = number(Statistics::RX_SEND_REQUESTS.offset()),
    }
}

impl Logic for Show {
    #[hdl_gen]
    fn update(&mut self) {
        self.outstanding.next = self.requester.val().head - self.acked.val().tail;
        self.reads.next = self.requester.val().reads - self.acked.val().reads;
        self.flags.next = 0.into();
        self.flags.next =
            self.flags.val().replace_bit(self.has_sent_at.val().index(), self.requester.val().started);
        self.flags.next =
            self.flags.val().replace_bit(self.stopped_at.val().index(), self.requester.val().stopped);
        self.flags.next =
            self.flags.val().replace_bit(self.resting_at.val().index(), self.requester.val().held);
        self.flags.next =
            self.flags.val().replace_bit(self.has_received_at.val().index(), self.responder.val().started);
        self.flags.next =
            self.flags.val().replace_bit(self.in_gap_at.val().index(), self.responder.val().gap_told);
        self.flags.next =
            self.flags.val().replace_bit(self.refused_at.val().index(), self.responder.val().failed);
        self.body.next = self.flags.val()
            | (bit_cast::<896, 24>(self.requester.val().frontier) << self.next_psn_at.val())
            | (bit_cast::<896, 6>(self.outstanding.val()) << self.outstanding_at.val())
            | (bit_cast::<896, 24>(self.responder.val().expected) << self.expected_psn_at.val())
            | (bit_cast::<896, 5>(self.reads.val()) << self.reads_at.val())
            | (bit_cast::<896, 24>(self.responder.val().msn) << self.msn_at.val())
            | (bit_cast::<896, 16>(self.posted.val()) << self.posted_at.val())
            | (bit_cast::<896, SENDING_BITS>(self.sending_counts.val()) << self.sending_at.val())
            | (bit_cast::<896, REQUESTER_BITS>(self.requester_counts.val()) << self.requester_at.val())
            | (bit_cast::<896, RESPONDER_BITS>(self.responder_counts.val()) << self.responder_at.val());
    }
}
