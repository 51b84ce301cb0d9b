//! Ask: where do the two ends of a chunk lie, and may they be touched?

use rust_hdl::prelude::*;
use stroma_abi::desc::region::rights;

use super::chunks::Chunk;
use crate::constant::number;
use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::prim::skid::Skid;
use crate::record;
use crate::state::access::XlatRequest;
use crate::stream::{StreamSink, StreamSource};

/// The MMU's client for what is read.
pub const SOURCE_CLIENT: u8 = 1;
/// The MMU's client for what is written.
pub const DESTINATION_CLIENT: u8 = 2;

record! {
    /// A chunk that waits for its answers.
    pub struct Step {
        /// Bytes.
        pub len: Bits<13>,
        /// There are some; otherwise no answer comes.
        pub has_data: Bit,
        /// They are inline: one answer comes, for the destination.
        pub is_inline: Bit,
        /// Last of its work.
        pub last: Bit,
        /// Colour it was asked for in.
        pub colour: Bit,
    }
}

block! {
    /// Asks the MMU for both ends of each chunk.
    ///
    /// - **Ports** `chunks`: in; `xlat`: one request for the source, unless inline, and one for the destination; `steps`: the
    ///   chunks in order; `colour`: of those that enter; `enters`: a chunk with data enters.
    /// - **Latency** 1 cycle. **Rate** 1 request per cycle: a chunk every 2 cycles, inline every cycle.
    /// - **Backpressure** a step stays until it has its answers, and 16 fit: so no client ever has more than 16 answers due.
    ///   No combinational path from port to port.
    /// - **Reset** empties it.
    pub struct Ask {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub chunks: StreamSink<Chunk>,
        pub xlat: StreamSource<XlatRequest>,
        pub steps: StreamSource<Step>,
        pub colour: Signal<In, Bit>,
        pub enters: Signal<Out, Bit>,
        waiting: Fifo<Step, 4>,
        cut: Skid<XlatRequest>,
        /// The source of the chunk on offer is asked for.
        is_second: Reg<Bit>,
        has_source: Signal<Local, Bit>,
        begins: Signal<Local, Bit>,
        asks: Signal<Local, Bit>,
        source_client: Constant<Bits<3>> = number(SOURCE_CLIENT),
        destination_client: Constant<Bits<3>> = number(DESTINATION_CLIENT),
        write_right: Constant<Bits<5>> = number(rights::LOCAL_WRITE),
    }
}

impl Logic for Ask {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, waiting, cut);
        dff_setup!(self, clock, is_second);
        self.waiting.reset.next = self.reset.val();
        self.cut.reset.next = self.reset.val();

        self.has_source.next = !self.chunks.payload.val().is_inline & !self.is_second.q.val();
        // The step goes ahead with the first request, so that its place is taken before an answer can come.
        self.begins.next = self.chunks.valid.val()
            & !self.is_second.q.val()
            & self.waiting.sink.ready.val()
            & self.cut.sink.ready.val();
        self.waiting.sink.valid.next = self.begins.val();
        self.waiting.sink.payload.next.len = self.chunks.payload.val().len;
        self.waiting.sink.payload.next.has_data = self.chunks.payload.val().has_data;
        self.waiting.sink.payload.next.is_inline = self.chunks.payload.val().is_inline;
        self.waiting.sink.payload.next.last = self.chunks.payload.val().last;
        self.waiting.sink.payload.next.colour = self.colour.val();
        self.enters.next = self.begins.val() & self.chunks.payload.val().has_data;
        StreamSource::<Step>::link(&mut self.steps, &mut self.waiting.source);

        self.asks.next = self.chunks.valid.val()
            & self.chunks.payload.val().has_data
            & (self.is_second.q.val() | self.waiting.sink.ready.val());
        self.cut.sink.valid.next = self.asks.val();
        self.cut.sink.payload.next.tag = 0.into();
        self.cut.sink.payload.next.pd = self.chunks.payload.val().pd;
        // Windows are for peers: here no queue pair has one.
        self.cut.sink.payload.next.qpn = 0.into();
        self.cut.sink.payload.next.len = self.chunks.payload.val().len;
        if self.has_source.val() {
            self.cut.sink.payload.next.client = self.source_client.val();
            self.cut.sink.payload.next.key = self.chunks.payload.val().source_key;
            self.cut.sink.payload.next.va = self.chunks.payload.val().source;
            self.cut.sink.payload.next.need = 0.into();
        } else {
            self.cut.sink.payload.next.client = self.destination_client.val();
            self.cut.sink.payload.next.key = self.chunks.payload.val().destination_key;
            self.cut.sink.payload.next.va = self.chunks.payload.val().destination;
            self.cut.sink.payload.next.need = self.write_right.val();
        }
        StreamSource::<XlatRequest>::link(&mut self.xlat, &mut self.cut.source);

        self.chunks.ready.next = self.cut.sink.ready.val()
            & (self.is_second.q.val()
                | (self.waiting.sink.ready.val()
                    & (!self.chunks.payload.val().has_data | self.chunks.payload.val().is_inline)));
        if self.asks.val() & self.cut.sink.ready.val() {
            self.is_second.d.next = self.has_source.val();
        }
        if self.reset.val() {
            self.is_second.d.next = false;
        }
    }
}
