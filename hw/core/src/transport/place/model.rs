//! What comes of errands, in plain Rust.

use std::collections::BTreeMap;

use stroma_abi::desc::Status;
use stroma_abi::wire::{NakCode, Syndrome};
use stroma_verilate::SplitMix64;

use super::CLIENT;
use crate::host::work::{Done, QpError};
use crate::state::access::{Cause, XlatRequest};
use crate::state::mmu::XlatResponse;
use crate::transport::records::{AckedRow, Answer, Errand, Task};

/// Bytes of a page.
pub(super) const PAGE: u64 = 4096;
/// With this key a request that begins in an odd page is refused, for the cause in bits 24 to 26.
pub(super) const REFUSED: u32 = 1 << 28;
/// With this key odd pages have no list.
pub(super) const LISTLESS: u32 = 2 << 28;

/// What the MMU says.
pub(super) fn translate(request: &XlatRequest) -> Vec<XlatResponse> {
    let (key, va, len) = (u64::from(request.key), u64::from(request.va), u64::from(request.len));
    let plain = XlatResponse { client: request.client, tag: request.tag, ..XlatResponse::default() };
    let is_odd = |va: u64| va / PAGE % 2 == 1;
    if key & u64::from(REFUSED) != 0 && is_odd(va) {
        return vec![XlatResponse { cause: (key >> 24 & 7).into(), ..plain }];
    }
    let part = |va: u64, len: u64, more: bool| {
        if key & u64::from(LISTLESS) != 0 && is_odd(va) {
            return XlatResponse { cause: (Cause::PageList as u64).into(), more, ..plain };
        }
        let iova = (SplitMix64::at(key, va / PAGE) & !(PAGE - 1)) + va % PAGE;
        XlatResponse { ok: true, iova: iova.into(), len: len.into(), more, ..plain }
    };
    let room = PAGE - va % PAGE;
    if len > room {
        vec![part(va, room, true), part(va + room, len - room, false)]
    } else {
        vec![part(va, len, false)]
    }
}

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
    pub(super) tasks: usize,
    pub(super) errors: usize,
    pub(super) dones: usize,
    pub(super) acked: usize,
}

/// What comes of errands; each with what goes before it.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) questions: Vec<XlatRequest>,
    pub(super) writes: Vec<Write>,
    /// Their ticket is not known here: it covers the writes that go before.
    pub(super) tasks: Vec<(Task, Tally)>,
    pub(super) errors: Vec<(QpError, Tally)>,
    pub(super) dones: Vec<(Done, Tally)>,
    pub(super) acked: Vec<((u64, AckedRow), Tally)>,
    pub(super) kicks: Vec<(u64, Tally)>,
    pub(super) leaves: Vec<(bool, Tally)>,
    pub(super) refused: usize,
}

impl Outcome {
    fn tally(&self) -> Tally {
        Tally {
            writes: self.writes.len(),
            tasks: self.tasks.len(),
            errors: self.errors.len(),
            dones: self.dones.len(),
            acked: self.acked.len(),
        }
    }
}

/// Which queue pairs have failed, with what has still to be told.
#[derive(Debug, Default)]
pub(super) struct Twin {
    pub(super) failed: BTreeMap<u64, Option<u64>>,
}

/// The questions of an errand, or `None` if its range wraps.
pub(super) fn questions(errand: &Errand) -> Option<Vec<XlatRequest>> {
    let (va, span, len) = (u64::from(errand.va), u64::from(errand.span), u64::from(errand.payload_len));
    if span == 0 {
        return Some(Vec::new());
    }
    let last = va.checked_add(span - 1)?;
    let ask = |va: u64, len: u64| XlatRequest {
        client: u64::from(CLIENT).into(),
        tag: 0.into(),
        key: errand.key,
        pd: errand.pd,
        va: va.into(),
        len: len.into(),
        need: errand.need,
    };
    let first = if errand.places && len > 0 { len } else { 1 };
    let mut all = vec![ask(va, first)];
    if span > first {
        all.push(ask(last, 1));
    }
    Some(all)
}

/// Status and vendor code of what was refused here.
fn local(cause: u64) -> (Status, u64) {
    (if cause == Cause::PageList as u64 { Status::General } else { Status::LocalProtection }, cause)
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
            for (errand, bytes) in errands {
                self.errand(errand, bytes, is_request, &mut out);
                if errand.retires {
                    let row = AckedRow { tail: errand.tail, reads: errand.reads };
                    news = Some(u64::from(errand.qpn));
                    out.acked.push(((u64::from(errand.qpn), row), out.tally()));
                }
                if errand.ends {
                    out.kicks.extend(news.map(|qpn| (qpn, out.tally())));
                    out.leaves.push((errand.colour, out.tally()));
                }
            }
        }
        out
    }

    fn errand(&mut self, errand: &Errand, bytes: &[u8], is_request: bool, out: &mut Outcome) {
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
        let tells = errand.completes || errand.retires;

        if let Some(due) = self.failed.get(&qpn).copied() {
            if tells {
                let (status, vendor) = due.map_or((Status::Flushed, 0), local);
                self.failed.insert(qpn, None);
                tell(errand, code(status), vendor, 0, out);
            }
        } else if refusal != 0 && is_request {
            let is_list = refusal == Cause::PageList as u64;
            let (nak, status) = if is_list {
                (NakCode::RemoteOperational, Status::General)
            } else {
                (NakCode::RemoteAccess, Status::RemoteAccess)
            };
            out.refused += 1;
            let msn = (u64::from(errand.msn) + (1 << 24) - u64::from(errand.counts)) % (1 << 24);
            let nak = Errand {
                answer: (Answer::Acknowledge as u64).into(),
                syndrome: u64::from(Syndrome::Nak(nak).encode()).into(),
                msn: msn.into(),
                ..*errand
            };
            answer(&nak, out);
            fail(errand, code(status), true, out);
            self.failed.insert(qpn, None);
        } else if refusal != 0 {
            let (status, vendor) = local(refusal);
            fail(errand, code(status), false, out);
            self.failed.insert(qpn, if tells { None } else { Some(refusal) });
            if tells {
                tell(errand, code(status), vendor, 0, out);
            }
        } else {
            if errand.places && !bytes.is_empty() {
                let mut rest = bytes;
                for part in translate(&asked.expect("it does not wrap")[0]) {
                    let (now, later) = rest.split_at(part.len.index());
                    out.writes.push(Write { iova: part.iova.into(), qpn, bytes: now.to_vec() });
                    rest = later;
                }
            }
            if errand.answer.index() != Answer::None as usize {
                answer(errand, out);
            }
            if errand.fails {
                fail(errand, errand.status.into(), !errand.completes, out);
                self.failed.insert(qpn, None);
            }
            if errand.completes {
                tell(errand, errand.status.into(), errand.vendor.into(), errand.length.into(), out);
            }
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
    };
    out.tasks.push((task, out.tally()));
}

fn fail(errand: &Errand, status: u64, untold: bool, out: &mut Outcome) {
    out.errors.push((QpError { qpn: errand.qpn, status: status.into(), untold }, out.tally()));
}

fn tell(errand: &Errand, status: u64, vendor: u64, length: u64, out: &mut Outcome) {
    let done = Done {
        cq: errand.cq,
        qpn: errand.qpn,
        index: errand.index,
        opcode: errand.opcode,
        status: status.into(),
        vendor: vendor.into(),
        length: length.into(),
        ..Done::default()
    };
    out.dones.push((done, out.tally()));
}
