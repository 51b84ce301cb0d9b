//! When things moved.

/// The cycles in which things moved.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moves {
    pub(crate) commands: Vec<u64>,
    /// Beats of payload.
    pub(crate) payload: Vec<u64>,
    pub(crate) reads: Vec<u64>,
    /// Last beats of what was read.
    pub(crate) read_ends: Vec<u64>,
    /// All of its beats.
    pub(crate) beats_in: Vec<u64>,
    /// Writes, and the bytes of each.
    pub(crate) writes: Vec<(u64, usize)>,
    pub(crate) write_beats: Vec<u64>,
    pub(crate) writes_done: Vec<u64>,
    pub(crate) beats_out: Vec<u64>,
    pub(crate) responses: Vec<u64>,
}

impl Moves {
    pub(super) fn count(&self) -> usize {
        let cycles = [
            &self.commands,
            &self.payload,
            &self.reads,
            &self.beats_in,
            &self.write_beats,
            &self.writes_done,
            &self.beats_out,
            &self.responses,
        ];
        self.writes.len() + cycles.map(Vec::len).iter().sum::<usize>()
    }
}
