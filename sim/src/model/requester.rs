//! The requester of a reliable connection: sends what was posted until it is answered, and completes it in order.

mod local;

use std::collections::VecDeque;

use stroma_abi::Psn;
use stroma_abi::desc::Status;
use stroma_abi::wire::{NakCode, Role, Syndrome, opcode};

use super::job::{Answer, Job};
use super::{Completion, Dropped, Memory, Operation, Packet, Settings, Work};

/// The count of RNR retries that stands for "for ever".
const RNR_FOR_EVER: u8 = 7;

/// The requester. Everything from `unanswered` to `sent` is on its way; `cursor` is what goes next, behind `sent` only
/// while packets are sent again. The unanswered PSN always lies in the first job.
///
/// READs, atomics and calls beyond the limit wait, fenced operations for all of them, and all behind them: requests leave in order.
/// Local work has no PSNs. It waits until all before it is over, and all behind it waits for it.
/// A refusal counts once all before it is answered; while a READ or an atomic before it misses data, that one is asked for
/// again, and ends as the peer then treats it.
///
/// A peer that is not ready is left in peace for the time it names: nothing is sent, sent again or given up meanwhile.
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
    rnr_retries: u8,
    /// When the rest ends that the peer asked for.
    rest: Option<u64>,
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
            rnr_retries: settings.rnr_retries,
            rest: None,
            recovering: None,
            failed: false,
        }
    }

    /// Posts an operation. In error it completes at once, as flushed.
    ///
    /// # Panics
    /// When more than 2^23 packets would be open: beyond half the circle PSNs have no order. When the bytes are more than 2^31,
    /// those of an atomic not eight, or those of local work not none.
    pub fn post(&mut self, work: Work) {
        let job = Job::new(&work, self.posted, &self.settings);
        if self.failed {
            return self.complete(&job, Status::Flushed);
        }
        let open = job.first.distance(self.unanswered) + job.count;
        assert!(open <= Psn::HALF, "{open} packets would be open");
        self.posted = job.end();
        self.jobs.push_back(job);
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

    /// When the timer runs out, or the rest ends.
    #[must_use]
    pub fn deadline(&self) -> Option<u64> {
        self.rest.or(self.deadline)
    }

    /// The next packet to send. Local work whose turn it is gets done.
    pub fn transmit(&mut self, now: u64, memory: &mut Memory) -> Option<Packet> {
        self.work(memory);
        if self.rest.is_some() {
            return None;
        }
        let index = self.jobs.iter().position(|job| self.cursor.in_window(job.first, job.count))?;
        // What was sent once may be sent again: only a beginning waits.
        if self.cursor == self.sent && self.must_wait(index) {
            return None;
        }
        let job = &mut self.jobs[index];
        let Ok((mut packet, next)) = job.packet(self.cursor, &self.settings, memory) else {
            // What was posted before ends first: completions keep the order of posting.
            if index == 0 {
                self.fail(Status::LocalProtection);
            }
            return None;
        };
        if job.wants_data() && !job.asked.contains(&self.cursor) {
            job.asked.push(self.cursor);
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

    /// Must this job wait for READs, atomics or local work before it?
    fn must_wait(&self, index: usize) -> bool {
        let job = &self.jobs[index];
        let before = self.jobs.iter().take(index).filter(|job| job.wants_data()).count();
        let is_fenced = job.work.fence && self.cursor == job.first && before > 0;
        let is_behind = self.jobs.iter().take(index).any(|job| job.work.operation.is_local());
        is_fenced || is_behind || job.wants_data() && before >= self.settings.reads_out
    }

    /// Lets time pass.
    pub fn tick(&mut self, now: u64) {
        if self.rest.is_some_and(|end| now >= end) {
            self.rest = None;
            self.begin_again(now);
        } else if self.deadline.is_some_and(|deadline| now >= deadline) {
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
        let syndrome = answer.syndrome();
        let end = match syndrome {
            Some(Syndrome::Ack { .. }) => answer.psn.next(),
            Some(Syndrome::Nak(_) | Syndrome::RnrNak { .. }) => answer.psn,
            other => return Err(Dropped::Syndrome { syndrome: other.map_or(0, Syndrome::encode) }),
        };
        match (self.retire(now, end), syndrome) {
            (false, _) | (_, Some(Syndrome::Nak(NakCode::PsnSequence))) => self.again(now),
            (true, Some(Syndrome::Nak(code))) => self.fail(meaning(code)),
            (true, Some(Syndrome::RnrNak { timer })) => self.rest(now, timer),
            (true, _) => {}
        }
        Ok(())
    }

    /// A packet has left that nobody will answer: all up to it is over.
    pub(super) fn depart(&mut self, now: u64, psn: Psn) {
        self.retire(now, psn.next());
    }

    /// Everything before `end` is answered; no, if a READ or an atomic there misses its data: an implied NAK.
    fn retire(&mut self, now: u64, end: Psn) -> bool {
        while self.unanswered.is_before(end) {
            let Some(job) = self.jobs.front() else { return false };
            // What a call sends before its last packet is acknowledged like a WRITE.
            let limit = if job.wants_data() { job.base() } else { job.end() };
            if !self.unanswered.is_before(limit) {
                return false;
            }
            let stop = if end.is_before(limit) { end } else { limit };
            self.advance(now, stop, None);
        }
        true
    }

    /// Progress: the first job is answered up to `to`; of a call, with status and bytes of its result.
    fn advance(&mut self, now: u64, to: Psn, result: Option<(u32, u32)>) {
        self.unanswered = to;
        if self.cursor.is_before(to) {
            self.cursor = to;
        }
        self.retries = self.settings.retries;
        self.rnr_retries = self.settings.rnr_retries;
        self.recovering = None;
        self.arm(now);
        if let Some(job) = self.jobs.pop_front_if(|job| job.end() == to) {
            let (rpc, bytes) = result.map_or((None, job.length), |(status, length)| (Some(status), length));
            let id = job.work.id;
            self.completions.push_back(Completion { id, status: Status::Success, bytes, rpc });
        }
    }

    /// Data of a READ or an atomic. It also answers all that was sent before it.
    fn take(&mut self, now: u64, answer: &Packet, memory: &mut Memory) {
        if !self.retire(now, answer.psn) {
            return self.again(now);
        }
        if self.jobs.front().is_some_and(|job| matches!(job.work.operation, Operation::Call { .. })) {
            return self.take_result(now, answer, memory);
        }
        let settings = &self.settings;
        let found = self.jobs.front().and_then(|job| Some((job, job.data(answer, settings)?)));
        let Some((job, data)) = found else {
            return self.fail(Status::BadResponse);
        };
        match job.list(settings).write(memory, job.range(answer.psn, settings).start, &data) {
            Ok(()) => self.advance(now, answer.psn.next(), None),
            Err(_) => self.fail(Status::LocalProtection),
        }
    }

    /// An answer to the call that is first. One that says busy came because of what was sent again: the peer lives.
    fn take_result(&mut self, now: u64, answer: &Packet, memory: &mut Memory) {
        let settings = &self.settings;
        let found = self.jobs.front().and_then(|job| Some((job, job.answer(answer, settings)?)));
        let Some((job, said)) = found else {
            return self.fail(Status::BadResponse);
        };
        if matches!(said, Answer::Busy) {
            self.retries = self.settings.retries;
            self.recovering = None;
            return self.arm(now);
        }
        let end = job.end();
        if job.list(settings).write(memory, job.range(answer.psn, settings).start, &answer.payload).is_err() {
            return self.fail(Status::LocalProtection);
        }
        if let Answer::End { status, length } = said {
            self.advance(now, end, Some((status, length)));
        } else {
            self.advance(now, answer.psn.next(), None);
        }
    }

    /// Sends again from the first unanswered PSN, or gives up. The end of a rest does so anyway.
    fn again(&mut self, now: u64) {
        if self.rest.is_some() || self.recovering == Some(self.unanswered) {
            return;
        }
        let Some(left) = self.retries.checked_sub(1) else {
            return self.fail(Status::RetryExceeded);
        };
        self.retries = left;
        self.begin_again(now);
    }

    fn begin_again(&mut self, now: u64) {
        self.recovering = Some(self.unanswered);
        self.cursor = self.unanswered;
        self.arm(now);
    }

    /// The peer has no receive: leaves it in peace, or gives up. What it said while there is rest was said before.
    fn rest(&mut self, now: u64, timer: u8) {
        if self.rest.is_some() {
            return;
        }
        if self.settings.rnr_retries != RNR_FOR_EVER {
            let Some(left) = self.rnr_retries.checked_sub(1) else {
                return self.fail(Status::RnrRetryExceeded);
            };
            self.rnr_retries = left;
        }
        self.rest = Some(now + self.settings.rnr_ticks(timer));
        self.deadline = None;
    }

    fn arm(&mut self, now: u64) {
        let waits = self.unanswered.is_before(self.sent) && self.rest.is_none();
        self.deadline = self.settings.timeout.filter(|_| waits).map(|timeout| now + timeout);
    }

    /// Ends the first job with `status` and flushes the rest.
    fn fail(&mut self, status: Status) {
        if let Some(job) = self.jobs.pop_front() {
            self.complete(&job, status);
        }
        self.flush();
    }

    /// Ends everything: the queue pair is in error.
    pub fn flush(&mut self) {
        self.failed = true;
        (self.deadline, self.rest) = (None, None);
        while let Some(job) = self.jobs.pop_front() {
            self.complete(&job, Status::Flushed);
        }
    }

    fn complete(&mut self, job: &Job, status: Status) {
        let bytes = if status == Status::Success { job.length } else { 0 };
        self.completions.push_back(Completion { id: job.work.id, status, bytes, rpc: None });
    }
}

fn meaning(code: NakCode) -> Status {
    match code {
        NakCode::RemoteAccess => Status::RemoteAccess,
        NakCode::RemoteOperational => Status::RemoteOperation,
        _ => Status::RemoteInvalid,
    }
}
