//! The responder of a reliable connection: executes requests in order and says how it went.

use std::collections::VecDeque;

use stroma_abi::Psn;
use stroma_abi::desc::region::rights;
use stroma_abi::wire::{Aeth, NakCode, Position, Reth, Syndrome, opcode};

use super::reads::{Read, Reads};
use super::{Access, Dropped, Memory, Packet, Settings};

/// Longest message the specification knows.
const MESSAGE_MAX: u32 = 1 << 31;
/// What every positive answer says about credits: 31, the responder does not count. Soft-RoCE sends the same; WRITE and
/// READ take no receive, so a limit could only slow the peer.
const POSITIVE: Syndrome = Syndrome::Ack { credits: 31 };

/// The responder. A request is judged by sequence, place in its message, operation allowed, length, key; the first thing
/// wrong decides the answer. Both length and key wrong may be refused for either reason: the specification's order of those
/// two is not kept by all, and a test that compares answers should not have both.
pub struct Responder {
    settings: Settings,
    pub(super) expected: Psn,
    pub(super) msn: Psn,
    message: Option<Message>,
    gap_reported: bool,
    reads: Reads,
    answers: VecDeque<Answer>,
    failed: bool,
}

/// The WRITE that has begun and not ended.
struct Message {
    access: Access,
    remaining: u32,
}

struct Answer {
    packet: Packet,
    /// Is this the end of the first answer to a READ?
    ends_read: bool,
}

fn demand(holds: bool) -> Result<(), NakCode> {
    if holds { Ok(()) } else { Err(NakCode::InvalidRequest) }
}

impl Responder {
    /// A responder that waits for its first request.
    #[must_use]
    pub fn new(settings: &Settings) -> Self {
        Self {
            settings: settings.clone(),
            expected: settings.receive_psn,
            msn: Psn::new(0),
            message: None,
            gap_reported: false,
            reads: Reads::new(settings),
            answers: VecDeque::new(),
            failed: false,
        }
    }

    /// Has a request been refused for good?
    #[must_use]
    pub const fn is_failed(&self) -> bool {
        self.failed
    }

    /// Ends all: nothing is taken and nothing answered from now on.
    pub fn halt(&mut self) {
        self.failed = true;
        self.answers.clear();
    }

    /// The next answer to send.
    pub fn transmit(&mut self) -> Option<Packet> {
        self.answers.pop_front().map(|answer| answer.packet)
    }

    /// Is there an answer to send?
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.answers.is_empty()
    }

    /// Takes a request.
    ///
    /// # Errors
    /// When it has no effect and no answer.
    pub fn receive(&mut self, request: &Packet, memory: &mut Memory) -> Result<(), Dropped> {
        if self.failed {
            return Err(Dropped::Failed);
        }
        if request.psn.is_before(self.expected) {
            return self.repeat(request, memory);
        }
        if request.psn != self.expected {
            // One NAK for a gap: more would make the peer begin again more often than once.
            if self.gap_reported {
                return Err(Dropped::Gap);
            }
            self.gap_reported = true;
            self.acknowledge(self.expected, Syndrome::Nak(NakCode::PsnSequence));
            return Ok(());
        }
        self.gap_reported = false;
        if let Err(code) = self.execute(request, memory) {
            self.refuse(request.psn, code);
        }
        Ok(())
    }

    /// What each op-code does. SEND, immediate data and atomics are not spoken yet, and refused like any unknown request.
    fn execute(&mut self, request: &Packet, memory: &mut Memory) -> Result<(), NakCode> {
        match request.opcode {
            opcode::RC_WRITE_FIRST | opcode::RC_WRITE_ONLY => {
                let (access, remaining) = self.target(request, rights::REMOTE_WRITE)?;
                self.message = Some(Message { access, remaining });
                self.place(request, memory)
            }
            opcode::RC_WRITE_MIDDLE | opcode::RC_WRITE_LAST => self.place(request, memory),
            opcode::RC_READ_REQUEST => self.read(request, memory),
            _ => Err(NakCode::InvalidRequest),
        }
    }

    /// Where a message goes, if it may begin here and be so long.
    fn target(&self, request: &Packet, right: u8) -> Result<(Access, u32), NakCode> {
        let reth = request.extended.reth.ok_or(NakCode::InvalidRequest)?;
        demand(self.message.is_none())?;
        demand(self.settings.rights & right == right)?;
        demand(reth.length <= MESSAGE_MAX)?;
        Ok((self.access(&reth, right), reth.length))
    }

    fn access(&self, reth: &Reth, rights: u8) -> Access {
        Access { key: reth.remote_key, domain: self.settings.domain, rights, address: reth.address }
    }

    /// A packet of a WRITE. Nothing of a packet that does not fit is written.
    fn place(&mut self, request: &Packet, memory: &mut Memory) -> Result<(), NakCode> {
        let message = self.message.as_mut().ok_or(NakCode::InvalidRequest)?;
        let more = matches!(request.opcode.position, Position::First | Position::Middle);
        let length = u32::try_from(request.payload.len()).map_err(|_| NakCode::InvalidRequest)?;
        let mtu = self.settings.mtu;
        // With more to follow a packet is full and leaves something; the last brings exactly what is missing.
        demand(if more {
            length == mtu && message.remaining > mtu
        } else {
            length == message.remaining && length <= mtu
        })?;
        // All the rest of the message must be allowed, from its first packet on; and again with each packet, for the
        // region may be gone since.
        memory.check(&message.access, message.remaining.into()).map_err(|_| NakCode::RemoteAccess)?;
        memory.write(&message.access, &request.payload).map_err(|_| NakCode::RemoteAccess)?;
        message.access.address = message.access.address.wrapping_add(length.into());
        message.remaining -= length;
        self.expected = self.expected.next();
        if !more {
            self.message = None;
            self.msn = self.msn.next();
        }
        if request.ack_request {
            self.acknowledge(request.psn, POSITIVE);
        }
        Ok(())
    }

    fn read(&mut self, request: &Packet, memory: &Memory) -> Result<(), NakCode> {
        let open = self.answers.iter().filter(|answer| answer.ends_read).count();
        demand(open < self.settings.reads_in)?;
        let (access, length) = self.target(request, rights::REMOTE_READ)?;
        demand(request.payload.is_empty())?;
        memory.check(&access, length.into()).map_err(|_| NakCode::RemoteAccess)?;
        self.msn = self.msn.next();
        self.respond(request.psn, &access, length, true, memory)?;
        self.expected = self.expected.add(self.settings.packets(length));
        self.reads.remember(Read { first: request.psn, access, length });
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
        let aeth = Aeth { syndrome: POSITIVE.encode(), msn: self.msn };
        let packets = Packet::read_answer(first, &bytes, self.settings.mtu, aeth);
        self.answers.extend(packets.into_iter().map(|packet| {
            let ends = matches!(packet.opcode.position, Position::Last | Position::Only);
            Answer { packet, ends_read: is_new && ends }
        }));
        Ok(())
    }

    /// A request from before the expected one: a WRITE is acknowledged again, a READ executed again.
    fn repeat(&mut self, request: &Packet, memory: &Memory) -> Result<(), Dropped> {
        match request.opcode {
            opcode::RC_WRITE_FIRST
            | opcode::RC_WRITE_MIDDLE
            | opcode::RC_WRITE_LAST
            | opcode::RC_WRITE_ONLY => {
                let latest = Psn::new(self.expected.value().wrapping_sub(1));
                self.acknowledge(latest, POSITIVE);
                Ok(())
            }
            opcode::RC_READ_REQUEST => {
                let reth = request.extended.reth.ok_or(Dropped::Repeated)?;
                let access = self.access(&reth, rights::REMOTE_READ);
                if !self.reads.cover(&Read { first: request.psn, access, length: reth.length }) {
                    return Err(Dropped::Repeated);
                }
                if let Err(code) = self.respond(request.psn, &access, reth.length, false, memory) {
                    self.refuse(request.psn, code);
                }
                Ok(())
            }
            _ => Err(Dropped::Repeated),
        }
    }

    fn refuse(&mut self, psn: Psn, code: NakCode) {
        self.acknowledge(psn, Syndrome::Nak(code));
        self.failed = true;
    }

    /// Queues an ACK or NAK behind all that was answered before: answers leave in the order of their PSNs.
    fn acknowledge(&mut self, psn: Psn, syndrome: Syndrome) {
        let packet = Packet::acknowledge(psn, syndrome, self.msn);
        let waits = |answer: &&mut Answer| {
            answer.packet.opcode == opcode::RC_ACKNOWLEDGE && answer.packet.syndrome() == Some(POSITIVE)
        };
        match self.answers.back_mut().filter(waits) {
            Some(answer) if self.settings.coalesce && syndrome == POSITIVE => answer.packet = packet,
            _ => self.answers.push_back(Answer { packet, ends_read: false }),
        }
    }
}
