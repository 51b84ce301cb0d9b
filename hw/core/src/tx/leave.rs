//! The way out of the ICRC: beats wait, and one that ends with half of it gets that half.

use rust_hdl::prelude::*;

use crate::constant::number;
use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::record;
use crate::stream::{Beat, StreamSource};

record! {
    /// A beat on its way out.
    pub struct Held<const D: usize> {
        /// As in [`Beat`].
        pub data: Bits<D>,
        /// As there.
        pub nbytes: Bits<7>,
        /// As there.
        pub sop: Bit,
        /// As there.
        pub eop: Bit,
        /// As there.
        pub err: Bit,
        /// Half of the ICRC is still to come into its last two bytes.
        pub splits: Bit,
    }
}

block! {
    /// Queues beats, and puts the first half of the ICRC into those that end with it.
    ///
    /// ```text
    ///   beat ─ FIFO ─┬─ source
    ///   half ─ FIFO ─┘
    /// ```
    ///
    /// - **Ports** `some`, `beat`, `splits`: a beat, and whether its last two bytes, zero, are the ICRC's first half; `straddles`,
    ///   `half`: the beat begins with the other half, and this is the first one; `room`: a beat may be begun, which comes here two
    ///   cycles later; `source`: the beats.
    /// - **Latency** 1 cycle; a beat that `splits` leaves when its successor comes, in the same cycle. **Rate** 1 beat per cycle.
    /// - **Backpressure** `room` falls, a register: eight places hold what is on its way. `source` follows `half` combinationally.
    /// - **Reset** empties it.
    /// - **Limits** a beat that was begun without `room` may be lost.
    pub struct Leave<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub some: Signal<In, Bit>,
        pub beat: Signal<In, Beat<D>>,
        pub splits: Signal<In, Bit>,
        pub straddles: Signal<In, Bit>,
        pub half: Signal<In, Bits<16>>,
        pub room: Signal<Out, Bit>,
        pub source: StreamSource<Beat<D>>,
        beats: Fifo<Held<D>, 3>,
        halves: Fifo<Bits<16>, 3>,
        has_room: Reg<Bit>,
        this_half: Signal<Local, Bits<16>>,
        has_half: Signal<Local, Bit>,
        is_whole: Signal<Local, Bit>,
        leaves: Signal<Local, Bit>,
        top_half: Constant<Bits<10>> = number(D - 16),
    }
}

impl<const D: usize> Logic for Leave<D> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, beats, halves);
        dff_setup!(self, clock, has_room);
        self.beats.reset.next = self.reset.val();
        self.halves.reset.next = self.reset.val();
        // Four beats are on their way that the level does not show yet.
        self.has_room.d.next = self.beats.level.val() < 5;
        self.room.next = self.has_room.q.val();
        self.beats.sink.valid.next = self.some.val();
        self.beats.sink.payload.next.data = self.beat.val().data;
        self.beats.sink.payload.next.nbytes = self.beat.val().nbytes;
        self.beats.sink.payload.next.sop = self.beat.val().sop;
        self.beats.sink.payload.next.eop = self.beat.val().eop;
        self.beats.sink.payload.next.err = self.beat.val().err;
        self.beats.sink.payload.next.splits = self.splits.val();

        self.this_half.next = self.half.val();
        if self.halves.source.valid.val() {
            self.this_half.next = self.halves.source.payload.val();
        }
        self.has_half.next = self.halves.source.valid.val() | (self.some.val() & self.straddles.val());
        self.is_whole.next = !self.beats.source.payload.val().splits | self.has_half.val();
        self.source.valid.next = self.beats.source.valid.val() & self.is_whole.val();
        self.beats.source.ready.next = self.source.ready.val() & self.is_whole.val();
        self.source.payload.next.data = self.beats.source.payload.val().data;
        if self.beats.source.payload.val().splits {
            self.source.payload.next.data = self.beats.source.payload.val().data
                | (bit_cast::<D, 16>(self.this_half.val()) << self.top_half.val());
        }
        self.source.payload.next.nbytes = self.beats.source.payload.val().nbytes;
        self.source.payload.next.sop = self.beats.source.payload.val().sop;
        self.source.payload.next.eop = self.beats.source.payload.val().eop;
        self.source.payload.next.err = self.beats.source.payload.val().err;

        self.leaves.next = self.source.ready.val()
            & self.beats.source.valid.val()
            & self.beats.source.payload.val().splits
            & self.has_half.val();
        self.halves.source.ready.next = self.leaves.val();
        // A half that goes straight out is not kept.
        self.halves.sink.valid.next =
            self.some.val() & self.straddles.val() & (self.halves.source.valid.val() | !self.leaves.val());
        self.halves.sink.payload.next = self.half.val();
        if self.reset.val() {
            self.has_room.d.next = true;
        }
    }
}
