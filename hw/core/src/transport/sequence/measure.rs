//! Where a request stands in the sequence of all, and what there is for it.

use rust_hdl::prelude::*;

use super::classify::Kind;
use super::standing::Standing;
use crate::constant::number;
use crate::record;
use crate::transport::records::{Arrival, Stock};

/// log2 of the bytes of a path MTU whose code is 0.
pub(super) const MTU_LOG: usize = 7;

record! {
    /// How a request stands to the ones before, and what there is for it.
    pub struct Measured {
        /// PSN of the next request.
        pub expected: Bits<24>,
        /// PSNs from this one to the next.
        pub behind: Bits<24>,
        /// It is the next.
        pub is_next: Bit,
        /// It has been there before.
        pub is_before: Bit,
        /// After a gap: it does not come after the last one thrown away, so the peer has sent again since.
        pub goes_back: Bit,
        /// READ: PSNs that it takes.
        pub packets: Bits<24>,
        /// The peer has as many READs, atomics and RPCs open as it may.
        pub is_spent: Bit,
        /// A READ, an atomic or an RPC of the queue pair is not answered.
        pub is_answering: Bit,
        /// An RPC whose last packet has come is not.
        pub is_calling: Bit,
        /// An atomic of the queue pair is not finished.
        pub is_applying: Bit,
        /// An unreliable connection has a receive from a message that is, or is going to be, broken off.
        pub has_spare: Bit,
        /// There is a receive.
        pub has_receive: Bit,
        /// Its index.
        pub receive: Bits<16>,
        /// A key can be ended.
        pub may_part: Bit,
    }
}

block! {
    /// Measures a request. Combinational.
    ///
    /// - **Ports** `arrival`, `kind`: the request; `standing`: what is known of its queue pair; `stock`: the receives there are for it;
    ///   `answered`: READs, atomics and RPCs that were answered, modulo 32; `finished`: atomics that are done, modulo 32.
    ///   `part_room`: one more key can be ended. `measured`: how it stands.
    /// - **Limits** `packets` of a message that is too long means nothing; it may not be read. At most 31 READs, atomics
    ///   and RPCs are open.
    pub struct Measure {
        pub arrival: Signal<In, Arrival>,
        pub kind: Signal<In, Kind>,
        pub standing: Signal<In, Standing>,
        pub stock: Signal<In, Stock>,
        pub answered: Signal<In, Bits<5>>,
        pub finished: Signal<In, Bits<5>>,
        pub part_room: Signal<In, Bit>,
        pub measured: Signal<Out, Measured>,
        expected: Signal<Local, Bits<24>>,
        distance: Signal<Local, Bits<24>>,
        lead: Signal<Local, Bits<24>>,
        mtu: Signal<Local, Bits<32>>,
        round_up: Signal<Local, Bits<32>>,
        packets: Signal<Local, Bits<24>>,
        open: Signal<Local, Bits<5>>,
        since: Signal<Local, Bits<5>>,
        smallest_mtu: Constant<Bits<32>> = number(1 << MTU_LOG),
        mtu_log: Constant<Bits<5>> = number(MTU_LOG),
        past_at: Constant<Bits<5>> = number(23),
    }
}

impl Logic for Measure {
    #[hdl_gen]
    fn update(&mut self) {
        // Distances modulo 2^24: the far half of the circle lies in the past.
        self.expected.next = self.arrival.val().receive_psn;
        if self.standing.val().started {
            self.expected.next = self.standing.val().expected;
        }
        self.distance.next = self.arrival.val().psn - self.expected.val();
        self.measured.next.expected = self.expected.val();
        self.measured.next.behind = self.expected.val() - self.arrival.val().psn;
        // Frames have no numbers: each is the next. So is what begins a message on an unreliable connection, where nothing comes again.
        self.measured.next.is_next = self.arrival.val().raw
            | (self.kind.val().is_unreliable & self.kind.val().begins)
            | !self.distance.val().any();
        self.measured.next.is_before = !self.arrival.val().raw
            & !self.kind.val().is_unreliable
            & self.distance.val().get_bit(self.past_at.val().index());
        self.lead.next = self.standing.val().last_early - self.arrival.val().psn;
        self.measured.next.goes_back = !self.lead.val().get_bit(self.past_at.val().index());

        // An answer without data has one packet, too.
        self.mtu.next = self.smallest_mtu.val() << self.arrival.val().path_mtu;
        self.round_up.next = ((self.arrival.val().len + self.mtu.val() - 1) >> self.mtu_log.val())
            >> self.arrival.val().path_mtu;
        self.packets.next = bit_cast::<24, 32>(self.round_up.val());
        if !self.arrival.val().len.any() {
            self.packets.next = 1.into();
        }
        self.measured.next.packets = self.packets.val();

        self.open.next = self.standing.val().resources - self.answered.val();
        self.measured.next.is_spent = self.open.val() >= self.arrival.val().reads_in;
        self.measured.next.is_answering = self.open.val().any();
        self.since.next = self.standing.val().resources - self.standing.val().last_call;
        self.measured.next.is_calling = self.standing.val().calling & (self.open.val() > self.since.val());
        self.measured.next.may_part = self.part_room.val();
        self.measured.next.is_applying = self.standing.val().atomics != self.finished.val();
        self.measured.next.has_spare =
            self.kind.val().is_unreliable & (self.standing.val().in_send | self.standing.val().holds);
        self.measured.next.has_receive = self.stock.val().count.any();
        self.measured.next.receive = self.stock.val().first;
    }
}
