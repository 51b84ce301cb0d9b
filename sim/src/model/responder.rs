//! The responder of a reliable connection: executes requests in order and says how it went.

mod answers;
mod asked;
mod called;
mod incoming;
mod resources;
mod unanswered;

use std::collections::VecDeque;

use stroma_abi::Psn;
use stroma_abi::wire::{Header, NakCode, Position, Reth, Syndrome, Transport, opcode};

use super::job::MESSAGE_MAX;
use super::{Access, Dropped, Kernels, Memory, Packet, Receive, ReceiveQueue, Received, Settings};
use answers::{Answers, POSITIVE};
use incoming::Message;
use resources::Resources;

/// The responder. A request is judged by sequence, place in its message, operation allowed, length, receive, key; the first
/// thing wrong decides the answer. Both length and key wrong may be refused for either reason, and so may be a WRITE with
/// immediate data that has neither a receive nor a good key: the specification's order of those is not kept by all, and
/// a test that compares answers should not have both.
pub struct Responder {
    settings: Settings,
    pub(super) expected: Psn,
    pub(super) msn: Psn,
    message: Option<Message>,
    /// The receive of a message that was broken off: the next has it.
    spare: Option<Receive>,
    /// Does the peer know that the expected request is missing, or was not taken?
    gap_reported: bool,
    /// The last request that came after a gap, or found no receive.
    last_early: Psn,
    resources: Resources,
    answers: Answers,
    kernels: Kernels,
    receives: ReceiveQueue,
    shares_receives: bool,
    received: VecDeque<Received>,
    failed: bool,
}

/// Why a request was not executed.
enum Refusal {
    /// It ends the connection.
    Nak(NakCode),
    /// It needs a receive, and there is none yet.
    NotReady,
}

impl From<NakCode> for Refusal {
    fn from(code: NakCode) -> Self {
        Self::Nak(code)
    }
}

fn demand(holds: bool) -> Result<(), NakCode> {
    if holds { Ok(()) } else { Err(NakCode::InvalidRequest) }
}

impl Responder {
    /// A responder that waits for its first request, with a receive queue of its own.
    #[must_use]
    pub fn new(settings: &Settings) -> Self {
        Self::with(settings, ReceiveQueue::new(settings.domain), false)
    }

    /// The same, with a receive queue that others use too.
    #[must_use]
    pub fn sharing(settings: &Settings, receives: &ReceiveQueue) -> Self {
        Self::with(settings, receives.clone(), true)
    }

    fn with(settings: &Settings, receives: ReceiveQueue, shares_receives: bool) -> Self {
        Self {
            settings: settings.clone(),
            expected: settings.receive_psn,
            msn: Psn::new(0),
            message: None,
            spare: None,
            gap_reported: false,
            last_early: settings.receive_psn,
            resources: Resources::new(settings),
            answers: Answers::new(settings.coalesce),
            kernels: Kernels::default(),
            receives,
            shares_receives,
            received: VecDeque::new(),
            failed: false,
        }
    }

    /// Lets the peer call these kernels.
    pub fn offer(&mut self, kernels: &Kernels) {
        self.kernels = kernels.clone();
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
        self.flush();
    }

    /// Posts a receive. In error it completes at once, as flushed, unless others may still need it.
    pub fn post_receive(&mut self, receive: Receive) {
        self.receives.post(receive);
        if self.failed {
            self.flush();
        }
    }

    /// The oldest completion of a receive not yet taken.
    pub fn poll_receive(&mut self) -> Option<Received> {
        self.received.pop_front()
    }

    /// The next answer to send.
    pub fn transmit(&mut self) -> Option<Packet> {
        self.answers.next()
    }

    /// Are all answers sent?
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
            // One NAK for a gap: more would make the peer begin again more often than once. One more when the peer has sent again since, and
            // what it sent shows the gap still.
            let has_gone_back = !self.last_early.is_before(request.psn);
            self.last_early = request.psn;
            if self.gap_reported && !has_gone_back {
                return Err(Dropped::Gap);
            }
            self.gap_reported = true;
            self.acknowledge(self.expected, Syndrome::Nak(NakCode::PsnSequence));
            return Ok(());
        }
        self.gap_reported = false;
        match self.execute(request, memory) {
            Ok(()) => {}
            Err(Refusal::Nak(code)) => self.refuse(request.psn, code),
            Err(Refusal::NotReady) => {
                // What was sent behind this request comes again with it.
                self.gap_reported = true;
                self.last_early = request.psn;
                self.acknowledge(request.psn, Syndrome::RnrNak { timer: self.settings.rnr_timer });
            }
        }
        Ok(())
    }

    /// What each op-code does.
    fn execute(&mut self, request: &Packet, memory: &mut Memory) -> Result<(), Refusal> {
        match request.opcode {
            opcode::RC_SEND_FIRST
            | opcode::RC_SEND_MIDDLE
            | opcode::RC_SEND_LAST
            | opcode::RC_SEND_LAST_IMM
            | opcode::RC_SEND_LAST_INV
            | opcode::RC_SEND_ONLY
            | opcode::RC_SEND_ONLY_IMM
            | opcode::RC_SEND_ONLY_INV => self.send(request, memory),
            opcode::RC_WRITE_FIRST
            | opcode::RC_WRITE_MIDDLE
            | opcode::RC_WRITE_LAST
            | opcode::RC_WRITE_LAST_IMM
            | opcode::RC_WRITE_ONLY
            | opcode::RC_WRITE_ONLY_IMM => self.write(request, memory),
            opcode::RC_READ_REQUEST => Ok(self.read(request, memory)?),
            opcode::RC_CMP_SWAP | opcode::RC_FETCH_ADD => Ok(self.atomic(request, memory)?),
            row if row.transport == Transport::Rpc => self.call(request, memory),
            _ => Err(NakCode::InvalidRequest.into()),
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
        self.remote(reth.remote_key, reth.address, rights)
    }

    /// An access of the peer.
    fn remote(&self, key: u32, address: u64, rights: u8) -> Access {
        let Settings { domain, local, .. } = self.settings;
        Access { key, domain, rights, address, queue_pair: Some(local) }
    }

    /// A request from before the expected one: a SEND or WRITE is acknowledged again, a READ executed again, an atomic or a call
    /// answered as it was then.
    fn repeat(&mut self, request: &Packet, memory: &Memory) -> Result<(), Dropped> {
        match request.opcode {
            opcode::RC_READ_REQUEST => self.repeat_read(request, memory),
            opcode::RC_CMP_SWAP | opcode::RC_FETCH_ADD => self.repeat_atomic(request.psn),
            row if row.transport == Transport::Rpc => self.repeat_call(request),
            // SENDs and WRITEs are the first rows of the table, but for those that end a key.
            row if row.code <= opcode::RC_WRITE_ONLY_IMM.code || row.header_set().contains(Header::Ieth) => {
                self.acknowledge_again();
                Ok(())
            }
            _ => Err(Dropped::Repeated),
        }
    }

    /// All up to now has arrived.
    fn acknowledge_again(&mut self) {
        let latest = Psn::new(self.expected.value().wrapping_sub(1));
        self.acknowledge(latest, POSITIVE);
    }

    fn refuse(&mut self, psn: Psn, code: NakCode) {
        self.acknowledge(psn, Syndrome::Nak(code));
        self.failed = true;
        self.flush();
    }

    fn acknowledge(&mut self, psn: Psn, syndrome: Syndrome) {
        self.answers.acknowledge(psn, syndrome, self.msn);
    }
}

/// Does the packet leave more of its message to come?
fn has_more(request: &Packet) -> bool {
    matches!(request.opcode.position, Position::First | Position::Middle)
}

/// Does the packet begin its message?
fn begins(request: &Packet) -> bool {
    matches!(request.opcode.position, Position::First | Position::Only)
}
