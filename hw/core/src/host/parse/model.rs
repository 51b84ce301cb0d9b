//! What a job gives, in plain Rust.

use rust_hdl::prelude::Bits;
use stroma_abi::desc::queue_pair::QueuePairKind;
use stroma_abi::desc::sge::SGE_MAX;
use stroma_abi::desc::wqe::{BODY_AT, SECOND_AT, UNIT, UNITS_MAX};
use stroma_abi::desc::{Parameters, Sge, Status, WorkOp, WqeHead};
use stroma_abi::wire::RpcTarget;

use super::Defect;
use crate::host::work::{Job, Work};

/// The bytes of a unit.
pub type UnitBytes = [u8; UNIT];

/// What [`super::Parse`] makes of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// One a WQE, and the end.
    pub works: Vec<Work>,
    /// Those of the works to be carried out.
    pub units: Vec<UnitBytes>,
}

/// Parses the `units` of a job; `failed` if they could not be read.
///
/// # Panics
/// If there are not as many units as the job says.
#[must_use]
pub fn parse(job: &Job, units: &[UnitBytes], failed: bool) -> Outcome {
    assert_eq!(job.units.index(), units.len(), "a job has the units it says");
    let base = Work {
        qpn: job.qpn,
        cq: job.cq,
        pd: job.pd,
        path_mtu: job.path_mtu,
        send_psn: job.send_psn,
        reads_out: job.reads_out,
        timeout: job.timeout,
        drains: job.drains,
        ..Work::default()
    };
    let (mut works, mut sent, mut bytes) = (Vec::new(), Vec::new(), 0_u32);
    let mut at = 0;
    let index_of = |at: usize| Bits::from(u64::from(job.index).wrapping_add(at as u64) & 0xffff);
    if failed {
        let (status, vendor) = (code(Status::General as u64), code(Defect::Fetch as u64));
        works.push(Work { index: job.index, status, vendor, ..base });
        at = units.len();
    }
    while at < units.len() {
        let left = units.len() - at;
        let head = WqeHead::parse(&units[at]).expect("a unit is longer than a head");
        let (says, index) = (usize::from(head.units), index_of(at));
        let is_count = (1..=UNITS_MAX).contains(&says);
        if is_count && says > left && at > 0 {
            break;
        }
        let count = match says {
            _ if job.pushed => left,
            _ if !is_count => 1,
            _ => says.min(left),
        };
        let kind = u8::try_from(u64::from(job.kind)).ok().and_then(QueuePairKind::from_code);
        let defect =
            if index == u64::from(head.index) { defect(&head, count, kind) } else { Some(Defect::Index) };
        let op = WorkOp::from_code(head.opcode);
        let defect = defect.or_else(|| call_defect(&head, &units[at]));
        let mut work = Work {
            index,
            signaled: head.signaled,
            fence: head.fence,
            opcode: code(head.opcode),
            inline: head.inline || op == Some(WorkOp::Rpc),
            units: u64::from(head.units).into(),
            sge_count: if op == Some(WorkOp::Rpc) { 0 } else { entries(&head) as u64 }.into(),
            length: u64::from(if op == Some(WorkOp::Nop) { 0 } else { head.length }).into(),
            remote: head.remote.into(),
            key: u64::from(head.key).into(),
            ..base
        };
        at += count;
        if job.flush {
            work.status = code(Status::Flushed as u64);
        } else if let Some(defect) = defect {
            let is_length = matches!(defect, Defect::FrameLength | Defect::Response);
            let status = if is_length { Status::LocalLength } else { Status::LocalQueuePair };
            (work.status, work.vendor) = (code(status as u64), code(defect as u64));
            works.push(work);
            break;
        } else if !matches!(op, Some(WorkOp::Nop | WorkOp::Invalidate)) {
            bytes = bytes.saturating_add(head.length);
            sent.extend_from_slice(&units[at - count..at]);
        }
        works.push(work);
    }
    let length = u64::from(bytes).into();
    works.push(Work { ends: true, colour: job.colour, index: index_of(at), length, ..base });
    Outcome { works, units: sent }
}

fn code(value: impl Into<u64>) -> Bits<8> {
    value.into().into()
}

/// Scatter/gather entries of a WQE.
fn entries(head: &WqeHead) -> usize {
    match head.sge_count {
        _ if head.inline || head.opcode == WorkOp::Nop as u8 => 0,
        0 if head.length > 0 => SGE_MAX,
        count => count.into(),
    }
}

/// What is wrong with a head that has the right index and `count` units.
fn defect(head: &WqeHead, count: usize, kind: Option<QueuePairKind>) -> Option<Defect> {
    use WorkOp::{
        Bind, CmpSwap, FetchAdd, Gather, Invalidate, Nop, Read, Rpc, RpcWrite, Scatter, Send, SendImm,
        SendInv, Write, WriteImm,
    };
    if usize::from(head.units) != count || count > UNITS_MAX {
        return Some(Defect::Units);
    }
    let (is_reliable, is_raw) = (kind == Some(QueuePairKind::Reliable), kind == Some(QueuePairKind::Raw));
    let is_unreliable = kind == Some(QueuePairKind::Unreliable);
    let is_datagram = kind == Some(QueuePairKind::Datagram);
    let room = count * UNIT - BODY_AT;
    let fits = entries(head) * Sge::LEN <= room;
    let (inline_is_legal, is_list) = match WorkOp::from_code(head.opcode) {
        Some(Gather) => (true, fits),
        Some(Nop | Scatter) => (false, fits),
        Some(Send | SendImm | SendInv | Write | WriteImm) if is_reliable => (true, fits),
        Some(Send | SendImm | Write | WriteImm) if is_unreliable => (true, fits),
        Some(Send | SendImm) if is_datagram => (true, fits),
        Some(Send) if is_raw => (true, fits),
        Some(Read) if is_reliable => (false, fits),
        Some(CmpSwap | FetchAdd) if is_reliable => (false, entries(head) == 1 && head.length == 8),
        Some(Bind | Invalidate) if is_reliable => (false, head.sge_count == 0 && head.length == 0),
        Some(Rpc) if is_reliable => (false, entries(head) == 1),
        Some(RpcWrite) if is_reliable => (false, SECOND_AT + entries(head) * Sge::LEN <= count * UNIT),
        _ => return Some(Defect::OpCode),
    };
    let sizes = match WorkOp::from_code(head.opcode) {
        Some(Send) if is_raw => 14..=4096,
        Some(Send | SendImm) if is_datagram => 0..=4096,
        _ => 0..=u32::MAX,
    };
    if head.local || head.tx_kernel || (head.inline && !inline_is_legal) {
        Some(Defect::Flags)
    } else if head.inline && head.length as usize > room {
        Some(Defect::InlineLength)
    } else if !is_list {
        Some(Defect::SgeCount)
    } else if !sizes.contains(&head.length) {
        Some(Defect::FrameLength)
    } else {
        None
    }
}

/// What is wrong with an RPC that is right otherwise; `unit` is its first.
fn call_defect(head: &WqeHead, unit: &UnitBytes) -> Option<Defect> {
    let op = WorkOp::from_code(head.opcode)?;
    let target = RpcTarget::from_address(head.remote);
    let (parameters, length) = (usize::from(target.parameter_words) * 4, head.length as usize);
    let has_parameters = match op {
        WorkOp::Rpc => {
            let room = usize::from(head.units) * UNIT - SECOND_AT;
            parameters == length && length <= room && Parameters::new(&vec![0; length]).is_some()
        }
        WorkOp::RpcWrite => parameters <= length && Parameters::new(&vec![0; parameters]).is_some(),
        _ => return None,
    };
    let result = Sge::parse(&unit[BODY_AT..]).expect("the first unit holds the result's entry");
    if !has_parameters {
        Some(Defect::Parameters)
    } else if target.response_max > 65_536 || target.response_max > result.length {
        Some(Defect::Response)
    } else {
        None
    }
}
