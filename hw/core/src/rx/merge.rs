//! RoCE packets and raw frames become one stream of heads, and their payload one that keeps its order.

#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;

use crate::constant::number;
use crate::head::Head;
use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::stream::{Beat, StreamSink, StreamSource};

/// log2 of the payloads that may be due: more than all who take heads keep.
pub(super) const DUE_LOG: usize = 6;
/// RoCE packets that go before a raw frame that waits.
pub const PATIENCE: usize = 8;

block! {
    /// Joins the packets for the transport.
    ///
    /// RoCE comes first: nobody waits there for software. A raw frame goes when no RoCE packet waits, or when eight have gone
    /// before it.
    ///
    /// - **Ports** `roce`, `roce_payload`: heads, and a payload for each with `payload_len > 0`, in order; `raw`, `raw_payload`: the
    ///   same, each with payload. `head`, `payload`: all of them, the payloads in the order of the heads.
    /// - **Latency** 0 cycles from `roce` to `head`, if no raw frame is offered; 1 cycle from `raw`. From `head` to `payload` 1 cycle.
    ///   **Rate** a head and a beat per cycle; a change from RoCE to raw and back costs 1 cycle each.
    /// - **Backpressure** 64 payloads may be due: then heads wait. `ready` of the inputs follows that of the outputs, and the
    ///   outputs' `valid` and payload follow the inputs, combinationally: all of them end in FIFOs.
    /// - **Reset** forgets which payloads are due; those of heads from before must not come any more.
    pub struct Merge<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub roce: StreamSink<Head>,
        pub roce_payload: StreamSink<Beat<D>>,
        pub raw: StreamSink<Head>,
        pub raw_payload: StreamSink<Beat<D>>,
        pub head: StreamSource<Head>,
        pub payload: StreamSource<Beat<D>>,
        /// A raw frame's head is on offer.
        is_raw: Reg<Bit>,
        /// RoCE packets that a raw frame has let go first.
        passed: Reg<Bits<3>>,
        /// Of each payload that is due: is it a raw frame?
        due: Fifo<Bit, DUE_LOG>,
        is_due_raw: Signal<Local, Bit>,
        moves: Signal<Local, Bit>,
        beat: Signal<Local, Beat<D>>,
        has_beat: Signal<Local, Bit>,
        last_pass: Constant<Bits<3>> = number(PATIENCE - 1),
    }
}

impl<const D: usize> Logic for Merge<D> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, due);
        dff_setup!(self, clock, is_raw, passed);
        self.due.reset.next = self.reset.val();

        // Heads. What is on offer stays so until it moves; who is next is decided then. Nobody else fills the queue of what
        // is due, so its room stays until it is used.
        self.head.payload.next = self.roce.payload.val();
        self.head.valid.next = self.roce.valid.val() & self.due.sink.ready.val();
        self.roce.ready.next = self.head.ready.val() & self.due.sink.ready.val() & !self.is_raw.q.val();
        self.raw.ready.next = self.head.ready.val() & self.due.sink.ready.val() & self.is_raw.q.val();
        self.moves.next = self.roce.valid.val() & self.head.ready.val() & self.due.sink.ready.val();
        if self.is_raw.q.val() {
            self.head.payload.next = self.raw.payload.val();
            self.head.valid.next = self.raw.valid.val() & self.due.sink.ready.val();
            self.moves.next = self.raw.valid.val() & self.head.ready.val() & self.due.sink.ready.val();
        }
        self.due.sink.valid.next =
            self.moves.val() & (self.is_raw.q.val() | self.roce.payload.val().payload_len.any());
        self.due.sink.payload.next = self.is_raw.q.val();
        if self.is_raw.q.val() {
            if self.moves.val() {
                self.is_raw.d.next = false;
                self.passed.d.next = 0.into();
            }
        } else if !self.roce.valid.val() {
            self.is_raw.d.next = self.raw.valid.val();
        } else if self.moves.val() & self.raw.valid.val() {
            self.passed.d.next = self.passed.q.val() + 1;
            self.is_raw.d.next = self.passed.q.val() == self.last_pass.val();
        }

        // Payloads.
        self.is_due_raw.next = self.due.source.payload.val();
        self.beat.next = self.roce_payload.payload.val();
        self.has_beat.next = self.due.source.valid.val() & self.roce_payload.valid.val();
        if self.is_due_raw.val() {
            self.beat.next = self.raw_payload.payload.val();
            self.has_beat.next = self.due.source.valid.val() & self.raw_payload.valid.val();
        }
        self.payload.payload.next = self.beat.val();
        self.payload.valid.next = self.has_beat.val();
        self.roce_payload.ready.next =
            self.due.source.valid.val() & !self.is_due_raw.val() & self.payload.ready.val();
        self.raw_payload.ready.next =
            self.due.source.valid.val() & self.is_due_raw.val() & self.payload.ready.val();
        self.due.source.ready.next = self.has_beat.val() & self.payload.ready.val() & self.beat.val().eop;
        if self.reset.val() {
            self.is_raw.d.next = false;
            self.passed.d.next = 0.into();
        }
    }
}
