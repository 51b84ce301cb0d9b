use std::collections::BTreeMap;

use stroma_hw::host::axi::WriteResponse;
use stroma_hw::testing::{collect, read, stalls_of, verilated};
use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

use super::Writer;
use crate::pcie::requester::model::{Request, writes};
use crate::pcie::requester::rig::{Burst, Far, any_burst, burst, send};

/// Cycles after which the writer counts as stuck.
const LIMIT: u64 = 100_000;

struct Rig {
    bench: Bench,
    aw: SourceId,
    w: SourceId,
    b: SinkId,
    far: Far,
    max_payload: u64,
    /// What is still to be seen on `rq`, each with its burst.
    expected: std::collections::VecDeque<(usize, Request)>,
    /// Bursts sent, and for each how many transactions lack their report.
    bursts: usize,
    open: BTreeMap<usize, usize>,
    numbers: BTreeMap<u64, usize>,
    answered: usize,
}

impl Rig {
    fn new() -> Self {
        let mut bench = verilated("requester_writer", Writer::default);
        let [aw, w] = ["aw", "w"].map(|name| bench.source(name).expect("the stream exists"));
        let [b, rq] = ["b", "rq"].map(|name| bench.sink(name).expect("the stream exists"));
        let far = Far::new(rq, 1);
        let mut rig = Self {
            bench,
            aw,
            w,
            b,
            far,
            max_payload: 0,
            expected: std::collections::VecDeque::new(),
            bursts: 0,
            open: BTreeMap::new(),
            numbers: BTreeMap::new(),
            answered: 0,
        };
        rig.set("stops", 0);
        rig.payload(8);
        rig.far.report(&mut rig.bench);
        rig.bench.reset(2);
        rig
    }

    fn set(&mut self, name: &str, value: u64) {
        let port = self.bench.model().port(name).expect("the port exists");
        self.bench.model_mut().set(port, value);
    }

    fn payload(&mut self, log: u64) {
        self.set("max_payload_log", log);
        self.max_payload = 1 << log.clamp(7, 10);
    }

    fn pause(&mut self, [aw, w, b, rq]: [Pause; 4]) {
        self.bench[self.aw].pause(aw);
        self.bench[self.w].pause(w);
        self.bench[self.b].pause(b);
        let rq_sink = self.far.sink();
        self.bench[rq_sink].pause(rq);
    }

    fn send(&mut self, burst: &Burst) {
        send(&mut self.bench, self.aw, self.w, burst);
        let requests = writes(burst.0, &burst.1, self.max_payload);
        self.open.insert(self.bursts, requests.len());
        self.expected.extend(requests.into_iter().map(|request| (self.bursts, request)));
        self.bursts += 1;
    }

    fn step(&mut self) {
        self.far.report(&mut self.bench);
        self.bench.step();
        for number in &self.far.reported {
            let burst = self.numbers.remove(number).expect("it was under way");
            *self.open.get_mut(&burst).expect("it is open") -= 1;
        }
        for (request, number) in self.far.take(&mut self.bench) {
            let (burst, expected) = self.expected.pop_front().expect("nothing more is to come");
            assert_eq!(request, expected);
            self.numbers.insert(number, burst);
        }
        for response in collect::<WriteResponse>(&mut self.bench, self.b) {
            assert_eq!(response.resp, 0_u64);
            let left = self.open.remove(&self.answered);
            assert_eq!(left, Some(0), "burst {} is answered before its time", self.answered);
            self.answered += 1;
        }
        let left = self.count("left");
        let begun = self.expected.front().map_or(self.bursts, |(burst, _)| *burst);
        assert!(left <= begun as u64, "a burst has left that was not all seen");
    }

    fn count(&self, port: &str) -> u64 {
        self.bench.model().get(self.bench.model().port(port).expect("the port exists"))
    }

    fn finish(&mut self) {
        let start = self.bench.cycle();
        while self.answered < self.bursts {
            assert!(self.bench.cycle() - start < LIMIT, "{} of {} answered", self.answered, self.bursts);
            self.step();
        }
        assert!(self.expected.is_empty() && self.far.is_idle());
        (0..20).for_each(|_| self.step());
        assert!(read::<bool>(&self.bench, "is_drained"));
        assert_eq!((self.count("accepted"), self.count("left")), (self.bursts as u64, self.bursts as u64));
    }
}

#[test]
fn agrees_with_the_model() {
    let mut rig = Rig::new();
    // Every first byte and every last one, in one beat and in two; then every length around the largest payload.
    let mut random = SplitMix64::new(1);
    for log in [6, 7, 8, 9, 10, 15] {
        rig.payload(log);
        for first in 0..64 {
            for last in [first, 63, (first + 1).min(63), 64, 127, 64 + first] {
                rig.send(&burst(&mut random, 0xabcd_0000_2380 + first, last + 1 - first));
            }
            rig.finish();
        }
        for length in [1, 124, 127, 128, 129, 255, 256, 257, 511, 512, 1000, 1024, 1025, 4095, 4096] {
            for start in [0, 4096 - length, (4096 - length) / 2] {
                rig.send(&burst(&mut random, 0x7000 + start, length));
            }
            rig.finish();
        }
    }
}

#[test]
fn survives_stalls() {
    let mut rig = Rig::new();
    for (seed, stall) in (0..).zip(stalls_of::<4>()) {
        rig.pause(stall);
        rig.far.delay = [0, 20, 300][usize::try_from(seed % 3).expect("small")];
        rig.payload(7 + seed % 4);
        let mut random = SplitMix64::new(seed);
        (0..100).for_each(|_| rig.send(&any_burst(&mut random)));
        rig.finish();
    }
}

/// Transactions of one beat each: 62 of them, and not one more.
#[test]
fn waits_for_reports() {
    let mut rig = Rig::new();
    let mut random = SplitMix64::new(3);
    (0..100).for_each(|at| rig.send(&burst(&mut random, 64 * at, 16)));
    rig.far.hold = true;
    (0..1000).for_each(|_| rig.step());
    assert_eq!((rig.numbers.len(), rig.answered), (62, 0));
    rig.far.hold = false;
    rig.finish();
}

#[test]
fn large_writes_cost_one_beat_more_for_each_transaction() {
    let mut rig = Rig::new();
    let mut random = SplitMix64::new(4);
    for (log, beats) in [(7, 32 * 3), (8, 16 * 5), (9, 8 * 9), (10, 4 * 17)] {
        rig.payload(log);
        (0..20).for_each(|at| rig.send(&burst(&mut random, 4096 * at, 4096)));
        rig.far.beats = 0;
        rig.finish();
        assert_eq!(rig.far.beats, 20 * beats);
        assert_eq!(rig.far.last_cycle - rig.far.first_cycle + 1, 20 * beats, "no cycle without a beat");
    }
}

#[test]
fn stops_between_bursts() {
    let mut rig = Rig::new();
    let mut random = SplitMix64::new(5);
    (0..10).for_each(|at| rig.send(&burst(&mut random, 4096 * at + 7, 4000)));
    (0..100).for_each(|_| rig.step());
    rig.set("stops", 1);
    (0..2000).for_each(|_| rig.step());
    assert!(read::<bool>(&rig.bench, "is_drained"));
    assert!(rig.answered > 1 && rig.answered < 10, "{} of 10", rig.answered);
    assert_eq!(rig.answered as u64, rig.bench[rig.aw].sent());
    rig.set("stops", 0);
    rig.finish();
}

#[test]
fn recovers_from_reset() {
    let mut rig = Rig::new();
    let mut random = SplitMix64::new(6);
    for cycles in [3, 10, 40, 41, 42, 43, 100] {
        (0..30).for_each(|at| rig.send(&burst(&mut random, 4096 * at + 70, 400)));
        (0..cycles).for_each(|_| rig.step());
        rig.bench.clear();
        rig.far.reset(&mut rig.bench);
        rig.bench.reset(2);
        rig.bench[rig.b].take();
        (rig.bursts, rig.answered) = (0, 0);
        rig.expected.clear();
        rig.open.clear();
        rig.numbers.clear();
        (0..30).for_each(|_| rig.send(&any_burst(&mut random)));
        rig.finish();
        rig.bench.reset(2);
        (rig.bursts, rig.answered) = (0, 0);
    }
}
