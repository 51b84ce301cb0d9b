//! `traversal`: elements of linked structures are walked until a key fits, and the value behind it is the answer.
//!
//! An element is `element_words` words of 8 bytes, at any address. Those that `key_words` names are keys. The lowest
//! word that fits, `(word & mask) PREDICATE (key & mask)` unsigned, wins. The value begins where word `value_at` points, or with
//! `inline` where that word lies; with `relative` the word is counted from the key that fits, modulo 8. Where no key fits, the walk
//! goes on at the pointer in word `next_at`; with `tree` it does so if the key is below the lowest key word, both masked, and else
//! at the one in word `right_at`. A pointer of 0 ends it.

use crate::codes::codes;
use crate::layout::layout;
use crate::wire::RpcStatus;

/// RPC op-code of the kernel.
pub const OPERATION: u16 = 1;
/// Most words of an element.
pub const ELEMENT_WORDS_MAX: u8 = 8;
/// Most bytes of a value.
pub const VALUE_MAX: u32 = 1 << 16;

layout! {
    /// The parameters, all of them in every request.
    Traversal: Little, 36 bytes;
    ROOT          root:          u64  =  0, 0, 64, "address of the first element; 0: there is none";
    SOUGHT        sought:        u64  =  8, 0, 64, "the key";
    MASK          mask:          u64  = 16, 0, 64, "bits of keys that count";
    VALUE_LENGTH  value_length:  u32  = 24, 0, 32, "bytes of the answer, at most 64 KiB and what the request allows";
    HOP_LIMIT     hop_limit:     u16  = 28, 0, 16, "most elements that are looked at, at least 1";
    KEY_WORDS     key_words:     u8   = 30, 0,  8, "words of an element that are keys, by bit; at least one, within the element";
    ELEMENT_WORDS element_words: u8   = 31, 0,  8, "words of an element, 1 to 8";
    NEXT_AT       next_at:       u8   = 32, 0,  8, "word with the pointer to the next element, or in a tree the left one; within the element";
    RIGHT_AT      right_at:      u8   = 33, 0,  8, "word with the pointer to the right element; counts in a tree alone, and is within the element";
    VALUE_AT      value_at:      u8   = 34, 0,  8, "word of the value, within the element for every key that may fit; relative, 0 to 7";
    PREDICATE     predicate:     u8   = 35, 0,  2, "a `Predicate`: the word is equal to the key (0), less (1), greater (2), not equal (3)";
    RELATIVE      relative:      bool = 35, 2,  1, "`value_at` is counted from the key that fits, modulo 8";
    INLINE        inline:        bool = 35, 3,  1, "the value begins at that word, which is no pointer";
    TREE          tree:          bool = 35, 4,  1, "elements have two successors";
}

codes! {
    /// How a word of an element is held against the key.
    Predicate: u8 {
        0 Equal    "The word is the key.";
        1 Less     "The word is below the key.";
        2 Greater  "The word is above the key.";
        3 NotEqual "The word is not the key.";
    }
}

impl Predicate {
    /// Does the word fit the key, both already masked?
    #[must_use]
    pub const fn fits(self, word: u64, key: u64) -> bool {
        match self {
            Self::Equal => word == key,
            Self::Less => word < key,
            Self::Greater => word > key,
            Self::NotEqual => word != key,
        }
    }
}

codes! {
    /// Statuses of the kernel's own.
    TraversalStatus: u32 {
        0x100 NotFound      "No element fits, and there are no more.";
        0x101 BadParameters "A parameter is out of range, their number is wrong, or the request has flags or more payload; nothing was read.";
    }
}

const _: () = assert!(TraversalStatus::NotFound as u32 >= RpcStatus::KERNEL);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parameters_land_on_the_bytes_the_kernel_reads() {
        let parameters = Traversal {
            root: 0x0807_0605_0403_0201,
            sought: 0x100f_0e0d_0c0b_0a09,
            mask: 0x1817_1615_1413_1211,
            value_length: 0x1c1b_1a19,
            hop_limit: 0x1e1d,
            key_words: 0x1f,
            element_words: 0x20,
            next_at: 0x21,
            right_at: 0x22,
            value_at: 0x23,
            predicate: Predicate::Greater as u8,
            relative: true,
            inline: false,
            tree: true,
        };
        let mut expected: [u8; Traversal::LEN] = core::array::from_fn(|at| u8::try_from(at + 1).unwrap());
        expected[35] = 0b1_0110;
        assert_eq!(parameters.to_bytes(), expected);
    }

    #[test]
    fn predicates_are_unsigned() {
        for (word, key, expected) in [
            (1, 1, [true, false, false, false]),
            (1, u64::MAX, [false, true, false, true]),
            (u64::MAX, 1, [false, false, true, true]),
        ] {
            let found: std::vec::Vec<bool> =
                Predicate::ALL.iter().map(|(predicate, _)| predicate.fits(word, key)).collect();
            assert_eq!(found, expected);
        }
    }

    proptest! {
        #[test]
        fn parameters_come_back_as_they_were(bytes in any::<[u8; Traversal::LEN]>()) {
            let parameters = Traversal::parse(&bytes).unwrap();
            prop_assert_eq!(Traversal::parse(&parameters.to_bytes()), Some(parameters));
        }
    }
}
