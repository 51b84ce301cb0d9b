//! What a run is to be.

use super::{Services, Terms};

/// What is posted, when, and on what wire.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// All that is random comes from it.
    pub seed: u64,
    /// Operations of both sides together.
    pub operations: u64,
    /// What queue pairs promise.
    pub services: Services,
    /// When receives are posted.
    pub receivers: Receivers,
    /// What the wire does to the order of frames.
    pub wire: Wire,
    /// How connections are set up.
    pub terms: Terms,
}

impl Plan {
    /// May messages of a queue pair be lost in this run? Where the wire loses none and each finds a receive, they are not.
    pub fn loses(&self, pair: usize) -> bool {
        let is_perfect = self.wire == Wire::InOrder && self.receivers == Receivers::Ready;
        self.services.of(pair).loses() && !is_perfect
    }
}

/// When receives are posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receivers {
    /// Before the messages that need them: no side ever is not ready.
    Ready,
    /// At any time, so that some messages find none.
    Late,
}

/// What a wire does to the order of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// Those that arrive do so as they left.
    InOrder,
    /// A frame may be overtaken by what was sent when it seemed to have been answered.
    Unruly,
}
