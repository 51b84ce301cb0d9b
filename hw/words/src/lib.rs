//! Fields of any width in 32-bit words, the least significant first.
//!
//! A crate of its own, because crates of hardware are compiled without optimisation, and so is everything generic that they use:
//! tests of blocks spent half of their time in these loops. For the same reason nothing here is generic or may be inlined,
//! which would bring it back there.

#![forbid(unsafe_code)]

/// Collects fields, least significant first.
#[derive(Default)]
pub struct BitWriter {
    words: Vec<u32>,
    len: usize,
}

impl BitWriter {
    /// Appends the lowest `width` bits of a word above those already there; the others are zero.
    ///
    /// # Panics
    /// When the word does not fit in `width` bits.
    #[inline(never)]
    pub fn push(&mut self, word: u32, width: usize) {
        assert!(width >= 32 || word >> width == 0, "{word:#x} has more than {width} bits");
        let (at, shift) = (self.len / 32, self.len % 32);
        self.len += width;
        self.words.resize(self.len.div_ceil(32), 0);
        if width > 0 {
            self.words[at] |= word << shift;
        }
        if shift + width > 32 {
            self.words[at + 1] = word >> (32 - shift);
        }
    }

    /// Appends `width` bits, each asked for by its place.
    #[inline(never)]
    pub fn push_each(&mut self, width: usize, bit: &dyn Fn(usize) -> bool) {
        for start in (0..width).step_by(32) {
            let count = (width - start).min(32);
            self.push((0..count).fold(0, |word, at| word | u32::from(bit(start + at)) << at), count);
        }
    }

    /// The words, the last of them filled up with zeros.
    #[must_use]
    #[inline(never)]
    pub fn into_words(self) -> Vec<u32> {
        self.words
    }
}

/// Hands out what a [`BitWriter`] collected; bits past the end are zero.
pub struct BitReader<'a> {
    words: &'a [u32],
    at: usize,
}

impl<'a> BitReader<'a> {
    /// Begins at the least significant bit.
    #[must_use]
    #[inline(never)]
    pub fn new(words: &'a [u32]) -> Self {
        Self { words, at: 0 }
    }

    /// The next `width` bits, 32 at most.
    ///
    /// # Panics
    /// When more are asked for.
    #[inline(never)]
    pub fn pull(&mut self, width: usize) -> u32 {
        assert!(width <= 32, "{width} bits are more than a word has");
        let word = |at: usize| u64::from(self.words.get(at).copied().unwrap_or(0));
        let both = word(self.at / 32) | word(self.at / 32 + 1) << 32;
        let value = both >> (self.at % 32) & ((1 << width) - 1);
        self.at += width;
        u32::try_from(value).expect("a word was asked for")
    }

    /// The next bits, one for each place.
    #[inline(never)]
    pub fn pull_each(&mut self, bits: &mut [bool]) {
        for bits in bits.chunks_mut(32) {
            let word = self.pull(bits.len());
            for (at, bit) in bits.iter_mut().enumerate() {
                *bit = word >> at & 1 == 1;
            }
        }
    }
}

/// Bytes as words, the first byte lowest.
#[must_use]
#[inline(never)]
pub fn from_bytes(bytes: &[u8]) -> Vec<u32> {
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
    bytes.chunks(4).map(word).collect()
}

/// The lowest `count` bytes of words.
///
/// # Panics
/// When the words have fewer.
#[must_use]
#[inline(never)]
pub fn to_bytes(words: &[u32], count: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    assert!(count <= bytes.len(), "{} words have fewer than {count} bytes", words.len());
    bytes.truncate(count);
    bytes
}

/// How many bits words have up to the highest that is set.
#[must_use]
#[inline(never)]
pub fn significant(words: &[u32]) -> usize {
    let top = words.iter().rposition(|word| *word != 0);
    top.map_or(0, |top| (top + 1) * 32 - words[top].leading_zeros() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fields of all widths in turn, whose bits are those of `pattern`.
    fn pattern(at: usize) -> bool {
        (at * at + at / 3).is_multiple_of(5)
    }

    #[test]
    fn fields_of_all_widths_lie_side_by_side_and_come_back() {
        let mut to = BitWriter::default();
        let mut start = 0;
        for width in 0..=70 {
            let bit = |at| pattern(start + at);
            if width <= 32 {
                to.push((0..width).map(|at| u32::from(bit(at)) << at).sum(), width);
            } else {
                to.push_each(width, &bit);
            }
            start += width;
        }
        let words = to.into_words();
        assert_eq!(words.len(), start.div_ceil(32));
        let bit = |at: usize| words[at / 32] >> (at % 32) & 1 == 1;
        assert!((0..start).all(|at| bit(at) == pattern(at)));
        assert!((start..words.len() * 32).all(|at| !bit(at)));

        let mut from = BitReader::new(&words);
        let mut start = 0;
        for width in 0..=70 {
            let mut bits = vec![false; width];
            if width <= 32 {
                let word = from.pull(width);
                bits.iter_mut().enumerate().for_each(|(at, bit)| *bit = word >> at & 1 == 1);
            } else {
                from.pull_each(&mut bits);
            }
            assert!(bits.iter().enumerate().all(|(at, bit)| *bit == pattern(start + at)), "{width} bits");
            start += width;
        }
    }

    #[test]
    fn past_the_end_all_is_zero() {
        let mut from = BitReader::new(&[u32::MAX]);
        assert_eq!((from.pull(30), from.pull(32), from.pull(32)), (0x3fff_ffff, 3, 0));
    }

    #[test]
    #[should_panic(expected = "0x4 has more than 2 bits")]
    fn what_does_not_fit_is_refused() {
        BitWriter::default().push(4, 2);
    }

    #[test]
    fn bytes_come_back_and_the_first_is_lowest() {
        let bytes: Vec<u8> = (1..=13).collect();
        let words = from_bytes(&bytes);
        assert_eq!(words, [0x0403_0201, 0x0807_0605, 0x0c0b_0a09, 0x0d]);
        assert_eq!(to_bytes(&words, 13), bytes);
        assert_eq!(to_bytes(&words, 5), bytes[..5]);
    }

    #[test]
    fn leading_zeros_do_not_count() {
        for (words, bits) in [(&[][..], 0), (&[0, 0], 0), (&[1, 0], 1), (&[0, 0x8000_0000, 0], 64)] {
            assert_eq!(significant(words), bits, "{words:x?}");
        }
    }
}
