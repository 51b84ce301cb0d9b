//! Which bytes of its first and last `DWord` a request means.

use super::DWORD;

/// Byte enables of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ByteEnables {
    pub(crate) first: u8,
    pub(crate) last: u8,
}

/// Does every byte follow on the one before?
fn is_run(nibble: u8) -> bool {
    let bits = nibble >> nibble.trailing_zeros().min(7);
    bits & (bits + 1) == 0
}

impl ByteEnables {
    /// Those of `length` bytes from `address` on.
    pub(crate) fn of(address: u64, length: usize) -> Self {
        let start = usize::try_from(address % DWORD as u64).expect("below four");
        let end = (start + length).next_multiple_of(DWORD) - (start + length);
        let (first, last) = (0xf << start & 0xf, 0xf >> end);
        if start + length <= DWORD { Self { first: first & last, last: 0 } } else { Self { first, last } }
    }

    /// The nibble of each of `dwords` words.
    pub(crate) fn nibbles(self, dwords: usize) -> Vec<u8> {
        let mut nibbles = vec![0xf; dwords];
        nibbles[0] = self.first;
        if dwords > 1 {
            nibbles[dwords - 1] = self.last;
        }
        nibbles
    }

    /// Bytes from the first that is meant to the last, and where the first stands. A request for nothing counts as one byte.
    pub(crate) fn span(self, dwords: usize) -> (usize, usize) {
        if self.first == 0 {
            return (0, 1);
        }
        let start = self.first.trailing_zeros() as usize;
        let last = if dwords > 1 { self.last } else { self.first };
        (start, dwords * DWORD - start - (last.leading_zeros() as usize - 4))
    }

    /// The rules of PCIe (Base Specification, 2.2.5).
    ///
    /// # Panics
    /// When one is broken.
    pub(crate) fn check(self, what: &str, address: u64, dwords: usize) {
        let Self { first, last } = self;
        if dwords == 1 {
            assert_eq!(last, 0, "{what}: last byte enables {last:#06b} in a request of one DWord");
            return;
        }
        assert!(first != 0 && last != 0, "{what}: no byte enabled at an end of {dwords} DWords");
        if dwords > 2 || !address.is_multiple_of(8) {
            let is_contiguous = is_run(first) && first >> 3 == 1 && is_run(last) && last & 1 == 1;
            assert!(
                is_contiguous,
                "{what}: byte enables {first:#06b}, {last:#06b} leave a hole in {dwords} DWords"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_enables_follow_address_and_length() {
        for (address, length, first, last, dwords) in [
            (0x1000, 4, 0b1111, 0, 1),
            (0x1002, 1, 0b0100, 0, 1),
            (0x1004, 8, 0b1111, 0b1111, 2),
            (0x1003, 2, 0b1000, 0b0001, 2),
            (0x1001, 10, 0b1110, 0b0111, 3),
        ] {
            let enables = ByteEnables::of(address, length);
            assert_eq!(enables, ByteEnables { first, last }, "{address:#x} {length}");
            let start = usize::try_from(address % 4).unwrap();
            assert_eq!(enables.span(dwords), (start, length));
            enables.check("it", address, dwords);
        }
        assert_eq!(ByteEnables { first: 0, last: 0 }.span(1), (0, 1));
        assert_eq!(ByteEnables { first: 0b1001, last: 0 }.span(1), (0, 4));
    }

    #[test]
    fn holes_are_let_through_in_one_dword_and_in_an_aligned_pair_alone() {
        let holes = ByteEnables { first: 0b1010, last: 0b0101 };
        holes.check("it", 0x1000, 2);
        ByteEnables { first: 0b1010, last: 0 }.check("it", 0x1004, 1);
        for (address, dwords) in [(0x1004, 2), (0x1000, 3)] {
            assert!(std::panic::catch_unwind(|| holes.check("it", address, dwords)).is_err());
        }
    }
}
