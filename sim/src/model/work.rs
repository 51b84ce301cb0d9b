//! Operations as they are posted, and the packets they become.

use stroma_abi::Psn;
use stroma_abi::desc::region::rights;
use stroma_abi::wire::{Extended, Opcode, Reth, Syndrome, opcode};

use super::{Access, Denied, Memory, Packet, Settings};

/// What a posted operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Local bytes to the peer's memory.
    Write,
    /// The peer's bytes to local memory.
    Read,
}

/// A posted operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// The poster's own number, back in the completion.
    pub id: u64,
    /// What to do.
    pub operation: Operation,
    /// Key of the local region.
    pub local_key: u32,
    /// Local address.
    pub local_address: u64,
    /// Key of the peer's region.
    pub remote_key: u32,
    /// Address there.
    pub remote_address: u64,
    /// Bytes, 0 to 2^31.
    pub length: u32,
}

/// An operation with its place on the wire.
pub(super) struct Job {
    pub(super) work: Work,
    pub(super) first: Psn,
    pub(super) count: u32,
    /// PSNs from which a READ was asked for: where an answer may begin.
    pub(super) starts: Vec<Psn>,
}

impl Job {
    /// The PSN behind the last.
    pub(super) fn end(&self) -> Psn {
        self.first.add(self.count)
    }

    pub(super) fn is_read(&self) -> bool {
        self.work.operation == Operation::Read
    }

    /// Bytes before the packet with this PSN.
    fn offset(&self, psn: Psn, settings: &Settings) -> u32 {
        psn.distance(self.first) * settings.mtu
    }

    /// Bytes of the packet with this PSN.
    pub(super) fn length(&self, psn: Psn, settings: &Settings) -> u32 {
        (self.work.length - self.offset(psn, settings)).min(settings.mtu)
    }

    /// Where the packet with this PSN takes or leaves its bytes.
    pub(super) fn local(&self, psn: Psn, settings: &Settings) -> Access {
        Access {
            key: self.work.local_key,
            domain: settings.domain,
            rights: if self.is_read() { rights::LOCAL_WRITE } else { 0 },
            address: self.work.local_address.wrapping_add(self.offset(psn, settings).into()),
        }
    }

    /// Is this what a READ asked for at the answer's PSN? Answers to the first request and to one sent again may mix, so a
    /// packet may begin an answer wherever one was asked for, and continue one anywhere but at the first PSN.
    pub(super) fn is_answered_by(&self, answer: &Packet, settings: &Settings) -> bool {
        let (begins, ends) = match answer.opcode {
            opcode::RC_READ_RESPONSE_FIRST => (true, false),
            opcode::RC_READ_RESPONSE_MIDDLE => (false, false),
            opcode::RC_READ_RESPONSE_LAST => (false, true),
            opcode::RC_READ_RESPONSE_ONLY => (true, true),
            _ => return false,
        };
        self.is_read()
            && ends == (answer.psn.next() == self.end())
            && if begins { self.starts.contains(&answer.psn) } else { answer.psn != self.first }
            && answer.payload.len() == self.length(answer.psn, settings) as usize
            && matches!(answer.syndrome(), None | Some(Syndrome::Ack { .. }))
    }

    /// The request packet with this PSN and the PSN of the next one. A READ asked for from its middle is a READ of the
    /// rest, which takes all the rest's PSNs.
    pub(super) fn packet(
        &self,
        psn: Psn,
        settings: &Settings,
        memory: &Memory,
    ) -> Result<(Packet, Psn), Denied> {
        let offset = self.offset(psn, settings);
        let rest = self.work.length - offset;
        let is_last = psn.next() == self.end();
        let reth = Reth {
            address: self.work.remote_address.wrapping_add(offset.into()),
            remote_key: self.work.remote_key,
            length: rest,
        };
        let reth = Extended { reth: Some(reth), ..Extended::default() };
        let local = self.local(psn, settings);
        match self.work.operation {
            Operation::Write => {
                let opcode = write(psn == self.first, is_last);
                let packet = Packet {
                    ack_request: is_last,
                    extended: if psn == self.first { reth } else { Extended::default() },
                    payload: memory.read(&local, self.length(psn, settings).into())?,
                    ..Packet::new(opcode, psn)
                };
                Ok((packet, psn.next()))
            }
            Operation::Read => {
                memory.check(&local, rest.into())?;
                let request = Packet::new(opcode::RC_READ_REQUEST, psn);
                Ok((Packet { ack_request: true, extended: reth, ..request }, self.end()))
            }
        }
    }
}

fn write(is_first: bool, is_last: bool) -> Opcode {
    match (is_first, is_last) {
        (true, true) => opcode::RC_WRITE_ONLY,
        (true, false) => opcode::RC_WRITE_FIRST,
        (false, true) => opcode::RC_WRITE_LAST,
        (false, false) => opcode::RC_WRITE_MIDDLE,
    }
}
