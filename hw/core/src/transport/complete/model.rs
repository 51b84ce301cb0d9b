//! Who takes the answers, in plain Rust.

use rust_hdl::prelude::Bits;
use stroma_abi::desc::region::rights;
use stroma_abi::desc::{Status, WorkOp};
use stroma_abi::wire::{NakCode, Opcode, Position, Syndrome, opcode};

use super::MTU_LOG;
use crate::transport::records::{Alarm, Arrival, Errand, OUTSTANDING_LOG, Occasion, Rewind, Sent, SentRow};

/// All that comes of an arrival.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Errands; what means nothing is zero.
    pub errands: Vec<Errand>,
    /// Send again.
    pub rewind: Option<Rewind>,
    /// Set the timer.
    pub alarm: Option<Alarm>,
    /// An answer was overdue.
    pub is_late: bool,
}

/// What is known of one queue pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Messages that are over, modulo 64.
    pub tail: u64,
    /// Packets of the next that are answered.
    pub progress: u64,
    /// READs that are over, modulo 32.
    pub reads: u64,
    /// Retries since the last progress.
    pub used: u64,
    /// It sends again since then.
    pub recovering: bool,
    /// It has failed, or was flushed.
    pub failed: bool,
}

/// The difference of two PSNs, modulo 2^24.
#[must_use]
pub const fn ahead(psn: u64, base: u64) -> u64 {
    psn.wrapping_sub(base) & 0xff_ffff
}

/// Bytes of a packet by the code of the path MTU.
#[must_use]
pub fn mtu(code: Bits<3>) -> u64 {
    1 << (MTU_LOG as u64 + u64::from(code))
}

impl Row {
    /// Messages that are not over.
    #[must_use]
    pub fn outstanding(&self, sent: &SentRow) -> u64 {
        u64::from(sent.head).wrapping_sub(self.tail) & 0x3f
    }

    /// The first message that is not over.
    ///
    /// # Panics
    /// If the ring has fewer places than a queue pair's messages may take.
    #[must_use]
    pub fn entry<'a>(&self, ring: &'a [Sent]) -> &'a Sent {
        &ring[usize::try_from(self.tail).expect("six bits") % (1 << OUTSTANDING_LOG)]
    }

    /// The first PSN that is not answered.
    #[must_use]
    pub fn unanswered(&self, ring: &[Sent]) -> u64 {
        (u64::from(self.entry(ring).psn) + self.progress) & 0xff_ffff
    }

    /// Takes an arrival, given what was sent: the row, and the ring of the queue pair's messages.
    pub fn arrive(&mut self, arrival: &Arrival, sent: &SentRow, ring: &[Sent]) -> Outcome {
        let mut course = Course {
            row: self,
            arrival,
            sent,
            ring,
            outcome: Outcome::default(),
            is_told: false,
            has_moved: false,
        };
        match u64::from(arrival.occasion) {
            occasion if occasion == Occasion::Timeout as u64 => course.expire(),
            occasion if occasion == Occasion::Flush as u64 => course.flush(),
            occasion if occasion == Occasion::Failure as u64 => course.break_off(),
            _ => course.answer(),
        }
        course.finish()
    }
}

/// An arrival under way.
struct Course<'a> {
    row: &'a mut Row,
    arrival: &'a Arrival,
    sent: &'a SentRow,
    ring: &'a [Sent],
    outcome: Outcome,
    /// The last that was done has its errand.
    is_told: bool,
    has_moved: bool,
}

impl Course<'_> {
    fn is_alive(&self) -> bool {
        !self.row.failed && self.row.outstanding(self.sent) > 0
    }

    fn is_read(&self) -> bool {
        self.row.entry(self.ring).opcode == WorkOp::Read as u64
    }

    fn answer(&mut self) {
        let unanswered = self.row.unanswered(self.ring);
        let distance = ahead(self.arrival.psn.into(), unanswered);
        if !self.is_alive() || distance >= ahead(self.sent.frontier.into(), unanswered) {
            return;
        }
        let code = u8::try_from(u64::from(self.arrival.op)).expect("eight bits");
        let Some(op) = Opcode::lookup(code) else { return };
        match *op {
            opcode::RC_ACKNOWLEDGE => {
                let syndrome = u8::try_from(u64::from(self.arrival.aeth) >> 24).expect("eight bits");
                let (count, refusal) = match Syndrome::decode(syndrome) {
                    Syndrome::Ack { .. } => (distance + 1, None),
                    Syndrome::Nak(code) => (distance, Some(code)),
                    _ => return,
                };
                match (self.retire(count), refusal) {
                    (true, None) => {}
                    (true, Some(code)) if code != NakCode::PsnSequence => self.fail(meaning(code)),
                    _ => self.again(),
                }
            }
            opcode::RC_READ_RESPONSE_FIRST
            | opcode::RC_READ_RESPONSE_MIDDLE
            | opcode::RC_READ_RESPONSE_LAST
            | opcode::RC_READ_RESPONSE_ONLY => {
                if self.retire(distance) {
                    self.take(matches!(op.position, Position::Last | Position::Only));
                } else {
                    self.again();
                }
            }
            _ => {}
        }
    }

    /// The next `count` PSNs are answered; no, if a READ among them misses its data.
    fn retire(&mut self, mut count: u64) -> bool {
        while count > 0 {
            if self.is_read() {
                return false;
            }
            let left = u64::from(self.row.entry(self.ring).packets) - self.row.progress;
            self.progress();
            if count < left {
                self.row.progress += count;
                self.is_told = false;
                return true;
            }
            count -= left;
            self.end(Status::Success as u64, 0.into(), false);
        }
        true
    }

    fn progress(&mut self) {
        (self.row.used, self.row.recovering, self.has_moved) = (0, false, true);
    }

    /// The next data of a READ.
    fn take(&mut self, ends: bool) {
        let (entry, mtu) = (*self.row.entry(self.ring), mtu(self.arrival.path_mtu));
        let offset = self.row.progress * mtu;
        let is_last = self.row.progress + 1 == u64::from(entry.packets);
        let length = if is_last { u64::from(entry.length).wrapping_sub(offset) } else { mtu };
        if !self.is_read() || self.arrival.payload_len != length || ends != is_last {
            return self.fail(Status::BadResponse);
        }
        self.progress();
        self.row.progress += 1;
        if is_last {
            self.end(Status::Success as u64, 0.into(), false);
        } else {
            let errand = self.errand();
            self.tell(&errand);
        }
        if length > 0 {
            let errand = self.outcome.errands.last_mut().expect("told above");
            errand.places = true;
            errand.va = u64::from(entry.address).wrapping_add(offset).into();
            errand.key = entry.key;
            errand.need = u64::from(rights::LOCAL_WRITE).into();
            errand.span = length.into();
            (errand.index, errand.opcode, errand.length) = (entry.index, entry.opcode, entry.length);
        }
    }

    /// Sends again from the first unanswered PSN, or gives up.
    fn again(&mut self) {
        self.is_told = false;
        if self.row.recovering {
            return;
        }
        if self.arrival.retry == self.row.used {
            return self.fail(Status::RetryExceeded);
        }
        self.row.used += 1;
        self.row.recovering = true;
        self.outcome.rewind = Some(Rewind {
            qpn: self.arrival.qpn,
            index: self.row.entry(self.ring).index,
            slot: self.row.tail.into(),
            psn: self.row.unanswered(self.ring).into(),
            skips: self.row.progress.into(),
        });
        self.alarm();
    }

    fn expire(&mut self) {
        if !self.is_alive() {
            return;
        }
        if self.sent.frontier == self.row.unanswered(self.ring) {
            return self.alarm();
        }
        self.outcome.is_late = true;
        self.row.recovering = false;
        self.again();
    }

    fn flush(&mut self) {
        self.row.failed = true;
        while self.row.outstanding(self.sent) > 0 {
            self.end(Status::Flushed as u64, 0.into(), false);
        }
    }

    fn break_off(&mut self) {
        let before = u64::from(self.arrival.slot).wrapping_sub(self.row.tail) & 0x3f;
        if self.row.failed || before >= self.row.outstanding(self.sent) {
            return;
        }
        for _ in 0..before {
            self.end(Status::Flushed as u64, 0.into(), false);
        }
        self.row.failed = true;
        self.end(self.arrival.status.into(), self.arrival.vendor, true);
    }

    fn fail(&mut self, status: Status) {
        self.row.failed = true;
        self.end(status as u64, 0.into(), true);
    }

    /// The first message is over.
    fn end(&mut self, status: u64, vendor: Bits<8>, fails: bool) {
        let (entry, is_success) = (*self.row.entry(self.ring), status == Status::Success as u64 && !fails);
        self.row.tail = (self.row.tail + 1) & 0x3f;
        self.row.reads = (self.row.reads + u64::from(entry.opcode == WorkOp::Read as u64)) & 0x1f;
        self.row.progress = 0;
        let mut errand = Errand { retires: true, fails, status: status.into(), vendor, ..self.errand() };
        if entry.signaled || !is_success {
            errand.completes = true;
            (errand.index, errand.opcode) = (entry.index, entry.opcode);
            errand.length = if is_success { entry.length } else { 0.into() };
        }
        self.tell(&errand);
    }

    /// An errand that brings nothing.
    fn errand(&self) -> Errand {
        Errand {
            colour: self.arrival.colour,
            qpn: self.arrival.qpn,
            pd: self.arrival.pd,
            path_mtu: self.arrival.path_mtu,
            cq: self.arrival.cq,
            tail: self.row.tail.into(),
            reads: self.row.reads.into(),
            ..Errand::default()
        }
    }

    fn tell(&mut self, errand: &Errand) {
        self.outcome.errands.push(*errand);
        self.is_told = true;
    }

    fn alarm(&mut self) {
        self.outcome.alarm = Some(Alarm { qpn: self.arrival.qpn, timeout: self.arrival.timeout });
    }

    fn finish(mut self) -> Outcome {
        if self.has_moved && self.is_alive() {
            self.alarm();
        }
        if !self.is_told {
            let errand = self.errand();
            self.tell(&errand);
        }
        let last = self.outcome.errands.last_mut().expect("each arrival has an errand");
        (last.ends, last.payload_len) = (true, self.arrival.payload_len);
        self.outcome
    }
}

fn meaning(code: NakCode) -> Status {
    match code {
        NakCode::RemoteAccess => Status::RemoteAccess,
        NakCode::RemoteOperational => Status::RemoteOperation,
        _ => Status::RemoteInvalid,
    }
}
