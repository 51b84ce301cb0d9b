//! The requester of a reliable connection: sends what was posted until it is answered, and completes it in order.

use std::collections::VecDeque;

use stroma_abi::Psn;
use stroma_abi::desc::Status;
use stroma_abi::wire::{NakCode, Role, Syndrome, opcode};

use super::work::Job;
use super::{Completion, Dropped, Memory, Packet, Settings, Work};

/// The requester. Everything from `unanswered` to `sent` is on its way; `cursor` is what goes next, behind `sent` only
/// while packets are sent again. The unanswered PSN always lies in the first job.
///
/// READs beyond the limit wait, and all behind them: requests leave in order. A refusal counts once all before it is
/// answered; while a READ before it misses data, that READ is asked for again, and ends as the peer then treats it.
pub struct Requester {
    settings: Settings,
    jobs: VecDeque<Job>,
    completions: VecDeque<Completion>,
    unanswered: Psn,
    cursor: Psn,
    sent: Psn,
    posted: Psn,
    without_request: u32,
    deadline: Option<u64>,
    retries: u8,
    /// The PSN from which packets are being sent again: what asks for that once more comes from the same loss.
    recovering: Option<Psn>,
    failed: bool,
}

impl Requester {
    /// A requester with nothing to do.
    #[must_use]
    pub fn new(settings: &Settings) -> Self {
        let first = settings.send_psn;
        Self {
            settings: settings.clone(),
            jobs: VecDeque::new(),
            completions: VecDeque::new(),
            unanswered: first,
            cursor: first,
            sent: first,
            posted: first,
            without_request: 0,
            deadline: None,
            retries: settings.retries,
            recovering: None,
            failed: false,
        }
    }

    /// Posts an operation. In error it completes at once, as flushed.
    ///
    /// # Panics
    /// When more than 2^23 packets would be open: beyond half the circle PSNs have no order.
    pub fn post(&mut self, work: Work) {
        if self.failed {
            return self.complete(work, Status::Flushed);
        }
        let (first, count) = (self.posted, self.settings.packets(work.length));
        let open = first.distance(self.unanswered) + count;
        assert!(open <= Psn::HALF, "{open} packets would be open");
        self.posted = first.add(count);
        self.jobs.push_back(Job { work, first, count, starts: Vec::new() });
    }

    /// The oldest completion not yet taken.
    pub fn poll(&mut self) -> Option<Completion> {
        self.completions.pop_front()
    }

    /// Has an operation failed?
    #[must_use]
    pub const fn is_failed(&self) -> bool {
        self.failed
    }

    /// Is everything posted completed?
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.jobs.is_empty()
    }

    /// When the timer runs out.
    #[must_use]
    pub const fn deadline(&self) -> Option<u64> {
        self.deadline
    }

    /// The next packet to send.
    pub fn transmit(&mut self, now: u64, memory: &Memory) -> Option<Packet> {
        let is_new = self.cursor == self.sent;
        let reads = self.jobs.iter().filter(|job| !job.starts.is_empty()).count();
        let index = self.jobs.iter().position(|job| self.cursor.in_window(job.first, job.count))?;
        let job = &mut self.jobs[index];
        if is_new && job.is_read() && reads >= self.settings.reads_out {
            return None;
        }
        let Ok((mut packet, next)) = job.packet(self.cursor, &self.settings, memory) else {
            // What was posted before ends first: completions keep the order of posting.
            if index == 0 {
                self.fail(Status::LocalProtection);
            }
            return None;
        };
        if job.is_read() && !job.starts.contains(&self.cursor) {
            job.starts.push(self.cursor);
        }
        packet.ack_request |= self.without_request >= self.settings.ack_every;
        self.without_request = if packet.ack_request { 0 } else { self.without_request + 1 };
        self.cursor = next;
        if self.sent.is_before(next) {
            self.sent = next;
        }
        if self.deadline.is_none() {
            self.arm(now);
        }
        Some(packet)
    }

    /// Lets time pass.
    pub fn tick(&mut self, now: u64) {
        if self.deadline.is_some_and(|deadline| now >= deadline) {
            self.recovering = None;
            self.again(now);
        }
    }

    /// Takes an answer.
    ///
    /// # Errors
    /// When it has no effect.
    pub fn receive(&mut self, now: u64, answer: &Packet, memory: &mut Memory) -> Result<(), Dropped> {
        if self.failed {
            return Err(Dropped::Failed);
        }
        if answer.psn.is_before(self.unanswered) {
            return Err(Dropped::Stale);
        }
        if answer.opcode.role != Role::Response || !answer.psn.is_before(self.sent) {
            return Err(Dropped::Unasked);
        }
        if answer.opcode != opcode::RC_ACKNOWLEDGE {
            self.take(now, answer, memory);
            return Ok(());
        }
        let (end, refusal) = match answer.syndrome() {
            Some(Syndrome::Ack { .. }) => (answer.psn.next(), None),
            Some(Syndrome::Nak(code)) => (answer.psn, Some(code)),
            other => return Err(Dropped::Syndrome { syndrome: other.map_or(0, Syndrome::encode) }),
        };
        match (self.retire(now, end), refusal) {
            (true, None) => {}
            (true, Some(code)) if code != NakCode::PsnSequence => self.fail(meaning(code)),
            _ => self.again(now),
        }
        Ok(())
    }

    /// Everything before `end` is answered; no, if a READ there misses its data: an implied NAK.
    fn retire(&mut self, now: u64, end: Psn) -> bool {
        while self.unanswered.is_before(end) {
            let Some(job) = self.jobs.front().filter(|job| !job.is_read()) else { return false };
            let stop = if end.is_before(job.end()) { end } else { job.end() };
            self.advance(now, stop);
        }
        true
    }

    /// Progress: the first job is answered up to `to`.
    fn advance(&mut self, now: u64, to: Psn) {
        self.unanswered = to;
        if self.cursor.is_before(to) {
            self.cursor = to;
        }
        self.retries = self.settings.retries;
        self.recovering = None;
        self.arm(now);
        if let Some(job) = self.jobs.pop_front_if(|job| job.end() == to) {
            self.complete(job.work, Status::Success);
        }
    }

    /// Data of a READ. It also answers all that was sent before it.
    fn take(&mut self, now: u64, answer: &Packet, memory: &mut Memory) {
        if !self.retire(now, answer.psn) {
            return self.again(now);
        }
        let settings = &self.settings;
        let Some(job) = self.jobs.front().filter(|job| job.is_answered_by(answer, settings)) else {
            return self.fail(Status::BadResponse);
        };
        match memory.write(&job.local(answer.psn, settings), &answer.payload) {
            Ok(()) => self.advance(now, answer.psn.next()),
            Err(_) => self.fail(Status::LocalProtection),
        }
    }

    /// Sends again from the first unanswered PSN, or gives up.
    fn again(&mut self, now: u64) {
        if self.recovering == Some(self.unanswered) {
            return;
        }
        let Some(left) = self.retries.checked_sub(1) else {
            return self.fail(Status::RetryExceeded);
        };
        self.retries = left;
        self.recovering = Some(self.unanswered);
        self.cursor = self.unanswered;
        self.arm(now);
    }

    fn arm(&mut self, now: u64) {
        let is_open = self.unanswered.is_before(self.sent);
        self.deadline = self.settings.timeout.filter(|_| is_open).map(|timeout| now + timeout);
    }

    /// Ends the first job with `status` and flushes the rest.
    fn fail(&mut self, status: Status) {
        if let Some(job) = self.jobs.pop_front() {
            self.complete(job.work, status);
        }
        self.flush();
    }

    /// Ends everything: the queue pair is in error.
    pub fn flush(&mut self) {
        self.failed = true;
        self.deadline = None;
        while let Some(job) = self.jobs.pop_front() {
            self.complete(job.work, Status::Flushed);
        }
    }

    fn complete(&mut self, work: Work, status: Status) {
        let bytes = if status == Status::Success { work.length } else { 0 };
        self.completions.push_back(Completion { id: work.id, status, bytes });
    }
}

fn meaning(code: NakCode) -> Status {
    match code {
        NakCode::RemoteAccess => Status::RemoteAccess,
        NakCode::RemoteOperational => Status::RemoteOperation,
        _ => Status::RemoteInvalid,
    }
}
