//! What comes of errands, in plain Rust.

pub(super) mod memory;

use std::collections::BTreeMap;

use stroma_abi::desc::{Cqe, Event, Status};
use stroma_abi::wire::{NakCode, Syndrome};

use self::memory::{questions, translate};
use crate::fabric::records::{Call, Calling, NO_KERNEL, Passage};
use crate::host::work::{Done, EventRecord, QpError};
use crate::state::access::{Cause, XlatRequest};
use crate::state::mmu::XlatResponse;
use crate::transport::records::{AckedRow, Answer, Atomic, Errand, List, Operation, Task};

/// One arrival.
#[derive(Clone, Debug)]
pub(super) enum Visit {
    /// A payload for nobody, and its colour.
    Drop(Vec<u8>, bool),
    /// Errands of the peer's request, with their payload.
    Request(Vec<(Errand, Vec<u8>)>),
    /// Errands of the peer's answer.
    Response(Vec<(Errand, Vec<u8>)>),
}

/// Bytes for host memory.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Write {
    pub(super) iova: u64,
    pub(super) qpn: u64,
    pub(super) bytes: Vec<u8>,
}

/// How many of each there were.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Tally {
    pub(super) writes: usize,
    pub(super) feeds: usize,
    pub(super) tasks: usize,
    pub(super) calls: usize,
    pub(super) operations: usize,
    pub(super) errors: usize,
    pub(super) dones: usize,
    pub(super) events: usize,
    pub(super) acked: usize,
}

/// What comes of errands; each with what goes before it.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) questions: Vec<XlatRequest>,
    pub(super) writes: Vec<Write>,
    /// Packets for kernels.
    pub(super) feeds: Vec<(Passage, Vec<u8>)>,
    /// Their ticket is not known here: it covers the writes that go before.
    pub(super) tasks: Vec<(Task, Tally)>,
    /// What means nothing in them is zero.
    pub(super) calls: Vec<(Call, Tally)>,
    /// Their colour is not known here; of one that came again the address means nothing, and is 0.
    pub(super) operations: Vec<(Operation, Tally)>,
    pub(super) errors: Vec<(QpError, Tally)>,
    pub(super) dones: Vec<(Done, Tally)>,
    pub(super) events: Vec<(EventRecord, Tally)>,
    pub(super) acked: Vec<((u64, AckedRow), Tally)>,
    pub(super) kicks: Vec<(u64, Tally)>,
    pub(super) leaves: Vec<(bool, Tally)>,
    pub(super) refused: usize,
    pub(super) accepted: usize,
    pub(super) overtaken: usize,
    pub(super) lost: usize,
}

impl Outcome {
    fn tally(&self) -> Tally {
        Tally {
            writes: self.writes.len(),
            feeds: self.feeds.len(),
            tasks: self.tasks.len(),
            calls: self.calls.len(),
            operations: self.operations.len(),
            errors: self.errors.len(),
            dones: self.dones.len(),
            events: self.events.len(),
            acked: self.acked.len(),
        }
    }
}

/// What is to be told by the next completion of one side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    of_request: bool,
    status: u64,
    vendor: u64,
}

/// Which queue pairs have failed, with what has still to be told.
#[derive(Debug, Default)]
pub(super) struct Twin {
    /// Unreliable ones of which the message under way has, and how its completion tells.
    pub(super) spoiled: BTreeMap<u64, u64>,
    pub(super) failed: BTreeMap<u64, Option<Kept>>,
}

fn code(status: Status) -> u64 {
    u64::from(status as u8)
}

impl Twin {
    /// Carries out the errands of arrivals, one after the other.
    pub(super) fn run(&mut self, visits: &[Visit]) -> Outcome {
        let mut out = Outcome::default();
        for visit in visits {
            let (is_request, errands) = match visit {
                Visit::Drop(_, colour) => {
                    out.leaves.push((*colour, out.tally()));
                    continue;
                }
                Visit::Request(errands) => (true, errands),
                Visit::Response(errands) => (false, errands),
            };
            let mut news = None;
            let had_failed =
                errands.first().is_some_and(|(first, _)| self.failed.contains_key(&u64::from(first.qpn)));
            let mut is_lost = false;
            for (errand, bytes) in errands {
                is_lost |= self.errand(errand, bytes, is_request, &mut out);
                if errand.last_receive {
                    let kind = (Event::LastReceive as u64).into();
                    let event = EventRecord { kind, object: errand.qpn, ..EventRecord::default() };
                    out.events.push((event, out.tally()));
                }
                if errand.retires {
                    let failed = errand.status.any() || self.failed.contains_key(&u64::from(errand.qpn));
                    let row = AckedRow { tail: errand.tail, reads: errand.reads, failed };
                    news = Some(u64::from(errand.qpn));
                    out.acked.push(((u64::from(errand.qpn), row), out.tally()));
                }
                if errand.ends {
                    out.kicks.extend(news.map(|qpn| (qpn, out.tally())));
                    out.leaves.push((errand.colour, out.tally()));
                    out.accepted += usize::from(errand.is_awaited && !had_failed && !is_lost);
                    out.lost += usize::from(errand.is_awaited && is_lost);
                    out.overtaken += usize::from(errand.is_awaited && had_failed);
                }
            }
        }
        out
    }

    /// Is it lost with its message?
    fn errand(&mut self, errand: &Errand, bytes: &[u8], is_request: bool, out: &mut Outcome) -> bool {
        let qpn = u64::from(errand.qpn);
        let asked = questions(errand);
        out.questions.extend(asked.iter().flatten());
        let answers: Vec<XlatResponse> = asked.iter().flatten().flat_map(translate).collect();
        let causes = answers.iter().map(|answer| u64::from(answer.cause));
        let refusal = if asked.is_none() {
            Cause::Bounds as u64
        } else {
            causes.fold(0, |first, next| if first == 0 { next } else { first })
        };
        if errand.begins {
            self.spoiled.remove(&qpn);
        }
        let is_theirs = is_request && errand.list.index() == List::None as usize;
        let has_failed = self.failed.contains_key(&qpn);
        let has_list = errand.list.index() != List::None as usize;
        let is_short = errand.fails && has_list && u64::from(errand.status) == code(Status::LocalLength);
        let is_denied = is_theirs && refusal != 0;
        let is_spoiled = self.spoiled.contains_key(&qpn) && !errand.fails;
        if errand.unreliable && !has_failed && (is_short || is_denied || is_spoiled) {
            let status = code(if is_short { Status::LocalLength } else { Status::RemoteAccess });
            let status = *self.spoiled.entry(qpn).or_insert(status);
            if errand.completes {
                tell(errand, status, errand.vendor.into(), 0, out);
            }
            return true;
        }
        if let Some(kept) = self.failed.get(&qpn).copied() {
            if errand.completes || errand.retires {
                let told = kept.filter(|kept| kept.of_request == is_request);
                if told.is_some() {
                    self.failed.insert(qpn, None);
                }
                let (status, vendor) =
                    told.map_or((code(Status::Flushed), 0), |kept| (kept.status, kept.vendor));
                tell(errand, status, vendor, 0, out);
            }
            call(errand, true, out);
        } else if refusal != 0 {
            self.refuse(errand, is_request, refusal, out);
        } else {
            self.carry_out(errand, bytes, is_request, &answers, out);
        }
        false
    }

    fn refuse(&mut self, errand: &Errand, is_request: bool, cause: u64, out: &mut Outcome) {
        let is_page_list = cause == Cause::PageList as u64;
        let has_list = errand.list.index() != List::None as usize;
        if is_request && !errand.unreliable {
            out.refused += 1;
            let nak =
                if is_page_list || has_list { NakCode::RemoteOperational } else { NakCode::RemoteAccess };
            let msn = (u64::from(errand.msn) + (1 << 24) - u64::from(errand.counts)) % (1 << 24);
            let nak = Errand {
                answer: (Answer::Acknowledge as u64).into(),
                syndrome: u64::from(Syndrome::Nak(nak).encode()).into(),
                msn: msn.into(),
                ..*errand
            };
            answer(&nak, out);
        }
        if is_request && !has_list {
            let status = if is_page_list { Status::General } else { Status::RemoteAccess };
            fail(errand, code(status), true, out);
            self.failed.insert(errand.qpn.into(), None);
            if errand.completes {
                tell(errand, code(Status::Flushed), 0, 0, out);
            }
        } else {
            let status = code(if is_page_list { Status::General } else { Status::LocalProtection });
            fail(errand, status, false, out);
            self.keep_or_tell(errand, is_request, status, cause, out);
        }
    }

    /// The message that failed is over, or it is told later.
    fn keep_or_tell(
        &mut self,
        errand: &Errand,
        of_request: bool,
        status: u64,
        vendor: u64,
        out: &mut Outcome,
    ) {
        let is_over = errand.completes || errand.retires;
        let kept = (!is_over).then_some(Kept { of_request, status, vendor });
        self.failed.insert(errand.qpn.into(), kept);
        if is_over {
            tell(errand, status, vendor, 0, out);
        }
    }

    fn carry_out(
        &mut self,
        errand: &Errand,
        bytes: &[u8],
        is_request: bool,
        answers: &[XlatResponse],
        out: &mut Outcome,
    ) {
        let value = u64::from(errand.value).to_le_bytes();
        let mut rest = if errand.has_value { &value } else { bytes };
        let mut parts = answers.iter();
        while errand.places && !rest.is_empty() {
            let part = parts.next().expect("all bytes are allowed");
            let (now, later) = rest.split_at(part.len.index());
            out.writes.push(Write { iova: part.iova.into(), qpn: errand.qpn.into(), bytes: now.to_vec() });
            rest = later;
        }
        feed(errand, bytes, out);
        if errand.answer.index() != Answer::None as usize && !errand.unreliable {
            answer(errand, out);
        }
        call(errand, false, out);
        if errand.atomic.index() != Atomic::None as usize {
            order(errand, answers.first(), out);
        }
        let (status, vendor) = (u64::from(errand.status), u64::from(errand.vendor));
        let has_list = errand.list.index() != List::None as usize;
        if errand.fails {
            fail(errand, status, !errand.completes && !has_list, out);
            self.failed.insert(errand.qpn.into(), None);
        }
        if errand.fails && (has_list || errand.completes) {
            out.refused += usize::from(is_request && !errand.unreliable);
        }
        if errand.fails && has_list {
            self.keep_or_tell(errand, is_request, status, vendor, out);
        } else if errand.completes {
            tell(errand, status, vendor, errand.length.into(), out);
        }
    }
}

fn answer(errand: &Errand, out: &mut Outcome) {
    let task = Task {
        qpn: errand.qpn,
        pd: errand.pd,
        path_mtu: errand.path_mtu,
        answer: errand.answer,
        psn: errand.psn,
        msn: errand.msn,
        syndrome: errand.syndrome,
        va: errand.va,
        key: errand.key,
        length: errand.span,
        fresh: errand.fresh,
        ticket: 0.into(),
        place: errand.place,
        ..Task::default()
    };
    out.tasks.push((task, out.tally()));
}

/// What a packet of an RPC brings goes to its kernel, if it has one.
fn feed(errand: &Errand, bytes: &[u8], out: &mut Outcome) {
    let begins = errand.call.index() == Calling::Begins as usize;
    let is_fresh = begins || errand.call.index() == Calling::GoesOn as usize;
    if is_fresh && errand.kernel.index() != usize::from(NO_KERNEL) && !bytes.is_empty() {
        out.feeds.push((Passage { kernel: errand.kernel, qpn: errand.qpn, begins }, bytes.to_vec()));
    }
}

fn call(errand: &Errand, gives_up: bool, out: &mut Outcome) {
    if errand.call.index() == Calling::None as usize {
        return;
    }
    let call = Call {
        calling: errand.call,
        ends: errand.call_ends,
        gives_up,
        qpn: errand.qpn,
        pd: errand.pd,
        path_mtu: errand.path_mtu,
        kernel: errand.kernel,
        refusal: errand.refusal,
        place: errand.place,
        target: errand.va,
        key: errand.key,
        rights: errand.need,
        length: errand.length,
        psn: errand.psn,
        reserved: errand.reserved,
        msn: errand.msn,
        ticket: 0.into(),
    };
    out.calls.push((meaning(&call), out.tally()));
}

/// The call without what means nothing.
pub(super) fn meaning(call: &Call) -> Call {
    if !call.gives_up {
        return *call;
    }
    Call { target: 0.into(), key: 0.into(), rights: 0.into(), length: 0.into(), ..*call }
}

fn order(errand: &Errand, word: Option<&XlatResponse>, out: &mut Outcome) {
    let operation = Operation {
        qpn: errand.qpn,
        pd: errand.pd,
        path_mtu: errand.path_mtu,
        atomic: errand.atomic,
        iova: word.map_or(0.into(), |word| word.iova),
        value: errand.value,
        compare: errand.compare,
        slot: errand.place,
        psn: errand.psn,
        msn: errand.msn,
        colour: false,
    };
    out.operations.push((operation, out.tally()));
}

fn fail(errand: &Errand, status: u64, untold: bool, out: &mut Outcome) {
    out.errors.push((QpError { qpn: errand.qpn, status: status.into(), untold }, out.tally()));
}

fn tell(errand: &Errand, status: u64, vendor: u64, length: u64, out: &mut Outcome) {
    let has_grh = errand.flags.get_bit(Cqe::HAS_GRH.bit);
    let done = Done {
        cq: errand.cq,
        qpn: errand.qpn,
        index: errand.index,
        opcode: errand.opcode,
        status: status.into(),
        vendor: vendor.into(),
        length: length.into(),
        detail: errand.detail,
        flags: errand.flags,
        source_qp: if has_grh { u64::from(errand.value) & 0xff_ffff } else { 0 }.into(),
    };
    out.dones.push((done, out.tally()));
}
