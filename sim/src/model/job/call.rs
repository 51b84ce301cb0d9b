//! Calls of kernels: the packets that make one, and the answers that fit it.

use stroma_abi::Psn;
use stroma_abi::desc::Sge;
use stroma_abi::wire::{Extended, Header, Reth, RpcTarget, Syndrome, opcode};

use super::Job;
use crate::model::{Access, Denied, Memory, Operation, Packet, Settings};

/// What an answer to a call says.
pub(in crate::model) enum Answer {
    /// Still running.
    Busy,
    /// Data, and more to come.
    Data,
    /// The last data, the status, and the bytes of all.
    End { status: u32, length: u32 },
}

/// Bytes of a call's request, parameters included.
pub(super) fn length(operation: &Operation) -> Option<u32> {
    let Operation::Call { parameters, payload, .. } = operation else { return None };
    let payload = payload.map_or(0, |piece| piece.length);
    u32::try_from(parameters.as_bytes().len()).ok()?.checked_add(payload)
}

impl Job {
    /// The packet of a call with this PSN, and the PSN of the next one. Behind the first of its answer's PSNs it asks for the rest of
    /// the answer, and carries nothing.
    pub(super) fn call(
        &self,
        psn: Psn,
        settings: &Settings,
        memory: &Memory,
    ) -> Result<(Packet, Psn), Denied> {
        let Operation::Call { operation, flags, parameters, payload } = self.work.operation else {
            panic!("{:?} is no call", self.work.operation);
        };
        let all = length(&self.work.operation).unwrap_or(0);
        let is_answered = !psn.in_window(self.first, self.ahead + 1);
        let parameter_words = if is_answered { 0 } else { parameters.words() };
        let target = RpcTarget { response_max: self.length, flags, parameter_words, operation };
        let reth = Reth {
            address: target.to_address(),
            remote_key: self.work.remote_key,
            length: if is_answered { 0 } else { all },
        };
        let is_last = is_answered || psn == self.base();
        let row = match (is_answered || payload.is_none(), psn == self.first, is_last) {
            (true, ..) => opcode::RPC_PARAMS,
            (_, true, true) => opcode::RPC_WRITE_ONLY,
            (_, true, false) => opcode::RPC_WRITE_FIRST,
            (_, false, false) => opcode::RPC_WRITE_MIDDLE,
            (_, false, true) => opcode::RPC_WRITE_LAST,
        };
        let has_reth = row.header_set().contains(Header::Reth);
        let mut packet = Packet {
            ack_request: is_last,
            extended: Extended { reth: has_reth.then_some(reth), ..Extended::default() },
            ..Packet::new(row, psn)
        };
        if is_last {
            self.list(settings).check(memory, &(0..self.length.into()))?;
        }
        if !is_answered {
            let mut bytes = parameters.as_bytes().to_vec();
            if let Some(Sge { address, local_key: key, length }) = payload {
                let domain = settings.domain;
                let access = Access { key, domain, rights: 0, address, queue_pair: None };
                bytes.extend(memory.read(&access, length.into())?);
            }
            let start = (psn.distance(self.first) * settings.mtu) as usize;
            packet.payload = bytes[start..bytes.len().min(start + settings.mtu as usize)].to_vec();
        }
        Ok((packet, if is_last { self.end() } else { psn.next() }))
    }

    /// What an answer with a PSN of this call's answer says, if it makes sense there.
    pub(in crate::model) fn answer(&self, answer: &Packet, settings: &Settings) -> Option<Answer> {
        if !matches!(answer.syndrome(), None | Some(Syndrome::Ack { .. })) {
            return None;
        }
        if !answer.psn.in_window(self.base(), self.count - self.ahead) {
            return None;
        }
        let before = answer.psn.distance(self.base()) * settings.mtu;
        let here = u32::try_from(answer.payload.len()).ok()?;
        match answer.opcode {
            opcode::RPC_BUSY => Some(Answer::Busy),
            opcode::RPC_RESPONSE => {
                (here == settings.mtu && before + here < self.length).then_some(Answer::Data)
            }
            opcode::RPC_RESPONSE_END => {
                let end = answer.extended.rpc?;
                let fits = here <= settings.mtu && end.length == before + here && end.length <= self.length;
                fits.then_some(Answer::End { status: end.status, length: end.length })
            }
            _ => None,
        }
    }
}
