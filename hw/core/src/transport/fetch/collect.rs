//! Collect: the bytes of each part come, and it turns out what has become of the packet.

use rust_hdl::prelude::*;
use stroma_abi::desc::Status;

use super::resolve::Part;
use crate::constant::number;
use crate::host::dma_read::ReadData;
use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::prim::splice::PieceBeat;
use crate::record;
use crate::state::access::Cause;
use crate::stream::{Beat, StreamSink, StreamSource};

record! {
    /// How the payload of a packet could be had.
    pub struct Outcome {
        /// A `Status`; 0: it is here.
        pub status: Bits<8>,
        /// Detail of an error, for people.
        pub vendor: Bits<8>,
    }
}

block! {
    /// Takes the bytes of each part from where they come.
    ///
    /// - **Ports** `parts`: in; `read_data`, `inline`, `results`: a packet for each part that says so; `pieces`: a piece for each part, empty
    ///   if nothing comes, `err` if it is refused or could not be read; `outcomes`: one for each packet, when all of it is
    ///   taken: that of the first part that failed. `err` of `inline` and `results` is not looked at.
    /// - **Latency** 0 cycles. **Rate** 1 beat per cycle, without a gap between parts; a part without
    ///   bytes takes 1 cycle.
    /// - **Backpressure** stalls the four sinks; their `ready` follows `pieces.ready` and `parts` combinationally. An outcome
    ///   that is not taken at once waits, and stalls nothing.
    /// - **Reset** forgets the packet under way.
    /// - **Limits** 32 outcomes wait, which is as many as there are tickets.
    pub struct Collect<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub parts: StreamSink<Part>,
        pub read_data: StreamSink<ReadData<D>>,
        pub inline: StreamSink<Beat<D>>,
        pub results: StreamSink<Beat<D>>,
        pub pieces: StreamSource<PieceBeat<D>>,
        pub outcomes: StreamSource<Outcome>,
        queue: Fifo<Outcome, 5>,
        /// A part of the packet under way has failed, and how.
        failed: Reg<Outcome>,
        part: Signal<Local, Part>,
        has_beat: Signal<Local, Bit>,
        is_unread: Signal<Local, Bit>,
        takes_inline: Signal<Local, Bit>,
        takes_result: Signal<Local, Bit>,
        moves: Signal<Local, Bit>,
        ends: Signal<Local, Bit>,
        outcome: Signal<Local, Outcome>,
        tells: Signal<Local, Bit>,
        protection: Constant<Bits<8>> = number(Status::LocalProtection as u8),
        general: Constant<Bits<8>> = number(Status::General as u8),
        page_list: Constant<Bits<3>> = number(Cause::PageList as u8),
    }
}

impl<const D: usize> Logic for Collect<D> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, queue);
        dff_setup!(self, clock, failed);
        self.queue.reset.next = self.reset.val();
        self.part.next = self.parts.payload.val();
        self.takes_inline.next = self.part.val().is_inline & !self.part.val().is_result;
        self.takes_result.next = self.part.val().is_inline & self.part.val().is_result;
        self.is_unread.next =
            self.part.val().is_read & self.read_data.payload.val().eop & self.read_data.payload.val().err;

        self.pieces.payload.next.data = 0.into();
        self.pieces.payload.next.nbytes = 0.into();
        self.pieces.payload.next.eop = true;
        self.pieces.payload.next.last = self.part.val().last;
        self.pieces.payload.next.err = self.part.val().cause.any() | self.is_unread.val();
        self.has_beat.next = true;
        self.ends.next = true;
        if self.part.val().is_read {
            self.pieces.payload.next.data = self.read_data.payload.val().data;
            self.pieces.payload.next.nbytes = self.read_data.payload.val().nbytes;
            self.pieces.payload.next.eop = self.read_data.payload.val().eop;
            self.has_beat.next = self.read_data.valid.val();
            self.ends.next = self.read_data.payload.val().eop;
        } else if self.takes_inline.val() {
            self.pieces.payload.next.data = self.inline.payload.val().data;
            self.pieces.payload.next.nbytes = self.inline.payload.val().nbytes;
            self.pieces.payload.next.eop = self.inline.payload.val().eop;
            self.has_beat.next = self.inline.valid.val();
            self.ends.next = self.inline.payload.val().eop;
        } else if self.takes_result.val() {
            self.pieces.payload.next.data = self.results.payload.val().data;
            self.pieces.payload.next.nbytes = self.results.payload.val().nbytes;
            self.pieces.payload.next.eop = self.results.payload.val().eop;
            self.has_beat.next = self.results.valid.val();
            self.ends.next = self.results.payload.val().eop;
        }
        self.pieces.valid.next = self.parts.valid.val() & self.has_beat.val();
        self.moves.next = self.parts.valid.val() & self.has_beat.val() & self.pieces.ready.val();
        self.parts.ready.next = self.moves.val() & self.ends.val();
        self.read_data.ready.next =
            self.parts.valid.val() & self.pieces.ready.val() & self.part.val().is_read;
        self.inline.ready.next = self.parts.valid.val() & self.pieces.ready.val() & self.takes_inline.val();
        self.results.ready.next = self.parts.valid.val() & self.pieces.ready.val() & self.takes_result.val();

        self.outcome.next = self.failed.q.val();
        if !self.failed.q.val().status.any() {
            self.outcome.next.vendor = bit_cast::<8, 3>(self.part.val().cause);
            if self.part.val().cause.any() & (self.part.val().cause != self.page_list.val()) {
                self.outcome.next.status = self.protection.val();
            } else if self.part.val().cause.any() | self.is_unread.val() {
                self.outcome.next.status = self.general.val();
            }
        }
        if self.moves.val() & self.ends.val() {
            self.failed.d.next = self.outcome.val();
            if self.part.val().last {
                self.failed.d.next.status = 0.into();
                self.failed.d.next.vendor = 0.into();
            }
        }
        self.tells.next = self.moves.val() & self.ends.val() & self.part.val().last;
        self.queue.sink.payload.next = self.outcome.val();
        self.queue.source.ready.next = self.outcomes.ready.val();
        self.outcomes.valid.next = self.queue.source.valid.val() | self.tells.val();
        self.outcomes.payload.next = self.outcome.val();
        self.queue.sink.valid.next = self.tells.val() & !self.outcomes.ready.val();
        if self.queue.source.valid.val() {
            self.outcomes.payload.next = self.queue.source.payload.val();
            self.queue.sink.valid.next = self.tells.val();
        }
        if self.reset.val() {
            self.failed.d.next.status = 0.into();
            self.failed.d.next.vendor = 0.into();
        }
    }
}
