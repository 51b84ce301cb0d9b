//! Turn: what a card sends to itself does not leave it.

pub mod model;
#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;

use crate::prim::packet_fifo::PacketFifo;
use crate::prim::reg::Reg;
use crate::prim::reverse::Reverse;
use crate::stream::{Beat, StreamSink, StreamSource};

block! {
    /// Stands between the front ends and the MAC, and brings frames for the card's own address back in.
    ///
    /// Two queue pairs of one card may be the ends of one connection: programs that run on the same host have such, and a kernel of
    /// one's own card is called over one. No switch sends a frame back to where it came from, so the card has to.
    ///
    /// - **Ports** `own`: the card's address, its first byte highest; 0: it has none. `leaving`: frames to be sent; `out`: those of them that
    ///   are for others. `arriving`: frames from the MAC; `source`: these, and those that have come back. `turned`: a cycle high behind each that
    ///   has. `moves`: something is on the way back.
    /// - **Order** frames of one stream keep theirs, and all stay whole. One that arrives goes before one that comes back, but does not
    ///   interrupt it.
    /// - **Latency** 0 cycles from `leaving` to `out` and from `arriving` to `source`; 3 back, from the last beat of a frame.
    ///   **Rate** 1 beat per cycle each way.
    /// - **Backpressure** `out` stalls frames for others and `source` stalls `arriving`. A frame that goes back waits while `2^LOG` beats are on that way:
    ///   `source` must be taken whether or not anything leaves.
    /// - **Reset** empties it; the next beats begin frames.
    /// - **Limits** a frame whose last beat has `err`, or with more than `2^LOG` beats, does not come back. `own` changes between frames.
    pub struct Turn<const D: usize, const LOG: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub own: Signal<In, Bits<48>>,
        pub leaving: StreamSink<Beat<D>>,
        pub out: StreamSource<Beat<D>>,
        pub arriving: StreamSink<Beat<D>>,
        pub source: StreamSource<Beat<D>>,
        pub turned: Signal<Out, Bit>,
        pub moves: Signal<Out, Bit>,
        back: PacketFifo<D, LOG>,
        address: Reverse<48>,
        /// A frame is leaving, and goes back.
        is_leaving: Reg<Bit>,
        is_own: Reg<Bit>,
        /// A frame is given, or on offer, and has come back.
        is_given: Reg<Bit>,
        is_back: Reg<Bit>,
        has_turned: Reg<Bit>,
        returns: Signal<Local, Bit>,
        takes: Signal<Local, Bit>,
        gives_back: Signal<Local, Bit>,
        offers: Signal<Local, Bit>,
        offered: Signal<Local, Beat<D>>,
    }
}

impl<const D: usize, const LOG: usize> Logic for Turn<D, LOG> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, back);
        dff_setup!(self, clock, is_leaving, is_own, is_given, is_back, has_turned);
        self.back.reset.next = self.reset.val();

        // Out: the first six bytes say where to.
        self.address.forward.next = self.own.val();
        self.returns.next = self.is_own.q.val();
        if !self.is_leaving.q.val() {
            self.returns.next = self.own.val().any()
                & (self.leaving.payload.val().data.get_bits::<48>(0) == self.address.reversed.val());
        }
        self.out.valid.next = self.leaving.valid.val() & !self.returns.val();
        self.out.payload.next = self.leaving.payload.val();
        self.back.sink.valid.next = self.leaving.valid.val() & self.returns.val();
        self.back.sink.payload.next = self.leaving.payload.val();
        self.takes.next = self.out.ready.val();
        if self.returns.val() {
            self.takes.next = self.back.sink.ready.val();
        }
        self.leaving.ready.next = self.takes.val();
        if self.leaving.valid.val() & self.takes.val() {
            self.is_leaving.d.next = !self.leaving.payload.val().eop;
            self.is_own.d.next = self.returns.val();
        }

        // In: what arrives cannot wait for long, what comes back can.
        self.gives_back.next = self.is_back.q.val();
        if !self.is_given.q.val() {
            self.gives_back.next = !self.arriving.valid.val();
        }
        self.offers.next = self.arriving.valid.val();
        self.offered.next = self.arriving.payload.val();
        if self.gives_back.val() {
            self.offers.next = self.back.source.valid.val();
            self.offered.next = self.back.source.payload.val();
        }
        self.source.valid.next = self.offers.val();
        self.source.payload.next = self.offered.val();
        self.arriving.ready.next = self.source.ready.val() & !self.gives_back.val();
        self.back.source.ready.next = self.source.ready.val() & self.gives_back.val();
        if self.offers.val() {
            self.is_given.d.next = !(self.source.ready.val() & self.offered.val().eop);
            self.is_back.d.next = self.gives_back.val();
        }
        self.turned.next = self.has_turned.q.val();
        self.has_turned.d.next =
            self.offers.val() & self.gives_back.val() & self.source.ready.val() & self.offered.val().eop;
        self.moves.next = (self.leaving.valid.val() & self.returns.val()) | self.back.source.valid.val();

        if self.reset.val() {
            self.is_leaving.d.next = false;
            self.is_given.d.next = false;
            self.has_turned.d.next = false;
        }
    }
}
