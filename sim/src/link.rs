//! A link: one direction of an Ethernet cable, with its rate, its delay, its queue and its faults.
//!
//! A [`Line`] is the sending half: frames wait their turn, take as long as the rate says, and depart. [`Flights`] is the
//! receiving half: what is under way, until the last bit is there. [`Link`] is both. They are apart because two cards that
//! run side by side each hold one half of a link, and hand over in between.
//!
//! All of it is a function of what was pushed when: how often somebody looks changes nothing.

mod ecn;
mod faults;
mod flights;
mod line;
pub mod pause;
pub mod script;

use stroma_top::Profile;

pub use faults::{Chance, Faults, Hold, PATIENCE_NS, Script, Verdict, nth};
pub use flights::{Behind, Departure, Flights};
pub use line::{Counters, Line};

/// Preamble and start of frame, in bytes.
const PREAMBLE: usize = 8;
/// Frame check sequence, in bytes.
const FCS: usize = 4;
/// Least bytes between two frames.
const GAP: usize = 12;
/// Shortest frame with its FCS; shorter ones are padded on the wire.
const FRAME_MIN: usize = 64;

/// Bytes of a frame on the wire, from the preamble to the FCS; `length` is without FCS.
fn line_bytes(length: usize) -> usize {
    PREAMBLE + (length + FCS).max(FRAME_MIN)
}

/// How a link carries frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkConfig {
    /// Bits of the wire in a microsecond: preamble, FCS, gap and padding take their share.
    pub megabits: u32,
    /// From the last bit's departure to its arrival, in nanoseconds.
    pub delay_ns: u32,
    /// Bytes of frames that may wait; a frame that does not fit is dropped and counted.
    pub queue_bytes: usize,
    /// ECN: a frame that finds at least so many bytes waiting is marked, if its sender allows.
    pub mark_bytes: Option<usize>,
    /// Does the sender stop when the far end sends a pause frame (802.3x, or PFC)? If not, such frames are like others.
    pub honours_pause: bool,
}

impl LinkConfig {
    /// A cable between two cards of a profile: its line rate; 350 ns for both MACs, PHYs and the cable.
    #[must_use]
    pub const fn cable(profile: Profile) -> Self {
        let megabits = match profile {
            Profile::TenGig => 10_000,
            Profile::HundredGig => 100_000,
        };
        Self { megabits, delay_ns: 350, queue_bytes: 1 << 20, mark_bytes: None, honours_pause: false }
    }
}

/// One direction of a cable.
pub struct Link {
    /// The sender's half.
    pub line: Line,
    /// The receiver's half.
    pub flights: Flights,
}

impl Link {
    /// An idle link; cycles are those of a clock of so many kHz.
    #[must_use]
    pub fn new(config: LinkConfig, clock_khz: u32, faults: Faults) -> Self {
        Self { line: Line::new(config, clock_khz, faults), flights: Flights::default() }
    }

    /// Sends a frame without FCS that was whole in cycle `now`; `bad` says that its FCS is wrong from the start.
    pub fn push(&mut self, now: u64, bytes: Vec<u8>, bad: bool) {
        self.line.push(now, now, bytes, bad);
    }

    /// The next frame that has arrived by cycle `now`, and whether its FCS is wrong.
    pub fn pop(&mut self, now: u64) -> Option<(Vec<u8>, bool)> {
        for departure in self.line.departures(now) {
            self.flights.insert(departure);
        }
        self.flights.pop(now)
    }

    /// The first cycle in which a frame can arrive, if any is under way.
    #[must_use]
    pub fn next_due(&self) -> Option<u64> {
        self.line.next_due().into_iter().chain(self.flights.next_due()).min()
    }
}

#[cfg(test)]
mod tests;
