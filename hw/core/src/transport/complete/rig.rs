//! The block on a bench, each arrival held against the model as it is taken.

mod bed;
mod make;

use std::collections::VecDeque;

use rust_hdl::prelude::Bits;
use stroma_abi::desc::Statistics;
use stroma_abi::desc::statistics::REQUESTER_COUNTERS;
use stroma_verilate::{Bench, Pause, SinkId, SourceId};

use bed::Bed;

use super::model::Row;
use super::step::FIRST;
use crate::host::work::QpChange;
use crate::pack::Packed;
use crate::testing::{collect, push, read, verilated};
use crate::transport::records::{Alarm, Arrival, Errand, OUTSTANDING_LOG, Rewind, Sent, SentRow};
use crate::transport::statistics::counter;

/// log2 of the queue pairs.
pub(super) const QPS: usize = 3;
pub(super) const PAIRS: usize = 1 << QPS;
const OUT: usize = QPS + OUTSTANDING_LOG;
pub(super) const RING: usize = 1 << OUTSTANDING_LOG;
/// Cycles after which the block counts as stuck.
const LIMIT: u64 = 100_000;

/// What a queue pair is set to.
#[derive(Clone, Copy)]
pub(super) struct Settings {
    pub(super) path_mtu: u64,
    pub(super) timeout: u64,
    pub(super) retry: u64,
    pub(super) rnr_retry: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { path_mtu: 1, timeout: 14, retry: 7, rnr_retry: 7 }
    }
}

/// What the block has given, with the cycle in which it was taken from it.
#[derive(Default)]
pub(super) struct Given {
    pub(super) errands: Vec<(u64, Errand)>,
    pub(super) rewinds: Vec<(u64, Rewind)>,
    pub(super) alarms: Vec<(u64, Alarm)>,
    pub(super) timeouts: Vec<u64>,
    /// Answers of which nothing came, and those for queue pairs that have failed.
    pub(super) stale: usize,
    pub(super) unwanted: usize,
}

pub(super) struct Rig {
    pub(super) bench: Bench,
    pub(super) arrival: SourceId,
    pub(super) change: SourceId,
    pub(super) errand: SinkId,
    pub(super) rewind: SinkId,
    pub(super) alarm: SinkId,
    /// What the model knows, and what was sent.
    pub(super) rows: Vec<Row>,
    pub(super) sent: Vec<SentRow>,
    pub(super) rings: Vec<Vec<Sent>>,
    /// Messages that the block has ended, modulo 64.
    tails: Vec<Bits<6>>,
    pub(super) settings: Vec<Settings>,
    pub(super) given: Given,
    /// Cycles in which arrivals were taken.
    pub(super) taken: Vec<u64>,
    pub(super) arrivals: VecDeque<Arrival>,
    pub(super) changes: VecDeque<QpChange>,
    awaited_errands: VecDeque<Errand>,
    awaited_rewinds: VecDeque<Rewind>,
    awaited_alarms: VecDeque<Alarm>,
    /// Queue pairs of which something counts, and its place.
    awaited_counts: VecDeque<(usize, usize)>,
    late: usize,
    stale: usize,
    unwanted: usize,
}

impl Default for Rig {
    fn default() -> Self {
        let mut bench = verilated("complete", Bed::<QPS, OUT>::default);
        let [arrival, change] =
            ["arrival", "change"].map(|name| bench.source(name).expect("the stream exists"));
        let [errand, rewind, alarm] =
            ["errand", "rewind", "alarm"].map(|name| bench.sink(name).expect("the stream exists"));
        let mut rig = Self {
            bench,
            arrival,
            change,
            errand,
            rewind,
            alarm,
            rows: vec![Row::default(); PAIRS],
            sent: vec![SentRow::default(); PAIRS],
            rings: vec![vec![Sent::default(); RING]; PAIRS],
            tails: vec![0.into(); PAIRS],
            settings: vec![Settings::default(); PAIRS],
            given: Given::default(),
            taken: Vec::new(),
            arrivals: VecDeque::new(),
            changes: VecDeque::new(),
            awaited_errands: VecDeque::new(),
            awaited_rewinds: VecDeque::new(),
            awaited_alarms: VecDeque::new(),
            awaited_counts: VecDeque::new(),
            late: 0,
            stale: 0,
            unwanted: 0,
        };
        rig.reset();
        rig
    }
}

impl Rig {
    /// Resets the block, forgets what was on its way, and lets every queue pair have sent nothing.
    pub(super) fn reset(&mut self) {
        self.bench.clear();
        self.set("row_write", 0);
        self.set("entry_write", 0);
        self.bench.reset(2);
        for sink in [self.errand, self.rewind, self.alarm] {
            self.bench[sink].take();
        }
        self.rows = vec![Row::default(); PAIRS];
        self.given = Given::default();
        self.taken.clear();
        self.arrivals.clear();
        self.changes.clear();
        self.awaited_errands.clear();
        self.awaited_rewinds.clear();
        self.awaited_alarms.clear();
        (self.late, self.stale, self.unwanted) = (0, 0, 0);
        self.awaited_counts.clear();
        for qpn in 0..PAIRS {
            self.begin(qpn, 0);
        }
    }

    pub(super) fn set(&mut self, name: &str, value: u64) {
        let port = self.bench.model().port(name).expect("the port exists");
        self.bench.model_mut().set(port, value);
    }

    fn set_wide(&mut self, name: &str, value: &impl Packed) {
        let port = self.bench.model().port(name).expect("the port exists");
        self.bench.model_mut().set_wide(port, &value.to_words());
    }

    pub(super) fn pause(&mut self, pauses: [Pause; 5]) {
        let [arrival, change, errand, rewind, alarm] = pauses;
        let (to_arrival, to_change) = (self.arrival, self.change);
        self.bench[to_arrival].pause(arrival);
        self.bench[to_change].pause(change);
        for (sink, pause) in [self.errand, self.rewind, self.alarm].into_iter().zip([errand, rewind, alarm]) {
            self.bench[sink].pause(pause);
        }
    }

    /// Writes how far a queue pair has sent, in a cycle of its own.
    pub(super) fn write_row(&mut self, qpn: usize, row: SentRow) {
        self.set("row_write", 1);
        self.set("row_index", qpn as u64);
        self.set_wide("row", &row);
        self.step();
        self.set("row_write", 0);
        self.sent[qpn] = row;
    }

    /// The queue pair has sent nothing, and its first PSN is this.
    pub(super) fn begin(&mut self, qpn: usize, psn: u64) {
        self.tails[qpn] = 0.into();
        self.write_row(qpn, SentRow { head: 0.into(), frontier: psn.into() });
    }

    /// Sends one more message of a queue pair, or `sent` packets of it.
    pub(super) fn admit(&mut self, qpn: usize, message: Sent, sent: u64) {
        let SentRow { head, .. } = self.sent[qpn];
        let slot = head.index() % RING;
        self.set("entry_write", 1);
        self.set("entry_index", (qpn * RING + slot) as u64);
        self.set_wide("entry", &message);
        self.step();
        self.set("entry_write", 0);
        self.rings[qpn][slot] = message;
        self.write_row(qpn, SentRow { head: head + 1, frontier: message.psn + sent });
    }

    /// Queues an arrival.
    pub(super) fn arrive(&mut self, arrival: &Arrival) {
        push(&mut self.bench, self.arrival, &[*arrival]);
        self.arrivals.push_back(*arrival);
    }

    /// Queues a change.
    pub(super) fn tell(&mut self, qpn: usize, resets: bool) {
        let change = QpChange { qpn: (qpn as u64).into(), resets, stops: !resets, ..QpChange::default() };
        push(&mut self.bench, self.change, &[change]);
        self.changes.push_back(change);
    }

    /// One cycle.
    pub(super) fn step(&mut self) {
        let cycle = self.bench.cycle();
        let moved = |rig: &Self| [rig.arrival, rig.change].map(|source| rig.bench[source].sent());
        let before = moved(self);
        self.bench.step();
        let after = moved(self);
        if after[0] > before[0] {
            self.taken.push(cycle);
            let arrival = self.arrivals.pop_front().expect("an arrival was queued");
            let qpn = arrival.qpn.index();
            let outcome = self.rows[qpn].arrive(&arrival, &self.sent[qpn], &self.rings[qpn]);
            self.awaited_errands.extend(outcome.errands);
            self.awaited_rewinds.extend(outcome.rewind);
            self.awaited_alarms.extend(outcome.alarm);
            self.stale += usize::from(outcome.is_stale);
            self.unwanted += usize::from(outcome.is_unwanted);
            if let Some(field) = outcome.counted {
                self.awaited_counts.push_back((qpn, counter(field) - FIRST));
                self.late += usize::from(field == Statistics::LOCAL_ACK_TIMEOUT_ERR);
            }
        }
        if after[1] > before[1] {
            let change = self.changes.pop_front().expect("a change was queued");
            if change.resets {
                self.rows[change.qpn.index()] = Row::default();
            }
        }
        for errand in collect::<Errand>(&mut self.bench, self.errand) {
            let expected = self.awaited_errands.pop_front();
            assert_eq!(Some(meant(&errand)), expected, "errand {}", self.given.errands.len());
            if errand.retires {
                self.tails[errand.qpn.index()] = errand.tail;
            }
            self.given.errands.push((cycle, errand));
        }
        for rewind in collect::<Rewind>(&mut self.bench, self.rewind) {
            assert_eq!(Some(rewind), self.awaited_rewinds.pop_front());
            self.given.rewinds.push((cycle, rewind));
        }
        for alarm in collect::<Alarm>(&mut self.bench, self.alarm) {
            assert_eq!(Some(alarm), self.awaited_alarms.pop_front());
            self.given.alarms.push((cycle, alarm));
        }
        if read::<bool>(&self.bench, "timeouts") {
            // The port is read behind the clock's edge.
            self.given.timeouts.push(cycle + 1);
        }
        self.given.stale += usize::from(read::<bool>(&self.bench, "stale"));
        self.given.unwanted += usize::from(read::<bool>(&self.bench, "unwanted"));
        let tally = read::<Bits<REQUESTER_COUNTERS>>(&self.bench, "tally").index();
        if tally > 0 {
            let qpn = read::<Bits<QPS>>(&self.bench, "tally_index").index();
            let (expected, place) = self.awaited_counts.pop_front().expect("something counts");
            assert_eq!((qpn, tally), (expected, 1 << place), "what counts");
        }
    }

    pub(super) fn run(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.step());
    }

    /// Steps until nothing is left, and sees that everything came.
    pub(super) fn settle(&mut self) {
        self.step();
        let start = self.bench.cycle();
        while !self.bench.is_sent() || read::<bool>(&self.bench, "busy") {
            assert!(self.bench.cycle() - start < LIMIT, "{}", self.bench.stuck(LIMIT));
            self.step();
        }
        assert!(self.awaited_errands.is_empty(), "{:?} are missing", self.awaited_errands);
        assert!(self.awaited_rewinds.is_empty(), "{:?} are missing", self.awaited_rewinds);
        assert!(self.awaited_alarms.is_empty(), "{:?} are missing", self.awaited_alarms);
        assert_eq!(self.given.timeouts.len(), self.late, "timeouts");
        let thrown = (self.given.stale, self.given.unwanted);
        assert_eq!(thrown, (self.stale, self.unwanted), "answers of which nothing came");
        assert!(self.awaited_counts.is_empty(), "{:?} do not count", self.awaited_counts);
    }

    /// Lets an arrival pass, and gives what came of it.
    pub(super) fn outcome(&mut self, arrival: &Arrival) -> Given {
        self.given = Given::default();
        (self.late, self.stale, self.unwanted) = (0, 0, 0);
        self.arrive(arrival);
        self.settle();
        (self.late, self.stale, self.unwanted) = (0, 0, 0);
        std::mem::take(&mut self.given)
    }

    /// Messages of a queue pair whose places are in use: the errands that end them have not come.
    pub(super) fn held(&self, qpn: usize) -> usize {
        (self.sent[qpn].head - self.tails[qpn]).index()
    }
}

/// The errand with zero for what means nothing.
fn meant(errand: &Errand) -> Errand {
    let mut meant = *errand;
    if !errand.places {
        (meant.va, meant.key, meant.need) = (0.into(), 0.into(), 0.into());
    }
    if !errand.places && !errand.completes {
        (meant.index, meant.opcode, meant.length) = (0.into(), 0.into(), 0.into());
    }
    if errand.list.any() {
        (meant.va, meant.key) = (0.into(), 0.into());
    } else {
        meant.offset = 0.into();
    }
    if !errand.has_value {
        meant.value = 0.into();
    }
    meant
}
