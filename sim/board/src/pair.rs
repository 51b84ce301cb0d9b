//! Two boards on a cable, MAC to MAC.

use std::collections::VecDeque;

use stroma_verilate::{Options, Verilog};

use crate::board::{Board, CORE_PS, Error, MAC_PS};
use crate::mac::Frame;

/// Cable and transceivers, in picoseconds.
const DELAY_PS: u64 = 60_000;

/// Two boards in one time.
pub struct Pair {
    boards: [Board; 2],
    /// Frames on the cable towards each of them, with the time at which they begin to arrive.
    flights: [VecDeque<(u64, Frame)>; 2],
    lost: u64,
    now: u64,
}

impl Pair {
    /// Two boards, just powered up, whose clocks do not know each other.
    ///
    /// # Errors
    /// As [`Board::new`].
    pub fn new(shell: &Verilog, options: &Options) -> Result<Self, Error> {
        let phases = [(CORE_PS, MAC_PS), (CORE_PS / 3, MAC_PS / 2)];
        let board = |index: u64, phase: (u64, u64)| {
            let seed = options.seed.wrapping_mul(2).wrapping_add(index);
            let label = format!("{}{index}", options.label.as_deref().unwrap_or("board"));
            Board::new(shell, phase, &Options { seed, label: Some(label), ..options.clone() })
        };
        let boards = [board(0, phases[0])?, board(1, phases[1])?];
        let mut pair = Self { boards, flights: Default::default(), lost: 0, now: 0 };
        pair.exchange();
        Ok(pair)
    }

    /// One of the boards.
    pub fn board(&mut self, index: usize) -> &mut Board {
        &mut self.boards[index]
    }

    /// Picoseconds since power-up.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Frames that found a link down.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Goes on to the next edge of any clock.
    pub fn step(&mut self) {
        let next = usize::from(self.boards[1].due() < self.boards[0].due());
        self.now = self.boards[next].due();
        self.boards[next].step();
        self.exchange();
    }

    /// Frames that have left go onto the cable, and those at its end arrive.
    fn exchange(&mut self) {
        for from in 0..2 {
            let to = 1 - from;
            let sends_rfi = self.boards[from].mac.sends_rfi();
            self.boards[to].hear(Some(sends_rfi));
            while let Some(frame) = self.boards[from].sent() {
                self.flights[to].push_back((self.now + DELAY_PS, frame));
            }
            while let Some((_, frame)) = self.flights[to].pop_front_if(|(due, _)| *due <= self.now) {
                self.lost += u64::from(!self.boards[to].mac.arrive(&frame));
            }
        }
    }

    /// Runs until `done`, for at most so many cycles of the core's clock; whether it came to that.
    pub fn run_until(&mut self, cycles: u64, mut done: impl FnMut(&mut Self) -> bool) -> bool {
        let end = self.now.saturating_add(cycles.saturating_mul(CORE_PS));
        loop {
            if done(self) {
                return true;
            }
            if self.now >= end {
                return false;
            }
            self.step();
        }
    }

    /// Runs for some cycles of the core's clock.
    pub fn run(&mut self, cycles: u64) {
        self.run_until(cycles, |_| false);
    }
}
