//! What the check asks and says, in plain Rust.

use rust_hdl::prelude::Bits;
use stroma_abi::desc::region::rights;
use stroma_abi::desc::wqe::{BODY_AT, SECOND_AT, UNIT};
use stroma_abi::desc::{Sge, Status, WorkOp};
use stroma_abi::wire::RpcTarget;

use super::{CALL_MAX, LENGTH_MAX};
use crate::host::parse::Defect;
use crate::host::work::Work;
use crate::state::access::{Cause, XlatRequest};

/// The bytes of a unit.
pub type UnitBytes = [u8; UNIT];

/// What becomes of a work.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// With its status.
    pub work: Work,
    /// Its units go along.
    pub sends: bool,
    /// What is asked, in order.
    pub questions: Vec<XlatRequest>,
}

fn operation(work: &Work) -> Option<WorkOp> {
    u8::try_from(u64::from(work.opcode)).ok().and_then(WorkOp::from_code)
}

/// Do units follow behind this work?
#[must_use]
pub fn has_units(work: &Work) -> bool {
    !work.ends && work.status == 0 && !matches!(operation(work), Some(WorkOp::Nop | WorkOp::Invalidate))
}

/// Checks a work and its units; `judge` is the MMU, 0 or a [`Cause`].
///
/// # Panics
/// If the units do not hold the entries.
#[must_use]
pub fn check(work: &Work, units: &[UnitBytes], judge: impl Fn(&XlatRequest) -> u64) -> Outcome {
    let mut outcome = Outcome { work: *work, sends: has_units(work), questions: Vec::new() };
    let length = u64::from(work.length);
    let is_call = matches!(operation(work), Some(WorkOp::Rpc | WorkOp::RpcWrite));
    let response = if is_call { RpcTarget::from_address(work.remote.into()).response_max } else { 0 };
    if !outcome.sends || (length == 0 && response == 0) {
        return outcome;
    }
    let is_atomic = matches!(operation(work), Some(WorkOp::CmpSwap | WorkOp::FetchAdd));
    let bytes = units.concat();
    let body = &bytes[if is_atomic || is_call { SECOND_AT } else { BODY_AT }..];
    let count = if work.inline || length == 0 { 0 } else { work.sge_count.index() };
    let entries: Vec<Sge> =
        body.chunks(Sge::LEN).take(count).map(|entry| Sge::parse(entry).expect("a whole entry")).collect();
    assert_eq!(entries.len(), count, "the units hold the entries");

    let place = (u64::from(work.remote), u64::from(work.key), length);
    // Is the one place written; are the entries?
    let (place, fills_entries) = match operation(work) {
        Some(WorkOp::Gather) => (Some((place, true)), false),
        Some(WorkOp::Scatter) => (Some((place, false)), true),
        Some(WorkOp::Rpc | WorkOp::RpcWrite) => {
            let result = Sge::parse(&bytes[BODY_AT..]).expect("a whole entry");
            let place = (result.address, u64::from(result.local_key), u64::from(response));
            (Some((place, true)), false)
        }
        other => (None, is_atomic || other == Some(WorkOp::Read)),
    };
    let pieces = entries
        .iter()
        .map(|entry| ((entry.address, u64::from(entry.local_key), u64::from(entry.length)), fills_entries));
    let mut refusal = None;
    for ((first, key, length), writes) in place.into_iter().chain(pieces) {
        let Some(reach) = length.checked_sub(1) else { continue };
        let Some(last) = first.checked_add(reach) else {
            refusal = refusal.or(Some(Cause::Bounds as u64));
            continue;
        };
        let need = if writes { u64::from(rights::LOCAL_WRITE) } else { 0 };
        for va in if first == last { vec![first] } else { vec![first, last] } {
            let question = XlatRequest {
                key: key.into(),
                pd: work.pd,
                va: va.into(),
                len: 1_u64.into(),
                need: need.into(),
                ..XlatRequest::default()
            };
            refusal = refusal.or(Some(judge(&question)).filter(|cause| *cause != 0));
            outcome.questions.push(question);
        }
    }

    let sum: u64 = entries.iter().map(|entry| u64::from(entry.length)).sum();
    let (status, vendor) = match refusal {
        _ if !work.inline && sum != length => (Status::LocalQueuePair, Defect::Sum as u64),
        _ if length > if is_call { CALL_MAX } else { LENGTH_MAX } => (Status::LocalLength, 0),
        Some(cause) if cause == Cause::PageList as u64 => (Status::General, cause),
        Some(cause) => (Status::LocalProtection, cause),
        None => return outcome,
    };
    outcome.work.status = Bits::from(status as u64);
    outcome.work.vendor = vendor.into();
    outcome.sends = false;
    outcome
}
