//! How the connections and hosts of a run are set up.

use stroma_sim::host::timing::Timing;
use stroma_verilate::SplitMix64;

use super::{OPEN, below};

/// What both ends of a run are told, and how long its hosts take: the usual, or drawn from a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    drawn: Option<Draw>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Draw {
    seed: u64,
    /// Nothing is lost on the wire, so nobody needs a retry or a timer.
    is_perfect: bool,
}

/// One end of a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairTerms {
    /// Path MTU in bytes, the same at both ends.
    pub mtu: u32,
    /// Operations it has open at most.
    pub open: usize,
    /// READs and atomics it has in flight at most.
    pub reads: u8,
    /// Code of the wait for an answer; 0: for ever.
    pub timeout: u8,
    /// Requests are repeated as often.
    pub retry: u8,
    /// Timer code of its RNR NAKs.
    pub min_rnr: u8,
}

/// Code of the usual wait: 4.2 ms, in which all queue pairs at once have their turn, on the slower line as well.
pub(super) const TIMEOUT: u8 = 10;
/// READs and atomics that either end takes.
pub(super) const READS: u8 = 16;
/// Nanoseconds of a read of host memory, and how many go at once: slow hosts have many under way, or a run would take minutes.
const READS_OF_HOSTS: [(u32, usize); 4] = [(200, 4), (900, 32), (3000, 32), (20_000, 32)];

impl Terms {
    /// Those of most tests.
    pub const USUAL: Self = Self { drawn: None };

    /// Drawn from a seed. Where the wire loses nothing, half of the queue pairs have no retries, and half no timer.
    pub fn drawn(seed: u64, is_perfect: bool) -> Self {
        Self { drawn: Some(Draw { seed, is_perfect }) }
    }

    /// Of one end of a queue pair.
    pub fn of(&self, end: usize, pair: usize) -> PairTerms {
        let min_rnr = 1 + u8::try_from(pair % 3).expect("small");
        let usual = PairTerms {
            mtu: 256 << (pair % 5),
            open: OPEN,
            reads: READS,
            timeout: TIMEOUT,
            retry: 7,
            min_rnr,
        };
        let Some(Draw { seed, is_perfect }) = self.drawn else { return usual };
        let mtu = 256 << SplitMix64::new(!seed ^ (pair as u64) << 32).below(5);
        let mut random = SplitMix64::new(seed ^ ((2 * pair + end + 1) as u64) << 40);
        let mut one_of = |codes: &[u8]| codes[below(&mut random, codes.len())];
        // 67 ms are longer than all that waits before it on the slower line, so that no retry is used up for nothing.
        let (timeout, retry) = if is_perfect {
            (one_of(&[0, 0, 14, 15]), one_of(&[0, 0, 1, 7]))
        } else {
            (one_of(&[10, 11, 12]), 7)
        };
        let (reads, min_rnr) = (one_of(&[1, 2, 5, 16]), one_of(&[1, 2, 3, 8]));
        let open = 1 + below(&mut random, OPEN);
        PairTerms { mtu, open, reads, timeout, retry, min_rnr }
    }

    /// Of the hosts; `None`: the usual.
    pub fn timing(&self) -> Option<Timing> {
        let Draw { seed, .. } = self.drawn?;
        let mut random = SplitMix64::new(seed);
        let (read_ns, reads) = READS_OF_HOSTS[below(&mut random, READS_OF_HOSTS.len())];
        let write_ns = [100, 450, 2000][below(&mut random, 3)];
        Some(Timing { name: "drawn", read_ns, reads, write_ns, ..Timing::ALVEO_GEN3X16 })
    }

    /// Are receives posted in time? Where messages find none, RNR NAKs put them off.
    pub fn is_ready(&self, is_usual: bool) -> bool {
        self.drawn.map_or(is_usual, |Draw { seed, is_perfect }| is_perfect && seed.is_multiple_of(2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::PAIRS;

    #[test]
    fn no_retry_and_no_timer_are_drawn_for_perfect_wires_alone_and_both_ends_have_one_mtu() {
        let (mut without, mut mtus) = ([0, 0], std::collections::BTreeSet::new());
        for seed in 0..64 {
            for pair in 0..PAIRS {
                let [one, other] = [0, 1].map(|end| Terms::drawn(seed, true).of(end, pair));
                assert_eq!(one.mtu, other.mtu);
                mtus.insert(one.mtu);
                without[0] += u32::from(one.retry == 0 && one.timeout == 0);
                without[1] += u32::from(one.open < 4 && one.reads > 4);
                let bad = Terms::drawn(seed, false).of(0, pair);
                assert!(bad.retry == 7 && bad.timeout > 0, "{bad:?}");
            }
        }
        assert!(without.iter().all(|count| *count > 20), "{without:?}");
        assert_eq!(mtus.into_iter().collect::<Vec<_>>(), [256, 512, 1024, 2048, 4096]);
    }
}
