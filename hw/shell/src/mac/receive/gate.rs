//! The MAC knows no `ready`: what finds no room is lost, and here it is lost by whole frames.

pub mod model;
#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::prim::reg::Reg;
use stroma_hw::prim::skid::Skid;
use stroma_hw::stream::StreamSource;

use crate::mac::pins::Pins;

block! {
    /// Passes frames as long as there is room, and cuts those for which there is none.
    ///
    /// Short frames make more beats than the core takes: one of 65 bytes is two of them, at up to 281 million beats a second against 250.
    ///
    /// - **Ports** `beat`, `valid`: what the pins show; `source`: the frames. One that finds no room in its middle ends with a transfer
    ///   that has `last`, `user` and no byte kept, as soon as there is room, and what comes before that is lost. `lost`: high for a cycle for
    ///   each frame of which nothing passed. `stops`: no beat passes, and of a frame that has begun by then nothing more passes behind it
    ///   either; no end is owed for it, and it does not count as lost. `clears`: what has passed and waits for `source` is forgotten.
    /// - **Latency** 1 cycle. **Rate** 1 beat per cycle.
    /// - **Backpressure** none for the pins; `source` comes from registers.
    /// - **Reset** the next beat begins a frame; `stops` is high as well, and `clears` comes before it falls.
    /// - **Limits** a frame of the MAC that ends with `last`, `user` and no byte kept looks like one that was cut.
    pub struct Gate {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub stops: Signal<In, Bit>,
        pub clears: Signal<In, Bit>,
        pub beat: Signal<In, Pins>,
        pub valid: Signal<In, Bit>,
        pub source: StreamSource<Pins>,
        pub lost: Signal<Out, Bit>,
        cut: Skid<Pins>,
        /// The MAC is in the middle of a frame.
        is_inside: Reg<Bit>,
        /// All of that frame has passed so far.
        crosses: Reg<Bit>,
        /// A frame that was cut has no end yet.
        owes: Reg<Bit>,
        was_lost: Reg<Bit>,
        room: Signal<Local, Bit>,
        passes: Signal<Local, Bit>,
    }
}

impl Logic for Gate {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, cut);
        dff_setup!(self, clock, is_inside, crosses, owes, was_lost);
        self.cut.reset.next = self.clears.val();
        StreamSource::<Pins>::link(&mut self.source, &mut self.cut.source);
        self.room.next = self.cut.sink.ready.val() & !self.stops.val();
        self.passes.next = self.valid.val()
            & self.room.val()
            & !self.owes.q.val()
            & (self.crosses.q.val() | !self.is_inside.q.val());

        self.cut.sink.valid.next = self.passes.val() | (self.owes.q.val() & self.room.val());
        self.cut.sink.payload.next.data = self.beat.val().data;
        self.cut.sink.payload.next.keep = self.beat.val().keep;
        self.cut.sink.payload.next.last = self.beat.val().last;
        self.cut.sink.payload.next.user = self.beat.val().user;
        if self.owes.q.val() {
            self.cut.sink.payload.next.keep = 0.into();
            self.cut.sink.payload.next.last = true;
            self.cut.sink.payload.next.user = true;
        }

        self.was_lost.d.next = self.valid.val() & !self.is_inside.q.val() & !self.passes.val();
        self.lost.next = self.was_lost.q.val();
        if self.owes.q.val() & self.room.val() {
            self.owes.d.next = false;
        }
        if self.valid.val() {
            self.is_inside.d.next = !self.beat.val().last;
            self.crosses.d.next = self.passes.val() & !self.beat.val().last;
            if self.crosses.q.val() & !self.passes.val() {
                self.owes.d.next = true;
            }
        }
        if self.stops.val() {
            self.crosses.d.next = false;
            self.owes.d.next = false;
            self.was_lost.d.next = false;
        }
        if self.reset.val() {
            self.is_inside.d.next = false;
        }
    }
}
