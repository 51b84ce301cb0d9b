//! Fields of wide values, which are words of 32 bits, the lowest first.

/// The field of `width` bits, at most 32, from bit `at` on.
pub(crate) fn field(words: &[u32], at: usize, width: usize) -> u32 {
    let low = u64::from(words[at / 32]);
    let high = words.get(at / 32 + 1).map_or(0, |word| u64::from(*word));
    let value = (high << 32 | low) >> (at % 32) & ((1 << width) - 1);
    u32::try_from(value).expect("at most 32 bits")
}

/// Sets that field, which is 0 before.
pub(crate) fn put(words: &mut [u32], at: usize, width: usize, value: u32) {
    assert!(width == 32 || value >> width == 0, "{value:#x} has more than {width} bits");
    let wide = u64::from(value) << (at % 32);
    let [low, high] =
        [wide & u64::from(u32::MAX), wide >> 32].map(|half| u32::try_from(half).expect("32 bits"));
    words[at / 32] |= low;
    if high != 0 {
        words[at / 32 + 1] |= high;
    }
}

/// The lowest byte of a field that has no more.
pub(crate) fn byte(field: u32) -> u8 {
    u8::try_from(field).expect("a field of at most eight bits")
}

/// Words as bytes, in the order of their addresses.
pub(crate) fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Bytes as words; there are whole words of them.
pub(crate) fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().expect("whole words"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_reach_over_words() {
        let mut words = [0; 3];
        put(&mut words, 30, 6, 0b10_1101);
        put(&mut words, 61, 6, 0b11_0011);
        assert_eq!(words, [0x4000_0000, 0x6000_000b, 0b110]);
        assert_eq!(
            (field(&words, 30, 6), field(&words, 61, 6), field(&words, 36, 8)),
            (0b10_1101, 0b11_0011, 0)
        );
    }
}
