//! Answers that wait to be sent: they leave in the order of their requests.

use std::collections::VecDeque;

use stroma_abi::Psn;
use stroma_abi::wire::{Syndrome, opcode};

use super::super::Packet;

/// What every positive answer says about credits: 31, the responder does not count. Soft-RoCE sends the same; a SEND without
/// a receive is answered by RNR NAK.
pub(super) const POSITIVE: Syndrome = Syndrome::Ack { credits: 31 };

struct Answer {
    packet: Packet,
    /// Is this the end of the first answer to a READ or atomic, which then is no more open?
    frees: bool,
}

pub(super) struct Answers {
    waiting: VecDeque<Answer>,
    coalesce: bool,
}

impl Answers {
    pub(super) fn new(coalesce: bool) -> Self {
        Self { waiting: VecDeque::new(), coalesce }
    }

    pub(super) fn next(&mut self) -> Option<Packet> {
        self.waiting.pop_front().map(|answer| answer.packet)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }

    /// READs and atomics whose first answer is not sent whole.
    pub(super) fn open(&self) -> usize {
        self.waiting.iter().filter(|answer| answer.frees).count()
    }

    /// Data for a READ or atomic, asked for the first time or again.
    pub(super) fn data(&mut self, packets: Vec<Packet>, is_new: bool) {
        let last = packets.len().saturating_sub(1);
        let answer = |(index, packet)| Answer { packet, frees: is_new && index == last };
        self.waiting.extend(packets.into_iter().enumerate().map(answer));
    }

    /// An ACK or NAK.
    pub(super) fn acknowledge(&mut self, psn: Psn, syndrome: Syndrome, msn: Psn) {
        let packet = Packet::acknowledge(psn, syndrome, msn);
        let is_replaced = |answer: &&mut Answer| {
            answer.packet.opcode == opcode::RC_ACKNOWLEDGE && answer.packet.syndrome() == Some(POSITIVE)
        };
        match self.waiting.back_mut().filter(is_replaced) {
            Some(answer) if self.coalesce && syndrome == POSITIVE => answer.packet = packet,
            _ => self.waiting.push_back(Answer { packet, frees: false }),
        }
    }
}
