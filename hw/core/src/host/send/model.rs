//! The scheduler in plain Rust, an operation at a time.

use std::collections::VecDeque;

use rust_hdl::prelude::Bits;
use stroma_abi::desc::queue_pair::QueuePairState;
use stroma_abi::desc::wqe::{UNIT, UNITS_MAX};

use super::verdict::UNACKNOWLEDGED_UNITS;
use crate::host::dma_read::ReadCommand;
use crate::host::work::{JOB_UNITS, Job, SendDoorbell, SendRow};
use crate::transport::records::{Progress, QUANTUM_BYTES};

/// States in which WQEs are flushed.
const FLUSHED: [QueuePairState; 2] = [QueuePairState::SendError, QueuePairState::Error];

/// Units of a send queue that are on their way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Index of the first.
    pub begin: u16,
    /// Index behind the last.
    pub end: u16,
    /// They go for nothing: the job before has ended elsewhere.
    pub is_stale: bool,
}

/// What is known of a send queue.
#[expect(clippy::struct_excessive_bools, reason = "each is a bit of the row")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// Index behind the last WQE that may be fetched.
    pub producer: u16,
    /// Index of the first unit that is not told to be done with.
    pub next: u16,
    /// Jobs that have not ended, the oldest first.
    pub jobs: VecDeque<Span>,
    /// The last job did not end where it should have.
    pub doubtful: bool,
    /// Units by which jobs are shorter than they may be.
    pub short: u16,
    /// It stands in line.
    pub queued: bool,
    /// Its next WQE waits for an answer.
    pub blocked: bool,
    /// With jobs: it need not wait any more.
    pub kicked: bool,
    /// No job starts before; with jobs, when the last started.
    pub not_before: u64,
}

impl Queue {
    /// Units behind the first not done with that may have completed.
    fn completed(&self) -> usize {
        usize::from(self.known()).min(UNACKNOWLEDGED_UNITS)
    }

    /// Units that are not told to be done with.
    #[must_use]
    pub fn known(&self) -> u16 {
        self.producer.wrapping_sub(self.next)
    }

    /// Index of the next unit to fetch.
    #[must_use]
    pub fn fetched(&self) -> u16 {
        self.jobs.back().filter(|job| !job.is_stale).map_or(self.next, |job| job.end)
    }

    /// Units that may be fetched.
    #[must_use]
    pub fn waiting(&self) -> u16 {
        self.producer.wrapping_sub(self.fetched())
    }

    /// Has it a job?
    #[must_use]
    pub fn is_busy(&self) -> bool {
        !self.jobs.is_empty()
    }

    /// Would a second job be of use, as far as can be told?
    fn is_trusted(&self, around: &Around) -> bool {
        !self.doubtful && around.is(&[QueuePairState::ReadyToSend]) && !around.row.pace.any()
    }

    /// May it have one more job?
    fn may_have(&self, around: &Around) -> bool {
        !self.blocked && (self.jobs.is_empty() || (self.jobs.len() == 1 && self.is_trusted(around)))
    }
}

/// What an operation finds around it.
#[derive(Clone, Copy, Debug)]
pub struct Around {
    /// The queue pair's row.
    pub row: SendRow,
    /// Colour of jobs.
    pub colour: bool,
    /// When the rows were looked at, and when they are acted on.
    pub looked: u64,
    /// When the operation is carried out.
    pub now: u64,
    /// When they were looked at, no job might start.
    pub pause: bool,
    /// When it began, there was room for a fetched job.
    pub fetch_room: bool,
    /// Units for which there is room, 0 if there is none for a job.
    pub push_room: usize,
}

impl Around {
    fn is(&self, states: &[QueuePairState]) -> bool {
        self.row.exists && states.iter().any(|state| self.row.state == *state as u64)
    }
}

/// What an operation does besides changing its queue.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Effect {
    /// The job it starts.
    pub job: Option<Job>,
    /// The reads it starts.
    pub reads: Vec<ReadCommand>,
    /// Counts as `bad`.
    pub bad: bool,
    /// Counts as `wrong_page`.
    pub wrong_page: bool,
    /// Counts as `push_fallbacks`.
    pub falls_back: bool,
}

/// All send queues, and the line of those that wait.
#[derive(Clone, Debug)]
pub struct Model {
    /// By number.
    pub queues: Vec<Queue>,
    /// Who waits, the first first.
    pub line: VecDeque<usize>,
}

impl Model {
    /// `2^log` queue pairs, as after reset.
    #[must_use]
    pub fn new(log: usize) -> Self {
        Self { queues: vec![Queue::default(); 1 << log], line: VecDeque::new() }
    }

    /// A doorbell, or a commit.
    ///
    /// # Panics
    /// Never: an index has 16 bits.
    pub fn doorbell(&mut self, doorbell: &SendDoorbell, around: &Around) -> Effect {
        use QueuePairState::{Drained, Error, ReadyToSend, SendError};
        let bad = Effect { bad: true, ..Effect::default() };
        let number = doorbell.qpn.index();
        let Some(queue) = self.queues.get_mut(number).filter(|_| around.row.exists) else { return bad };
        if around.row.page != doorbell.page {
            return Effect { wrong_page: true, ..Effect::default() };
        }
        let producer = u16::try_from(doorbell.producer.index()).expect("16 bits");
        let gap = producer.wrapping_sub(queue.next);
        if !around.is(&[ReadyToSend, Drained, SendError, Error])
            || usize::from(gap) > (1 << around.row.log.index()) + queue.completed()
        {
            return bad;
        }
        let advances = gap > queue.known();
        if advances {
            queue.producer = producer;
        }
        let is_free = queue.may_have(around) && !queue.queued;
        let units = doorbell.units.index();
        if doorbell.commits
            && (1..=around.push_room).contains(&units)
            && usize::from(gap) == units
            && is_free
            && !queue.is_busy()
            && around.is(&[ReadyToSend])
            && Self::may_start(queue, around)
        {
            return Effect { job: Some(self.start(number, units, true, around)), ..Effect::default() };
        }
        let mut effect = Effect { falls_back: doorbell.commits, ..Effect::default() };
        if advances && is_free {
            let may_start = Self::may_start(queue, around) && around.fetch_room && self.line.is_empty();
            if may_start && around.is(&[ReadyToSend, Drained, SendError, Error]) {
                self.fetch(number, around, &mut effect);
            } else {
                self.join(number);
            }
        }
        effect
    }

    /// The first in line has its turn.
    ///
    /// # Panics
    /// When there is nobody in line.
    pub fn serve(&mut self, around: &Around) -> Effect {
        use QueuePairState::{Drained, Error, ReadyToSend, SendError};
        let mut effect = Effect::default();
        let number = self.line.pop_front().expect("somebody is in line");
        self.queues[number].queued = false;
        let queue = &self.queues[number];
        if queue.waiting() > 0
            && queue.may_have(around)
            && around.is(&[ReadyToSend, Drained, SendError, Error])
        {
            if Self::may_start(queue, around) {
                self.fetch(number, around, &mut effect);
            } else {
                self.join(number);
            }
        }
        effect
    }

    /// A job has ended, or a queue pair sends again.
    ///
    /// # Panics
    /// When there was no such job.
    pub fn progress(&mut self, progress: &Progress, around: &Around) {
        let number = progress.qpn.index();
        if progress.rewinds {
            self.rewind(number, progress);
            return;
        }
        let queue = &mut self.queues[number];
        let ended = queue.jobs.pop_front().expect("progress without a job");
        let next = u16::try_from(progress.next_index.index()).expect("16 bits");
        queue.next = next;
        if !ended.is_stale {
            queue.doubtful = ended.end != next || progress.blocked;
            let left = usize::from(ended.end.wrapping_sub(next));
            let is_spent = u64::from(progress.bytes) >= QUANTUM_BYTES as u64;
            if left < UNITS_MAX && !progress.blocked && !is_spent {
                queue.short = (queue.short + ended.end.wrapping_sub(next)) % 8;
            }
        }
        queue.not_before += u64::try_from(
            (u128::from(u64::from(progress.bytes)) * u128::from(u64::from(around.row.pace))) >> 18,
        )
        .expect("38 bits");
        queue.blocked |= progress.blocked && !queue.kicked;
        queue.blocked &= queue.known() > 0;
        if let Some(second) = queue.jobs.front_mut() {
            second.is_stale = second.begin != next;
            if queue.may_have(around) && queue.is_trusted(around) {
                self.line_up(number);
            }
        } else {
            queue.kicked = false;
            if !queue.blocked {
                self.line_up(number);
            }
        }
    }

    fn rewind(&mut self, number: usize, progress: &Progress) {
        let queue = &mut self.queues[number];
        if !queue.is_busy() {
            queue.next = u16::try_from(progress.next_index.index()).expect("16 bits");
        }
        if !progress.blocked {
            self.release(number);
            self.line_up_resting(number);
        } else if !queue.is_busy() {
            queue.blocked = (queue.blocked || !queue.queued) && queue.waiting() > 0;
        }
    }

    /// What it may have waited for has happened.
    fn release(&mut self, number: usize) {
        let queue = &mut self.queues[number];
        queue.blocked = false;
        queue.kicked |= queue.is_busy();
    }

    /// A peer has answered.
    pub fn kick(&mut self, number: usize) {
        let was_blocked = self.queues[number].blocked;
        self.release(number);
        if was_blocked {
            self.line_up_resting(number);
        }
    }

    /// A queue pair's row has changed.
    ///
    /// # Panics
    /// When a queue begins anew while it has a job.
    pub fn change(&mut self, number: usize, resets: bool) {
        if resets {
            let queue = &mut self.queues[number];
            assert!(!queue.is_busy(), "queue pair {number} begins anew, and has a job");
            *queue = Queue { queued: queue.queued, ..Queue::default() };
        } else {
            self.release(number);
            self.line_up_resting(number);
        }
    }

    fn may_start(queue: &Queue, around: &Around) -> bool {
        let is_due = around.looked >= queue.not_before || !around.row.pace.any() || around.is(&FLUSHED);
        is_due && !around.pause
    }

    /// In line, if units wait and it is not there.
    fn line_up(&mut self, number: usize) {
        if self.queues[number].waiting() > 0 && !self.queues[number].queued {
            self.join(number);
        }
    }

    /// Likewise, if it has no job: one with a job is looked at when that ends.
    fn line_up_resting(&mut self, number: usize) {
        if !self.queues[number].is_busy() {
            self.line_up(number);
        }
    }

    fn join(&mut self, number: usize) {
        self.queues[number].queued = true;
        self.line.push_back(number);
    }

    fn fetch(&mut self, number: usize, around: &Around, effect: &mut Effect) {
        let queue = &self.queues[number];
        let ring = 1 << around.row.log.index();
        let most = if ring < JOB_UNITS { ring } else { JOB_UNITS - usize::from(queue.short) };
        let units = usize::from(queue.waiting()).min(most);
        let place = usize::from(queue.fetched()) % ring;
        let first = units.min(ring - place);
        let base = u64::from(around.row.base) << 12;
        let read = |place: usize, units: usize| ReadCommand {
            iova: base.wrapping_add((place * UNIT) as u64).into(),
            len: ((units * UNIT) as u64).into(),
            tag: 0.into(),
        };
        effect.reads.push(read(place, first));
        if units > first {
            effect.reads.push(read(0, units - first));
        }
        let has_second = !queue.is_busy() && queue.is_trusted(around);
        effect.job = Some(self.start(number, units, false, around));
        if has_second {
            self.line_up(number);
        }
    }

    fn start(&mut self, number: usize, units: usize, pushed: bool, around: &Around) -> Job {
        let queue = &mut self.queues[number];
        let begin = queue.fetched();
        let end = begin.wrapping_add(u16::try_from(units).expect("no more than a ring"));
        queue.jobs.push_back(Span { begin, end, is_stale: false });
        queue.not_before = around.now;
        let row = &around.row;
        Job {
            qpn: (number as u64).into(),
            index: Bits::from(u64::from(begin)),
            units: (units as u64).into(),
            pushed,
            colour: around.colour,
            flush: around.is(&FLUSHED),
            drains: around.is(&[QueuePairState::Drained]),
            kind: row.kind,
            pd: row.pd,
            cq: row.cq,
            path_mtu: row.path_mtu,
            send_psn: row.send_psn,
            reads_out: row.reads_out,
            timeout: row.timeout,
        }
    }
}
