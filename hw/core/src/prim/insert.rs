//! Header insertion: bytes of any number go in front of a packet, and the packet moves over to make room.

pub mod merge;
pub mod model;
pub mod rotate;
#[cfg(test)]
mod tests;
pub mod turn;

use rust_hdl::prelude::*;

use merge::Merge;

use super::reg::Reg;
use crate::constant::number;
use crate::mask::Kind;
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
        /// IPv6, else IPv4: handed on.
        pub v6: Bit,
        /// An 802.1Q tag is present: handed on.
        pub tagged: Bit,
    }
}

block! {
    /// Makes frames of prefixes and payload packets.
    ///
    /// - **Ports** `prefix`: one a frame; `payload`: one packet for each prefix with `payload_len > 0`, in the same order;
    ///   `source`: the frames, each of exactly `total` bytes; `kind`, `splits`: of the beat on offer there, what its frame is, and
    ///   that the next beat ends it with fewer than four bytes; `mismatched`: payload packets of another length than said.
    /// - **Latency** 2 cycles from a prefix, and from the first beat of its payload: a frame does not begin before both are
    ///   here. **Rate** 1 beat per cycle, without a gap between frames; none in a frame whose payload comes without one.
    /// - **Backpressure** eight beats wait, then both inputs do; drops nothing; `source.ready` is cut, `prefix.ready` follows `payload.valid`, and
    ///   `payload.ready` follows `prefix.valid` and its lengths combinationally.
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
        pub kind: Signal<Out, Kind>,
        pub splits: Signal<Out, Bit>,
        pub mismatched: Signal<Out, Bits<32>>,
        running: Reg<Bit>,
        /// The opposite, for those who decide: the other has a thousand readers, and is slow.
        idle: Reg<Bit>,
        /// The frame under way, as if what is still to come of it were all; its bytes are those of the beat taken last, and
        /// all behind them.
        under_way: Reg<Prefix>,
        swallowing: Reg<Bit>,
        mismatch_count: Reg<Bits<32>>,
        /// The same, or the next prefix while no frame is under way.
        now: Signal<Local, Prefix>,
        in_header: Signal<Local, Bit>,
        wants_payload: Signal<Local, Bit>,
        ends_payload: Signal<Local, Bit>,
        ends_frame: Signal<Local, Bit>,
        is_mismatched: Signal<Local, Bit>,
        spoils: Signal<Local, Bit>,
        starts: Signal<Local, Bit>,
        goes_on: Signal<Local, Bit>,
        moves: Signal<Local, Bit>,
        merge: Merge<D>,
        beat_bits: Constant<Bits<10>> = number(D),
        beat_bytes: Constant<Bits<14>> = number(D / 8),
        beat_words: Constant<Bits<12>> = number(D / 32),
        offset_mask: Constant<Bits<7>> = number(D / 8 - 1),
    }
}

impl<const D: usize> Logic for Insert<D> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, running, idle, under_way, swallowing, mismatch_count);
        clock!(self, clock, merge);
        self.merge.reset.next = self.reset.val();
        self.mismatched.next = self.mismatch_count.q.val();
        self.kind.next = self.merge.kind.val();
        self.splits.next = self.merge.splits.val();
        StreamSource::<Beat<D>>::link(&mut self.source, &mut self.merge.source);

        self.now.next = self.under_way.q.val();
        if self.idle.q.val() {
            self.now.next = self.prefix.payload.val();
        }
        self.now.next.bytes = self.prefix.payload.val().bytes;
        if self.running.q.val() {
            self.now.next.bytes = self.under_way.q.val().bytes >> self.beat_bits.val();
        }
        self.in_header.next = (self.now.val().len & !self.offset_mask.val()).any();
        self.wants_payload.next = self.now.val().payload_len.any() & !self.in_header.val();
        self.ends_payload.next = bit_cast::<14, 13>(self.now.val().payload_len) <= self.beat_bytes.val();
        self.ends_frame.next = self.now.val().total <= self.beat_bytes.val();
        if self.ends_payload.val() {
            self.is_mismatched.next = !self.payload.payload.val().eop
                | (self.payload.payload.val().nbytes != bit_cast::<7, 13>(self.now.val().payload_len));
        } else {
            self.is_mismatched.next = self.payload.payload.val().eop;
        }
        self.spoils.next = self.now.val().err
            | (self.wants_payload.val()
                & (self.is_mismatched.val()
                    | (self.payload.payload.val().eop & self.payload.payload.val().err)));
        // A MAC must not starve within a frame: none begins before the first beat of its payload is here.
        self.starts.next = self.idle.q.val()
            & self.merge.room.val()
            & self.prefix.valid.val()
            & !self.swallowing.q.val()
            & (self.payload.valid.val() | !self.prefix.payload.val().payload_len.any());
        self.goes_on.next = !self.idle.q.val()
            & self.merge.room.val()
            & (self.payload.valid.val() | !self.wants_payload.val());
        self.moves.next = self.starts.val() | self.goes_on.val();
        self.prefix.ready.next = self.starts.val();
        self.payload.ready.next = self.swallowing.q.val()
            | (self.merge.room.val()
                & (!self.idle.q.val() | self.prefix.valid.val())
                & self.wants_payload.val());

        if self.swallowing.q.val() & self.payload.valid.val() & self.payload.payload.val().eop {
            self.swallowing.d.next = false;
        }
        if self.moves.val() {
            self.running.d.next = !self.ends_frame.val();
            self.idle.d.next = self.ends_frame.val();
            self.under_way.d.next = self.now.val();
            self.under_way.d.next.total = self.now.val().total - self.beat_bytes.val();
            self.under_way.d.next.err = self.spoils.val();
            // Below one beat the count stays: it is the distance by which the whole payload moves.
            if self.in_header.val() {
                self.under_way.d.next.len = self.now.val().len - bit_cast::<7, 14>(self.beat_bytes.val());
            }
            if self.wants_payload.val() {
                self.under_way.d.next.payload_len =
                    self.now.val().payload_len - bit_cast::<13, 14>(self.beat_bytes.val());
                if self.ends_payload.val() | self.payload.payload.val().eop {
                    self.under_way.d.next.payload_len = 0.into();
                }
                self.swallowing.d.next = self.ends_payload.val() & !self.payload.payload.val().eop;
                self.mismatch_count.d.next = self.mismatch_count.q.val() + self.is_mismatched.val();
            }
        }

        self.merge.some.next = self.moves.val();
        self.merge.header.next = self.under_way.q.val().bytes.get_bits::<D>(0);
        self.merge.shift.next = bit_cast::<6, 7>(self.now.val().len & self.offset_mask.val());
        self.merge.passes.next = self.wants_payload.val() & !self.is_mismatched.val();
        self.merge.share.next.data = self.payload.payload.val().data;
        self.merge.share.next.nbytes = bit_cast::<7, 14>(self.beat_bytes.val());
        if self.ends_frame.val() {
            self.merge.share.next.nbytes = bit_cast::<7, 14>(self.now.val().total);
        }
        self.merge.share.next.sop = self.idle.q.val();
        self.merge.share.next.eop = self.ends_frame.val();
        self.merge.share.next.err = self.ends_frame.val() & self.spoils.val();
        self.merge.share.next.v6 = self.now.val().v6;
        self.merge.share.next.tagged = self.now.val().tagged;
        self.merge.share.next.splits = (self.now.val().total.get_bits::<12>(2) == self.beat_words.val())
            & self.now.val().total.get_bits::<2>(0).any();
        if self.reset.val() {
            self.running.d.next = false;
            self.idle.d.next = true;
            self.swallowing.d.next = false;
            self.mismatch_count.d.next = 0.into();
        }
    }
}
