//! The processor's side of the BARs: stores that are on their way, loads that wait for their value.
//!
//! Accesses reach the card in the order they were made. Stores are posted: they arrive after a while, and the processor
//! goes on. A load follows every store before it, and its value takes half a round trip back.

use std::collections::VecDeque;

use super::timing::Timing;

/// A store or a load, as it arrives at the card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Bytes for an aligned word of eight.
    Store {
        /// Byte in the card's register space; a multiple of eight.
        address: u64,
        /// The word.
        data: u64,
        /// Which of its bytes are stored.
        strobe: u8,
    },
    /// A word, or its high half.
    Load {
        /// Byte in the card's register space; a multiple of four.
        address: u64,
    },
}

/// Accesses to one card.
#[derive(Clone, Debug)]
pub struct Bars {
    store_cycles: u64,
    half_load_cycles: u64,
    /// What is under way, with the cycle in which it arrives.
    queue: VecDeque<(u64, Access)>,
    /// The value of the load under way, with the cycle in which the processor has it.
    value: Option<(u64, u64)>,
}

impl Bars {
    /// No access is under way.
    #[must_use]
    pub fn new(timing: &Timing, clock_khz: u32) -> Self {
        Self {
            store_cycles: Timing::cycles(timing.store_ns, clock_khz),
            half_load_cycles: Timing::cycles(timing.load_ns, clock_khz).div_ceil(2),
            queue: VecDeque::new(),
            value: None,
        }
    }

    /// Forgets what is under way, as a reset of the link does.
    pub fn reset(&mut self) {
        self.queue.clear();
        self.value = None;
    }

    /// Makes an access in cycle `now`.
    pub fn push(&mut self, now: u64, access: Access) {
        let latency = match access {
            Access::Store { .. } => self.store_cycles,
            Access::Load { .. } => self.half_load_cycles,
        };
        // Nothing overtakes what was made before.
        let due = self.queue.back().map_or(0, |(due, _)| *due).max(now + latency);
        self.queue.push_back((due, access));
    }

    /// The access that has arrived by `now`, taken off the queue.
    pub fn arrived(&mut self, now: u64) -> Option<Access> {
        self.queue.pop_front_if(|(due, _)| *due <= now).map(|(_, access)| access)
    }

    /// The card's answer to a load.
    pub fn answer(&mut self, now: u64, value: u64) {
        self.value = Some((now + self.half_load_cycles, value));
    }

    /// The value of the load, once the processor has it.
    pub fn value(&mut self, now: u64) -> Option<u64> {
        self.value.take_if(|(due, _)| *due <= now).map(|(_, value)| value)
    }

    /// Accesses on their way to the card.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.queue.len()
    }

    /// The first cycle from `now` on in which something arrives at either end.
    #[must_use]
    pub fn next_due(&self, now: u64) -> Option<u64> {
        let value = self.value.map(|(due, _)| due);
        self.queue.front().map(|(due, _)| *due).into_iter().chain(value).min().map(|due| due.max(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_arrive_in_order_and_after_their_latency() {
        let mut bars = Bars::new(&Timing::ALVEO_GEN3X16, 250_000);
        let store = Access::Store { address: 8, data: 7, strobe: 0xff };
        bars.push(10, Access::Load { address: 0 });
        bars.push(11, store);
        bars.push(12, store);
        assert_eq!(bars.next_due(12), Some(123));
        assert_eq!(bars.arrived(122), None);
        assert_eq!(bars.arrived(123), Some(Access::Load { address: 0 }));
        assert_eq!(bars.arrived(123), Some(store), "350 ns are 88 cycles, but the load is ahead");
        assert_eq!(bars.next_due(124), Some(124));
        bars.answer(130, 42);
        assert_eq!((bars.value(242), bars.value(243), bars.value(244)), (None, Some(42), None));
    }
}
