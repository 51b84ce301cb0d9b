//! One direction of a bad wire, the same for the same seed.

use std::collections::BTreeMap;

use stroma_verilate::SplitMix64;

/// How many frames of a thousand suffer what.
#[derive(Clone, Copy, Default)]
pub(super) struct Faults {
    pub(super) loss: u64,
    pub(super) duplication: u64,
    pub(super) reordering: u64,
    pub(super) corruption: u64,
}

/// Ticks a frame takes.
const DELAY: u64 = 20;
/// Most ticks a reordered or repeated frame takes more.
const LATE: u64 = 60;

pub(super) struct Channel {
    random: SplitMix64,
    faults: Faults,
    flying: BTreeMap<(u64, u64), Vec<u8>>,
    count: u64,
}

impl Channel {
    pub(super) fn new(seed: u64, faults: Faults) -> Self {
        Self { random: SplitMix64::new(seed), faults, flying: BTreeMap::new(), count: 0 }
    }

    fn happens(&mut self, per_mille: u64) -> bool {
        self.random.next_u64() % 1000 < per_mille
    }

    pub(super) fn send(&mut self, now: u64, mut frame: Vec<u8>) {
        let faults = self.faults;
        if self.happens(faults.loss) {
            return;
        }
        let later = |random: &mut SplitMix64| now + DELAY + 1 + random.next_u64() % LATE;
        if self.happens(faults.duplication) {
            let at = later(&mut self.random);
            self.fly(at, frame.clone());
        }
        if self.happens(faults.corruption) {
            let bit = usize::try_from(self.random.next_u64()).unwrap_or(0) % (frame.len() * 8);
            frame[bit / 8] ^= 1 << (bit % 8);
        }
        let at = if self.happens(faults.reordering) { later(&mut self.random) } else { now + DELAY };
        self.fly(at, frame);
    }

    fn fly(&mut self, at: u64, frame: Vec<u8>) {
        self.count += 1;
        self.flying.insert((at, self.count), frame);
    }

    /// The frame sent last never arrives.
    pub(super) fn lose_newest(&mut self) {
        self.flying.retain(|(_, count), _| *count != self.count);
    }

    pub(super) fn arrive(&mut self, now: u64) -> Option<Vec<u8>> {
        let first = self.flying.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }

    pub(super) fn next(&self) -> Option<u64> {
        self.flying.keys().next().map(|(at, _)| *at)
    }
}
