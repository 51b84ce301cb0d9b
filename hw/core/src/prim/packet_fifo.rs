//! A FIFO that shows whole packets only: what fails its check, or does not fit, never existed for the reader.

pub mod model;
#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;

use super::reg::Reg;
use super::ring::capacity;
use super::stream_ram::StreamRam;
use crate::stream::{Beat, StreamSink, StreamSource};

block! {
    /// Stores packets of up to `2^LOG` beats and releases each once its last beat has arrived in good order.
    ///
    /// - **Ports** `sink`: packets in; `source`: committed packets, in order, `err` low at every `eop`; `dropped`: packets whose
    ///   `eop` carried `err`; `overflowed`: packets that did not fit.
    /// - **Latency** 3 cycles from a packet's `eop` to its `sop`. **Rate** 1 beat per cycle, in and out at once.
    /// - **Backpressure** stalls `sink` while the RAM is full and a committed packet has yet to leave it. A RAM full of the
    ///   packet under way would wait for ever: that packet is too long, is swallowed to its `eop` and counted in
    ///   `overflowed`. Built with `drop_when_full`, for a MAC that knows no `ready`, `sink.ready` is always high and a packet
    ///   that meets a full RAM is swallowed and counted in the same way.
    /// - **Reset** empties it and clears both counters; the next beat begins a packet. Counters wrap.
    /// - **Limits** `LOG` from 1 to 15; anything else panics when the block is built.
    pub struct PacketFifo<const D: usize, const LOG: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub sink: StreamSink<Beat<D>>,
        pub source: StreamSource<Beat<D>>,
        pub dropped: Signal<Out, Bits<32>>,
        pub overflowed: Signal<Out, Bits<32>>,
        memory: StreamRam<Beat<D>, LOG>,
        write_at: Reg<Bits<LOG>>,
        commit_at: Reg<Bits<LOG>>,
        read_at: Reg<Bits<LOG>>,
        held: Reg<Bits<16>>,
        committed: Reg<Bits<16>>,
        swallowing: Reg<Bit>,
        dropped_count: Reg<Bits<32>>,
        overflowed_count: Reg<Bits<32>>,
        held_left: Signal<Local, Bits<16>>,
        committed_left: Signal<Local, Bits<16>>,
        write_next: Signal<Local, Bits<LOG>>,
        full: Signal<Local, Bit>,
        lost: Signal<Local, Bit>,
        accept: Signal<Local, Bit>,
        eop: Signal<Local, Bit>,
        bad_end: Signal<Local, Bit>,
        capacity: Constant<Bits<16>> = Constant::new(capacity(LOG)),
        drop_when_full: Constant<Bit> = Constant::new(false),
    }
}

impl<const D: usize, const LOG: usize> PacketFifo<D, LOG> {
    /// A packet FIFO that stalls `sink`, as `default()` does, or with `drop_when_full` never does.
    #[must_use]
    pub fn new(drop_when_full: bool) -> Self {
        Self { drop_when_full: Constant::new(drop_when_full), ..Self::default() }
    }
}

impl<const D: usize, const LOG: usize> Logic for PacketFifo<D, LOG> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, memory);
        dff_setup!(self, clock, write_at, commit_at, read_at, held, committed);
        dff_setup!(self, clock, swallowing, dropped_count, overflowed_count);
        self.dropped.next = self.dropped_count.q.val();
        self.overflowed.next = self.overflowed_count.q.val();

        self.full.next = self.held.q.val() == self.capacity.val();
        self.lost.next = self.full.val() | self.swallowing.q.val();
        self.sink.ready.next = self.drop_when_full.val()
            | !self.full.val()
            | self.swallowing.q.val()
            | !self.committed.q.val().any();
        self.accept.next = self.sink.valid.val() & self.sink.ready.val();
        self.eop.next = self.sink.payload.val().eop;
        self.bad_end.next = self.sink.payload.val().eop & self.sink.payload.val().err;

        self.memory.reset.next = self.reset.val();
        self.memory.write_enable.next = self.accept.val() & !self.lost.val() & !self.bad_end.val();
        self.memory.write_at.next = self.write_at.q.val();
        self.memory.write_data.next = self.sink.payload.val();
        self.memory.some.next = self.committed.q.val().any();
        self.memory.read_at.next = self.read_at.q.val();
        StreamSource::<Beat<D>>::link(&mut self.source, &mut self.memory.source);

        self.held_left.next = self.held.q.val();
        self.committed_left.next = self.committed.q.val();
        if self.memory.taken.val() {
            self.held_left.next = self.held.q.val() - 1;
            self.committed_left.next = self.committed.q.val() - 1;
            self.read_at.d.next = self.read_at.q.val() + 1;
        }
        self.held.d.next = self.held_left.val();
        self.committed.d.next = self.committed_left.val();
        self.write_next.next = self.write_at.q.val() + 1;
        if self.accept.val() {
            self.swallowing.d.next = self.lost.val() & !self.eop.val();
            if self.lost.val() | self.bad_end.val() {
                self.write_at.d.next = self.commit_at.q.val();
                self.held.d.next = self.committed_left.val();
            } else {
                self.write_at.d.next = self.write_next.val();
                self.held.d.next = self.held_left.val() + 1;
                if self.eop.val() {
                    self.commit_at.d.next = self.write_next.val();
                    self.committed.d.next = self.held_left.val() + 1;
                }
            }
            if self.lost.val() & self.eop.val() {
                self.overflowed_count.d.next = self.overflowed_count.q.val() + 1;
            } else if self.bad_end.val() {
                self.dropped_count.d.next = self.dropped_count.q.val() + 1;
            }
        }
        if self.reset.val() {
            self.write_at.d.next = 0.into();
            self.commit_at.d.next = 0.into();
            self.read_at.d.next = 0.into();
            self.held.d.next = 0.into();
            self.committed.d.next = 0.into();
            self.swallowing.d.next = false;
            self.dropped_count.d.next = 0.into();
            self.overflowed_count.d.next = 0.into();
        }
    }
}
