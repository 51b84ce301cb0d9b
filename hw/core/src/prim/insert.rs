//! Header insertion: bytes of any number go in front of a packet, and the packet moves over to make room.

pub mod model;
#[cfg(test)]
mod tests;
pub mod turn;

use rust_hdl::prelude::*;

use turn::Turn;

use super::reg::Reg;
use crate::constant::number;
use crate::record;
use crate::stream::{Beat, StreamSink, StreamSource};

record! {
    /// What goes in front of one packet, and how long all of it is to be.
    pub struct Prefix {
        /// The header, first byte lowest, zeros behind it.
        pub bytes: Bits<896>,
        /// Bytes of the header, at least 1.
        pub len: Bits<7>,
        /// Bytes of the payload; zero when no packet comes for this prefix.
        pub payload_len: Bits<13>,
        /// Bytes of the frame. What header and payload leave free at its end is zero.
        pub total: Bits<14>,
        /// Something was wrong before: the frame is to be spoilt.
        pub err: Bit,
    }
}

block! {
    /// Makes frames of prefixes and payload packets.
    ///
    /// - **Ports** `prefix`: one a frame; `payload`: one packet for each prefix with `payload_len > 0`, in the same order;
    ///   `source`: the frames, each of exactly `total` bytes; `mismatched`: payload packets of another length than said.
    /// - **Latency** 3 cycles. **Rate** 1 beat per cycle, without a gap between frames.
    /// - **Backpressure** stalls both inputs, drops nothing; their `ready` follows `source.ready` combinationally.
    /// - **Reset** empties it and clears `mismatched`, which wraps; the next beat of `payload` begins a packet.
    /// - **Limits** `total` holds header and payload. A payload packet that ends early is filled up with zeros, the
    ///   surplus of one that goes on for too long is swallowed before the next frame begins; the payload beat that shows it
    ///   reads as zeros. Either way the frame has its length, carries `err` on its last beat, and `mismatched` counts
    ///   one. `err` at the payload's end, or in the prefix, gives `err` at the frame's.
    pub struct Insert<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub prefix: StreamSink<Prefix>,
        pub payload: StreamSink<Beat<D>>,
        pub source: StreamSource<Beat<D>>,
        pub mismatched: Signal<Out, Bits<32>>,
        // The frame under way: what is still to come of it.
        running: Reg<Bit>,
        header: Reg<Bits<896>>,
        header_left: Reg<Bits<7>>,
        payload_left: Reg<Bits<13>>,
        left: Reg<Bits<14>>,
        spoilt: Reg<Bit>,
        swallowing: Reg<Bit>,
        mismatch_count: Reg<Bits<32>>,
        // The same, or the next prefix while no frame is under way.
        now_header: Signal<Local, Bits<896>>,
        now_header_left: Signal<Local, Bits<7>>,
        now_payload_left: Signal<Local, Bits<13>>,
        now_left: Signal<Local, Bits<14>>,
        now_spoilt: Signal<Local, Bit>,
        now_some: Signal<Local, Bit>,
        in_header: Signal<Local, Bit>,
        wants_payload: Signal<Local, Bit>,
        ends_payload: Signal<Local, Bit>,
        ends_frame: Signal<Local, Bit>,
        is_mismatched: Signal<Local, Bit>,
        spoils: Signal<Local, Bit>,
        advance: Signal<Local, Bit>,
        moves: Signal<Local, Bit>,
        // Stage 1: this beat's share of header and payload, side by side.
        taken: Reg<Bit>,
        taken_beat: Reg<Beat<D>>,
        taken_header: Reg<Bits<D>>,
        taken_shift: Reg<Bits<6>>,
        turn: Turn<D>,
        beat_bits: Constant<Bits<10>> = number(D),
        beat_bytes: Constant<Bits<14>> = number(D / 8),
        offset_mask: Constant<Bits<7>> = number(D / 8 - 1),
    }
}

impl<const D: usize> Logic for Insert<D> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, running, header, header_left, payload_left, left);
        dff_setup!(self, clock, spoilt, swallowing, mismatch_count);
        dff_setup!(self, clock, taken, taken_beat, taken_header, taken_shift);
        clock!(self, clock, turn);
        self.turn.reset.next = self.reset.val();
        self.mismatched.next = self.mismatch_count.q.val();
        self.source.valid.next = self.turn.joined.val();
        self.source.payload.next = self.turn.joined_beat.val();
        self.advance.next = self.source.ready.val() | !self.turn.joined.val();
        self.turn.advance.next = self.advance.val();
        self.turn.some.next = self.taken.q.val();
        self.turn.beat.next = self.taken_beat.q.val();
        self.turn.header.next = self.taken_header.q.val();
        self.turn.shift.next = self.taken_shift.q.val();

        if self.running.q.val() {
            self.now_header.next = self.header.q.val();
            self.now_header_left.next = self.header_left.q.val();
            self.now_payload_left.next = self.payload_left.q.val();
            self.now_left.next = self.left.q.val();
            self.now_spoilt.next = self.spoilt.q.val();
        } else {
            self.now_header.next = self.prefix.payload.val().bytes;
            self.now_header_left.next = self.prefix.payload.val().len;
            self.now_payload_left.next = self.prefix.payload.val().payload_len;
            self.now_left.next = self.prefix.payload.val().total;
            self.now_spoilt.next = self.prefix.payload.val().err;
        }
        self.now_some.next = self.running.q.val() | (self.prefix.valid.val() & !self.swallowing.q.val());
        self.in_header.next = (self.now_header_left.val() & !self.offset_mask.val()).any();
        self.wants_payload.next = self.now_payload_left.val().any() & !self.in_header.val();
        self.ends_payload.next = bit_cast::<14, 13>(self.now_payload_left.val()) <= self.beat_bytes.val();
        self.ends_frame.next = self.now_left.val() <= self.beat_bytes.val();
        if self.ends_payload.val() {
            self.is_mismatched.next = !self.payload.payload.val().eop
                | (self.payload.payload.val().nbytes != bit_cast::<7, 13>(self.now_payload_left.val()));
        } else {
            self.is_mismatched.next = self.payload.payload.val().eop;
        }
        self.spoils.next = self.now_spoilt.val()
            | (self.wants_payload.val()
                & (self.is_mismatched.val()
                    | (self.payload.payload.val().eop & self.payload.payload.val().err)));
        self.moves.next =
            self.advance.val() & self.now_some.val() & (self.payload.valid.val() | !self.wants_payload.val());
        self.prefix.ready.next = self.moves.val() & !self.running.q.val();
        self.payload.ready.next =
            self.swallowing.q.val() | (self.advance.val() & self.now_some.val() & self.wants_payload.val());

        if self.swallowing.q.val() & self.payload.valid.val() & self.payload.payload.val().eop {
            self.swallowing.d.next = false;
        }
        if self.moves.val() {
            self.running.d.next = !self.ends_frame.val();
            self.header.d.next = self.now_header.val() >> self.beat_bits.val();
            self.left.d.next = self.now_left.val() - self.beat_bytes.val();
            self.spoilt.d.next = self.spoils.val();
            // Below one beat the count stays: it is the distance by which the whole payload moves.
            self.header_left.d.next = self.now_header_left.val();
            if self.in_header.val() {
                self.header_left.d.next =
                    self.now_header_left.val() - bit_cast::<7, 14>(self.beat_bytes.val());
            }
            self.payload_left.d.next = self.now_payload_left.val();
            if self.wants_payload.val() {
                self.payload_left.d.next =
                    self.now_payload_left.val() - bit_cast::<13, 14>(self.beat_bytes.val());
                if self.ends_payload.val() | self.payload.payload.val().eop {
                    self.payload_left.d.next = 0.into();
                }
                self.swallowing.d.next = self.ends_payload.val() & !self.payload.payload.val().eop;
                self.mismatch_count.d.next = self.mismatch_count.q.val() + self.is_mismatched.val();
            }
        }

        if self.advance.val() {
            self.taken.d.next = self.moves.val();
            self.taken_header.d.next = self.now_header.val().get_bits::<D>(0);
            self.taken_shift.d.next = bit_cast::<6, 7>(self.now_header_left.val() & self.offset_mask.val());
            self.taken_beat.d.next.data = 0.into();
            if self.wants_payload.val() & !self.is_mismatched.val() {
                self.taken_beat.d.next.data = self.payload.payload.val().data;
            }
            self.taken_beat.d.next.nbytes = bit_cast::<7, 14>(self.beat_bytes.val());
            if self.ends_frame.val() {
                self.taken_beat.d.next.nbytes = bit_cast::<7, 14>(self.now_left.val());
            }
            self.taken_beat.d.next.sop = !self.running.q.val();
            self.taken_beat.d.next.eop = self.ends_frame.val();
            self.taken_beat.d.next.err = self.ends_frame.val() & self.spoils.val();
        }
        if self.reset.val() {
            self.running.d.next = false;
            self.swallowing.d.next = false;
            self.taken.d.next = false;
            self.mismatch_count.d.next = 0.into();
        }
    }
}
