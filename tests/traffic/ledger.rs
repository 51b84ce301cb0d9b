//! Additions of several queue pairs to one word: each counts once, in an order that nobody but the responder knows.

use std::collections::BTreeMap;

/// One addition, as it completed.
pub(super) struct Addition {
    pub(super) pair: usize,
    pub(super) id: u64,
    /// What the word was.
    pub(super) found: u64,
    pub(super) added: u64,
}

/// All additions to a word.
pub(super) struct Ledger {
    first: u64,
    additions: Vec<Addition>,
}

impl Ledger {
    pub(super) fn new(first: u64) -> Self {
        Self { first, additions: Vec::new() }
    }

    pub(super) fn enter(&mut self, addition: Addition) {
        self.additions.push(addition);
    }

    /// Each addition must have found what another, or nobody yet, left; a queue pair's own follow each other; and the last
    /// one left what the word is now. Sums are random, so that no two are equal.
    pub(super) fn check(&self, now: u64, name: &str) {
        let mut left: BTreeMap<u64, &Addition> = self.additions.iter().map(|one| (one.found, one)).collect();
        assert_eq!(left.len(), self.additions.len(), "{name}: two additions found the same");
        let mut latest = BTreeMap::new();
        let mut word = self.first;
        while let Some(addition) = left.remove(&word) {
            word = word.wrapping_add(addition.added);
            let before = latest.insert(addition.pair, addition.id);
            assert!(before < Some(addition.id), "{name}: queue pair {} out of order", addition.pair);
        }
        assert!(left.is_empty(), "{name}: {} additions found what nobody left", left.len());
        assert_eq!(word, now, "{name}: not every addition counted once");
    }
}

/// The word at a place, as the host has it.
pub(super) fn word(bytes: &[u8], place: usize) -> u64 {
    u64::from_le_bytes(bytes[place..place + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(additions: &[(usize, u64, u64, u64)], now: u64) {
        let mut ledger = Ledger::new(100);
        for &(pair, id, found, added) in additions {
            ledger.enter(Addition { pair, id, found, added });
        }
        ledger.check(now, "word");
    }

    #[test]
    fn additions_in_any_order_of_the_queue_pairs_are_good() {
        check(&[], 100);
        check(&[(0, 3, 100, 5), (1, 9, 112, 1), (0, 4, 105, 7)], 113);
    }

    #[test]
    #[should_panic(expected = "out of order")]
    fn additions_of_one_queue_pair_do_not_overtake() {
        check(&[(0, 4, 100, 5), (0, 3, 105, 7)], 112);
    }

    #[test]
    #[should_panic(expected = "1 additions found what nobody left")]
    fn an_addition_that_counts_twice_is_found() {
        check(&[(0, 3, 100, 5), (1, 9, 110, 1)], 111);
    }

    #[test]
    #[should_panic(expected = "not every addition counted once")]
    fn an_addition_that_is_lost_is_found() {
        check(&[(0, 3, 100, 5)], 100);
    }
}
