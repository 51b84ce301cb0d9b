//! What a run is to be.

/// What is posted, when, and on what wire.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// All that is random comes from it.
    pub seed: u64,
    /// Operations of both sides together.
    pub operations: u64,
    /// When receives are posted.
    pub receivers: Receivers,
    /// What the wire does to the order of frames.
    pub wire: Wire,
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
