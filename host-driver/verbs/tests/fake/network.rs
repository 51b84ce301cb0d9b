//! What the fake card does with datagrams: it keeps those sent, to be looked at, and takes those that a story says arrive.

use stroma_abi::{
    Qpn,
    desc::{AddressHandle, Body, Cqe, Receive, ReceiveHead, Status, UdTarget, WorkOp, Wqe},
};
use stroma_device::{Iova, mock::Mock};

use super::engine::Engine;

/// A datagram on its way.
pub(crate) struct Sent {
    pub(crate) handle: AddressHandle,
    pub(crate) peer: Qpn,
    pub(crate) q_key: u32,
    pub(crate) immediate: Option<u32>,
    pub(crate) payload: Vec<u8>,
}

impl Engine {
    /// Carries out a request of a queue pair for datagrams.
    pub(super) fn send(&mut self, mock: &Mock, pd: u16, request: &Wqe<'_>) -> Result<(), Status> {
        let head = request.head();
        let is_immediate = head.opcode == WorkOp::SendImm as u8;
        if head.opcode != WorkOp::Send as u8 && !is_immediate {
            return self.execute(mock, pd, request);
        }
        let target = UdTarget::parse(&head.remote.to_le_bytes()).unwrap();
        let handle = self.address_handles.get(&target.address_handle).filter(|handle| handle.pd == pd);
        let handle = *handle.ok_or(Status::LocalQueuePair)?;
        let mut payload = Vec::new();
        match request.body() {
            Body::Inline(data) => payload.extend(*data),
            Body::Gather(list) => {
                for piece in list.as_slice() {
                    let place = (piece.address, piece.local_key);
                    payload.extend(self.read(mock, pd, place, piece.length)?);
                }
            }
            _ => return Err(Status::LocalQueuePair),
        }
        let immediate = is_immediate.then_some(head.immediate);
        let (peer, q_key) = (target.destination_qp, head.key);
        self.sent.push(Sent { handle, peer, q_key, immediate, payload });
        Ok(())
    }

    pub(crate) fn receive_doorbell(&mut self, page: u16, number: u32, producer: u16) {
        let queues = self.queue_pairs.get_mut(&number).expect("the queue pair exists");
        assert_eq!(queues.body.page, page);
        queues.receive_producer = producer;
    }

    /// A datagram has come: its GRH and payload fill the next receive.
    pub(crate) fn arrive(
        &mut self,
        mock: &Mock,
        number: u32,
        bytes: &[u8],
        source_qp: Qpn,
        imm: Option<u32>,
    ) {
        let queues = self.queue_pairs.get_mut(&number).expect("the queue pair exists");
        let (index, body) = (queues.receive_next, queues.body);
        assert_ne!(index, queues.receive_producer, "a receive is posted");
        queues.receive_next = index.wrapping_add(1);
        let stride = ReceiveHead::LEN << body.receive_stride;
        let mut entry = vec![0; stride];
        let slot = u64::from(index) % (1 << body.receive_log);
        mock.dma_read(Iova(body.receive_base + slot * stride as u64), &mut entry).unwrap();
        let mut rest = bytes;
        for piece in Receive::decode(&entry).unwrap().0.as_slice() {
            let (now, later) = rest.split_at(rest.len().min(piece.length as usize));
            self.write(mock, body.pd, (piece.address, piece.local_key), now).unwrap();
            rest = later;
        }
        assert!(rest.is_empty(), "the receive is long enough");
        let op = if imm.is_some() { WorkOp::SendImm } else { WorkOp::Send };
        let entry = Cqe {
            detail: imm.unwrap_or(0),
            length: u32::try_from(bytes.len()).unwrap(),
            queue_pair: Qpn::new(number),
            opcode: op as u8,
            index,
            source_qp,
            has_immediate: imm.is_some(),
            has_grh: true,
            receive: true,
            ..Cqe::default()
        };
        self.complete(mock, body.receive_cq, entry);
    }
}
