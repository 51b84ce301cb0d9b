//! The scheduler in plain Rust, an operation at a time.

use std::collections::VecDeque;

use rust_hdl::prelude::Bits;
use stroma_abi::desc::queue_pair::QueuePairState;
use stroma_abi::desc::wqe::UNIT;

use super::verdict::UNACKNOWLEDGED_UNITS;
use crate::host::dma_read::ReadCommand;
use crate::host::work::{JOB_UNITS, Job, SendDoorbell, SendRow};
use crate::transport::records::Progress;

/// States in which WQEs are flushed.
const FLUSHED: [QueuePairState; 2] = [QueuePairState::SendError, QueuePairState::Error];

/// What is known of a send queue.
#[expect(clippy::struct_excessive_bools, reason = "each is a bit of the row")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// Index behind the last WQE that may be fetched.
    pub producer: u16,
    /// Index of the next unit to fetch.
    pub next: u16,
    /// It stands in line.
    pub queued: bool,
    /// A job has not ended.
    pub busy: bool,
    /// Its next WQE waits for an answer.
    pub blocked: bool,
    /// While `busy`: it need not wait any more.
    pub kicked: bool,
    /// No job starts before; while `busy`, when the job started.
    pub not_before: u64,
}

impl Queue {
    /// Units behind the next to fetch that may have completed.
    fn completed(&self) -> usize {
        usize::from(self.waiting()).min(UNACKNOWLEDGED_UNITS)
    }

    /// Units that may be fetched.
    #[must_use]
    pub fn waiting(&self) -> u16 {
        self.producer.wrapping_sub(self.next)
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
    /// No job may start.
    pub pause: bool,
    /// There is room for a fetched job.
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
        let advances = gap > queue.waiting();
        if advances {
            queue.producer = producer;
        }
        let is_free = !queue.busy && !queue.queued && !queue.blocked;
        let units = doorbell.units.index();
        if doorbell.commits
            && (1..=around.push_room).contains(&units)
            && usize::from(gap) == units
            && is_free
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
        let queue = self.queues[number];
        if queue.waiting() > 0 && around.is(&[ReadyToSend, Drained, SendError, Error]) {
            if Self::may_start(&queue, around) {
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
        assert!(queue.busy, "progress without a job");
        queue.busy = false;
        queue.next = u16::try_from(progress.next_index.index()).expect("16 bits");
        queue.not_before += u64::try_from(
            (u128::from(u64::from(progress.bytes)) * u128::from(u64::from(around.row.pace))) >> 18,
        )
        .expect("38 bits");
        let is_kicked = std::mem::take(&mut queue.kicked);
        if queue.waiting() > 0 && progress.blocked && !is_kicked {
            queue.blocked = true;
        } else {
            self.line_up(number);
        }
    }

    fn rewind(&mut self, number: usize, progress: &Progress) {
        let queue = &mut self.queues[number];
        if queue.busy {
            queue.kicked |= !progress.blocked;
            return;
        }
        queue.next = u16::try_from(progress.next_index.index()).expect("16 bits");
        queue.blocked = progress.blocked && !queue.queued && queue.waiting() > 0;
        if !progress.blocked {
            self.line_up(number);
        }
    }

    /// A peer has answered.
    pub fn kick(&mut self, number: usize) {
        let queue = &mut self.queues[number];
        if queue.busy {
            queue.kicked = true;
        } else if std::mem::take(&mut queue.blocked) {
            self.line_up(number);
        }
    }

    /// A queue pair's row has changed.
    ///
    /// # Panics
    /// When a queue begins anew while it has a job.
    pub fn change(&mut self, number: usize, resets: bool) {
        let queue = &mut self.queues[number];
        if resets {
            assert!(!queue.busy, "queue pair {number} begins anew, and has a job");
            *queue = Queue { queued: queue.queued, ..Queue::default() };
        } else if queue.busy {
            queue.kicked = true;
        } else {
            queue.blocked = false;
            self.line_up(number);
        }
    }

    fn may_start(queue: &Queue, around: &Around) -> bool {
        let is_due = around.looked >= queue.not_before || around.is(&FLUSHED);
        is_due && !around.pause
    }

    /// In line, if units wait and it is not there.
    fn line_up(&mut self, number: usize) {
        if self.queues[number].waiting() > 0 && !self.queues[number].queued {
            self.join(number);
        }
    }

    fn join(&mut self, number: usize) {
        self.queues[number].queued = true;
        self.line.push_back(number);
    }

    fn fetch(&mut self, number: usize, around: &Around, effect: &mut Effect) {
        let queue = self.queues[number];
        let ring = 1 << around.row.log.index();
        let units = usize::from(queue.waiting()).min(JOB_UNITS).min(ring);
        let place = usize::from(queue.next) % ring;
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
        effect.job = Some(self.start(number, units, false, around));
    }

    fn start(&mut self, number: usize, units: usize, pushed: bool, around: &Around) -> Job {
        let queue = &mut self.queues[number];
        queue.busy = true;
        queue.not_before = around.now;
        let row = &around.row;
        Job {
            qpn: (number as u64).into(),
            index: Bits::from(u64::from(queue.next)),
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
