//! Room for objects: the first free stretch that is long enough.

use std::collections::BTreeMap;
use std::ops::Range;

/// What all stretches begin and end at a multiple of.
const ALIGN: usize = 8;

/// Free stretches of a table, by where they begin: their bytes. No two touch each other.
#[derive(Clone, Debug)]
pub(super) struct Heap(BTreeMap<usize, usize>);

impl Heap {
    /// All of `bytes` is free.
    pub(super) fn new(bytes: Range<usize>) -> Self {
        let start = bytes.start.next_multiple_of(ALIGN);
        let len = bytes.end.saturating_sub(start) / ALIGN * ALIGN;
        Self((len > 0).then_some((start, len)).into_iter().collect())
    }

    /// Takes `len` bytes; where they begin.
    pub(super) fn take(&mut self, len: usize) -> Option<usize> {
        let len = len.next_multiple_of(ALIGN);
        let (at, free) = self.0.iter().map(|(at, free)| (*at, *free)).find(|(_, free)| *free >= len)?;
        self.0.remove(&at);
        if free > len {
            self.0.insert(at + len, free - len);
        }
        Some(at)
    }

    /// Gives back what was taken.
    pub(super) fn give(&mut self, at: usize, len: usize) {
        let (mut at, mut len) = (at, len.next_multiple_of(ALIGN));
        if let Some((before, free)) = self.0.range(..at).next_back().map(|(before, free)| (*before, *free))
            && before + free == at
        {
            self.0.remove(&before);
            (at, len) = (before, len + free);
        }
        if let Some(behind) = self.0.remove(&(at + len)) {
            len += behind;
        }
        self.0.insert(at, len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_back_is_one_stretch_again() {
        let whole = |heap: &Heap| heap.0.iter().map(|(at, len)| (*at, *len)).collect::<Vec<_>>();
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let mut heap = Heap::new(61..205);
            assert_eq!(whole(&heap), [(64, 136)]);
            let taken = [5, 8, 100].map(|len| (heap.take(len).expect("room"), len));
            assert_eq!(taken, [(64, 5), (72, 8), (80, 100)]);
            assert_eq!((heap.take(17), heap.take(16)), (None, Some(184)));
            for which in order {
                heap.give(taken[which].0, taken[which].1);
            }
            heap.give(184, 16);
            assert_eq!(whole(&heap), [(64, 136)], "{order:?}");
        }
        assert_eq!(Heap::new(1..15).take(8), None);
        assert_eq!(Heap::new(20..20).take(8), None);
    }
}
