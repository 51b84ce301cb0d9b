//! A wire that leads back: what a card sends comes back to it. So one card is both ends of a connection.

use std::collections::VecDeque;

use stroma_sim::peer::Peer;

/// Returns every frame as it came.
#[derive(Default)]
pub(crate) struct Mirror {
    waiting: VecDeque<Vec<u8>>,
}

impl Peer for Mirror {
    fn receive(&mut self, _now: u64, frame: &[u8], _bad: bool) {
        self.waiting.push_back(frame.to_vec());
    }

    fn transmit(&mut self, _now: u64) -> Option<Vec<u8>> {
        self.waiting.pop_front()
    }

    fn tick(&mut self, _now: u64) {}

    fn next_due(&self, now: u64) -> Option<u64> {
        (!self.waiting.is_empty()).then_some(now)
    }
}
