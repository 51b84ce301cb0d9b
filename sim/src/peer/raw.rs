//! A peer that sends what it is given and keeps what it gets.

use std::collections::VecDeque;

use super::Peer;

/// A frame that has arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// The cycle by which its last bit was there.
    pub cycle: u64,
    /// The frame without FCS.
    pub bytes: Vec<u8>,
    /// Its FCS is wrong.
    pub bad: bool,
}

/// Frames as they are: nothing is read in them.
#[derive(Debug, Default)]
pub struct Raw {
    waiting: VecDeque<Vec<u8>>,
    arrived: Vec<Arrived>,
}

impl Raw {
    /// Queues a frame without FCS.
    pub fn send(&mut self, frame: Vec<u8>) {
        self.waiting.push_back(frame);
    }

    /// What has arrived since the last [`take`](Self::take).
    #[must_use]
    pub fn arrived(&self) -> &[Arrived] {
        &self.arrived
    }

    /// The same, to keep.
    pub fn take(&mut self) -> Vec<Arrived> {
        std::mem::take(&mut self.arrived)
    }
}

impl Peer for Raw {
    fn receive(&mut self, now: u64, frame: &[u8], bad: bool) {
        self.arrived.push(Arrived { cycle: now, bytes: frame.to_vec(), bad });
    }

    fn transmit(&mut self, _now: u64) -> Option<Vec<u8>> {
        self.waiting.pop_front()
    }

    fn tick(&mut self, _now: u64) {}

    fn next_due(&self, now: u64) -> Option<u64> {
        (!self.waiting.is_empty()).then_some(now)
    }
}
