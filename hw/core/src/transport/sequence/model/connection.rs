//! One queue pair's requests.

use std::collections::VecDeque;

use stroma_abi::Psn;
use stroma_abi::desc::region::rights;
use stroma_abi::desc::{Statistics, Status, WorkOp};
use stroma_abi::wire::{NakCode, Syndrome};

use super::call::{Invocation, may_begin};
use super::carry_out::complete;
use super::{
    Family, Outcome, View, begins, ends, ends_key, family, has, has_immediate, mtu, number, opcode_of,
    packets, short,
};
use crate::state::command::{KeyVerb, KeyWork};
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
    /// An RPC.
    Call(Invocation),
}

/// What has to be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opened {
    /// A READ or an atomic.
    Other,
    /// An RPC of which the last packet has not come.
    Stream,
    /// An RPC of which all has come.
    Call,
}

/// A SEND that waits for the end of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parting {
    /// Index of its receive.
    pub receive: u16,
    /// Its bytes.
    pub received: u32,
    /// The key.
    pub key: u32,
    /// It wakes its receiver.
    pub solicited: bool,
    /// Something new was thrown away since.
    pub owes: bool,
}

/// What is known of a queue pair's requests.
#[expect(clippy::struct_excessive_bools, reason = "they are true in any combination")]
#[derive(Clone, Debug)]
pub struct Connection {
    /// PSN of the next request.
    pub expected: Psn,
    /// Messages completed.
    pub msn: Psn,
    /// The message under way.
    pub message: Option<Message>,
    /// The receive of one that was broken off.
    pub held: Option<u16>,
    /// The SEND that waits for a key.
    pub parting: Option<Parting>,
    /// READs, atomics and RPCs carried out, or begun, modulo 32.
    pub resources: u8,
    /// Those that are not answered, oldest first, as far as is known.
    pub opened: VecDeque<Opened>,
    /// RPCs begun, modulo 16.
    pub calls: u8,
    /// Atomics among them, modulo 32.
    pub atomics: u8,
    /// A request was refused, or receives were recalled.
    pub failed: bool,
    /// Requests that are deferred.
    pub deferred: u8,
    /// The next one is among them.
    pub waits: bool,
    /// It waits for more than atomics.
    pub waits_long: bool,
    /// The peer was told to send again from there.
    pub gap_told: bool,
    /// The last request that was thrown away for it.
    last_early: Psn,
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
            held: None,
            parting: None,
            resources: 0,
            opened: VecDeque::new(),
            calls: 0,
            atomics: 0,
            failed: false,
            deferred: 0,
            waits: false,
            waits_long: false,
            gap_told: false,
            last_early: Psn::new(0),
            last_told: false,
        }
    }

    /// One more has to be answered.
    pub(super) fn open(&mut self, what: Opened) {
        self.resources = (self.resources + 1) % 32;
        self.opened.push_back(what);
    }

    pub(super) fn arrive(&mut self, arrival: &Arrival, view: &View) -> Outcome {
        let open = usize::from(self.resources.wrapping_sub(view.answered) % 32);
        self.opened.drain(..self.opened.len() - open);
        let unreliable = arrival.unreliable && number(arrival.occasion) == Occasion::Packet as u64;
        // It throws the payload away, until something better is known.
        let errand = Errand {
            ends: true,
            colour: arrival.colour,
            qpn: arrival.qpn,
            pd: arrival.pd,
            path_mtu: arrival.path_mtu,
            payload_len: arrival.payload_len,
            loads: arrival.again,
            slot: if arrival.again { arrival.slot } else { u64::from(view.place).into() },
            unreliable,
            begins: unreliable && begins(&opcode_of(arrival)),
            psn: arrival.psn,
            ..Errand::default()
        };
        let mut outcome = Outcome { errand, ..Outcome::default() };
        let psn = Psn::new(short(arrival.psn));
        let is_packet = number(arrival.occasion) == Occasion::Packet as u64;
        if is_packet && !self.failed && !arrival.raw && !arrival.unreliable && !psn.is_before(self.expected) {
            (outcome.stays, outcome.follows) = self.defer(arrival, view, psn);
            outcome.waits_for_call = outcome.stays
                && !outcome.follows
                && self.opened.contains(&Opened::Call)
                && self.is_wrong(arrival);
        }
        if !outcome.stays && arrival.again {
            self.deferred = self.deferred.saturating_sub(1);
            self.waits &= psn != self.expected;
        }
        if outcome.stays {
            outcome.errand.stores = !arrival.again;
            outcome.errand.loads = arrival.again;
            if arrival.again {
                outcome.errand.payload_len = 0_u64.into();
            }
        } else if number(arrival.occasion) == Occasion::Recall as u64 {
            self.recall(arrival, view, &mut outcome);
        } else if number(arrival.occasion) == Occasion::Parted as u64 {
            self.part(arrival, &mut outcome);
        } else if arrival.raw {
            self.frame(arrival, view, &mut outcome);
        } else if self.failed {
            outcome.unwanted = true;
        } else if arrival.unreliable {
            self.unanswered(arrival, view, &mut outcome);
        } else if let Some(parting) = &mut self.parting {
            outcome.duplicate = psn.is_before(self.expected);
            outcome.counted = outcome.duplicate.then_some(Statistics::DUPLICATE_REQUEST);
            outcome.early = !outcome.duplicate;
            parting.owes |= !outcome.duplicate;
            if outcome.early {
                self.last_early = psn;
            }
        } else if psn.is_before(self.expected) {
            outcome.duplicate = true;
            outcome.counted = Some(Statistics::DUPLICATE_REQUEST);
            if self.atomics == view.finished {
                self.repeat(arrival, psn, &mut outcome.errand);
            }
        } else if psn != self.expected {
            outcome.early = true;
            let goes_back = !self.last_early.is_before(psn);
            outcome.nak = !std::mem::replace(&mut self.gap_told, true) || goes_back;
            self.last_early = psn;
            outcome.counted = Some(Statistics::OUT_OF_SEQUENCE);
            if outcome.nak {
                acknowledge(&mut outcome.errand, self.expected, Syndrome::Nak(NakCode::PsnSequence));
            }
        } else {
            self.judge(arrival, view, &mut outcome);
        }
        outcome.errand.msn = u64::from(self.msn.value()).into();
        outcome
    }

    /// A raw frame, which has no number and is not answered.
    fn frame(&mut self, arrival: &Arrival, view: &View, outcome: &mut Outcome) {
        let receive = next_receive(view).filter(|_| !self.failed && self.keeps_rules(arrival));
        (outcome.takes, outcome.raw_taken) = (receive.is_some(), receive.is_some());
        outcome.raw_lost = receive.is_none();
        self.gap_told = false;
        if receive.is_some() {
            self.carry_out(arrival, view, receive, &mut outcome.errand);
            outcome.counted = Some(Statistics::RX_SEND_REQUESTS);
        }
    }

    /// A packet of an unreliable connection: it goes on with the message under way or begins another; else it is thrown away, with the message.
    fn unanswered(&mut self, arrival: &Arrival, view: &View, outcome: &mut Outcome) {
        let op = opcode_of(arrival);
        let psn = Psn::new(short(arrival.psn));
        let goes_on = !begins(&op) && psn == self.expected;
        outcome.counted = (!goes_on && !begins(&op)).then_some(Statistics::OUT_OF_SEQUENCE);
        let mut is_kept = goes_on && self.keeps_rules(arrival);
        let (mut taken, mut is_new) = (None, false);
        let needs_receive = match family(&op) {
            Family::Send => begins(&op),
            _ => has_immediate(&op),
        };
        let spare = self.held.or(match self.message {
            Some(Message::Send { receive, .. }) => Some(receive),
            _ => None,
        });
        if begins(&op) {
            // What is under way is over, whatever comes of this.
            (self.message, self.held) = (None, spare);
            is_kept = self.keeps_rules(arrival);
        }
        if is_kept && needs_receive {
            taken = spare.or(next_receive(view));
            is_new = spare.is_none() && taken.is_some();
            is_kept = taken.is_some();
            if !is_kept {
                outcome.counted = Some(Statistics::OUT_OF_BUFFER);
            }
        }
        if !is_kept {
            outcome.dropped = true;
            (self.message, self.held) = (None, spare);
            return;
        }
        if needs_receive {
            self.held = None;
        }
        outcome.takes = is_new;
        outcome.errand.is_awaited = true;
        self.expected = psn;
        self.carry_out(&Arrival { ackreq: false, ..*arrival }, view, taken, &mut outcome.errand);
        outcome.counted = match family(&op) {
            Family::Send => ends(&op).then_some(Statistics::RX_SEND_REQUESTS),
            _ => ends(&op).then_some(Statistics::RX_WRITE_REQUESTS),
        };
    }

    /// A receive is given up.
    fn recall(&mut self, arrival: &Arrival, view: &View, outcome: &mut Outcome) {
        self.failed = true;
        let begun = match self.message {
            Some(Message::Send { receive, .. }) => Some(receive),
            _ => self.held.take().or(self.parting.take().map(|parting| parting.receive)),
        };
        if matches!(self.message, Some(Message::Send { .. })) {
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

    /// A key has been judged.
    fn part(&mut self, arrival: &Arrival, outcome: &mut Outcome) {
        let Some(Parting { receive, received, key, solicited, owes }) = self.parting.take() else { return };
        let errand = &mut outcome.errand;
        let last = self.expected.add(0xff_ffff);
        if number(arrival.status) == 0 {
            let told = Arrival { solicited, imm: u64::from(key).into(), ..*arrival };
            complete(errand, &told, receive, WorkOp::SendInv, received, Status::Success);
            errand.counts = true;
            self.msn = self.msn.next();
            (outcome.nak, self.gap_told) = (owes, owes);
            if owes {
                acknowledge(errand, self.expected, Syndrome::Nak(NakCode::PsnSequence));
            } else {
                acknowledge(errand, last, POSITIVE);
            }
        } else {
            complete(errand, arrival, receive, WorkOp::SendInv, 0, Status::RemoteAccess);
            acknowledge(errand, last, Syndrome::Nak(NakCode::RemoteAccess));
            (errand.fails, errand.vendor) = (true, arrival.status);
            self.failed = true;
        }
    }

    /// Is the next request one that has to wait?
    fn must_wait(&self, arrival: &Arrival, view: &View) -> bool {
        let op = opcode_of(arrival);
        let is_wrong = self.is_wrong(arrival);
        let is_applying = self.atomics != view.finished;
        (is_applying && (is_wrong || family(&op) != Family::Atomic))
            || (is_wrong && self.opened.contains(&Opened::Call))
            || (!is_wrong && ends_key(&op) && (!self.opened.is_empty() || !view.part_room))
    }

    /// Does the next request break a rule?
    fn is_wrong(&self, arrival: &Arrival) -> bool {
        let op = opcode_of(arrival);
        let kind = family(&op);
        let takes_resource =
            matches!(kind, Family::Read | Family::Atomic) || (kind == Family::Call && begins(&op));
        let is_spent = takes_resource && self.opened.len() as u64 >= number(arrival.reads_in);
        !self.keeps_rules(arrival) || is_spent
    }

    /// Is a request, none that came before, deferred? And because another is?
    fn defer(&mut self, arrival: &Arrival, view: &View, psn: Psn) -> (bool, bool) {
        let is_next = psn == self.expected;
        let waits_long = self.parting.is_some() || self.atomics == view.finished;
        let is_due = is_next && (self.parting.is_some() || self.must_wait(arrival, view));
        let waits = is_due && (arrival.again || view.roomy || !waits_long);
        let follows = !waits
            && if arrival.again {
                !is_next && (self.waits || self.parting.is_some())
            } else if self.deferred > 0 {
                view.roomy || !self.waits_long
            } else {
                self.parting.is_some() && view.roomy
            };
        if waits {
            (self.waits, self.waits_long) = (true, waits_long);
            self.gap_told = false;
        }
        if !arrival.again && (waits || follows) {
            self.deferred += 1;
        }
        (waits || follows, follows)
    }

    /// The next request.
    fn judge(&mut self, arrival: &Arrival, view: &View, outcome: &mut Outcome) {
        let op = opcode_of(arrival);
        let kind = family(&op);
        let needs_receive =
            (kind == Family::Send && begins(&op)) || (kind == Family::Write && has_immediate(&op));
        let next = next_receive(view);
        self.gap_told = false;
        let is_wrong = self.is_wrong(arrival);
        outcome.waits_for_call = is_wrong && self.opened.contains(&Opened::Call);
        let no_room = kind == Family::Call && !is_wrong && self.lacks_room(arrival, view);
        if self.must_wait(arrival, view) {
            acknowledge(&mut outcome.errand, self.expected, Syndrome::Nak(NakCode::PsnSequence));
            (outcome.early, outcome.nak, self.gap_told) = (true, true, true);
            self.last_early = self.expected;
        } else if is_wrong {
            acknowledge(&mut outcome.errand, self.expected, Syndrome::Nak(NakCode::InvalidRequest));
            outcome.errand.status = (Status::RemoteInvalid as u64).into();
            (outcome.errand.fails, outcome.errand.is_awaited) = (true, true);
            (outcome.nak, self.failed) = (true, true);
        } else if (needs_receive && next.is_none()) || no_room {
            outcome.no_room = no_room;
            let timer = u8::try_from(number(arrival.min_rnr)).expect("a timer code has five bits");
            acknowledge(&mut outcome.errand, self.expected, Syndrome::RnrNak { timer });
            (outcome.rnr, self.gap_told) = (true, true);
            self.last_early = self.expected;
            outcome.counted = Some(Statistics::OUT_OF_BUFFER);
        } else {
            let receive = next.filter(|_| needs_receive);
            outcome.takes = receive.is_some();
            outcome.errand.is_awaited = true;
            outcome.reserves = self.carry_out(arrival, view, receive, &mut outcome.errand);
            outcome.counted = match kind {
                Family::Send => ends(&op).then_some(Statistics::RX_SEND_REQUESTS),
                Family::Write => ends(&op).then_some(Statistics::RX_WRITE_REQUESTS),
                Family::Read => Some(Statistics::RX_READ_REQUESTS),
                Family::Atomic => Some(Statistics::RX_ATOMIC_REQUESTS),
                Family::Call | Family::Unknown => None,
            };
            outcome.part = self.parting.map(|_| KeyWork {
                verb: (KeyVerb::Part as u64).into(),
                qpn: arrival.qpn,
                pd: arrival.pd,
                key: arrival.imm,
                ..KeyWork::default()
            });
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
            (Family::Call, message) => {
                let left = match message {
                    None if begins(&op) && may_begin(arrival, &op) => length,
                    Some(Message::Call(invocation)) if !begins(&op) => invocation.left,
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
        let op = opcode_of(arrival);
        match family(&op) {
            Family::Call if ends(&op) => self.call_again(errand),
            Family::Send | Family::Write | Family::Call => {
                acknowledge(errand, self.expected.add(0xff_ffff), POSITIVE);
            }
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
