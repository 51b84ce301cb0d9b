//! The wall clock beside the simulated one.
//!
//! Timers on the card are simulated, and those of somebody outside are not. If simulated time ran faster than the wall clock,
//! the card would take a peer for dead that is merely slow. So no stretch of simulated time is shorter on the wall clock than
//! it says, however long the simulation lagged before: time that was lost stays lost.

use std::thread;
use std::time::{Duration, Instant};

/// How long the world sleeps at a time when nothing happens in it: an answer from outside is not late by more.
const NAP: Duration = Duration::from_micros(50);

/// How far simulated time may go.
pub(super) struct Pace {
    clock_khz: u32,
    /// When the wall clock was looked at last.
    looked: Instant,
}

impl Pace {
    pub(super) fn new(clock_khz: u32) -> Self {
        Self { clock_khz, looked: Instant::now() }
    }

    /// The cycle to go to, at most `due`, from `now` on: no farther than wall time has passed since the last call. Nothing
    /// happens before `due`, so a processor that is wanted elsewhere is given up meanwhile; slept is only when there is time
    /// for it, for it takes longer to wake up than most accesses of a host do.
    pub(super) fn admit(&mut self, now: u64, due: u64) -> u64 {
        if self.cycles(NAP) < due - now {
            thread::sleep(NAP);
        }
        loop {
            let passed = self.passed(now, due);
            if passed > now {
                return passed;
            }
            thread::yield_now();
        }
    }

    /// The same without waiting: perhaps no farther than `now`.
    pub(super) fn passed(&mut self, now: u64, due: u64) -> u64 {
        let cycles = self.cycles(self.looked.elapsed());
        if cycles > 0 {
            self.looked = Instant::now();
        }
        due.min(now.saturating_add(cycles))
    }

    fn cycles(&self, wall: Duration) -> u64 {
        u64::try_from(wall.as_nanos() * u128::from(self.clock_khz) / 1_000_000).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_stretch_of_time_is_shorter_on_the_wall_clock() {
        let mut pace = Pace::new(250_000);
        // Ten milliseconds are 2.5 million cycles; a lag before them is not made up for.
        thread::sleep(Duration::from_millis(20));
        pace.admit(0, 1);
        let (started, mut now) = (Instant::now(), 0);
        while now < 2_500_000 {
            now = pace.admit(now, 2_500_000);
        }
        assert!(started.elapsed() >= Duration::from_micros(9_990), "{:?}", started.elapsed());
    }

    #[test]
    fn time_never_goes_beyond_what_is_due() {
        let mut pace = Pace::new(156_250);
        thread::sleep(Duration::from_millis(1));
        assert_eq!(pace.admit(100, 101), 101);
        thread::sleep(Duration::from_millis(1));
        assert_eq!(pace.admit(101, 150), 150);
    }
}
