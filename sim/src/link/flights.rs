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
    /// It is held back: behind whom it comes, but no later than in this cycle.
    pub hold: Option<(Behind, u64)>,
    /// Those that are held back for this number follow it.
    pub overtakes: Option<u32>,
}

/// Who passes a frame that is held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behind {
    /// So many others; 0 for as many as come in the time.
    Others(u32),
    /// The frame that overtakes those of this number.
    Frame(u32),
}

/// When a frame arrives: the cycle, the number of the frame behind which it comes, and its place behind that one.
type Turn = (u64, u64, u64);

/// Frames under way.
#[derive(Debug, Default)]
pub struct Flights {
    arriving: BTreeMap<Turn, (Vec<u8>, bool)>,
    /// Turn of a frame held back, and who is still to pass it.
    held: Vec<(Turn, Behind)>,
    count: u64,
}

impl Flights {
    /// Adds a frame. Frames come in the order in which they left.
    pub fn insert(&mut self, departure: Departure) {
        let Departure { due, bytes, bad, copies, hold, overtakes } = departure;
        let first = self.count;
        for _ in 0..copies {
            let until = hold.map_or(due, |(_, until)| until);
            self.arriving.insert((until, self.count, 0), (bytes.clone(), bad));
            self.count += 1;
        }
        if hold.is_none() {
            self.pass(due, self.count - 1, overtakes);
        }
        if let Some((behind @ (Behind::Others(1..) | Behind::Frame(_)), until)) = hold {
            self.held.extend((first..self.count).map(|number| ((until, number, 0), behind)));
        }
    }

    /// A frame goes by those held back: some have been held long enough, and follow it.
    fn pass(&mut self, due: u64, number: u64, overtakes: Option<u32>) {
        for (turn, behind) in &mut self.held {
            match behind {
                Behind::Others(left) => *left -= 1,
                Behind::Frame(pair) if overtakes == Some(*pair) => *behind = Behind::Others(0),
                Behind::Frame(_) => {}
            }
            if *behind == Behind::Others(0) && turn.0 > due {
                let frame = self.arriving.remove(turn).expect("it is held until later than now");
                self.arriving.insert((due, number, 1 + turn.1), frame);
            }
        }
        self.held.retain(|(_, behind)| *behind != Behind::Others(0));
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
