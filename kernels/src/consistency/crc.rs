//! CRC-64/XZ as linear algebra: what lets a beat be checked in one cycle, whatever the object's length.
//!
//! The state moves linearly, so a beat of `D` bits is `state' = advance * state  xor  image of the data`. An end in mid beat needs no shifter: bytes behind it
//! are zero, and what zeros do to the state of a good object is known beforehand, since its CRC was part of the data.

use num_bigint::BigUint;
use rust_hdl::prelude::Bits;
use stroma_abi::kernel::consistency::{RESIDUE, step};

/// Bits of half a state: what [`Linear`](stroma_hw::prim::linear::Linear) makes at once.
pub const HALF: usize = 32;

/// The state after `bytes`, from `state`.
fn update(state: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(state, |state, byte| step(state, *byte))
}

/// For each bit of half a state, upper or lower, which of `N` bits it is the parity of; `image` is the state that one of them makes.
fn masks<const N: usize>(is_upper: bool, image: impl Fn(usize) -> u64) -> [Bits<N>; HALF] {
    let images: Vec<u64> = (0..N).map(image).collect();
    std::array::from_fn(|row| {
        let row = if is_upper { row + HALF } else { row };
        let mut bytes = vec![0_u8; N / 8];
        for (bit, image) in images.iter().enumerate() {
            bytes[bit / 8] |= u8::from(image >> row & 1 == 1) << (bit % 8);
        }
        BigUint::from_bytes_le(&bytes).into()
    })
}

/// What the bits of a beat do to half a state.
#[must_use]
pub fn data_masks<const D: usize>(is_upper: bool) -> [Bits<D>; HALF] {
    masks(is_upper, |bit| {
        let mut bytes = vec![0; D / 8];
        bytes[bit / 8] = 1 << (bit % 8);
        update(0, &bytes)
    })
}

/// What the bits of a state become in half a state, after a beat of `D` zeros.
#[must_use]
pub fn state_masks<const D: usize>(is_upper: bool) -> [Bits<64>; HALF] {
    masks(is_upper, |bit| update(1 << bit, &vec![0; D / 8]))
}

/// The state after a good object and then `zeros` bytes of zero.
#[must_use]
pub fn residue_after(zeros: usize) -> u64 {
    update(RESIDUE, &vec![0; zeros])
}

#[cfg(test)]
mod tests {
    use stroma_abi::kernel::consistency::{SEED, crc};
    use stroma_verilate::SplitMix64;

    use super::*;

    fn product<const N: usize>(masks: impl Fn(bool) -> [Bits<N>; HALF], vector: Bits<N>) -> u64 {
        let half = |is_upper| {
            let masks = masks(is_upper);
            (0..HALF).fold(0_u64, |all, row| all | u64::from((vector & masks[row]).xor()) << row)
        };
        half(false) | half(true) << HALF
    }

    fn a_beat<const D: usize>() {
        let mut rng = SplitMix64::new(1);
        for _ in 0..20 {
            let (state, bytes) = (rng.next_u64(), (0..D / 8).map(|_| rng.next_u64().to_le_bytes()[0]));
            let bytes: Vec<u8> = bytes.collect();
            let moved = product(state_masks::<D>, state.into());
            let image = product(data_masks::<D>, BigUint::from_bytes_le(&bytes).into());
            assert_eq!(moved ^ image, update(state, &bytes));
        }
    }

    #[test]
    fn a_beat_at_a_time_is_the_same_as_a_byte_at_a_time() {
        a_beat::<64>();
        a_beat::<512>();
    }

    #[test]
    fn zeros_behind_a_good_object_leave_a_state_that_is_known() {
        let mut object = b"some bytes".to_vec();
        object.extend(crc(b"some bytes").to_le_bytes());
        for zeros in 0..64 {
            assert_eq!(update(SEED, &object), residue_after(zeros));
            object.push(0);
        }
    }
}
