//! The write engine in plain Rust: what reaches host memory, and in which bursts.

use std::collections::BTreeMap;

use crate::host::axi::burst_bytes;

/// One burst: the address of its first beat, and its beats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Of the first beat.
    pub addr: u64,
    /// How many, 1 to 256.
    pub beats: u64,
}

/// The bursts that write `len` bytes at `iova`, byte by byte: a beat not seen before joins the burst under way, unless it
/// lies behind a multiple of [`burst_bytes`].
#[must_use]
pub fn runs(iova: u64, len: u64, beat_bytes: usize) -> Vec<Run> {
    let (beat_bytes, burst_bytes) = (beat_bytes as u64, burst_bytes(beat_bytes) as u64);
    let mut runs: Vec<Run> = Vec::new();
    for byte in iova..iova + len {
        let beat = byte - byte % beat_bytes;
        match runs.last_mut() {
            Some(run) if byte < run.addr + run.beats * beat_bytes => {}
            Some(run) if !beat.is_multiple_of(burst_bytes) => run.beats += 1,
            _ => runs.push(Run { addr: beat, beats: 1 }),
        }
    }
    runs
}

/// Memory after writes of these bytes at these addresses, one after the other.
#[must_use]
pub fn image(writes: &[(u64, Vec<u8>)]) -> BTreeMap<u64, u8> {
    writes.iter().flat_map(|(addr, bytes)| (*addr..).zip(bytes.iter().copied())).collect()
}
