//! A queue pair, and what is to be read from its work.

use std::collections::BTreeMap;

use num_bigint::BigUint;
use rust_hdl::prelude::Bits;
use stroma_abi::desc::wqe::BODY_AT;
use stroma_abi::desc::{Sge, WorkOp};

use crate::host::work::Work;
use crate::transport::records::Sent;

/// A queue pair's sending.
#[derive(Clone, Debug, Default)]
pub struct Queue {
    /// Something was admitted.
    pub started: bool,
    /// A request was overwritten under way.
    pub halted: bool,
    /// Flushed.
    pub stopped: bool,
    /// The cursor.
    pub index: u16,
    /// Packets sent of the message there.
    pub sent: u64,
    /// Its next PSN.
    pub psn: u64,
    /// Its number.
    pub slot: u64,
    /// Messages ever.
    pub head: u64,
    /// PSN behind the last one sent.
    pub frontier: u64,
    /// Index behind all that was admitted.
    pub head_index: u16,
    /// READs ever.
    pub reads: u64,
    /// The newest local work.
    pub local_ticket: u64,
    /// What was sent, by number: its first PSN, and its entry.
    pub messages: BTreeMap<u64, (u64, Sent)>,
}

pub(super) fn op(work: &Work) -> Option<WorkOp> {
    u8::try_from(u64::from(work.opcode)).ok().and_then(WorkOp::from_code)
}

/// Do units follow behind this work?
#[must_use]
pub fn has_units(work: &Work) -> bool {
    let moves = matches!(op(work), Some(WorkOp::Gather | WorkOp::Scatter | WorkOp::Write | WorkOp::Read));
    !work.ends && u64::from(work.status) == 0 && moves
}

/// Packets of a message.
#[must_use]
pub fn packets(work: &Work) -> u64 {
    u64::from(work.length).div_ceil(128 << u64::from(work.path_mtu)).max(1)
}

/// The number that ends in these bits and is at most `bits` bits back.
#[must_use]
pub fn back_from(newest: u64, low: u64, bits: u32) -> u64 {
    newest.wrapping_sub(newest.wrapping_sub(low) & ((1 << bits) - 1))
}

pub(super) fn psn(value: u64) -> Bits<24> {
    (value & 0xff_ffff).into()
}

pub(super) fn slot(value: u64) -> Bits<6> {
    (value % 64).into()
}

/// The low bits of an index.
pub(super) fn low(index: u64) -> u16 {
    u16::try_from(index & 0xffff).unwrap_or_default()
}

pub(super) fn work_index(work: &Work) -> u16 {
    low(work.index.into())
}

pub(super) fn units(work: &Work) -> u16 {
    low(work.units.into())
}

pub(super) fn entry(queue: &Queue, work: &Work, first: Option<&Bits<512>>) -> Sent {
    let mut bytes = BigUint::from(*first.expect("a request has units")).to_bytes_le();
    bytes.resize(BODY_AT + Sge::LEN + 16, 0);
    let sge = Sge::parse(&bytes[BODY_AT..BODY_AT + Sge::LEN]).expect("a whole entry");
    Sent {
        psn: psn(queue.psn),
        packets: packets(work).into(),
        index: work.index,
        opcode: work.opcode,
        signaled: work.signaled,
        length: work.length,
        address: sge.address.into(),
        key: u64::from(sge.local_key).into(),
    }
}
