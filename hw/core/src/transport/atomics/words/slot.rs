//! One word that atomics work on.

use rust_hdl::prelude::*;

use crate::prim::reg::Reg;

block! {
    /// A place for a word, from the first who wants it to the last write that is visible.
    ///
    /// - **Ports** `iova`: the word that is wanted; `is_wanted`: it is this one. `joins`: somebody waits for it; `begins`: and it is this
    ///   one from now on. `arrives`, `arrives_err`: it was read. `leaves`, `leaves_writes`: one who waited has gone, and has written
    ///   with the ticket `issued`. `visible`: tickets that are. `writes`, `first`, `reach`: somebody else has written the bytes from
    ///   `first` on, 7 fewer than `reach`. `here`: the place is in use; `known`: its value is there; `bad`: it could not be
    ///   read; `stale`: nobody may join any more.
    /// - **Latency** 1 cycle, but 0 from `iova` to `is_wanted`. **Rate** one of each per cycle.
    /// - **Reset** forgets the word.
    /// - **Limits** at most 31 wait.
    pub struct Slot {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub iova: Signal<In, Bits<64>>,
        pub is_wanted: Signal<Out, Bit>,
        pub joins: Signal<In, Bit>,
        pub begins: Signal<In, Bit>,
        pub arrives: Signal<In, Bit>,
        pub arrives_err: Signal<In, Bit>,
        pub leaves: Signal<In, Bit>,
        pub leaves_writes: Signal<In, Bit>,
        pub issued: Signal<In, Bits<16>>,
        pub visible: Signal<In, Bits<16>>,
        pub writes: Signal<In, Bit>,
        pub first: Signal<In, Bits<64>>,
        pub reach: Signal<In, Bits<64>>,
        pub here: Signal<Out, Bit>,
        pub known: Signal<Out, Bit>,
        pub bad: Signal<Out, Bit>,
        pub stale: Signal<Out, Bit>,
        place: Reg<Bits<64>>,
        waiters: Reg<Bits<5>>,
        ticket: Reg<Bits<16>>,
        is_here: Reg<Bit>,
        is_known: Reg<Bit>,
        is_bad: Reg<Bit>,
        is_stale: Reg<Bit>,
        /// Its last write is not visible.
        is_hidden: Reg<Bit>,
        late_by: Signal<Local, Bits<16>>,
        offset: Signal<Local, Bits<64>>,
    }
}

impl Logic for Slot {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, place, waiters, ticket, is_here, is_known, is_bad, is_stale, is_hidden);
        self.is_wanted.next = self.is_here.q.val() & (self.place.q.val() == self.iova.val());
        self.here.next = self.is_here.q.val();
        self.known.next = self.is_known.q.val();
        self.bad.next = self.is_bad.q.val();
        self.stale.next = self.is_stale.q.val();

        self.late_by.next = self.visible.val() - self.ticket.q.val();
        if !self.late_by.val().get_bit(15) {
            self.is_hidden.d.next = false;
        }
        // From the first byte written to the last of the word; beyond the reach, or below 0, they do not meet.
        self.offset.next = (self.place.q.val() | 7) - self.first.val();
        if self.writes.val() & (self.offset.val() < self.reach.val()) {
            self.is_stale.d.next = true;
        }
        if self.arrives.val() {
            self.is_known.d.next = true;
            self.is_bad.d.next = self.arrives_err.val();
            if self.arrives_err.val() {
                self.is_stale.d.next = true;
            }
        }
        if self.joins.val() & !self.leaves.val() {
            self.waiters.d.next = self.waiters.q.val() + 1;
        }
        if self.leaves.val() & !self.joins.val() {
            self.waiters.d.next = self.waiters.q.val() - 1;
        }
        if self.leaves.val() & self.leaves_writes.val() {
            self.ticket.d.next = self.issued.val();
            self.is_hidden.d.next = true;
        }
        if self.is_known.q.val() & !self.is_hidden.q.val() & !self.waiters.q.val().any() & !self.joins.val() {
            self.is_here.d.next = false;
        }
        if self.begins.val() {
            self.place.d.next = self.iova.val();
            self.is_here.d.next = true;
            self.is_known.d.next = false;
            self.is_bad.d.next = false;
            self.is_stale.d.next = false;
            self.is_hidden.d.next = false;
        }
        if self.reset.val() {
            self.is_here.d.next = false;
            self.waiters.d.next = 0.into();
        }
    }
}
