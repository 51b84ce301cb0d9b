//! Bytes to be moved and compared.

/// Other bytes for each seed, and at each place.
pub(crate) fn pattern(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        // Mixed well enough that every byte depends on the seed and its place.
        state = (state ^ state >> 12).wrapping_mul(0x2545_f491_4f6c_dd1d).wrapping_add(0x9e37_79b9_7f4a_7c15);
        state.to_be_bytes()[0]
    };
    (0..len).map(|_| next()).collect()
}
