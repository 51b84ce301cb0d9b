//! The owner of the regions on a bench, with an MMU and a DMA that take their time.

use std::collections::{BTreeMap, VecDeque};

use rust_hdl::prelude::Bits;
use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

use super::Regions;
use super::model::{Ask, Order, Owner, answer};
use super::works::Work;
use crate::pack::Packed;
use crate::state::command::ObjectReply;
use crate::state::memory_keys::{RegionRow, RowWrite};
use crate::testing::{collect, push, read, verilated};

/// log2 of the regions.
pub(super) const MRS: usize = 3;
/// Cycles after which the owner counts as stuck.
const LIMIT: u64 = 20_000;

/// What has been seen of a command on its way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Stage {
    /// Nothing yet, or the row has gone to the MMU.
    Open,
    /// The MMU is to forget the region.
    Invalidated,
    /// It has.
    Forgotten,
    /// `drain` was said; `drained` comes in this cycle.
    Draining(u64),
    Drained,
    /// `settle` was said; `settled` comes in this cycle.
    Settling(u64),
    Settled,
}

pub(super) struct Rig {
    pub(super) bench: Bench,
    command: SourceId,
    reply: SinkId,
    row: SinkId,
    invalidate: SinkId,
    done: SourceId,
    work: SourceId,
    answer: SinkId,
    pub(super) owner: Owner,
    pub(super) rng: SplitMix64,
    commands: VecDeque<Ask>,
    /// The command that was taken and not answered, and what the model says of it.
    under_way: Option<(Ask, Order, ObjectReply)>,
    works: VecDeque<Work>,
    /// The work that was taken and not answered, and the answer of the model.
    work_under_way: Option<(Work, u8)>,
    /// Rows that are to come, in this order, and whether a work is behind it.
    rows: VecDeque<(RowWrite<MRS>, bool)>,
    pub(super) stage: Stage,
    /// Longest time that the MMU and each pulse take.
    pub(super) patience: u64,
    /// Cycle in which the MMU says `done`.
    done_at: Option<u64>,
    /// Replies seen, by verb, status and field.
    pub(super) seen: BTreeMap<(u8, u32, u32), u32>,
    /// Answers seen, by verb and cause.
    pub(super) answers: BTreeMap<(u8, u8), u32>,
    /// Cycle in which the last command was taken, and in which its reply was offered.
    pub(super) taken_at: u64,
    pub(super) offered_at: u64,
    /// The same of the last work.
    pub(super) work_taken_at: u64,
    pub(super) work_offered_at: u64,
}

fn nobody() -> Owner {
    Owner { capacity: 1 << MRS, regions: BTreeMap::new(), bonds: BTreeMap::new() }
}

impl Default for Rig {
    /// An owner after reset.
    fn default() -> Self {
        let mut bench = verilated("regions", Regions::<MRS>::default);
        let [command, done, work] =
            ["command", "done", "work"].map(|name| bench.source(name).expect("the stream exists"));
        let [reply, row, invalidate, answer] =
            ["reply", "row", "invalidate", "answer"].map(|name| bench.sink(name).expect("the stream exists"));
        bench.reset(2);
        Self {
            bench,
            command,
            reply,
            row,
            invalidate,
            done,
            work,
            answer,
            owner: nobody(),
            rng: SplitMix64::new(0),
            commands: VecDeque::new(),
            under_way: None,
            works: VecDeque::new(),
            work_under_way: None,
            rows: VecDeque::new(),
            stage: Stage::Open,
            patience: 10,
            done_at: None,
            seen: BTreeMap::new(),
            answers: BTreeMap::new(),
            taken_at: 0,
            offered_at: 0,
            work_taken_at: 0,
            work_offered_at: 0,
        }
    }
}

impl Rig {
    /// Resets owner and model; queued commands and works stay queued.
    pub(super) fn reset(&mut self, seed: u64) {
        self.bench.reset(1);
        self.rng = SplitMix64::new(seed);
        self.owner = nobody();
        self.under_way = None;
        self.work_under_way = None;
        self.rows.clear();
        self.stage = Stage::Open;
        self.done_at = None;
    }

    /// Pauses of command, done and work, and of reply, row, invalidate and answer.
    pub(super) fn pause(&mut self, idle: &Pause, pressure: &Pause) {
        for source in [self.command, self.done, self.work] {
            self.bench[source].pause(idle.clone());
        }
        for sink in [self.reply, self.row, self.invalidate, self.answer] {
            self.bench[sink].pause(pressure.clone());
        }
    }

    pub(super) fn command(&mut self, command: Ask) {
        push(&mut self.bench, self.command, &[command.payload()]);
        self.commands.push_back(command);
    }

    pub(super) fn work(&mut self, work: Work) {
        push(&mut self.bench, self.work, &[work.payload()]);
        self.works.push_back(work);
    }

    /// One cycle.
    pub(super) fn step(&mut self) {
        let now = self.bench.cycle();
        let later = |rng: &mut SplitMix64, patience: u64| now + 1 + rng.below(patience);
        let (drains, settles) = (read::<bool>(&self.bench, "drain"), read::<bool>(&self.bench, "settle"));
        if drains {
            assert_eq!(self.stage, Stage::Forgotten, "a drain out of turn");
            self.stage = Stage::Draining(later(&mut self.rng, self.patience));
        }
        if settles {
            assert_eq!(self.stage, Stage::Drained, "a settle out of turn");
            self.stage = Stage::Settling(later(&mut self.rng, self.patience));
        }
        let is_drained = matches!(self.stage, Stage::Draining(at) if at <= now);
        let is_settled = matches!(self.stage, Stage::Settling(at) if at <= now);
        // Pulses that are not for this owner come at any other time.
        let is_strange = self.rng.below(8) == 0;
        let is_waiting = matches!(self.stage, Stage::Draining(_) | Stage::Settling(_));
        self.set("drained", is_drained || is_strange && !is_waiting);
        self.set("settled", is_settled || is_strange && !is_waiting);
        if self.done_at.is_some_and(|at| at <= now) {
            self.done_at = None;
            let (command, ..) = self.under_way.as_ref().expect("an invalidation is for a command");
            push(&mut self.bench, self.done, &[Bits::<MRS>::from(u64::from(command.object))]);
        }
        let [commands, dones, works] =
            [self.command, self.done, self.work].map(|source| self.bench[source].sent());
        let [reply, answer] = ["reply$valid", "answer$valid"];
        let were_offered = [reply, answer].map(|port| read::<bool>(&self.bench, port));
        self.bench.step();
        if !were_offered[0] && read::<bool>(&self.bench, reply) {
            self.offered_at = self.bench.cycle();
        }
        if !were_offered[1] && read::<bool>(&self.bench, answer) {
            self.work_offered_at = self.bench.cycle();
        }
        match self.stage {
            Stage::Draining(_) if is_drained => self.stage = Stage::Drained,
            Stage::Settling(_) if is_settled => self.stage = Stage::Settled,
            _ => {}
        }
        if self.bench[self.done].sent() > dones {
            assert_eq!(self.stage, Stage::Invalidated);
            self.stage = Stage::Forgotten;
        }
        self.check_outputs(now);
        if self.bench[self.command].sent() > commands {
            let command = self.commands.pop_front().expect("only what was queued is taken");
            assert!(self.under_way.is_none(), "a command was taken before the reply to the last");
            let (order, reply) = self.owner.command(&command);
            if let Order::Begin(region) = order {
                let row = RegionRow::of(command.object, &region);
                let row = RowWrite { region: u64::from(command.object).into(), row };
                self.rows.push_back((row, false));
            }
            self.under_way = Some((command, order, reply));
            self.stage = Stage::Open;
            self.taken_at = now;
        }
        // A command that is taken in the same cycle is first.
        if self.bench[self.work].sent() > works {
            let work = self.works.pop_front().expect("only what was queued is taken");
            assert!(self.work_under_way.is_none(), "a work was taken before the answer to the last");
            let (row, cause) = self.owner.work(&work);
            self.rows.extend(row.map(|row| (row, true)));
            self.work_under_way = Some((work, cause));
            self.work_taken_at = now;
        }
    }

    fn check_outputs(&mut self, now: u64) {
        for row in collect::<RowWrite<MRS>>(&mut self.bench, self.row) {
            let (expected, _) = self.rows.pop_front().expect("a row is for a command or a work");
            assert_eq!(row, expected);
        }
        for cause in collect::<Bits<3>>(&mut self.bench, self.answer) {
            let (work, expected) = self.work_under_way.take().expect("an answer is for a work");
            assert_eq!(cause, u64::from(expected), "{work:?}");
            assert!(self.rows.iter().all(|(_, is_work)| !is_work), "an answer before the row was taken");
            *self.answers.entry((work.verb as u8, expected)).or_default() += 1;
        }
        for region in collect::<Bits<MRS>>(&mut self.bench, self.invalidate) {
            let (command, order, _) = self.under_way.as_ref().expect("an invalidation is for a command");
            assert_eq!((*order, self.stage), (Order::End, Stage::Open));
            assert_eq!(u64::from(region), u64::from(command.object));
            self.stage = Stage::Invalidated;
            self.done_at = Some(now + 1 + self.rng.below(self.patience));
        }
        for reply in collect::<ObjectReply>(&mut self.bench, self.reply) {
            let (command, order, expected) = self.under_way.take().expect("a reply is for a command");
            assert_eq!(reply, expected, "{command:?}");
            let stage = if order == Order::End { Stage::Settled } else { Stage::Open };
            assert_eq!(self.stage, stage, "a reply too early");
            assert!(self.rows.iter().all(|(_, is_work)| *is_work), "a reply before the row was taken");
            let (status, field) = answer(&reply);
            *self.seen.entry((command.verb, status, field)).or_default() += 1;
        }
    }

    /// Steps until all that was queued has been answered.
    pub(super) fn settle(&mut self) {
        for _ in 0..LIMIT {
            let is_idle = self.under_way.is_none() && self.work_under_way.is_none();
            if self.bench.is_sent() && is_idle && !read::<bool>(&self.bench, "busy") {
                return;
            }
            self.step();
        }
        panic!("the owner is busy after {LIMIT} cycles");
    }

    /// A command and all that follows from it; status and field of the reply.
    pub(super) fn carry_out(&mut self, command: Ask) -> (u32, u32) {
        let before = std::mem::take(&mut self.seen);
        self.command(command);
        self.settle();
        let mine = std::mem::replace(&mut self.seen, before);
        let ((verb, status, field), _) = mine.first_key_value().expect("a reply has come");
        *self.seen.entry((*verb, *status, *field)).or_default() += 1;
        (*status, *field)
    }

    /// A work and its answer: 0 or the cause that refused it. A command may go on meanwhile.
    pub(super) fn do_work(&mut self, work: Work) -> u8 {
        let before = std::mem::take(&mut self.answers);
        self.work(work);
        for _ in 0..LIMIT {
            if !self.answers.is_empty() {
                break;
            }
            self.step();
        }
        let mine = std::mem::replace(&mut self.answers, before);
        let ((verb, cause), _) = mine.first_key_value().expect("an answer has come");
        *self.answers.entry((*verb, *cause)).or_default() += 1;
        *cause
    }

    /// A queue pair has ended; cycles until its windows have.
    pub(super) fn leave(&mut self, qpn: u32) -> u64 {
        let rows = self.owner.leave(qpn);
        self.rows.extend(rows.into_iter().map(|row| (row, false)));
        let leaver = self.bench.model().port("leaver").expect("the port exists");
        self.bench.model_mut().set(leaver, u64::from(qpn));
        self.set("leaves", true);
        self.step();
        self.set("leaves", false);
        let start = self.bench.cycle();
        while !read::<bool>(&self.bench, "left") {
            assert!(self.bench.cycle() - start < LIMIT, "the windows do not end");
            self.step();
        }
        let cycles = self.bench.cycle() - start + 1;
        self.step();
        assert!(self.rows.is_empty(), "rows that the MMU was not told of");
        cycles
    }

    pub(super) fn port<T: Packed>(&self, name: &str) -> T {
        read(&self.bench, name)
    }

    fn set(&mut self, name: &str, value: bool) {
        let port = self.bench.model().port(name).expect("the port exists");
        self.bench.model_mut().set(port, value.into());
    }
}
