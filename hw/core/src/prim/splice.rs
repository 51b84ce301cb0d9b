//! Splice: pieces that each begin at byte 0 become one packet without a seam.

#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;

use super::reg::Reg;
use crate::constant::{constants, number};
use crate::record;
use crate::stream::{Beat, StreamSink, StreamSource};

/// Rotation stages: one for each bit of a place in the widest beat.
const STAGES: usize = 6;

record! {
    /// One cycle's worth of a piece. Byte 0 of the piece is the lowest of its first beat; bytes past `nbytes` are zero.
    pub struct PieceBeat<const D: usize> {
        /// The bytes, first byte lowest.
        pub data: Bits<D>,
        /// How many of them count: `D / 8`, or fewer with `eop`; none are welcome there, too.
        pub nbytes: Bits<7>,
        /// Last beat of its piece.
        pub eop: Bit,
        /// The piece is the last of its packet; meaningful with `eop`.
        pub last: Bit,
        /// The packet is to be thrown away; meaningful with `eop`.
        pub err: Bit,
    }
}

block! {
    /// Joins pieces to packets.
    ///
    /// Where a beat goes depends only on how many bytes went before it, so it is rotated as it enters. Then its bytes fill up the
    /// beat that is held, and what has no room there is held next. A held beat leaves when more bytes come, or when its
    /// packet ends: so a piece without bytes can end a packet, or spoil it.
    ///
    /// - **Ports** `sink`: pieces in, one packet after the other; `source`: the packets, full beats but the last; `err` of
    ///   any piece is `err` of the packet. `busy`: a beat is inside.
    /// - **Latency** 3 cycles from the last beat of a packet; any other beat leaves 2 cycles after the one that does
    ///   not fit it any more. **Rate** 1 beat per cycle, in and out, without a gap between pieces or packets.
    /// - **Backpressure** stalls `sink`; `sink.ready` follows `source.ready` combinationally.
    /// - **Reset** forgets the packet under way; the next beat begins one.
    /// - **Limits** `D` is 8 times a power of two, at most 512. Packets may be of any length; one without any byte is
    ///   a beat with `nbytes` zero.
    pub struct Splice<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub sink: StreamSink<PieceBeat<D>>,
        pub source: StreamSource<Beat<D>>,
        pub busy: Signal<Out, Bit>,
        /// Where in a beat the next byte goes; and whether a piece of the packet was bad.
        place: Reg<Bits<7>>,
        is_spoilt: Reg<Bit>,
        /// The beat taken last, rotated.
        turned: Reg<Bits<D>>,
        turned_valid: Reg<Bit>,
        turned_place: Reg<Bits<7>>,
        turned_nbytes: Reg<Bits<7>>,
        turned_ends: Reg<Bit>,
        turned_err: Reg<Bit>,
        /// Bytes that wait for more; the packet ends with them.
        held: Reg<Bits<D>>,
        held_nbytes: Reg<Bits<7>>,
        held_ends: Reg<Bit>,
        held_err: Reg<Bit>,
        /// The next beat out begins a packet.
        begins: Reg<Bit>,
        given: Reg<Beat<D>>,
        given_valid: Reg<Bit>,
        advance: Signal<Local, Bit>,
        accept: Signal<Local, Bit>,
        ends: Signal<Local, Bit>,
        spoils: Signal<Local, Bit>,
        rotated: [Signal<Local, Bits<D>>; STAGES + 1],
        base: Signal<Local, Bits<D>>,
        base_nbytes: Signal<Local, Bits<8>>,
        room: Signal<Local, Bits<D>>,
        total: Signal<Local, Bits<8>>,
        overflows: Signal<Local, Bit>,
        filled: Signal<Local, Bits<D>>,
        whole: Constant<Bits<D>> = Constant::new(Bits::mask()),
        beat_bytes: Constant<Bits<8>> = number(D / 8),
        within_beat: Constant<Bits<7>> = number(D / 8 - 1),
        is_used: [Constant<Bit>; STAGES] = constants(|stage| 8 << stage < D),
        up: [Constant<Bits<10>>; STAGES] = std::array::from_fn(|stage| number(8 << stage)),
        down: [Constant<Bits<10>>; STAGES] = std::array::from_fn(|stage| number(D.saturating_sub(8 << stage))),
    }
}

#[expect(clippy::collapsible_if, reason = "the emitter folds an `if` on a constant alone")]
impl<const D: usize> Logic for Splice<D> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, place, is_spoilt, turned, turned_valid, turned_place, turned_nbytes);
        dff_setup!(self, clock, turned_ends, turned_err, held, held_nbytes, held_ends, held_err);
        dff_setup!(self, clock, begins, given, given_valid);
        self.source.payload.next = self.given.q.val();
        self.source.valid.next = self.given_valid.q.val();
        self.advance.next = self.source.ready.val() | !self.given_valid.q.val();
        self.sink.ready.next = self.advance.val();
        self.accept.next = self.sink.valid.val() & self.advance.val();
        self.busy.next = self.turned_valid.q.val()
            | self.held_ends.q.val()
            | !self.begins.q.val()
            | self.held_nbytes.q.val().any()
            | self.given_valid.q.val();

        self.ends.next = self.sink.payload.val().eop & self.sink.payload.val().last;
        self.spoils.next =
            self.is_spoilt.q.val() | (self.sink.payload.val().eop & self.sink.payload.val().err);
        self.rotated[0].next = self.sink.payload.val().data;
        for i in 0..STAGES {
            self.rotated[i + 1].next = self.rotated[i].val();
            if self.is_used[i].val() {
                if self.place.q.val().get_bit(i) {
                    self.rotated[i + 1].next = (self.rotated[i].val() << self.up[i].val())
                        | (self.rotated[i].val() >> self.down[i].val());
                }
            }
        }
        if self.accept.val() {
            self.place.d.next =
                (self.place.q.val() + self.sink.payload.val().nbytes) & self.within_beat.val();
            self.is_spoilt.d.next = self.spoils.val();
            if self.ends.val() {
                self.place.d.next = 0.into();
                self.is_spoilt.d.next = false;
            }
            self.turned.d.next = self.rotated[6].val();
            self.turned_place.d.next = self.place.q.val();
            self.turned_nbytes.d.next = self.sink.payload.val().nbytes;
            self.turned_ends.d.next = self.ends.val();
            self.turned_err.d.next = self.spoils.val();
        }

        // A packet that has ended leaves nothing to fill up.
        self.base.next = self.held.q.val();
        self.base_nbytes.next = bit_cast::<8, 7>(self.held_nbytes.q.val());
        if self.held_ends.q.val() {
            self.base.next = 0.into();
            self.base_nbytes.next = 0.into();
        }
        // A full beat has no room, though the place behind it is the same as that in an empty one.
        self.room.next = self.whole.val() << (bit_cast::<10, 7>(self.turned_place.q.val()) << 3);
        if self.base_nbytes.val() == self.beat_bytes.val() {
            self.room.next = 0.into();
        }
        self.total.next = self.base_nbytes.val() + bit_cast::<8, 7>(self.turned_nbytes.q.val());
        self.overflows.next = self.turned_valid.q.val() & (self.total.val() > self.beat_bytes.val());
        self.filled.next = self.base.val() | (self.turned.q.val() & self.room.val());

        if self.advance.val() {
            self.turned_valid.d.next = self.sink.valid.val();
            self.given_valid.d.next = self.held_ends.q.val() | self.overflows.val();
            self.given.d.next.sop = self.begins.q.val();
            self.given.d.next.eop = self.held_ends.q.val();
            self.given.d.next.err = self.held_ends.q.val() & self.held_err.q.val();
            self.given.d.next.data = self.filled.val();
            self.given.d.next.nbytes = bit_cast::<7, 8>(self.beat_bytes.val());
            if self.held_ends.q.val() {
                self.given.d.next.data = self.held.q.val();
                self.given.d.next.nbytes = self.held_nbytes.q.val();
            }
            if self.held_ends.q.val() | self.overflows.val() {
                self.begins.d.next = self.held_ends.q.val();
            }
            self.held.d.next = self.base.val();
            self.held_nbytes.d.next = bit_cast::<7, 8>(self.base_nbytes.val());
            self.held_ends.d.next = false;
            if self.turned_valid.q.val() {
                self.held.d.next = self.filled.val();
                self.held_nbytes.d.next = bit_cast::<7, 8>(self.total.val());
                self.held_ends.d.next = self.turned_ends.q.val();
                self.held_err.d.next = self.turned_err.q.val();
                if self.overflows.val() {
                    self.held.d.next = self.turned.q.val() & !self.room.val();
                    self.held_nbytes.d.next = bit_cast::<7, 8>(self.total.val() - self.beat_bytes.val());
                }
            }
        }
        if self.reset.val() {
            self.place.d.next = 0.into();
            self.is_spoilt.d.next = false;
            self.turned_valid.d.next = false;
            self.held.d.next = 0.into();
            self.held_nbytes.d.next = 0.into();
            self.held_ends.d.next = false;
            self.begins.d.next = true;
            self.given_valid.d.next = false;
        }
    }
}
