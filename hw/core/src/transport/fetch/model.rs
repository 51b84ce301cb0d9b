//! Fetch in plain Rust: what is asked for, and what becomes of a packet.

use stroma_abi::desc::Status;
use stroma_verilate::SplitMix64;

use super::CLIENT;
use crate::state::access::{Cause, XlatRequest};
use crate::state::mmu::XlatResponse;
use crate::transport::records::{TxFailure, TxPacket, TxStep};

/// Questions under keys with this bit are refused, one in four.
pub(crate) const REFUSED: u32 = 1 << 31;
/// Keys with this bit have pages whose place cannot be found, one in four.
pub(crate) const LISTLESS: u32 = 1 << 30;
/// Keys with this bit have pages that cannot be read, one in four.
pub(crate) const BROKEN: u32 = 1 << 29;
/// No answer goes beyond one of these.
pub(crate) const PAGE: u64 = 4096;

/// A packet to be sent, and the bytes that come inline.
#[derive(Clone, Debug)]
pub(super) struct Packet {
    pub(super) steps: Vec<TxStep>,
    pub(super) inline: Vec<u8>,
}

/// What becomes of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Fate {
    Sent(Box<TxPacket>, Vec<u8>),
    Failed(TxFailure),
}

/// The byte at an address of the host.
pub(crate) fn byte(iova: u64) -> u8 {
    SplitMix64::at(2, iova).to_le_bytes()[0]
}

/// Can the page of this address not be read?
pub(crate) fn is_broken(iova: u64) -> bool {
    iova >> 63 == 1 && SplitMix64::at(1, iova / PAGE).is_multiple_of(4)
}

/// The question that a step asks.
pub(super) fn question(step: &TxStep) -> Option<XlatRequest> {
    (!step.inline && step.bytes.any()).then(|| XlatRequest {
        client: u64::from(CLIENT).into(),
        tag: 0.into(),
        key: step.key,
        pd: step.pd,
        qpn: step.qpn,
        va: step.address,
        len: step.bytes,
        need: step.need,
    })
}

/// What the MMU says to a question: one answer, or one for each page.
pub(crate) fn answers(request: &XlatRequest) -> Vec<XlatResponse> {
    let (key, va, len) = (u64::from(request.key), u64::from(request.va), u64::from(request.len));
    let answer = |cause: u64, iova: u64, len: u64, more| XlatResponse {
        client: request.client,
        tag: request.tag,
        ok: cause == 0,
        cause: cause.into(),
        iova: iova.into(),
        len: len.into(),
        more,
    };
    let has = |bit: u32| key & u64::from(bit) != 0;
    let chance = SplitMix64::at(key, va);
    if has(REFUSED) && chance.is_multiple_of(4) {
        return vec![answer(1 + chance / 4 % 4, 0, 0, false)];
    }
    let page = |va: u64, len: u64, more| {
        let chance = SplitMix64::at(key, va / PAGE);
        if has(LISTLESS) && chance.is_multiple_of(4) {
            return answer(Cause::PageList as u64, 0, 0, more);
        }
        let broken = u64::from(has(BROKEN)) << 63;
        answer(0, broken | chance << 13 >> 1 | (va % PAGE), len, more)
    };
    let first = len.min(PAGE - va % PAGE);
    let mut answers = vec![page(va, first, first < len)];
    answers.extend((first < len).then(|| page(va + first, len - first, false)));
    answers
}

/// The bytes that an answer leads to, or status and vendor code of its failure.
fn fetch(answer: &XlatResponse) -> Result<Vec<u8>, (Status, u64)> {
    let (iova, cause) = (u64::from(answer.iova), u64::from(answer.cause));
    if cause == Cause::PageList as u64 {
        Err((Status::General, cause))
    } else if !answer.ok {
        Err((Status::LocalProtection, cause))
    } else if is_broken(iova) {
        Err((Status::General, 0))
    } else {
        Ok((iova..iova + u64::from(answer.len)).map(byte).collect())
    }
}

/// What becomes of a packet.
pub(super) fn fate(packet: &Packet) -> Fate {
    let head = packet.steps[0];
    let pieces = packet.steps.iter().filter_map(question).flat_map(|question| answers(&question));
    let bytes: Result<Vec<_>, _> = pieces.map(|answer| fetch(&answer)).collect();
    match bytes {
        Ok(bytes) => {
            let sent = TxPacket {
                qpn: head.qpn,
                op: head.op,
                psn: head.psn,
                ackreq: head.ackreq,
                solicited: head.solicited,
                va: head.va,
                rkey: head.rkey,
                len: head.len,
                aeth: head.aeth,
                imm: head.imm,
                a1: head.a1,
                a2: head.a2,
                payload_len: head.payload_len,
                slot: head.slot,
                again: head.again,
            };
            // Tests put inline bytes into packets of one step, so that no order is to be kept.
            let bytes = if packet.inline.is_empty() { bytes.concat() } else { packet.inline.clone() };
            assert_eq!(bytes.len(), head.payload_len.index(), "a test's steps give what they say");
            Fate::Sent(Box::new(sent), bytes)
        }
        Err((status, vendor)) => Fate::Failed(TxFailure {
            is_response: head.is_response,
            qpn: head.qpn,
            psn: head.psn,
            slot: head.slot,
            status: (status as u64).into(),
            vendor: vendor.into(),
        }),
    }
}
