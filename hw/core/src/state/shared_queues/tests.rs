//! The owner and its model agree, whatever is asked and however slowly answers are taken.

use rust_hdl::prelude::Bits;
use stroma_abi::desc::{SharedQueue, Verb};
use stroma_verilate::{Bench, SinkId, SourceId, SplitMix64};

use super::SharedQueues;
use super::model::{Ask, Owner};
use crate::pack::{Packed, to_bytes};
use crate::state::command::ObjectReply;
use crate::testing::{collect, push, read, stalls, verilated};
use crate::transport::records::{LimitTold, SharedRow};

const SRQS: usize = 3;
const PAGES: usize = 2;
/// Cycles after which the owner counts as stuck.
const LIMIT: u64 = 2_000;

struct Rig {
    bench: Bench,
    command: SourceId,
    reply: SinkId,
    change: SinkId,
    owner: Owner,
}

impl Rig {
    fn new() -> Self {
        let mut bench = verilated("shared_queues", SharedQueues::<SRQS, PAGES>::default);
        let command = bench.source("command").expect("the stream exists");
        let [reply, change] = ["reply", "change"].map(|name| bench.sink(name).expect("the stream exists"));
        bench.reset(2);
        Self { bench, command, reply, change, owner: Owner::new(1 << SRQS, 1 << PAGES) }
    }

    /// Runs a command and holds its reply, its change and the queue's rows against the model.
    fn ask(&mut self, ask: &Ask) -> ObjectReply {
        push(&mut self.bench, self.command, &[ask.payload()]);
        let (expected, begins) = self.owner.command(ask);
        let mut replies = vec![];
        let mut changes: Vec<Bits<24>> = vec![];
        for _ in 0..LIMIT {
            self.bench.step();
            changes.extend(collect::<Bits<24>>(&mut self.bench, self.change));
            replies.extend(collect::<ObjectReply>(&mut self.bench, self.reply));
            if !replies.is_empty() {
                break;
            }
        }
        assert_eq!(replies, [expected], "{ask:?}");
        let told: Vec<Bits<24>> = if begins { vec![u64::from(ask.object).into()] } else { vec![] };
        assert_eq!(changes, told, "{ask:?}");
        self.rows(ask.object & 0xff_ffff);
        expected
    }

    fn set(&mut self, port: &str, value: u64) {
        let port = self.bench.model().port(port).unwrap_or_else(|error| panic!("{error}"));
        self.bench.model_mut().set(port, value);
    }

    /// An event tells of the limit of a round.
    fn tell(&mut self, number: u32, round: u8) {
        let told =
            LimitTold { valid: true, number: u64::from(number).into(), round: u64::from(round).into() };
        let port = self.bench.model().port("limit_told").expect("the port exists");
        self.bench.model_mut().set_wide(port, &told.to_words());
        self.bench.step();
        self.bench.model_mut().set_wide(port, &LimitTold::default().to_words());
        self.owner.tell(number, round);
    }

    fn rows(&mut self, number: u32) {
        let expected = self.owner.row(number);
        for reader in 0..2 {
            self.set(&format!("row_index${reader}"), u64::from(number));
            self.set(&format!("row_enable${reader}"), 1);
        }
        self.set("probe", u64::from(number));
        self.bench.step();
        for reader in 0..2 {
            self.set(&format!("row_enable${reader}"), 0);
        }
        self.bench.step();
        for reader in 0..2 {
            let row = read::<SharedRow>(&self.bench, &format!("row${reader}"));
            assert_eq!(row.exists.then_some(row), expected, "queue {number}, reader {reader}");
        }
        assert_eq!(read::<bool>(&self.bench, "exists"), expected.is_some(), "queue {number}");
    }
}

fn queue(rng: &mut SplitMix64) -> SharedQueue {
    let any = |rng: &mut SplitMix64| rng.next_u64();
    let base = match rng.below(8) {
        0 => any(rng),
        1 => (any(rng) | 0xffff_ffff_fff0_0000) & !0xfff,
        _ => any(rng) & !0xfff,
    };
    SharedQueue {
        base,
        log: u8::try_from(3 + rng.below(14)).expect("small"),
        stride: u8::try_from(rng.below(8)).expect("small"),
        page: u16::try_from(rng.below(5)).expect("small"),
        pd: u16::try_from(rng.below(1 << 16)).expect("16 bits"),
        limit: u16::try_from(rng.below(1 << 16)).expect("16 bits"),
    }
}

#[test]
fn agrees_with_the_model() {
    for (seed, (idle, pressure)) in stalls().into_iter().enumerate() {
        let mut rig = Rig::new();
        let mut rng = SplitMix64::new(seed as u64);
        rig.bench[rig.command].pause(idle);
        rig.bench[rig.reply].pause(pressure.clone());
        rig.bench[rig.change].pause(pressure);
        let mut done = 0;
        for _ in 0..300 {
            let verb = if rng.below(10) == 0 { rng.below(6) } else { 1 + rng.below(4) };
            let verb = u8::try_from(verb).expect("small");
            let object = match rng.below(10) {
                0 => u32::try_from(rng.below(4)).expect("small") | 1 << (SRQS as u64 + rng.below(24)),
                _ => u32::try_from(rng.below(3)).expect("small"),
            };
            let attributes =
                if rng.below(8) == 0 { rng.below(4) } else { u64::from(verb == Verb::Modify as u8) };
            let reply = rig.ask(&Ask { verb, object, attributes, queue: queue(&mut rng) });
            if rng.below(3) == 0 {
                let number = u32::try_from(rng.below(3)).expect("small");
                let round = rig.owner.row(number).map_or(0, |row| u64::from(row.round)) + rng.below(2);
                rig.tell(number, round.to_le_bytes()[0]);
            }
            done += u32::from(!reply.status.any());
        }
        assert!(done > 50, "only {done} commands were carried out");
    }
}

#[test]
fn a_limit_that_is_set_again_is_a_new_round() {
    let mut rig = Rig::new();
    let queue = SharedQueue { base: 0x4000, log: 4, stride: 1, limit: 9, ..SharedQueue::default() };
    rig.ask(&Ask::new(Verb::Create, 2, queue));
    let first = rig.owner.row(2).expect("it was made");
    assert!(!first.limit.any(), "a queue begins without a limit");
    rig.ask(&Ask::new(Verb::Modify, 2, queue));
    let second = rig.owner.row(2).expect("it is there");
    rig.ask(&Ask::new(Verb::Modify, 2, queue));
    let third = rig.owner.row(2).expect("it is there");
    assert_eq!((second.limit, third.limit), (9_u64.into(), 9_u64.into()));
    assert!(first.round != second.round && second.round != third.round);
}

#[test]
fn a_limit_that_was_told_of_is_none_until_it_is_set_again() {
    let mut rig = Rig::new();
    let queue = SharedQueue { base: 0x4000, log: 4, stride: 1, limit: 9, ..SharedQueue::default() };
    let limit = |rig: &mut Rig| {
        let reply = rig.ask(&Ask::new(Verb::Query, 2, queue));
        SharedQueue::parse(&to_bytes(reply.body)).expect("long enough").limit
    };
    rig.ask(&Ask::new(Verb::Create, 2, queue));
    for round in 1..4 {
        rig.ask(&Ask::new(Verb::Modify, 2, queue));
        rig.tell(2, round - 1);
        assert_eq!(limit(&mut rig), 9, "the event of a round before came late");
        rig.tell(2, round);
        assert_eq!(limit(&mut rig), 0);
        let row = rig.owner.row(2).expect("it is there");
        assert_eq!(u64::from(row.limit), 9, "as whoever tells of it knows it");
    }
}

#[test]
fn a_reply_comes_after_three_cycles_and_after_four_when_a_queue_begins() {
    let mut rig = Rig::new();
    let queue = SharedQueue { base: 0x4000, log: 4, stride: 1, ..SharedQueue::default() };
    for (verb, cycles) in [(Verb::Create, 4), (Verb::Query, 3), (Verb::Destroy, 3)] {
        while !read::<bool>(&rig.bench, "ready") {
            rig.bench.step();
        }
        let before = rig.bench[rig.command].sent();
        push(&mut rig.bench, rig.command, &[Ask::new(verb, 1, queue).payload()]);
        while rig.bench[rig.command].sent() == before {
            rig.bench.step();
        }
        let mut passed = 0;
        while !read::<bool>(&rig.bench, "reply$valid") {
            rig.bench.step();
            passed += 1;
            assert!(passed < 10, "{verb:?}");
        }
        assert_eq!(passed + 1, cycles, "{verb:?}");
        rig.bench.step();
        collect::<ObjectReply>(&mut rig.bench, rig.reply);
    }
}

#[test]
fn reset_forgets_all_queues() {
    let mut rig = Rig::new();
    let queue = SharedQueue { base: 0x4000, log: 4, stride: 1, ..SharedQueue::default() };
    for number in 0..1 << SRQS {
        rig.ask(&Ask::new(Verb::Create, number, queue));
    }
    rig.bench.reset(1);
    rig.owner = Owner::new(1 << SRQS, 1 << PAGES);
    for _ in 0..=1 << SRQS {
        rig.bench.step();
    }
    for number in 0..1 << SRQS {
        rig.rows(number);
    }
}
