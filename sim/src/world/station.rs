//! A card and its end of a wire.

use crate::Card;
use crate::link::pause::PauseFrame;
use crate::link::{Flights, Line};

/// Where a card's wire leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Peer {
    /// To the card of this index.
    Card(usize),
    /// To this port of the switch.
    Switch(usize),
}

/// A card's end of a wire.
pub(super) struct End {
    pub(super) line: Line,
    pub(super) inbox: Flights,
    pub(super) peer: Peer,
}

/// A card and what it is plugged into.
pub(super) struct Station {
    pub(super) card: Card,
    pub(super) end: Option<End>,
}

impl Station {
    /// The first cycle in which the card does something by itself, a frame arrives here, or one from here arrives elsewhere.
    pub(super) fn next_due(&self) -> Option<u64> {
        let wire = self.end.iter().flat_map(|end| [end.line.next_due(), end.inbox.next_due()]);
        wire.chain([self.card.next_due()]).flatten().min()
    }

    /// Before a cycle: the MAC hands over what has arrived, and takes from the card what the line has room for.
    pub(super) fn deliver(&mut self) {
        let now = self.card.cycle();
        let Some(End { line, inbox, .. }) = &mut self.end else { return };
        while let Some((bytes, bad)) = inbox.pop(now) {
            match PauseFrame::parse(&bytes) {
                Some(pause) if line.config().honours_pause && !bad => line.pause(now, &pause),
                _ => self.card.receive(&bytes, bad),
            }
        }
        self.card.hold(!line.takes(now));
    }

    /// After a cycle: what has left the card goes onto the line.
    pub(super) fn collect(&mut self) {
        if let Some(End { line, .. }) = &mut self.end {
            for sent in self.card.take_sent() {
                // The beat moves at the end of its cycle.
                line.push(sent.begun, sent.ended + 1, sent.bytes, sent.bad);
            }
        }
    }

    /// Runs up to cycle `end` without looking at any other card.
    pub(super) fn run(&mut self, end: u64, is_skipping: bool) {
        while self.card.cycle() < end {
            self.deliver();
            let arrival = self.end.as_ref().and_then(|wire| wire.inbox.next_due());
            let due = self.card.next_due().into_iter().chain(arrival).min().unwrap_or(end).min(end);
            if is_skipping && due > self.card.cycle() + 1 {
                self.card.skip_to(due);
            } else {
                self.card.step();
            }
            self.collect();
        }
    }
}
