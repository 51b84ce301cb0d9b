//! The timers on a bench, held against the model in every cycle.

use std::collections::VecDeque;

use rust_hdl::prelude::Bits;
use stroma_verilate::{Bench, SinkId, SourceId, SplitMix64};

use super::super::Timers;
use super::super::model::Model;
use crate::host::work::QpChange;
use crate::testing::{collect, push, read, verilated};
use crate::transport::records::{Alarm, Nudge, Occasion};

/// log2 of the queue pairs.
pub(super) const QPS: usize = 3;
/// Cycles in which each row is looked at once.
pub(super) const SWEEP: u64 = 2 << QPS;
/// Of the card under test: 4.096 us are a little more than eight cycles.
pub(super) const CLOCK_KHZ: u64 = 2000;
/// Cycles after which the block counts as stuck.
const LIMIT: u64 = 100_000;

pub(super) struct Rig {
    pub(super) bench: Bench,
    pub(super) alarms: [SourceId; 2],
    pub(super) change: SourceId,
    pub(super) nudge: SinkId,
    pub(super) model: Model,
    pub(super) rng: SplitMix64,
    pub(super) now: u64,
    /// When a nudge was first offered, and for whom.
    pub(super) nudges: Vec<(u64, usize)>,
    queued: [VecDeque<Alarm>; 2],
    changes: VecDeque<QpChange>,
}

impl Default for Rig {
    fn default() -> Self {
        let mut bench = verilated("timers", || Timers::<QPS>::new(CLOCK_KHZ));
        let alarms = ["alarm$0", "alarm$1"].map(|name| bench.source(name).expect("the stream exists"));
        let change = bench.source("change").expect("the stream exists");
        let nudge = bench.sink("nudge").expect("the stream exists");
        let mut rig = Self {
            bench,
            alarms,
            change,
            nudge,
            model: Model::new(QPS, CLOCK_KHZ),
            rng: SplitMix64::new(0),
            now: 0,
            nudges: Vec::new(),
            queued: Default::default(),
            changes: VecDeque::new(),
        };
        rig.reset(0, 0);
        rig
    }
}

impl Rig {
    /// Resets the block and waits for the scrub, up to this time.
    pub(super) fn reset(&mut self, seed: u64, now: u64) {
        assert!(self.bench.is_sent(), "an alarm of the run before is left");
        self.now = now;
        self.drive();
        self.bench.reset(2);
        self.bench[self.nudge].take();
        self.model = Model::new(QPS, CLOCK_KHZ);
        self.rng = SplitMix64::new(seed);
        self.nudges.clear();
        for _ in 0..1 << QPS {
            assert!(!read::<bool>(&self.bench, "ready"), "the rows are being scrubbed");
            self.bench.step();
        }
        assert!(read::<bool>(&self.bench, "ready"));
    }

    fn drive(&mut self) {
        let time = self.bench.model().port("time_").expect("the port exists");
        self.bench.model_mut().set(time, self.now);
    }

    pub(super) fn send(&mut self, place: usize, alarm: Alarm) {
        push(&mut self.bench, self.alarms[place], &[alarm]);
        self.queued[place].push_back(alarm);
    }

    pub(super) fn send_change(&mut self, change: QpChange) {
        push(&mut self.bench, self.change, &[change]);
        self.changes.push_back(change);
    }

    pub(super) fn wake(&self) -> u64 {
        read::<Bits<64>>(&self.bench, "wake").into()
    }

    /// One cycle.
    pub(super) fn step(&mut self) {
        self.drive();
        let sent = |rig: &Self| rig.alarms.map(|alarm| rig.bench[alarm].sent());
        let (before, changed) = (sent(self), self.bench[self.change].sent());
        self.bench.step();
        let after = sent(self);
        let mut moved = (0..2).filter(|place| before[*place] != after[*place]);
        let place = moved.next();
        assert!(moved.next().is_none(), "one alarm a cycle");
        let alarm = place.and_then(|place| self.queued[place].pop_front());
        let is_changed = self.bench[self.change].sent() > changed;
        let change = if is_changed { self.changes.pop_front() } else { None };
        let taken = collect::<Nudge>(&mut self.bench, self.nudge);
        let old = self.model.nudge;
        self.model.step(self.now, alarm, change, !taken.is_empty());
        self.now += 1;
        if self.model.nudge != old {
            self.nudges.extend(self.model.nudge.map(|number| (self.now, number)));
        }
        let offered =
            read::<bool>(&self.bench, "nudge$valid").then(|| read::<Nudge>(&self.bench, "nudge$payload"));
        let expected = self.model.nudge.map(|number| Nudge {
            occasion: (Occasion::Timeout as u64).into(),
            qpn: (number as u64).into(),
            ..Nudge::default()
        });
        assert_eq!(offered, expected, "nudge at {}", self.now);
        assert_eq!(read::<bool>(&self.bench, "busy"), self.model.is_busy(), "busy at {}", self.now);
        let least = self.model.least().unwrap_or(u64::MAX);
        assert!(self.wake() <= least, "wakes at {}, and a timer ends at {least}", self.wake());
    }

    pub(super) fn run(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.step());
    }

    /// Lets time come to `end`, perhaps without the cycles in which nothing can happen; how many were evaluated.
    pub(super) fn until(&mut self, end: u64, skips: bool) -> u64 {
        let mut evaluated = 0;
        while self.now < end {
            self.step();
            evaluated += 1;
            let target = self.wake().min(end);
            if skips && !self.model.is_busy() && self.bench.is_sent() && target > self.now {
                self.now = target;
            }
        }
        evaluated
    }

    /// Steps until no timer runs.
    pub(super) fn settle(&mut self) {
        let start = self.bench.cycle();
        while !self.bench.is_sent() || self.model.is_busy() || self.model.least().is_some() {
            assert!(self.bench.cycle() - start < LIMIT, "the timers are stuck");
            self.step();
        }
        self.run(2 * SWEEP + 4);
        assert_eq!(self.wake(), u64::MAX, "nothing is left to wait for");
    }
}
