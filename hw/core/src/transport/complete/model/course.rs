//! What comes of one arrival.

use rust_hdl::prelude::Bits;
use stroma_abi::desc::region::rights;
use stroma_abi::desc::{Cqe, Statistics, Status};
use stroma_abi::wire::{NakCode, Opcode, Position, Syndrome, opcode};

use super::{Outcome, Row, ahead, fetches, front, is_atomic, is_call, mtu};
use crate::transport::records::{Alarm, Arrival, Errand, List, Occasion, Rewind, Sent, SentRow};

/// RNR retries that never end.
const FOR_EVER: u64 = 7;

/// An arrival under way.
pub(super) struct Course<'a> {
    row: &'a mut Row,
    arrival: &'a Arrival,
    sent: &'a SentRow,
    ring: &'a [Sent],
    outcome: Outcome,
    /// The last that was done has its errand.
    is_told: bool,
    has_moved: bool,
    /// An RPC that it answers still runs.
    is_busy: bool,
    /// The message that was ended last, with its place and the packets that were answered before.
    ended: Option<(u64, u64)>,
}

impl<'a> Course<'a> {
    pub(super) fn new(row: &'a mut Row, arrival: &'a Arrival, sent: &'a SentRow, ring: &'a [Sent]) -> Self {
        let outcome = Outcome::default();
        Self {
            row,
            arrival,
            sent,
            ring,
            outcome,
            is_told: false,
            has_moved: false,
            is_busy: false,
            ended: None,
        }
    }

    fn is_alive(&self) -> bool {
        !self.row.failed && self.row.outstanding(self.sent) > 0
    }

    fn fetches(&self) -> bool {
        fetches(self.row.entry(self.ring))
    }

    /// An answer of the peer, and what comes of it.
    pub(super) fn answer(mut self) -> Outcome {
        let before = *self.row;
        self.hear();
        let is_vain = *self.row == before && self.outcome.rewind.is_none() && !self.is_busy;
        // A frame that has departed comes like an answer, but nobody sent one.
        let is_answer = !self.arrival.raw;
        let mut outcome = self.finish();
        outcome.is_stale = is_answer && is_vain && !before.failed;
        outcome.is_unwanted = is_answer && is_vain && before.failed;
        outcome.errands.iter_mut().for_each(|errand| errand.is_awaited = is_answer && !is_vain);
        outcome
    }

    fn hear(&mut self) {
        let unanswered = self.row.unanswered(self.ring);
        let distance = ahead(self.arrival.psn.into(), unanswered);
        if !self.is_alive() || distance >= ahead(self.sent.frontier.into(), unanswered) {
            return;
        }
        let code = u8::try_from(u64::from(self.arrival.op)).expect("eight bits");
        let Some(op) = Opcode::lookup(code) else { return };
        let syndrome = u8::try_from(u64::from(self.arrival.aeth) >> 24).expect("eight bits");
        let syndrome = Syndrome::decode(syndrome);
        let is_positive = matches!(syndrome, Syndrome::Ack { .. });
        let answers = match *op {
            opcode::RC_ACKNOWLEDGE => !matches!(syndrome, Syndrome::Reserved(_)),
            opcode::RC_ATOMIC_ACKNOWLEDGE
            | opcode::RC_READ_RESPONSE_FIRST
            | opcode::RC_READ_RESPONSE_LAST
            | opcode::RC_READ_RESPONSE_ONLY
            | opcode::RPC_RESPONSE_END
            | opcode::RPC_BUSY => is_positive,
            opcode::RC_READ_RESPONSE_MIDDLE | opcode::RPC_RESPONSE => true,
            _ => false,
        };
        if !answers {
            return;
        }
        let is_plain = *op == opcode::RC_ACKNOWLEDGE;
        let beyond = self.retire(distance + u64::from(is_plain && is_positive));
        let entry = *self.row.entry(self.ring);
        // PSNs of an RPC's answer from the first that has not come on, and those before.
        let is_in_range = is_call(&entry) && self.row.progress >= front(&entry);
        let is_in_range = is_in_range && self.row.progress + beyond < u64::from(entry.packets);
        let is_begun = is_call(&entry) && self.row.progress > front(&entry);
        if *op == opcode::RPC_BUSY && is_in_range {
            return self.wait();
        }
        if beyond > 0 || (is_plain && !is_positive && is_begun) {
            self.outcome.counted = Some(Statistics::IMPLIED_NAK_SEQ_ERR);
            // The answer is complete, whatever was asked for before.
            let is_complete = *op == opcode::RPC_RESPONSE_END && is_in_range;
            if is_complete {
                self.press();
            }
            return self.again();
        }
        match syndrome {
            _ if *op == opcode::RPC_BUSY => self.fail(Status::BadResponse),
            _ if is_call(&entry) && !is_plain => self.take_result(op),
            _ if !is_plain => self.take(op),
            Syndrome::RnrNak { timer } => {
                self.outcome.counted = Some(Statistics::RNR_NAK_RETRY_ERR);
                self.rest(timer);
            }
            Syndrome::Nak(NakCode::PsnSequence) => {
                self.outcome.counted = Some(Statistics::PACKET_SEQ_ERR);
                // What was sent again is lost, too.
                self.press();
                self.again();
            }
            Syndrome::Nak(code) => self.fail(meaning(code)),
            _ => {}
        }
    }

    /// The next `count` PSNs are answered, but for as many: a READ, atomic or RPC before them misses its data.
    fn retire(&mut self, mut count: u64) -> u64 {
        while count > 0 {
            let entry = *self.row.entry(self.ring);
            if self.row.progress < front(&entry) {
                let step = count.min(front(&entry) - self.row.progress);
                self.progress();
                self.row.progress += step;
                self.is_told = false;
                count -= step;
                continue;
            }
            if self.fetches() {
                return count;
            }
            let left = u64::from(self.row.entry(self.ring).packets) - self.row.progress;
            self.progress();
            if count < left {
                self.row.progress += count;
                self.is_told = false;
                return 0;
            }
            count -= left;
            self.end(Status::Success as u64, 0.into(), false);
        }
        0
    }

    /// The RPC that is first still runs: the peer is there.
    fn wait(&mut self) {
        (self.row.used, self.row.recovering) = (0, false);
        (self.has_moved, self.is_busy, self.is_told) = (true, true, false);
    }

    /// The next packet of an RPC's answer.
    fn take_result(&mut self, op: &Opcode) {
        let (entry, mtu) = (*self.row.entry(self.ring), mtu(self.arrival.path_mtu));
        let here = u64::from(self.arrival.payload_len);
        let Some(index) = self.row.progress.checked_sub(front(&entry)) else {
            return self.fail(Status::BadResponse);
        };
        let offset = index * mtu;
        let (status, length) = (u64::from(self.arrival.a1) >> 32, u64::from(self.arrival.a1) & 0xffff_ffff);
        let is_right = match *op {
            opcode::RPC_RESPONSE => here == mtu && self.row.progress + 1 < u64::from(entry.packets),
            opcode::RPC_RESPONSE_END => {
                here <= mtu && length == offset + here && length <= u64::from(entry.length)
            }
            _ => false,
        };
        if !is_right {
            return self.fail(Status::BadResponse);
        }
        self.progress();
        let is_end = *op == opcode::RPC_RESPONSE_END;
        if is_end {
            self.end(Status::Success as u64, 0.into(), false);
        } else {
            self.row.progress += 1;
            let errand = self.errand();
            self.tell(&errand);
        }
        let errand = self.outcome.errands.last_mut().expect("told above");
        if here > 0 {
            errand.places = true;
            errand.need = u64::from(rights::LOCAL_WRITE).into();
            errand.span = here.into();
            errand.va = u64::from(entry.address).wrapping_add(offset).into();
            errand.key = entry.key;
            (errand.index, errand.opcode, errand.length) = (entry.index, entry.opcode, entry.length);
        }
        if is_end {
            errand.detail = status.into();
            errand.flags = (1_u64 << Cqe::RPC.bit).into();
            if errand.places || errand.completes {
                errand.length = length.into();
            }
        }
    }

    fn progress(&mut self) {
        (self.row.used, self.row.rnr_used, self.row.recovering) = (0, 0, false);
        self.has_moved = true;
    }

    /// The next data of a READ, or what an atomic found.
    fn take(&mut self, op: &Opcode) {
        let (begins, ends) = match op.position {
            Position::First => (true, false),
            Position::Last => (false, true),
            Position::Only => (true, true),
            Position::Middle => (false, false),
        };
        let is_value = *op == opcode::RC_ATOMIC_ACKNOWLEDGE;
        let (entry, mtu) = (*self.row.entry(self.ring), mtu(self.arrival.path_mtu));
        let offset = self.row.progress * mtu;
        let is_last = self.row.progress + 1 == u64::from(entry.packets);
        let length = match (is_value, is_last) {
            (true, _) => 0,
            (false, true) => u64::from(entry.length).wrapping_sub(offset),
            (false, false) => mtu,
        };
        // An answer begins where one was asked for, and is continued anywhere behind that.
        let is_begun = self.row.progress > 0;
        let may_be_here = if begins { !is_begun || self.row.recovering } else { is_begun };
        let is_asked = self.fetches() && is_value == is_atomic(&entry);
        if !is_asked || !may_be_here || ends != is_last || self.arrival.payload_len != length {
            return self.fail(Status::BadResponse);
        }
        self.progress();
        if is_last {
            self.end(Status::Success as u64, 0.into(), false);
        } else {
            self.row.progress += 1;
            let errand = self.errand();
            self.tell(&errand);
        }
        if length > 0 || is_value {
            let errand = self.outcome.errands.last_mut().expect("told above");
            errand.places = true;
            errand.need = u64::from(rights::LOCAL_WRITE).into();
            errand.span = length.into();
            if is_value {
                (errand.has_value, errand.value, errand.span) = (true, self.arrival.a1, 8_u64.into());
            }
            if entry.scatters {
                (errand.list, errand.offset) = ((List::Send as u64).into(), offset.into());
            } else {
                errand.va = u64::from(entry.address).wrapping_add(offset).into();
                errand.key = entry.key;
            }
            (errand.index, errand.opcode, errand.length) = (entry.index, entry.opcode, entry.length);
        }
    }

    /// A repetition that is under way is no reason not to send again, as long as there are retries.
    fn press(&mut self) {
        self.row.recovering &= self.row.resting || self.arrival.retry == self.row.used;
    }

    /// Sends again from the first unanswered PSN, or gives up.
    fn again(&mut self) {
        self.is_told = false;
        if self.row.recovering || self.row.resting {
            return;
        }
        if self.arrival.retry == self.row.used {
            return self.fail(Status::RetryExceeded);
        }
        self.row.used += 1;
        self.row.recovering = true;
        self.rewind(*self.row, false);
        self.alarm();
    }

    /// Sends again what `row` says is not answered.
    fn rewind(&mut self, row: Row, holds: bool) {
        self.outcome.rewind = Some(Rewind {
            qpn: self.arrival.qpn,
            index: row.entry(self.ring).index,
            slot: row.tail.into(),
            psn: row.unanswered(self.ring).into(),
            skips: row.progress.into(),
            holds,
            discards: u64::from(self.arrival.occasion) == Occasion::Packet as u64,
        });
    }

    /// Waits before it sends again from the first unanswered PSN, or gives up.
    fn rest(&mut self, timer: u8) {
        self.is_told = false;
        if self.row.resting {
            return;
        }
        if self.arrival.rnr_retry != FOR_EVER && self.arrival.rnr_retry == self.row.rnr_used {
            return self.fail(Status::RnrRetryExceeded);
        }
        self.row.rnr_used = (self.row.rnr_used + 1) & 7;
        self.row.resting = true;
        self.rewind(*self.row, true);
        let timeout = u64::from(timer).into();
        self.outcome.alarm = Some(Alarm { qpn: self.arrival.qpn, timeout, rests: true });
    }

    /// Rests no more, and sends what `row` says is not answered.
    fn wake(&mut self, row: Row) {
        self.row.resting = false;
        self.rewind(row, false);
        self.alarm();
    }

    pub(super) fn expire(&mut self) {
        if !self.is_alive() {
            return;
        }
        if self.row.resting {
            self.row.recovering = true;
            return self.wake(*self.row);
        }
        if self.sent.frontier == self.row.unanswered(self.ring) {
            return self.alarm();
        }
        self.outcome.counted = Some(Statistics::LOCAL_ACK_TIMEOUT_ERR);
        self.row.recovering = false;
        self.again();
    }

    pub(super) fn flush(&mut self) {
        self.row.failed = true;
        while self.row.outstanding(self.sent) > 0 {
            self.end(Status::Flushed as u64, 0.into(), false);
        }
    }

    pub(super) fn break_off(&mut self) {
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
        self.ended = Some((self.row.tail, self.row.progress));
        self.row.tail = (self.row.tail + 1) & 0x3f;
        self.row.reads = (self.row.reads + u64::from(fetches(&entry))) & 0x1f;
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
        self.outcome.alarm =
            Some(Alarm { qpn: self.arrival.qpn, timeout: self.arrival.timeout, ..Alarm::default() });
    }

    pub(super) fn finish(mut self) -> Outcome {
        match self.ended {
            _ if self.row.failed || !self.has_moved => {}
            Some((tail, progress)) if self.row.resting && !self.is_alive() => {
                self.wake(Row { tail, progress, ..*self.row });
            }
            _ if self.is_alive() && !self.row.resting => self.alarm(),
            _ => {}
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
