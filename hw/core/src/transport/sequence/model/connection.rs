//! One queue pair's requests.

use stroma_abi::Psn;
use stroma_abi::desc::region::rights;
use stroma_abi::desc::{Status, WorkOp};
use stroma_abi::wire::{NakCode, Syndrome};

use super::carry_out::complete;
use super::{
    Family, Outcome, View, begins, ends, family, has, has_immediate, mtu, number, opcode_of, packets, short,
};
use crate::transport::records::{Answer, Arrival, Atomic, Errand, Occasion};
use crate::transport::sequence::fit::MESSAGE_MAX;
use crate::transport::sequence::reply::POSITIVE;

/// A message that has begun and not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// A SEND, which has taken a receive.
    Send {
        /// Index of the receive.
        receive: u16,
        /// Bytes that have come.
        received: u32,
    },
    /// A WRITE.
    Write {
        /// Where the rest goes.
        va: u64,
        /// Its key.
        key: u32,
        /// Bytes of the rest.
        left: u32,
        /// Bytes that have come.
        received: u32,
    },
}

/// What is known of a queue pair's requests.
#[derive(Clone, Debug)]
pub struct Connection {
    /// PSN of the next request.
    pub expected: Psn,
    /// Messages completed.
    pub msn: Psn,
    /// The message under way.
    pub message: Option<Message>,
    /// READs and atomics carried out, modulo 32.
    pub resources: u8,
    /// Atomics among them, modulo 32.
    pub atomics: u8,
    /// A request was refused, or receives were recalled.
    pub failed: bool,
    gap_told: bool,
    last_told: bool,
}

pub(super) fn acknowledge(errand: &mut Errand, psn: Psn, syndrome: Syndrome) {
    errand.answer = (Answer::Acknowledge as u64).into();
    errand.psn = u64::from(psn.value()).into();
    errand.syndrome = u64::from(syndrome.encode()).into();
}

fn next_receive(view: &View) -> Option<u16> {
    let index = || u16::try_from(number(view.stock.first)).expect("an index has 16 bits");
    (number(view.stock.count) > 0).then(index)
}

impl Connection {
    pub(super) fn new(expected: Psn) -> Self {
        Self {
            expected,
            msn: Psn::new(0),
            message: None,
            resources: 0,
            atomics: 0,
            failed: false,
            gap_told: false,
            last_told: false,
        }
    }

    pub(super) fn arrive(&mut self, arrival: &Arrival, view: &View) -> Outcome {
        // It throws the payload away, until something better is known.
        let errand = Errand {
            ends: true,
            colour: arrival.colour,
            qpn: arrival.qpn,
            pd: arrival.pd,
            path_mtu: arrival.path_mtu,
            payload_len: arrival.payload_len,
            psn: arrival.psn,
            ..Errand::default()
        };
        let mut outcome = Outcome { errand, ..Outcome::default() };
        let psn = Psn::new(short(arrival.psn));
        if number(arrival.occasion) == Occasion::Recall as u64 {
            self.recall(arrival, view, &mut outcome);
        } else if self.failed {
        } else if psn.is_before(self.expected) {
            outcome.duplicate = true;
            if self.atomics == view.finished {
                self.repeat(arrival, psn, &mut outcome.errand);
            }
        } else if psn != self.expected {
            outcome.nak = !std::mem::replace(&mut self.gap_told, true);
            if outcome.nak {
                acknowledge(&mut outcome.errand, self.expected, Syndrome::Nak(NakCode::PsnSequence));
            }
        } else {
            self.judge(arrival, view, &mut outcome);
        }
        outcome.errand.msn = u64::from(self.msn.value()).into();
        outcome
    }

    /// A receive is given up.
    fn recall(&mut self, arrival: &Arrival, view: &View, outcome: &mut Outcome) {
        self.failed = true;
        let begun = match self.message {
            Some(Message::Send { receive, .. }) => Some(receive),
            _ => None,
        };
        if begun.is_some() {
            self.message = None;
        }
        let next = next_receive(view).filter(|_| begun.is_none() && !arrival.has_srq);
        outcome.takes = next.is_some();
        if let Some(index) = begun.or(next) {
            complete(&mut outcome.errand, arrival, index, WorkOp::Send, 0, Status::Flushed);
        }
        outcome.errand.last_receive = arrival.has_srq && !self.last_told;
        self.last_told |= arrival.has_srq;
    }

    /// The next request.
    fn judge(&mut self, arrival: &Arrival, view: &View, outcome: &mut Outcome) {
        let op = opcode_of(arrival);
        let kind = family(&op);
        let open = u64::from(self.resources.wrapping_sub(view.answered) % 32);
        let is_spent = matches!(kind, Family::Read | Family::Atomic) && open >= number(arrival.reads_in);
        let needs_receive =
            (kind == Family::Send && begins(&op)) || (kind == Family::Write && has_immediate(&op));
        let next = next_receive(view);
        self.gap_told = false;
        if !self.keeps_rules(arrival) || is_spent {
            acknowledge(&mut outcome.errand, self.expected, Syndrome::Nak(NakCode::InvalidRequest));
            outcome.errand.status = (Status::RemoteInvalid as u64).into();
            outcome.errand.fails = true;
            (outcome.nak, self.failed) = (true, true);
        } else if self.atomics != view.finished && kind != Family::Atomic {
            acknowledge(&mut outcome.errand, self.expected, Syndrome::Nak(NakCode::PsnSequence));
            (outcome.nak, self.gap_told) = (true, true);
        } else if needs_receive && next.is_none() {
            let timer = u8::try_from(number(arrival.min_rnr)).expect("a timer code has five bits");
            acknowledge(&mut outcome.errand, self.expected, Syndrome::RnrNak { timer });
            (outcome.rnr, self.gap_told) = (true, true);
        } else {
            let receive = next.filter(|_| needs_receive);
            outcome.takes = receive.is_some();
            self.carry_out(arrival, receive, &mut outcome.errand);
        }
    }

    fn keeps_rules(&self, arrival: &Arrival) -> bool {
        let op = opcode_of(arrival);
        let (length, payload, mtu) = (short(arrival.len), short(arrival.payload_len), mtu(arrival));
        match (family(&op), self.message) {
            (Family::Send, message) => {
                let before = match message {
                    None if begins(&op) => 0,
                    Some(Message::Send { received, .. }) if !begins(&op) => received,
                    _ => return false,
                };
                let least = u32::from(!begins(&op));
                let sizes = if ends(&op) { least..=mtu } else { mtu..=mtu };
                sizes.contains(&payload) && before + payload <= MESSAGE_MAX
            }
            (Family::Write, message) => {
                let left = match message {
                    None if begins(&op) && length <= MESSAGE_MAX && has(arrival, rights::REMOTE_WRITE) => {
                        length
                    }
                    Some(Message::Write { left, .. }) if !begins(&op) => left,
                    _ => return false,
                };
                if ends(&op) { payload == left && payload <= mtu } else { payload == mtu && left > mtu }
            }
            (Family::Read, None) => may_read(arrival),
            (Family::Atomic, None) => {
                payload == 0 && has(arrival, rights::REMOTE_ATOMIC) && number(arrival.va).is_multiple_of(8)
            }
            _ => false,
        }
    }

    /// A request that came before.
    fn repeat(&self, arrival: &Arrival, psn: Psn, errand: &mut Errand) {
        match family(&opcode_of(arrival)) {
            Family::Send | Family::Write => acknowledge(errand, self.expected.add(0xff_ffff), POSITIVE),
            Family::Read if may_read(arrival) && packets(arrival) <= self.expected.distance(psn) => {
                errand.answer = (Answer::Data as u64).into();
                errand.need = u64::from(rights::REMOTE_READ).into();
                (errand.va, errand.key, errand.span) = (arrival.va, arrival.rkey, arrival.len);
            }
            Family::Atomic => errand.atomic = (Atomic::Replay as u64).into(),
            _ => {}
        }
    }
}

/// A READ that keeps the rules, but for its place.
fn may_read(arrival: &Arrival) -> bool {
    short(arrival.len) <= MESSAGE_MAX && short(arrival.payload_len) == 0 && has(arrival, rights::REMOTE_READ)
}
