//! Random operations over a bad wire: memory equals that of a plain copy, and each operation completes once, in order.

use std::collections::VecDeque;
use std::ops::Range;

use stroma_abi::desc::Status;
use stroma_verilate::SplitMix64;

use super::channel::Faults;
use super::rig::{Pair, number, region, settings};
use crate::model::{Dropped, Operation, Region, Work};

const PAIRS: u32 = 16;
const AREA: usize = (1 << 20) + 4096;
/// Operations a queue pair has open: more than the READs that may be.
const OPEN: usize = 24;
const SOURCE: u32 = 1;

/// Key of what peers write and read, one region a queue pair.
fn target(index: u32) -> u32 {
    0x100 + index
}

/// Key of where the answers to READs go.
fn landing(index: u32) -> u32 {
    0x200 + index
}

fn base(key: u32) -> u64 {
    u64::from(key) << 32 | 0x123
}

/// What one end posts on one queue pair, and what its memory must become.
struct Poster {
    end: u8,
    index: u32,
    open: VecDeque<(Work, Range<usize>)>,
    posted: u64,
    target: Region,
    landing: Region,
}

impl Poster {
    /// Posts one operation, unless a WRITE would overtake an open READ of the same bytes: a repeated READ sees what is
    /// there when it is repeated, and so the transport promises no order between the two.
    fn post(&mut self, random: &mut SplitMix64, source: &Region, pair: &mut Pair) {
        let length = length(random);
        let place = |random: &mut SplitMix64| below(random, AREA - length + 1);
        let (local, remote) = (place(random), place(random));
        let range = remote..remote + length;
        let operation = if random.next_u64().is_multiple_of(2) { Operation::Write } else { Operation::Read };
        let overlaps = |(work, other): &(Work, Range<usize>)| {
            work.operation == Operation::Read && other.start < range.end && range.start < other.end
        };
        if operation == Operation::Write && self.open.iter().any(overlaps) {
            return;
        }
        let local_key = match operation {
            Operation::Write => SOURCE,
            Operation::Read => landing(self.index),
        };
        let work = Work {
            id: self.posted,
            operation,
            local_key,
            local_address: base(local_key) + local as u64,
            remote_key: target(self.index),
            remote_address: base(target(self.index)) + remote as u64,
            length: u32::try_from(length).unwrap(),
        };
        match operation {
            Operation::Write => {
                self.target.bytes[range.clone()].copy_from_slice(&source.bytes[local..local + length]);
            }
            Operation::Read => {
                self.landing.bytes[local..local + length].copy_from_slice(&self.target.bytes[range.clone()]);
            }
        }
        self.posted += 1;
        self.open.push_back((work, range));
        pair.ends[usize::from(self.end)].post(number(self.end, self.index), work);
    }

    fn poll(&mut self, pair: &mut Pair) {
        while let Some(done) = pair.ends[usize::from(self.end)].poll(number(self.end, self.index)) {
            let (work, _) = self.open.pop_front().expect("only what was posted completes");
            assert_eq!((done.id, done.status, done.bytes), (work.id, Status::Success, work.length));
        }
    }
}

fn below(random: &mut SplitMix64, bound: usize) -> usize {
    usize::try_from(random.next_u64() % bound as u64).unwrap()
}

/// Mostly small, some as long as a message of a test gets.
fn length(random: &mut SplitMix64) -> usize {
    let most = match random.next_u64() % 100 {
        0..60 => 256,
        60..85 => 4096,
        85..99 => 0x1_0000,
        _ => 1 << 20,
    };
    below(random, most + 1)
}

fn run(seed: u64, operations: u64, faults: Faults, coalesce: bool) -> Pair {
    let mut pair = Pair::new(seed, faults);
    pair.keep = false;
    let mut posters = Vec::new();
    let salt = |key: u32| key.to_le_bytes()[0] ^ key.to_le_bytes()[1];
    let source = region(base(SOURCE), AREA, 0x5a);
    for end in 0..2_u8 {
        let memory = &mut pair.ends[usize::from(end)].memory;
        memory.register(SOURCE, source.clone());
        for index in 0..PAIRS {
            for key in [target(index), landing(index)] {
                memory.register(key, region(base(key), AREA, salt(key) ^ end));
            }
        }
        for index in 0..PAIRS {
            let settings = settings(end, index, 256 << (index % 5));
            pair.ends[usize::from(end)].connect(crate::model::Settings { coalesce, ..settings });
            posters.push(Poster {
                end,
                index,
                open: VecDeque::new(),
                posted: 0,
                target: region(base(target(index)), AREA, salt(target(index)) ^ (1 - end)),
                landing: region(base(landing(index)), AREA, salt(landing(index)) ^ end),
            });
        }
    }
    let mut random = SplitMix64::new(seed ^ 0xbeef);
    while posters.iter().map(|poster| poster.posted).sum::<u64>() < operations {
        let count = posters.len();
        let poster = &mut posters[below(&mut random, count)];
        if poster.open.len() < OPEN {
            poster.post(&mut random, &source, &mut pair);
        }
        pair.step();
        for poster in &mut posters {
            poster.poll(&mut pair);
        }
    }
    pair.run();
    for poster in &mut posters {
        poster.poll(&mut pair);
        let name = format!("seed {seed}, end {}, queue pair {}", poster.end, poster.index);
        assert!(poster.open.is_empty(), "{name}: every operation completes");
        let (here, there) = (&pair.ends[usize::from(poster.end)], &pair.ends[usize::from(1 - poster.end)]);
        let found = |end: &crate::model::Endpoint, key| end.memory.region(key).unwrap().clone();
        assert!(found(there, target(poster.index)) == poster.target, "{name}: the peer's memory");
        assert!(found(here, landing(poster.index)) == poster.landing, "{name}: own memory");
    }
    pair
}

#[test]
fn on_a_perfect_wire_nothing_is_dropped_and_all_arrives() {
    let pair = run(1, 1000, Faults::default(), false);
    assert_eq!(pair.dropped, []);
}

const ONE_PERCENT: Faults = Faults { loss: 10, duplication: 10, reordering: 10, corruption: 10 };

/// The wire really was bad, so that each recovery was needed, and no answer came that nobody asked for.
fn was_bad(pair: &Pair) {
    let count = |what: fn(&Dropped) -> bool| pair.dropped.iter().filter(|dropped| what(dropped)).count();
    assert!(count(|dropped| matches!(dropped, Dropped::Frame(_))) > 100);
    assert!(count(|dropped| matches!(dropped, Dropped::Gap)) > 100);
    assert!(count(|dropped| matches!(dropped, Dropped::Stale)) > 100);
    assert_eq!(count(|dropped| matches!(dropped, Dropped::Unasked | Dropped::Failed)), 0);
}

#[test]
fn with_one_percent_of_each_fault_all_arrives_once_and_in_order() {
    was_bad(&run(2, 2000, ONE_PERCENT, false));
}

#[test]
fn with_acks_that_answer_several_requests_all_arrives_once_and_in_order() {
    was_bad(&run(3, 1000, ONE_PERCENT, true));
}

#[test]
fn on_a_wire_that_loses_a_tenth_all_arrives_once_and_in_order() {
    let faults = Faults { loss: 100, duplication: 50, reordering: 50, corruption: 0 };
    run(4, 300, faults, true);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let faults = Faults { loss: 20, duplication: 20, reordering: 20, corruption: 20 };
    let (one, two) = (run(5, 100, faults, false), run(5, 100, faults, false));
    assert_eq!((one.now, one.dropped), (two.now, two.dropped));
}
