//! What can go wrong with a frame: by rules in words, by a function, or by chance, from a seed.

use stroma_verilate::SplitMix64;

use super::flights::Behind;
use super::script::Rules;

/// How likely something is, in 2^-32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Chance(u64);

impl Chance {
    /// It does not happen.
    pub const NEVER: Self = Self(0);
    /// It happens to every frame.
    pub const ALWAYS: Self = Self(1 << 32);

    /// So many in a million, all of them at most.
    #[must_use]
    pub const fn per_million(parts: u32) -> Self {
        let parts = if parts > 1_000_000 { 1_000_000 } else { parts };
        Self((1 << 32) * parts as u64 / 1_000_000)
    }

    /// So many in a hundred, all of them at most.
    #[must_use]
    pub const fn percent(parts: u32) -> Self {
        Self::per_million(parts.saturating_mul(10_000))
    }

    fn strikes(self, draw: u64) -> bool {
        draw >> 32 < self.0
    }
}

/// How a frame is overtaken: it waits until others have passed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// How many others; 0 for as many as come in the time.
    pub frames: u32,
    /// But no longer than this, in nanoseconds: there may be no others.
    pub ns: u32,
}

impl Hold {
    fn behind(self) -> (Behind, u32) {
        (Behind::Others(self.frames), self.ns)
    }
}

impl Default for Hold {
    /// One frame, or ten microseconds.
    fn default() -> Self {
        Self { frames: 1, ns: 10_000 }
    }
}

/// How long a frame waits for others at most, if nobody says how long, in nanoseconds.
pub const PATIENCE_NS: u32 = 1_000_000;

/// What a script says of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing: chance decides.
    Pass,
    /// It is lost.
    Drop,
    /// It arrives twice.
    Duplicate,
    /// It is overtaken.
    Hold(Hold),
    /// It is overtaken by the frame that is [`Overtakes`](Self::Overtakes) of the same number, or comes after
    /// [`PATIENCE_NS`] if there is none.
    Overtaken(u32),
    /// Those that were held back for it follow it.
    Overtakes(u32),
    /// It meets congestion: an ECN mark, if its sender allows.
    Mark,
    /// One of its bits is flipped, counted from its start and around its end.
    Corrupt {
        /// Which.
        bit: usize,
        /// The FCS tells.
        is_caught: bool,
    },
}

/// Judges each frame as it leaves.
pub type Script = Box<dyn FnMut(&[u8]) -> Verdict + Send>;

/// A script that says `verdict` of one frame: number `number`, from 1, of those that `chosen` picks.
pub fn nth(number: u64, mut chosen: impl FnMut(&[u8]) -> bool + Send + 'static, verdict: Verdict) -> Script {
    let mut seen = 0;
    Box::new(move |frame| {
        seen += u64::from(chosen(frame));
        if seen == number && chosen(frame) { verdict } else { Verdict::Pass }
    })
}

/// What goes wrong on a line. Each kind strikes by itself: a frame can be duplicated and held back.
#[derive(Default)]
pub struct Faults {
    /// Chooses the frames that are struck.
    pub seed: u64,
    /// Lost.
    pub loss: Chance,
    /// Arrives twice.
    pub duplication: Chance,
    /// Overtaken, as `hold` says.
    pub reordering: Chance,
    /// How frames are overtaken.
    pub hold: Hold,
    /// A bit is flipped.
    pub corruption: Chance,
    /// Of those flipped: not noticed by the FCS.
    pub undetected: Chance,
    /// Asked first.
    pub rules: Rules,
    /// Asked next.
    pub script: Option<Script>,
}

/// A flipped bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flip {
    pub(super) bit: usize,
    pub(super) is_caught: bool,
}

/// What happens to a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fate {
    pub(super) is_lost: bool,
    pub(super) is_duplicated: bool,
    pub(super) is_marked: bool,
    /// Behind whom it comes, and after how many nanoseconds at most.
    pub(super) hold: Option<(Behind, u32)>,
    pub(super) overtakes: Option<u32>,
    pub(super) flip: Option<Flip>,
}

/// Faults under way.
pub(super) struct Judge {
    faults: Faults,
    /// Frames judged.
    count: u64,
}

/// Draws a frame has; the number of a draw depends on nothing but the frame's, so that faults do not shift each other.
const DRAWS: u64 = 8;

impl Judge {
    pub(super) fn new(faults: Faults) -> Self {
        Self { faults, count: 0 }
    }

    /// The fate of a frame that starts to leave at a time, in nanoseconds.
    pub(super) fn judge(&mut self, frame: &[u8], now_ns: u64) -> Fate {
        let first = self.count * DRAWS;
        self.count += 1;
        let bits = frame.len() * 8;
        let faults = &mut self.faults;
        let draw = |kind: u64| SplitMix64::at(faults.seed, first + kind);
        let chance = Fate {
            is_lost: faults.loss.strikes(draw(0)),
            is_duplicated: faults.duplication.strikes(draw(1)),
            hold: faults.reordering.strikes(draw(2)).then_some(faults.hold.behind()),
            flip: (bits > 0 && faults.corruption.strikes(draw(3))).then(|| Flip {
                bit: usize::try_from(draw(4) % bits as u64).expect("a bit of the frame"),
                is_caught: !faults.undetected.strikes(draw(5)),
            }),
            ..Fate::default()
        };
        // Both count frames, so both see all of them.
        let ruled = faults.rules.judge(frame, now_ns);
        let scripted = faults.script.as_mut().map_or(Verdict::Pass, |script| script(frame));
        match if ruled == Verdict::Pass { scripted } else { ruled } {
            Verdict::Pass => chance,
            Verdict::Drop => Fate { is_lost: true, ..Fate::default() },
            Verdict::Duplicate => Fate { is_duplicated: true, ..Fate::default() },
            Verdict::Hold(hold) => Fate { hold: Some(hold.behind()), ..Fate::default() },
            Verdict::Overtaken(pair) => {
                Fate { hold: Some((Behind::Frame(pair), PATIENCE_NS)), ..Fate::default() }
            }
            Verdict::Overtakes(pair) => Fate { overtakes: Some(pair), ..Fate::default() },
            Verdict::Mark => Fate { is_marked: true, ..Fate::default() },
            Verdict::Corrupt { bit, is_caught } => {
                Fate { flip: (bits > 0).then(|| Flip { bit: bit % bits, is_caught }), ..Fate::default() }
            }
        }
    }
}
