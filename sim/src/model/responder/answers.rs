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
    /// Is this the end of the first answer to a READ, atomic or call, which then is no more open?
    frees: bool,
    /// Does it wait for [`Answers::release`], and all behind it?
    held: bool,
}

impl Answer {
    fn is_acknowledgement(&self) -> bool {
        self.packet.opcode == opcode::RC_ACKNOWLEDGE
    }

    fn is_positive(&self) -> bool {
        self.is_acknowledgement() && self.packet.syndrome() == Some(POSITIVE)
    }
}

pub(super) struct Answers {
    waiting: VecDeque<Answer>,
    /// What goes before all of them.
    urgent: VecDeque<Packet>,
    /// Where the READ at the front began, once its first packet has left.
    began: Option<Psn>,
    coalesce: bool,
}

impl Answers {
    pub(super) fn new(coalesce: bool) -> Self {
        Self { waiting: VecDeque::new(), urgent: VecDeque::new(), began: None, coalesce }
    }

    pub(super) fn next(&mut self) -> Option<Packet> {
        if let Some(packet) = self.urgent.pop_front() {
            return Some(packet);
        }
        let packet = self.waiting.pop_front_if(|answer| !answer.held)?.packet;
        match packet.opcode {
            opcode::RC_READ_RESPONSE_FIRST => self.began = Some(packet.psn),
            opcode::RC_READ_RESPONSE_MIDDLE => {}
            _ => self.began = None,
        }
        Some(packet)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.urgent.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.waiting.clear();
        self.urgent.clear();
        self.began = None;
    }

    /// READs, atomics and calls whose first answer is not sent whole.
    pub(super) fn open(&self) -> usize {
        self.waiting.iter().filter(|answer| answer.frees).count()
    }

    /// Data for a READ that came before. One that begins behind the first packet of the READ at the front, and not behind the
    /// one that comes next, is a requester that goes back: a copy that the wire made of a request begins where that began. It
    /// asks again for everything behind as well. So it takes the place of all that waits: data, and positive acknowledgements, which would
    /// come before the data and look like a loss. Other acknowledgements stay, behind it.
    pub(super) fn data_again(&mut self, packets: Vec<Packet>) {
        let begins = packets.first().map(|packet| packet.psn);
        let next = self.waiting.front().map(|answer| answer.packet.psn);
        let goes_back = |((began, begins), next): ((Psn, Psn), Psn)| {
            (1..=next.distance(began)).contains(&begins.distance(began))
        };
        if !self.began.zip(begins).zip(next).is_some_and(goes_back) {
            // What is asked for again is older than a call that still runs.
            let running = self.waiting.iter().position(|answer| answer.held).unwrap_or(self.waiting.len());
            let mut behind = self.waiting.split_off(running);
            self.data(packets, false);
            return self.waiting.append(&mut behind);
        }
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.retain(|answer| answer.is_acknowledgement() && !answer.is_positive());
        self.began = None;
        self.data(packets, false);
        self.waiting.append(&mut waiting);
    }

    /// Data for a READ, atomic or call, asked for the first time or again.
    pub(super) fn data(&mut self, packets: Vec<Packet>, is_new: bool) {
        self.queue(packets, is_new, false);
    }

    /// Data for a call that was asked for the first time and still runs.
    pub(super) fn data_later(&mut self, packets: Vec<Packet>) {
        self.queue(packets, true, true);
    }

    fn queue(&mut self, packets: Vec<Packet>, is_new: bool, held: bool) {
        let last = packets.len().saturating_sub(1);
        let answer = |(index, packet)| Answer { packet, frees: is_new && index == last, held };
        self.waiting.extend(packets.into_iter().enumerate().map(answer));
    }

    /// Is what goes next one of these PSNs?
    pub(super) fn is_next(&self, base: Psn, count: u32) -> bool {
        self.waiting.front().is_some_and(|answer| answer.packet.psn.in_window(base, count))
    }

    /// The call whose answer begins with this PSN has ended.
    pub(super) fn release(&mut self, base: Psn, count: u32) {
        for answer in self.waiting.iter_mut().filter(|answer| answer.packet.psn.in_window(base, count)) {
            answer.held = false;
        }
    }

    /// An answer that waits for no other.
    pub(super) fn at_once(&mut self, packet: Packet) {
        self.urgent.push_back(packet);
    }

    /// An ACK or NAK.
    pub(super) fn acknowledge(&mut self, psn: Psn, syndrome: Syndrome, msn: Psn) {
        let packet = Packet::acknowledge(psn, syndrome, msn);
        match self.waiting.back_mut().filter(|answer| answer.is_positive()) {
            Some(answer) if self.coalesce && syndrome == POSITIVE => answer.packet = packet,
            _ => self.waiting.push_back(Answer { packet, frees: false, held: false }),
        }
    }
}
