//! The gate in plain Rust, cycle by cycle.

use std::collections::VecDeque;

use rust_hdl::prelude::Bits;

use crate::mac::pins::Pins;

/// Twin of [`Gate`](super::Gate).
#[derive(Default)]
pub struct GateModel {
    /// What has passed and was not taken yet: two at most.
    pub held: VecDeque<Pins>,
    is_inside: bool,
    crosses: bool,
    owes: bool,
}

impl GateModel {
    /// One cycle: what the pins show, whether the first of `held` is taken, and `stops`. Was a frame lost of which nothing passed?
    pub fn step(&mut self, shown: Option<&Pins>, is_taken: bool, stops: bool) -> bool {
        let has_room = self.held.len() < 2 && !stops;
        let begins = !self.is_inside;
        let passes = has_room && !self.owes && (begins || self.crosses);
        let owed = (self.owes && has_room).then(Pins::default);
        if is_taken {
            self.held.pop_front();
        }
        if let Some(end) = owed {
            self.owes = false;
            // Its bytes have no meaning; the block shows those of the pins.
            self.held.push_back(Pins { last: true, user: true, keep: Bits::default(), ..end });
        }
        let mut is_lost = false;
        if let Some(beat) = shown {
            if passes {
                self.held.push_back(*beat);
            }
            is_lost = begins && !passes && !stops;
            self.owes |= self.crosses && !passes;
            self.crosses = passes && !beat.last;
            self.is_inside = !beat.last;
        }
        if stops {
            (self.crosses, self.owes) = (false, false);
        }
        is_lost
    }
}
