//! Random operations of all kinds on both ends, and a plain copy of what they must leave behind.

mod poster;
mod receiver;

use std::collections::BTreeMap;
use std::ops::Range;

use stroma_abi::desc::Sge;
use stroma_verilate::SplitMix64;

use super::rig::{Pair, region, sge};
use crate::model::{ReceiveQueue, Region};
use poster::Poster;
use receiver::Receiver;

pub(super) const PAIRS: u32 = 16;
/// Queue pairs from this one on share a receive queue at either end.
pub(super) const SHARED: u32 = 12;
/// Queue pairs below this one work on one word together.
const CONTENDERS: u32 = 4;
const AREA: usize = (1 << 20) + 4096;
const SOURCE: u32 = 1;
const WORDS: u32 = 2;

/// Key of what peers write and read, one region a queue pair.
fn target(index: u32) -> u32 {
    0x100 + index
}

/// Key of where the answers to READs go.
fn landing(index: u32) -> u32 {
    0x200 + index
}

/// Key of where the answers to atomics go.
fn results(index: u32) -> u32 {
    0x300 + index
}

/// Key of the buffers of a receive queue.
fn room(queue: u32) -> u32 {
    0x400 + queue
}

/// Aligned to eight and to nothing more.
fn base(key: u32) -> u64 {
    u64::from(key) << 32 | 0x128
}

fn fresh(key: u32, length: usize, end: usize) -> Region {
    let salt = key.to_le_bytes()[0] ^ key.to_le_bytes()[1] ^ end.to_le_bytes()[0];
    region(base(key), length, salt)
}

pub(super) fn below(random: &mut SplitMix64, bound: usize) -> usize {
    usize::try_from(random.next_u64() % bound as u64).unwrap()
}

/// Cuts `length` bytes into 1 to 16 pieces that lie apart in a space of [`spread`] bytes, in any order.
fn cut(random: &mut SplitMix64, length: usize, count: usize) -> Vec<Range<usize>> {
    let mut cuts: Vec<usize> = (1..count).map(|_| below(random, length + 1)).chain([0, length]).collect();
    cuts.sort_unstable();
    let mut gap = 0;
    let mut pieces: Vec<_> = cuts
        .windows(2)
        .map(|cut| {
            gap += below(random, GAP + 1);
            cut[0] + gap..cut[1] + gap
        })
        .collect();
    (1..pieces.len()).for_each(|last| pieces.swap(last, below(random, last + 1)));
    pieces
}

/// Most bytes between two pieces.
const GAP: usize = 32;

/// Bytes that [`cut`] needs.
fn spread(length: usize, count: usize) -> usize {
    length + count * GAP
}

fn sges(key: u32, at: usize, pieces: &[Range<usize>]) -> Vec<Sge> {
    let piece = |piece: &Range<usize>| {
        sge(key, base(key) + (at + piece.start) as u64, u32::try_from(piece.len()).unwrap())
    };
    pieces.iter().map(piece).collect()
}

/// Everything both ends do.
pub(super) struct Traffic {
    posters: Vec<Poster>,
    /// By end and queue.
    receivers: BTreeMap<(usize, u32), Receiver>,
    source: Region,
    /// Additions of several queue pairs to one word of the far end, by the end that added: what each found and added.
    ledgers: [Vec<(u64, u64)>; 2],
}

impl Traffic {
    /// Registers memory at both ends.
    pub(super) fn new(pair: &mut Pair, shared: [ReceiveQueue; 2]) -> Self {
        let source = region(base(SOURCE), AREA, 0x5a);
        let (mut posters, mut receivers) = (Vec::new(), BTreeMap::new());
        for (end, shared) in shared.into_iter().enumerate() {
            let memory = &mut pair.ends[end].memory;
            memory.register(SOURCE, source.clone());
            memory.register(WORDS, fresh(WORDS, 8 * (PAIRS as usize + 1), end));
            for index in 0..PAIRS {
                memory.register(target(index), fresh(target(index), AREA, end));
                memory.register(landing(index), fresh(landing(index), AREA, end));
                memory.register(results(index), fresh(results(index), 8 * poster::OPEN, end));
                posters.push(Poster::new(end, index));
            }
            for queue in 0..=SHARED {
                let receiver = Receiver::new(end, queue, (queue == SHARED).then(|| shared.clone()));
                memory.register(room(queue), fresh(room(queue), receiver::ROOM, end));
                receivers.insert((end, queue), receiver);
            }
        }
        Self { posters, receivers, source, ledgers: [vec![], vec![]] }
    }

    pub(super) fn posted(&self) -> u64 {
        self.posters.iter().map(|poster| poster.posted).sum()
    }

    pub(super) fn is_open(&self) -> bool {
        let waits = self.receivers.values().any(Receiver::waits);
        waits || self.posters.iter().any(|poster| !poster.open.is_empty())
    }

    /// Posts one operation of some queue pair; if `in_time`, no message that finds no receive.
    pub(super) fn post(&mut self, random: &mut SplitMix64, pair: &mut Pair, in_time: bool) {
        let count = self.posters.len();
        let poster = &mut self.posters[below(random, count)];
        let far = self.receivers.get_mut(&(1 - poster.end, poster.index.min(SHARED))).unwrap();
        poster.post(random, &self.source, pair, far, in_time);
    }

    /// Posts one receive to some queue.
    pub(super) fn post_receive(&mut self, random: &mut SplitMix64, pair: &mut Pair) {
        let place = below(random, self.receivers.len());
        self.receivers.values_mut().nth(place).unwrap().post(random, pair);
    }

    /// Posts as many receives as there is room for.
    pub(super) fn fill_receives(&mut self, random: &mut SplitMix64, pair: &mut Pair) {
        self.receivers.values_mut().for_each(|receiver| while receiver.post(random, pair) {});
    }

    pub(super) fn poll(&mut self, pair: &mut Pair) {
        for poster in &mut self.posters {
            poster.poll(pair, &mut self.ledgers[poster.end]);
            let receiver = self.receivers.get_mut(&(poster.end, poster.index.min(SHARED))).unwrap();
            receiver.poll(poster.index, pair);
        }
    }

    /// Compares both memories with the plain copy.
    pub(super) fn check(&mut self, pair: &mut Pair, name: &str) {
        self.poll(pair);
        let region = |end: usize, key| pair.ends[end].memory.region(key).unwrap();
        for poster in &self.posters {
            let Poster { end, index, .. } = *poster;
            let name = format!("{name}, end {end}, queue pair {index}");
            assert!(*region(1 - end, target(index)) == poster.target, "{name}: the peer's memory");
            assert!(*region(end, landing(index)) == poster.landing, "{name}: own memory");
            assert_eq!(poster.word_at(pair, 1 + index), poster.word, "{name}: its word");
        }
        for end in 0..2 {
            let first = poster::word(&fresh(WORDS, 8, 1 - end).bytes, 0);
            let last = poster::word(&region(1 - end, WORDS).bytes, 0);
            assert!(!self.ledgers[end].is_empty(), "{name}: somebody added");
            assert_eq!(chained(first, &self.ledgers[end]), last, "{name}: the common word");
        }
    }
}

/// Where a word ends to which each of these was added once, in an order in which each found what those before it left.
fn chained(first: u64, additions: &[(u64, u64)]) -> u64 {
    let mut left: BTreeMap<u64, u64> = additions.iter().copied().collect();
    assert_eq!(left.len(), additions.len(), "no two found the same");
    let mut word = first;
    while let Some(add) = left.remove(&word) {
        word = word.wrapping_add(add);
    }
    assert_eq!(left.len(), 0, "what these found nobody left");
    word
}
