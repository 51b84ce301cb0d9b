//! The last step before the MAC's pins: short frames are filled up, because the MAC locks up on them.

#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::constant::number;
use stroma_hw::prim::reg::Reg;
use stroma_hw::prim::skid::Skid;
use stroma_hw::stream::{Beat, StreamSink, StreamSource};

use crate::mac::pins::Pins;

/// Bytes of the shortest frame, without the four of its FCS, which the MAC adds.
pub const SHORTEST: usize = 60;

block! {
    /// Makes beats into what the pins show, with zeros behind short frames.
    ///
    /// - **Ports** `sink`: whole frames; `source`: the same, at least [`SHORTEST`] bytes each, `user` with `last` where `err` came with `eop`;
    ///   `is_up`: a frame whose first beat finds it low is dropped, all of it.
    /// - **Latency** 1 cycle. **Rate** 1 beat per cycle; a frame that comes without a gap leaves without one.
    /// - **Backpressure** stalls `sink`; `source` comes from registers. What is on offer stays.
    /// - **Reset** empties it.
    pub struct Pad {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub is_up: Signal<In, Bit>,
        pub sink: StreamSink<Beat<512>>,
        pub source: StreamSource<Pins>,
        cut: Skid<Pins>,
        /// The frame that has begun is dropped.
        is_dropped: Reg<Bit>,
        drops: Signal<Local, Bit>,
        nbytes: Signal<Local, Bits<7>>,
        shortest: Constant<Bits<7>> = number(SHORTEST),
        every: Constant<Bits<64>> = Constant::new(Bits::mask()),
    }
}

impl Logic for Pad {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, cut);
        self.cut.reset.next = self.reset.val();
        StreamSource::<Pins>::link(&mut self.source, &mut self.cut.source);
        dff_setup!(self, clock, is_dropped);
        self.drops.next = self.is_dropped.q.val();
        if self.sink.payload.val().sop {
            self.drops.next = !self.is_up.val();
        }
        self.sink.ready.next = self.drops.val() | self.cut.sink.ready.val();
        self.cut.sink.valid.next = self.sink.valid.val() & !self.drops.val();
        if self.sink.valid.val() & (self.drops.val() | self.cut.sink.ready.val()) {
            self.is_dropped.d.next = self.drops.val();
        }

        // Bytes past `nbytes` are zero already: they only have to count.
        self.nbytes.next = self.sink.payload.val().nbytes;
        if self.sink.payload.val().sop
            & self.sink.payload.val().eop
            & (self.sink.payload.val().nbytes < self.shortest.val())
        {
            self.nbytes.next = self.shortest.val();
        }
        self.cut.sink.payload.next.data = self.sink.payload.val().data;
        self.cut.sink.payload.next.keep = !(self.every.val() << self.nbytes.val());
        self.cut.sink.payload.next.last = self.sink.payload.val().eop;
        self.cut.sink.payload.next.user = self.sink.payload.val().eop & self.sink.payload.val().err;
    }
}
