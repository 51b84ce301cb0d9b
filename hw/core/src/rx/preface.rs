//! The receive of a datagram begins with the IP header that it came with: the application learns who has sent it.

#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;
use stroma_abi::wire::Header;

use super::grh::{GRH, Grh};
use super::merge::DUE_LOG;
use crate::constant::{constants, number};
use crate::head::Head;
use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::stream::{Beat, StreamSink, StreamSource};
use crate::tx::transport::opcodes;

/// Beats that a header fills on the narrowest path.
const PIECES: usize = GRH / 64;
/// log2 of the datagrams whose header waits for the payload.
const HEADERS_LOG: usize = 4;

block! {
    /// Writes the IP header over the first 40 bytes of each datagram's payload.
    ///
    /// All that is in the header is in the head: it is made when that moves, and waits for the payload.
    ///
    /// ```text
    ///   sink ─┬─────────────────────── head
    ///         └─ Grh ─▮─ headers ─┐
    ///   body ─────────────────────┴─── payload
    /// ```
    ///
    /// - **Ports** `sink`, `body`: heads, and a payload for each with `payload_len > 0`, in order. `head`, `payload`: the same, the first
    ///   40 bytes of each datagram as [`Grh`] makes them.
    /// - **Latency** 0 cycles; a payload passes from the cycle behind that in which its head moves. **Rate** a head and a beat per
    ///   cycle.
    /// - **Backpressure** 64 payloads may be due, 16 of them of datagrams: then heads wait, whatever the next one is. `ready` of the inputs
    ///   follows that of the outputs, and the outputs' `valid` and payload follow the inputs, combinationally: all of them end in
    ///   FIFOs.
    /// - **Reset** forgets which payloads are due; those of heads from before must not come any more.
    /// - **Limits** a datagram has 40 bytes or more, as [`Settle`](super::settle::Settle) makes it; a shorter one would end in bytes of its
    ///   header. A header fills five beats, or fits one: `D` is 64, or 320 and more; anything else panics when the block is built.
    pub struct Preface<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub sink: StreamSink<Head>,
        pub body: StreamSink<Beat<D>>,
        pub head: StreamSource<Head>,
        pub payload: StreamSource<Beat<D>>,
        grh: Grh,
        /// Of each payload that is due: is it a datagram?
        due: Fifo<Bit, DUE_LOG>,
        /// The headers of those.
        headers: Fifo<Bits<GRH>, HEADERS_LOG>,
        /// Beats of a payload that have passed, as far as a header reaches.
        passed: Reg<Bits<3>>,
        is_datagram: Signal<Local, Bit>,
        has_room: Signal<Local, Bit>,
        comes_due: Signal<Local, Bit>,
        is_due_datagram: Signal<Local, Bit>,
        header: Signal<Local, Bits<GRH>>,
        /// Of the header, what has not passed yet.
        rest: Signal<Local, Bits<GRH>>,
        passes: Signal<Local, Bit>,
        ends: Signal<Local, Bit>,
        /// One bit an op-code.
        datagrams: Constant<Bits<256>> = Constant::new(opcodes(|row| row.headers.contains(&Header::Deth))),
        pieces: Constant<Bits<3>> = number(pieces::<D>()),
        is_used: [Constant<Bit>; PIECES] = constants(|piece| piece < pieces::<D>()),
        piece_at: [Constant<Bits<12>>; PIECES] = std::array::from_fn(|piece| number(piece * D)),
        overwritten: Constant<Bits<D>> = Constant::new(ones(GRH)),
    }
}

/// Beats that a header is written over.
fn pieces<const D: usize>() -> usize {
    assert!(D == 64 || D >= GRH, "a header of {GRH} bits neither fills beats of {D} bits nor fits one");
    GRH.div_ceil(D)
}

/// As many ones as there may be, lowest first.
fn ones<const N: usize>(count: usize) -> Bits<N> {
    ((num_bigint::BigUint::from(1_u8) << count.min(N)) - 1_u8).into()
}

impl<const D: usize> Preface<D> {
    /// One that takes every packet for a datagram: among noise, few are.
    #[cfg(test)]
    pub(super) fn of_all() -> Self {
        Self { datagrams: Constant::new(ones(256)), ..Self::default() }
    }
}

#[expect(clippy::collapsible_if, reason = "the emitter folds an `if` on a constant alone")]
impl<const D: usize> Logic for Preface<D> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, due, headers);
        dff_setup!(self, clock, passed);
        self.due.reset.next = self.reset.val();
        self.headers.reset.next = self.reset.val();

        // Heads. Nobody else fills the queues, so room that is there stays until it is used.
        self.is_datagram.next =
            self.datagrams.val().get_bit(self.sink.payload.val().op.index()) & !self.sink.payload.val().raw;
        self.has_room.next = self.due.sink.ready.val() & self.headers.sink.ready.val();
        self.head.payload.next = self.sink.payload.val();
        self.head.valid.next = self.sink.valid.val() & self.has_room.val();
        self.sink.ready.next = self.head.ready.val() & self.has_room.val();
        self.comes_due.next = self.sink.valid.val()
            & self.head.ready.val()
            & self.has_room.val()
            & self.sink.payload.val().payload_len.any();
        self.due.sink.valid.next = self.comes_due.val();
        self.due.sink.payload.next = self.is_datagram.val();
        self.grh.head.next = self.sink.payload.val();
        self.headers.sink.valid.next = self.comes_due.val() & self.is_datagram.val();
        self.headers.sink.payload.next = self.grh.bytes.val();

        // Payloads.
        self.is_due_datagram.next = self.due.source.payload.val();
        self.header.next = self.headers.source.payload.val();
        self.rest.next = self.header.val();
        for i in 1..PIECES {
            if self.is_used[i].val() {
                if self.passed.q.val().index() == i {
                    self.rest.next = self.header.val() >> self.piece_at[i].val();
                }
            }
        }
        self.payload.payload.next = self.body.payload.val();
        if self.is_due_datagram.val() & (self.passed.q.val() != self.pieces.val()) {
            self.payload.payload.next.data = (self.body.payload.val().data & !self.overwritten.val())
                | bit_cast::<D, GRH>(self.rest.val());
        }
        self.payload.valid.next = self.body.valid.val() & self.due.source.valid.val();
        self.body.ready.next = self.payload.ready.val() & self.due.source.valid.val();
        self.passes.next = self.body.valid.val() & self.payload.ready.val() & self.due.source.valid.val();
        self.ends.next = self.passes.val() & self.body.payload.val().eop;
        self.due.source.ready.next = self.ends.val();
        self.headers.source.ready.next = self.ends.val() & self.is_due_datagram.val();
        if self.passes.val() & (self.passed.q.val() != self.pieces.val()) {
            self.passed.d.next = self.passed.q.val() + 1;
        }
        if self.ends.val() | self.reset.val() {
            self.passed.d.next = 0.into();
        }
    }
}
