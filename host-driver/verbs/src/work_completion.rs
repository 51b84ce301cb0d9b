//! What became of a request.

use stroma_abi::Qpn;
use stroma_abi::desc::{Cqe, Status, WorkOp};

use crate::{Error, Result};

/// What became of a request, or of a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkCompletion {
    /// The number it was posted with.
    pub wr_id: u64,
    /// How it ended. Without success, only this, `wr_id`, `vendor` and `queue_pair` have a meaning.
    pub status: Status,
    /// Detail of an error, for people.
    pub vendor: u8,
    /// What it asked for; of a receive, what the peer posted.
    pub op: WorkOp,
    /// Bytes moved, or received.
    pub length: u32,
    /// It is a receive.
    pub is_receive: bool,
    /// Immediate data that came with the message.
    pub immediate: Option<u32>,
    /// Key that the message ended.
    pub invalidated: Option<u32>,
    /// How the kernel ended that it ran: an `RpcStatus`, or the kernel's own from 0x100 on. Success says that it is told, and `length`
    /// how many bytes came.
    pub rpc: Option<u32>,
    /// The message asked for an event.
    pub is_solicited: bool,
    /// Queue pair it was posted to.
    pub queue_pair: u32,
    /// Of a received datagram: the queue pair that has sent it.
    pub source_qp: Option<Qpn>,
    /// It is a received datagram: its buffer begins with a [`Grh`](crate::Grh), which `length` counts.
    pub has_grh: bool,
    /// Of a receive: the address that its first piece was posted with.
    pub buffer: Option<u64>,
    /// The card's clock when it was done, in cycles.
    pub timestamp: u64,
}

impl Default for WorkCompletion {
    /// Room for a completion.
    fn default() -> Self {
        Self {
            wr_id: 0,
            status: Status::Success,
            vendor: 0,
            op: WorkOp::Nop,
            length: 0,
            is_receive: false,
            immediate: None,
            invalidated: None,
            rpc: None,
            is_solicited: false,
            queue_pair: 0,
            source_qp: None,
            has_grh: false,
            buffer: None,
            timestamp: 0,
        }
    }
}

/// An entry of completion queue `queue`, understood but for its `wr_id`.
pub(crate) fn understand(queue: u32, entry: &Cqe) -> Result<WorkCompletion> {
    let op = WorkOp::from_code(entry.opcode);
    // A request that was flushed before it was read, or whose op-code was the fault, has none.
    let op = op.or((entry.status != Status::Success as u8).then_some(WorkOp::Nop));
    let status = Status::from_code(entry.status).ok_or_else(|| bad(queue, "no such status", entry))?;
    Ok(WorkCompletion {
        wr_id: 0,
        status,
        vendor: entry.vendor,
        op: op.ok_or_else(|| bad(queue, "no such operation", entry))?,
        length: entry.length,
        is_receive: entry.receive,
        immediate: entry.has_immediate.then_some(entry.detail),
        invalidated: entry.has_invalidated.then_some(entry.detail),
        rpc: entry.rpc.then_some(entry.detail),
        is_solicited: entry.solicited,
        queue_pair: entry.queue_pair.value(),
        source_qp: entry.has_grh.then_some(entry.source_qp),
        has_grh: entry.has_grh,
        buffer: None,
        timestamp: entry.timestamp,
    })
}

pub(crate) fn bad(queue: u32, reason: &'static str, entry: &Cqe) -> Error {
    Error::BadCompletion {
        queue,
        reason,
        queue_pair: entry.queue_pair.value(),
        index: entry.index,
        status: entry.status,
        opcode: entry.opcode,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_without_sense_are_named() {
        let good = Cqe { opcode: WorkOp::Gather as u8, length: 5, ..Cqe::default() };
        assert_eq!(understand(3, &good).unwrap().length, 5);
        let refused = understand(3, &Cqe { status: 99, index: 7, ..good }).unwrap_err();
        let expected = "completion queue 3: no such status (queue pair 0, index 7, status 99, op-code 0x0c)";
        assert_eq!(refused.to_string(), expected);
        assert!(understand(3, &Cqe { opcode: 0, ..good }).is_err());
        let received = Cqe { receive: true, has_immediate: true, detail: 9, ..good };
        let received = understand(3, &received).unwrap();
        assert_eq!((received.is_receive, received.immediate, received.invalidated), (true, Some(9), None));
        let called = Cqe { opcode: WorkOp::Rpc as u8, rpc: true, detail: 0x100, ..good };
        let called = understand(3, &called).unwrap();
        assert_eq!((called.op, called.rpc, called.immediate), (WorkOp::Rpc, Some(0x100), None));
        assert_eq!(understand(3, &Cqe { source_qp: Qpn::new(9), ..good }).unwrap().source_qp, None);
        let datagram =
            Cqe { receive: true, has_grh: true, source_qp: Qpn::new(0xab_cdef), length: 44, ..good };
        let found = understand(3, &datagram).unwrap();
        assert_eq!((found.source_qp, found.has_grh, found.length), (Some(Qpn::new(0xab_cdef)), true, 44));
        let flushed = Cqe { opcode: 0, status: Status::Flushed as u8, ..good };
        assert_eq!(understand(3, &flushed).unwrap().status, Status::Flushed);
    }
}
