//! What of a beat the invariant CRC reads.
//!
//! The CRC covers the IP packet with some fields as ones, and starts from a state of its own. Each is a constant of
//! the beat's position, the tag and the IP version, so two masks a beat say it all: `data & keep ^ flip`.

use rust_hdl::prelude::*;
use stroma_abi::wire::{Ethernet, Tag, icrc};

use super::settle::Plan;
use crate::constant::{constants, number};
use crate::prim::reg::Reg;
use crate::stream::Beat;

/// Bytes up to the last one with a mask: tag, IPv6, UDP, BTH.
const MASKED_BYTES: usize = Ethernet::LEN + Tag::LEN + icrc::MASK_IPV6.len();
/// Beats of the narrowest stream that have masks.
const LANES: usize = MASKED_BYTES.div_ceil(8);

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
        lane: Reg<Bits<16>>,
        /// Bytes from the next beat on to the end of the ICRC, unless it is the first.
        left: Reg<Bits<13>>,
        left_now: Signal<Local, Bits<13>>,
        keep: Signal<Local, Bits<D>>,
        flip: Signal<Local, Bits<D>>,
        /// Bits of the beat behind the ICRC.
        beyond: Signal<Local, Bits<10>>,
        whole: Constant<Bits<D>> = Constant::new(Bits::mask()),
        none: Constant<Bits<D>> = Constant::new(Bits::default()),
        beat_len: Constant<Bits<13>> = number(D / 8),
        first_lane: Constant<Bits<16>> = number(1_u64),
        last_lane: Constant<Bits<16>> = number(1_u64 << (lanes::<D>() - 1)),
        is_used: [Constant<Bit>; LANES] = constants(|lane| lane < lanes::<D>()),
        v4_keep: [Constant<Bits<D>>; LANES] = constants(|lane| keep(lane, false, false)),
        v4_flip: [Constant<Bits<D>>; LANES] = constants(|lane| flip(lane, false, false)),
        v6_keep: [Constant<Bits<D>>; LANES] = constants(|lane| keep(lane, false, true)),
        v6_flip: [Constant<Bits<D>>; LANES] = constants(|lane| flip(lane, false, true)),
        tagged_v4_keep: [Constant<Bits<D>>; LANES] = constants(|lane| keep(lane, true, false)),
        tagged_v4_flip: [Constant<Bits<D>>; LANES] = constants(|lane| flip(lane, true, false)),
        tagged_v6_keep: [Constant<Bits<D>>; LANES] = constants(|lane| keep(lane, true, true)),
        tagged_v6_flip: [Constant<Bits<D>>; LANES] = constants(|lane| flip(lane, true, true)),
    }
}

/// Beats that have masks.
const fn lanes<const D: usize>() -> usize {
    MASKED_BYTES.div_ceil(D / 8)
}

/// The mask that reads as ones, frame byte by frame byte, and where the IP packet begins.
fn ones(is_tagged: bool, is_v6: bool) -> (usize, &'static [u8]) {
    let ip_at = Ethernet::LEN + if is_tagged { Tag::LEN } else { 0 };
    (ip_at, if is_v6 { &icrc::MASK_IPV6 } else { &icrc::MASK_IPV4 })
}

/// The bits of beat `lane` that the CRC reads as they are.
fn keep<const D: usize>(lane: usize, is_tagged: bool, is_v6: bool) -> Bits<D> {
    let (ip_at, ones) = ones(is_tagged, is_v6);
    beat(lane, |at| at.checked_sub(ip_at).map_or(0, |at| !ones.get(at).copied().unwrap_or(0)))
}

/// The bits of beat `lane` that are turned: ones over what `keep` cleared, and the starting state.
fn flip<const D: usize>(lane: usize, is_tagged: bool, is_v6: bool) -> Bits<D> {
    let (ip_at, ones) = ones(is_tagged, is_v6);
    let start = icrc::SEED.to_le_bytes();
    beat(lane, |at| {
        at.checked_sub(ip_at).map_or(0, |at| ones.get(at).unwrap_or(&0) ^ start.get(at).unwrap_or(&0))
    })
}

/// Beat `lane` of a frame whose bytes are `of` their place.
fn beat<const D: usize>(lane: usize, of: impl Fn(usize) -> u8) -> Bits<D> {
    let bytes: Vec<u8> = (0..D / 8).map(|at| of(lane * D / 8 + at)).collect();
    num_bigint::BigUint::from_bytes_le(&bytes).into()
}

#[expect(clippy::collapsible_if, reason = "the emitter folds an `if` on a constant alone")]
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

        self.keep.next = self.whole.val();
        self.flip.next = self.none.val();
        for i in 0..LANES {
            if self.is_used[i].val() {
                if self.lane.q.val().get_bit(i) {
                    if self.plan.val().tagged & self.plan.val().v6 {
                        self.keep.next = self.tagged_v6_keep[i].val();
                        self.flip.next = self.tagged_v6_flip[i].val();
                    } else if self.plan.val().tagged {
                        self.keep.next = self.tagged_v4_keep[i].val();
                        self.flip.next = self.tagged_v4_flip[i].val();
                    } else if self.plan.val().v6 {
                        self.keep.next = self.v6_keep[i].val();
                        self.flip.next = self.v6_flip[i].val();
                    } else {
                        self.keep.next = self.v4_keep[i].val();
                        self.flip.next = self.v4_flip[i].val();
                    }
                }
            }
        }
        self.beyond.next = 0.into();
        if self.left_now.val() < self.beat_len.val() {
            self.beyond.next = bit_cast::<10, 13>(self.beat_len.val() - self.left_now.val()) << 3;
        }
        self.data.next = (self.beat.val().data & self.keep.val() & (self.whole.val() >> self.beyond.val()))
            ^ self.flip.val();

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
