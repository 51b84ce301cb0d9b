//! Strip: takes the bytes off the front of a packet and moves the rest to byte 0.

#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;

use super::reg::Reg;
use crate::constant::{constants, number};
use crate::stream::{Beat, StreamSink, StreamSource};

/// Rotation stages: one for each bit of a place in the widest beat.
const STAGES: usize = 6;

block! {
    /// Gives `keep` bytes of each packet, from byte `skip` on.
    ///
    /// Each beat is rotated as it enters, so that it needs one choice per byte when it leaves together with its
    /// successor; it leaves when the successor is there, or at once if it is the last, and makes at most one beat.
    ///
    /// - **Ports** `sink`: packets in, the last beat may hold no byte; `skip`, `keep`: for the packet on offer,
    ///   while any of its beats is; `source`: one packet for each with `keep > 0`, bytes past `nbytes` zero. If the
    ///   packet in ends before `skip + keep`, its last beat out carries `err` and has no meaning. `err` of the
    ///   input is not looked at.
    /// - **Latency** 2 cycles from the beat that completes a beat. **Rate** 1 beat per cycle, in and out.
    /// - **Backpressure** stalls `sink`; `sink.ready` follows `source.ready` combinationally.
    /// - **Reset** forgets the packet under way; the next beat begins one.
    /// - **Limits** `D` is 8 times a power of two, at most 512. [`Strip::in_steps_of`]: `skip` is a multiple of the step, else it counts as
    ///   the one below, or as the begin of its beat; a rotation by what never occurs takes no logic.
    pub struct Strip<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub sink: StreamSink<Beat<D>>,
        pub skip: Signal<In, Bits<8>>,
        pub keep: Signal<In, Bits<13>>,
        pub source: StreamSource<Beat<D>>,
        /// The beat that waits for its successor, rotated.
        waiting: Reg<Bits<D>>,
        waiting_valid: Reg<Bit>,
        waiting_nbytes: Reg<Bits<7>>,
        waiting_ends: Reg<Bit>,
        /// Whole beats still to be skipped, the waiting one included.
        ahead: Reg<Bits<8>>,
        /// `skip` within a beat.
        offset: Reg<Bits<7>>,
        /// Bytes still to be given, and whether none was yet.
        left: Reg<Bits<13>>,
        is_first: Reg<Bit>,
        /// The next beat begins a packet.
        begins: Reg<Bit>,
        given: Reg<Beat<D>>,
        given_valid: Reg<Bit>,
        offset_now: Signal<Local, Bits<8>>,
        rotated: [Signal<Local, Bits<D>>; STAGES + 1],
        advance: Signal<Local, Bit>,
        accept: Signal<Local, Bit>,
        leaves: Signal<Local, Bit>,
        gives: Signal<Local, Bit>,
        is_last: Signal<Local, Bit>,
        nbytes: Signal<Local, Bits<13>>,
        offered: Signal<Local, Bits<13>>,
        is_short: Signal<Local, Bit>,
        from_waiting: Signal<Local, Bits<D>>,
        offset_bits: Signal<Local, Bits<10>>,
        absent_bits: Signal<Local, Bits<10>>,
        whole: Constant<Bits<D>> = Constant::new(Bits::mask()),
        beat_len: Constant<Bits<13>> = number(D / 8),
        within_beat: Constant<Bits<8>> = number(D / 8 - 1),
        log: Constant<Bits<4>> = number((D / 8).ilog2()),
        is_used: [Constant<Bit>; STAGES] = constants(|stage| 8 << stage < D),
        down: [Constant<Bits<10>>; STAGES] = std::array::from_fn(|stage| number(8 << stage)),
        up: [Constant<Bits<10>>; STAGES] = std::array::from_fn(|stage| number(D.saturating_sub(8 << stage))),
    }
}

impl<const D: usize> Strip<D> {
    /// One whose `skip` is always a multiple of `step`, a power of two.
    ///
    /// # Panics
    /// If `step` is none.
    #[must_use]
    pub fn in_steps_of(step: usize) -> Self {
        assert!(step.is_power_of_two(), "a step of {step} bytes is no power of two");
        Self {
            within_beat: number((D / 8 - 1) & !(step - 1)),
            is_used: constants(|stage| 8 << stage < D && 1 << stage >= step),
            ..Self::default()
        }
    }
}

/// The same in plain Rust: the bytes that come out of a packet with `keep > 0`, `None` if it is cut short.
#[must_use]
pub fn strip(packet: &[u8], skip: usize, keep: usize) -> Option<&[u8]> {
    packet.get(skip..skip + keep)
}

#[expect(clippy::collapsible_if, reason = "the emitter folds an `if` on a constant alone")]
impl<const D: usize> Logic for Strip<D> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, waiting, waiting_valid, waiting_nbytes, waiting_ends, ahead, offset, left);
        dff_setup!(self, clock, is_first, begins, given, given_valid);
        self.source.payload.next = self.given.q.val();
        self.source.valid.next = self.given_valid.q.val();
        self.advance.next = self.source.ready.val() | !self.given_valid.q.val();
        self.sink.ready.next = self.advance.val() | !self.waiting_valid.q.val();
        self.accept.next = self.sink.valid.val() & (self.advance.val() | !self.waiting_valid.q.val());
        self.leaves.next = self.waiting_valid.q.val()
            & self.advance.val()
            & (self.waiting_ends.q.val() | self.sink.valid.val());

        self.offset_now.next = self.skip.val() & self.within_beat.val();
        self.rotated[0].next = self.sink.payload.val().data;
        for i in 0..STAGES {
            self.rotated[i + 1].next = self.rotated[i].val();
            if self.is_used[i].val() {
                if self.offset_now.val().get_bit(i) {
                    self.rotated[i + 1].next = (self.rotated[i].val() >> self.down[i].val())
                        | (self.rotated[i].val() << self.up[i].val());
                }
            }
        }

        // Bytes there are for the waiting beat's turn, from its own first byte: `offset` of them are not wanted.
        self.offered.next = bit_cast::<13, 7>(self.waiting_nbytes.q.val());
        if !self.waiting_ends.q.val() {
            self.offered.next = bit_cast::<13, 7>(self.waiting_nbytes.q.val())
                + bit_cast::<13, 7>(self.sink.payload.val().nbytes);
        }
        self.is_last.next = self.left.q.val() <= self.beat_len.val();
        self.nbytes.next = self.beat_len.val();
        if self.is_last.val() {
            self.nbytes.next = self.left.q.val();
        }
        self.is_short.next = (self.waiting_ends.q.val() & (self.ahead.q.val().any() | !self.is_last.val()))
            | (!self.ahead.q.val().any()
                & (self.offered.val() < (self.nbytes.val() + bit_cast::<13, 7>(self.offset.q.val()))));
        self.gives.next =
            self.leaves.val() & self.left.q.val().any() & (!self.ahead.q.val().any() | self.is_short.val());

        // Rotated, the waiting beat's bytes are the low ones and its successor's the high ones.
        self.offset_bits.next = bit_cast::<10, 7>(self.offset.q.val()) << 3;
        self.from_waiting.next = self.whole.val() >> self.offset_bits.val();
        self.absent_bits.next = bit_cast::<10, 13>(self.beat_len.val() - self.nbytes.val()) << 3;
        if self.advance.val() {
            self.given_valid.d.next = self.gives.val();
            self.given.d.next.data = ((self.waiting.q.val() & self.from_waiting.val())
                | (self.rotated[6].val() & !self.from_waiting.val()))
                & (self.whole.val() >> self.absent_bits.val());
            self.given.d.next.nbytes = bit_cast::<7, 13>(self.nbytes.val());
            self.given.d.next.sop = self.is_first.q.val();
            self.given.d.next.eop = self.is_last.val() | self.is_short.val();
            self.given.d.next.err = self.is_short.val();
        }

        if self.leaves.val() {
            self.waiting_valid.d.next = false;
            if self.gives.val() {
                self.is_first.d.next = false;
                self.left.d.next = self.left.q.val() - self.nbytes.val();
                if self.is_short.val() {
                    self.left.d.next = 0.into();
                }
            }
            if self.ahead.q.val().any() {
                self.ahead.d.next = self.ahead.q.val() - 1;
            }
        }
        if self.accept.val() {
            self.waiting.d.next = self.rotated[6].val();
            self.waiting_valid.d.next = true;
            self.waiting_nbytes.d.next = self.sink.payload.val().nbytes;
            self.waiting_ends.d.next = self.sink.payload.val().eop;
            self.begins.d.next = self.sink.payload.val().eop;
            if self.begins.q.val() {
                self.ahead.d.next = self.skip.val() >> self.log.val();
                self.offset.d.next = bit_cast::<7, 8>(self.offset_now.val());
                self.left.d.next = self.keep.val();
                self.is_first.d.next = true;
            }
        }
        if self.reset.val() {
            self.waiting_valid.d.next = false;
            self.begins.d.next = true;
            self.given_valid.d.next = false;
        }
    }
}
