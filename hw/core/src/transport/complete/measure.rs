//! Where an answer falls among the messages that wait for one.

use rust_hdl::prelude::*;

use super::MTU_LOG;
use super::rows::Answered;
use crate::constant::number;
use crate::record;
use crate::transport::records::{Arrival, Sent};

record! {
    /// An arrival, measured against the first message that is not over.
    pub struct Measures {
        /// PSNs that the arrival answers.
        pub ahead: Bits<24>,
        /// There are any.
        pub is_ahead: Bit,
        /// They are all that is left of the message, or more,
        pub is_enough: Bit,
        /// and the arrival's own is behind the message.
        pub is_past: Bit,
        /// The PSN was answered before, or never sent.
        pub is_stale: Bit,
        /// Everything that was sent is answered.
        pub is_silent: Bit,
        /// What comes next of an answer has the last PSN that the message takes.
        pub is_last: Bit,
        /// Packets of the answer that came,
        pub index: Bits<9>,
        /// and their bytes.
        pub offset: Bits<32>,
        /// RPC: packets of the request are not answered that come before the PSNs of its answer;
        pub is_front: Bit,
        /// something of the answer came.
        pub is_begun: Bit,
        /// The PSNs that the arrival answers are just those packets, none of other messages,
        pub is_met: Bit,
        /// or they are more.
        pub is_beyond: Bit,
        /// Packets of the message that are answered when those are,
        pub here: Bits<24>,
        /// and the first PSN that is not then.
        pub base: Bits<24>,
    }
}

block! {
    /// Takes the measures of an arrival and a message. Logic only.
    ///
    /// - **Ports** `arrival`; `reach`: the first PSN that it does not answer; `row`, `entry`, `front`, `unanswered`: the first message
    ///   that is not over and how far it is answered, as in [`Focus`](super::focus::Focus); `frontier`: the first PSN that was never sent. `measures`; those up to `is_past`
    ///   mean something if it is an answer.
    /// - **Latency** 0 cycles. **Reset** none.
    /// - **Limits** the path MTU's code is 1 to 5.
    pub struct Measure {
        pub arrival: Signal<In, Arrival>,
        pub reach: Signal<In, Bits<24>>,
        pub row: Signal<In, Answered>,
        pub entry: Signal<In, Sent>,
        pub front: Signal<In, Bits<24>>,
        pub unanswered: Signal<In, Bits<24>>,
        pub frontier: Signal<In, Bits<24>>,
        pub measures: Signal<Out, Measures>,
        distance: Signal<Local, Bits<24>>,
        window: Signal<Local, Bits<24>>,
        ahead: Signal<Local, Bits<24>>,
        left: Signal<Local, Bits<24>>,
        packet_log: Signal<Local, Bits<4>>,
        is_front: Signal<Local, Bit>,
        lead: Signal<Local, Bits<24>>,
        index: Signal<Local, Bits<24>>,
        mtu_log: Constant<Bits<4>> = number(MTU_LOG),
    }
}

impl Logic for Measure {
    #[hdl_gen]
    fn update(&mut self) {
        // Modulo 2^24: what was answered before is as far ahead as what was never sent.
        self.distance.next = self.arrival.val().psn - self.unanswered.val();
        self.window.next = self.frontier.val() - self.unanswered.val();
        self.ahead.next = self.reach.val() - self.unanswered.val();
        self.left.next = self.entry.val().packets - self.row.val().progress;
        // One shift, not two: Verilator adds up the amounts of two in the width of one.
        self.packet_log.next = bit_cast::<4, 3>(self.arrival.val().path_mtu) + self.mtu_log.val();

        self.measures.next.ahead = self.ahead.val();
        self.measures.next.is_ahead = self.reach.val() != self.unanswered.val();
        self.measures.next.is_enough = self.ahead.val() >= self.left.val();
        self.measures.next.is_past = self.distance.val() >= self.left.val();
        self.measures.next.is_stale = self.distance.val() >= self.window.val();
        self.measures.next.is_silent = self.frontier.val() == self.unanswered.val();

        // What others have answered, they have from their first PSN on.
        self.is_front.next = self.row.val().progress < self.front.val();
        self.lead.next = self.front.val() - self.row.val().progress;
        self.index.next = self.row.val().progress - self.front.val();
        self.measures.next.is_last = self.left.val() == 1;
        self.measures.next.is_met = self.reach.val() == self.unanswered.val();
        self.measures.next.is_beyond = self.reach.val() != self.unanswered.val();
        self.measures.next.here = self.row.val().progress;
        self.measures.next.base = self.unanswered.val();
        if self.is_front.val() {
            self.index.next = 0.into();
            self.measures.next.is_last = self.entry.val().answers == 1;
            self.measures.next.is_met = self.ahead.val() == self.lead.val();
            self.measures.next.is_beyond = self.ahead.val() > self.lead.val();
            self.measures.next.here = self.front.val();
            self.measures.next.base = self.unanswered.val() + self.lead.val();
        }
        self.measures.next.is_front = self.is_front.val();
        self.measures.next.is_begun = self.row.val().progress > self.front.val();
        self.measures.next.index = bit_cast::<9, 24>(self.index.val());
        self.measures.next.offset = bit_cast::<32, 24>(self.index.val()) << self.packet_log.val();
    }
}
