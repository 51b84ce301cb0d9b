//! A restart, or a link that goes down, may come in the middle of a frame: what has passed of it gets an end that says so.

#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::prim::reg::Reg;
use stroma_hw::stream::{Beat, StreamSink, StreamSource};

block! {
    /// Passes frames, drops them while `stops` is high, and ends with `err` the one that has passed in part.
    ///
    /// - **Ports** `sink`: frames; `stops`: every beat is taken and dropped, and so is the rest of its frame when `stops` has fallen;
    ///   `clears`: a rest will not come, the next beat begins a frame; `source`: the frames, one that was cut ends with a beat that
    ///   has `eop`, `err` and no byte; `mended`: such an end moves in this cycle.
    /// - **Latency** 0 cycles. **Rate** 1 beat per cycle.
    /// - **Backpressure** stalls `sink`, unless `stops`; `sink.ready` follows `source.ready` combinationally. When `stops` rises, a
    ///   beat on offer is withdrawn: `source` leads to a FIFO, which does not mind.
    /// - **Reset** the next beat begins a frame, and none is owed an end.
    pub struct Mend<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub stops: Signal<In, Bit>,
        pub clears: Signal<In, Bit>,
        pub sink: StreamSink<Beat<D>>,
        pub source: StreamSource<Beat<D>>,
        pub mended: Signal<Out, Bit>,
        /// Of the frame under way some beats have passed.
        has_begun: Reg<Bit>,
        /// The frame under way is dropped from here on.
        swallows: Reg<Bit>,
        /// The frame that was cut has no end yet.
        owes: Reg<Bit>,
        drops: Signal<Local, Bit>,
        passes: Signal<Local, Bit>,
    }
}

impl<const D: usize> Logic for Mend<D> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, has_begun, swallows, owes);
        self.drops.next = self.stops.val() | self.swallows.q.val();
        self.passes.next = !self.drops.val() & !self.owes.q.val();
        self.sink.ready.next = self.drops.val() | (self.passes.val() & self.source.ready.val());
        self.source.valid.next = self.owes.q.val() | (self.passes.val() & self.sink.valid.val());
        self.source.payload.next.data = self.sink.payload.val().data;
        self.source.payload.next.nbytes = self.sink.payload.val().nbytes;
        self.source.payload.next.sop = self.sink.payload.val().sop;
        self.source.payload.next.eop = self.sink.payload.val().eop;
        self.source.payload.next.err = self.sink.payload.val().err;
        if self.owes.q.val() {
            self.source.payload.next.nbytes = 0.into();
            self.source.payload.next.sop = false;
            self.source.payload.next.eop = true;
            self.source.payload.next.err = true;
        }
        self.mended.next = self.owes.q.val() & self.source.ready.val();

        if self.owes.q.val() & self.source.ready.val() {
            self.owes.d.next = false;
        }
        if self.passes.val() & self.sink.valid.val() & self.source.ready.val() {
            self.has_begun.d.next = !self.sink.payload.val().eop;
        }
        if self.stops.val() & self.has_begun.q.val() {
            self.has_begun.d.next = false;
            self.owes.d.next = true;
            self.swallows.d.next = true;
        }
        if self.drops.val() & self.sink.valid.val() {
            self.swallows.d.next = !self.sink.payload.val().eop;
        }
        if self.clears.val() {
            self.swallows.d.next = false;
        }
        if self.reset.val() {
            self.has_begun.d.next = false;
            self.swallows.d.next = false;
            self.owes.d.next = false;
        }
    }
}
