//! Collect: the answers for one errand become one.

use rust_hdl::prelude::*;

use super::ask::WAITING_LOG;
use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::record;
use crate::state::mmu::XlatResponse;
use crate::stream::{StreamSink, StreamSource};

record! {
    /// What the MMU says of an errand.
    pub struct Found {
        /// Why not: the first [`Cause`](crate::state::access::Cause) told, or 0.
        pub cause: Bits<3>,
        /// Where the first byte is.
        pub iova: Bits<64>,
        /// What was asked for first goes on in another page, behind as many bytes.
        pub crosses: Bit,
        pub len: Bits<13>,
        /// Where that page is.
        pub next_iova: Bits<64>,
    }
}

block! {
    /// Gathers the one to four answers that each errand with questions gets.
    ///
    /// - **Ports** `due`: errand by errand, whether two questions were asked; `answer`: the answers; `answered`: the last one to a
    ///   question comes; `found`: one for each errand.
    /// - **Latency** 1 cycle from the last answer. **Rate** 1 answer per cycle.
    /// - **Backpressure** none: an errand has its place in both queues as long as it waits, so `answer` is always taken.
    /// - **Reset** forgets all answers.
    /// - **Limits** no answer without its question: it would be taken for another's.
    pub struct Collect {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub due: StreamSink<Bit>,
        pub answer: StreamSink<XlatResponse>,
        pub answered: Signal<Out, Bit>,
        pub found: StreamSource<Found>,
        dues: Fifo<Bit, WAITING_LOG>,
        results: Fifo<Found, WAITING_LOG>,
        /// The first question is answered; the last answer was one with `more`.
        is_second: Reg<Bit>,
        goes_on: Reg<Bit>,
        so_far: Reg<Found>,
        now: Signal<Local, Found>,
        ends: Signal<Local, Bit>,
        is_over: Signal<Local, Bit>,
    }
}

impl Logic for Collect {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, dues, results);
        dff_setup!(self, clock, is_second, goes_on, so_far);
        self.dues.reset.next = self.reset.val();
        self.results.reset.next = self.reset.val();
        StreamSink::<Bit>::link(&mut self.due, &mut self.dues.sink);
        StreamSource::<Found>::link(&mut self.found, &mut self.results.source);

        self.now.next = self.so_far.q.val();
        if !self.is_second.q.val() {
            if self.goes_on.q.val() {
                self.now.next.next_iova = self.answer.payload.val().iova;
            } else {
                self.now.next.iova = self.answer.payload.val().iova;
                self.now.next.len = self.answer.payload.val().len;
                self.now.next.crosses = self.answer.payload.val().more;
                self.now.next.cause = 0.into();
            }
        }
        if (!self.is_second.q.val() & !self.goes_on.q.val()) | !self.so_far.q.val().cause.any() {
            self.now.next.cause = self.answer.payload.val().cause;
        }
        self.ends.next = self.answer.valid.val() & !self.answer.payload.val().more;
        self.is_over.next = self.ends.val() & (self.is_second.q.val() | !self.dues.source.payload.val());
        self.answer.ready.next = true;
        self.answered.next = self.ends.val();
        if self.answer.valid.val() {
            self.so_far.d.next = self.now.val();
            self.goes_on.d.next = self.answer.payload.val().more;
            self.is_second.d.next = (self.is_second.q.val() | self.ends.val()) & !self.is_over.val();
        }
        self.dues.source.ready.next = self.is_over.val();
        self.results.sink.valid.next = self.is_over.val();
        self.results.sink.payload.next = self.now.val();
        if self.reset.val() {
            self.is_second.d.next = false;
            self.goes_on.d.next = false;
        }
    }
}
