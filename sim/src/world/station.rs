//! A card or a peer, and its end of a wire.

use crate::Card;
use crate::capture::{Capture, Listener};
use crate::card::SKIP_MAX;
use crate::link::pause::PauseFrame;
use crate::link::{Flights, Line};
use crate::pcap::{self, Direction};
use crate::peer::Peer;

/// Where a wire leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Far {
    /// To the station of this index.
    Station(usize),
    /// To this port of the switch.
    Switch(usize),
}

/// A station's end of a wire.
pub(super) struct End {
    pub(super) line: Line,
    pub(super) inbox: Flights,
    pub(super) far: Far,
}

/// A peer, its clock, and the recording of its port.
pub(super) struct Guest {
    pub(super) peer: Box<dyn Peer>,
    now: u64,
    clock_khz: u32,
    capture: Capture,
}

impl Guest {
    pub(super) fn new(peer: Box<dyn Peer>, now: u64, clock_khz: u32) -> Self {
        Self { peer, now, clock_khz, capture: Capture::default() }
    }

    fn receive(&mut self, bytes: &[u8], bad: bool) {
        self.capture.record(self.now, self.clock_khz, Direction::In, bytes, bad);
        self.peer.receive(self.now, bytes, bad);
    }

    /// Lets the peer do what is due, as the line has room.
    fn act(&mut self, line: &mut Line) {
        while self.peer.next_due(self.now).is_some_and(|due| due <= self.now) && line.takes(self.now) {
            self.peer.tick(self.now);
            let Some(bytes) = self.peer.transmit(self.now) else { return };
            self.capture.record(self.now, self.clock_khz, Direction::Out, &bytes, false);
            line.push(self.now, self.now, bytes, false);
        }
    }
}

/// Who is at a station.
pub(super) enum Body {
    Card(Box<Card>),
    Guest(Box<Guest>),
}

/// Somebody, and what he is plugged into.
pub(super) struct Station {
    pub(super) body: Body,
    pub(super) end: Option<End>,
}

impl Station {
    /// A station on no wire yet.
    pub(super) fn new(body: Body) -> Self {
        Self { body, end: None }
    }

    /// Its clock.
    pub(super) fn now(&self) -> u64 {
        match &self.body {
            Body::Card(card) => card.cycle(),
            Body::Guest(guest) => guest.now,
        }
    }

    /// The first cycle in which something happens here by itself.
    fn body_due(&self) -> Option<u64> {
        match (&self.body, &self.end) {
            (Body::Card(card), end) => {
                let now = card.cycle();
                let pause = end.as_ref().map(|end| end.line.pause_end(now)).filter(|end| *end > now);
                pause.into_iter().chain(card.next_due()).min()
            }
            (Body::Guest(guest), Some(end)) => {
                guest.peer.next_due(guest.now).map(|due| due.max(end.line.room_due()))
            }
            (Body::Guest(_), None) => None,
        }
    }

    /// The same, or a frame arrives here.
    pub(super) fn wanted(&self) -> Option<u64> {
        let arrival = self.end.as_ref().and_then(|end| end.inbox.next_due());
        self.body_due().into_iter().chain(arrival).min()
    }

    /// The same, or a frame from here arrives elsewhere.
    pub(super) fn next_due(&self) -> Option<u64> {
        let departure = self.end.as_ref().and_then(|end| end.line.next_due());
        self.wanted().into_iter().chain(departure).min()
    }

    /// Before a cycle: the MAC hands over what has arrived, and takes what the line has room for.
    pub(super) fn deliver(&mut self) {
        let now = self.now();
        let Some(End { line, inbox, .. }) = &mut self.end else { return };
        while let Some((bytes, bad)) = inbox.pop(now) {
            match (PauseFrame::parse(&bytes), &mut self.body) {
                (Some(pause), _) if line.config().honours_pause && !bad => line.pause(now, &pause),
                (_, Body::Card(card)) => card.receive(&bytes, bad),
                (_, Body::Guest(guest)) => guest.receive(&bytes, bad),
            }
        }
        match &mut self.body {
            Body::Card(card) => {
                card.silence(line.pause_end(now) > now);
                card.hold(!line.takes(now));
            }
            Body::Guest(guest) => guest.act(line),
        }
    }

    /// One cycle.
    pub(super) fn step(&mut self) {
        match &mut self.body {
            Body::Card(card) => card.step(),
            Body::Guest(guest) => guest.now += 1,
        }
    }

    /// Jumps to a cycle before which nothing happens here, if it is behind.
    pub(super) fn catch_up(&mut self, cycle: u64) {
        while self.now() < cycle {
            self.skip_to(cycle.min(self.now() + SKIP_MAX));
        }
    }

    fn skip_to(&mut self, cycle: u64) {
        match &mut self.body {
            Body::Card(card) => card.skip_to(cycle),
            Body::Guest(guest) => guest.now = cycle,
        }
    }

    /// After a cycle: what has left the card goes onto the line.
    pub(super) fn collect(&mut self) {
        if let (Some(End { line, .. }), Body::Card(card)) = (&mut self.end, &mut self.body) {
            for sent in card.take_sent() {
                // The beat moves at the end of its cycle.
                line.push(sent.begun, sent.ended + 1, sent.bytes, sent.bad);
            }
        }
    }

    /// Runs up to cycle `end` without looking at any other station.
    pub(super) fn run(&mut self, end: u64, is_skipping: bool) {
        while self.now() < end {
            self.deliver();
            let due = self.wanted().unwrap_or(end).min(end);
            if is_skipping && due > self.now() + 1 {
                self.catch_up(due);
            } else {
                self.step();
            }
            self.collect();
        }
    }

    pub(super) fn start_capture(&mut self, writer: pcap::Writer) {
        match &mut self.body {
            Body::Card(card) => card.start_capture(writer),
            Body::Guest(guest) => guest.capture.start(writer),
        }
    }

    pub(super) fn add_listener(&mut self, listener: Box<dyn Listener>) {
        match &mut self.body {
            Body::Card(card) => card.add_listener(listener),
            Body::Guest(guest) => guest.capture.listen(listener),
        }
    }

    pub(super) fn finish_capture(&mut self) -> Result<(), pcap::Error> {
        match &mut self.body {
            Body::Card(card) => card.finish_capture(),
            Body::Guest(guest) => guest.capture.finish(),
        }
    }
}
