//! Pushed units on their way to the jobs they belong to, or away.

use rust_hdl::prelude::*;

use crate::constant::number;
use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::stream::{StreamSink, StreamSource};

/// log2 of the units that may wait.
const ROOM_LOG: usize = 4;

block! {
    /// Takes the units of one commit at a time: passes them on, or throws them away.
    ///
    /// - **Ports** `starts`: the next `count` units of `sink` are kept, with `keeps`, or dropped; `source`: those kept; `room`:
    ///   `count` more can be kept; `holds`: units of the last commit are still to come, and `starts` must not come;
    ///   `busy`: units wait.
    /// - **Latency** 2 cycles from `starts` to `source`. **Rate** 1 unit per cycle.
    /// - **Backpressure** at most 16 units wait; the owner keeps none for which there is no `room`.
    /// - **Reset** forgets all units.
    pub struct Units {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub starts: Signal<In, Bit>,
        pub keeps: Signal<In, Bit>,
        pub count: Signal<In, Bits<3>>,
        pub sink: StreamSink<Bits<512>>,
        pub source: StreamSource<Bits<512>>,
        pub room: Signal<Out, Bit>,
        pub holds: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        kept: Fifo<Bits<512>, ROOM_LOG>,
        left: Reg<Bits<3>>,
        is_kept: Reg<Bit>,
        places: Constant<Bits<16>> = number(1 << ROOM_LOG),
    }
}

impl Logic for Units {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, kept);
        dff_setup!(self, clock, left, is_kept);
        self.kept.reset.next = self.reset.val();
        self.room.next = self.kept.level.val() + bit_cast::<16, 3>(self.count.val()) <= self.places.val();
        self.holds.next = self.left.q.val().any();
        self.busy.next = self.left.q.val().any() | self.kept.level.val().any();

        self.sink.ready.next = self.left.q.val().any();
        self.kept.sink.valid.next = self.sink.valid.val() & self.left.q.val().any() & self.is_kept.q.val();
        self.kept.sink.payload.next = self.sink.payload.val();
        if self.sink.valid.val() & self.left.q.val().any() {
            self.left.d.next = self.left.q.val() - 1;
        }
        if self.starts.val() {
            self.left.d.next = self.count.val();
            self.is_kept.d.next = self.keeps.val();
        }
        StreamSource::<Bits<512>>::link(&mut self.source, &mut self.kept.source);
        if self.reset.val() {
            self.left.d.next = 0.into();
        }
    }
}
