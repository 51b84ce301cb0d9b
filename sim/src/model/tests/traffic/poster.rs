//! What one end posts on one queue pair, and what memory must become of it.

use std::collections::VecDeque;
use std::ops::Range;

use stroma_abi::desc::{Status, WorkOp};
use stroma_verilate::SplitMix64;

use super::receiver::{MESSAGE_MAX, Message, Receiver};
use super::{
    AREA, CONTENDERS, SOURCE, WORDS, base, below, cut, fresh, landing, results, sges, spread, target,
};
use crate::model::tests::rig::{Pair, number};
use crate::model::{Operation, Region, Work};

/// Operations a queue pair has open at most: more than the READs and atomics that may be.
pub(super) const OPEN: usize = 24;

/// An operation that has not completed.
pub(super) struct Open {
    work: Work,
    /// Bytes of the far target that a READ needs.
    reads: Range<usize>,
    /// What an atomic must find, if nobody else works on its word.
    found: Option<u64>,
}

pub(super) struct Poster {
    pub(super) end: usize,
    pub(super) index: u32,
    pub(super) open: VecDeque<Open>,
    pub(super) posted: u64,
    pub(super) target: Region,
    pub(super) landing: Region,
    pub(super) word: u64,
}

impl Poster {
    pub(super) fn new(end: usize, index: u32) -> Self {
        Self {
            end,
            index,
            open: VecDeque::new(),
            posted: 0,
            target: fresh(target(index), AREA, 1 - end),
            landing: fresh(landing(index), AREA, end),
            word: word(&fresh(WORDS, AREA, 1 - end).bytes, 1 + index),
        }
    }

    /// Posts one operation, if there is room, unless a WRITE would overtake an open READ of the same bytes: a repeated READ
    /// sees what is there when it is repeated, and so the transport promises no order between the two but by a fence.
    pub(super) fn post(
        &mut self,
        random: &mut SplitMix64,
        source: &Region,
        pair: &mut Pair,
        far: &mut Receiver,
        in_time: bool,
    ) {
        if self.open.len() >= OPEN {
            return;
        }
        let fence = below(random, 8) == 0;
        let mut open = match below(random, 10) {
            0..2 => self.atomic(random),
            2..4 => self.read(random),
            choice => {
                let immediate = (choice % 2 == 0).then(|| u32::try_from(below(random, 1 << 32)).unwrap());
                let is_send = choice < 7;
                if (is_send || immediate.is_some()) && in_time && !far.is_ready() {
                    return;
                }
                let Some(open) = self.bring(random, source, far, is_send, immediate, fence) else { return };
                open
            }
        };
        (open.work.id, open.work.fence) = (self.posted, fence);
        self.posted += 1;
        pair.ends[self.end].post(number(self.end.to_le_bytes()[0], self.index), open.work);
        self.open.push_back(open);
    }

    /// SEND or WRITE.
    fn bring(
        &mut self,
        random: &mut SplitMix64,
        source: &Region,
        far: &mut Receiver,
        is_send: bool,
        immediate: Option<u32>,
        fence: bool,
    ) -> Option<Open> {
        let length = if is_send { length(random).min(MESSAGE_MAX) } else { length(random) };
        let count = 1 + below(random, 16);
        let (local, remote) = (below(random, AREA - spread(length, count)), below(random, AREA - length + 1));
        let range = remote..remote + length;
        let overlaps = |open: &Open| open.reads.start < range.end && range.start < open.reads.end;
        if !is_send && !fence && self.open.iter().any(overlaps) {
            return None;
        }
        let pieces = cut(random, length, count);
        let bytes: Vec<u8> = pieces
            .iter()
            .flat_map(|piece| &source.bytes[local + piece.start..local + piece.end])
            .copied()
            .collect();
        let solicited = below(random, 4) == 0;
        let (operation, told) = match (is_send, immediate) {
            (true, None) => (Operation::Send, Some(WorkOp::Send)),
            (true, Some(data)) => (Operation::SendImm(data), Some(WorkOp::SendImm)),
            (false, None) => (Operation::Write, None),
            (false, Some(data)) => (Operation::WriteImm(data), Some(WorkOp::WriteImm)),
        };
        if !is_send {
            self.target.bytes[range].copy_from_slice(&bytes);
        }
        if let Some(operation) = told {
            far.expect(self.index, Message { operation, bytes, immediate, solicited });
        }
        let address = base(target(self.index)) + remote as u64;
        let work = Work::new(0, operation, &sges(SOURCE, local, &pieces), target(self.index), address);
        Some(Open { work: Work { solicited, ..work }, reads: 0..0, found: None })
    }

    fn read(&mut self, random: &mut SplitMix64) -> Open {
        let (length, count) = (length(random), 1 + below(random, 16));
        let (local, remote) = (below(random, AREA - spread(length, count)), below(random, AREA - length + 1));
        let pieces = cut(random, length, count);
        let mut from = remote;
        for piece in &pieces {
            let bytes = &self.target.bytes[from..from + piece.len()];
            self.landing.bytes[local + piece.start..local + piece.end].copy_from_slice(bytes);
            from += piece.len();
        }
        let (own, key) = (sges(landing(self.index), local, &pieces), target(self.index));
        let work = Work::new(0, Operation::Read, &own, key, base(key) + remote as u64);
        Open { work, reads: remote..remote + length, found: None }
    }

    /// Adds to the common word, or works on its own.
    fn atomic(&mut self, random: &mut SplitMix64) -> Open {
        let place = usize::try_from(self.posted).unwrap() % OPEN * 8;
        let result = sges(results(self.index), place, std::slice::from_ref(&(0..8)));
        let is_common = self.index < CONTENDERS && below(random, 2) == 0;
        // Odd, so that no two sums are the same for long.
        let (add, found) = (random.next_u64() | 1, self.word);
        let operation = match below(random, 3) {
            _ if is_common => Operation::FetchAdd(add),
            0 => Operation::FetchAdd(add),
            1 => Operation::CompareSwap { compare: found, swap: add },
            _ => Operation::CompareSwap { compare: !found, swap: add },
        };
        match operation {
            Operation::CompareSwap { compare, swap } if compare == found => self.word = swap,
            Operation::FetchAdd(_) if !is_common => self.word = found.wrapping_add(add),
            _ => {}
        }
        let place = if is_common { 0 } else { 8 * u64::from(1 + self.index) };
        let work = Work::new(0, operation, &result, WORDS, base(WORDS) + place);
        Open { work, reads: 0..0, found: (!is_common).then_some(found) }
    }

    pub(super) fn poll(&mut self, pair: &mut Pair, ledger: &mut Vec<(u64, u64)>) {
        let here = &mut pair.ends[self.end];
        while let Some(done) = here.poll(number(self.end.to_le_bytes()[0], self.index)) {
            let Open { work, found, .. } = self.open.pop_front().expect("only what was posted completes");
            let bytes = u32::try_from(work.pieces.total()).unwrap();
            assert_eq!((done.id, done.status, done.bytes), (work.id, Status::Success, bytes));
            let (Operation::CompareSwap { swap: operand, .. } | Operation::FetchAdd(operand)) =
                work.operation
            else {
                continue;
            };
            let memory = &here.memory.region(results(self.index)).unwrap().bytes;
            let result = word(memory, u32::try_from(work.id % OPEN as u64).unwrap());
            match found {
                Some(found) => assert_eq!(result, found, "end {}, queue pair {}", self.end, self.index),
                None => ledger.push((result, operand)),
            }
        }
    }

    pub(super) fn word_at(&self, pair: &Pair, place: u32) -> u64 {
        word(&pair.ends[1 - self.end].memory.region(WORDS).unwrap().bytes, place)
    }
}

/// The word at a place of a region.
pub(super) fn word(bytes: &[u8], place: u32) -> u64 {
    let start = 8 * place as usize;
    u64::from_le_bytes(bytes[start..start + 8].try_into().unwrap())
}

/// Mostly small, some as long as a message of a test gets.
fn length(random: &mut SplitMix64) -> usize {
    let most = match below(random, 100) {
        0..60 => 256,
        60..85 => 4096,
        85..99 => 0x1_0000,
        _ => 1 << 20,
    };
    below(random, most + 1)
}
