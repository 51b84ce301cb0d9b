//! The MMU, in plain Rust: what is asked for an errand, and what the answers are.

use stroma_verilate::SplitMix64;

use crate::state::access::{Cause, XlatRequest};
use crate::state::mmu::XlatResponse;
use crate::transport::place::CLIENT;
use crate::transport::records::{Atomic, Errand};

/// Bytes of a page.
pub(in crate::transport::place) const PAGE: u64 = 4096;
/// With this key a request that begins in an odd page is refused, for the cause in bits 24 to 26.
pub(in crate::transport::place) const REFUSED: u32 = 1 << 28;
/// With this key odd pages have no list.
pub(in crate::transport::place) const LISTLESS: u32 = 2 << 28;

/// What the MMU says.
pub(in crate::transport::place) fn translate(request: &XlatRequest) -> Vec<XlatResponse> {
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

/// The questions of an errand, or `None` if its range wraps.
pub(in crate::transport::place) fn questions(errand: &Errand) -> Option<Vec<XlatRequest>> {
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
        qpn: errand.qpn,
        va: va.into(),
        len: len.into(),
        need: errand.need,
    };
    let is_atomic = errand.atomic.index() != Atomic::None as usize;
    let first = match errand.places {
        _ if is_atomic => 8,
        true if errand.has_value => 8,
        true if len > 0 => len,
        _ => 1,
    };
    let mut all = vec![ask(va, first)];
    if span > first {
        all.push(ask(last, 1));
    }
    Some(all)
}
