//! The responder of an unreliable connection: whole messages are carried out, and nobody hears of the others.

use super::incoming::Message;
use super::{Responder, begins};
use crate::model::{Dropped, Memory, Packet, Receive};

impl Responder {
    /// Takes a packet (IBTA 9.8.3). One that begins a message is good whatever its PSN; all others have to follow the one before. What is out of
    /// its place, wrong, not allowed, or without a receive ends the message under way, and the rest of that has no place either.
    ///
    /// # Errors
    /// When nothing of it is carried out.
    pub fn receive_unanswered(&mut self, request: &Packet, memory: &mut Memory) -> Result<(), Dropped> {
        if self.is_failed() {
            return Err(Dropped::Failed);
        }
        if begins(request) || request.psn != self.expected {
            self.break_off();
        }
        if !begins(request) && self.message.is_none() {
            return Err(Dropped::Broken);
        }
        self.expected = request.psn;
        let outcome = self.execute(&Packet { ack_request: false, ..request.clone() }, memory);
        outcome.map_err(|_| {
            self.break_off();
            Dropped::Broken
        })
    }

    /// The message under way is over. The receive that it has taken is for the next.
    fn break_off(&mut self) {
        if let Some(Message::Send { receive, .. }) = self.message.take() {
            self.spare = Some(*receive);
        }
    }

    /// The next receive, if there is one.
    pub(super) fn take_receive(&mut self) -> Option<Receive> {
        self.spare.take().or_else(|| self.receives.take())
    }
}
