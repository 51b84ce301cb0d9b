//! CRC-32 as linear algebra: what lets a 512-bit beat be checked in one cycle, whatever its length.
//!
//! The invariant CRC is the Ethernet CRC: reflected, byte 0 bit 0 first. Its state moves linearly, so
//! - a whole beat of `D` bits is `state' = advance(D / 8) * state  xor  masks * data`;
//! - a start in mid beat needs no shifter: bytes before it are zero, and the starting state is xor-ed into the first
//!   four bytes, because zeros leave a zero state alone;
//! - an end in mid beat needs none either: bytes behind it are zero, and what those zeros did to the state is undone by
//!   the inverse of `advance`, or, where the CRC itself was part of the data, known beforehand ([`residue_after`]).

use rust_hdl::prelude::Bits;
use stroma_abi::wire::icrc;

/// A 32 x 32 matrix over GF(2): column `i` is the image of state bit `i`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matrix([u32; 32]);

impl Matrix {
    /// The matrix that changes nothing.
    pub const IDENTITY: Self = {
        let mut columns = [0; 32];
        let mut bit = 0;
        while bit < 32 {
            columns[bit] = 1 << bit;
            bit += 1;
        }
        Self(columns)
    };

    /// What one zero bit does to the state.
    fn one_zero_bit() -> Self {
        Self(std::array::from_fn(|bit| if bit == 0 { icrc::POLYNOMIAL } else { 1 << (bit - 1) }))
    }

    /// What `count` zero bytes do to the state.
    #[must_use]
    pub fn advance(count: usize) -> Self {
        (0..count * 8).fold(Self::IDENTITY, |all, _| Self::one_zero_bit().after(&all))
    }

    /// The matrix that does `first`, then this one.
    #[must_use]
    pub fn after(&self, first: &Self) -> Self {
        Self(std::array::from_fn(|bit| self.apply(first.0[bit])))
    }

    /// The image of a state.
    #[must_use]
    pub fn apply(&self, state: u32) -> u32 {
        (0..32).filter(|bit| state >> bit & 1 == 1).fold(0, |image, bit| image ^ self.0[bit])
    }

    /// The matrix that undoes this one.
    ///
    /// # Panics
    /// If there is none; powers of `advance` always have one.
    #[must_use]
    pub fn inverse(&self) -> Self {
        // Gauss-Jordan over columns: each step makes `left` a little more like the identity.
        let (mut left, mut right) = (self.0, Self::IDENTITY.0);
        for bit in 0..32 {
            let pivot =
                (bit..32).find(|column| left[*column] >> bit & 1 == 1).expect("the matrix can be inverted");
            left.swap(bit, pivot);
            right.swap(bit, pivot);
            for column in 0..32 {
                if column != bit && left[column] >> bit & 1 == 1 {
                    left[column] ^= left[bit];
                    right[column] ^= right[bit];
                }
            }
        }
        Self(right)
    }

    /// For each bit of the image, which bits of the state it is the parity of.
    #[must_use]
    pub fn masks(&self) -> [Bits<32>; 32] {
        std::array::from_fn(|row| {
            let mask = (0..32).fold(0_u32, |mask, column| mask | (self.0[column] >> row & 1) << column);
            u64::from(mask).into()
        })
    }
}

/// For each state bit, which bits of a `D`-bit beat (byte 0 lowest) it is the parity of, from a zero state.
#[must_use]
pub fn data_masks<const D: usize>() -> [Bits<D>; 32] {
    // Bit `d` acts as if xor-ed into state bit 0 just before it is shifted out, `D - d` shifts before the end.
    let mut image = [0_u32; D];
    let mut column = Matrix::one_zero_bit().apply(1);
    for bit in (0..D).rev() {
        image[bit] = column;
        column = Matrix::one_zero_bit().apply(column);
    }
    std::array::from_fn(|row| {
        let mut bytes = vec![0_u8; D / 8];
        for (bit, column) in image.iter().enumerate() {
            bytes[bit / 8] |= u8::from(column >> row & 1 == 1) << (bit % 8);
        }
        crate::pack::from_bytes(&bytes)
    })
}

/// The state after `bytes`, from `state`.
#[must_use]
pub fn update(state: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(state, |state, byte| icrc::step(state, *byte))
}

/// The state after a good packet with its CRC and then `zeros` bytes of zero.
#[must_use]
pub fn residue_after(zeros: usize) -> u32 {
    update(icrc::RESIDUE, &vec![0; zeros])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_value_of_the_ethernet_crc_comes_out() {
        assert_eq!(!update(u32::MAX, b"123456789"), 0xcbf4_3926);
        assert_eq!(residue_after(0), 0xdebb_20e3);
    }

    #[test]
    fn a_beat_at_a_time_is_the_same_as_a_byte_at_a_time() {
        let bytes: Vec<u8> = (0..64_u8).map(|byte| byte.wrapping_mul(37) ^ 0x5a).collect();
        let data: Bits<512> = crate::pack::from_bytes(&bytes);
        let masks = data_masks::<512>();
        let from_data = (0..32).fold(0, |all, row| all | u32::from((data & masks[row]).xor()) << row);
        let state = 0x1234_5678;
        assert_eq!(Matrix::advance(64).apply(state) ^ from_data, update(state, &bytes));
    }

    #[test]
    fn the_inverse_takes_zeros_back() {
        for count in [1, 2, 4, 6, 64] {
            let state = update(0xdead_beef, &vec![0; count]);
            assert_eq!(Matrix::advance(count).inverse().apply(state), 0xdead_beef);
        }
    }

    #[test]
    fn masks_are_the_rows_of_the_matrix() {
        let matrix = Matrix::advance(5);
        let masks = matrix.masks();
        let state: Bits<32> = 0x9abc_def0_u64.into();
        let image = (0..32).fold(0, |all, row| all | u32::from((state & masks[row]).xor()) << row);
        assert_eq!(image, matrix.apply(0x9abc_def0));
    }

    #[test]
    fn a_start_in_mid_beat_is_a_state_xored_into_the_first_four_bytes() {
        let bytes = *b"some ten bytes";
        let mut shifted = vec![0; 14];
        shifted.extend_from_slice(&bytes);
        for (at, byte) in icrc::SEED.to_le_bytes().into_iter().enumerate() {
            shifted[14 + at] ^= byte;
        }
        assert_eq!(update(0, &shifted), update(icrc::SEED, &bytes));
    }
}
