//! Cards on one clock, and the wires between them: all of them make a cycle, then the next. Same start, same seeds, same
//! cycles.

mod station;
mod wiring;

use std::time::Duration;

use stroma_top::Profile;
use stroma_verilate::{Error, Options};

use crate::Card;
use crate::switch::Switch;
use station::Station;

/// Cards of one profile that share a clock.
///
/// Cards are alone at first; [`cable`](Self::cable) and [`switch`](Self::switch) connect them. A frame leaves a card as its
/// MAC takes the beats, and is handed to the next one whole, when its last bit is there.
///
/// Time in which all cards are quiet and their hosts only wait is jumped over: the cycle count goes on as if every cycle
/// had been evaluated, and everything happens in the same cycle as it would have.
pub struct World {
    stations: Vec<Station>,
    /// With the cards on its ports.
    switch: Option<(Switch, Vec<usize>)>,
    is_skipping: bool,
    is_threaded: bool,
    skipped: u64,
}

impl World {
    /// `count` cards, out of reset.
    ///
    /// # Errors
    /// As [`Card::new`].
    ///
    /// # Panics
    /// When `count` is 0: somebody has to keep the time.
    pub fn new(profile: Profile, count: usize, options: &Options) -> Result<Self, Error> {
        assert!(count > 0, "a world has a card");
        let station = |_| Ok(Station { card: Card::new(profile, options)?, end: None });
        let stations = (0..count).map(station).collect::<Result<_, _>>()?;
        Ok(Self { stations, switch: None, is_skipping: true, is_threaded: false, skipped: 0 })
    }

    /// Chooses whether quiet time is jumped over; it is at first.
    pub fn skip_quiet_time(&mut self, skip: bool) {
        self.is_skipping = skip;
    }

    /// Chooses whether [`run`](Self::run) gives each card a thread of its own; it does not at first. The results are the same:
    /// the threads meet before a frame that leaves one card can arrive at another.
    pub fn threads(&mut self, threads: bool) {
        self.is_threaded = threads;
    }

    /// Cycles since the cards were made.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.stations[0].card.cycle()
    }

    /// Cycles that all cards jumped over together.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// A duration in cycles.
    #[must_use]
    pub fn cycles(&self, duration: Duration) -> u64 {
        let khz = u128::from(self.stations[0].card.profile().clock_khz());
        u64::try_from(duration.as_nanos() * khz / 1_000_000).unwrap_or(u64::MAX)
    }

    /// One of the cards.
    ///
    /// # Panics
    /// When there is no such card.
    pub fn card(&mut self, index: usize) -> &mut Card {
        &mut self.stations[index].card
    }

    /// Resets one of the cards, as at power-up; for the others the time passes that this takes. What is on its wire stays there.
    ///
    /// # Panics
    /// When there is no such card.
    pub fn reset(&mut self, index: usize) {
        let now = self.now();
        self.exchange(now, now);
        self.stations[index].card.reset();
        let end = self.stations[index].card.cycle();
        self.stations.iter_mut().for_each(|station| station.run(end, false));
    }

    /// Will anything happen without somebody outside?
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.next_due().is_none()
    }

    fn next_due(&self) -> Option<u64> {
        let switch = self.switch.as_ref().and_then(|(switch, _)| switch.next_due());
        self.stations.iter().filter_map(Station::next_due).chain(switch).min()
    }

    /// Goes on to the next cycle, or over quiet time, but not beyond `limit`.
    pub fn step(&mut self, limit: u64) {
        let now = self.now();
        self.exchange(now, now);
        self.stations.iter_mut().for_each(Station::deliver);
        let due = self.next_due().unwrap_or(limit).min(limit);
        if self.is_skipping && due > now + 1 {
            self.skipped += due - now - 1;
            self.stations.iter_mut().for_each(|station| station.card.skip_to(due));
        } else {
            self.stations.iter_mut().for_each(|station| station.card.step());
        }
        self.stations.iter_mut().for_each(Station::collect);
    }

    /// Runs for some cycles.
    pub fn run(&mut self, cycles: u64) {
        let end = self.now() + cycles;
        while self.now() < end {
            if self.is_threaded && !self.is_quiet() {
                self.step_together(end);
            } else {
                self.step(end);
            }
        }
    }

    /// Does nothing happen in the next cycle?
    fn is_quiet(&self) -> bool {
        self.is_skipping && self.next_due().is_none_or(|due| due > self.now() + 1)
    }

    /// Goes on for as long as no card can know what another does meanwhile, each on its own thread.
    fn step_together(&mut self, limit: u64) {
        let (now, is_skipping) = (self.now(), self.is_skipping);
        let end = now.saturating_add(self.window()).min(limit);
        self.exchange(now, end - 1);
        std::thread::scope(|scope| {
            for station in &mut self.stations {
                scope.spawn(|| station.run(end, is_skipping));
            }
        });
    }

    /// Runs until `done`, for at most `cycles`; whether it came to that.
    pub fn run_until(&mut self, cycles: u64, mut done: impl FnMut(&mut Self) -> bool) -> bool {
        let end = self.now().saturating_add(cycles);
        loop {
            if done(self) {
                return true;
            }
            if self.now() >= end {
                return false;
            }
            self.step(end);
        }
    }
}
