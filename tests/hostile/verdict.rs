//! What a request deserves: the status that its bytes give it, by the rules for requests and for memory.

use stroma_abi::desc::{
    Sge, Status, WorkOp, WqeHead,
    sge::SGE_MAX,
    wqe::{BODY_AT, SECOND_AT, UNIT, UNITS_MAX},
};

use super::memory::Memory;

/// Bytes of a receive at the far end.
pub(crate) const RECEIVE_BYTES: u32 = 2000;
/// The longest message.
const LENGTH_MAX: u32 = 1 << 31;

/// The status of the request that begins these units, in the place of this index.
pub(crate) fn deserves(units: &[u8], index: u16, memory: &Memory) -> Status {
    local(units, index, memory).map_or_else(|status| status, |(op, head)| remote(op, &head, memory))
}

/// What this side says of it, if it refuses.
fn local(units: &[u8], index: u16, memory: &Memory) -> Result<(WorkOp, WqeHead), Status> {
    use WorkOp::{Bind, CmpSwap, FetchAdd, Gather, Invalidate, Nop, Read, Rpc, RpcWrite, Scatter};
    let head = WqeHead::parse(units).expect("a whole unit");
    let demand = |holds: bool, status: Status| if holds { Ok(()) } else { Err(status) };
    let malformed = Status::LocalQueuePair;
    let count = usize::from(head.units);
    demand(head.index == index, malformed)?;
    demand((1..=UNITS_MAX).contains(&count) && count * UNIT <= units.len(), malformed)?;
    let op = WorkOp::from_code(head.opcode).ok_or(malformed)?;
    demand(!matches!(op, Rpc | RpcWrite) && !head.local && !head.tx_kernel, malformed)?;
    let is_atomic = matches!(op, CmpSwap | FetchAdd);
    let is_key = matches!(op, Bind | Invalidate);
    demand(!head.inline || !(is_atomic || is_key || matches!(op, Nop | Read | Scatter)), malformed)?;
    if is_key {
        // There is no window to bind, nor a key to end.
        demand(head.sge_count == 0 && head.length == 0, malformed)?;
        return Err(Status::WindowBind);
    }
    if op == Nop {
        return Ok((op, head));
    }
    let room = count * UNIT - BODY_AT;
    let listed = if head.sge_count == 0 && head.length > 0 { SGE_MAX } else { usize::from(head.sge_count) };
    let listed = if head.inline { 0 } else { listed };
    demand(!head.inline || head.length as usize <= room, malformed)?;
    demand(if is_atomic { (listed, head.length) == (1, 8) } else { listed * Sge::LEN <= room }, malformed)?;
    if head.length == 0 {
        return Ok((op, head));
    }
    let list = &units[if is_atomic { SECOND_AT } else { BODY_AT }..];
    let list = list.chunks(Sge::LEN).take(listed).map(|entry| Sge::parse(entry).expect("a whole entry"));
    let sum: u64 = list.clone().map(|piece| u64::from(piece.length)).sum();
    demand(head.inline || sum == u64::from(head.length), malformed)?;
    demand(head.length <= LENGTH_MAX, Status::LocalLength)?;
    let one = Sge { address: head.remote, local_key: head.key, length: head.length };
    let one = matches!(op, Gather | Scatter).then_some((one, op == Gather));
    let fills = is_atomic || matches!(op, Read | Scatter);
    for (piece, writes) in one.into_iter().chain(list.map(|piece| (piece, fills))) {
        let allows = memory.allows(piece.local_key, piece.address, piece.length, writes);
        demand(piece.length == 0 || allows, Status::LocalProtection)?;
    }
    Ok((op, head))
}

/// What the peer says of it.
fn remote(op: WorkOp, head: &WqeHead, memory: &Memory) -> Status {
    // What peers may do at all, they may do where the owner may write.
    let allows = head.length == 0 || memory.allows(head.key, head.remote, head.length, true);
    match op {
        WorkOp::Send | WorkOp::SendImm | WorkOp::SendInv if head.length > RECEIVE_BYTES => {
            Status::RemoteInvalid
        }
        // The peer has bound no window.
        WorkOp::SendInv => Status::RemoteAccess,
        WorkOp::CmpSwap | WorkOp::FetchAdd if !head.remote.is_multiple_of(8) => Status::RemoteInvalid,
        WorkOp::Write | WorkOp::WriteImm | WorkOp::Read | WorkOp::CmpSwap | WorkOp::FetchAdd if !allows => {
            Status::RemoteAccess
        }
        _ => Status::Success,
    }
}
