//! Window: of all the bytes that a WQE's entries stand for, those that are sent now.

use rust_hdl::prelude::*;

use crate::host::mover::entries::Range;
use crate::prim::reg::Reg;
use crate::record;
use crate::stream::{StreamSink, StreamSource};

record! {
    /// The bytes to be sent, counted through all entries.
    pub struct Reach {
        /// Bytes before them.
        pub skips: Bits<32>,
        /// How many, at least one; or more than there are.
        pub bytes: Bits<36>,
    }
}

record! {
    /// A piece of local memory, bytes of which are to be sent.
    pub struct Span {
        /// Virtual address of the first.
        pub address: Bits<64>,
        /// `L_Key`.
        pub key: Bits<32>,
        /// Bytes up to the end of the entry, at least one.
        pub length: Bits<32>,
    }
}

block! {
    /// Passes on the entries that have bytes to be sent, the first from the first such byte on.
    ///
    /// The last one may go on behind the last byte: whoever cuts the packets knows where they end.
    ///
    /// - **Ports** `reach`: of each list of entries; `ranges`: the lists; `source`: what is left of them; `busy`: a list is
    ///   under way.
    /// - **Latency** 1 cycle from `reach`, 0 from a range. **Rate** an entry per cycle, passed on or not, and 1 cycle more
    ///   for each list.
    /// - **Backpressure** stalls `reach` and `ranges`, whose `ready` follows `source.ready` combinationally.
    /// - **Reset** forgets the list under way; the next range is the first of a list.
    pub struct Window {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub reach: StreamSink<Reach>,
        pub ranges: StreamSink<Range>,
        pub source: StreamSource<Span>,
        pub busy: Signal<Out, Bit>,
        /// A list is under way: bytes before the first that is sent, and bytes that are sent.
        is_open: Reg<Bit>,
        ahead: Reg<Bits<32>>,
        wanted: Reg<Bits<36>>,
        is_there: Signal<Local, Bit>,
        is_before: Signal<Local, Bit>,
        is_kept: Signal<Local, Bit>,
        rest: Signal<Local, Bits<32>>,
        takes: Signal<Local, Bit>,
    }
}

impl Logic for Window {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, is_open, ahead, wanted);

        self.reach.ready.next = !self.is_open.q.val();
        if !self.is_open.q.val() {
            self.is_open.d.next = self.reach.valid.val();
            self.ahead.d.next = self.reach.payload.val().skips;
            self.wanted.d.next = self.reach.payload.val().bytes;
        }

        self.is_there.next = self.is_open.q.val() & self.ranges.valid.val();
        // An entry without bytes lies before everything.
        self.is_before.next = self.ranges.payload.val().length <= self.ahead.q.val();
        self.is_kept.next = !self.is_before.val() & self.wanted.q.val().any();
        self.rest.next = self.ranges.payload.val().length - self.ahead.q.val();
        self.takes.next = self.is_there.val() & (!self.is_kept.val() | self.source.ready.val());
        self.ranges.ready.next = self.takes.val();
        self.source.valid.next = self.is_there.val() & self.is_kept.val();
        self.source.payload.next.address =
            self.ranges.payload.val().address + bit_cast::<64, 32>(self.ahead.q.val());
        self.source.payload.next.key = self.ranges.payload.val().key;
        self.source.payload.next.length = self.rest.val();
        if self.takes.val() {
            self.is_open.d.next = !self.ranges.payload.val().last;
            if self.is_before.val() {
                self.ahead.d.next = self.ahead.q.val() - self.ranges.payload.val().length;
            } else {
                self.ahead.d.next = 0.into();
                self.wanted.d.next = self.wanted.q.val() - bit_cast::<36, 32>(self.rest.val());
                if self.wanted.q.val() < bit_cast::<36, 32>(self.rest.val()) {
                    self.wanted.d.next = 0.into();
                }
            }
        }
        self.busy.next = self.is_open.q.val();
        if self.reset.val() {
            self.is_open.d.next = false;
        }
    }
}
