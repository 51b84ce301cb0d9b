//! The round: each timer is looked at in its own cycles of time.

use rust_hdl::prelude::*;

use super::TimerRow;
use crate::prim::own_clock::OwnClock;
use crate::prim::reg::Reg;

block! {
    /// Reads a row in each even cycle of `time`, judges it in the odd one behind, and names it if its time is over.
    ///
    /// - **Ports** `time`: cycles. `reads`, `index`: the row is read in this cycle; `row`: it is there in the next. `sets`,
    ///   `set_index`: an alarm is written in this cycle: what was read of its row before does not count. `hold`: find none.
    ///   `passes`: a row was seen in this cycle; `stays`: its timer runs and goes on. `finds`, `found`: one has ended; one cycle.
    ///   `jumps`: time did, up to this cycle; a row that was read before it is not judged, for its turn comes later.
    /// - **Latency** 2 cycles from `reads` to `finds`. **Rate** a row every two cycles.
    /// - **Reset** finds nothing, and takes the time as it is.
    pub struct Scan<const QPS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub time: Signal<In, Bits<64>>,
        pub reads: Signal<Out, Bit>,
        pub index: Signal<Out, Bits<QPS>>,
        pub row: Signal<In, TimerRow>,
        pub sets: Signal<In, Bit>,
        pub set_index: Signal<In, Bits<QPS>>,
        pub hold: Signal<In, Bit>,
        pub passes: Signal<Out, Bit>,
        pub stays: Signal<Out, Bit>,
        pub finds: Signal<Out, Bit>,
        pub found: Signal<Out, Bits<QPS>>,
        pub jumps: Signal<Out, Bit>,
        /// The time that comes if it does not jump.
        next_time: Reg<Bits<64>>,
        has_read: Reg<Bit>,
        /// The row was written in the cycle in which it was read.
        is_stale: Reg<Bit>,
        read_index: Reg<Bits<QPS>>,
        has_found: Reg<Bit>,
        found_index: Reg<Bits<QPS>>,
        pair: Signal<Local, Bits<63>>,
        place: Signal<Local, Bits<QPS>>,
        is_steady: Signal<Local, Bit>,
        sees: Signal<Local, Bit>,
        is_over: Signal<Local, Bit>,
        own_clock: OwnClock,
    }
}

impl<const QPS: usize> Logic for Scan<QPS> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, next_time, has_read, is_stale, read_index, has_found, found_index);
        self.next_time.d.next = self.time.val() + 1;
        self.is_steady.next = self.time.val() == self.next_time.q.val();
        self.jumps.next = !self.is_steady.val();
        self.pair.next = bit_cast::<63, 64>(self.time.val() >> 1);
        self.place.next = bit_cast::<QPS, 63>(self.pair.val());

        self.reads.next = !self.time.val().get_bit(0);
        self.index.next = self.place.val();
        self.has_read.d.next = !self.time.val().get_bit(0);
        self.is_stale.d.next = self.sets.val() & (self.set_index.val() == self.place.val());
        self.read_index.d.next = self.place.val();

        self.sees.next = self.has_read.q.val() & self.is_steady.val();
        self.is_over.next = self.row.val().armed
            & (self.row.val().deadline <= self.pair.val())
            & !self.is_stale.q.val()
            & !(self.sets.val() & (self.set_index.val() == self.read_index.q.val()))
            & !self.hold.val()
            & !self.has_found.q.val();
        self.has_found.d.next = self.sees.val() & self.is_over.val();
        self.found_index.d.next = self.read_index.q.val();
        self.passes.next = self.sees.val();
        self.stays.next = self.row.val().armed & !self.is_over.val();
        self.finds.next = self.has_found.q.val();
        self.found.next = self.found_index.q.val();
        if self.reset.val() {
            self.has_read.d.next = false;
            self.has_found.d.next = false;
        }
    }
}
