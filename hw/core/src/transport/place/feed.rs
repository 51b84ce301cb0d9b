//! Feed: payload on its way to kernels.

use rust_hdl::prelude::*;

use crate::fabric::records::Passage;
use crate::prim::reg::Reg;
use crate::prim::skid::Skid;
use crate::stream::{Beat, StreamSink, StreamSource};

block! {
    /// Passes beats on, each with whose it is, and counts the packets that were taken.
    ///
    /// - **Ports** `beat`, `passage`: in; `call_data`, `call_passage`: out; `has_taken`: a packet was taken, and nobody has been told;
    ///   `tells`: somebody is now, only with `has_taken`.
    /// - **Latency** 1 cycle. **Rate** 1 beat per cycle.
    /// - **Backpressure** two beats wait, then `beat` does. No combinational path from port to port.
    /// - **Reset** forgets all of them.
    /// - **Limits** 15 packets untold.
    pub struct Feed<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub beat: StreamSink<Beat<D>>,
        pub passage: Signal<In, Passage>,
        pub call_data: StreamSource<Beat<D>>,
        pub call_passage: Signal<Out, Passage>,
        pub has_taken: Signal<Out, Bit>,
        pub tells: Signal<In, Bit>,
        /// Side by side: both move as one.
        beats: Skid<Beat<D>>,
        passages: Skid<Passage>,
        taken: Reg<Bits<4>>,
        took: Signal<Local, Bits<4>>,
    }
}

impl<const D: usize> Logic for Feed<D> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, beats, passages);
        dff_setup!(self, clock, taken);
        self.beats.reset.next = self.reset.val();
        self.passages.reset.next = self.reset.val();
        StreamSink::<Beat<D>>::link(&mut self.beat, &mut self.beats.sink);
        self.passages.sink.valid.next = self.beat.valid.val();
        self.passages.sink.payload.next = self.passage.val();

        self.call_data.valid.next = self.beats.source.valid.val();
        self.call_data.payload.next = self.beats.source.payload.val();
        self.call_passage.next = self.passages.source.payload.val();
        self.beats.source.ready.next = self.call_data.ready.val();
        self.passages.source.ready.next = self.call_data.ready.val();
        self.has_taken.next = self.taken.q.val().any();
        self.took.next = self.taken.q.val()
            + (self.beats.source.valid.val()
                & self.beats.source.payload.val().eop
                & self.call_data.ready.val());
        self.taken.d.next = self.took.val();
        if self.tells.val() {
            self.taken.d.next = self.took.val() - 1;
        }
        if self.reset.val() {
            self.taken.d.next = 0.into();
        }
    }
}
