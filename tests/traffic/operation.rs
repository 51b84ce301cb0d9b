//! Operations, and the pieces of memory they are made of.

use std::ops::Range;

use stroma_verilate::SplitMix64;

use super::{Area, Kind, below};

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
    /// Key of the far target, if it is used.
    pub key: u32,
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
