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
    /// Where a beat goes depends only on how many bytes went before it, so it is rotated as it enters, and what will come of it is
    /// known then. Then its bytes fill up the beat that is held, and what has no room there is held next. A full beat leaves when
    /// there are more bytes of the packet, any other when the packet ends: so a piece without bytes can end a packet, or spoil it.
    ///
    /// - **Ports** `sink`: pieces in, one packet after the other; `source`: the packets, full beats but the last; `err` of
    ///   any piece is `err` of the packet. `busy`: a beat is inside.
    /// - **Latency** 2 cycles from the beat that fills up another, or ends a packet; 1 more for what it leaves behind, and for the
    ///   packets that follow until a cycle brings nothing that leaves. **Rate** 1 beat per cycle, in and out, without a gap
    ///   between pieces or packets.
    /// - **Backpressure** stalls `sink`; `sink.ready` follows `source.ready` combinationally.
    /// - **Reset** forgets the packet under way; the next beat begins one.
    /// - **Limits** `D` is 8 times a power of two, at most 512. Packets may be of any length; one without any byte is
    ///   a beat with `nbytes` zero. Only a piece without bytes has a beat without any.
    pub struct Splice<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub sink: StreamSink<PieceBeat<D>>,
        pub source: StreamSource<Beat<D>>,
        pub busy: Signal<Out, Bit>,
        /// Bytes that the beat under way will have, up to all of them; and whether a piece of the packet was bad.
        level: Reg<Bits<7>>,
        is_spoilt: Reg<Bit>,
        /// The beat taken last, rotated; the bytes before it, and those of the beat that it leaves under way.
        turned: Reg<Bits<D>>,
        turned_valid: Reg<Bit>,
        turned_level: Reg<Bits<7>>,
        turned_nbytes: Reg<Bits<7>>,
        /// More than it fills up a beat comes with it, or behind it in its piece.
        turned_overflows: Reg<Bit>,
        turned_ends: Reg<Bit>,
        turned_err: Reg<Bit>,
        /// Bytes that wait for more, zeros behind them; or a beat that leaves next, for another left in its place.
        held: Reg<Bits<D>>,
        held_leaves: Reg<Bit>,
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
        total: Signal<Local, Bits<8>>,
        overflows: Signal<Local, Bit>,
        left: Signal<Local, Bits<7>>,
        room: Signal<Local, Bits<D>>,
        gives: Signal<Local, Bit>,
        gives_end: Signal<Local, Bit>,
        whole: Constant<Bits<D>> = Constant::new(Bits::mask()),
        beat_bytes: Constant<Bits<8>> = number(D / 8),
        is_used: [Constant<Bit>; STAGES] = constants(|stage| 8 << stage < D),
        up: [Constant<Bits<10>>; STAGES] = std::array::from_fn(|stage| number(8 << stage)),
        down: [Constant<Bits<10>>; STAGES] = std::array::from_fn(|stage| number(D.saturating_sub(8 << stage))),
    }
}

#[expect(clippy::collapsible_if, reason = "the emitter folds an `if` on a constant alone")]
impl<const D: usize> Logic for Splice<D> {
    #[expect(clippy::too_many_lines, reason = "a line for each register of three stages")]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, level, is_spoilt, turned, turned_valid, turned_level, turned_nbytes);
        dff_setup!(self, clock, turned_overflows, turned_ends, turned_err);
        dff_setup!(self, clock, held, held_leaves, held_nbytes, held_ends, held_err);
        dff_setup!(self, clock, begins, given, given_valid);
        self.source.payload.next = self.given.q.val();
        self.source.valid.next = self.given_valid.q.val();
        self.advance.next = self.source.ready.val() | !self.given_valid.q.val();
        self.sink.ready.next = self.advance.val();
        self.accept.next = self.sink.valid.val() & self.advance.val();
        self.busy.next = self.turned_valid.q.val()
            | self.held_leaves.q.val()
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
                if self.level.q.val().get_bit(i) {
                    self.rotated[i + 1].next = (self.rotated[i].val() << self.up[i].val())
                        | (self.rotated[i].val() >> self.down[i].val());
                }
            }
        }
        self.total.next =
            bit_cast::<8, 7>(self.level.q.val()) + bit_cast::<8, 7>(self.sink.payload.val().nbytes);
        self.overflows.next = (self.total.val() > self.beat_bytes.val())
            | ((self.total.val() == self.beat_bytes.val()) & !self.sink.payload.val().eop);
        self.left.next = bit_cast::<7, 8>(self.total.val());
        if self.overflows.val() {
            self.left.next = bit_cast::<7, 8>(self.total.val() - self.beat_bytes.val());
        }
        if self.accept.val() {
            self.level.d.next = self.left.val();
            self.is_spoilt.d.next = self.spoils.val();
            if self.ends.val() {
                self.level.d.next = 0.into();
                self.is_spoilt.d.next = false;
            }
        }

        // A full beat has no room: the shift moves all out.
        self.room.next = self.whole.val() << (bit_cast::<10, 7>(self.turned_level.q.val()) << 3);
        // What was left behind leaves first. What ends now leaves with it all, unless bytes are left over.
        self.gives.next =
            self.turned_valid.q.val() & (self.turned_overflows.q.val() | self.turned_ends.q.val());
        self.gives_end.next = self.turned_ends.q.val() & !self.turned_overflows.q.val();
        if self.advance.val() {
            self.turned_valid.d.next = self.sink.valid.val();
            self.turned.d.next = self.rotated[6].val();
            self.turned_level.d.next = self.level.q.val();
            self.turned_nbytes.d.next = self.left.val();
            self.turned_overflows.d.next = self.overflows.val();
            self.turned_ends.d.next = self.ends.val();
            self.turned_err.d.next = self.spoils.val();

            self.given_valid.d.next = self.held_leaves.q.val() | self.gives.val();
            self.given.d.next.sop = self.begins.q.val();
            self.given.d.next.nbytes = bit_cast::<7, 8>(self.beat_bytes.val());
            if self.held_leaves.q.val() {
                self.given.d.next.data = self.held.q.val();
                self.given.d.next.eop = self.held_ends.q.val();
                self.given.d.next.err = self.held_ends.q.val() & self.held_err.q.val();
                if self.held_ends.q.val() {
                    self.given.d.next.nbytes = self.held_nbytes.q.val();
                }
                self.begins.d.next = self.held_ends.q.val();
                self.held.d.next = 0.into();
                self.held_nbytes.d.next = 0.into();
                self.held_leaves.d.next = false;
            } else {
                self.given.d.next.data = self.held.q.val() | (self.turned.q.val() & self.room.val());
                self.given.d.next.eop = self.gives_end.val();
                self.given.d.next.err = self.gives_end.val() & self.turned_err.q.val();
                if self.gives_end.val() {
                    self.given.d.next.nbytes = self.turned_nbytes.q.val();
                }
                if self.gives.val() {
                    self.begins.d.next = self.gives_end.val();
                }
            }

            if self.turned_valid.q.val() {
                self.held_nbytes.d.next = self.turned_nbytes.q.val();
                self.held_ends.d.next = self.turned_ends.q.val();
                self.held_err.d.next = self.turned_err.q.val();
                if self.held_leaves.q.val() {
                    self.held.d.next = self.turned.q.val();
                    self.held_leaves.d.next = self.gives.val();
                } else if self.turned_overflows.q.val() {
                    self.held.d.next = self.turned.q.val() & !self.room.val();
                    self.held_leaves.d.next = self.turned_ends.q.val();
                } else if self.turned_ends.q.val() {
                    self.held.d.next = 0.into();
                    self.held_nbytes.d.next = 0.into();
                } else {
                    // Behind its bytes a beat is zero, so that nothing comes round to the front.
                    self.held.d.next = self.held.q.val() | self.turned.q.val();
                }
            }
        }
        if self.reset.val() {
            self.level.d.next = 0.into();
            self.is_spoilt.d.next = false;
            self.turned_valid.d.next = false;
            self.held.d.next = 0.into();
            self.held_nbytes.d.next = 0.into();
            self.held_leaves.d.next = false;
            self.begins.d.next = true;
            self.given_valid.d.next = false;
        }
    }
}
