//! What leaves and enters a card's network port, frame by frame, with the time.

use std::time::Duration;

use stroma_verilate::{Pause, PortId};

use super::Card;
use crate::pcap::{self, Direction};

/// A frame that has left a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The cycle of its first beat.
    pub begun: u64,
    /// The cycle of its last beat.
    pub ended: u64,
    /// The frame without FCS.
    pub bytes: Vec<u8>,
    /// The card marked it bad.
    pub bad: bool,
}

/// A file that frames go to, until one does not fit.
struct Capture {
    writer: pcap::Writer,
    error: Option<pcap::Error>,
}

/// The state of a card's network port.
pub(super) struct Wire {
    /// `valid` of the streams that come out of the front ends.
    offers: [PortId; 3],
    /// Beats that left.
    pub(super) beats: usize,
    /// A frame that is leaving: the cycle of its first beat, and what has left of it.
    leaving: Option<(u64, Vec<u8>)>,
    sent: Vec<Sent>,
    stall: Pause,
    is_held: bool,
    capture: Option<Capture>,
}

impl Wire {
    pub(super) fn new(offers: [PortId; 3]) -> Self {
        Self {
            offers,
            beats: 0,
            leaving: None,
            sent: Vec::new(),
            stall: Pause::None,
            is_held: false,
            capture: None,
        }
    }

    /// Forgets the frame that was leaving: its end will not come.
    pub(super) fn reset(&mut self) {
        self.leaving = None;
    }
}

impl Card {
    /// Does the card offer something at a port that nobody takes? To the card that is quiet, but who refuses may change his
    /// mind in any cycle.
    pub(super) fn is_refused(&self) -> bool {
        self.wire.offers.iter().any(|valid| self.bench.model().get(*valid) == 1)
    }

    /// Looks at the network port after the cycle `now`.
    pub(super) fn watch_wire(&mut self, now: u64) {
        let Self { bench, wire, .. } = self;
        if bench[self.mac_out].received().is_empty() {
            return;
        }
        let width = self.profile.data_bits() / 8;
        for beat in bench[self.mac_out].take() {
            wire.beats += 1;
            let (data, rest) = beat.split_at(width / 4);
            let (keep, flags) = rest.split_at(width.div_ceil(32));
            let count: u32 = keep.iter().map(|word| word.count_ones()).sum();
            let (begun, mut bytes) = wire.leaving.take().unwrap_or((now, Vec::new()));
            bytes.extend(data.iter().flat_map(|word| word.to_le_bytes()).take(count as usize));
            if flags[0] == 1 {
                let bad = flags[1] == 1;
                record(&mut wire.capture, time(now, self.profile.clock_khz()), Direction::Out, &bytes, bad);
                wire.sent.push(Sent { begun, ended: now, bytes, bad });
            } else {
                wire.leaving = Some((begun, bytes));
            }
        }
    }

    /// Frames that have left since the last call, of this or of [`frames`](Self::frames).
    pub fn take_sent(&mut self) -> Vec<Sent> {
        std::mem::take(&mut self.wire.sent)
    }

    /// Is the MAC unable to take more from the card? On top of the pattern of [`pause`](Self::pause).
    pub(crate) fn hold(&mut self, hold: bool) {
        if self.wire.is_held != hold {
            self.wire.is_held = hold;
            let pause = if hold { Pause::Always } else { self.wire.stall.clone() };
            self.bench[self.mac_out].pause(pause);
        }
    }

    /// Chooses when the network port refuses, if it is not held anyway.
    pub(super) fn stall(&mut self, stall: &Pause) {
        self.wire.stall = stall.clone();
        if !self.wire.is_held {
            self.bench[self.mac_out].pause(stall.clone());
        }
    }

    /// Records frames of the network port from now on, both ways: one out with its last beat, one in as it is handed to the
    /// card.
    pub fn start_capture(&mut self, writer: pcap::Writer) {
        self.wire.capture = Some(Capture { writer, error: None });
    }

    /// Ends the recording and closes the file.
    ///
    /// # Errors
    /// When a frame could not be written; those after it are not in the file.
    pub fn finish_capture(&mut self) -> Result<(), pcap::Error> {
        match self.wire.capture.take() {
            Some(Capture { error: Some(error), .. }) => Err(error),
            Some(Capture { writer, .. }) => writer.finish(),
            None => Ok(()),
        }
    }

    pub(super) fn record_received(&mut self, bytes: &[u8], bad: bool) {
        let now = time(self.cycle(), self.profile.clock_khz());
        record(&mut self.wire.capture, now, Direction::In, bytes, bad);
    }
}

/// A cycle as a time, rounded down to nanoseconds.
fn time(cycle: u64, clock_khz: u32) -> Duration {
    let nanoseconds = u128::from(cycle) * 1_000_000 / u128::from(clock_khz);
    Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
}

fn record(capture: &mut Option<Capture>, time: Duration, direction: Direction, bytes: &[u8], bad: bool) {
    if let Some(Capture { writer, error: error @ None }) = capture {
        *error = writer.record(time, direction, bad, bytes).err();
    }
}
