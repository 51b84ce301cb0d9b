//! Frames on their way in: beats as they come off the wire, with idle ones inside, or in one go at the frame's end.

use std::collections::VecDeque;

use stroma_verilate::SplitMix64;

use super::pins::{BEAT, MacBeat};
use super::wire::{AFTER, BEFORE, BYTE, Frame, PER_EDGE};

#[derive(Debug)]
struct Arriving {
    beats: Vec<MacBeat>,
    /// The first edge in which the next beat can be shown, for each.
    due: VecDeque<u64>,
}

#[derive(Debug)]
pub(crate) struct Receive {
    random: SplitMix64,
    arriving: VecDeque<Arriving>,
    /// When the wire is free again, in ten-thousandths of a byte since the start.
    taken_until: u64,
}

fn beats(frame: &Frame) -> Vec<MacBeat> {
    let count = frame.bytes.len().div_ceil(BEAT);
    let cut = frame.bytes.chunks(BEAT).enumerate();
    cut.map(|(at, bytes)| {
        let mut padded = [0; BEAT];
        padded[..bytes.len()].copy_from_slice(bytes);
        let mut data = [0; 16];
        for (word, bytes) in data.iter_mut().zip(padded.chunks(4)) {
            *word = u32::from_le_bytes(bytes.try_into().expect("four bytes"));
        }
        let last = at + 1 == count;
        MacBeat { data, keep: u64::MAX >> (BEAT - bytes.len()), last, user: last && frame.is_bad }
    })
    .collect()
}

impl Receive {
    pub(crate) fn new(seed: u64) -> Self {
        Self { random: SplitMix64::new(seed), arriving: VecDeque::new(), taken_until: 0 }
    }

    /// The wire begins to bring a frame, as soon as it is free.
    ///
    /// # Panics
    /// When there is no frame.
    pub(crate) fn arrive(&mut self, edge: u64, frame: &Frame) {
        assert!(!frame.bytes.is_empty(), "a frame without bytes");
        let start = self.taken_until.max(edge * PER_EDGE) + BEFORE * BYTE;
        let length = frame.bytes.len() as u64;
        self.taken_until = start + (length + AFTER) * BYTE;
        let beats = beats(frame);
        let count = beats.len() as u64;
        // The last beat waits for the FCS.
        let end = (start + (length + 4) * BYTE).div_ceil(PER_EDGE);
        let in_one_go = self.random.below(2) == 0;
        let due = (0..count).map(|at| {
            let at_once = end.saturating_sub(count - 1 - at);
            let come = (start + (BEAT as u64 * (at + 1)).min(length) * BYTE).div_ceil(PER_EDGE);
            if at + 1 == count {
                end
            } else if in_one_go {
                at_once
            } else {
                come
            }
        });
        self.arriving.push_back(Arriving { due: due.collect(), beats });
    }

    /// The beat of the cycle that this edge begins.
    pub(crate) fn cycle(&mut self, edge: u64) -> Option<MacBeat> {
        let frame = self.arriving.front_mut()?;
        frame.due.pop_front_if(|due| *due <= edge)?;
        let at = frame.beats.len() - frame.due.len() - 1;
        let beat = frame.beats[at];
        if beat.last {
            self.arriving.pop_front();
        }
        Some(beat)
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.arriving.is_empty()
    }
}
