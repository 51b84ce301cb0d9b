//! Cards on one clock: all of them make a cycle, then the next. Same start, same seeds, same cycles.

use std::time::Duration;

use stroma_top::Profile;
use stroma_verilate::{Error, Options};

use crate::Card;

/// Cards of one profile that share a clock.
///
/// Time in which all cards are quiet and their hosts only wait is jumped over: the cycle count goes on as if every cycle
/// had been evaluated, and everything happens in the same cycle as it would have.
pub struct World {
    cards: Vec<Card>,
    is_skipping: bool,
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
        let cards = (0..count).map(|_| Card::new(profile, options)).collect::<Result<_, _>>()?;
        Ok(Self { cards, is_skipping: true, skipped: 0 })
    }

    /// Chooses whether quiet time is jumped over; it is at first.
    pub fn skip_quiet_time(&mut self, skip: bool) {
        self.is_skipping = skip;
    }

    /// Cycles since the cards were made.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.cards[0].cycle()
    }

    /// Cycles that were jumped over.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// A duration in cycles.
    #[must_use]
    pub fn cycles(&self, duration: Duration) -> u64 {
        let khz = u128::from(self.cards[0].profile().clock_khz());
        u64::try_from(duration.as_nanos() * khz / 1_000_000).unwrap_or(u64::MAX)
    }

    /// One of the cards.
    ///
    /// # Panics
    /// When there is no such card.
    pub fn card(&mut self, index: usize) -> &mut Card {
        &mut self.cards[index]
    }

    /// Will anything happen without somebody outside?
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.cards.iter().all(|card| card.next_due().is_none())
    }

    /// Goes on to the next cycle, or over quiet time, but not beyond `limit`.
    pub fn step(&mut self, limit: u64) {
        let now = self.now();
        let due = self.cards.iter().filter_map(Card::next_due).min().unwrap_or(limit).min(limit);
        if self.is_skipping && due > now + 1 {
            self.skipped += due - now - 1;
            for card in &mut self.cards {
                card.skip_to(due);
            }
        } else {
            self.cards.iter_mut().for_each(Card::step);
        }
    }

    /// Runs for some cycles.
    pub fn run(&mut self, cycles: u64) {
        let end = self.now() + cycles;
        while self.now() < end {
            self.step(end);
        }
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
