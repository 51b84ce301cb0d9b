//! Gather: beats of a read become units of 64 bytes.

use rust_hdl::prelude::*;

use crate::constant::number;
use crate::host::dma_read::ReadData;
use crate::prim::reg::Reg;
use crate::record;
use crate::stream::{StreamSink, StreamSource};

record! {
    /// 64 bytes of a read.
    pub struct Gathered {
        /// The bytes, first byte lowest.
        pub data: Bits<512>,
        /// Last of its command.
        pub last: Bit,
        /// Some of the command's bytes could not be read; meaningful with `last`.
        pub err: Bit,
        /// The command's.
        pub tag: Bits<6>,
    }
}

block! {
    /// Puts `512 / D` beats together.
    ///
    /// - **Ports** `sink`: reads of a multiple of 64 bytes; `source`: their units.
    /// - **Latency** 1 cycle from the last beat of a unit. **Rate** 1 beat per cycle, so a unit every `512 / D` cycles.
    /// - **Backpressure** stalls `sink` while a unit is on offer; `sink.ready` follows `source.ready` combinationally.
    /// - **Reset** forgets the unit under way; the next beat begins one.
    /// - **Limits** `D` is 64 or 512. A read that ends within a unit ends the unit, with its bytes in the wrong place.
    pub struct Gather<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub sink: StreamSink<ReadData<D>>,
        pub source: StreamSource<Gathered>,
        bytes: Reg<Bits<512>>,
        /// Beats of the unit that are there.
        have: Reg<Bits<3>>,
        full: Reg<Bit>,
        last: Reg<Bit>,
        err: Reg<Bit>,
        tag: Reg<Bits<6>>,
        has_room: Signal<Local, Bit>,
        last_beat: Constant<Bits<3>> = number(512 / D - 1),
        beat_bits: Constant<Bits<10>> = number(D),
        top_at: Constant<Bits<10>> = number(512 - D),
    }
}

impl<const D: usize> Logic for Gather<D> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, bytes, have, full, last, err, tag);
        self.source.valid.next = self.full.q.val();
        self.source.payload.next.data = self.bytes.q.val();
        self.source.payload.next.last = self.last.q.val();
        self.source.payload.next.err = self.err.q.val();
        self.source.payload.next.tag = self.tag.q.val();
        self.has_room.next = self.source.ready.val() | !self.full.q.val();
        self.sink.ready.next = self.has_room.val();

        if self.source.ready.val() {
            self.full.d.next = false;
        }
        if self.sink.valid.val() & self.has_room.val() {
            // Each beat comes in on top and moves those before it down: no place has to be chosen.
            self.bytes.d.next = (self.bytes.q.val() >> self.beat_bits.val())
                | (bit_cast::<512, D>(self.sink.payload.val().data) << self.top_at.val());
            self.last.d.next = self.sink.payload.val().eop;
            self.err.d.next = self.sink.payload.val().eop & self.sink.payload.val().err;
            self.tag.d.next = self.sink.payload.val().tag;
            self.have.d.next = self.have.q.val() + 1;
            if self.sink.payload.val().eop | (self.have.q.val() == self.last_beat.val()) {
                self.have.d.next = 0.into();
                self.full.d.next = true;
            }
        }
        if self.reset.val() {
            self.have.d.next = 0.into();
            self.full.d.next = false;
        }
    }
}
