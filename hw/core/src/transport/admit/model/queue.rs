//! A queue pair, and what is to be read from its work.

use std::collections::BTreeMap;

use num_bigint::BigUint;
use rust_hdl::prelude::Bits;
use stroma_abi::desc::wqe::{BODY_AT, SECOND_AT, UNIT};
use stroma_abi::desc::{AtomicOperands, Sge, WindowBind, WorkOp, WqeHead};
use stroma_abi::wire::RpcTarget;

use crate::host::work::Work;
use crate::state::command::KeyVerb;
use crate::transport::records::{KeyJob, Sent};

/// A queue pair's sending.
#[expect(clippy::struct_excessive_bools, reason = "each is a bit of the row")]
#[derive(Clone, Debug, Default)]
pub struct Queue {
    /// Something was admitted.
    pub started: bool,
    /// A request was overwritten under way, or has failed.
    pub halted: bool,
    /// Flushed.
    pub stopped: bool,
    /// Its peer is not ready.
    pub held: bool,
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
    /// READs and atomics ever.
    pub reads: u64,
    /// The newest local work.
    pub local_ticket: u64,
    /// Works on keys, ever.
    pub keys: u64,
    /// Rewinds that discarded, ever, whoever had this number.
    pub epoch: u64,
    /// What was sent, by number: its first PSN, and its entry.
    pub messages: BTreeMap<u64, (u64, Sent)>,
}

impl Queue {
    /// Does it send no more?
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stopped || self.halted
    }

    /// Its epoch, as it is told.
    #[must_use]
    pub fn told_epoch(&self) -> u64 {
        self.epoch % 16
    }
}

pub(super) fn op(work: &Work) -> Option<WorkOp> {
    u8::try_from(u64::from(work.opcode)).ok().and_then(WorkOp::from_code)
}

/// Is it an atomic?
#[must_use]
pub fn is_atomic(work: &Work) -> bool {
    matches!(op(work), Some(WorkOp::CmpSwap | WorkOp::FetchAdd))
}

/// Does it ask for data?
#[must_use]
pub fn asks(work: &Work) -> bool {
    op(work) == Some(WorkOp::Read) || is_atomic(work) || is_call(work)
}

/// Does it run a kernel?
#[must_use]
pub fn is_call(work: &Work) -> bool {
    matches!(op(work), Some(WorkOp::Rpc | WorkOp::RpcWrite))
}

/// PSNs of an RPC's answer; none of others.
#[must_use]
pub fn answers(work: &Work) -> u64 {
    let longest = RpcTarget::from_address(work.remote.into()).response_max;
    if is_call(work) { u64::from(longest).div_ceil(128 << u64::from(work.path_mtu)).max(1) } else { 0 }
}

/// PSNs of a message. The first of an RPC's answer is that of its last packet.
#[must_use]
pub fn psns(work: &Work) -> u64 {
    packets(work) + answers(work).saturating_sub(1)
}

/// Is it for the peer?
#[must_use]
pub fn is_request(work: &Work) -> bool {
    use WorkOp::{Send, SendImm, SendInv, Write, WriteImm};
    let carries = matches!(op(work), Some(Send | SendImm | SendInv | Write | WriteImm));
    !work.ends && u64::from(work.status) == 0 && (carries || asks(work))
}

/// Do units follow behind this work?
#[must_use]
pub fn has_units(work: &Work) -> bool {
    let has_list = matches!(op(work), Some(WorkOp::Gather | WorkOp::Scatter | WorkOp::Bind));
    is_request(work) || (!work.ends && u64::from(work.status) == 0 && has_list)
}

/// Is it for a key?
#[must_use]
pub fn is_key(work: &Work) -> bool {
    let has_key = matches!(op(work), Some(WorkOp::Bind | WorkOp::Invalidate));
    !work.ends && u64::from(work.status) == 0 && has_key
}

/// What a work asks of a key; `turn` tells its end.
pub(super) fn key_job(work: &Work, first: Option<&Bits<512>>, turn: bool) -> KeyJob {
    let (verb, bind) = if op(work) == Some(WorkOp::Bind) {
        (KeyVerb::Bind, WindowBind::parse(&bytes(first)[BODY_AT..]).expect("all of it"))
    } else {
        (KeyVerb::Invalidate, WindowBind::default())
    };
    KeyJob {
        verb: (verb as u64).into(),
        qpn: work.qpn,
        pd: work.pd,
        key: work.key,
        region: u64::from(bind.region).into(),
        base: bind.base.into(),
        length: bind.length.into(),
        rights: u64::from(bind.rights).into(),
        cq: work.cq,
        index: work.index,
        signaled: work.signaled,
        turn,
    }
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

fn bytes(first: Option<&Bits<512>>) -> Vec<u8> {
    let mut bytes = BigUint::from(*first.expect("a request has units")).to_bytes_le();
    bytes.resize(UNIT, 0);
    bytes
}

/// What the first unit says besides its entries.
pub(super) fn opening(first: Option<&Bits<512>>) -> (WqeHead, AtomicOperands) {
    let bytes = bytes(first);
    let head = WqeHead::parse(&bytes).expect("a whole head");
    (head, AtomicOperands::parse(&bytes[BODY_AT..]).expect("both operands"))
}

pub(super) fn entry(queue: &Queue, work: &Work, first: Option<&Bits<512>>) -> Sent {
    let place = if is_atomic(work) { SECOND_AT } else { BODY_AT };
    let sge = Sge::parse(&bytes(first)[place..]).expect("a whole entry");
    Sent {
        psn: psn(queue.psn),
        packets: psns(work).into(),
        answers: answers(work).into(),
        index: work.index,
        opcode: work.opcode,
        signaled: work.signaled,
        length: if is_call(work) {
            u64::from(RpcTarget::from_address(work.remote.into()).response_max).into()
        } else {
            work.length
        },
        address: sge.address.into(),
        key: u64::from(sge.local_key).into(),
        scatters: op(work) == Some(WorkOp::Read) && u64::from(work.sge_count) > 1,
    }
}
