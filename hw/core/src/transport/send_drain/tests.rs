use std::collections::VecDeque;

use rust_hdl::prelude::Bits;
use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

use super::SendDrain;
use crate::host::work::QpChange;
use crate::testing::{collect, push, read, stalls, verilated};

const QPS: usize = 2;

/// A queue pair in plain Rust.
#[derive(Clone, Copy, Debug, Default)]
struct Queue {
    sent: u64,
    over: u64,
    /// The driver has asked, and was not told.
    drains: bool,
}

struct Rig {
    bench: Bench,
    change: SourceId,
    kick: SourceId,
    emptied: SinkId,
    rng: SplitMix64,
    queues: [Queue; 1 << QPS],
    /// Queue pairs whose messages over are to be written.
    acks: VecDeque<usize>,
    told: u32,
}

impl Rig {
    fn new() -> Self {
        let mut bench = verilated("send_drain", SendDrain::<QPS>::default);
        let [change, kick] = ["change", "kick"].map(|name| bench.source(name).expect("the stream exists"));
        let emptied = bench.sink("emptied").expect("the stream exists");
        let (rng, acks) = (SplitMix64::new(1), VecDeque::new());
        let queues = Default::default();
        let mut rig = Self { bench, change, kick, emptied, rng, queues, acks, told: 0 };
        rig.start();
        rig
    }

    /// Resets, and creates all queue pairs.
    fn start(&mut self) {
        self.bench.reset(2);
        (self.queues, self.told) = (Default::default(), 0);
        for number in 0..1 << QPS {
            self.send(number);
            self.change(number, QpChange { resets: true, ..QpChange::default() });
        }
    }

    fn set(&mut self, name: &str, value: u64) {
        let port = self.bench.model().port(name).expect("the port exists");
        self.bench.model_mut().set(port, value);
    }

    /// One cycle, in which a count of messages over may be written; its kick comes behind.
    fn step(&mut self) {
        let over = self.acks.pop_front();
        self.set("acked_write", over.is_some().into());
        if let Some(number) = over {
            self.set("acked_index", number as u64);
            self.set("tail", self.queues[number].over & 63);
        }
        self.bench.step();
        self.set("sent_write", 0);
        if let Some(number) = over {
            push(&mut self.bench, self.kick, &[Bits::<24>::from(number as u64)]);
        }
        for number in collect::<Bits<24>>(&mut self.bench, self.emptied) {
            let queue = &mut self.queues[number.index()];
            assert!(queue.drains && queue.sent == queue.over, "{number:?} is not empty: {queue:?}");
            queue.drains = false;
            self.told += 1;
        }
    }

    /// The count of messages sent is written.
    fn send(&mut self, number: usize) {
        self.set("sent_write", 1);
        self.set("sent_index", number as u64);
        self.set("head", self.queues[number].sent & 63);
        self.step();
    }

    /// As the owner: the next change comes when all have heard of this one, and nothing is on its way back.
    fn change(&mut self, number: usize, change: QpChange) {
        let sent = self.bench[self.change].sent();
        push(&mut self.bench, self.change, &[QpChange { qpn: (number as u64).into(), ..change }]);
        if change.drains {
            self.queues[number].drains = true;
        }
        while self.bench[self.change].sent() == sent || read::<bool>(&self.bench, "telling") {
            self.step();
        }
        if !change.drains {
            self.queues[number].drains = false;
        }
    }

    fn settle(&mut self) {
        (0..40).for_each(|_| self.step());
        while !self.acks.is_empty() || !self.bench.is_sent() || read::<bool>(&self.bench, "busy") {
            self.step();
        }
        for (number, queue) in self.queues.iter().enumerate() {
            assert!(!queue.drains || queue.sent > queue.over, "{number} was not told of");
        }
    }

    /// Random lives.
    fn live(&mut self, count: usize) {
        for _ in 0..count {
            let number = usize::try_from(self.rng.below(1 << QPS)).expect("small");
            let open = self.queues[number].sent - self.queues[number].over;
            match self.rng.below(12) {
                0..3 if !self.queues[number].drains && open < 32 => {
                    self.queues[number].sent += 1;
                    self.send(number);
                }
                3..8 if open > 0 => {
                    self.queues[number].over += 1 + self.rng.below(open.min(3));
                    self.acks.push_back(number);
                }
                8 if !self.queues[number].drains => {
                    self.change(number, QpChange { drains: true, ..QpChange::default() });
                }
                9 => {
                    let stops = self.rng.below(3) == 0;
                    self.change(number, QpChange { stops, ..QpChange::default() });
                }
                10 if self.rng.below(4) == 0 => {
                    self.settle();
                    self.change(number, QpChange { stops: true, ..QpChange::default() });
                    self.queues[number] = Queue::default();
                    self.send(number);
                    self.change(number, QpChange { resets: true, ..QpChange::default() });
                }
                _ => self.step(),
            }
        }
        self.settle();
    }
}

#[test]
fn who_has_drained_is_told_of_once_and_not_before() {
    let mut rig = Rig::new();
    rig.live(20_000);
    assert!(rig.told > 400, "{}", rig.told);
}

#[test]
fn survives_stalls() {
    let mut rig = Rig::new();
    for (idle, pressure) in stalls() {
        rig.bench[rig.change].pause(idle.clone());
        rig.bench[rig.kick].pause(idle);
        rig.bench[rig.emptied].pause(pressure);
        rig.live(2000);
    }
    assert!(rig.told > 100, "{}", rig.told);
}

#[test]
fn all_may_drain_though_nobody_listens() {
    let mut rig = Rig::new();
    rig.bench[rig.emptied].pause(Pause::Always);
    for number in 0..1 << QPS {
        rig.queues[number].sent = 3;
        rig.send(number);
        let change = QpChange { qpn: (number as u64).into(), drains: true, ..QpChange::default() };
        push(&mut rig.bench, rig.change, &[change]);
        rig.queues[number].drains = true;
    }
    (0..20).for_each(|_| rig.step());
    for number in 0..1 << QPS {
        rig.queues[number].over = 3;
        rig.acks.push_back(number);
    }
    (0..40).for_each(|_| rig.step());
    assert!(rig.bench.is_sent() && rig.told == 0, "all kicks are taken");
    rig.bench[rig.emptied].pause(Pause::None);
    rig.settle();
    assert_eq!(rig.told, 1 << QPS);
}

#[test]
fn an_empty_queue_is_told_of_four_cycles_after_the_change() {
    let mut rig = Rig::new();
    let start = rig.bench.cycle();
    rig.change(1, QpChange { drains: true, ..QpChange::default() });
    // In the last of them it is taken.
    assert_eq!((rig.bench.cycle() - start, rig.told), (5, 1));
}

#[test]
fn recovers_from_reset() {
    let mut rig = Rig::new();
    rig.bench[rig.emptied].pause(Pause::Always);
    push(&mut rig.bench, rig.change, &[QpChange { drains: true, ..QpChange::default() }]);
    (0..9).for_each(|_| rig.step());
    assert!(read::<bool>(&rig.bench, "telling"));
    rig.bench[rig.emptied].pause(Pause::None);
    rig.start();
    assert_eq!(rig.told, 0);
    rig.live(500);
}
