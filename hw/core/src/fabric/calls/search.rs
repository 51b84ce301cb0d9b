//! Which RPC is meant by what came again?

use rust_hdl::prelude::*;

use super::{CallEntry, CallRow, PENDING, PLACES_LOG, REPLAY};
use crate::constant::number;
use crate::fabric::records::{Call, News};
use crate::prim::reg::Reg;

/// log2 of the bytes of a path MTU whose code is 0.
const MTU_LOG: usize = 7;

block! {
    /// Looks at the RPCs of a queue pair, the newest first, for one that has a PSN.
    ///
    /// - **Ports** `begins`, `question`: look for this one. `row`: of its queue pair, from the next cycle on; `looks`, `place`: which
    ///   entry is to be read; `entry`: the one of the cycle before. `busy`: it looks. `tells`, `news`: a cycle high, what comes of it, unless
    ///   nothing does.
    /// - **Latency** 3 cycles from `begins` to `tells` for the newest, one more for each older one; all are over 19 cycles behind `begins`.
    /// - **Reset** forgets the question.
    pub struct Search {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub begins: Signal<In, Bit>,
        pub question: Signal<In, Call>,
        pub row: Signal<In, CallRow>,
        pub looks: Signal<Out, Bit>,
        pub place: Signal<Out, Bits<PLACES_LOG>>,
        pub entry: Signal<In, CallEntry>,
        pub busy: Signal<Out, Bit>,
        pub tells: Signal<Out, Bit>,
        pub news: Signal<Out, News>,
        held: Reg<Call>,
        is_looking: Reg<Bit>,
        /// The next to look at, and how many there are behind it.
        next_place: Reg<Bits<PLACES_LOG>>,
        left: Reg<Bits<PLACES_LOG>>,
        /// The entry of this one is there.
        has_looked: Reg<Bit>,
        looked: Reg<Bits<PLACES_LOG>>,
        /// It is the one: what is known of it.
        is_found: Reg<Bit>,
        found_place: Reg<Bits<PLACES_LOG>>,
        found: Reg<CallEntry>,
        is_done: Reg<Bit>,
        packets: Reg<Bits<24>>,
        away: Signal<Local, Bits<24>>,
        fits: Signal<Local, Bit>,
        before: Signal<Local, Bits<24>>,
        has_packet: Signal<Local, Bit>,
        replay: Constant<Bits<3>> = number(REPLAY),
        pending: Constant<Bits<3>> = number(PENDING),
        mtu_log: Constant<Bits<4>> = number(MTU_LOG),
    }
}

impl Logic for Search {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, held, is_looking, next_place, left, has_looked, looked);
        dff_setup!(self, clock, is_found, found_place, found, is_done, packets);
        self.looks.next = self.is_looking.q.val();
        self.place.next = self.next_place.q.val();
        self.has_looked.d.next = self.is_looking.q.val();
        self.looked.d.next = self.next_place.q.val();
        if self.is_looking.q.val() {
            self.next_place.d.next = self.next_place.q.val() - 1;
            self.left.d.next = self.left.q.val() - 1;
            self.is_looking.d.next = self.left.q.val().any();
        }
        if self.begins.val() {
            self.held.d.next = self.question.val();
            self.is_looking.d.next = true;
            // The place of the next RPC is that of the oldest.
            self.next_place.d.next = self.question.val().place - 1;
            self.left.d.next = 15.into();
        }

        self.away.next = self.held.q.val().psn - self.entry.val().psn;
        self.fits.next = self.has_looked.q.val()
            & self.row.val().known.get_bit(self.looked.q.val().index())
            & (self.away.val() < bit_cast::<24, 9>(self.entry.val().reserved));
        self.is_found.d.next = self.fits.val();
        if self.fits.val() {
            self.is_looking.d.next = false;
            self.has_looked.d.next = false;
            self.found_place.d.next = self.looked.q.val();
            self.found.d.next = self.entry.val();
            self.is_done.d.next = self.row.val().done.get_bit(self.looked.q.val().index());
            self.packets.d.next = self.away.val();
        }

        // The first packet is there whatever the length, the others if bytes are left for them.
        self.before.next = (self.packets.q.val() << self.mtu_log.val()) << self.held.q.val().path_mtu;
        self.has_packet.next =
            !self.packets.q.val().any() | (self.before.val() < bit_cast::<24, 17>(self.found.q.val().length));
        self.tells.next = self.is_found.q.val() & (self.has_packet.val() | !self.is_done.q.val());
        self.news.next.answer = self.pending.val();
        if self.is_done.q.val() {
            self.news.next.answer = self.replay.val();
        }
        self.news.next.qpn = self.held.q.val().qpn;
        self.news.next.pd = self.held.q.val().pd;
        self.news.next.path_mtu = self.held.q.val().path_mtu;
        self.news.next.place = self.found_place.q.val();
        self.news.next.psn = self.held.q.val().psn;
        self.news.next.msn = self.held.q.val().msn;
        self.news.next.before = bit_cast::<17, 24>(self.before.val());
        self.news.next.length = self.found.q.val().length;
        self.news.next.status = self.found.q.val().status;
        self.news.next.staged = false;
        self.news.next.stage = 0.into();
        self.busy.next = self.is_looking.q.val() | self.has_looked.q.val() | self.is_found.q.val();
        if self.reset.val() {
            self.is_looking.d.next = false;
            self.has_looked.d.next = false;
            self.is_found.d.next = false;
        }
    }
}
