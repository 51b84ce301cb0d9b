//! Frames on their way out: taken in beats, checked, and sent at the rate of the wire.

use std::collections::VecDeque;

use stroma_verilate::Pause;

use super::pins::{BEAT, MacBeat};
use super::wire::{AFTER, BEFORE, BYTE, Frame, PER_EDGE};

/// Bytes that wait inside the MAC.
const ROOM: usize = 1024;
/// Bytes of the shortest frame without FCS.
const SHORTEST: usize = 60;

#[derive(Debug, Default)]
pub(crate) struct Transmit {
    /// The frame that is being taken.
    frame: Vec<u8>,
    is_inside: bool,
    held: Option<MacBeat>,
    /// Whole frames that wait for the wire, then those that have left it.
    waiting: VecDeque<Frame>,
    sent: VecDeque<Frame>,
    /// What of the first that waits, and of what stands around it, has left.
    gone: u64,
    pub(crate) stalls: Pause,
    /// Cycles in which a beat waited.
    pub(crate) stalled: u64,
}

impl Transmit {
    pub(crate) fn takes(&self, edge: u64) -> bool {
        let waiting: usize = self.waiting.iter().map(|frame| frame.bytes.len()).sum();
        // The wire takes a frame's bytes as they come, so that a long one never fills the MAC by itself.
        (self.is_inside || waiting < ROOM) && !self.stalls.at(edge)
    }

    /// One cycle of `tx_axis`.
    ///
    /// # Panics
    /// When a rule is broken.
    pub(crate) fn take(&mut self, offered: Option<&MacBeat>, ready: bool) {
        if let Some(held) = &self.held {
            assert_eq!(
                offered,
                Some(held),
                "tx_axis: a beat that was offered has to stay as it is until it is taken"
            );
        }
        assert!(
            offered.is_some() || !self.is_inside,
            "tx_axis: tvalid falls inside a frame, which spoils it"
        );
        self.held = offered.filter(|_| !ready).copied();
        self.stalled += u64::from(self.held.is_some());
        let Some(beat) = offered.filter(|_| ready) else { return };
        let bytes = beat.keep.trailing_ones() as usize;
        assert!(
            bytes > 0 && beat.keep.checked_shr(beat.keep.trailing_ones()).unwrap_or(0) == 0,
            "tx_axis: tkeep {:#018x} has a hole",
            beat.keep
        );
        assert!(
            beat.last || bytes == BEAT,
            "tx_axis: tkeep {:#018x} in a beat that is not the last",
            beat.keep
        );
        self.is_inside = !beat.last;
        self.frame.extend(beat.data.iter().flat_map(|word| word.to_le_bytes()).take(bytes));
        if beat.last {
            let bytes = std::mem::take(&mut self.frame);
            assert!(bytes.len() >= SHORTEST, "tx_axis: a frame of {} bytes may lock up the MAC", bytes.len());
            self.waiting.push_back(Frame { bytes, is_bad: beat.user });
        }
    }

    /// The wire takes what it can in one cycle, while it may.
    pub(crate) fn send(&mut self, is_enabled: bool) {
        let Some(frame) = self.waiting.front().filter(|_| is_enabled || self.gone > 0) else {
            self.gone = 0;
            return;
        };
        let whole = (BEFORE + frame.bytes.len() as u64 + AFTER) * BYTE;
        self.gone += PER_EDGE;
        if self.gone >= whole {
            // What is left of the cycle belongs to the next frame, if there is one.
            self.gone = if is_enabled { self.gone - whole } else { 0 };
            self.sent.extend(self.waiting.pop_front());
        }
    }

    pub(crate) fn sent(&mut self) -> Option<Frame> {
        self.sent.pop_front()
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.sent.is_empty() && !self.is_inside
    }
}
