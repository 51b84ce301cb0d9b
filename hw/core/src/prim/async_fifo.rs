//! The crossing between two clocks: the core's and the MAC's.
//!
//! Pointers cross as Gray codes, of which one bit changes at a time, so a value caught in mid change is the old or the
//! new one. A stale pointer is safe: it makes the FIFO look fuller to the writer and emptier to the reader than it is.

#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;

use super::ram::LutRam;
use super::reg::Reg;
use super::sync2::Sync2;
use crate::stream::{StreamSink, StreamSource};

/// Carries beats from `sink_clock` to `source_clock`.
///
/// - **Ports** `sink` on `sink_clock`; `source` on `source_clock`: the same beats, in the same order.
/// - **Latency** 1 cycle of `sink_clock` plus 3 to 4 of `source_clock`. **Rate** 1 beat per cycle of the slower clock, for
///   `LOG` of 4 and more; smaller ones wait for pointers to come round.
/// - **Backpressure** holds `2^LOG - 1` beats and one in the output register, then stalls `sink`. `source` comes from
///   registers.
/// - **Reset** `sink_reset` and `source_reset`, each synchronous to its clock, overlap for at least four cycles of the
///   slower clock; one without the other loses or invents beats.
/// - **Limits** `LOG` of 1 leaves one place and works; the RAM is LUT RAM, so keep `LOG` at 6 or below.
#[derive(LogicBlock, Default)]
pub struct AsyncFifo<T: Synth, const LOG: usize> {
    pub sink_clock: Signal<In, Clock>,
    pub sink_reset: Signal<In, Bit>,
    pub sink: StreamSink<T>,
    pub source_clock: Signal<In, Clock>,
    pub source_reset: Signal<In, Bit>,
    pub source: StreamSource<T>,
    memory: LutRam<T, LOG>,
    write_at: Reg<Bits<LOG>>,
    write_gray: Reg<Bits<LOG>>,
    write_seen: Sync2<Bits<LOG>>,
    write_next: Signal<Local, Bits<LOG>>,
    write_next_gray: Signal<Local, Bits<LOG>>,
    push: Signal<Local, Bit>,
    read_at: Reg<Bits<LOG>>,
    read_gray: Reg<Bits<LOG>>,
    read_seen: Sync2<Bits<LOG>>,
    read_next: Signal<Local, Bits<LOG>>,
    advance: Signal<Local, Bit>,
    some: Signal<Local, Bit>,
    head: Reg<T>,
    head_valid: Reg<Bit>,
}

impl<T: Synth, const LOG: usize> Logic for AsyncFifo<T, LOG> {
    #[hdl_gen]
    fn update(&mut self) {
        // The writer, on sink_clock: full when its next place is the reader's.
        dff_setup!(self, sink_clock, write_at, write_gray);
        self.read_seen.clock.next = self.sink_clock.val();
        self.read_seen.d.next = self.read_gray.q.val();
        self.write_next.next = self.write_at.q.val() + 1;
        self.write_next_gray.next = self.write_next.val() ^ (self.write_next.val() >> 1);
        self.sink.ready.next = self.write_next_gray.val() != self.read_seen.q.val();
        self.push.next = self.sink.valid.val() & self.sink.ready.val();
        if self.push.val() {
            self.write_at.d.next = self.write_next.val();
            self.write_gray.d.next = self.write_next_gray.val();
        }
        if self.sink_reset.val() {
            self.write_at.d.next = 0.into();
            self.write_gray.d.next = 0.into();
        }
        self.memory.clock.next = self.sink_clock.val();
        self.memory.write_enable.next = self.push.val();
        self.memory.write_address.next = self.write_at.q.val();
        self.memory.write_data.next = self.sink.payload.val();

        // The reader, on source_clock: the place it reads was written at least two of its cycles ago.
        dff_setup!(self, source_clock, read_at, read_gray, head, head_valid);
        self.write_seen.clock.next = self.source_clock.val();
        self.write_seen.d.next = self.write_gray.q.val();
        self.memory.read_address.next = self.read_at.q.val();
        self.read_next.next = self.read_at.q.val() + 1;
        self.some.next = self.read_gray.q.val() != self.write_seen.q.val();
        self.advance.next = self.source.ready.val() | !self.head_valid.q.val();
        if self.advance.val() {
            self.head.d.next = self.memory.read_data.val();
            self.head_valid.d.next = self.some.val();
            if self.some.val() {
                self.read_at.d.next = self.read_next.val();
                self.read_gray.d.next = self.read_next.val() ^ (self.read_next.val() >> 1);
            }
        }
        self.source.valid.next = self.head_valid.q.val();
        self.source.payload.next = self.head.q.val();
        if self.source_reset.val() {
            self.read_at.d.next = 0.into();
            self.read_gray.d.next = 0.into();
            self.head_valid.d.next = false;
        }
    }
}
