//! Check: does the CRC at an object's end fit the bytes before it?

use rust_hdl::prelude::*;
use stroma_abi::kernel::consistency::SEED;
use stroma_hw::block;
use stroma_hw::constant::{constants, number};
use stroma_hw::prim::linear::Linear;
use stroma_hw::prim::reg::Reg;

use super::crc::{HALF, data_masks, residue_after, state_masks};

/// Bytes of the widest beat.
const BYTES: usize = 64;

block! {
    /// Keeps the CRC of an object, beat by beat.
    ///
    /// - **Ports** `begins`: one cycle, before an object's first beat; `takes`: one cycle, `data` are its next beat, zero behind `nbytes`; `ends`: it is the last.
    ///   `is_known`: one cycle, `fits`: the object is as it should be.
    /// - **Latency** 2 cycles from the last beat to `is_known`. **Rate** 1 beat per cycle. **Backpressure** none.
    /// - **Reset** forgets the beat under way; an object must begin before the next.
    /// - **Limits** `D` is 64 or 512.
    pub struct Check<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub begins: Signal<In, Bit>,
        pub takes: Signal<In, Bit>,
        pub data: Signal<In, Bits<D>>,
        pub nbytes: Signal<In, Bits<7>>,
        pub ends: Signal<In, Bit>,
        pub is_known: Signal<Out, Bit>,
        pub fits: Signal<Out, Bit>,
        /// What a beat alone does to the state.
        image: Reg<Bits<64>>,
        has_image: Reg<Bit>,
        is_last: Reg<Bit>,
        /// The object's state, and whether it is the last.
        state: Reg<Bits<64>>,
        is_whole: Reg<Bit>,
        /// Bytes of the last beat, all of them as 0.
        place: Reg<Bits<6>>,
        late_place: Reg<Bits<6>>,
        of_data_low: Linear<D> = Linear::new(data_masks(false)),
        of_data_high: Linear<D> = Linear::new(data_masks(true)),
        of_state_low: Linear<64> = Linear::new(state_masks::<D>(false)),
        of_state_high: Linear<64> = Linear::new(state_masks::<D>(true)),
        residue: Signal<Local, Bits<64>>,
        seed: Constant<Bits<64>> = number(SEED),
        number: [Constant<Bits<6>>; BYTES] = constants(|nbytes| (nbytes as u64).into()),
        residues: [Constant<Bits<64>>; BYTES] = constants(|nbytes| {
            let nbytes = if nbytes == 0 { BYTES } else { nbytes };
            residue_after((D / 8).saturating_sub(nbytes)).into()
        }),
        half: Constant<Bits<7>> = number(HALF),
    }
}

impl<const D: usize> Logic for Check<D> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, image, has_image, is_last, state, is_whole, place, late_place);
        self.of_data_low.vector.next = self.data.val();
        self.of_data_high.vector.next = self.data.val();
        self.image.d.next = bit_cast::<64, 32>(self.of_data_low.image.val())
            | (bit_cast::<64, 32>(self.of_data_high.image.val()) << self.half.val());
        self.has_image.d.next = self.takes.val();
        self.is_last.d.next = self.takes.val() & self.ends.val();
        self.place.d.next = self.nbytes.val().get_bits::<6>(0);

        self.of_state_low.vector.next = self.state.q.val();
        self.of_state_high.vector.next = self.state.q.val();
        if self.has_image.q.val() {
            self.state.d.next = self.image.q.val()
                ^ (bit_cast::<64, 32>(self.of_state_low.image.val())
                    | (bit_cast::<64, 32>(self.of_state_high.image.val()) << self.half.val()));
        }
        self.is_whole.d.next = self.is_last.q.val();
        self.late_place.d.next = self.place.q.val();

        self.residue.next = self.residues[0].val();
        for i in 0..BYTES {
            if self.late_place.q.val() == self.number[i].val() {
                self.residue.next = self.residues[i].val();
            }
        }
        self.is_known.next = self.is_whole.q.val();
        self.fits.next = self.state.q.val() == self.residue.val();
        if self.begins.val() {
            self.state.d.next = self.seed.val();
        }
        if self.reset.val() {
            self.has_image.d.next = false;
            self.is_last.d.next = false;
            self.is_whole.d.next = false;
        }
    }
}
