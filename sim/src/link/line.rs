//! The sending half of a link: a queue, a rate, and what goes wrong on the way.

use std::collections::VecDeque;

use super::faults::{Fate, Faults, Judge};
use super::flights::Departure;
use super::pause::{Classes, PauseFrame, class_of};
use super::script::{Rules, ScriptError};
use super::{GAP, LinkConfig, ecn, line_bytes};

/// Bit times in which a pause is counted.
const QUANTUM_BITS: u64 = 512;

/// What became of the frames of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Given to the line.
    pub pushed: u64,
    /// Dropped, because the queue was full.
    pub overflowed: u64,
    /// Marked by ECN.
    pub marked: u64,
    /// Left the queue, whatever happened to them afterwards.
    pub departed: u64,
    /// Lost on the way.
    pub lost: u64,
    /// Arrive twice.
    pub duplicated: u64,
    /// Held back.
    pub held: u64,
    /// Arrive with a bit flipped.
    pub corrupted: u64,
    /// Pause frames obeyed.
    pub paused: u64,
}

/// A frame that waits for its turn. Times are in the line's units.
struct Waiting {
    bytes: Vec<u8>,
    bad: bool,
    class: usize,
    /// Its first byte was there.
    begun: u64,
    /// Its last byte was there: its last bit leaves no earlier.
    whole: u64,
}

/// The sending half of a link.
///
/// Time is counted in units of which both a cycle and a bit are whole numbers, so that a rate is exact for ever.
pub struct Line {
    config: LinkConfig,
    cycle_units: u64,
    bit_units: u64,
    delay_units: u64,
    judge: Judge,
    clock_khz: u32,
    free_at: u64,
    paused_until: Classes<u64>,
    waiting: VecDeque<Waiting>,
    waiting_bytes: usize,
    departed: Vec<Departure>,
    counters: Counters,
}

fn greatest_common_divisor(left: u64, right: u64) -> u64 {
    if right == 0 { left } else { greatest_common_divisor(right, left % right) }
}

impl Line {
    /// An idle line; cycles are those of a clock of so many kHz.
    ///
    /// # Panics
    /// When rate or clock is 0, or the delay is beyond any clock.
    #[must_use]
    pub fn new(config: LinkConfig, clock_khz: u32, faults: Faults) -> Self {
        assert!(config.megabits > 0 && clock_khz > 0, "a line has a rate and a clock");
        // One bit lasts clock_khz / (1000 * megabits) cycles.
        let (cycle, bit) = (u64::from(config.megabits) * 1000, u64::from(clock_khz));
        let common = greatest_common_divisor(cycle, bit);
        let cycle_units = cycle / common;
        let delay = u128::from(config.delay_ns) * u128::from(clock_khz) * u128::from(cycle_units);
        Self {
            config,
            cycle_units,
            bit_units: bit / common,
            delay_units: u64::try_from(delay.div_ceil(1_000_000)).expect("a delay of seconds at most"),
            judge: Judge::new(faults),
            clock_khz,
            free_at: 0,
            paused_until: Classes::default(),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            departed: Vec::new(),
            counters: Counters::default(),
        }
    }

    /// Chooses what goes wrong from now on; frames are numbered afresh.
    pub fn set_faults(&mut self, faults: Faults) {
        self.judge = Judge::new(faults);
    }

    /// Has frames go wrong from now on as a [script](super::script) says, and not otherwise.
    ///
    /// # Errors
    /// When a line of it is no rule; then nothing changes.
    pub fn set_script(&mut self, text: &str) -> Result<(), ScriptError> {
        let rules: Rules = text.parse()?;
        self.set_faults(Faults { rules, ..Faults::default() });
        Ok(())
    }

    /// How it carries frames.
    #[must_use]
    pub fn config(&self) -> &LinkConfig {
        &self.config
    }

    /// What became of its frames so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Whole cycles that every frame is under way at least: as long, the far end cannot know of it.
    #[must_use]
    pub fn delay_cycles(&self) -> u64 {
        self.delay_units / self.cycle_units
    }

    /// Sends a frame whose first byte came in cycle `begun` and which was whole in cycle `now`. A MAC that sends while it
    /// is still given bytes knows the two apart; for a switch they are the same.
    pub fn push(&mut self, begun: u64, now: u64, mut bytes: Vec<u8>, bad: bool) {
        self.advance(now);
        self.counters.pushed += 1;
        if self.waiting_bytes + bytes.len() > self.config.queue_bytes {
            self.counters.overflowed += 1;
            return;
        }
        if self.config.mark_bytes.is_some_and(|limit| self.waiting_bytes >= limit) && ecn::mark(&mut bytes) {
            self.counters.marked += 1;
        }
        self.waiting_bytes += bytes.len();
        let class = class_of(&bytes);
        let (begun, whole) = (begun * self.cycle_units, now * self.cycle_units);
        self.waiting.push_back(Waiting { bytes, bad, class, begun, whole });
    }

    /// Would a MAC with room for one frame take the first beat of another in cycle `now`?
    pub fn takes(&mut self, now: u64) -> bool {
        self.advance(now);
        self.waiting.is_empty() && self.free_at <= (now + 1) * self.cycle_units
    }

    /// A cycle before which [`takes`](Self::takes) says no, if nobody does anything to the line.
    #[must_use]
    pub fn room_due(&self) -> u64 {
        let end = |(at, start): (usize, u64)| {
            start + self.units(line_bytes(self.waiting[at].bytes.len())) + self.units(GAP)
        };
        self.next().map_or(self.free_at, end).div_ceil(self.cycle_units).saturating_sub(1)
    }

    /// Obeys a pause frame that came from the far end by cycle `now`. The frame on the wire is finished first.
    pub fn pause(&mut self, now: u64, pause: &PauseFrame) {
        self.advance(now);
        self.counters.paused += 1;
        let end = |quanta: u16| now * self.cycle_units + u64::from(quanta) * QUANTUM_BITS * self.bit_units;
        for (until, quanta) in self.paused_until.iter_mut().zip(pause.quanta) {
            *until = quanta.map_or(*until, end);
        }
    }

    /// The first cycle from `now` on in which no class is paused.
    #[must_use]
    pub fn pause_end(&self, now: u64) -> u64 {
        let last = self.paused_until.iter().copied().max().unwrap_or(0);
        last.div_ceil(self.cycle_units).max(now)
    }

    /// Frames that began to leave by cycle `now`, since the last call.
    pub fn departures(&mut self, now: u64) -> Vec<Departure> {
        self.advance(now);
        std::mem::take(&mut self.departed)
    }

    /// The first cycle in which a frame that has not been handed over can arrive.
    #[must_use]
    pub fn next_due(&self) -> Option<u64> {
        let waiting = self.next().map(|(at, start)| self.due(&self.waiting[at], start));
        self.departed.iter().map(|departure| departure.due).chain(waiting).min()
    }

    /// The frame that leaves next, and when it starts, if nobody says pause: the first of those whose class may go soonest.
    fn next(&self) -> Option<(usize, u64)> {
        let start = |frame: &Waiting| self.free_at.max(frame.begun).max(self.paused_until[frame.class]);
        self.waiting.iter().enumerate().map(|(at, frame)| (at, start(frame))).min_by_key(|(_, start)| *start)
    }

    fn units(&self, bytes: usize) -> u64 {
        bytes as u64 * 8 * self.bit_units
    }

    /// The cycle by which the last bit of a frame has arrived.
    fn due(&self, frame: &Waiting, start: u64) -> u64 {
        let end = (start + self.units(line_bytes(frame.bytes.len()))).max(frame.whole);
        (end + self.delay_units).div_ceil(self.cycle_units)
    }

    /// Lets every frame go that starts by cycle `now`.
    fn advance(&mut self, now: u64) {
        while let Some((at, start)) = self.next().filter(|(_, start)| *start <= now * self.cycle_units) {
            let frame = self.waiting.remove(at).expect("the one just found");
            self.waiting_bytes -= frame.bytes.len();
            let due = self.due(&frame, start);
            self.free_at =
                (start + self.units(line_bytes(frame.bytes.len()))).max(frame.whole) + self.units(GAP);
            self.depart(start, due, frame);
        }
    }

    /// Units of time in nanoseconds.
    fn nanoseconds(&self, units: u64) -> u64 {
        let a_millisecond = u128::from(self.cycle_units) * u128::from(self.clock_khz);
        u64::try_from(u128::from(units) * 1_000_000 / a_millisecond).expect("a time of this century")
    }

    fn depart(&mut self, start: u64, due: u64, frame: Waiting) {
        let Waiting { mut bytes, mut bad, .. } = frame;
        let now_ns = self.nanoseconds(start);
        let Fate { is_lost, is_duplicated, is_marked, hold, overtakes, flip } =
            self.judge.judge(&bytes, now_ns);
        self.counters.departed += 1;
        if is_lost {
            self.counters.lost += 1;
            return;
        }
        if let Some(flip) = flip {
            self.counters.corrupted += 1;
            bytes[flip.bit / 8] ^= 1 << (flip.bit % 8);
            bad |= flip.is_caught;
        }
        self.counters.marked += u64::from(is_marked && ecn::mark(&mut bytes));
        self.counters.duplicated += u64::from(is_duplicated);
        self.counters.held += u64::from(hold.is_some());
        let hold = hold.map(|(behind, ns)| {
            let cycles = (u64::from(ns) * u64::from(self.clock_khz)).div_ceil(1_000_000);
            (behind, due + cycles)
        });
        let copies = 1 + usize::from(is_duplicated);
        self.departed.push(Departure { due, bytes, bad, copies, hold, overtakes });
    }
}
