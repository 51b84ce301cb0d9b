//! The way out of the inserter: payload meets header in one beat.

use rust_hdl::prelude::*;

use super::rotate::Rotate;
use crate::mask::Kind;
use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::record;
use crate::stream::{Beat, StreamSource};

record! {
    /// A beat of a frame under way, and what its frame is.
    pub struct Share<const D: usize> {
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
        /// Its frame is IPv6, else IPv4.
        pub v6: Bit,
        /// Its frame has an 802.1Q tag.
        pub tagged: Bit,
        /// The next beat ends the frame, with fewer than four bytes.
        pub splits: Bit,
    }
}

block! {
    /// Moves each payload up by `shift` bytes and puts the header into what becomes free.
    ///
    /// ```text
    ///   share ─ Rotate ─▮─┬─ carry ─▮─┐
    ///                     └───────── join ─ FIFO ─ source
    ///                      header ────┘
    /// ```
    ///
    /// - **Ports** `some`, `share`, `passes`, `shift`: a beat with its payload, whether that counts, and by how many bytes all of
    ///   this frame's moves; `header`: the header's part of the beat that came the cycle before; `room`: a beat may come in
    ///   this cycle; `source`: the beats; `kind`, `splits`: what else the share said of the beat on offer.
    /// - **Latency** 2 cycles. **Rate** 1 beat per cycle.
    /// - **Backpressure** `room` falls, a register: what has come moves on whatever happens, so that no stage has to be told to
    ///   wait, and eight places hold all of it. What has no room in a beat waits for the next of its frame.
    /// - **Reset** empties it.
    /// - **Limits** `D` from 8 to 512, a power of two. A beat without `room` may be lost.
    pub struct Merge<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub some: Signal<In, Bit>,
        pub share: Signal<In, Share<D>>,
        pub passes: Signal<In, Bit>,
        pub shift: Signal<In, Bits<6>>,
        pub header: Signal<In, Bits<D>>,
        pub room: Signal<Out, Bit>,
        pub source: StreamSource<Beat<D>>,
        pub kind: Signal<Out, Kind>,
        pub splits: Signal<Out, Bit>,
        turned: Reg<Bit>,
        turned_share: Reg<Share<D>>,
        turned_passes: Reg<Bit>,
        turned_shift: Reg<Bits<6>>,
        carry: Reg<Bits<D>>,
        rotate: Rotate<D>,
        beats: Fifo<Share<D>, 3>,
        has_room: Reg<Bit>,
        every: Signal<Local, Bits<D>>,
        upper: Signal<Local, Bits<D>>,
        rest: Signal<Local, Bits<D>>,
        carried: Signal<Local, Bits<D>>,
        ones: Constant<Bits<D>> = Constant::new(Bits::mask()),
    }
}

impl<const D: usize> Logic for Merge<D> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, beats);
        dff_setup!(self, clock, turned, turned_share, turned_passes, turned_shift, carry, has_room);
        self.beats.reset.next = self.reset.val();
        // Three beats are on their way that the level does not show yet.
        self.has_room.d.next = self.beats.level.val() < 6;
        self.room.next = self.has_room.q.val();
        self.rotate.data.next = self.share.val().data;
        self.rotate.shift.next = self.shift.val();

        self.every.next = 0.into();
        if self.turned_passes.q.val() {
            self.every.next = self.ones.val();
        }
        self.upper.next = self.every.val() << (bit_cast::<10, 6>(self.turned_shift.q.val()) << 3);
        self.rest.next = self.every.val() & !self.upper.val();
        self.carried.next = self.carry.q.val();
        if self.turned_share.q.val().sop {
            self.carried.next = 0.into();
        }
        self.beats.sink.valid.next = self.turned.q.val();
        self.beats.sink.payload.next = self.turned_share.q.val();
        self.beats.sink.payload.next.data =
            self.header.val() | self.carried.val() | (self.turned_share.q.val().data & self.upper.val());
        self.source.valid.next = self.beats.source.valid.val();
        self.source.payload.next.data = self.beats.source.payload.val().data;
        self.source.payload.next.nbytes = self.beats.source.payload.val().nbytes;
        self.source.payload.next.sop = self.beats.source.payload.val().sop;
        self.source.payload.next.eop = self.beats.source.payload.val().eop;
        self.source.payload.next.err = self.beats.source.payload.val().err;
        self.kind.next.v6 = self.beats.source.payload.val().v6;
        self.kind.next.tagged = self.beats.source.payload.val().tagged;
        self.splits.next = self.beats.source.payload.val().splits;
        self.beats.source.ready.next = self.source.ready.val();

        self.turned.d.next = self.some.val();
        self.turned_share.d.next = self.share.val();
        self.turned_share.d.next.data = self.rotate.rotated.val();
        self.turned_passes.d.next = self.passes.val();
        self.turned_shift.d.next = self.shift.val();
        if self.turned.q.val() {
            self.carry.d.next = self.turned_share.q.val().data & self.rest.val();
        }
        if self.reset.val() {
            self.turned.d.next = false;
            self.has_room.d.next = true;
        }
    }
}
