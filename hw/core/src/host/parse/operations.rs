//! Which operations there are, by what they have in common.

use num_bigint::BigUint;
use rust_hdl::prelude::*;
use stroma_abi::desc::WorkOp;
use stroma_abi::wire::classify::PAYLOAD_MAX;
use stroma_abi::wire::{AtomicAckEth, Ethernet};

/// What every queue pair carries out: nothing is sent.
pub const LOCAL: &[WorkOp] = &[WorkOp::Nop, WorkOp::Gather, WorkOp::Scatter];
/// What reliable queue pairs ask of their peer.
pub const REQUESTS: &[WorkOp] = &[
    WorkOp::Send,
    WorkOp::SendImm,
    WorkOp::SendInv,
    WorkOp::Write,
    WorkOp::WriteImm,
    WorkOp::Read,
    WorkOp::CmpSwap,
    WorkOp::FetchAdd,
    WorkOp::Rpc,
    WorkOp::RpcWrite,
];
/// What unreliable queue pairs ask of theirs: what needs no answer.
pub const UNANSWERED: &[WorkOp] = &[WorkOp::Send, WorkOp::SendImm, WorkOp::Write, WorkOp::WriteImm];
/// What queue pairs for datagrams send.
pub const DATAGRAMS: &[WorkOp] = &[WorkOp::Send, WorkOp::SendImm];
/// Bytes of the longest datagram.
pub const DATAGRAM_MAX: usize = PAYLOAD_MAX;
/// What raw queue pairs put on the wire.
pub const FRAMES: &[WorkOp] = &[WorkOp::Send];
/// Bytes of the shortest frame: its header.
pub const FRAME_MIN: usize = Ethernet::LEN;
/// Bytes of the longest.
pub const FRAME_MAX: usize = PAYLOAD_MAX;
/// What reliable queue pairs carry out without a packet: work on keys, which has neither bytes nor entries.
pub const KEYS: &[WorkOp] = &[WorkOp::Bind, WorkOp::Invalidate];
/// Those whose units stay behind: their head says all.
pub const BARE: &[WorkOp] = &[WorkOp::Nop, WorkOp::Invalidate];
/// Those that may have their data inline.
pub const INLINE: &[WorkOp] =
    &[WorkOp::Gather, WorkOp::Send, WorkOp::SendImm, WorkOp::SendInv, WorkOp::Write, WorkOp::WriteImm];
/// Those that name one place of this host beside their entries.
pub const COPIES: &[WorkOp] = &[WorkOp::Gather, WorkOp::Scatter];
/// Those that write to their entries. All others read them.
pub const FILLING: &[WorkOp] = &[WorkOp::Scatter, WorkOp::Read, WorkOp::CmpSwap, WorkOp::FetchAdd];
/// Those whose operands stand where the entries of others begin.
pub const ATOMICS: &[WorkOp] = &[WorkOp::CmpSwap, WorkOp::FetchAdd];
/// Those that run a kernel of the peer. Where its answer goes stands where the entries of others begin.
pub const CALLS: &[WorkOp] = &[WorkOp::Rpc, WorkOp::RpcWrite];
/// Bytes of the longest answer of a kernel.
pub const RESPONSE_MAX: usize = 1 << 16;
/// Bytes that an atomic changes, and brings back.
pub const ATOMIC_LEN: usize = AtomicAckEth::LEN;

/// One bit an op-code: is it one of these?
pub(crate) fn one_of(operations: &[WorkOp]) -> Constant<Bits<256>> {
    let bit = |operation: &WorkOp| BigUint::from(1_u8) << *operation as u8;
    Constant::new(operations.iter().fold(BigUint::ZERO, |mask, operation| mask | bit(operation)).into())
}
