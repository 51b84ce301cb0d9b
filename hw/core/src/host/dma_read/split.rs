//! Split: one command becomes the bursts AXI allows.

use rust_hdl::prelude::*;

use super::ReadCommand;
use crate::constant::number;
use crate::host::axi::burst_bytes;
use crate::prim::reg::Reg;
use crate::record;
use crate::stream::{StreamSink, StreamSource};

record! {
    /// One burst of a command.
    pub struct Burst {
        /// Of its first beat, whole beats.
        pub addr: Bits<64>,
        /// Beats, at least 1.
        pub beats: Bits<14>,
        /// Last burst of its command.
        pub last: Bit,
    }
}

/// Beats that no burst crosses a multiple of.
#[must_use]
pub const fn chunk_beats(width: usize) -> usize {
    burst_bytes(width / 8) / (width / 8)
}

block! {
    /// Cuts commands where 4 KiB end, or the longest burst if beats are narrow.
    ///
    /// - **Ports** `sink`: commands with `len > 0`; `source`: the bursts that hold their bytes, in order.
    /// - **Latency** 1 cycle. **Rate** 1 burst per cycle, and a cycle between commands.
    /// - **Backpressure** stalls `sink`; no combinational path from port to port.
    /// - **Reset** forgets the command under way.
    /// - **Limits** a command with `len = 0` gives no burst if it begins a beat, else one.
    pub struct Split<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub sink: StreamSink<ReadCommand>,
        pub source: StreamSource<Burst>,
        /// Of the next burst.
        addr: Reg<Bits<64>>,
        /// Beats still to be asked for.
        left: Reg<Bits<14>>,
        room: Signal<Local, Bits<14>>,
        beats: Signal<Local, Bits<14>>,
        is_last: Signal<Local, Bit>,
        some: Signal<Local, Bit>,
        offset: Signal<Local, Bits<14>>,
        log: Constant<Bits<4>> = number((D / 8).ilog2()),
        within_beat: Constant<Bits<14>> = number(D / 8 - 1),
        whole_beats: Constant<Bits<64>> = number(!(D as u64 / 8 - 1)),
        chunk: Constant<Bits<14>> = number(chunk_beats(D)),
        within_chunk: Constant<Bits<14>> = number(chunk_beats(D) - 1),
    }
}

impl<const D: usize> Logic for Split<D> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, addr, left);
        self.some.next = self.left.q.val().any();
        self.room.next = self.chunk.val()
            - (bit_cast::<14, 64>(self.addr.q.val() >> self.log.val()) & self.within_chunk.val());
        self.is_last.next = self.left.q.val() <= self.room.val();
        self.beats.next = self.room.val();
        if self.is_last.val() {
            self.beats.next = self.left.q.val();
        }
        self.source.valid.next = self.some.val();
        self.source.payload.next.addr = self.addr.q.val();
        self.source.payload.next.beats = self.beats.val();
        self.source.payload.next.last = self.is_last.val();
        if self.some.val() & self.source.ready.val() {
            self.addr.d.next = self.addr.q.val() + (bit_cast::<64, 14>(self.beats.val()) << self.log.val());
            self.left.d.next = self.left.q.val() - self.beats.val();
        }

        self.sink.ready.next = !self.some.val();
        self.offset.next = bit_cast::<14, 64>(self.sink.payload.val().iova) & self.within_beat.val();
        if self.sink.valid.val() & !self.some.val() {
            self.addr.d.next = self.sink.payload.val().iova & self.whole_beats.val();
            self.left.d.next = (self.offset.val()
                + bit_cast::<14, 13>(self.sink.payload.val().len)
                + self.within_beat.val())
                >> self.log.val();
        }
        if self.reset.val() {
            self.left.d.next = 0.into();
        }
    }
}
