//! Where the payload of a packet goes.

use rust_hdl::prelude::*;

use crate::prim::fifo::Fifo;
use crate::record;
use crate::stream::{Beat, StreamSink, StreamSource};

record! {
    /// The way of a payload.
    pub struct Way {
        /// To the wire; else it is thrown away.
        pub passes: Bit,
        /// As a frame of its own.
        pub raw: Bit,
    }
}

block! {
    /// Leads payloads where their packets say.
    ///
    /// - **Ports** `way`: one for each payload, in order; `payload`: payloads; `source`, `raw`: behind a head, and as frames of their own;
    ///   what does not pass is thrown away. `busy`: a payload is due.
    /// - **Latency** 0 cycles for what has its way. **Rate** 1 beat per cycle.
    /// - **Backpressure** 8 ways wait; a payload waits for its way. `payload`, `source` and `raw` are joined combinationally.
    /// - **Reset** forgets which payloads are due.
    pub struct Route<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub way: StreamSink<Way>,
        pub payload: StreamSink<Beat<D>>,
        pub source: StreamSource<Beat<D>>,
        pub raw: StreamSource<Beat<D>>,
        pub busy: Signal<Out, Bit>,
        ways: Fifo<Way, 3>,
        to_source: Signal<Local, Bit>,
        to_raw: Signal<Local, Bit>,
        is_taken: Signal<Local, Bit>,
    }
}

impl<const D: usize> Logic for Route<D> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, ways);
        self.ways.reset.next = self.reset.val();
        StreamSink::<Way>::link(&mut self.way, &mut self.ways.sink);
        self.to_source.next = self.ways.source.valid.val()
            & self.ways.source.payload.val().passes
            & !self.ways.source.payload.val().raw;
        self.to_raw.next = self.ways.source.valid.val()
            & self.ways.source.payload.val().passes
            & self.ways.source.payload.val().raw;
        self.source.payload.next = self.payload.payload.val();
        self.source.valid.next = self.payload.valid.val() & self.to_source.val();
        self.raw.payload.next = self.payload.payload.val();
        self.raw.valid.next = self.payload.valid.val() & self.to_raw.val();
        self.is_taken.next = self.ways.source.valid.val();
        if self.to_source.val() {
            self.is_taken.next = self.source.ready.val();
        } else if self.to_raw.val() {
            self.is_taken.next = self.raw.ready.val();
        }
        self.payload.ready.next = self.is_taken.val();
        self.ways.source.ready.next =
            self.payload.valid.val() & self.payload.payload.val().eop & self.is_taken.val();
        self.busy.next = self.ways.level.val().any();
    }
}
