//! Requests with changed bytes, in send queues of connections: each ends once, with the status that its content deserves;
//! what stands behind a failed one is flushed; and nothing is written that its queue pair may not write. Four seeds
//! have 5,000 of them with all effort.

use stroma_abi::desc::{Body, QueuePairState, Sge, SgeList, Status, WorkOp, WqeHead, wqe::UNIT};
use stroma_abi::regs::map::counters;
use stroma_tests::effort::{seeds, share};
use stroma_tests::rig::{Completions, Rig, head, status};
use stroma_top::Profile;
use stroma_verilate::SplitMix64;

use super::hairpin::{self, Port};
use super::memory::Memory;
use super::verdict::{RECEIVE_BYTES, deserves};
use super::wqes::{encode, good, nop, spoil};

/// Requests of each seed.
const REQUESTS: usize = 1250;
/// Of them, more than so many succeed, and more than so many fail.
const MANY: usize = 300;
/// Connections, each with one changed request in a round.
const PAIRS: usize = 20;
/// Connections that are rung before any is waited for: many queue pairs fail at the same time.
const AT_ONCE: usize = 20;
/// NOPs behind a request: as many as it can swallow by claiming their units, and one more.
const BEHIND: usize = 8;
/// The bystander's queue pairs.
const BYSTANDERS: [u32; 2] = [200, 201];

/// A changed request in its queue.
struct Trial {
    /// Completions up to the first failure; what follows that is flushed.
    expected: Vec<(u16, Status)>,
    /// How the first failure ends, if there is one.
    end: Status,
    /// Index of the last NOP.
    last: u16,
    found: Vec<(u16, Status)>,
}

struct Desk {
    rig: Rig,
    memory: Memory,
    completions: Completions,
    own: Completions,
    bystanders: [Port; 2],
    failed: usize,
    /// Statuses that were deserved.
    met: Vec<u8>,
}

impl Desk {
    fn new(profile: Profile, seed: u64) -> Self {
        let mut rig = hairpin::rig(profile);
        let memory = Memory::new(&mut rig, seed);
        let (completions, own) = (rig.completions(0, 9, 0), rig.completions(1, 5, 1));
        let mut bystanders = BYSTANDERS.map(|number| hairpin::make(&mut rig, number, &own, None));
        hairpin::connect(&rig, &mut bystanders[0], BYSTANDERS[1]);
        hairpin::connect(&rig, &mut bystanders[1], BYSTANDERS[0]);
        Self { rig, memory, completions, own, bystanders, failed: 0, met: Vec::new() }
    }

    /// Connects two ends, and posts receives to the far one.
    fn connect(&self, [near, far]: &mut [Port; 2]) {
        let numbers = [near.number, far.number];
        hairpin::connect(&self.rig, near, numbers[1]);
        hairpin::connect(&self.rig, far, numbers[0]);
        let inbox = Sge { address: Memory::BASE, local_key: self.memory.open_key, length: RECEIVE_BYTES };
        (0..4).for_each(|_| far.put_receive(&hairpin::entry(&[inbox])));
        far.ring_receive(&self.rig);
    }

    /// Puts a changed request and the NOPs behind it into a queue, and rings.
    fn begin(&self, port: &mut Port, random: &mut SplitMix64) -> Trial {
        let index = port.producer;
        let mut bytes = good(&self.memory, index, random);
        spoil(&mut bytes, &self.memory, random);
        port.put(&bytes);
        for _ in 0..BEHIND {
            let unit = nop(port.producer);
            port.put(&unit);
            bytes.extend(unit);
        }
        port.ring(&self.rig);
        let (expected, end) = self.walk(&bytes, index);
        Trial { expected, end, last: port.producer.wrapping_sub(1), found: Vec::new() }
    }

    /// What becomes of these units, from request to request: one that claims fewer than it had leaves a rest, which is judged as
    /// the next.
    fn walk(&self, mut units: &[u8], mut index: u16) -> (Vec<(u16, Status)>, Status) {
        let mut expected = Vec::new();
        while !units.is_empty() {
            let status = deserves(units, index, &self.memory);
            let head = WqeHead::parse(units).expect("a whole unit");
            if head.signaled || status != Status::Success {
                expected.push((index, status));
            }
            if status != Status::Success {
                return (expected, status);
            }
            units = &units[usize::from(head.units) * UNIT..];
            index = index.wrapping_add(head.units.into());
        }
        (expected, Status::Success)
    }

    /// Takes completions until the last NOP of each sender has ended, and finds none behind.
    fn collect(&mut self, pairs: &[[Port; 2]], trials: &mut [Trial], story: &str) {
        let mut open = trials.len();
        while open > 0 {
            let cqe = self.rig.completion(&mut self.completions);
            self.rig.arm(&self.completions, 0);
            let place = pairs.iter().position(|[near, _]| near.number == cqe.queue_pair.value());
            // Receives of the far ends complete, too.
            let Some(trial) = place.filter(|_| !cqe.receive).map(|place| &mut trials[place]) else {
                continue;
            };
            trial.found.push((cqe.index, status(&cqe)));
            open -= usize::from(cqe.index == trial.last);
        }
        self.rig.settle();
        while let Some(cqe) = self.rig.poll(&mut self.completions) {
            self.rig.arm(&self.completions, 0);
            let is_sender = pairs.iter().any(|[near, _]| near.number == cqe.queue_pair.value());
            assert!(cqe.receive || !is_sender, "{story}: {cqe:?} comes after the last");
        }
    }

    /// The request had what it deserved, and what stood behind it too.
    fn check(&mut self, near: &Port, trial: &Trial, story: &str) {
        let Trial { expected, end, found, .. } = trial;
        let story = format!("{story}, queue pair {}: {found:?}", near.number);
        assert!(found.starts_with(expected), "{story}, {expected:?} expected");
        let (is_failed, behind) = (*end != Status::Success, &found[expected.len()..]);
        assert!(behind.iter().all(|(_, status)| is_failed && *status == Status::Flushed), "{story}");
        assert!(found.is_sorted_by(|(one, _), (next, _)| one < next), "{story}: once each, in order");
        assert_eq!(self.rig.state_of(near.number) == QueuePairState::Error, is_failed, "{story}");
        self.failed += usize::from(is_failed);
        self.met.push(*end as u8);
    }

    /// A queue pair that nobody attacks writes and reads.
    fn bystander(&mut self, story: &str) {
        let near = &mut self.bystanders[0];
        let list = [Sge { address: Memory::BASE, local_key: self.memory.open_key, length: 700 }];
        let remote = Memory::BASE + 8192;
        for op in [WorkOp::Write, WorkOp::Read] {
            let head = WqeHead { index: near.producer, remote, key: self.memory.open_key, ..head(op) };
            near.put(&encode(head, &Body::Gather(SgeList::new(&list).expect("one"))));
        }
        near.ring(&self.rig);
        for _ in 0..2 {
            assert_eq!(status(&self.rig.completion(&mut self.own)), Status::Success, "{story}");
            self.rig.arm(&self.own, 0);
        }
        assert!(self.memory.open.read(8192, 700) == self.memory.open.read(0, 700), "{story}");
    }
}

fn attack(profile: Profile, seed: u64) {
    let mut random = SplitMix64::new(seed);
    let mut desk = Desk::new(profile, seed);
    let number = |pair: usize, end: usize| u32::try_from(10 + 2 * pair + end).expect("small");
    let make =
        |pair| [0, 1].map(|end| hairpin::make(&mut desk.rig, number(pair, end), &desk.completions, None));
    let mut pairs: Vec<[Port; 2]> = (0..PAIRS).map(make).collect();
    for pair in &mut pairs {
        desk.connect(pair);
    }
    while desk.met.len() < share(REQUESTS) {
        let story = format!("{profile:?}, seed {seed:#x}, request {}", desk.met.len());
        for some in pairs.chunks_mut(AT_ONCE) {
            let mut trials: Vec<Trial> =
                some.iter_mut().map(|[near, _]| desk.begin(near, &mut random)).collect();
            desk.collect(some, &mut trials, &story);
            desk.memory.check(&story);
            for (pair, trial) in some.iter_mut().zip(&trials) {
                desk.check(&pair[0], trial, &story);
                for port in pair.iter() {
                    desk.rig.state(port.number, QueuePairState::Reset);
                }
                desk.connect(pair);
            }
        }
        desk.bystander(&story);
    }
    let Desk { rig, mut met, failed, .. } = desk;
    let succeeded = met.len() - failed;
    assert!(failed.min(succeeded) > share(MANY), "{failed} failed, {succeeded} succeeded");
    met.sort_unstable();
    met.dedup();
    // Success, three of this side and two of the peer; and a bind, if one was made that agrees with itself.
    assert!((6..=7).contains(&met.len()), "statuses {met:?}");
    assert_eq!((rig.count(&counters::DMA_ERRORS), rig.count(&counters::BAD_DOORBELLS)), (0, 0));
    assert_eq!(rig.world(|world| world.card(0).iommu().faults().len()), 0, "nothing else was touched");
}

#[test]
fn changed_requests_end_once_and_harm_nobody_10g() {
    for seed in seeds(&[0x61, 0x62]) {
        attack(Profile::TenGig, *seed);
    }
}

#[test]
fn changed_requests_end_once_and_harm_nobody_100g() {
    for seed in seeds(&[0x63, 0x64]) {
        attack(Profile::HundredGig, *seed);
    }
}
