//! The receive queues on a bench, each operation held against the model as it happens, between a driver that posts and a
//! card that takes.

mod cycle;

use std::collections::VecDeque;

use rust_hdl::prelude::Bits;
use stroma_abi::desc::queue_pair::QueuePairState;
use stroma_verilate::{Bench, SinkId, SourceId, SplitMix64};

use super::super::Receives;
use super::super::model::{Indices, Model, Queue};
use crate::host::work::QpChange;
use crate::pack::Packed;
use crate::testing::{push, read, verilated};
use crate::transport::records::{ReceiveDoorbell, RingRow, SharedRow};

/// log2 of the queue pairs, and of the SRQs.
pub(super) const QPS: usize = 3;
pub(super) const SRQS: usize = 2;
/// Cycles after which the block counts as stuck.
const LIMIT: u64 = 100_000;

#[derive(Clone, Copy)]
enum What {
    Ring(ReceiveDoorbell),
    Change(QpChange),
    Renew(usize),
    Recall(usize),
    Limit(usize),
}

impl What {
    /// Does the queue begin anew?
    fn begins_anew(&self, queue: Queue) -> bool {
        match self {
            Self::Change(change) => !queue.shared && change.resets && change.qpn.index() == queue.number,
            Self::Renew(number) => queue.shared && *number == queue.number,
            _ => false,
        }
    }
}

/// An operation that has read its rows.
#[derive(Clone, Copy)]
struct Under {
    what: What,
    ring: RingRow,
    shared: SharedRow,
    consumer: u16,
}

/// What has happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) good: u64,
    pub(super) bad: u64,
    pub(super) wrong_page: u64,
    pub(super) taken: u64,
    /// Visits that had nothing to say.
    pub(super) silent: u64,
}

#[expect(clippy::struct_excessive_bools, reason = "each is a wire or a wish of its own")]
pub(super) struct Rig {
    pub(super) bench: Bench,
    pub(super) doorbell: SourceId,
    pub(super) change: SourceId,
    pub(super) shared_change: SourceId,
    pub(super) nudge: SinkId,
    pub(super) event: SinkId,
    pub(super) model: Model,
    pub(super) rings: Vec<RingRow>,
    pub(super) shares: Vec<SharedRow>,
    pub(super) rng: SplitMix64,
    pub(super) counts: Counts,
    /// What the card looks at in the next cycle; whether it takes what it looked at before.
    pub(super) look: Option<Queue>,
    pub(super) take: bool,
    /// Nudges recall what they are about.
    pub(super) recalls: bool,
    /// Cycles in which doorbells moved, changes of both kinds moved, nudges were first offered, events were taken.
    pub(super) rung: Vec<u64>,
    pub(super) changed: Vec<u64>,
    pub(super) nudged: Vec<(u64, usize)>,
    pub(super) told: Vec<(u64, usize)>,
    doorbells: VecDeque<ReceiveDoorbell>,
    changes: VecDeque<QpChange>,
    renewals: VecDeque<usize>,
    /// The last look, what it showed, and whether its queue has begun anew since.
    shown: Option<(Queue, Indices)>,
    is_stale: bool,
    /// The operation whose rows were read in the cycle before; the one in the cycle before that.
    looking: Option<Under>,
    acting: Option<Under>,
    awaited_nudges: VecDeque<usize>,
    awaited_events: VecDeque<usize>,
    /// The SRQ and the round of which an event tells in this cycle.
    limit_told: Option<(u64, u64)>,
    seen: [u64; 2],
    /// Nudges that the card has taken; the one it carries out.
    recalled: VecDeque<usize>,
    recalling: Option<usize>,
    has_looked: bool,
}

impl Default for Rig {
    fn default() -> Self {
        let mut bench = verilated("receives", Receives::<QPS, SRQS>::default);
        let [doorbell, change, shared_change] = ["doorbell", "change", "shared_change"]
            .map(|name| bench.source(name).expect("the stream exists"));
        let [nudge, event] = ["nudge", "event"].map(|name| bench.sink(name).expect("the stream exists"));
        let mut rig = Self {
            bench,
            doorbell,
            change,
            shared_change,
            nudge,
            event,
            model: Model::new(QPS, SRQS),
            rings: Vec::new(),
            shares: Vec::new(),
            rng: SplitMix64::new(0),
            counts: Counts::default(),
            look: None,
            take: false,
            recalls: true,
            rung: Vec::new(),
            changed: Vec::new(),
            nudged: Vec::new(),
            told: Vec::new(),
            doorbells: VecDeque::new(),
            changes: VecDeque::new(),
            renewals: VecDeque::new(),
            shown: None,
            is_stale: false,
            looking: None,
            acting: None,
            awaited_nudges: VecDeque::new(),
            awaited_events: VecDeque::new(),
            limit_told: None,
            seen: [0; 2],
            recalled: VecDeque::new(),
            recalling: None,
            has_looked: false,
        };
        rig.reset(0);
        rig
    }
}

/// A row whose queue has `2^log` places, on the page of its own number.
pub(super) fn ring(number: usize, log: u64) -> RingRow {
    RingRow {
        exists: true,
        state: (QueuePairState::ReadyToSend as u64).into(),
        page: (number as u64).into(),
        receive_log: log.into(),
        ..RingRow::default()
    }
}

pub(super) fn share(number: usize, log: u64, limit: u64) -> SharedRow {
    let page = (0x100 + number as u64).into();
    SharedRow { exists: true, page, log: log.into(), limit: limit.into(), ..SharedRow::default() }
}

impl Rig {
    /// Everything anew; the rows have rings of 16 places, and what was queued is forgotten.
    pub(super) fn reset(&mut self, seed: u64) {
        (self.look, self.take) = (None, false);
        self.drive_looks();
        self.bench.clear();
        self.bench.reset(2);
        for sink in [self.nudge, self.event] {
            self.bench[sink].take();
        }
        self.model = Model::new(QPS, SRQS);
        self.rings = (0..1 << QPS).map(|number| ring(number, 4)).collect();
        self.shares = (0..1 << SRQS).map(|number| share(number, 4, 0)).collect();
        self.rng = SplitMix64::new(seed);
        self.counts = Counts::default();
        (self.shown, self.looking, self.acting, self.recalling) = (None, None, None, None);
        self.seen = [0; 2];
        self.recalls = true;
        for cycles in [&mut self.rung, &mut self.changed] {
            cycles.clear();
        }
        self.nudged.clear();
        self.told.clear();
        self.doorbells.clear();
        self.changes.clear();
        self.renewals.clear();
        self.awaited_nudges.clear();
        self.awaited_events.clear();
        self.limit_told = None;
        self.recalled.clear();
        for _ in 0..1 << QPS {
            assert!(!self.flag("ready"), "the rows are being scrubbed");
            self.bench.step();
        }
        assert!(self.flag("ready") && !self.flag("busy"));
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        read::<bool>(&self.bench, name)
    }

    fn set<T: Packed>(&mut self, name: &str, value: &T) {
        let port = self.bench.model().port(name).expect("the port exists");
        self.bench.model_mut().set_wide(port, &value.to_words());
    }

    pub(super) fn ring(&mut self, queue: Queue, producer: u16) {
        let page = if queue.shared { self.shares[queue.number].page } else { self.rings[queue.number].page };
        self.ring_raw(ReceiveDoorbell {
            shared: queue.shared,
            number: (queue.number as u64).into(),
            page,
            producer: u64::from(producer).into(),
        });
    }

    pub(super) fn ring_raw(&mut self, doorbell: ReceiveDoorbell) {
        push(&mut self.bench, self.doorbell, &[doorbell]);
        self.doorbells.push_back(doorbell);
    }

    pub(super) fn change(&mut self, number: usize, resets: bool, stops: bool) {
        let change = QpChange { qpn: (number as u64).into(), resets, stops, ..QpChange::default() };
        push(&mut self.bench, self.change, &[change]);
        self.changes.push_back(change);
    }

    /// The queue pair goes into error.
    pub(super) fn fail(&mut self, number: usize) {
        self.rings[number].state = (QueuePairState::Error as u64).into();
        self.change(number, false, true);
    }

    pub(super) fn renew(&mut self, number: usize) {
        push::<Bits<24>>(&mut self.bench, self.shared_change, &[(number as u64).into()]);
        self.renewals.push_back(number);
    }

    /// Receives that the last look has shown; none when they may not be taken, for the queue begins anew.
    pub(super) fn shown(&self) -> u16 {
        let under = [self.looking, self.acting].into_iter().flatten().map(|under| under.what);
        let changes = self.changes.iter().map(|change| What::Change(*change));
        let renewals = self.renewals.iter().map(|number| What::Renew(*number));
        let mut anew = under.chain(changes).chain(renewals);
        match self.shown {
            Some((queue, indices)) if !self.is_stale && !anew.any(|what| what.begins_anew(queue)) => {
                indices.count()
            }
            _ => 0,
        }
    }

    /// The card carries out a nudge: it looks, and takes what it is shown.
    fn serve(&mut self) {
        let own = |number| Queue { shared: false, number };
        self.recalling = self.recalling.or_else(|| self.recalled.pop_front());
        let Some(number) = self.recalling else { return };
        if self.shown.is_some_and(|(queue, _)| queue == own(number)) && self.has_looked {
            self.take =
                self.shown() > 0 && self.rings[number].state.index() == QueuePairState::Error as usize;
            self.recalling = None;
        } else {
            self.look = Some(own(number));
        }
        self.has_looked = self.look.is_some();
    }

    fn ready(&self) -> [bool; 3] {
        ["doorbell$ready", "change$ready", "shared_change$ready"].map(|name| self.flag(name))
    }

    fn drive_looks(&mut self) {
        let queue = self.look.unwrap_or(Queue { shared: true, number: 1 });
        let (looks, takes) = (self.look.is_some(), self.take);
        self.set("look_enable", &looks);
        self.set("look_shared", &queue.shared);
        self.set("look_number", &Bits::<24>::from(queue.number as u64));
        self.set("take", &takes);
    }

    pub(super) fn run(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.step());
    }

    /// Steps until all is done, and nothing is left to recall.
    pub(super) fn settle(&mut self) {
        let start = self.bench.cycle();
        while !self.bench.is_sent()
            || self.is_inside()
            || !self.recalled.is_empty()
            || self.recalling.is_some()
        {
            assert!(self.bench.cycle() - start < LIMIT, "the receives are stuck");
            self.step();
        }
    }
}
