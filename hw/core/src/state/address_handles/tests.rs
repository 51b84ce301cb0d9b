//! The owner and its model agree, whatever is asked and however slowly answers are taken.

use std::collections::BTreeMap;

use stroma_abi::desc::{AddressHandle, CommandStatus, Verb};
use stroma_verilate::{Bench, SinkId, SourceId, SplitMix64};

use super::AddressHandles;
use super::model::{Ask, Owner};
use crate::state::command::ObjectReply;
use crate::testing::{collect, push, read, stalls, verilated};
use crate::transport::records::HandleRow;
use crate::verilog::differential::{assert_agree, differential};

const LOG: usize = 3;
/// Cycles after which the owner counts as stuck.
const LIMIT: u64 = 200;

struct Rig {
    bench: Bench,
    command: SourceId,
    reply: SinkId,
    owner: Owner,
}

impl Rig {
    fn new() -> Self {
        let mut bench = verilated("address_handles", AddressHandles::<LOG>::default);
        let command = bench.source("command").expect("the stream exists");
        let reply = bench.sink("reply").expect("the stream exists");
        bench.reset(2);
        Self { bench, command, reply, owner: Owner { capacity: 1 << LOG, handles: BTreeMap::new() } }
    }

    /// Runs a command and holds its reply and the handle's row against the model; cycles that the reply took.
    fn ask(&mut self, ask: &Ask) -> (CommandStatus, u64) {
        push(&mut self.bench, self.command, &[ask.payload()]);
        let expected = self.owner.command(ask);
        let start = self.bench.cycle();
        let mut replies = vec![];
        while replies.is_empty() {
            assert!(self.bench.cycle() < start + LIMIT, "{ask:?} is not answered");
            self.bench.step();
            replies.extend(collect::<ObjectReply>(&mut self.bench, self.reply));
        }
        let cycles = self.bench.cycle() - start;
        let reply = ObjectReply { status: (expected as u64).into(), ..ObjectReply::default() };
        assert_eq!(replies, [reply], "{ask:?}");
        self.row(ask.object & 0xff_ffff);
        (expected, cycles)
    }

    fn set(&mut self, port: &str, value: u64) {
        let port = self.bench.model().port(port).unwrap_or_else(|error| panic!("{error}"));
        self.bench.model_mut().set(port, value);
    }

    fn row(&mut self, number: u32) {
        self.set("row_index", number.into());
        self.set("row_enable", 1);
        self.bench.step();
        self.set("row_enable", 0);
        self.set("row_index", 0);
        self.bench.step();
        let found: HandleRow = read(&self.bench, "row");
        match self.owner.row(number) {
            Some(expected) => assert_eq!(found, expected, "handle {number}"),
            None => assert!(!found.exists, "handle {number}"),
        }
    }
}

fn handle(rng: &mut SplitMix64) -> AddressHandle {
    let bytes: [u8; AddressHandle::LEN] = std::array::from_fn(|_| rng.next_u32().to_le_bytes()[0]);
    AddressHandle::parse(&bytes).expect("long enough")
}

fn ask(rng: &mut SplitMix64) -> Ask {
    let object = match rng.below(16) {
        0 => rng.next_u32(),
        1 => 1 << LOG,
        _ => u32::try_from(rng.below(1 << LOG)).expect("small"),
    };
    let verb = match rng.below(8) {
        0 => rng.next_u32().to_le_bytes()[0],
        1 => Verb::Query as u8,
        2..5 => Verb::Create as u8,
        _ => Verb::Destroy as u8,
    };
    Ask { verb, object, attributes: u64::from(rng.below(8) == 0), handle: handle(rng) }
}

#[test]
fn agrees_with_the_model_under_stalls() {
    use CommandStatus::{BadAttribute, Done, Exists, NoObject, OutOfRange, UnknownVerb};
    let mut rig = Rig::new();
    let mut rng = SplitMix64::new(5);
    let mut met = Vec::new();
    for (idle, pressure) in stalls() {
        rig.bench[rig.command].pause(idle);
        rig.bench[rig.reply].pause(pressure);
        met.extend((0..100).map(|_| rig.ask(&ask(&mut rng)).0));
    }
    for status in [Done, UnknownVerb, OutOfRange, NoObject, Exists, BadAttribute] {
        let count = met.iter().filter(|other| **other == status).count();
        assert!(count > 5, "{status:?}: {count}");
    }
}

#[test]
fn the_reply_comes_a_cycle_behind_the_command() {
    let mut rig = Rig::new();
    while !read::<bool>(&rig.bench, "ready") {
        rig.bench.step();
    }
    let create = Ask { verb: Verb::Create as u8, object: 2, attributes: 0, handle: AddressHandle::default() };
    // One cycle to take the command, one to take the reply.
    assert_eq!(rig.ask(&create), (CommandStatus::Done, 2));
    assert_eq!(rig.ask(&Ask { verb: Verb::Destroy as u8, ..create }), (CommandStatus::Done, 2));
}

#[test]
fn reset_forgets_all_handles_one_a_cycle() {
    let mut rig = Rig::new();
    let mut rng = SplitMix64::new(9);
    for object in 0..1 << LOG {
        let made = Ask { verb: Verb::Create as u8, object, attributes: 0, handle: handle(&mut rng) };
        assert_eq!(rig.ask(&made).0, CommandStatus::Done);
    }
    rig.bench.reset(1);
    rig.owner.handles.clear();
    assert!(read::<bool>(&rig.bench, "busy"));
    let start = rig.bench.cycle();
    while !read::<bool>(&rig.bench, "ready") {
        rig.bench.step();
    }
    assert_eq!(rig.bench.cycle() - start, 1 << LOG);
    (0..1 << LOG).for_each(|number| rig.row(number));
    assert!(!read::<bool>(&rig.bench, "busy"));
}

#[test]
fn rust_and_verilog_agree() {
    let case = differential!(
        "address_handles",
        AddressHandles::<LOG>::default,
        clock,
        [command.payload, command.valid, reply.ready, row_enable, row_index]
    );
    assert_agree([case], 300);
}
