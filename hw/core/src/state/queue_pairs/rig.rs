//! The owner of the queue pairs on a bench: held against its model in every cycle.

use std::collections::{BTreeMap, VecDeque};

use rust_hdl::prelude::Bits;
use stroma_abi::desc::QueuePair;
use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

use super::QueuePairs;
use super::model::{Ask, Outcome, Owner, is_shared};
use crate::fabric::records::ResultRow;
use crate::host::work::{EventRecord, QpChange, QpError, SendRow};
use crate::pack::Packed;
use crate::state::command::ObjectReply;
use crate::testing::{collect, push, read, verilated};
use crate::transport::records::{PathRow, PeerRow, RingRow};

/// log2 of the queue pairs.
pub(super) const QPS: usize = 3;
const CQS: usize = 3;
const PAGES: usize = 2;
/// Cycles within which a change reaches the row.
const ROW_CYCLES: u64 = 7;
/// Cycles after which the owner counts as stuck.
const LIMIT: u64 = 20_000;

pub(super) struct Rig {
    pub(super) bench: Bench,
    command: SourceId,
    reply: SinkId,
    error: SourceId,
    emptied: SourceId,
    event: SinkId,
    change: SinkId,
    pub(super) owner: Owner,
    pub(super) rng: SplitMix64,
    /// Queued, not taken.
    commands: VecDeque<Ask>,
    errors: VecDeque<QpError>,
    drained: VecDeque<u32>,
    /// The command that was taken and not answered, and what the model says of it.
    under_way: Option<(Ask, Outcome)>,
    /// Events the model has told and the owner has not.
    events: VecDeque<EventRecord>,
    /// Changes of errors the model has told and the owner has not.
    changes: VecDeque<QpChange>,
    /// Whether `drained` is owed, and when it is said.
    pub(super) drained_at: Option<u64>,
    /// A change was taken; whether `told` was said since.
    told_due: Option<bool>,
    /// How often `told` is high.
    pub(super) told_percent: u64,
    /// `settle` is due; whether there was a cycle without `entry_waits`.
    pub(super) settle_due: Option<bool>,
    /// Whether `settled` is owed, and when it is said.
    pub(super) settled_at: Option<u64>,
    /// Longest time that `drained` and `settled` take.
    pub(super) drain_cycles: u64,
    /// How often `entry_waits` is high.
    pub(super) entry_percent: u64,
    /// Drains that the model has told.
    pub(super) drains_told: u32,
    /// Last cycle in which the model changed.
    changed_at: u64,
    /// Replies seen, by verb, status and field.
    pub(super) seen: BTreeMap<(u8, u64, u64), u32>,
    /// Cycle in which the last command was taken, and in which its reply was offered.
    pub(super) taken_at: u64,
    pub(super) offered_at: u64,
}

/// The model of a card without queue pairs, where every other CQ exists.
fn nobody() -> Owner {
    let cqs = (0..1 << CQS).filter(|cq| cq % 2 == 1).collect();
    Owner { capacity: 1 << QPS, pages: 1 << PAGES, cqs, queue_pairs: BTreeMap::new() }
}

impl Default for Rig {
    /// An owner after reset.
    fn default() -> Self {
        let mut bench = verilated("queue_pairs", QueuePairs::<QPS, CQS, PAGES>::default);
        let [command, error, emptied] =
            ["command", "error", "emptied"].map(|name| bench.source(name).expect("the stream exists"));
        let [reply, event, change] =
            ["reply", "event", "change"].map(|name| bench.sink(name).expect("the stream exists"));
        bench.reset(2);
        Self {
            bench,
            command,
            reply,
            error,
            emptied,
            event,
            change,
            owner: nobody(),
            rng: SplitMix64::new(0),
            commands: VecDeque::new(),
            errors: VecDeque::new(),
            drained: VecDeque::new(),
            drains_told: 0,
            under_way: None,
            events: VecDeque::new(),
            changes: VecDeque::new(),
            drained_at: None,
            told_due: None,
            told_percent: 60,
            settle_due: None,
            settled_at: None,
            drain_cycles: 10,
            entry_percent: 60,
            changed_at: 0,
            seen: BTreeMap::new(),
            taken_at: 0,
            offered_at: 0,
        }
    }
}

impl Rig {
    /// Resets owner and model; queued commands and errors stay queued.
    pub(super) fn reset(&mut self, seed: u64) {
        self.bench.reset(1);
        self.rng = SplitMix64::new(seed);
        self.owner = nobody();
        self.under_way = None;
        self.events.clear();
        self.changes.clear();
        (self.drained_at, self.settle_due, self.settled_at, self.told_due) = (None, None, None, None);
        self.changed_at = self.bench.cycle();
    }

    /// Pauses of command, error and emptied, and of reply, event and change.
    pub(super) fn pause(&mut self, idle: &Pause, pressure: &Pause) {
        for source in [self.command, self.error, self.emptied] {
            self.bench[source].pause(idle.clone());
        }
        for sink in [self.reply, self.event, self.change] {
            self.bench[sink].pause(pressure.clone());
        }
    }

    /// Nobody takes the changes, or somebody does.
    pub(super) fn hold_changes(&mut self, holds: bool) {
        self.bench[self.change].pause(Pause::Script(vec![holds]));
    }

    /// Nobody takes the events, or somebody does.
    pub(super) fn hold_events(&mut self, holds: bool) {
        self.bench[self.event].pause(Pause::Script(vec![holds]));
    }

    pub(super) fn command(&mut self, command: Ask) {
        push(&mut self.bench, self.command, &[command.payload()]);
        self.commands.push_back(command);
    }

    pub(super) fn error(&mut self, number: u32, status: u8, untold: bool) {
        let error = QpError { qpn: u64::from(number).into(), status: u64::from(status).into(), untold };
        push(&mut self.bench, self.error, &[error]);
        self.errors.push_back(error);
    }

    pub(super) fn emptied(&mut self, number: u32) {
        push(&mut self.bench, self.emptied, &[Bits::<24>::from(u64::from(number))]);
        self.drained.push_back(number);
    }

    /// Errors that were not taken.
    pub(super) fn errors_waiting(&self) -> usize {
        self.errors.len()
    }

    /// One cycle, with a look at a row.
    pub(super) fn step(&mut self) {
        let number = match self.rng.below(8) {
            0 => u32::try_from(self.rng.below(1 << 24)).expect("24 bits"),
            _ => u32::try_from(self.rng.below((1 << QPS) + 1)).expect("small"),
        };
        self.step_with(Some(number));
    }

    /// One cycle, with a look at this row or at none.
    pub(super) fn step_with(&mut self, looked_at: Option<u32>) {
        let now = self.bench.cycle();
        for side in 0..2 {
            let cq: Bits<24> = read(&self.bench, &format!("probe_cq${side}"));
            let exists = self.owner.cqs.contains(&u32::try_from(u64::from(cq)).expect("24 bits"));
            self.set(&format!("probe_exists${side}"), exists.into());
        }
        let srq: Bits<24> = read(&self.bench, "probe_srq");
        self.set("srq_exists", is_shared(u32::try_from(u64::from(srq)).expect("24 bits")).into());
        let is_drained = self.drained_at.is_some_and(|at| at <= now);
        self.set("drained", is_drained.into());
        let is_settled = self.settled_at.is_some_and(|at| at <= now);
        self.set("settled", is_settled.into());
        let is_told = self.rng.below(100) < self.told_percent;
        self.set("told", is_told.into());
        let entry_waits = self.rng.below(100) < self.entry_percent;
        self.set("entry_waits", entry_waits.into());
        if read::<bool>(&self.bench, "drain") {
            assert!(self.drained_at.is_none(), "a drain within a drain");
            let (_, outcome) = self.under_way.as_mut().expect("a drain is for a command");
            assert!(outcome.drains && !outcome.stops, "a drain without need, or before the stop");
            assert_ne!(self.told_due, Some(false), "a drain before all have heard of the stop");
            outcome.drains = false;
            self.drained_at = Some(now + 1 + self.rng.below(self.drain_cycles));
        }
        if read::<bool>(&self.bench, "settle") {
            let was_free = self.settle_due.take().expect("a settle is for a drain that has ended");
            assert!(was_free, "an entry may not be accepted yet");
            self.settled_at = Some(now + 1 + self.rng.below(self.drain_cycles));
        }
        self.set("row_enable", looked_at.is_some().into());
        // Without a look the index is noise.
        let index = looked_at.map_or_else(|| self.rng.below(1 << 24), u64::from);
        self.set("row_index", index);
        if looked_at.is_some() {
            self.set("probe", index);
        }
        for name in ["peer", "path"] {
            self.set(&format!("{name}_enable"), looked_at.is_some().into());
            self.set(&format!("{name}_index"), index);
        }
        for reader in 0..2 {
            self.set(&format!("ring_enable${reader}"), looked_at.is_some().into());
            self.set(&format!("ring_index${reader}"), index);
            self.set(&format!("area_enable${reader}"), looked_at.is_some().into());
            self.set(&format!("area_index${reader}"), index);
        }
        let (errors, commands) = (self.bench[self.error].sent(), self.bench[self.command].sent());
        let emptied = self.bench[self.emptied].sent();
        let was_offered = read::<bool>(&self.bench, "reply$valid");
        let was_due = self.told_due;
        self.bench.step();
        if !was_offered && read::<bool>(&self.bench, "reply$valid") {
            self.offered_at = self.bench.cycle();
        }
        if let Some(number) = looked_at.filter(|_| now > self.changed_at + ROW_CYCLES) {
            self.agree_on_row(number);
        }
        self.check_outputs();
        // What is said in the cycle in which a change is taken is not of that change.
        if is_told && was_due == Some(false) && self.told_due == Some(false) {
            self.told_due = Some(true);
        }
        if let Some(was_free) = &mut self.settle_due {
            *was_free |= !entry_waits;
        }
        if is_drained {
            self.drained_at = None;
            let (_, outcome) = self.under_way.as_mut().expect("a drain is for a command");
            if std::mem::take(&mut outcome.settles) {
                self.settle_due = Some(false);
            }
        }
        if is_settled {
            self.settled_at = None;
        }
        // An error taken together with a command goes first.
        if self.bench[self.error].sent() > errors {
            let error = self.errors.pop_front().expect("only what was queued is taken");
            if let Some((change, event)) = self.owner.error(&error) {
                self.changes.push_back(change);
                self.events.extend(event);
            }
            self.changed_at = now;
        }
        if self.bench[self.emptied].sent() > emptied {
            let number = self.drained.pop_front().expect("only what was queued is taken");
            let event = self.owner.emptied(number);
            self.drains_told += u32::from(event.is_some());
            self.events.extend(event);
            self.changed_at = now;
        }
        if self.bench[self.command].sent() > commands {
            let command = self.commands.pop_front().expect("only what was queued is taken");
            assert!(self.under_way.is_none(), "a command was taken before the reply to the last");
            let outcome = self.owner.command(&command);
            self.under_way = Some((command, outcome));
            self.changed_at = now;
            self.taken_at = now;
        }
    }

    /// Holds what has left the owner against what the model expects, in its order.
    fn check_outputs(&mut self) {
        for event in collect::<EventRecord>(&mut self.bench, self.event) {
            assert_eq!(Some(event), self.events.pop_front(), "event");
        }
        for change in collect::<QpChange>(&mut self.bench, self.change) {
            if self.changes.front() == Some(&change) {
                self.changes.pop_front();
                continue;
            }
            let is_ended = self.is_ended();
            let (command, outcome) = self.under_way.as_mut().expect("a change is for a command");
            self.told_due = Some(false);
            let qpn = u64::from(command.object).into();
            if outcome.stops {
                outcome.stops = false;
                assert_eq!(change, QpChange { qpn, stops: true, ends: true, ..QpChange::default() });
                continue;
            }
            assert!(!outcome.drains && is_ended, "a change before all has ended");
            let expected = outcome.change.take().expect("a change without need");
            assert_eq!(change, QpChange { qpn, ..expected });
        }
        for reply in collect::<ObjectReply>(&mut self.bench, self.reply) {
            let (command, outcome) = self.under_way.take().expect("a reply is for a command");
            assert!(self.is_ended(), "a reply before all has ended");
            assert_ne!(self.told_due.take(), Some(false), "a reply before all have heard");
            let expected = Outcome { stops: false, drains: false, settles: false, change: None, reply };
            assert_eq!(expected, outcome, "{command:?}");
            let key = (command.verb, u64::from(reply.status), u64::from(reply.field));
            *self.seen.entry(key).or_default() += 1;
        }
    }

    /// Neither drain nor settle is under way.
    pub(super) fn is_ended(&self) -> bool {
        self.drained_at.is_none() && self.settle_due.is_none() && self.settled_at.is_none()
    }

    /// Holds the row that was looked at against the model's.
    pub(super) fn agree_on_row(&self, number: u32) {
        let row: SendRow = read(&self.bench, "row");
        let expected = self.owner.row(number);
        assert_eq!(row.exists.then_some(row), expected, "row of queue pair {number}");
        assert_eq!(read::<bool>(&self.bench, "exists"), expected.is_some(), "queue pair {number}");
        let peer: PeerRow = read(&self.bench, "peer");
        assert_eq!(peer.exists.then_some(peer), self.owner.peer(number), "peer of queue pair {number}");
        let path: PathRow = read(&self.bench, "path");
        assert_eq!(path.exists.then_some(path), self.owner.path(number), "path of queue pair {number}");
        for reader in 0..2 {
            let ring: RingRow = read(&self.bench, &format!("ring${reader}"));
            assert_eq!(ring.exists.then_some(ring), self.owner.ring(number), "rings of queue pair {number}");
            let area: ResultRow = read(&self.bench, &format!("area${reader}"));
            assert_eq!(
                area.exists.then_some(area),
                self.owner.area(number),
                "results of queue pair {number}"
            );
        }
    }

    /// Steps until all that was queued has been answered.
    pub(super) fn settle(&mut self) {
        for _ in 0..LIMIT {
            if self.bench.is_sent() && self.under_way.is_none() && !read::<bool>(&self.bench, "busy") {
                assert!(self.events.is_empty(), "{} events are missing", self.events.len());
                assert!(self.changes.is_empty(), "{} changes are missing", self.changes.len());
                return;
            }
            self.step();
        }
        panic!("the owner is busy after {LIMIT} cycles");
    }

    /// Steps until a drain is awaited; with `drain_cycles` large enough it stays so.
    pub(super) fn reach_drain(&mut self) {
        for _ in 0..LIMIT {
            if self.drained_at.is_some() {
                return;
            }
            self.step();
        }
        panic!("no drain after {LIMIT} cycles");
    }

    /// A command and all that follows from it; its status.
    pub(super) fn carry_out(&mut self, command: Ask) -> u64 {
        let before = self.seen.clone();
        self.command(command);
        self.settle();
        let is_new = |(key, count): &(&(u8, u64, u64), &u32)| before.get(*key).is_none_or(|had| had < *count);
        let ((_, status, _), _) = self.seen.iter().find(is_new).expect("a reply has come");
        *status
    }

    pub(super) fn port<T: Packed>(&self, name: &str) -> T {
        read(&self.bench, name)
    }

    fn set(&mut self, name: &str, value: u64) {
        let port = self.bench.model().port(name).expect("the port exists");
        self.bench.model_mut().set(port, value);
    }
}

/// A body in which every bit without a meaning, and most with one, is noise.
pub(super) fn noise(rng: &mut SplitMix64) -> [u8; QueuePair::LEN] {
    std::array::from_fn(|_| rng.next_u32().to_le_bytes()[0])
}
