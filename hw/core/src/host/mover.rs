//! The copy engine: checked work is carried out, and every work's end is told.

pub mod ask;
pub mod chunks;
pub mod entries;
pub mod finish;
pub mod inline;
pub mod intake;
pub mod measure;
#[cfg(test)]
mod model;
pub mod pair;
pub mod place;
#[cfg(test)]
mod rig;
#[cfg(test)]
mod tests;
pub mod transfer;

use rust_hdl::prelude::*;

use ask::{Ask, Step};
use chunks::{Chunk, Chunks};
use entries::{Entries, InlineUnit, Outline, Range};
use finish::Finish;
use inline::{Inline, Piece};
use intake::{Intake, Plan};
use pair::{Move, Pair};
use place::{Pass, Place};
use transfer::Transfer;

use super::axi::BOUNDARY_BYTES;
use super::dma_read::{ReadCommand, ReadData};
use super::work::{Done, HostWrite, QpChange, QpError, Work};
use crate::prim::colours::Colours;
use crate::prim::fifo::Fifo;
use crate::prim::packet_fifo::PacketFifo;
use crate::state::access::XlatRequest;
use crate::state::failures::Failures;
use crate::state::mmu::XlatResponse;
use crate::stream::{Beat, StreamSink, StreamSource};

block! {
    /// Copies host memory: NOP, GATHER and SCATTER of `2^QPS` queue pairs, in order.
    ///
    /// ```text
    ///   work ─ Intake ─┬──────────── ticket ────────────────────────────────┐        Failures ─ change
    ///                  ├─ plan ──────┐               xlat ┐ ┌ answer        │           │
    ///                  └─ Entries ─ Chunks ────────────── Ask ─ Pair ─────── Place ─────┴─ write
    ///   units ────────────┘ └─ Inline ──────────────┐            └ read       │
    ///   read_data ─ whole packets ───────────────── Transfer ─────────────────┘─ write_data
    ///                                                  └─ Finish ─ done, error, retired
    /// ```
    ///
    /// Chunks are translated and read ahead, over the bounds of works; nothing is decided before [`Place`], and there in
    /// order. So a copy does not see what a copy before it wrote unless that one's completion was waited for.
    ///
    /// - **Ports** `work`: WQEs and ends of jobs; `units`: those of GATHER and SCATTER with status 0. `xlat`, `answer`: the MMU,
    ///   as clients 1 (source) and 2 (destination). `read`, `read_data`: a packet for each command, in order. `write`,
    ///   `write_data`: commands, and a packet for each. `done`: completions; `error`: queue pairs that fail, before the
    ///   completion that says so. `retired`, `retired_colour`: a job is over; `finished`: a work is, or the end of a job has passed. `change`: a queue pair that resets has no
    ///   failure any more. `drain`, `drained`: chunks that were asked for before are through. `ready`: reset is over.
    ///   `busy`: a work or a chunk is inside.
    /// - **Ends** success is told if signaled, when all bytes were taken by `write_data`. Refused translation:
    ///   `LocalProtection`, or `General` if a page list could not be read, and its cause as vendor code; failed read: `General`
    ///   and 0. Works behind a failure of their queue pair are `Flushed`, refused ones among them.
    /// - **Latency** 7 cycles from `work` to `done` for a NOP. **Rate** 1 beat of `write_data` per cycle, if reads come as fast:
    ///   up to 48 chunks are under way, 32 of them read. An entry takes 2 cycles at least, a copy 1 more; a NOP 2; a failure 1 more.
    /// - **Backpressure** stalls `work`, at the latest with 32 of them inside. `answer` and `change` are always taken. A stalled
    ///   `write_data` stalls `read_data` when `2^LOG` beats wait. No combinational path from port to port.
    /// - **Reset** forgets all works, and clears the failures, which takes `2^QPS` cycles; works wait meanwhile. The MMU and
    ///   the read engine have to be reset with it.
    /// - **Limits** `D` is 64 or 512; `2^LOG` beats hold a whole chunk of 4 KiB or more, otherwise building panics.
    pub struct Mover<const D: usize, const QPS: usize, const LOG: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub work: StreamSink<Work>,
        pub units: StreamSink<Bits<512>>,
        pub xlat: StreamSource<XlatRequest>,
        pub answer: StreamSink<XlatResponse>,
        pub read: StreamSource<ReadCommand>,
        pub read_data: StreamSink<ReadData<D>>,
        pub write: StreamSource<HostWrite>,
        pub write_data: StreamSource<Beat<D>>,
        pub done: StreamSource<Done>,
        pub error: StreamSource<QpError>,
        pub retired: Signal<Out, Bit>,
        pub retired_colour: Signal<Out, Bit>,
        pub finished: Signal<Out, Bit>,
        pub change: StreamSink<QpChange>,
        pub drain: Signal<In, Bit>,
        pub drained: Signal<Out, Bit>,
        pub ready: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        intake: Intake,
        entries: Entries,
        chunks: Chunks,
        inline: Inline<D>,
        ask: Ask,
        pair: Pair,
        /// Chunks between `ask` and `transfer`, far fewer than 255.
        colours: Colours<8>,
        /// A read that failed never existed for the writer; its verdict tells it.
        packets: PacketFifo<D, LOG> = whole_chunks(),
        verdicts: Fifo<Bit, 5>,
        failures: Failures<QPS>,
        place: Place,
        transfer: Transfer<D>,
        finish: Finish,
    }
}

/// A store that holds chunks whole.
///
/// # Panics
/// When it could not hold one.
fn whole_chunks<const D: usize, const LOG: usize>() -> PacketFifo<D, LOG> {
    assert!((D / 8) << LOG >= BOUNDARY_BYTES, "2^{LOG} beats of {D} bits do not hold a chunk");
    PacketFifo::new(false)
}

impl<const D: usize, const QPS: usize, const LOG: usize> Logic for Mover<D, QPS, LOG> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, intake, entries, chunks, inline, ask, pair, colours);
        clock!(self, clock, packets, verdicts, failures, place, transfer, finish);
        self.intake.reset.next = self.reset.val();
        self.entries.reset.next = self.reset.val();
        self.chunks.reset.next = self.reset.val();
        self.inline.reset.next = self.reset.val();
        self.ask.reset.next = self.reset.val();
        self.pair.reset.next = self.reset.val();
        self.colours.reset.next = self.reset.val();
        self.packets.reset.next = self.reset.val();
        self.verdicts.reset.next = self.reset.val();
        self.failures.reset.next = self.reset.val();
        self.place.reset.next = self.reset.val();
        self.transfer.reset.next = self.reset.val();
        self.finish.reset.next = self.reset.val();

        // Works become chunks.
        StreamSink::<Work>::link(&mut self.work, &mut self.intake.work);
        StreamSource::<Outline>::join(&mut self.intake.order, &mut self.entries.order);
        StreamSink::<Bits<512>>::link(&mut self.units, &mut self.entries.units);
        StreamSource::<InlineUnit>::join(&mut self.entries.inlines, &mut self.inline.units);
        StreamSource::<Plan>::join(&mut self.intake.plan, &mut self.chunks.plan);
        StreamSource::<Range>::join(&mut self.entries.ranges, &mut self.chunks.ranges);
        StreamSource::<Piece>::join(&mut self.chunks.piece, &mut self.inline.piece);

        // Chunks are translated and read.
        StreamSource::<Chunk>::join(&mut self.chunks.chunks, &mut self.ask.chunks);
        self.ask.colour.next = self.colours.colour.val();
        StreamSource::<XlatRequest>::link(&mut self.xlat, &mut self.ask.xlat);
        StreamSource::<Step>::join(&mut self.ask.steps, &mut self.pair.steps);
        StreamSink::<XlatResponse>::link(&mut self.answer, &mut self.pair.answer);
        StreamSource::<ReadCommand>::link(&mut self.read, &mut self.pair.read);

        self.read_data.ready.next = self.packets.sink.ready.val() & self.verdicts.sink.ready.val();
        self.packets.sink.valid.next = self.read_data.valid.val() & self.verdicts.sink.ready.val();
        self.packets.sink.payload.next.data = self.read_data.payload.val().data;
        self.packets.sink.payload.next.nbytes = self.read_data.payload.val().nbytes;
        self.packets.sink.payload.next.sop = self.read_data.payload.val().sop;
        self.packets.sink.payload.next.eop = self.read_data.payload.val().eop;
        self.packets.sink.payload.next.err =
            self.read_data.payload.val().eop & self.read_data.payload.val().err;
        self.verdicts.sink.valid.next =
            self.read_data.valid.val() & self.packets.sink.ready.val() & self.read_data.payload.val().eop;
        self.verdicts.sink.payload.next = self.read_data.payload.val().err;

        // What becomes of them.
        StreamSource::<Move>::join(&mut self.pair.moves, &mut self.place.moves);
        StreamSource::<Work>::join(&mut self.intake.ticket, &mut self.place.ticket);
        StreamSource::<Bit>::join(&mut self.verdicts.source, &mut self.place.verdict);
        self.failures.look.next = self.place.look.val();
        self.failures.mark.next = self.place.mark.val();
        // What failed is told with the work itself.
        self.failures.marked.next.failed = true;
        self.failures.marked.next.spoiled = false;
        self.failures.marked.next.status = 0.into();
        self.failures.marked.next.vendor = 0.into();
        self.failures.marked.next.of_request = false;
        self.place.failed.next = self.failures.found.val().failed;
        self.place.open.next = self.failures.open.val() & self.finish.room.val();
        StreamSink::<QpChange>::link(&mut self.change, &mut self.failures.change);
        StreamSource::<HostWrite>::link(&mut self.write, &mut self.place.write);
        StreamSource::<Pass>::join(&mut self.place.pass, &mut self.transfer.pass);
        StreamSource::<Beat<D>>::join(&mut self.packets.source, &mut self.transfer.read);
        StreamSource::<Beat<D>>::join(&mut self.inline.source, &mut self.transfer.inline);
        StreamSource::<Beat<D>>::link(&mut self.write_data, &mut self.transfer.write_data);
        StreamSource::<Pass>::join(&mut self.transfer.ended, &mut self.finish.ended);
        StreamSource::<Done>::link(&mut self.done, &mut self.finish.done);
        StreamSource::<QpError>::link(&mut self.error, &mut self.finish.error);
        self.retired.next = self.finish.retired.val();
        self.retired_colour.next = self.finish.retired_colour.val();
        self.finished.next = self.finish.finished.val();

        self.colours.enters.next = self.ask.enters.val();
        self.colours.enters_colour.next = self.colours.colour.val();
        self.colours.pending.next = false;
        self.colours.leaves.next = self.transfer.leaves.val();
        self.colours.leaves_colour.next = self.transfer.leaves_colour.val();
        self.colours.drain.next = self.drain.val();
        self.drained.next = self.colours.drained.val();
        self.ready.next = self.failures.ready.val();
        // A work is in the tickets until it is judged; its units and entries may outlast it.
        self.busy.next = self.intake.busy.val()
            | self.chunks.busy.val()
            | self.place.busy.val()
            | self.transfer.busy.val()
            | self.finish.busy.val()
            | self.colours.busy.val();
    }
}
