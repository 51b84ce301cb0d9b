//! Answer: what a kernel puts out becomes whole chunks of its caller's path MTU.

use rust_hdl::prelude::*;
use stroma_abi::wire::RpcStatus;

use super::records::{Caller, Output};
use crate::constant::number;
use crate::fabric::records::Chunk;
use crate::prim::fifo::Fifo;
use crate::prim::packet_fifo::PacketFifo;
use crate::prim::reg::Reg;
use crate::prim::skid::Skid;
use crate::slot::{SlotResponse, TICKET_BITS};
use crate::stream::{Beat, StreamSink, StreamSource};

block! {
    /// Cuts answers into chunks, and lets none go before it is whole and known to be the last or not.
    ///
    /// A beat is held until the next one of its answer, or the response, says whether the answer goes on; so is the chunk that it
    /// ends. What a kernel does wrong changes its own answer alone: bytes before a response are that response's, up to the first beat that is
    /// not full or ends a packet; a response that is not the oldest's, or has none, is thrown away with the bytes before it.
    ///
    /// - **Ports** `data_out`, `response`: of the kernel; `stops`: nothing is taken, and what was is forgotten. `oldest`, `caller`, `is_orphan`,
    ///   `is_commanded`: the invocation to be answered next; `is_quiet`: its reads and writes have come back; `is_whole`: the kernel has
    ///   its whole request. `closes`: it is answered. `ends`, `ends_status`, `ends_silently`: it is answered with that and no bytes, or not at all; `ended`: in this
    ///   cycle. `tells`: an answer of somebody else. `chunk`, `chunk_data`: the chunks, and a packet for each that has bytes. `answered_ok`,
    ///   `answered_failed`: a cycle high for each answer. `busy`: something is inside.
    /// - **Latency** 2 cycles from a response to its `chunk`, 4 to `chunk_data`. **Rate** 1 beat per cycle; 2 cycles more an answer.
    /// - **Backpressure** stalls `data_out` and `response` together, with a response that has to wait, 8 chunks, or `2^LOG` beats. No
    ///   combinational path from port to port but from `ends` to `ended`.
    /// - **Reset** forgets everything.
    /// - **Limits** a chunk has fewer than `2^LOG` beats.
    pub struct Answer<const D: usize, const LOG: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub data_out: StreamSink<Beat<D>>,
        pub response: StreamSink<SlotResponse>,
        pub stops: Signal<In, Bit>,
        pub oldest: Signal<In, Bits<TICKET_BITS>>,
        pub caller: Signal<In, Caller>,
        pub is_orphan: Signal<In, Bit>,
        pub is_commanded: Signal<In, Bit>,
        pub is_quiet: Signal<In, Bit>,
        pub is_whole: Signal<In, Bit>,
        pub closes: Signal<Out, Bit>,
        pub ends: Signal<In, Bit>,
        pub ends_status: Signal<In, Bits<32>>,
        pub ends_silently: Signal<In, Bit>,
        pub ended: Signal<Out, Bit>,
        pub tells: StreamSink<Chunk>,
        pub chunk: StreamSource<Chunk>,
        pub chunk_data: StreamSource<Beat<D>>,
        pub answered_ok: Signal<Out, Bit>,
        pub answered_failed: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        cut: Skid<Output<D>>,
        store: PacketFifo<D, LOG>,
        chunks: Fifo<Chunk, 3>,
        /// The response of the output on offer has been seen to, its beat not yet.
        is_replied: Reg<Bit>,
        /// The answer under way: bytes that it may still have, of its chunks before, of the one under way; whether no more may come, and some were too many.
        is_begun: Reg<Bit>,
        left: Reg<Bits<17>>,
        offset: Reg<Bits<17>>,
        length: Reg<Bits<13>>,
        mtu: Reg<Bits<13>>,
        is_over: Reg<Bit>,
        is_cut: Reg<Bit>,
        held: Reg<Bits<D>>,
        held_nbytes: Reg<Bits<7>>,
        held_sop: Reg<Bit>,
        held_valid: Reg<Bit>,
        was_ok: Reg<Bit>,
        was_failed: Reg<Bit>,
        now: Signal<Local, Output<D>>,
        is_open: Signal<Local, Bit>,
        has_response: Signal<Local, Bit>,
        has_beat: Signal<Local, Bit>,
        is_stray: Signal<Local, Bit>,
        concludes: Signal<Local, Bit>,
        throws: Signal<Local, Bit>,
        bytes: Signal<Local, Bits<7>>,
        fits: Signal<Local, Bit>,
        kept: Signal<Local, Bits<7>>,
        is_dropped: Signal<Local, Bit>,
        keeps: Signal<Local, Bit>,
        is_full: Signal<Local, Bit>,
        takes_beat: Signal<Local, Bit>,
        stores: Signal<Local, Bit>,
        gives: Signal<Local, Bit>,
        can: Signal<Local, Bit>,
        concluded: Signal<Local, Bit>,
        beaten: Signal<Local, Bit>,
        status: Signal<Local, Bits<32>>,
        absent: Signal<Local, Bits<7>>,
        whole: Constant<Bits<D>> = Constant::new(Bits::mask()),
        beat_len: Constant<Bits<7>> = number(D / 8),
        shortest: Constant<Bits<13>> = number(128),
        limit: Constant<Bits<32>> = number(RpcStatus::Limit as u32),
    }
}

impl<const D: usize, const LOG: usize> Logic for Answer<D, LOG> {
    #[expect(
        clippy::too_many_lines,
        reason = "a line for each field of a chunk, and for each register of the answer under way"
    )]
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, cut, store, chunks);
        dff_setup!(self, clock, is_replied, is_begun, left, offset, length, mtu, is_over, is_cut);
        dff_setup!(self, clock, held, held_nbytes, held_sop, held_valid, was_ok, was_failed);
        self.cut.reset.next = self.reset.val() | self.stops.val();
        self.store.reset.next = self.reset.val();
        self.chunks.reset.next = self.reset.val();
        self.answered_ok.next = self.was_ok.q.val();
        self.answered_failed.next = self.was_failed.q.val();

        // In.
        self.is_open.next = self.cut.sink.ready.val() & !self.stops.val();
        self.data_out.ready.next = self.is_open.val();
        self.response.ready.next = self.is_open.val();
        self.cut.sink.valid.next =
            (self.data_out.valid.val() | self.response.valid.val()) & !self.stops.val();
        self.cut.sink.payload.next.has_beat = self.data_out.valid.val();
        self.cut.sink.payload.next.data = self.data_out.payload.val().data;
        self.cut.sink.payload.next.nbytes = self.data_out.payload.val().nbytes;
        self.cut.sink.payload.next.eop = self.data_out.payload.val().eop;
        self.cut.sink.payload.next.has_response = self.response.valid.val();
        self.cut.sink.payload.next.ticket = self.response.payload.val().ticket;
        self.cut.sink.payload.next.status = self.response.payload.val().status;

        // What comes next: a response before the beat of its cycle.
        self.now.next = self.cut.source.payload.val();
        self.has_response.next = self.cut.source.valid.val()
            & !self.stops.val()
            & self.now.val().has_response
            & !self.is_replied.q.val();
        self.has_beat.next = self.cut.source.valid.val()
            & !self.stops.val()
            & self.now.val().has_beat
            & (!self.now.val().has_response | self.is_replied.q.val());
        self.is_stray.next = !self.is_commanded.val() | (self.now.val().ticket != self.oldest.val());
        self.concludes.next = self.ends.val()
            | (self.has_response.val()
                & (self.is_stray.val()
                    | (self.is_begun.q.val() & self.is_quiet.val() & self.is_whole.val())));
        self.throws.next = self.ends.val() | self.is_stray.val() | self.is_orphan.val();

        // Of a beat as many bytes as it may have.
        self.bytes.next = self.now.val().nbytes;
        if self.now.val().nbytes > self.beat_len.val() {
            self.bytes.next = self.beat_len.val();
        }
        self.fits.next = bit_cast::<17, 7>(self.bytes.val()) <= self.left.q.val();
        self.kept.next = self.bytes.val();
        if !self.fits.val() {
            self.kept.next = bit_cast::<7, 17>(self.left.q.val());
        }
        self.is_dropped.next = !self.is_commanded.val() | self.is_orphan.val() | self.is_over.q.val();
        self.keeps.next = !self.is_dropped.val() & self.kept.val().any();
        self.takes_beat.next = self.has_beat.val() & (self.is_begun.q.val() | !self.is_commanded.val());
        self.is_full.next = self.length.q.val() == self.mtu.q.val();

        self.stores.next =
            self.held_valid.q.val() & (self.concludes.val() | (self.takes_beat.val() & self.keeps.val()));
        self.gives.next = false;
        if self.concludes.val() {
            self.gives.next = !self.is_stray.val();
            if self.ends.val() {
                self.gives.next = !self.ends_silently.val();
            }
        } else if self.takes_beat.val() & self.keeps.val() {
            self.gives.next = self.held_valid.q.val() & self.is_full.val();
        }
        self.can.next = (!self.stores.val() | self.store.sink.ready.val())
            & (!self.gives.val() | self.chunks.sink.ready.val());
        self.concluded.next = self.concludes.val() & self.can.val();
        self.beaten.next = self.takes_beat.val() & !self.concludes.val() & self.can.val();
        self.ended.next = self.ends.val() & self.can.val();
        self.closes.next = self.concluded.val() & (self.ends.val() | !self.is_stray.val());
        self.cut.source.ready.next =
            self.beaten.val() | (self.concluded.val() & !self.ends.val() & !self.now.val().has_beat);

        // Out.
        self.absent.next = self.beat_len.val() - self.held_nbytes.q.val();
        self.store.sink.valid.next = self.stores.val() & (!self.gives.val() | self.chunks.sink.ready.val());
        self.store.sink.payload.next.data =
            self.held.q.val() & (self.whole.val() >> (bit_cast::<10, 7>(self.absent.val()) << 3));
        self.store.sink.payload.next.nbytes = self.held_nbytes.q.val();
        self.store.sink.payload.next.sop = self.held_sop.q.val();
        self.store.sink.payload.next.eop = self.concludes.val() | self.is_full.val();
        self.store.sink.payload.next.err = self.concludes.val() & self.throws.val();
        StreamSource::<Beat<D>>::link(&mut self.chunk_data, &mut self.store.source);

        self.status.next = self.now.val().status;
        if self.is_cut.q.val() & !self.now.val().status.any() {
            self.status.next = self.limit.val();
        }
        if self.ends.val() {
            self.status.next = self.ends_status.val();
        }
        self.tells.ready.next = self.chunks.sink.ready.val() & !self.gives.val();
        self.chunks.sink.valid.next = self.tells.valid.val();
        self.chunks.sink.payload.next = self.tells.payload.val();
        self.was_ok.d.next = false;
        self.was_failed.d.next = self.tells.valid.val() & self.chunks.sink.ready.val();
        if self.gives.val() {
            self.chunks.sink.valid.next = !self.stores.val() | self.store.sink.ready.val();
            self.chunks.sink.payload.next.qpn = self.caller.val().qpn;
            self.chunks.sink.payload.next.pd = self.caller.val().pd;
            self.chunks.sink.payload.next.path_mtu = self.caller.val().path_mtu;
            self.chunks.sink.payload.next.place = self.caller.val().place;
            self.chunks.sink.payload.next.offset = self.offset.q.val();
            self.chunks.sink.payload.next.len = self.length.q.val();
            self.chunks.sink.payload.next.ends = self.concludes.val();
            self.chunks.sink.payload.next.status = 0.into();
            self.chunks.sink.payload.next.is_orphan = false;
            self.was_failed.d.next = false;
            if self.concludes.val() {
                self.chunks.sink.payload.next.status = self.status.val();
                self.chunks.sink.payload.next.is_orphan = self.is_orphan.val();
                if self.throws.val() {
                    self.chunks.sink.payload.next.offset = 0.into();
                    self.chunks.sink.payload.next.len = 0.into();
                }
                self.was_ok.d.next = self.can.val() & !self.status.val().any();
                self.was_failed.d.next = self.can.val() & self.status.val().any();
            }
        }
        StreamSource::<Chunk>::link(&mut self.chunk, &mut self.chunks.source);

        // The answer under way.
        if self.is_commanded.val() & !self.is_begun.q.val() {
            self.is_begun.d.next = true;
            self.left.d.next = self.caller.val().response_max;
            self.mtu.d.next = self.shortest.val() << self.caller.val().path_mtu;
            self.offset.d.next = 0.into();
            self.length.d.next = 0.into();
            self.is_over.d.next = false;
            self.is_cut.d.next = false;
        }
        if self.beaten.val() & !self.is_dropped.val() {
            self.is_over.d.next = self.now.val().eop | (self.bytes.val() != self.beat_len.val());
            if !self.fits.val() {
                self.is_cut.d.next = true;
            }
            if self.keeps.val() {
                self.left.d.next = self.left.q.val() - bit_cast::<17, 7>(self.kept.val());
                self.held.d.next = self.now.val().data;
                self.held_nbytes.d.next = self.kept.val();
                self.held_valid.d.next = true;
                self.held_sop.d.next = !self.length.q.val().any() | self.is_full.val();
                self.length.d.next = self.length.q.val() + bit_cast::<13, 7>(self.kept.val());
                if self.is_full.val() {
                    self.length.d.next = bit_cast::<13, 7>(self.kept.val());
                    self.offset.d.next = self.offset.q.val() + bit_cast::<17, 13>(self.mtu.q.val());
                }
            }
        }
        if self.beaten.val() {
            self.is_replied.d.next = false;
        }
        if self.concluded.val() {
            self.is_begun.d.next = false;
            self.held_valid.d.next = false;
            self.is_replied.d.next = self.now.val().has_beat;
        }
        self.busy.next = self.cut.source.valid.val()
            | self.chunks.source.valid.val()
            | self.store.source.valid.val()
            | self.held_valid.q.val();
        if self.reset.val() | self.stops.val() {
            self.is_replied.d.next = false;
        }
        if self.reset.val() {
            self.is_begun.d.next = false;
            self.held_valid.d.next = false;
            self.was_ok.d.next = false;
            self.was_failed.d.next = false;
        }
    }
}
