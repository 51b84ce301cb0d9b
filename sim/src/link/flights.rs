//! The receiving half of a link: frames under way, in the order in which they arrive.

use std::collections::BTreeMap;

/// A frame that has left, on its way to the other half.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departure {
    /// The cycle by which its last bit has arrived.
    pub due: u64,
    /// The frame without FCS, as it arrives.
    pub bytes: Vec<u8>,
    /// Its FCS is wrong.
    pub bad: bool,
    /// How often it arrives.
    pub copies: usize,
    /// It is held back until so many others have passed it (0: however many), or until this cycle if that is sooner.
    pub hold: Option<(u32, u64)>,
}

/// When a frame arrives: the cycle, the number of the frame behind which it comes, and its place behind that one.
type Turn = (u64, u64, u64);

/// Frames under way.
#[derive(Debug, Default)]
pub struct Flights {
    arriving: BTreeMap<Turn, (Vec<u8>, bool)>,
    /// Turn of a frame held back, and how many others are still to pass it.
    held: Vec<(Turn, u32)>,
    count: u64,
}

impl Flights {
    /// Adds a frame. Frames come in the order in which they left.
    pub fn insert(&mut self, departure: Departure) {
        let Departure { due, bytes, bad, copies, hold } = departure;
        let first = self.count;
        for _ in 0..copies {
            let until = hold.map_or(due, |(_, until)| until);
            self.arriving.insert((until, self.count, 0), (bytes.clone(), bad));
            self.count += 1;
        }
        if hold.is_none() {
            self.pass(due, self.count - 1);
        }
        if let Some((frames @ 1.., until)) = hold {
            self.held.extend((first..self.count).map(|number| ((until, number, 0), frames)));
        }
    }

    /// A frame goes by those held back: some have been held long enough, and follow it.
    fn pass(&mut self, due: u64, number: u64) {
        for (turn, left) in &mut self.held {
            *left -= 1;
            if *left == 0 && turn.0 > due {
                let frame = self.arriving.remove(turn).expect("it is held until later than now");
                self.arriving.insert((due, number, 1 + turn.1), frame);
            }
        }
        self.held.retain(|(_, left)| *left > 0);
    }

    /// The next frame that has arrived by cycle `now`, and whether its FCS is wrong.
    pub fn pop(&mut self, now: u64) -> Option<(Vec<u8>, bool)> {
        let first = self.arriving.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }

    /// The cycle in which the next frame arrives.
    #[must_use]
    pub fn next_due(&self) -> Option<u64> {
        self.arriving.first_key_value().map(|((due, _, _), _)| *due)
    }
}
