//! Answers on their way: each to the result area of its queue pair, and one of a single packet to the staging, too.

#[cfg(test)]
mod rig;
pub mod stages;
#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;
use stroma_abi::desc::region::rights;

use stages::Stages;

use super::records::{Access, Chunk, Ended, PLACES_LOG, ResultRow, STAGES_LOG};
use crate::constant::number;
use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::prim::round_robin::RoundRobin;
use crate::record;
use crate::slot::{Ending, SlotDone};
use crate::stream::{Beat, StreamSink, StreamSource};

/// log2 of the chunks that are being written.
const WRITING_LOG: usize = 4;
/// log2 of the ends that wait to be heard.
const TOLD_LOG: usize = 2;

record! {
    /// A chunk whose bytes are on their way to the result area.
    pub struct Writing<const N: usize> {
        /// The port that it came from, one bit of all.
        pub from: Bits<N>,
        /// A write was begun, and its end will be told.
        pub is_awaited: Bit,
        /// The answer ends with it; all below means something.
        pub ends: Bit,
        /// The queue pair.
        pub qpn: Bits<24>,
        /// Place among its RPCs.
        pub place: Bits<PLACES_LOG>,
        /// Status of the answer.
        pub status: Bits<32>,
        /// Its bytes.
        pub length: Bits<17>,
    }
}

block! {
    /// Takes the chunks of `N` ports, one after the other. `2^LOG` beats of staging hold 32 packets of 4 KiB.
    ///
    /// ```text
    ///   chunk[i] ─ turn ─┬─ area ─ access ─┐
    ///   chunk_data[i] ───┴───┬─ data ──────┴─ Dma ─ done ─ kept ─┐
    ///                        └─ Stages ─ results    staged ──────┴─ ended
    /// ```
    ///
    /// An answer that is one packet is told as soon as its bytes have been copied: it need not wait until they are visible in host
    /// memory, from where they would have to be read again. It is told once more when they are.
    ///
    /// - **Ports** `chunk[i]`, `chunk_data[i]`: as [`Chunk`] says. `area_enable`, `area_index`, `area`: where the results of a queue pair are, in the
    ///   cycle behind the question and steady until the next. `access`, `data`, `done`: a client of Dma that writes. `ended`: answers; `is_kept`
    ///   when all of it is visible in the area, or has no bytes; before that once without, if it is staged. `is_lost`: some of it could not be written.
    ///   `sends`, `frees`, `number`: in this cycle, the packet of that stage is to be sent, or never will be; `results`: packets that are sent,
    ///   in their order. `busy`: something is inside, stages that wait apart.
    /// - **Latency** from `chunk` to `access` 2 cycles, to `data` 2; from its last beat to `ended` 2. From `sends` to `results` 4. **Rate** 1 beat per cycle, 3 cycles more
    ///   for a chunk.
    /// - **Fairness** a chunk waits for at most one of each other port. **Backpressure** stalls the chunks: they are whole, and Dma waits for host
    ///   memory alone. Without a free stage an answer is told when it is kept. 32 stages may be told to be sent. No combinational path from port to port, but from `chunk_data` to `data`.
    /// - **Reset** forgets everything; Dma has to be reset with it.
    /// - **Limits** an answer of an orphan is thrown away, and nothing is told of it. A queue pair without an area has answers without bytes.
    ///   A stage is sent or freed once.
    pub struct Deliver<const D: usize, const N: usize, const LOG: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub chunk: [StreamSink<Chunk>; N] = std::array::from_fn(|_| StreamSink::default()),
        pub chunk_data: [StreamSink<Beat<D>>; N] = std::array::from_fn(|_| StreamSink::default()),
        pub area_enable: Signal<Out, Bit>,
        pub area_index: Signal<Out, Bits<24>>,
        pub area: Signal<In, ResultRow>,
        pub access: StreamSource<Access>,
        pub data: StreamSource<Beat<D>>,
        pub done: StreamSink<SlotDone>,
        pub ended: StreamSource<Ended>,
        pub sends: Signal<In, Bit>,
        pub frees: Signal<In, Bit>,
        pub number: Signal<In, Bits<STAGES_LOG>>,
        pub results: StreamSource<Beat<D>>,
        pub busy: Signal<Out, Bit>,
        turn: RoundRobin<N>,
        stages: Stages<D, LOG>,
        accesses: Fifo<Access, 1>,
        writing: Fifo<Writing<N>, WRITING_LOG>,
        told: Fifo<Ended, TOLD_LOG>,
        /// The chunk under way: its area is being looked up, its bytes are copied.
        is_looking: Reg<Bit>,
        is_copying: Reg<Bit>,
        held: Reg<Chunk>,
        from: Reg<Bits<N>>,
        is_staged: Reg<Bit>,
        /// Of each port: a chunk of the answer under way could not be written.
        lost: Reg<Bits<N>>,
        request: Signal<Local, Bits<N>>,
        chosen: Signal<Local, Chunk>,
        starts: Signal<Local, Bit>,
        has_bytes: Signal<Local, Bit>,
        acts: Signal<Local, Bit>,
        beat: Signal<Local, Beat<D>>,
        has_beat: Signal<Local, Bit>,
        moves: Signal<Local, Bit>,
        length: Signal<Local, Bits<17>>,
        tells_staged: Signal<Local, Bit>,
        is_over: Signal<Local, Bit>,
        is_bad: Signal<Local, Bit>,
        tells_kept: Signal<Local, Bit>,
        local_write: Constant<Bits<5>> = number(rights::LOCAL_WRITE),
        good: Constant<Bits<2>> = number(Ending::Good as u8),
        page_log: Constant<Bits<4>> = number(12),
        /// Ends that are kept leave a place for one that is staged, whose bytes are on offer.
        spare: Constant<Bits<16>> = number((1 << TOLD_LOG) - 1),
    }
}

impl<const D: usize, const N: usize, const LOG: usize> Logic for Deliver<D, N, LOG> {
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "three steps of a chunk, and what is told of it")]
    fn update(&mut self) {
        clock!(self, clock, turn, stages, accesses, writing, told);
        dff_setup!(self, clock, is_looking, is_copying, held, from, is_staged, lost);
        self.turn.reset.next = self.reset.val();
        self.stages.reset.next = self.reset.val();
        self.accesses.reset.next = self.reset.val();
        self.writing.reset.next = self.reset.val();
        self.told.reset.next = self.reset.val();

        // Choose a chunk, and look up where it goes.
        self.request.next = 0.into();
        for i in 0..N {
            self.request.next = self.request.val().replace_bit(i, self.chunk[i].valid.val());
        }
        self.turn.request.next = self.request.val();
        self.starts.next = !self.is_looking.q.val() & !self.is_copying.q.val() & self.request.val().any();
        self.turn.taken.next = self.starts.val();
        self.chosen.next = self.chunk[0].payload.val();
        for i in 0..N {
            if self.turn.grant.val().get_bit(i) {
                self.chosen.next = self.chunk[i].payload.val();
            }
            self.chunk[i].ready.next = self.starts.val() & self.turn.grant.val().get_bit(i);
        }
        self.area_enable.next = self.starts.val();
        self.area_index.next = self.chosen.val().qpn;
        if self.starts.val() {
            self.is_looking.d.next = true;
            self.held.d.next = self.chosen.val();
            self.from.d.next = self.turn.grant.val();
        }

        // Begin its write.
        self.has_bytes.next = self.held.q.val().len.any();
        self.acts.next =
            self.is_looking.q.val() & self.accesses.sink.ready.val() & self.writing.sink.ready.val();
        self.length.next = self.held.q.val().offset + bit_cast::<17, 13>(self.held.q.val().len);
        if self.acts.val() {
            self.is_looking.d.next = false;
            self.is_copying.d.next = self.has_bytes.val();
            self.is_staged.d.next =
                self.held.q.val().ends & !self.held.q.val().offset.any() & self.stages.has_room.val();
        }
        self.accesses.sink.valid.next = self.acts.val() & self.has_bytes.val() & !self.held.q.val().is_orphan;
        self.accesses.sink.payload.next.qpn = self.held.q.val().qpn;
        self.accesses.sink.payload.next.pd = self.held.q.val().pd;
        self.accesses.sink.payload.next.va = (bit_cast::<64, 52>(self.area.val().base)
            << self.page_log.val())
            | (bit_cast::<64, PLACES_LOG>(self.held.q.val().place) << self.area.val().log)
            | bit_cast::<64, 17>(self.held.q.val().offset);
        self.accesses.sink.payload.next.key = self.area.val().key;
        self.accesses.sink.payload.next.len = self.held.q.val().len;
        self.accesses.sink.payload.next.need = self.local_write.val();
        self.accesses.sink.payload.next.refused = !self.area.val().exists;
        StreamSource::<Access>::link(&mut self.access, &mut self.accesses.source);
        self.writing.sink.valid.next = self.acts.val() & !self.held.q.val().is_orphan;
        self.writing.sink.payload.next.from = self.from.q.val();
        self.writing.sink.payload.next.is_awaited = self.has_bytes.val();
        self.writing.sink.payload.next.ends = self.held.q.val().ends;
        self.writing.sink.payload.next.qpn = self.held.q.val().qpn;
        self.writing.sink.payload.next.place = self.held.q.val().place;
        self.writing.sink.payload.next.status = self.held.q.val().status;
        self.writing.sink.payload.next.length = self.length.val();

        // Copy its bytes.
        self.has_beat.next = false;
        self.beat.next = self.chunk_data[0].payload.val();
        for i in 0..N {
            if self.from.q.val().get_bit(i) {
                self.has_beat.next = self.is_copying.q.val() & self.chunk_data[i].valid.val();
                self.beat.next = self.chunk_data[i].payload.val();
            }
        }
        // What is told at the end has its place before.
        self.moves.next = self.has_beat.val()
            & (self.data.ready.val() | self.held.q.val().is_orphan)
            & self.told.sink.ready.val();
        for i in 0..N {
            self.chunk_data[i].ready.next = self.from.q.val().get_bit(i) & self.moves.val();
        }
        self.data.valid.next =
            self.has_beat.val() & !self.held.q.val().is_orphan & self.told.sink.ready.val();
        self.data.payload.next = self.beat.val();
        self.stages.comes.next = self.moves.val() & self.is_staged.q.val() & !self.held.q.val().is_orphan;
        self.stages.beat.next = self.beat.val();
        self.stages.sends.next = self.sends.val();
        self.stages.frees.next = self.frees.val();
        self.stages.number.next = self.number.val();
        StreamSource::<Beat<D>>::link(&mut self.results, &mut self.stages.source);
        if self.moves.val() & self.beat.val().eop {
            self.is_copying.d.next = false;
        }
        self.tells_staged.next =
            self.moves.val() & self.beat.val().eop & self.is_staged.q.val() & !self.held.q.val().is_orphan;

        // Hear of its end.
        self.is_over.next = self.writing.source.valid.val()
            & (self.done.valid.val() | !self.writing.source.payload.val().is_awaited)
            & (self.told.level.val() < self.spare.val())
            & !self.tells_staged.val();
        self.writing.source.ready.next = self.is_over.val();
        self.done.ready.next = self.is_over.val() & self.writing.source.payload.val().is_awaited;
        self.is_bad.next = (self.lost.q.val() & self.writing.source.payload.val().from).any()
            | (self.writing.source.payload.val().is_awaited
                & (self.done.payload.val().err != self.good.val()));
        if self.is_over.val() {
            self.lost.d.next = self.lost.q.val() & !self.writing.source.payload.val().from;
            if self.is_bad.val() & !self.writing.source.payload.val().ends {
                self.lost.d.next = self.lost.q.val() | self.writing.source.payload.val().from;
            }
        }
        self.tells_kept.next = self.is_over.val() & self.writing.source.payload.val().ends;

        self.told.sink.valid.next = self.tells_staged.val() | self.tells_kept.val();
        self.told.sink.payload.next.qpn = self.writing.source.payload.val().qpn;
        self.told.sink.payload.next.place = self.writing.source.payload.val().place;
        self.told.sink.payload.next.status = self.writing.source.payload.val().status;
        self.told.sink.payload.next.length = self.writing.source.payload.val().length;
        self.told.sink.payload.next.is_kept = true;
        self.told.sink.payload.next.stage = 0.into();
        self.told.sink.payload.next.is_lost = self.is_bad.val();
        if self.tells_staged.val() {
            self.told.sink.payload.next.qpn = self.held.q.val().qpn;
            self.told.sink.payload.next.place = self.held.q.val().place;
            self.told.sink.payload.next.status = self.held.q.val().status;
            self.told.sink.payload.next.length = self.length.val();
            self.told.sink.payload.next.is_kept = false;
            self.told.sink.payload.next.stage = self.stages.stage.val();
            self.told.sink.payload.next.is_lost = false;
        }
        StreamSource::<Ended>::link(&mut self.ended, &mut self.told.source);

        self.busy.next = self.is_looking.q.val()
            | self.is_copying.q.val()
            | self.accesses.source.valid.val()
            | self.writing.source.valid.val()
            | self.told.source.valid.val()
            | self.stages.busy.val();
        if self.reset.val() {
            self.is_looking.d.next = false;
            self.is_copying.d.next = false;
            self.lost.d.next = 0.into();
        }
    }
}
