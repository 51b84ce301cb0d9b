//! Resolve: a step meets its answers, and its bytes are read.

use rust_hdl::prelude::*;

use super::ask::Waiting;
use crate::host::dma_read::ReadCommand;
use crate::prim::fifo::Fifo;
use crate::prim::skid::Skid;
use crate::record;
use crate::state::mmu::XlatResponse;
use crate::stream::{StreamSink, StreamSource};

record! {
    /// What is left of an answer.
    pub struct Found {
        /// Why the access is refused; 0: it is not.
        pub cause: Bits<3>,
        /// Where the bytes are.
        pub iova: Bits<64>,
        /// How many.
        pub len: Bits<13>,
        /// Another answer follows.
        pub more: Bit,
    }
}

record! {
    /// Bytes of a payload that are on their way: a packet on one of three streams, or nothing.
    pub struct Part {
        /// They are read from host memory.
        pub is_read: Bit,
        /// They come inline.
        pub is_inline: Bit,
        /// Then: with the answers of kernels, else with requests.
        pub is_result: Bit,
        /// Why they are refused; 0: they are not.
        pub cause: Bits<3>,
        /// Last of its packet.
        pub last: Bit,
    }
}

block! {
    /// Joins each step with its answers, and has read what is allowed.
    ///
    /// - **Ports** `waiting`: steps in; `answer`: of the MMU, one for each step that asked, or two if the first has `more`; `read`:
    ///   a command for each that allows; `parts`: one for each answer, and for each step that did not ask; `busy`: a part
    ///   waits.
    /// - **Latency** 2 cycles from the answer; 0 from a step that did not ask, if no part waits. **Rate** 1 answer per cycle.
    /// - **Backpressure** `answer` is always taken. A part stays until its bytes are here, and 32 fit: so no more than 32 reads
    ///   are open. Then `waiting` stalls. `parts` follows `waiting` combinationally, and nothing else does.
    /// - **Reset** empties it; answers asked for before must not come any more.
    /// - **Limits** 32 answers wait: two for each question that [`Ask`](super::ask::Ask) leaves open.
    pub struct Resolve {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub waiting: StreamSink<Waiting>,
        pub answer: StreamSink<XlatResponse>,
        pub read: StreamSource<ReadCommand>,
        pub parts: StreamSource<Part>,
        pub busy: Signal<Out, Bit>,
        answers: Fifo<Found, 5>,
        queue: Fifo<Part, 5>,
        cut: Skid<ReadCommand>,
        found: Signal<Local, Found>,
        is_asked: Signal<Local, Bit>,
        is_read: Signal<Local, Bit>,
        has_more: Signal<Local, Bit>,
        goes: Signal<Local, Bit>,
        part: Signal<Local, Part>,
    }
}

impl Logic for Resolve {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, answers, queue, cut);
        self.answers.reset.next = self.reset.val();
        self.queue.reset.next = self.reset.val();
        self.cut.reset.next = self.reset.val();

        self.answer.ready.next = true;
        self.answers.sink.valid.next = self.answer.valid.val();
        self.answers.sink.payload.next.cause = 0.into();
        if !self.answer.payload.val().ok {
            self.answers.sink.payload.next.cause = self.answer.payload.val().cause;
        }
        self.answers.sink.payload.next.iova = self.answer.payload.val().iova;
        self.answers.sink.payload.next.len = self.answer.payload.val().len;
        self.answers.sink.payload.next.more = self.answer.payload.val().more;

        self.found.next = self.answers.source.payload.val();
        self.is_asked.next = self.waiting.payload.val().is_asked;
        self.is_read.next = self.is_asked.val() & !self.found.val().cause.any();
        self.has_more.next = self.is_asked.val() & self.found.val().more;
        self.goes.next = self.waiting.valid.val()
            & self.queue.sink.ready.val()
            & (!self.is_asked.val() | (self.answers.source.valid.val() & self.cut.sink.ready.val()));
        self.waiting.ready.next = self.goes.val() & !self.has_more.val();
        self.answers.source.ready.next = self.goes.val() & self.is_asked.val();

        self.cut.sink.valid.next = self.goes.val() & self.is_read.val();
        self.cut.sink.payload.next.iova = self.found.val().iova;
        self.cut.sink.payload.next.len = self.found.val().len;
        self.cut.sink.payload.next.tag = 0.into();
        StreamSource::<ReadCommand>::link(&mut self.read, &mut self.cut.source);

        self.part.next.is_read = self.is_read.val();
        self.part.next.is_inline = self.waiting.payload.val().is_inline;
        self.part.next.is_result = self.waiting.payload.val().is_result;
        self.part.next.cause = 0.into();
        if self.is_asked.val() {
            self.part.next.cause = self.found.val().cause;
        }
        self.part.next.last = self.waiting.payload.val().last & !self.has_more.val();
        self.queue.sink.payload.next = self.part.val();

        // Bytes that need not be read may be here already: their part is on offer at once, and queues if it is not taken.
        self.queue.source.ready.next = self.parts.ready.val();
        self.parts.valid.next =
            self.queue.source.valid.val() | (self.waiting.valid.val() & !self.is_asked.val());
        self.parts.payload.next = self.queue.source.payload.val();
        self.queue.sink.valid.next = self.goes.val();
        if !self.queue.source.valid.val() {
            self.parts.payload.next.is_read = false;
            self.parts.payload.next.is_inline = self.waiting.payload.val().is_inline;
            self.parts.payload.next.is_result = self.waiting.payload.val().is_result;
            self.parts.payload.next.cause = 0.into();
            self.parts.payload.next.last = self.waiting.payload.val().last;
            self.queue.sink.valid.next = self.goes.val() & (self.is_asked.val() | !self.parts.ready.val());
        }
        self.busy.next = self.queue.source.valid.val();
    }
}
