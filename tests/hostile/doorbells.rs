//! Doorbells of every kind for queues that are not there, not any more, not in a state to be rung, or somebody else's, and with
//! every kind of wrong index: a counter moves, and nothing else does.

use stroma_abi::desc::{Body, ObjectKind, QueuePairState, Sge, SgeList, Status, Verb, WorkOp, WqeHead};
use stroma_abi::regs::Reg;
use stroma_abi::regs::map::{DOORBELL_PAGE, PUSH_WINDOW, counters, doorbells};
use stroma_device::{BarId, compose};
use stroma_tests::rig::{Completions, Rig, head, status};
use stroma_tests::widths;
use stroma_top::Profile;
use stroma_verilate::SplitMix64;

use super::forge::{below, one_of};
use super::hairpin::{self, Port};
use super::memory::Memory;
use super::wqes::encode;

/// The page of all queues, and that of somebody else.
const OWN: usize = 2;
const OTHER: usize = 3;
/// Queue pairs: two ends of a connection, one that takes from the shared queue, one in RESET, one that is destroyed.
const NEAR: u32 = 10;
const FAR: u32 = 11;
const SHARING: u32 = 12;
const RESTING: u32 = 13;
const GONE: u32 = 14;
/// The shared queue.
const SRQ: u32 = 3;
/// Receives that are posted to the far end, and to the shared queue.
const POSTED: u64 = 3;

struct Desk {
    rig: Rig,
    memory: Memory,
    completions: Completions,
    near: Port,
    far: Port,
}

fn desk(profile: Profile) -> Desk {
    let mut rig = hairpin::rig(profile);
    let memory = Memory::new(&mut rig, 5);
    let completions = rig.completions(0, 6, OWN);
    let entries = hairpin::shared(&mut rig, SRQ, OWN);
    let mut near = hairpin::make(&mut rig, NEAR, &completions, None);
    let mut far = hairpin::make(&mut rig, FAR, &completions, None);
    let mut sharing = hairpin::make(&mut rig, SHARING, &completions, Some(SRQ));
    let resting = hairpin::make(&mut rig, RESTING, &completions, None);
    let mut gone = hairpin::make(&mut rig, GONE, &completions, None);
    hairpin::connect(&rig, &mut near, FAR);
    hairpin::connect(&rig, &mut far, NEAR);
    hairpin::connect(&rig, &mut sharing, NEAR);
    hairpin::connect(&rig, &mut gone, NEAR);
    rig.done(Verb::Destroy, ObjectKind::QueuePair, gone.number, 0, &[]);
    assert_eq!(rig.state_of(resting.number), QueuePairState::Reset);
    let inbox = [Sge { address: Memory::BASE, local_key: memory.open_key, length: 64 }];
    (0..POSTED).for_each(|_| far.put_receive(&hairpin::entry(&inbox)));
    far.ring_receive(&rig);
    entries.write(0, &[hairpin::entry(&inbox), hairpin::entry(&inbox), hairpin::entry(&inbox)].concat());
    rig.ring(OWN, &doorbells::SHARED_RECEIVE, shared(SRQ, POSTED));
    rig.settle();
    Desk { rig, memory, completions, near, far }
}

fn receive(number: u32, producer: u64) -> u64 {
    compose(&doorbells::RECEIVE, [("queue_pair", number.into()), ("producer", producer)])
}

fn shared(number: u32, producer: u64) -> u64 {
    compose(&doorbells::SHARED_RECEIVE, [("queue", number.into()), ("producer", producer)])
}

fn completion(number: u32, consumer: u64) -> u64 {
    compose(&doorbells::COMPLETION, [("queue", number.into()), ("consumer", consumer), ("arm", 1)])
}

fn commit(number: u32, index: u64, units: u64) -> u64 {
    let parts = [("queue_pair", number.into()), ("index", index), ("units", units), ("window", 1)];
    compose(&doorbells::PUSH_COMMIT, parts)
}

impl Desk {
    /// Doorbells through another's page, bad ones, pushes that were fetched, and frames.
    fn counts(&self) -> [u64; 4] {
        let frames = self.rig.count(&counters::TX_FRAMES) + self.rig.count(&counters::TX_TURNED);
        let counts = [&counters::WRONG_PAGE, &counters::BAD_DOORBELLS, &counters::PUSH_FALLBACKS];
        let [wrong, bad, fetched] = counts.map(|counter| self.rig.count(counter));
        [wrong, bad, fetched, frames]
    }

    /// A store moves these counters, and has no other effect.
    fn moves(&mut self, name: &str, page: usize, reg: &Reg, value: u64, expected: [u64; 4]) {
        let before = self.counts();
        self.rig.ring(page, reg, value);
        self.rig.settle();
        let after = self.counts();
        let moved: [u64; 4] = std::array::from_fn(|index| after[index] - before[index]);
        assert_eq!(moved, expected, "{name}");
        assert_eq!(self.rig.poll(&mut self.completions), None, "{name}");
    }

    /// A message arrives, in the first of the receives that were posted.
    fn works(&mut self, name: &str) {
        let index = self.near.producer;
        let list = [Sge { address: Memory::BASE, local_key: self.memory.readable_key, length: 64 }];
        let body = Body::Gather(SgeList::new(&list).expect("one"));
        self.near.put(&encode(WqeHead { index, ..head(WorkOp::Send) }, &body));
        self.near.ring(&self.rig);
        let found = [(); 2].map(|()| self.rig.completion(&mut self.completions));
        assert!(found.iter().all(|cqe| status(cqe) == Status::Success), "{name}: {found:?}");
        assert_eq!(found.iter().find(|cqe| cqe.receive).map(|cqe| cqe.index), Some(0), "{name}");
        assert_eq!(self.memory.open.read(0, 64), self.memory.readable(64), "{name}");
        self.rig.arm(&self.completions, 0);
        self.memory.check(name);
        assert_eq!(self.far.posted, 3);
    }
}

const WRONG_PAGE: [u64; 4] = [1, 0, 0, 0];
const BAD: [u64; 4] = [0, 1, 0, 0];

fn wrong(profile: Profile) {
    let mut desk = desk(profile);
    let beyond = profile.capacity().queue_pairs();
    let beyond = u32::try_from(beyond).expect("24 bits");
    let reg = &doorbells::RECEIVE;
    desk.moves("a receive through another's page", OTHER, reg, receive(FAR, 4), WRONG_PAGE);
    for (name, number, producer) in [
        ("a receive for no queue pair", 99, 1),
        ("a receive beyond the table", beyond, 1),
        ("a receive for the last number there can be", 0xff_ffff, 1),
        ("a receive for a queue pair that is gone", GONE, 1),
        ("a receive for one in RESET", RESTING, 1),
        ("a receive for one that takes from a shared queue", SHARING, 1),
        ("more receives than the ring has", FAR, 65),
        ("as many as 16 bits can say", FAR, 0xffff),
        ("half a turn ahead", FAR, 0x8003),
        ("fewer than are posted", FAR, 2),
        ("none, though some are posted", FAR, 0),
    ] {
        desk.moves(name, OWN, reg, receive(number, producer), BAD);
    }
    let reg = &doorbells::SHARED_RECEIVE;
    desk.moves("a shared receive through another's page", OTHER, reg, shared(SRQ, 4), WRONG_PAGE);
    for (name, number, producer) in [
        ("a shared receive for no queue", 4, 1),
        ("a shared receive beyond the table", 0x1_0000, 1),
        ("a shared receive for the last number", 0xff_ffff, 1),
        ("more shared receives than the ring has", SRQ, 65),
        ("fewer shared receives than are posted", SRQ, 2),
    ] {
        desk.moves(name, OWN, reg, shared(number, producer), BAD);
    }
    let reg = &doorbells::COMPLETION;
    desk.moves("a completion through another's page", OTHER, reg, completion(0, 0), WRONG_PAGE);
    for (name, number, consumer) in [
        ("a completion for no queue", 77, 0),
        ("a completion beyond the table", beyond, 0),
        ("a completion for the last number", 0xff_ffff, 0),
        ("a completion that was never written", 0, 1),
        ("completions of another lap", 0, 64),
        ("a completion before the first", 0, 0xff_ffff),
    ] {
        desk.moves(name, OWN, reg, completion(number, consumer), BAD);
    }
    let reg = &doorbells::PUSH_COMMIT;
    desk.moves("a push through another's page", OTHER, reg, commit(NEAR, 0, 1), WRONG_PAGE);
    for (name, number, index, units) in [
        ("a push for no queue pair", 99, 0, 1),
        ("a push beyond the table", beyond, 0, 1),
        ("a push for one that is gone", GONE, 0, 1),
        ("a push for one in RESET", RESTING, 0, 1),
        ("a push of no units", NEAR, 0, 0),
        ("a push of five units", NEAR, 0, 5),
        ("a push of fifteen units", NEAR, 0, 15),
        ("a push beyond the ring", NEAR, 64, 1),
        ("a push before the next", NEAR, 0xfff0, 1),
    ] {
        desk.moves(name, OWN, reg, commit(number, index, units), BAD);
    }
    desk.works("after all of it");
}

#[test]
fn wrong_doorbells_of_every_kind_move_a_counter_and_nothing_else() {
    widths!().into_iter().for_each(wrong);
}

/// Many at once, with words in push windows in between: each counts once.
fn storm(profile: Profile) {
    const STORES: u64 = 1000;
    let mut desk = desk(profile);
    let mut random = SplitMix64::new(0x81);
    let before = desk.counts();
    for _ in 0..STORES {
        // Through the right page for nobody, or through another's for anybody.
        let (page, number) = if random.below(2) == 0 {
            (OWN, one_of(&mut random, &[GONE, 99, 255, 1024, 0x1_0000, 0xff_ffff]))
        } else {
            (one_of(&mut random, &[0, 1, OTHER, 15]), one_of(&mut random, &[NEAR, FAR, GONE, 99]))
        };
        let index = random.below(0x1_0000);
        let (reg, value) = match random.below(5) {
            0 => (&doorbells::SEND, receive(number, index)),
            1 => (&doorbells::RECEIVE, receive(number, index)),
            2 if page == OWN => (&doorbells::SHARED_RECEIVE, shared(number, index)),
            2 => (&doorbells::SHARED_RECEIVE, shared(SRQ, index)),
            3 if page == OWN => (&doorbells::COMPLETION, completion(number, index)),
            3 => (&doorbells::COMPLETION, completion(0, index)),
            _ => (&doorbells::PUSH_COMMIT, commit(number, index, random.below(6))),
        };
        // What stands in a window is nobody's request before its commit.
        let word =
            page * DOORBELL_PAGE + doorbells::PUSH.offset + below(&mut random, 4 * PUSH_WINDOW / 8) * 8;
        desk.rig.backend().write64(BarId::Bar2, word, random.next_u64()).expect("in the BAR");
        desk.rig.ring(page, reg, value);
    }
    desk.rig.settle();
    let after = desk.counts();
    assert_eq!((after[0] + after[1]) - (before[0] + before[1]), STORES, "{profile:?}: {before:?} {after:?}");
    assert!(after[0] - before[0] > 200 && after[1] - before[1] > 200, "{before:?} {after:?}");
    assert_eq!(after[2..], before[2..], "{profile:?}");
    assert_eq!(desk.rig.poll(&mut desk.completions), None);
    desk.works("after the storm");
}

#[test]
fn a_storm_of_doorbells_for_nobody_is_counted_to_the_last() {
    widths!().into_iter().for_each(storm);
}
