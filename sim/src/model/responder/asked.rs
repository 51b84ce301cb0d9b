//! READs and atomics: requests whose answers bring data.

use stroma_abi::Psn;
use stroma_abi::desc::region::rights;
use stroma_abi::wire::{Aeth, NakCode, opcode};

use super::answers::POSITIVE;
use super::resources::Read;
use super::{Responder, demand};
use crate::model::{Access, Dropped, Memory, Packet};

/// Bytes of the word that an atomic works on. It lies in memory as the host has it, the lowest byte first.
const WORD: u64 = 8;

impl Responder {
    pub(super) fn read(&mut self, request: &Packet, memory: &Memory) -> Result<(), NakCode> {
        let (access, length) = self.target(request, rights::REMOTE_READ)?;
        demand(request.payload.is_empty())?;
        demand(self.answers.open() < self.settings.reads_in)?;
        memory.check(&access, length.into()).map_err(|_| NakCode::RemoteAccess)?;
        self.msn = self.msn.next();
        self.respond(request.psn, &access, length, true, memory)?;
        self.expected = self.expected.add(self.settings.packets(length));
        self.resources.keep_read(Read { first: request.psn, access, length });
        Ok(())
    }

    /// Applies an atomic, at once and once.
    pub(super) fn atomic(&mut self, request: &Packet, memory: &mut Memory) -> Result<(), NakCode> {
        let operands = request.extended.atomic.ok_or(NakCode::InvalidRequest)?;
        let right = rights::REMOTE_ATOMIC;
        demand(self.message.is_none() && request.payload.is_empty())?;
        demand(self.settings.rights & right == right)?;
        demand(operands.address.is_multiple_of(WORD))?;
        demand(self.answers.open() < self.settings.reads_in)?;
        let access = self.remote(operands.remote_key, operands.address, right);
        let bytes = memory.read(&access, WORD).map_err(|_| NakCode::RemoteAccess)?;
        let original = u64::from_le_bytes(bytes.try_into().map_err(|_| NakCode::RemoteOperational)?);
        let new = if request.opcode == opcode::RC_FETCH_ADD {
            original.wrapping_add(operands.swap_add)
        } else if original == operands.compare {
            operands.swap_add
        } else {
            original
        };
        memory.write(&access, &new.to_le_bytes()).map_err(|_| NakCode::RemoteAccess)?;
        self.msn = self.msn.next();
        self.expected = self.expected.next();
        self.resources.keep_atomic(request.psn, original);
        self.answer_atomic(request.psn, original, true);
        Ok(())
    }

    pub(super) fn repeat_read(&mut self, request: &Packet, memory: &Memory) -> Result<(), Dropped> {
        let reth = request.extended.reth.ok_or(Dropped::Repeated)?;
        let access = self.access(&reth, rights::REMOTE_READ);
        if !self.resources.cover(&Read { first: request.psn, access, length: reth.length }) {
            return Err(Dropped::Repeated);
        }
        if let Err(code) = self.respond(request.psn, &access, reth.length, false, memory) {
            self.refuse(request.psn, code);
        }
        Ok(())
    }

    pub(super) fn repeat_atomic(&mut self, psn: Psn) -> Result<(), Dropped> {
        let original = self.resources.original(psn).ok_or(Dropped::Repeated)?;
        self.answer_atomic(psn, original, false);
        Ok(())
    }

    /// Queues the answer to a READ: packets of one MTU, consecutive PSNs from that of the request.
    fn respond(
        &mut self,
        first: Psn,
        access: &Access,
        length: u32,
        is_new: bool,
        memory: &Memory,
    ) -> Result<(), NakCode> {
        let bytes = memory.read(access, length.into()).map_err(|_| NakCode::RemoteAccess)?;
        let packets = Packet::read_answer(first, &bytes, self.settings.mtu, self.aeth());
        if is_new {
            self.answers.data(packets, true);
        } else {
            self.answers.data_again(packets);
        }
        Ok(())
    }

    fn answer_atomic(&mut self, psn: Psn, original: u64, is_new: bool) {
        self.answers.data(vec![Packet::atomic_answer(psn, original, self.aeth())], is_new);
    }

    pub(super) fn aeth(&self) -> Aeth {
        Aeth { syndrome: POSITIVE.encode(), msn: self.msn }
    }
}
