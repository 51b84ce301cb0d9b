//! Seeded noise: the same seed gives the same run on every machine, for ever.

/// `SplitMix64` (Steele, Lea, Flood 2014): tiny, and its n-th value needs no predecessor.
#[derive(Debug, Clone)]
pub struct SplitMix64 {
    state: u64,
}

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl SplitMix64 {
    /// A generator for this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The value number `index` of the generator seeded with `seed`.
    #[must_use]
    pub fn at(seed: u64, index: u64) -> u64 {
        Self::new(seed.wrapping_add(index.wrapping_mul(STEP))).next_u64()
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// The next 32 bits.
    pub fn next_u32(&mut self) -> u32 {
        (self.next_u64() >> 32) as u32
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next_u64() % bound
    }

    /// A value of `width` bits, lowest word first.
    pub fn bits(&mut self, width: u32) -> Vec<u32> {
        let mut words: Vec<u32> = (0..width.div_ceil(32)).map(|_| self.next_u32()).collect();
        if let (Some(top), spare @ 1..) = (words.last_mut(), width % 32) {
            *top &= (1 << spare) - 1;
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_the_published_one() {
        // First outputs of the reference implementation for seed 1234567.
        let mut rng = SplitMix64::new(1_234_567);
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!([rng.next_u64(), rng.next_u64(), rng.next_u64()], expected);
        assert_eq!(SplitMix64::at(1_234_567, 2), expected[2]);
    }

    #[test]
    fn bits_stay_inside_their_width() {
        let mut rng = SplitMix64::new(1);
        for width in [1, 31, 32, 33, 64, 65, 512] {
            for _ in 0..50 {
                let words = rng.bits(width);
                assert_eq!(words.len(), width.div_ceil(32) as usize);
                let spare = words.len() * 32 - width as usize;
                assert!(words[words.len() - 1].leading_zeros() as usize >= spare, "{width}: {words:x?}");
            }
        }
    }
}
