//! Messages that bring data: SEND into receives, WRITE where the peer says, and the receives that either completes.

use stroma_abi::desc::region::rights;
use stroma_abi::desc::{Status, WorkOp};
use stroma_abi::wire::{NakCode, RpcTarget};

use super::answers::POSITIVE;
use super::{Refusal, Responder, begins, demand, has_more};
use crate::model::job::MESSAGE_MAX;
use crate::model::list::List;
use crate::model::{Access, Memory, Packet, Receive, Received};

/// A message that has begun and not ended.
#[derive(Clone)]
pub(super) enum Message {
    /// SEND, the receive it took, and how much has come.
    Send { receive: Box<Receive>, length: u32 },
    /// WRITE, where it goes on, how much of how much is to come.
    Write { access: Access, remaining: u32, length: u32 },
    /// Call of a kernel: what is called under which key, how much is to come, and what has.
    Call { target: RpcTarget, key: u32, length: u32, bytes: Vec<u8> },
}

impl Responder {
    /// A packet of a SEND. The first one takes a receive. Nothing of a packet that does not fit is written.
    pub(super) fn send(&mut self, request: &Packet, memory: &mut Memory) -> Result<(), Refusal> {
        let bytes = self.payload_length(request)?;
        // A message of several packets ends with a byte at least.
        demand(has_more(request) || begins(request) || bytes > 0)?;
        let (receive, before) = match &self.message {
            None if begins(request) => (self.take_receive().ok_or(Refusal::NotReady)?.into(), 0),
            Some(Message::Send { receive, length }) if !begins(request) => (receive.clone(), *length),
            _ => return Err(NakCode::InvalidRequest.into()),
        };
        let length = before + bytes;
        self.message = Some(Message::Send { receive: receive.clone(), length });
        demand(length <= MESSAGE_MAX)?;
        if u64::from(length) > receive.pieces.total() {
            if self.settings.unreliable {
                return self.overrun(request, &receive);
            }
            return self.spoil(&receive, Status::LocalLength, NakCode::InvalidRequest);
        }
        let list = List { pieces: receive.pieces, domain: self.receives.domain, rights: rights::LOCAL_WRITE };
        if list.write(memory, before.into(), &request.payload).is_err() {
            return self.spoil(&receive, Status::LocalProtection, NakCode::RemoteOperational);
        }
        let operation = match (request.extended.imm, request.extended.ieth) {
            (Some(_), _) => WorkOp::SendImm,
            (None, Some(_)) => WorkOp::SendInv,
            (None, None) => WorkOp::Send,
        };
        if let Some(ieth) = request.extended.ieth
            && memory.invalidate(ieth.remote_key, self.settings.local).is_none()
        {
            return self.spoil(&receive, Status::RemoteAccess, NakCode::RemoteAccess);
        }
        if !has_more(request) {
            self.message = None;
            self.deliver(&receive, operation, length, request);
        }
        self.accept(request);
        Ok(())
    }

    /// A packet of a WRITE. Nothing of a packet that does not fit is written. Immediate data needs a receive.
    pub(super) fn write(&mut self, request: &Packet, memory: &mut Memory) -> Result<(), Refusal> {
        let (access, remaining, length) = if begins(request) {
            let (access, length) = self.target(request, rights::REMOTE_WRITE)?;
            (access, length, length)
        } else {
            match self.message {
                Some(Message::Write { access, remaining, length }) => (access, remaining, length),
                _ => return Err(NakCode::InvalidRequest.into()),
            }
        };
        let bytes = self.payload_length(request)?;
        // With more to follow a packet leaves something; the last brings exactly what is missing.
        demand(if has_more(request) { remaining > bytes } else { remaining == bytes })?;
        if request.extended.imm.is_some() && self.spare.is_none() && self.receives.is_empty() {
            return Err(Refusal::NotReady);
        }
        // All the rest of the message must be allowed, from its first packet on; and again with each packet, for the
        // region may be gone since.
        memory.check(&access, remaining.into()).map_err(|_| NakCode::RemoteAccess)?;
        memory.write(&access, &request.payload).map_err(|_| NakCode::RemoteAccess)?;
        let access = Access { address: access.address.wrapping_add(bytes.into()), ..access };
        let remaining = remaining - bytes;
        self.message = has_more(request).then_some(Message::Write { access, remaining, length });
        if let Some(receive) = request.extended.imm.and_then(|_| self.take_receive()) {
            self.deliver(&receive, WorkOp::WriteImm, length, request);
        }
        self.accept(request);
        Ok(())
    }

    /// Bytes of a packet, if it is as full as its place in the message demands.
    pub(super) fn payload_length(&self, request: &Packet) -> Result<u32, NakCode> {
        let bytes = u32::try_from(request.payload.len()).map_err(|_| NakCode::InvalidRequest)?;
        let mtu = self.settings.mtu;
        demand(if has_more(request) { bytes == mtu } else { bytes <= mtu })?;
        Ok(bytes)
    }

    pub(super) fn accept(&mut self, request: &Packet) {
        self.expected = self.expected.next();
        if !has_more(request) {
            self.msn = self.msn.next();
        }
        if request.ack_request {
            self.acknowledge(request.psn, POSITIVE);
        }
    }

    /// Completes a receive with the message that this packet ends.
    fn deliver(&mut self, receive: &Receive, operation: WorkOp, bytes: u32, last: &Packet) {
        self.received.push_back(Received {
            id: receive.id,
            status: Status::Success,
            operation,
            bytes,
            immediate: last.extended.imm.map(|imm| imm.data),
            invalidated: last.extended.ieth.map(|ieth| ieth.remote_key),
            solicited: last.solicited,
            source: None,
        });
    }

    /// The message of an unreliable connection is longer than its receive: that is told by the receive when the message ends, and nothing else
    /// comes of it.
    fn overrun(&mut self, request: &Packet, receive: &Receive) -> Result<(), Refusal> {
        if has_more(request) {
            self.accept(request);
            return Ok(());
        }
        self.message = None;
        self.received.push_back(Received::failed(receive.id, Status::LocalLength));
        Err(NakCode::InvalidRequest.into())
    }

    /// The receive was no good for the message: both sides are told.
    fn spoil(&mut self, receive: &Receive, status: Status, code: NakCode) -> Result<(), Refusal> {
        self.message = None;
        self.received.push_back(Received::failed(receive.id, status));
        if self.settings.unreliable {
            self.failed = true;
            self.flush();
        }
        Err(code.into())
    }

    /// Gives back what an ended connection will not use: the receive of an unfinished message, and the queue if it is its
    /// own. What is in a shared one others may use.
    pub(super) fn flush(&mut self) {
        let flushed = |receive: &Receive| Received::failed(receive.id, Status::Flushed);
        if let Some(Message::Send { receive, .. }) = self.message.take() {
            self.received.push_back(flushed(&receive));
        }
        self.received.extend(self.spare.take().map(|receive| flushed(&receive)));
        if !self.shares_receives {
            self.received
                .extend(std::iter::from_fn(|| self.receives.take()).map(|receive| flushed(&receive)));
        }
    }
}
