//! When things moved.

/// The cycles in which things moved.
#[derive(Clone, Debug, Default)]
pub struct Moves {
    /// Commands taken.
    pub commands: Vec<u64>,
    /// Beats of payload.
    pub payload: Vec<u64>,
    /// Reads asked for.
    pub reads: Vec<u64>,
    /// Last beats of what was read.
    pub read_ends: Vec<u64>,
    /// All of its beats.
    pub beats_in: Vec<u64>,
    /// Writes, and the bytes of each.
    pub writes: Vec<(u64, usize)>,
    /// Beats of what is written.
    pub write_beats: Vec<u64>,
    /// Writes told of.
    pub writes_done: Vec<u64>,
    /// Beats of answers.
    pub beats_out: Vec<u64>,
    /// Responses.
    pub responses: Vec<u64>,
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
