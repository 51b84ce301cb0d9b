//! Where an answer falls among the messages that wait for one.

use rust_hdl::prelude::*;

use super::MTU_LOG;
use crate::constant::number;
use crate::prim::reg::Reg;
use crate::record;
use crate::transport::records::{Arrival, Sent};

record! {
    /// An arrival, measured against the first message that is not over.
    pub struct Measures {
        /// First PSN that is not answered.
        pub unanswered: Bits<24>,
        /// PSNs of the message that are not answered.
        pub left: Bits<24>,
        /// PSNs that the arrival answers.
        pub ahead: Bits<24>,
        /// The PSN was answered before, or never sent.
        pub is_stale: Bit,
        /// Everything that was sent is answered.
        pub is_silent: Bit,
        /// Bytes of the message that are answered.
        pub offset: Bits<32>,
        /// Those that are not.
        pub rest: Bits<32>,
        /// READ, atomic: where they go.
        pub place: Bits<64>,
    }
}

block! {
    /// Takes the measures of an arrival and of one message after the other.
    ///
    /// - **Ports** `looks`: `entry` and `progress` are those of the first message that is not over; `weighs`: in the next
    ///   cycle, once for each arrival, with its `arrival`, whether it `answers` or even `acknowledges`, and `frontier`;
    ///   `passes`: the message is over, and `looks` comes for the next, whose `progress` is 0. `measures`: from the
    ///   next cycle on.
    /// - **Latency** 1 cycle each. **Reset** none.
    /// - **Limits** the path MTU's code is 1 to 5.
    pub struct Measure {
        pub clock: Signal<In, Clock>,
        pub looks: Signal<In, Bit>,
        pub weighs: Signal<In, Bit>,
        pub passes: Signal<In, Bit>,
        pub arrival: Signal<In, Arrival>,
        pub answers: Signal<In, Bit>,
        pub acknowledges: Signal<In, Bit>,
        pub entry: Signal<In, Sent>,
        pub progress: Signal<In, Bits<24>>,
        pub frontier: Signal<In, Bits<24>>,
        pub measures: Signal<Out, Measures>,
        unanswered: Reg<Bits<24>>,
        left: Reg<Bits<24>>,
        offset: Reg<Bits<32>>,
        rest: Reg<Bits<32>>,
        place: Reg<Bits<64>>,
        ahead: Reg<Bits<24>>,
        is_stale: Reg<Bit>,
        is_silent: Reg<Bit>,
        distance: Signal<Local, Bits<24>>,
        window: Signal<Local, Bits<24>>,
        packet_log: Signal<Local, Bits<4>>,
        mtu_log: Constant<Bits<4>> = number(MTU_LOG),
    }
}

impl Logic for Measure {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, unanswered, left, offset, rest, place, ahead, is_stale, is_silent);
        // One shift, not two: Verilator adds up the amounts of two in the width of one.
        self.packet_log.next = bit_cast::<4, 3>(self.arrival.val().path_mtu) + self.mtu_log.val();
        if self.looks.val() {
            self.unanswered.d.next = self.entry.val().psn + self.progress.val();
            self.left.d.next = self.entry.val().packets - self.progress.val();
            self.offset.d.next = bit_cast::<32, 24>(self.progress.val()) << self.packet_log.val();
            self.rest.d.next = self.entry.val().length;
            self.place.d.next = self.entry.val().address;
        }

        // Modulo 2^24: what was answered before is as far ahead as what was never sent.
        self.distance.next = self.arrival.val().psn - self.unanswered.q.val();
        self.window.next = self.frontier.val() - self.unanswered.q.val();
        if self.weighs.val() {
            self.is_stale.d.next = self.distance.val() >= self.window.val();
            self.is_silent.d.next = !self.window.val().any();
            self.ahead.d.next = 0.into();
            if self.answers.val() {
                self.ahead.d.next = self.distance.val() + self.acknowledges.val();
            }
            self.rest.d.next = self.rest.q.val() - self.offset.q.val();
            self.place.d.next = self.place.q.val() + bit_cast::<64, 32>(self.offset.q.val());
        }
        if self.passes.val() {
            self.ahead.d.next = self.ahead.q.val() - self.left.q.val();
        }

        self.measures.next.unanswered = self.unanswered.q.val();
        self.measures.next.left = self.left.q.val();
        self.measures.next.ahead = self.ahead.q.val();
        self.measures.next.is_stale = self.is_stale.q.val();
        self.measures.next.is_silent = self.is_silent.q.val();
        self.measures.next.offset = self.offset.q.val();
        self.measures.next.rest = self.rest.q.val();
        self.measures.next.place = self.place.q.val();
    }
}
