//! First requests against a set of queue pairs that were told of.

use std::collections::{BTreeSet, VecDeque};

use rust_hdl::prelude::Bits;
use stroma_abi::desc::Event;
use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

use super::Greet;
use crate::host::work::{EventRecord, QpChange};
use crate::testing::{collect, push, read, stalls_of, verilated};
use crate::verilog::differential::{assert_agree, differential};

const QPS: usize = 2;
/// Events that wait.
const EVENTS: usize = 4;
const LIMIT: u64 = 10_000;

struct Rig {
    bench: Bench,
    first: SourceId,
    change: SourceId,
    event: SinkId,
    firsts: VecDeque<u64>,
    changes: VecDeque<QpChange>,
    /// Queue pairs that were told of, and events that are not taken.
    told: BTreeSet<u64>,
    awaited: VecDeque<u64>,
    /// All events so far.
    seen: Vec<u64>,
    /// First requests for which there was no room.
    passed_over: usize,
}

impl Rig {
    fn new() -> Self {
        let mut bench = verilated("greet", Greet::<QPS>::default);
        let [first, change] = ["first", "change"].map(|name| bench.source(name).expect("the stream exists"));
        let event = bench.sink("event").expect("the stream exists");
        bench.reset(2);
        Self {
            bench,
            first,
            change,
            event,
            firsts: VecDeque::new(),
            changes: VecDeque::new(),
            told: BTreeSet::new(),
            awaited: VecDeque::new(),
            seen: Vec::new(),
            passed_over: 0,
        }
    }

    fn hear(&mut self, qpn: u64) {
        push(&mut self.bench, self.first, &[Bits::<24>::from(qpn)]);
        self.firsts.push_back(qpn);
    }

    fn change(&mut self, qpn: u64, resets: bool) {
        let change = QpChange { qpn: qpn.into(), resets, stops: !resets, ..QpChange::default() };
        push(&mut self.bench, self.change, &[change]);
        self.changes.push_back(change);
    }

    /// One cycle: what moves in it does so one behind the other, so the model is told of one after the other.
    fn step(&mut self) {
        let has_room = self.awaited.len() < EVENTS;
        let before = [self.first, self.change].map(|source| self.bench[source].sent());
        self.bench.step();
        let after = [self.first, self.change].map(|source| self.bench[source].sent());
        assert!(after[0] + after[1] <= before[0] + before[1] + 1, "one at a time");
        for event in collect::<EventRecord>(&mut self.bench, self.event) {
            let qpn = self.awaited.pop_front().expect("an event is due");
            let (object, kind) = (qpn.into(), (Event::CommunicationUp as u64).into());
            assert_eq!(event, EventRecord { object, kind, ..EventRecord::default() });
            self.seen.push(qpn);
        }
        if after[0] > before[0] {
            let qpn = self.firsts.pop_front().expect("it was queued");
            if !has_room && !self.told.contains(&qpn) {
                self.passed_over += 1;
            } else if self.told.insert(qpn) {
                self.awaited.push_back(qpn);
            }
        }
        if after[1] > before[1] {
            let change = self.changes.pop_front().expect("it was queued");
            if change.resets {
                self.told.remove(&change.qpn.into());
            }
        }
    }

    fn settle(&mut self) {
        let start = self.bench.cycle();
        self.step();
        while !self.bench.is_sent() || read::<bool>(&self.bench, "busy") {
            assert!(self.bench.cycle() - start < LIMIT, "{}", self.bench.stuck(LIMIT));
            self.step();
        }
        assert!(self.awaited.is_empty(), "events are missing: {:?}", self.awaited);
    }
}

#[test]
fn agrees_with_the_model_under_stalls() {
    let mut passed_over = 0;
    for (seed, [first, change, event]) in (1..).zip(stalls_of::<3>()) {
        let mut rig = Rig::new();
        let mut rng = SplitMix64::new(seed);
        rig.bench[rig.first].pause(first);
        rig.bench[rig.change].pause(change);
        rig.bench[rig.event].pause(event);
        for _ in 0..600 {
            if rng.below(2) == 0 {
                rig.hear(rng.below(1 << QPS));
            }
            if rng.below(4) == 0 {
                rig.change(rng.below(1 << QPS), rng.below(3) > 0);
            }
            rig.step();
        }
        rig.settle();
        assert!(rig.seen.len() > 10, "{} events", rig.seen.len());
        passed_over += rig.passed_over;
    }
    assert!(passed_over > 0, "there was always room");
}

#[test]
fn a_queue_pair_is_told_of_once_until_it_resets() {
    let mut rig = Rig::new();
    for _ in 0..3 {
        rig.hear(2);
        rig.hear(1);
    }
    rig.settle();
    assert_eq!(rig.seen, [2, 1]);
    rig.change(2, false);
    rig.hear(2);
    rig.settle();
    assert_eq!(rig.seen, [2, 1], "it has stopped, and not begun anew");
    rig.change(2, true);
    rig.settle();
    rig.hear(2);
    rig.settle();
    assert_eq!(rig.seen, [2, 1, 2]);
}

#[test]
fn without_room_nobody_waits_and_the_next_request_tells() {
    let mut rig = Rig::new();
    rig.bench[rig.event].pause(Pause::Always);
    for round in 0..3 {
        for qpn in 0..1 << QPS {
            rig.hear(qpn);
            if round == 1 {
                rig.change(qpn, true);
            }
        }
        (0..20).for_each(|_| rig.step());
        assert!(rig.bench.is_sent(), "nothing waits");
    }
    assert_eq!(rig.passed_over, 8, "the changes of the second round go first");
    rig.bench[rig.event].pause(Pause::None);
    rig.settle();
    (0..1 << QPS).for_each(|qpn| rig.hear(qpn));
    rig.settle();
    assert_eq!(rig.seen, [0, 1, 2, 3, 0, 1, 2, 3]);
}

#[test]
fn recovers_from_reset() {
    let mut rig = Rig::new();
    rig.bench[rig.event].pause(Pause::Always);
    rig.hear(3);
    (0..10).for_each(|_| rig.step());
    assert!(read::<bool>(&rig.bench, "event$valid"));
    rig.bench.reset(1);
    (rig.told, rig.awaited) = (BTreeSet::new(), VecDeque::new());
    assert!(!read::<bool>(&rig.bench, "event$valid") && !read::<bool>(&rig.bench, "ready"));
    rig.bench[rig.event].pause(Pause::None);
    rig.hear(3);
    rig.settle();
    assert_eq!(rig.seen, [3]);
}

#[test]
fn rust_and_verilog_agree() {
    let case = differential!(
        "greet",
        Greet::<QPS>::default,
        clock,
        [first.payload, first.valid, change.payload, change.valid, event.ready]
    );
    assert_agree([case], 300);
}
