//! The beats of a frame as the invariant CRC reads them, up to the end of the IP packet and no further.

use rust_hdl::prelude::*;

use super::settle::Plan;
use crate::constant::number;
use crate::mask::{LANES, Mask, last_lane};
use crate::prim::reg::Reg;
use crate::stream::Beat;

block! {
    /// Masks the beats of frames for the CRC.
    ///
    /// - **Ports** `beat`: the beat on offer; `moves`: it is taken; `plan`: its frame's; `data`: what the CRC
    ///   reads, the bytes behind the ICRC as zeros; `is_first`: the frame begins here; `is_live`: the CRC reads any
    ///   of it; `is_cut`: the frame ends here, before its ICRC does.
    /// - **Latency** 0 cycles. **Rate** 1 beat per cycle.
    /// - **Reset** the next beat begins a frame.
    pub struct Invariant<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub beat: Signal<In, Beat<D>>,
        pub moves: Signal<In, Bit>,
        pub plan: Signal<In, Plan>,
        pub data: Signal<Out, Bits<D>>,
        pub is_first: Signal<Out, Bit>,
        pub is_live: Signal<Out, Bit>,
        pub is_cut: Signal<Out, Bit>,
        /// Which beat of the frame comes next, one bit each; zero behind the masks.
        lane: Reg<Bits<LANES>>,
        /// Bytes from the next beat on to the end of the ICRC, unless it is the first.
        left: Reg<Bits<13>>,
        left_now: Signal<Local, Bits<13>>,
        mask: Mask<D>,
        /// Bits of the beat behind the ICRC.
        beyond: Signal<Local, Bits<10>>,
        whole: Constant<Bits<D>> = Constant::new(Bits::mask()),
        beat_len: Constant<Bits<13>> = number(D / 8),
        first_lane: Constant<Bits<LANES>> = number(1_u64),
        last_lane: Constant<Bits<LANES>> = number(1_u64 << last_lane::<D>()),
    }
}

impl<const D: usize> Logic for Invariant<D> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, lane, left);
        self.left_now.next = self.left.q.val();
        if self.lane.q.val().get_bit(0) {
            self.left_now.next = self.plan.val().end;
        }
        self.is_first.next = self.lane.q.val().get_bit(0);
        self.is_live.next = self.left_now.val().any();
        self.is_cut.next =
            self.beat.val().eop & (bit_cast::<13, 7>(self.beat.val().nbytes) < self.left_now.val());

        self.mask.lane.next = self.lane.q.val();
        self.mask.kind.next.v6 = self.plan.val().v6;
        self.mask.kind.next.tagged = self.plan.val().tagged;
        self.beyond.next = 0.into();
        if self.left_now.val() < self.beat_len.val() {
            self.beyond.next = bit_cast::<10, 13>(self.beat_len.val() - self.left_now.val()) << 3;
        }
        self.data.next =
            (self.beat.val().data & self.mask.keep.val() & (self.whole.val() >> self.beyond.val()))
                ^ self.mask.flip.val();

        if self.moves.val() {
            self.lane.d.next = (self.lane.q.val() & !self.last_lane.val()) << 1;
            self.left.d.next = 0.into();
            if self.left_now.val() > self.beat_len.val() {
                self.left.d.next = self.left_now.val() - self.beat_len.val();
            }
            if self.beat.val().eop {
                self.lane.d.next = self.first_lane.val();
            }
        }
        if self.reset.val() {
            self.lane.d.next = self.first_lane.val();
        }
    }
}
