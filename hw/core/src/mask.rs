//! What of a beat the invariant CRC reads.
//!
//! The CRC covers the IP packet with some fields as ones, and starts from a state of its own. Each is a constant of the
//! beat's position, the tag and the IP version, so two masks a beat say it all.

use rust_hdl::prelude::*;
use stroma_abi::wire::{Ethernet, Tag, icrc};

use crate::constant::constants;
use crate::record;

/// Bytes up to the last one with a mask: Ethernet, tag, IPv6, UDP, BTH.
const MASKED_BYTES: usize = Ethernet::LEN + Tag::LEN + icrc::MASK_IPV6.len();
/// Beats of the narrowest stream that have masks.
pub const LANES: usize = MASKED_BYTES.div_ceil(8);

record! {
    /// What decides where a frame's variant fields are.
    pub struct Kind {
        /// IPv6, else IPv4.
        pub v6: Bit,
        /// An 802.1Q tag is present.
        pub tagged: Bit,
    }
}

block! {
    /// Chooses the two masks of a beat: the CRC reads `data & keep ^ flip`.
    ///
    /// Bytes before the IP header are zero, so that they leave a zero state alone; fields that change on the way are
    /// ones; the CRC's starting state is xor-ed into the first four bytes.
    ///
    /// - **Ports** `lane`: which beat of its frame, one bit each, none behind the last with a mask; `kind`: its frame's;
    ///   `keep`, `flip`: the masks.
    /// - **Latency** 0 cycles. **Reset** none: it holds nothing. `clock` and `reset` are absent.
    pub struct Mask<const D: usize> {
        pub lane: Signal<In, Bits<LANES>>,
        pub kind: Signal<In, Kind>,
        pub keep: Signal<Out, Bits<D>>,
        pub flip: Signal<Out, Bits<D>>,
        whole: Constant<Bits<D>> = Constant::new(Bits::mask()),
        is_used: [Constant<Bit>; LANES] = constants(|lane| lane <= last_lane::<D>()),
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

/// Which beat is the last that has masks.
#[must_use]
pub const fn last_lane<const D: usize>() -> usize {
    MASKED_BYTES.div_ceil(D / 8) - 1
}

/// Where the IP packet begins, and the bytes of it that read as ones.
fn ones(is_tagged: bool, is_v6: bool) -> (usize, &'static [u8]) {
    let ip_at = Ethernet::LEN + if is_tagged { Tag::LEN } else { 0 };
    (ip_at, if is_v6 { &icrc::MASK_IPV6 } else { &icrc::MASK_IPV4 })
}

/// The bits of beat `lane` that the CRC reads as they are.
fn keep<const D: usize>(lane: usize, is_tagged: bool, is_v6: bool) -> Bits<D> {
    let (ip_at, ones) = ones(is_tagged, is_v6);
    beat(lane, |at| at.checked_sub(ip_at).map_or(0, |at| !ones.get(at).unwrap_or(&0)))
}

/// The bits of beat `lane` that are turned.
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
    crate::pack::from_bytes(&bytes)
}

impl<const D: usize> Logic for Mask<D> {
    #[hdl_gen]
    #[expect(clippy::collapsible_if, reason = "the outer condition is a constant, which the emitter folds")]
    fn update(&mut self) {
        self.keep.next = self.whole.val();
        self.flip.next = 0.into();
        for i in 0..LANES {
            if self.is_used[i].val() {
                if self.lane.val().get_bit(i) {
                    if self.kind.val().tagged & self.kind.val().v6 {
                        self.keep.next = self.tagged_v6_keep[i].val();
                        self.flip.next = self.tagged_v6_flip[i].val();
                    } else if self.kind.val().tagged {
                        self.keep.next = self.tagged_v4_keep[i].val();
                        self.flip.next = self.tagged_v4_flip[i].val();
                    } else if self.kind.val().v6 {
                        self.keep.next = self.v6_keep[i].val();
                        self.flip.next = self.v6_flip[i].val();
                    } else {
                        self.keep.next = self.v4_keep[i].val();
                        self.flip.next = self.v4_flip[i].val();
                    }
                }
            }
        }
    }
}
