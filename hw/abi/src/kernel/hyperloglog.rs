//! `hyperloglog`: counts distinct items of a payload while that passes to the caller's memory unchanged.
//!
//! **The sketch** is 65,536 registers of a byte. An item is hashed to 64 bits: the low 16 choose a register, and the *rank* is the
//! place of the first one in the other 48, counted from the low end with 1, or 49 if there is none. A register keeps the largest
//! rank that it has met. So registers do not depend on order or on how often an item comes, sketches are merged by the maximum of
//! each register, and a request that is repeated counts nothing twice. The number of distinct items follows from the registers
//! alone; who asks computes it.
//!
//! **What is asked**, by `action`: [`Count`](Action::Count) hashes the payload's items of `item` bytes and stores the payload at `address`,
//! in writes of up to 4096 bytes; with `discard` it is counted only. [`Read`](Action::Read) answers with the registers, the first lowest.
//! [`Clear`](Action::Clear) sets all of them to 0 and names the sketch. [`Take`](Action::Take) answers as Read and leaves all at 0, with nothing counted
//! in between. Invocations are carried out in the order in which they come, one after the other.
//!
//! **Who shares it.** A kernel has one sketch, and that belongs to one protection domain: the first that clears it. It is there for the queue pairs of that
//! domain alone: a Clear of another is answered with [`Taken`](HyperLogLogStatus::Taken), all else with
//! [`OtherSketch`](HyperLogLogStatus::OtherSketch), and nothing is done, whatever name is asked for. A Clear with `release` gives it up, and any domain may have it next.
//! Within the domain the name is what keeps users from mixing their items without noticing: whoever clears the sketch gives it the name in `sketch`, and
//! all other actions are carried out only for those who know it. Who has lost the sketch to his own domain is told so by `OtherSketch` at the next
//! request. There is no sketch before the first Clear, nor after a reset of the card, nor behind a Clear that was ended before its answer; all other work
//! that is ended, whosever it is, leaves it.
//!
//! **A write that fails** gives the status, the first one if several do. The payload's items have been counted all the same, and
//! its other writes were made.

use crate::codes::codes;
use crate::layout::layout;
use crate::wire::RpcStatus;

/// RPC op-code of the kernel.
pub const OPERATION: u16 = 5;
/// log2 of the number of registers.
pub const REGISTERS_LOG: u32 = 16;
/// Registers of a sketch, and bytes of the answer that has them.
pub const REGISTERS: usize = 1 << REGISTERS_LOG;
/// Largest value of a register.
pub const RANK_MAX: u8 = 49;
/// Sizes that an item may have, in bytes.
pub const ITEMS: [u8; 3] = [4, 8, 16];

layout! {
    /// The parameters, all of them in every request.
    HyperLogLog: Little, 20 bytes;
    ADDRESS address: u64  =  0, 0, 64, "where the payload goes; counts in Count without `discard`";
    SKETCH  sketch:  u64  =  8, 0, 64, "name of the sketch; Clear gives it";
    ITEM    item:    u8   = 16, 0,  8, "bytes of an item: 4, 8 or 16; counts in Count alone";
    ACTION  action:  u8   = 17, 0,  2, "an `Action`: count (0), read (1), clear (2), take (3)";
    DISCARD discard: bool = 17, 2,  1, "the payload is counted and goes nowhere";
    RELEASE release: bool = 17, 3,  1, "with Clear: the sketch is given up instead of named";
}

codes! {
    /// What is done.
    Action: u8 {
        0 Count "The payload's items are counted, and it is stored.";
        1 Read  "The registers are the answer.";
        2 Clear "All registers are set to 0, and the sketch has a new name, or none.";
        3 Take  "The registers are the answer, and are set to 0.";
    }
}

codes! {
    /// Statuses of the kernel's own.
    HyperLogLogStatus: u32 {
        0x100 OtherSketch   "The sketch has another name or is another protection domain's, or there is none; nothing was counted or written, and the payload went nowhere.";
        0x101 BadParameters "Items have another size, the payload is no whole number of them, an action without payload has some, the registers are more than the answer may have, the number of parameters is wrong, or the request has flags; nothing was counted or written.";
        0x102 Taken         "The sketch is another protection domain's; nothing was cleared.";
    }
}

const _: () = assert!(HyperLogLogStatus::OtherSketch as u32 >= RpcStatus::KERNEL);

/// The hash of an item: words of 4 bytes are multiplied each by its own number, and two rounds of a Feistel network mix their sum.
///
/// Each step is a product of 32 by 32 bits, of which all 64 are used: one card's beat has up to sixteen items, so what is cheap in
/// hardware counts. Steps behind the sum lose nothing, and a single word's does not either: no two items of 4 bytes have the same hash.
/// A word of 0 adds nothing, so that an item and the same with zeros behind it have the same hash.
pub mod hash {
    /// Factors of the words, by place in the item: primes of xxHash.
    pub const WORDS: [u32; 4] = [0x9e37_79b1, 0x85eb_ca77, 0xc2b2_ae3d, 0x27d4_eb2f];
    /// Factors of the two rounds, from `MurmurHash3`.
    pub const ROUNDS: [u32; 2] = [0xcc9e_2d51, 0x1b87_3593];
    /// Turned into the sum, so that an item of zeros is like any other: digits of pi.
    pub const SEED: u64 = 0x243f_6a88_85a3_08d3;
    /// How far a half is moved over itself before a round.
    pub const SHIFT: u32 = 16;

    /// The product of both, its high half turned into the low one.
    #[must_use]
    pub const fn product(word: u32, factor: u32) -> u64 {
        let product = word as u64 * factor as u64;
        product ^ product >> 32
    }

    /// What one half does to the other.
    #[must_use]
    pub const fn round(half: u32, factor: u32) -> u32 {
        let [low, _] = halves(product(half ^ half >> SHIFT, factor));
        low
    }

    /// The low half and the high one.
    #[expect(clippy::cast_possible_truncation, reason = "a half is what is left")]
    const fn halves(value: u64) -> [u32; 2] {
        [value as u32, (value >> 32) as u32]
    }

    /// The hash of an item of one to four words.
    ///
    /// # Panics
    /// When it has more.
    #[must_use]
    pub fn of_words(words: &[u32]) -> u64 {
        assert!(words.len() <= WORDS.len(), "an item has at most {} words, not {}", WORDS.len(), words.len());
        let products = words.iter().zip(WORDS).map(|(word, factor)| product(*word, factor));
        let [low, high] = halves(products.fold(0, u64::wrapping_add) ^ SEED);
        let high = high ^ round(low, ROUNDS[0]);
        let low = low ^ round(high, ROUNDS[1]);
        u64::from(high) << 32 | u64::from(low)
    }

    /// The hash of an item of 4, 8 or 16 bytes.
    ///
    /// # Panics
    /// When it is no whole number of words, or has more than four.
    #[must_use]
    pub fn of(item: &[u8]) -> u64 {
        let (words, rest) = item.as_chunks::<4>();
        assert!(rest.is_empty(), "an item is whole words, not {} bytes", item.len());
        let mut all = [0; WORDS.len()];
        let all = all.get_mut(..words.len()).expect("at most four words");
        for (into, word) in all.iter_mut().zip(words) {
            *into = u32::from_le_bytes(*word);
        }
        of_words(all)
    }
}

/// The register that a hash chooses, and its rank.
#[must_use]
pub const fn place(hash: u64) -> (u16, u8) {
    let [low, high, ..] = hash.to_le_bytes();
    let marked = hash >> 16 | 1 << (RANK_MAX - 1);
    let [rank, ..] = (marked.trailing_zeros() + 1).to_le_bytes();
    (u16::from_le_bytes([low, high]), rank)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parameters_land_on_the_bytes_the_kernel_reads() {
        let parameters = HyperLogLog {
            address: 0x0807_0605_0403_0201,
            sketch: 0x100f_0e0d_0c0b_0a09,
            item: 0x11,
            action: Action::Take as u8,
            discard: true,
            release: true,
        };
        let mut expected: [u8; HyperLogLog::LEN] = core::array::from_fn(|at| u8::try_from(at + 1).unwrap());
        expected[17..].copy_from_slice(&[0b1111, 0, 0]);
        assert_eq!(parameters.to_bytes(), expected);
    }

    #[test]
    fn a_rank_is_the_place_of_the_first_one_behind_the_bucket() {
        assert_eq!(place(0x1_1234), (0x1234, 1));
        assert_eq!(place(0xffff_ffff_ffff_8000), (0x8000, 1));
        assert_eq!(place(1 << 63), (0, 48));
        assert_eq!(place(0xffff), (0xffff, RANK_MAX));
    }

    /// By long multiplication, with numbers of another width.
    fn by_hand(words: &[u32]) -> u64 {
        let fold = |product: u128| product ^ product >> 32;
        let sum: u128 =
            words.iter().zip(hash::WORDS).map(|(a, b)| fold(u128::from(*a) * u128::from(b))).sum();
        let sum = (sum ^ 0x243f_6a88_85a3_08d3) & u128::from(u64::MAX);
        let (high, low) = (sum >> 32, sum & 0xffff_ffff);
        let high = high ^ fold((low ^ low >> 16) * 0xcc9e_2d51) & 0xffff_ffff;
        let low = low ^ fold((high ^ high >> 16) * 0x1b87_3593) & 0xffff_ffff;
        u64::try_from(high << 32 | low).unwrap()
    }

    #[test]
    fn zeros_behind_an_item_leave_its_hash() {
        assert_eq!(hash::of(&[1, 2, 3, 4]), hash::of(&[1, 2, 3, 4, 0, 0, 0, 0]));
        assert_ne!(hash::of(&[1, 2, 3, 4, 0, 0, 0, 0]), hash::of(&[0, 0, 0, 0, 1, 2, 3, 4]));
        assert_eq!(hash::of(&[0; 16]), by_hand(&[]));
    }

    /// Of the outputs' bits, each changes about half the time when a bit of the item does.
    #[test]
    fn every_bit_of_an_item_moves_every_bit_of_the_hash() {
        const TRIALS: u32 = 4096;
        for words in [1_usize, 2, 4] {
            for bit in 0..32 * words {
                let mut changed = [0_u32; 64];
                for trial in 0..TRIALS {
                    let item: [u32; 4] = core::array::from_fn(|at| if at == 0 { trial } else { 0 });
                    let mut other = item;
                    other[bit / 32] ^= 1 << (bit % 32);
                    let difference = hash::of_words(&item[..words]) ^ hash::of_words(&other[..words]);
                    changed
                        .iter_mut()
                        .enumerate()
                        .for_each(|(at, count)| *count += u32::from(difference >> at & 1 == 1));
                }
                // Six standard deviations, each of which is 32 of 4096.
                let is_fair = |count: &u32| count.abs_diff(TRIALS / 2) < 6 * 32;
                assert!(changed.iter().all(is_fair), "bit {bit} of {words} words: {changed:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn parameters_come_back_as_they_were(bytes in any::<[u8; HyperLogLog::LEN]>()) {
            let parameters = HyperLogLog::parse(&bytes).unwrap();
            prop_assert_eq!(HyperLogLog::parse(&parameters.to_bytes()), Some(parameters));
        }

        #[test]
        fn the_hash_is_what_its_text_says(item in any::<[u32; 4]>(), words in 1_usize..=4) {
            let bytes: std::vec::Vec<u8> = item[..words].iter().flat_map(|word| word.to_le_bytes()).collect();
            prop_assert_eq!(hash::of(&bytes), by_hand(&item[..words]));
        }
    }
}
