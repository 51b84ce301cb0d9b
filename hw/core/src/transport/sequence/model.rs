//! The responder's order in plain Rust.

use std::collections::BTreeMap;

use num_bigint::BigUint;
use rust_hdl::prelude::Bits;
use stroma_abi::Psn;
use stroma_abi::desc::Status;
use stroma_abi::desc::region::rights;
use stroma_abi::wire::{NakCode, Opcode, Position, Syndrome, opcode};

use super::commission::POSITIVE;
use super::measure::MESSAGE_MAX;
use crate::host::work::QpChange;
use crate::transport::records::{Answer, Arrival, Errand};

/// The rest of a WRITE that has begun.
#[derive(Clone, Copy, Debug)]
pub struct Rest {
    /// Where it goes.
    pub va: u64,
    /// Its key.
    pub key: u32,
    /// Its bytes.
    pub bytes: u32,
}

/// What is known of a queue pair's requests.
#[derive(Clone, Debug)]
pub struct Connection {
    /// PSN of the next request.
    pub expected: Psn,
    /// Messages completed.
    pub msn: Psn,
    /// The message under way.
    pub message: Option<Rest>,
    /// A request was refused.
    pub failed: bool,
    gap_told: bool,
}

/// Every queue pair that has had a request.
#[derive(Clone, Debug, Default)]
pub struct Responder {
    /// By number.
    pub connections: BTreeMap<u64, Connection>,
}

/// What comes of an arrival.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// What has to be done.
    pub errand: Errand,
    /// It came again.
    pub duplicate: bool,
    /// The answer is negative.
    pub nak: bool,
}

fn number<const N: usize>(bits: Bits<N>) -> u64 {
    u64::try_from(BigUint::from(bits)).expect("no field is wider than 64 bits")
}

fn short<const N: usize>(bits: Bits<N>) -> u32 {
    u32::try_from(number(bits)).expect("the field is not wider than 32 bits")
}

fn has(arrival: &Arrival, right: u8) -> bool {
    number(arrival.rights) & u64::from(right) != 0
}

/// Bytes of a packet that is full.
#[must_use]
pub fn mtu(arrival: &Arrival) -> u32 {
    128 << number(arrival.path_mtu)
}

/// PSNs that a READ takes.
#[must_use]
pub fn packets(arrival: &Arrival) -> u32 {
    short(arrival.len).div_ceil(mtu(arrival)).max(1)
}

impl Responder {
    /// A row has changed.
    pub fn change(&mut self, change: &QpChange) {
        if change.resets {
            self.connections.remove(&number(change.qpn));
        }
    }

    /// A request has come.
    pub fn arrive(&mut self, arrival: &Arrival) -> Outcome {
        let fresh = || Connection {
            expected: Psn::new(short(arrival.receive_psn)),
            msn: Psn::new(0),
            message: None,
            failed: false,
            gap_told: false,
        };
        self.connections.entry(number(arrival.qpn)).or_insert_with(fresh).arrive(arrival)
    }
}

fn acknowledge(errand: &mut Errand, psn: Psn, syndrome: Syndrome) {
    errand.answer = (Answer::Acknowledge as u64).into();
    errand.psn = u64::from(psn.value()).into();
    errand.syndrome = u64::from(syndrome.encode()).into();
}

impl Connection {
    fn arrive(&mut self, arrival: &Arrival) -> Outcome {
        let mut errand = self.nothing(arrival);
        let psn = Psn::new(short(arrival.psn));
        let (mut duplicate, mut nak) = (false, false);
        if self.failed {
        } else if psn.is_before(self.expected) {
            duplicate = true;
            self.repeat(arrival, psn, &mut errand);
        } else if psn != self.expected {
            nak = !std::mem::replace(&mut self.gap_told, true);
            if nak {
                acknowledge(&mut errand, self.expected, Syndrome::Nak(NakCode::PsnSequence));
            }
        } else {
            self.gap_told = false;
            nak = self.execute(arrival, &mut errand).is_none();
            if nak {
                acknowledge(&mut errand, psn, Syndrome::Nak(NakCode::InvalidRequest));
                (self.failed, errand.fails) = (true, true);
                errand.status = (Status::RemoteInvalid as u64).into();
            }
        }
        errand.msn = u64::from(self.msn.value()).into();
        Outcome { errand, duplicate, nak }
    }

    /// An errand that throws the payload away; the range is the one that the packet speaks of, and nothing is asked.
    fn nothing(&self, arrival: &Arrival) -> Errand {
        let op = opcode_of(arrival);
        let goes_on = op == opcode::RC_WRITE_MIDDLE || op == opcode::RC_WRITE_LAST;
        let writes = goes_on || op == opcode::RC_WRITE_FIRST || op == opcode::RC_WRITE_ONLY;
        let need = if writes { rights::REMOTE_WRITE } else { rights::REMOTE_READ };
        let mut errand = Errand {
            ends: true,
            colour: arrival.colour,
            qpn: arrival.qpn,
            pd: arrival.pd,
            path_mtu: arrival.path_mtu,
            payload_len: arrival.payload_len,
            va: arrival.va,
            key: arrival.rkey,
            need: u64::from(need).into(),
            psn: arrival.psn,
            syndrome: u64::from(POSITIVE.encode()).into(),
            ..Errand::default()
        };
        if goes_on {
            let rest = self.message.unwrap_or(Rest { va: 0, key: 0, bytes: 0 });
            (errand.va, errand.key) = (rest.va.into(), u64::from(rest.key).into());
        }
        errand
    }

    /// The next request; `None` when it breaks a rule.
    fn execute(&mut self, arrival: &Arrival, errand: &mut Errand) -> Option<()> {
        let op = opcode_of(arrival);
        let (length, payload) = (short(arrival.len), short(arrival.payload_len));
        let may_begin = self.message.is_none() && length <= MESSAGE_MAX;
        if op == opcode::RC_READ_REQUEST {
            if !may_begin || !has(arrival, rights::REMOTE_READ) || payload != 0 {
                return None;
            }
            self.expected = self.expected.add(packets(arrival));
            self.msn = self.msn.next();
            errand.answer = (Answer::Data as u64).into();
            (errand.span, errand.fresh, errand.counts) = (arrival.len, true, true);
            return Some(());
        }
        let begins = op == opcode::RC_WRITE_FIRST || op == opcode::RC_WRITE_ONLY;
        let mut rest = if begins {
            let rest = Rest { va: number(arrival.va), key: short(arrival.rkey), bytes: length };
            Some(rest).filter(|_| may_begin && has(arrival, rights::REMOTE_WRITE))?
        } else if op == opcode::RC_WRITE_MIDDLE || op == opcode::RC_WRITE_LAST {
            self.message?
        } else {
            return None;
        };
        let more = matches!(op.position, Position::First | Position::Middle);
        let fits = if more {
            payload == mtu(arrival) && rest.bytes > payload
        } else {
            payload == rest.bytes && payload <= mtu(arrival)
        };
        if !fits {
            return None;
        }
        errand.places = payload > 0;
        errand.span = u64::from(if begins { length } else { payload }).into();
        rest.va = rest.va.wrapping_add(payload.into());
        rest.bytes -= payload;
        self.message = more.then_some(rest);
        self.expected = self.expected.next();
        if !more {
            self.msn = self.msn.next();
            errand.counts = true;
        }
        if arrival.ackreq {
            acknowledge(errand, Psn::new(short(arrival.psn)), POSITIVE);
        }
        Some(())
    }

    /// A request that came before.
    fn repeat(&self, arrival: &Arrival, psn: Psn, errand: &mut Errand) {
        let op = opcode_of(arrival);
        let writes =
            [opcode::RC_WRITE_FIRST, opcode::RC_WRITE_MIDDLE, opcode::RC_WRITE_LAST, opcode::RC_WRITE_ONLY];
        let is_legal = short(arrival.len) <= MESSAGE_MAX
            && short(arrival.payload_len) == 0
            && has(arrival, rights::REMOTE_READ);
        if writes.contains(&op) {
            acknowledge(errand, self.expected.add(0xff_ffff), POSITIVE);
        } else if op == opcode::RC_READ_REQUEST && is_legal && packets(arrival) <= self.expected.distance(psn)
        {
            errand.answer = (Answer::Data as u64).into();
            errand.span = arrival.len;
        }
    }
}

fn opcode_of(arrival: &Arrival) -> Opcode {
    let code = u8::try_from(number(arrival.op)).expect("an op-code has eight bits");
    *Opcode::lookup(code).expect("an arrival has an op-code of the table")
}
