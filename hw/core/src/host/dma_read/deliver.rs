//! Delivery: beats of whole bursts become the bytes that were asked for.

use rust_hdl::prelude::*;

use super::reorder::Stored;
use super::{ReadCommand, ReadData, SLOT_LOG};
use crate::constant::number;
use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::prim::strip::Strip;
use crate::record;
use crate::stream::{StreamSink, StreamSource};

/// log2 of the beats that wait for the client.
const WAITING_LOG: usize = 3;
/// Beats that have entered, or do, and that are not among those known to wait: both of the strip, one that leaves it, one that enters.
const UNDER_WAY: usize = 4;

record! {
    /// Where a command's bytes lie in its beats.
    pub struct Span {
        /// Bytes of the first beat before them.
        pub skip: Bits<8>,
        /// How many they are.
        pub keep: Bits<13>,
    }
}

block! {
    /// Moves each command's bytes to byte 0, and adds its tag and how it went.
    ///
    /// The strip never stops: what is on its way when the client pauses has room in a FIFO. A signal that stops the strip's lanes
    /// and then the buffer that feeds them would be the slowest of the engine.
    ///
    /// - **Ports** `command`: what was asked for; `sink`: the beats that hold it, one packet a command; `data`: its
    ///   bytes, `err` at `eop` if any beat of the packet had one; `busy`: something is inside or due.
    /// - **Latency** 3 cycles from the beat that completes a beat. **Rate** 1 beat per cycle.
    /// - **Backpressure** stalls `sink` when more than 4 beats wait; the 33rd command under way stalls `command`. No combinational
    ///   path from port to port.
    /// - **Reset** empties it.
    /// - **Limits** commands begin at multiples of the step, 1 unless said otherwise; else they give the wrong bytes.
    pub struct Deliver<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub command: StreamSink<ReadCommand>,
        pub sink: StreamSink<Stored<D>>,
        pub data: StreamSource<ReadData<D>>,
        pub busy: Signal<Out, Bit>,
        /// Wanted when beats enter the strip.
        spans: Fifo<Span, SLOT_LOG>,
        /// Wanted when beats leave the strip; a command's span is gone before its tag.
        tags: Fifo<Bits<6>, SLOT_LOG>,
        strip: Strip<D>,
        /// A beat of the command under way had an error.
        spoilt: Reg<Bit>,
        /// Did a command fail? Known when its last beat enters the strip. That holds two beats, so four places are enough.
        failures: Fifo<Bit, 2>,
        waiting: Fifo<ReadData<D>, WAITING_LOG>,
        has_room: Reg<Bit>,
        accept: Signal<Local, Bit>,
        failed: Signal<Local, Bit>,
        enters: Signal<Local, Bit>,
        ends: Signal<Local, Bit>,
        leaves: Signal<Local, Bit>,
        beat_len: Constant<Bits<7>> = number(D / 8),
        within_beat: Constant<Bits<8>> = number(D / 8 - 1),
        room: Constant<Bits<16>> = number((1 << WAITING_LOG) - UNDER_WAY),
    }
}

impl<const D: usize> Deliver<D> {
    /// One whose commands begin at multiples of `step`, a power of two.
    #[must_use]
    pub fn in_steps_of(step: usize) -> Self {
        Self { strip: Strip::in_steps_of(step), ..Self::default() }
    }
}

impl<const D: usize> Logic for Deliver<D> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, spans, tags, strip, failures, waiting);
        dff_setup!(self, clock, spoilt, has_room);
        self.spans.reset.next = self.reset.val();
        self.tags.reset.next = self.reset.val();
        self.strip.reset.next = self.reset.val();
        self.failures.reset.next = self.reset.val();
        self.waiting.reset.next = self.reset.val();

        self.command.ready.next = self.tags.sink.ready.val();
        self.accept.next = self.command.valid.val() & self.tags.sink.ready.val();
        self.tags.sink.valid.next = self.accept.val();
        self.tags.sink.payload.next = self.command.payload.val().tag;
        self.spans.sink.valid.next = self.accept.val();
        self.spans.sink.payload.next.skip =
            bit_cast::<8, 64>(self.command.payload.val().iova) & self.within_beat.val();
        self.spans.sink.payload.next.keep = self.command.payload.val().len;
        self.busy.next = self.tags.source.valid.val() | self.waiting.source.valid.val();

        self.strip.skip.next = self.spans.source.payload.val().skip;
        self.strip.keep.next = self.spans.source.payload.val().keep;
        self.has_room.d.next = self.waiting.level.val() <= self.room.val();
        self.enters.next = self.sink.valid.val() & self.has_room.q.val();
        self.sink.ready.next = self.has_room.q.val();
        self.strip.sink.valid.next = self.enters.val();
        self.strip.sink.payload.next.data = self.sink.payload.val().data;
        self.strip.sink.payload.next.nbytes = self.beat_len.val();
        self.strip.sink.payload.next.sop = false;
        self.strip.sink.payload.next.eop = self.sink.payload.val().eop;
        self.strip.sink.payload.next.err = false;
        self.ends.next = self.enters.val() & self.sink.payload.val().eop;
        self.failed.next = self.spoilt.q.val() | self.sink.payload.val().err;
        if self.enters.val() {
            self.spoilt.d.next = self.failed.val() & !self.sink.payload.val().eop;
        }
        self.spans.source.ready.next = self.ends.val();
        self.failures.sink.valid.next = self.ends.val();
        self.failures.sink.payload.next = self.failed.val();

        // The last beat out needs the last beat in, so whether the command failed is known by then.
        self.waiting.sink.valid.next = self.strip.source.valid.val();
        self.waiting.sink.payload.next.data = self.strip.source.payload.val().data;
        self.waiting.sink.payload.next.nbytes = self.strip.source.payload.val().nbytes;
        self.waiting.sink.payload.next.sop = self.strip.source.payload.val().sop;
        self.waiting.sink.payload.next.eop = self.strip.source.payload.val().eop;
        self.waiting.sink.payload.next.err =
            self.strip.source.payload.val().eop & self.failures.source.payload.val();
        self.waiting.sink.payload.next.tag = self.tags.source.payload.val();
        self.strip.source.ready.next = true;
        self.leaves.next = self.strip.source.valid.val() & self.strip.source.payload.val().eop;
        self.tags.source.ready.next = self.leaves.val();
        self.failures.source.ready.next = self.leaves.val();
        StreamSource::<ReadData<D>>::link(&mut self.data, &mut self.waiting.source);
        if self.reset.val() {
            self.spoilt.d.next = false;
            self.has_room.d.next = false;
        }
    }
}
