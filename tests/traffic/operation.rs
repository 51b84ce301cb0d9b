//! Operations, and where they come from.

use std::ops::Range;

use stroma_verilate::SplitMix64;

use super::{AREA, Area, CONTENDERS, LENGTH_MAX, MESSAGE_MAX, OPEN, PIECES, below};

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// From the own source to the far side's next receive.
    Send,
    /// The same, with immediate data.
    SendImm(u32),
    /// From the own source to the far target.
    Write,
    /// The same, and the far side's next receive completes with immediate data.
    WriteImm(u32),
    /// From the far target to the own landing.
    Read,
    /// On a word of the far side, whose value comes to the own results.
    CompareSwap {
        /// Value expected.
        compare: u64,
        /// Value stored then.
        swap: u64,
    },
    /// The same, and adds.
    FetchAdd(u64),
}

impl Kind {
    /// Does it work on a word?
    pub fn is_atomic(self) -> bool {
        matches!(self, Self::CompareSwap { .. } | Self::FetchAdd(_))
    }

    /// Does it go to a receive?
    pub fn is_send(self) -> bool {
        matches!(self, Self::Send | Self::SendImm(_))
    }

    /// Does it write to the far target?
    pub fn is_write(self) -> bool {
        matches!(self, Self::Write | Self::WriteImm(_))
    }

    /// Does it complete a receive of the far side?
    pub fn takes_receive(self) -> bool {
        self.is_send() || self.immediate().is_some()
    }

    /// What it tells the receiver.
    pub fn immediate(self) -> Option<u32> {
        match self {
            Self::SendImm(data) | Self::WriteImm(data) => Some(data),
            _ => None,
        }
    }
}

/// Bytes of an area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where they begin.
    pub place: usize,
    /// How many there are.
    pub length: usize,
}

impl Piece {
    /// Their places.
    pub fn range(self) -> Range<usize> {
        self.place..self.place + self.length
    }
}

/// An operation to be posted. Places count from the beginning of an area.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Numbers the operations of a side on a queue pair, from 0.
    pub id: u64,
    /// What to do.
    pub kind: Kind,
    /// Pieces of the own area, apart from each other; none for no bytes.
    pub pieces: Vec<Piece>,
    /// Place in the far target, or in the far words.
    pub remote: usize,
    /// The bytes travel with the request: a small SEND or WRITE without immediate data.
    pub inline: bool,
    /// Wait for READs and atomics posted before.
    pub fence: bool,
    /// Ask for the receiver to be woken.
    pub solicited: bool,
}

impl Operation {
    /// Its bytes.
    pub fn length(&self) -> usize {
        self.pieces.iter().map(|piece| piece.length).sum()
    }

    /// The own area that its pieces are of.
    pub fn local(&self, pair: usize) -> Area {
        match self.kind {
            Kind::Read => Area::Landing(pair),
            kind if kind.is_atomic() => Area::Results(pair),
            _ => Area::Source,
        }
    }

    /// Places of the far target that it needs.
    pub fn remote_range(&self) -> Range<usize> {
        self.remote..self.remote + self.length()
    }
}

/// Most bytes between two pieces.
const APART: usize = 64;
/// Bytes that an inline operation has at most.
const INLINE: usize = 128;

/// Cuts `length` bytes into pieces that lie apart in the bytes from `place` on, in any order. Some may be empty.
pub(super) fn cut(random: &mut SplitMix64, place: usize, length: usize, count: usize) -> Vec<Piece> {
    let mut cuts: Vec<usize> = (1..count).map(|_| below(random, length + 1)).chain([0, length]).collect();
    cuts.sort_unstable();
    let mut place = place;
    let mut pieces: Vec<Piece> = Vec::new();
    for cut in cuts.windows(2) {
        pieces.push(Piece { place, length: cut[1] - cut[0] });
        place += cut[1] - cut[0] + below(random, APART);
    }
    (1..pieces.len()).for_each(|last| pieces.swap(last, below(random, last + 1)));
    pieces
}

/// Bytes that [`cut`] may need.
pub(super) const fn spread(length: usize, count: usize) -> usize {
    length + (count - 1) * APART
}

/// Operations without end from a seed: of every kind, mostly small ones, some of a megabyte, at any alignment, in one piece or
/// in several.
pub struct Generator {
    random: SplitMix64,
}

impl Generator {
    /// The same seed gives the same operations.
    pub fn new(seed: u64) -> Self {
        Self { random: SplitMix64::new(seed) }
    }

    /// The next one of a queue pair, to be numbered so; its own word is going to be `word`.
    pub fn operation(&mut self, id: u64, pair: usize, word: u64) -> Operation {
        let random = &mut self.random;
        let number = random.next_u64();
        let immediate = u32::try_from(number >> 32).expect("half of it");
        // Those that add to one word together do so often, or they would seldom meet.
        let is_common = pair < CONTENDERS && random.below(4) == 0;
        let kind = match random.below(100) {
            _ if is_common => Kind::FetchAdd(number),
            0..16 => Kind::Send,
            16..26 => Kind::SendImm(immediate),
            26..46 => Kind::Write,
            46..56 => Kind::WriteImm(immediate),
            56..80 => Kind::Read,
            80..85 => Kind::CompareSwap { compare: word, swap: number },
            85..88 => Kind::CompareSwap { compare: number, swap: !number },
            _ => Kind::FetchAdd(number),
        };
        let (fence, solicited) = (random.below(8) == 0, random.below(4) == 0);
        let operation = Operation { id, kind, pieces: vec![], remote: 0, inline: false, fence, solicited };
        if kind.is_atomic() {
            let slot = usize::try_from(id % OPEN as u64).expect("small");
            let pieces = vec![Piece { place: 8 * slot, length: 8 }];
            return Operation {
                pieces,
                remote: if is_common { 0 } else { Area::own_word(pair) },
                ..operation
            };
        }
        let most = match random.below(1000) {
            0..700 => 256,
            700..940 => 4096,
            _ if kind.is_send() => MESSAGE_MAX,
            940..990 => 0x1_0000,
            _ => LENGTH_MAX,
        };
        let length = below(random, most + 1);
        let count = if random.below(2) == 0 { 1 } else { 1 + below(random, PIECES) };
        let place = below(random, AREA - spread(length, count) + 1);
        Operation {
            pieces: if length == 0 { vec![] } else { cut(random, place, length, count) },
            remote: below(random, AREA - length + 1),
            inline: matches!(kind, Kind::Send | Kind::Write) && length <= INLINE && random.below(3) == 0,
            ..operation
        }
    }
}
