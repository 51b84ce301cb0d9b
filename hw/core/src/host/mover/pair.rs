//! Pair: a chunk meets its answers, and is read.

use rust_hdl::prelude::*;

use super::ask::{SOURCE_CLIENT, Step};
use crate::constant::number;
use crate::host::dma_read::ReadCommand;
use crate::prim::fifo::Fifo;
use crate::prim::skid::Skid;
use crate::record;
use crate::state::mmu::XlatResponse;
use crate::stream::{StreamSink, StreamSource};

record! {
    /// What is left of an answer.
    pub struct Answer {
        /// Why the access is refused; 0: it is not.
        pub cause: Bits<3>,
        /// Where it goes.
        pub iova: Bits<64>,
    }
}

record! {
    /// A chunk that waits for its turn to be written.
    pub struct Move {
        /// Where it goes.
        pub iova: Bits<64>,
        /// Bytes.
        pub len: Bits<13>,
        /// Why it is refused; 0: it is not.
        pub cause: Bits<3>,
        /// There are bytes.
        pub has_data: Bit,
        /// They are inline.
        pub is_inline: Bit,
        /// They are read from host memory: a packet comes.
        pub is_read: Bit,
        /// Last of its work.
        pub last: Bit,
        /// Colour it was asked for in.
        pub colour: Bit,
    }
}

block! {
    /// Joins each step with its answers; has it read if both ends are good.
    ///
    /// - **Ports** `steps`: in; `answer`: of the MMU; `read`: one command for each chunk to be read; `moves`: the chunks, in
    ///   order. If both ends are refused, the cause is that of the source.
    /// - **Latency** 2 cycles from the answer. **Rate** 1 chunk per cycle.
    /// - **Backpressure** `answer` is always taken. 32 chunks wait for their turn at `moves`, then `steps` stalls.
    ///   No combinational path from port to port.
    /// - **Reset** empties it; answers asked for before must not come any more.
    /// - **Limits** 16 answers wait for each end, which [`Ask`](super::ask::Ask) guarantees. A chunk lies in one page,
    ///   so `more` does not occur and is not looked at.
    pub struct Pair {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub steps: StreamSink<Step>,
        pub answer: StreamSink<XlatResponse>,
        pub read: StreamSource<ReadCommand>,
        pub moves: StreamSource<Move>,
        sources: Fifo<Answer, 4>,
        destinations: Fifo<Answer, 4>,
        queue: Fifo<Move, 5>,
        cut: Skid<ReadCommand>,
        is_source: Signal<Local, Bit>,
        cause: Signal<Local, Bits<3>>,
        needs_source: Signal<Local, Bit>,
        is_answered: Signal<Local, Bit>,
        goes: Signal<Local, Bit>,
        is_read: Signal<Local, Bit>,
        refusal: Signal<Local, Bits<3>>,
        source_client: Constant<Bits<3>> = number(SOURCE_CLIENT),
    }
}

impl Logic for Pair {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, sources, destinations, queue, cut);
        self.sources.reset.next = self.reset.val();
        self.destinations.reset.next = self.reset.val();
        self.queue.reset.next = self.reset.val();
        self.cut.reset.next = self.reset.val();

        self.answer.ready.next = true;
        self.is_source.next = self.answer.payload.val().client == self.source_client.val();
        self.cause.next = self.answer.payload.val().cause;
        self.sources.sink.valid.next = self.answer.valid.val() & self.is_source.val();
        self.sources.sink.payload.next.cause = self.cause.val();
        self.sources.sink.payload.next.iova = self.answer.payload.val().iova;
        self.destinations.sink.valid.next = self.answer.valid.val() & !self.is_source.val();
        self.destinations.sink.payload.next.cause = self.cause.val();
        self.destinations.sink.payload.next.iova = self.answer.payload.val().iova;

        self.needs_source.next = self.steps.payload.val().has_data & !self.steps.payload.val().is_inline;
        self.is_answered.next = (self.sources.source.valid.val() | !self.needs_source.val())
            & (self.destinations.source.valid.val() | !self.steps.payload.val().has_data);
        self.goes.next = self.steps.valid.val()
            & self.is_answered.val()
            & self.queue.sink.ready.val()
            & self.cut.sink.ready.val();
        self.steps.ready.next = self.goes.val();
        self.sources.source.ready.next = self.goes.val() & self.needs_source.val();
        self.destinations.source.ready.next = self.goes.val() & self.steps.payload.val().has_data;

        self.refusal.next = 0.into();
        if self.steps.payload.val().has_data {
            self.refusal.next = self.destinations.source.payload.val().cause;
        }
        if self.needs_source.val() & self.sources.source.payload.val().cause.any() {
            self.refusal.next = self.sources.source.payload.val().cause;
        }
        self.is_read.next = self.needs_source.val() & !self.refusal.val().any();
        self.cut.sink.valid.next = self.goes.val() & self.is_read.val();
        self.cut.sink.payload.next.iova = self.sources.source.payload.val().iova;
        self.cut.sink.payload.next.len = self.steps.payload.val().len;
        self.cut.sink.payload.next.tag = 0.into();
        StreamSource::<ReadCommand>::link(&mut self.read, &mut self.cut.source);

        self.queue.sink.valid.next = self.goes.val();
        self.queue.sink.payload.next.iova = self.destinations.source.payload.val().iova;
        self.queue.sink.payload.next.len = self.steps.payload.val().len;
        self.queue.sink.payload.next.cause = self.refusal.val();
        self.queue.sink.payload.next.has_data = self.steps.payload.val().has_data;
        self.queue.sink.payload.next.is_inline = self.steps.payload.val().is_inline;
        self.queue.sink.payload.next.is_read = self.is_read.val();
        self.queue.sink.payload.next.last = self.steps.payload.val().last;
        self.queue.sink.payload.next.colour = self.steps.payload.val().colour;
        StreamSource::<Move>::link(&mut self.moves, &mut self.queue.source);
    }
}
