//! Requests that send datagrams: where each one goes.

use stroma_abi::{
    Qpn,
    desc::{QueuePairKind, UdTarget, WorkOp},
};

use super::Batch;
use crate::{AddressHandle, Error, Result};

impl Batch<'_> {
    /// The next request, a `send` of one kind or another of at most 4096 bytes, is a datagram: it goes the way of `handle` to queue pair
    /// `peer` there, with the key that is the peer's, or [`OWN_KEY`](crate::OWN_KEY). To a group, `peer` is
    /// [`GROUP_QP`](crate::GROUP_QP). A handle of another domain, or one that has ended, is the card's to refuse.
    pub fn to(mut self, handle: &AddressHandle, peer: Qpn, q_key: u32) -> Self {
        let target = UdTarget { address_handle: handle.number(), destination_qp: peer };
        (self.head.remote, self.head.key) = (u64::from_le_bytes(target.to_bytes()), q_key);
        self.has_target = true;
        if let Err(error) = self.check_handle(handle) {
            self.failed = self.failed.or(Some(error));
        }
        self
    }

    fn check_handle(&self, handle: &AddressHandle) -> Result<()> {
        let (number, kind) = (self.queue_pair.number(), self.queue_pair.kind());
        if kind != QueuePairKind::Datagram {
            return Err(Error::WrongKind { operation: "datagram", number, kind });
        }
        self.queue_pair.device().check_same(handle.domain().device(), "address handle")
    }

    /// Does the request lack a place to go?
    pub(super) fn check_target(&self, op: WorkOp) -> Result<()> {
        let is_datagram = self.queue_pair.kind() == QueuePairKind::Datagram
            && matches!(op, WorkOp::Send | WorkOp::SendImm | WorkOp::SendInv);
        if is_datagram && !self.has_target {
            return Err(Error::NoDestination { position: self.requests.len() });
        }
        Ok(())
    }
}
