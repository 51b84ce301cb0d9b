//! One queue pair: both sides of a connection, and what they share.

use stroma_abi::wire::opcode::UNRELIABLE_BIT;
use stroma_abi::wire::{Frame, Opcode, Role, Transport};

use super::path::is_marked;
use super::{Dropped, Memory, Packet, ReceiveQueue, Requester, Responder, Settings};

/// A queue pair. An error on one side ends the other too.
pub struct QueuePair {
    settings: Settings,
    /// The side that posts.
    pub requester: Requester,
    /// The side that serves the peer.
    pub responder: Responder,
    /// A congestion notification is to be sent; when the last one was.
    owes_notice: bool,
    noticed: Option<u64>,
    notices: u64,
    requester_first: bool,
}

impl QueuePair {
    /// A queue pair that is ready to send, with a receive queue of its own.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let responder = Responder::new(&settings);
        Self::with(settings, responder)
    }

    /// The same, with a receive queue that others use too.
    #[must_use]
    pub fn sharing(settings: Settings, receives: &ReceiveQueue) -> Self {
        let responder = Responder::sharing(&settings, receives);
        Self::with(settings, responder)
    }

    fn with(settings: Settings, responder: Responder) -> Self {
        Self {
            requester: Requester::new(&settings),
            responder,
            settings,
            owes_notice: false,
            noticed: None,
            notices: 0,
            requester_first: false,
        }
    }

    /// Congestion notifications received.
    #[must_use]
    pub const fn notices(&self) -> u64 {
        self.notices
    }

    /// Is it in error?
    #[must_use]
    pub const fn is_failed(&self) -> bool {
        self.requester.is_failed() || self.responder.is_failed()
    }

    /// Takes a frame that carries this queue pair's number.
    pub(super) fn receive(&mut self, now: u64, frame: &Frame, memory: &mut Memory) -> Result<(), Dropped> {
        if !self.settings.path.is_way_of(frame) {
            return Err(Dropped::Peer);
        }
        let (found, wanted) = (frame.bth.partition, self.settings.partition);
        if found != wanted {
            return Err(Dropped::Partition { found, wanted });
        }
        let row = *frame.opcode().ok_or(Dropped::Unasked)?;
        let is_spoken = match row.transport {
            Transport::Rc | Transport::Rpc => !self.settings.unreliable,
            Transport::Uc => self.settings.unreliable,
            Transport::Cnp => true,
            Transport::Ud => false,
        };
        if !is_spoken {
            return Err(Dropped::Service { opcode: row.name });
        }
        let row = if row.transport == Transport::Uc { twin(row) } else { row };
        let packet = Packet {
            opcode: row,
            ack_request: frame.bth.ack_request,
            solicited: frame.bth.solicited,
            becn: frame.bth.becn,
            psn: frame.bth.psn,
            extended: frame.extended,
            payload: frame.payload.to_vec(),
        };
        let is_early = self.noticed.is_some_and(|then| now < then + self.settings.notice_ticks);
        self.owes_notice |= is_marked(frame) && row.role != Role::Notice && !is_early;
        let outcome = match row.role {
            Role::Request => {
                if self.settings.unreliable {
                    self.responder.receive_unanswered(&packet, memory)
                } else {
                    self.responder.receive(&packet, memory)
                }
            }
            Role::Response => self.requester.receive(now, &packet, memory),
            Role::Notice => {
                self.notices += 1;
                Ok(())
            }
        };
        self.share_error();
        outcome
    }

    /// The next frame to send: notices first, then the two sides in turn, so that neither starves the other.
    pub(super) fn transmit(&mut self, now: u64, memory: &mut Memory) -> Option<Vec<u8>> {
        let packet = if self.owes_notice {
            (self.owes_notice, self.noticed) = (false, Some(now));
            Some(Packet::notice())
        } else if self.requester_first {
            self.requester.transmit(now, memory).or_else(|| self.responder.transmit())
        } else {
            self.responder.transmit().or_else(|| self.requester.transmit(now, memory))
        };
        self.requester_first = packet.as_ref().is_some_and(|packet| packet.opcode.role == Role::Response);
        self.share_error();
        packet.map(|mut packet| {
            if self.settings.unreliable && packet.opcode.transport == Transport::Rc {
                self.requester.depart(now, packet.psn);
                (packet.opcode, packet.ack_request) = (twin(packet.opcode), false);
            }
            let Settings { path, remote, partition, .. } = &self.settings;
            path.frame(&packet, *remote, *partition)
        })
    }

    pub(super) fn tick(&mut self, now: u64) {
        self.requester.tick(now);
        self.share_error();
    }

    fn share_error(&mut self) {
        if self.responder.is_failed() && !self.requester.is_failed() {
            self.requester.flush();
        } else if self.requester.is_failed() && !self.responder.is_failed() {
            self.responder.halt();
        }
    }
}

/// The op-code of the same packet on the other kind of connection: both sides know those of the reliable one.
fn twin(row: Opcode) -> Opcode {
    *Opcode::lookup(row.code ^ UNRELIABLE_BIT).unwrap_or_else(|| panic!("{} has no twin", row.name))
}
