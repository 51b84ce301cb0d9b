//! Transfer: the bytes of each chunk go to host memory, or nowhere.

use rust_hdl::prelude::*;

use super::place::Pass;
use crate::prim::fifo::Fifo;
use crate::stream::{Beat, StreamSink, StreamSource};

block! {
    /// Passes packets on or throws them away, as told.
    ///
    /// - **Ports** `pass`: chunk by chunk what to do; `read`, `inline`: the packets; `write_data`: those to be written; `ended`: the
    ///   last chunk of each work, when its bytes are through; `leaves`, `leaves_colour`: a counted chunk is through; `busy`:
    ///   a chunk waits.
    /// - **Latency** 1 cycle from `pass`, 0 from the packets. **Rate** 1 beat per cycle, without a gap between chunks;
    ///   a chunk without a packet takes 1 cycle.
    /// - **Backpressure** stalls the packets and `pass`, which holds 4 chunks. `write_data` and the packets are joined
    ///   combinationally: both packets come out of a FIFO.
    /// - **Reset** forgets the chunks; the packets have to be forgotten with them.
    pub struct Transfer<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub pass: StreamSink<Pass>,
        pub read: StreamSink<Beat<D>>,
        pub inline: StreamSink<Beat<D>>,
        pub write_data: StreamSource<Beat<D>>,
        pub ended: StreamSource<Pass>,
        pub leaves: Signal<Out, Bit>,
        pub leaves_colour: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        passes: Fifo<Pass, 2>,
        has_beat: Signal<Local, Bit>,
        is_last: Signal<Local, Bit>,
        is_open: Signal<Local, Bit>,
        moves: Signal<Local, Bit>,
        is_over: Signal<Local, Bit>,
    }
}

impl<const D: usize> Logic for Transfer<D> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, passes);
        self.passes.reset.next = self.reset.val();
        StreamSink::<Pass>::link(&mut self.pass, &mut self.passes.sink);
        self.busy.next = self.passes.source.valid.val();

        // One bit selects the beat, which is wide; the other one all that the handshakes are made of.
        self.write_data.payload.next = self.read.payload.val();
        if self.passes.source.payload.val().is_inline {
            self.write_data.payload.next = self.inline.payload.val();
        }
        self.has_beat.next = self.inline.valid.val();
        self.is_last.next = self.inline.payload.val().eop;
        if self.passes.source.payload.val().is_read {
            self.has_beat.next = self.read.valid.val();
            self.is_last.next = self.read.payload.val().eop;
        }
        // A place at `ended`, once there, stays until it is used: no offer is withdrawn for it.
        self.is_open.next = self.passes.source.valid.val() & self.ended.ready.val();
        self.write_data.valid.next =
            self.is_open.val() & self.passes.source.payload.val().writes & self.has_beat.val();
        self.moves.next = self.is_open.val()
            & self.has_beat.val()
            & (self.passes.source.payload.val().drops
                | (self.passes.source.payload.val().writes & self.write_data.ready.val()));
        self.read.ready.next = self.moves.val() & self.passes.source.payload.val().is_read;
        self.inline.ready.next = self.moves.val() & !self.passes.source.payload.val().is_read;
        self.is_over.next = self.moves.val() & self.is_last.val();
        if !self.passes.source.payload.val().writes & !self.passes.source.payload.val().drops {
            self.is_over.next = self.is_open.val();
        }
        self.passes.source.ready.next = self.is_over.val();
        self.ended.valid.next = self.is_over.val() & self.passes.source.payload.val().ends;
        self.ended.payload.next = self.passes.source.payload.val();
        self.leaves.next = self.is_over.val() & self.passes.source.payload.val().counts;
        self.leaves_colour.next = self.passes.source.payload.val().colour;
    }
}
