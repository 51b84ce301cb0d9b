//! The scheduler on a bench, each operation held against the model as it happens, with a card behind it that carries
//! jobs out.

mod bed;
mod card;

use std::collections::VecDeque;

use rust_hdl::prelude::Bits;
use stroma_abi::desc::queue_pair::QueuePairState;
use stroma_verilate::{Bench, SinkId, SourceId, SplitMix64};

use bed::Bed;

use super::model::{Around, Effect, Model};
use crate::host::dma_read::ReadCommand;
use crate::host::work::{Job, QpChange, SendDoorbell, SendRow};
use crate::pack::Packed;
use crate::testing::{noise, push, read, verilated};
use crate::transport::records::Progress;

/// log2 of the queue pairs: more than there is room for jobs.
pub(super) const QPS: usize = 5;
/// Cycles after which the scheduler counts as stuck.
const LIMIT: u64 = 100_000;

/// An operation that has read its rows.
#[derive(Clone, Copy)]
struct Under {
    number: usize,
    row: SendRow,
    colour: bool,
    began: u64,
    is_progress: bool,
    /// For a fetched job, and for units of a pushed one.
    room: (bool, usize),
}

/// A job on its way through the card.
struct Running {
    job: Job,
    /// When its progress comes, when it is retired.
    due: [u64; 2],
    has_ended: bool,
}

/// What has been counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) bad: u64,
    pub(super) wrong_page: u64,
    pub(super) pushes: u64,
    pub(super) fallbacks: u64,
    pub(super) jobs: u64,
    pub(super) wraps: u64,
    pub(super) flushes: u64,
    pub(super) drains: u64,
    /// Visits that started no job.
    pub(super) idle_visits: u64,
    /// Progress that blocked a queue pair, and kicks that released one; kicks of one with a job.
    pub(super) blocks: u64,
    pub(super) releases: u64,
    pub(super) early_kicks: u64,
    /// Rewinds of queue pairs without a job, in line, and with a job.
    pub(super) rewinds: [u64; 3],
    /// Those of them that are for later.
    pub(super) holds: [u64; 3],
    /// Doorbells that were good because something has completed.
    pub(super) far_doorbells: u64,
    /// Jobs that began behind another; those of them that went for nothing.
    pub(super) seconds: u64,
    pub(super) wasted: u64,
}

#[expect(clippy::struct_excessive_bools, reason = "each is a wire or a wish of its own")]
pub(super) struct Rig {
    pub(super) bench: Bench,
    pub(super) doorbell: SourceId,
    pub(super) units: SourceId,
    pub(super) change: SourceId,
    pub(super) progress: SourceId,
    pub(super) kick: SourceId,
    pub(super) read: SinkId,
    pub(super) job: SinkId,
    pub(super) pushed: SinkId,
    pub(super) model: Model,
    pub(super) rows: Vec<SendRow>,
    pub(super) rng: SplitMix64,
    pub(super) counts: Counts,
    /// Every job so far with the cycle in which it was taken.
    pub(super) jobs: Vec<(u64, Job)>,
    /// Cycles in which doorbells were acted on.
    pub(super) rung: Vec<u64>,
    /// Most cycles from job to progress, and from there to its end.
    pub(super) latency: u64,
    /// Jobs leave some units for the next, may be blocked, and ask for random bytes.
    pub(super) is_partial: bool,
    /// Jobs ask for this many bytes a unit, unless `is_partial`.
    pub(super) unit_bytes: u64,
    /// The next job is blocked after so many units.
    pub(super) block_after: Option<u64>,
    /// Units of a WQE, unless `is_partial`: what a job has of one that goes on behind its end is left.
    pub(super) grain: u64,
    /// Units that a job gets done at most, likewise.
    pub(super) quantum: u64,
    /// Few queue pairs have all there is to do, and their jobs mostly end where they should.
    pub(super) is_eager: bool,
    /// Jobs neither make progress nor are retired.
    pub(super) is_stuck: bool,
    pub(super) pause: bool,
    /// A drain to begin in the next cycle; whether one is under way.
    pub(super) drain: bool,
    pub(super) is_draining: bool,
    /// Added to the cycle for the card's clock.
    pub(super) clock_ahead: u64,
    colour: bool,
    unretired: [u64; 2],
    under: Option<Under>,
    running: VecDeque<Running>,
    retiring: VecDeque<Job>,
    write: Option<(usize, SendRow)>,
    doorbells: VecDeque<SendDoorbell>,
    changes: VecDeque<QpChange>,
    progresses: VecDeque<Progress>,
    kicks: VecDeque<usize>,
    /// The WQE that goes next, by queue pair: a job that begins elsewhere is passed over.
    pub(super) cursors: Vec<u16>,
    /// Whether the cycle before was one of a pause.
    last_pause: bool,
    pushing: VecDeque<Bits<512>>,
    /// What the model says is still to come.
    awaited_reads: VecDeque<ReadCommand>,
    awaited_jobs: VecDeque<Job>,
    awaited_units: VecDeque<Bits<512>>,
}

impl Default for Rig {
    fn default() -> Self {
        let mut bench = verilated("send", Bed::<QPS>::default);
        let [doorbell, units, change, progress, kick] = ["doorbell", "units", "change", "progress", "kick"]
            .map(|name| bench.source(name).expect("the stream exists"));
        let [read, job, pushed] =
            ["read", "job", "pushed"].map(|name| bench.sink(name).expect("the stream exists"));
        let mut rig = Self {
            bench,
            doorbell,
            units,
            change,
            progress,
            kick,
            read,
            job,
            pushed,
            model: Model::new(QPS),
            rows: vec![SendRow::default(); 1 << QPS],
            rng: SplitMix64::new(0),
            counts: Counts::default(),
            jobs: Vec::new(),
            rung: Vec::new(),
            latency: 30,
            is_partial: false,
            unit_bytes: 64,
            block_after: None,
            grain: 1,
            quantum: u64::MAX,
            is_eager: false,
            is_stuck: false,
            pause: false,
            drain: false,
            is_draining: false,
            clock_ahead: 0,
            colour: false,
            unretired: [0; 2],
            under: None,
            running: VecDeque::new(),
            retiring: VecDeque::new(),
            write: None,
            doorbells: VecDeque::new(),
            changes: VecDeque::new(),
            progresses: VecDeque::new(),
            kicks: VecDeque::new(),
            cursors: vec![0; 1 << QPS],
            last_pause: false,
            pushing: VecDeque::new(),
            awaited_reads: VecDeque::new(),
            awaited_jobs: VecDeque::new(),
            awaited_units: VecDeque::new(),
        };
        rig.reset(0);
        rig
    }
}

/// A queue pair that sends.
pub(super) fn row(page: u64, log: u64, base: u64) -> SendRow {
    SendRow {
        exists: true,
        state: (QueuePairState::ReadyToSend as u64).into(),
        kind: 4.into(),
        pd: (page + 7).into(),
        cq: (page + 100).into(),
        page: page.into(),
        log: log.into(),
        base: base.into(),
        pace: 0.into(),
        path_mtu: 5.into(),
        send_psn: (page + 0xff_fff0).into(),
        reads_out: 16.into(),
        timeout: 14.into(),
    }
}

impl Rig {
    /// Resets the scheduler; rows stay, as they are not its own. Nothing may be left in a source.
    pub(super) fn reset(&mut self, seed: u64) {
        assert!(self.bench.is_sent(), "a beat of the run before is left");
        for name in ["write", "drain", "retired", "pause"] {
            self.set(name, 0);
        }
        self.bench.reset(2);
        for sink in [self.read, self.job, self.pushed] {
            self.bench[sink].take();
        }
        self.model = Model::new(QPS);
        self.rng = SplitMix64::new(seed);
        self.counts = Counts::default();
        (self.colour, self.unretired, self.under) = (false, [0; 2], None);
        (self.drain, self.is_draining, self.pause) = (false, false, false);
        self.jobs.clear();
        self.rung.clear();
        self.running.clear();
        self.retiring.clear();
        self.cursors.fill(0);
        self.awaited_reads.clear();
        self.awaited_jobs.clear();
        self.awaited_units.clear();
        assert!(!read::<bool>(&self.bench, "ready"), "the rows are being scrubbed");
    }

    fn set(&mut self, name: &str, value: u64) {
        let port = self.bench.model().port(name).expect("the port exists");
        self.bench.model_mut().set(port, value);
    }

    /// Stores a row in the next cycle.
    pub(super) fn store(&mut self, number: usize, row: SendRow) {
        self.set("write", 1);
        self.set("write_index", number as u64);
        let port = self.bench.model().port("write_row").expect("the port exists");
        self.bench.model_mut().set_wide(port, &row.to_words());
        self.write = Some((number, row));
        self.step();
    }

    /// Queues a doorbell.
    pub(super) fn ring(&mut self, doorbell: SendDoorbell) {
        push(&mut self.bench, self.doorbell, &[doorbell]);
        self.doorbells.push_back(doorbell);
        let units: Vec<Bits<512>> = (0..doorbell.units.index()).map(|_| noise(&mut self.rng)).collect();
        push(&mut self.bench, self.units, &units);
        self.pushing.extend(units);
    }

    /// Queues a change.
    pub(super) fn tell(&mut self, number: usize, resets: bool) {
        if resets {
            self.cursors[number] = 0;
        }
        let change = QpChange { qpn: (number as u64).into(), resets, ..QpChange::default() };
        push(&mut self.bench, self.change, &[change]);
        self.changes.push_back(change);
    }

    /// Queues a kick.
    pub(super) fn kick(&mut self, number: usize) {
        push(&mut self.bench, self.kick, &[Bits::<24>::from(number as u64)]);
        self.kicks.push_back(number);
    }

    /// Queues a rewind, to so many units before the next to go.
    pub(super) fn rewind(&mut self, number: usize, back: u16) {
        self.move_back(number, back, false);
    }

    /// Queues a rewind for later.
    pub(super) fn hold(&mut self, number: usize, back: u16) {
        self.move_back(number, back, true);
    }

    fn move_back(&mut self, number: usize, back: u16, blocked: bool) {
        self.cursors[number] = self.cursors[number].wrapping_sub(back);
        let next_index = u64::from(self.cursors[number]).into();
        let qpn = (number as u64).into();
        let bytes = noise(&mut self.rng);
        self.advance(Progress { qpn, next_index, rewinds: true, blocked, bytes });
    }

    fn advance(&mut self, progress: Progress) {
        push(&mut self.bench, self.progress, &[progress]);
        self.progresses.push_back(progress);
    }

    /// Is progress of this queue pair on its way?
    pub(super) fn has_progress(&self, number: usize) -> bool {
        self.progresses.iter().any(|progress| progress.qpn.index() == number)
    }

    /// One cycle.
    pub(super) fn step(&mut self) {
        let cycle = self.bench.cycle();
        self.set("now", cycle + self.clock_ahead);
        self.set("pause", self.pause.into());
        self.set("drain", self.drain.into());
        let retired = self.retiring.pop_front();
        self.set("retired", retired.is_some().into());
        self.set("retired_colour", retired.is_some_and(|job| job.colour).into());
        let moved = |rig: &Self| {
            [rig.progress, rig.change, rig.kick, rig.doorbell].map(|source| rig.bench[source].sent())
        };
        let before = moved(self);
        let room = self.room();
        // Operations look at it a cycle before they act.
        let pause = std::mem::replace(&mut self.last_pause, self.pause);
        self.bench.step();
        let after = moved(self);

        let mut effect = Effect::default();
        if let Some(under) = self.under {
            let acts = before != after || (!under.is_progress && cycle == under.began + 2);
            if acts {
                let now = cycle + self.clock_ahead;
                let around = Around {
                    row: under.row,
                    colour: under.colour,
                    looked: under.began + 1 + self.clock_ahead,
                    now,
                    pause,
                    fetch_room: under.room.0,
                    push_room: under.room.1,
                };
                effect =
                    self.act(&under, [0, 1, 2, 3].map(|source| before[source] != after[source]), &around);
                self.under = None;
            }
        } else {
            assert_eq!(before, after, "something moved without an operation");
        }
        self.check(&effect);
        if read::<bool>(&self.bench, "began") {
            assert!(self.under.is_none(), "two operations at once");
            let number = read::<Bits<QPS>>(&self.bench, "began_index").index();
            self.under = Some(Under {
                number,
                row: self.rows[number],
                colour: self.colour,
                began: cycle,
                is_progress: read(&self.bench, "progress$valid"),
                room,
            });
        }
        if let Some((number, row)) = self.write.take() {
            self.rows[number] = row;
            self.set("write", 0);
        }
        self.turn_colours(retired.as_ref());
        self.receive(cycle);
    }

    /// Room for a fetched job, and for units of a pushed one, as this cycle finds it.
    fn room(&self) -> (bool, usize) {
        let has_job = self.awaited_jobs.len() < 16;
        let units = if has_job { 16 - self.awaited_units.len() } else { 0 };
        (has_job && self.awaited_reads.len() <= 2, units)
    }

    /// Carries an operation out in the model.
    fn act(&mut self, under: &Under, moved: [bool; 4], around: &Around) -> Effect {
        let mut effect = Effect::default();
        let queue = self.model.queues[under.number].clone();
        match moved {
            [true, false, false, false] => {
                let progress = self.progresses.pop_front().expect("progress was queued");
                assert_eq!(progress.qpn.index(), under.number);
                let cycles = if around.row.pace.any() { 4 } else { 2 };
                assert_eq!(around.now - self.clock_ahead, under.began + cycles, "the cycles of progress");
                if progress.rewinds {
                    let case = if queue.is_busy() { 2 } else { usize::from(queue.queued) };
                    self.counts.rewinds[case] += 1;
                    self.counts.holds[case] += u64::from(progress.blocked);
                } else {
                    let ended = self.running.iter_mut().find(|running| !running.has_ended);
                    ended.expect("a job runs").has_ended = true;
                    self.counts.wasted += u64::from(queue.jobs[0].is_stale);
                }
                self.model.progress(&progress, around);
                self.counts.blocks += u64::from(self.model.queues[under.number].blocked);
            }
            [false, true, false, false] => {
                let change = self.changes.pop_front().expect("a change was queued");
                assert_eq!(change.qpn.index(), under.number);
                self.model.change(under.number, change.resets);
            }
            [false, false, true, false] => {
                let number = self.kicks.pop_front().expect("a kick was queued");
                assert_eq!(number, under.number);
                self.counts.releases += u64::from(queue.blocked);
                self.counts.early_kicks += u64::from(queue.is_busy());
                self.model.kick(number);
            }
            [false, false, false, true] => {
                let doorbell = self.doorbells.pop_front().expect("a doorbell was queued");
                assert_eq!(doorbell.qpn.index() % (1 << QPS), under.number);
                self.rung.push(around.now - self.clock_ahead);
                effect = self.model.doorbell(&doorbell, around);
                let ahead = self.model.queues[under.number].producer.wrapping_sub(queue.next);
                let is_far = usize::from(ahead) > 1 << around.row.log.index();
                let has_moved = self.model.queues[under.number].producer != queue.producer;
                self.counts.far_doorbells += u64::from(is_far && has_moved);
                let units: Vec<_> = self.pushing.drain(..doorbell.units.index()).collect();
                if effect.job.is_some_and(|job| job.pushed) {
                    self.awaited_units.extend(units);
                }
            }
            _ => {
                assert!(queue.jobs.len() < 2, "who has two jobs does not stand in line");
                assert_eq!(self.model.line.front(), Some(&under.number), "out of line");
                effect = self.model.serve(around);
                self.counts.idle_visits += u64::from(effect.job.is_none());
            }
        }
        self.counts.seconds += u64::from(effect.job.is_some() && queue.is_busy());
        effect
    }

    /// Holds the pulses against what the model did, and notes what is to come.
    fn check(&mut self, effect: &Effect) {
        let is_pushed = effect.job.is_some_and(|job| job.pushed);
        let expected = [effect.bad, effect.wrong_page, is_pushed, effect.falls_back];
        let names = ["bad", "wrong_page", "pushes", "push_fallbacks"];
        assert_eq!(names.map(|name| read::<bool>(&self.bench, name)), expected, "{names:?}");
        self.counts.bad += u64::from(effect.bad);
        self.counts.wrong_page += u64::from(effect.wrong_page);
        self.counts.pushes += u64::from(is_pushed);
        self.counts.fallbacks += u64::from(effect.falls_back);
        self.counts.wraps += u64::from(effect.reads.len() == 2);
        self.awaited_reads.extend(&effect.reads);
        if let Some(job) = effect.job {
            self.counts.jobs += 1;
            self.counts.flushes += u64::from(job.flush);
            self.unretired[usize::from(job.colour)] += 1;
            self.awaited_jobs.push_back(job);
        }
    }

    pub(super) fn run(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.step());
    }

    pub(super) fn run_until(&mut self, mut is_done: impl FnMut(&Self) -> bool) {
        let start = self.bench.cycle();
        while !is_done(self) {
            assert!(self.bench.cycle() - start < LIMIT, "the scheduler is stuck");
            self.step();
        }
    }

    /// Steps until nothing moves any more, and sees that everything came.
    pub(super) fn rest(&mut self) {
        self.step();
        self.run_until(|rig| rig.bench.is_sent() && !read::<bool>(&rig.bench, "busy"));
        assert!(
            self.awaited_reads.is_empty() && self.awaited_jobs.is_empty() && self.awaited_units.is_empty()
        );
        assert!(self.model.line.is_empty() && self.running.is_empty() && self.pushing.is_empty());
        let left =
            self.model.queues.iter().filter(|queue| queue.is_busy() || queue.queued || queue.kicked).count();
        assert_eq!(left, 0, "queue pairs under way");
    }

    /// Steps until nothing is left, with a kick for whoever waits for one.
    pub(super) fn settle(&mut self) {
        self.rest();
        while let Some(number) = self.model.queues.iter().position(|queue| queue.blocked) {
            self.kick(number);
            self.rest();
        }
    }
}
