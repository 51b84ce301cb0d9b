//! Chunks: pieces of memory that lie in one page at either end.

use rust_hdl::prelude::*;

use super::entries::Range;
use super::inline::Piece;
use super::intake::Plan;
use super::measure::Measure;
use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::record;
use crate::stream::{StreamSink, StreamSource};

record! {
    /// Bytes to be copied; or nothing, where a work has none.
    pub struct Chunk {
        /// Virtual address they come from; meaningless for inline data.
        pub source: Bits<64>,
        /// Its key.
        pub source_key: Bits<32>,
        /// Virtual address they go to.
        pub destination: Bits<64>,
        /// Its key.
        pub destination_key: Bits<32>,
        /// Protection domain of both.
        pub pd: Bits<16>,
        /// Bytes, 1 to 4096.
        pub len: Bits<13>,
        /// There are bytes; otherwise only `last` has a meaning, and is high.
        pub has_data: Bit,
        /// They come from the WQE.
        pub is_inline: Bit,
        /// Last of its work.
        pub last: Bit,
    }
}

block! {
    /// Cuts works at the ends of entries and of 4 KiB at either end.
    ///
    /// No page is smaller, and an address keeps its low twelve bits when it is translated: so one answer of the MMU is
    /// enough for either end of a chunk.
    ///
    /// - **Ports** `plan`: every work; `ranges`: the entries of those with data that is not inline; `chunks`: at least one for
    ///   each work; `piece`: the length of each inline chunk; `busy`: an entry is
    ///   inside or on offer.
    /// - **Latency** 3 cycles from `plan` and `ranges` to the first chunk, 1 if there are no data.
    ///   **Rate** a chunk every 2 cycles, and 1 cycle more for each work; an entry without bytes takes 2.
    /// - **Backpressure** stalls `plan` and `ranges`. No combinational path from port to port but from `piece.ready` back.
    /// - **Reset** empties it.
    /// - **Limits** if entries and length of a work disagree the shorter counts, and entries left over are thrown away.
    pub struct Chunks {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub plan: StreamSink<Plan>,
        pub ranges: StreamSink<Range>,
        pub chunks: StreamSource<Chunk>,
        pub piece: StreamSource<Piece>,
        pub busy: Signal<Out, Bit>,
        found: Fifo<Chunk, 2>,
        measure: Measure,
        /// A work is under way: where its one place goes on, and for how many bytes.
        is_open: Reg<Bit>,
        remote_at: Reg<Bits<64>>,
        rest: Reg<Bits<32>>,
        /// The entry under way.
        is_loaded: Reg<Bit>,
        local: Reg<Range>,
        /// Entries up to the last one belong to a work that has ended.
        is_swallowing: Reg<Bit>,
        /// `room` and `most` are those of the next chunk: bytes to the end of a page, bytes wanted.
        is_measured: Reg<Bit>,
        room: Reg<Bits<13>>,
        most: Reg<Bits<13>>,
        is_inline: Signal<Local, Bit>,
        len: Signal<Local, Bits<13>>,
        is_emptied: Signal<Local, Bit>,
        ends: Signal<Local, Bit>,
        has_room: Signal<Local, Bit>,
        goes: Signal<Local, Bit>,
        skips: Signal<Local, Bit>,
        takes: Signal<Local, Bit>,
    }
}

impl Logic for Chunks {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, found);
        dff_setup!(
            self,
            clock,
            is_open,
            remote_at,
            rest,
            is_loaded,
            local,
            is_swallowing,
            is_measured,
            room,
            most
        );
        self.found.reset.next = self.reset.val();
        self.is_inline.next = self.plan.payload.val().is_inline;

        // Second step: the chunk.
        self.len.next = self.room.q.val();
        if self.most.q.val() < self.room.q.val() {
            self.len.next = self.most.q.val();
        }
        self.is_emptied.next =
            !self.is_inline.val() & (bit_cast::<32, 13>(self.len.val()) == self.local.q.val().length);
        self.ends.next = (bit_cast::<32, 13>(self.len.val()) == self.rest.q.val())
            | (self.is_emptied.val() & self.local.q.val().last);
        self.has_room.next = self.found.sink.ready.val() & self.piece.ready.val();
        self.goes.next = self.has_room.val() & self.is_measured.q.val();
        self.skips.next = self.has_room.val() & self.plan.valid.val() & !self.plan.payload.val().has_data;
        self.found.sink.valid.next =
            self.skips.val() | (self.goes.val() & (self.len.val().any() | self.ends.val()));
        self.found.sink.payload.next.source = self.local.q.val().address;
        self.found.sink.payload.next.source_key = self.local.q.val().key;
        self.found.sink.payload.next.destination = self.remote_at.q.val();
        self.found.sink.payload.next.destination_key = self.plan.payload.val().key;
        if self.plan.payload.val().is_scatter {
            self.found.sink.payload.next.source = self.remote_at.q.val();
            self.found.sink.payload.next.source_key = self.plan.payload.val().key;
            self.found.sink.payload.next.destination = self.local.q.val().address;
            self.found.sink.payload.next.destination_key = self.local.q.val().key;
        }
        self.found.sink.payload.next.pd = self.plan.payload.val().pd;
        self.found.sink.payload.next.len = self.len.val();
        self.found.sink.payload.next.has_data = self.goes.val() & self.len.val().any();
        self.found.sink.payload.next.is_inline = self.is_inline.val();
        self.found.sink.payload.next.last = self.skips.val() | self.ends.val();
        StreamSource::<Chunk>::link(&mut self.chunks, &mut self.found.source);
        self.piece.valid.next = self.goes.val() & self.is_inline.val();
        self.piece.payload.next.len = self.len.val();
        self.piece.payload.next.last = self.ends.val();
        self.plan.ready.next = self.skips.val() | (self.goes.val() & self.ends.val());
        if self.goes.val() {
            self.is_measured.d.next = false;
            self.remote_at.d.next = self.remote_at.q.val() + bit_cast::<64, 13>(self.len.val());
            self.rest.d.next = self.rest.q.val() - bit_cast::<32, 13>(self.len.val());
            self.is_open.d.next = !self.ends.val();
            if !self.is_inline.val() {
                self.local.d.next.address = self.local.q.val().address + bit_cast::<64, 13>(self.len.val());
                self.local.d.next.length = self.local.q.val().length - bit_cast::<32, 13>(self.len.val());
                if self.is_emptied.val() | self.ends.val() {
                    self.is_loaded.d.next = false;
                }
                self.is_swallowing.d.next = self.ends.val() & !self.local.q.val().last;
            }
        }

        // First step: what limits it.
        self.measure.remote.next = self.remote_at.q.val();
        self.measure.remote_rest.next = self.rest.q.val();
        self.measure.local.next = self.local.q.val().address;
        self.measure.local_rest.next = self.local.q.val().length;
        self.measure.is_lone.next = self.is_inline.val();
        if !self.is_measured.q.val() {
            self.room.d.next = self.measure.room.val();
            self.most.d.next = self.measure.most.val();
            self.is_measured.d.next = self.is_open.q.val()
                & (self.is_inline.val() | (self.is_loaded.q.val() & !self.is_swallowing.q.val()));
        }
        if !self.is_open.q.val() {
            self.is_open.d.next = self.plan.valid.val() & self.plan.payload.val().has_data;
            self.remote_at.d.next = self.plan.payload.val().remote;
            self.rest.d.next = self.plan.payload.val().length;
        }

        if self.is_swallowing.q.val() & self.is_loaded.q.val() {
            self.is_loaded.d.next = false;
            self.is_swallowing.d.next = !self.local.q.val().last;
        }
        self.takes.next = !self.is_loaded.q.val() | (self.goes.val() & self.is_emptied.val());
        self.ranges.ready.next = self.takes.val();
        self.busy.next = self.is_loaded.q.val() | self.is_swallowing.q.val() | self.ranges.valid.val();
        if self.takes.val() & self.ranges.valid.val() {
            self.is_loaded.d.next = true;
            self.local.d.next = self.ranges.payload.val();
        }
        if self.reset.val() {
            self.is_open.d.next = false;
            self.is_loaded.d.next = false;
            self.is_swallowing.d.next = false;
            self.is_measured.d.next = false;
        }
    }
}
