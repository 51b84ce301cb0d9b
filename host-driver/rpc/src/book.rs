//! The book of places: who has which, and what became of the call in it.
//!
//! A place is somebody else's only when nothing can come of its last call any more: its [`Pending`](crate::Pending) is gone or has its
//! answer, the card has completed every request that names the room, and the service has answered if it was asked. So whoever
//! drops a `Pending` early leaves the room to the card until the card is done with it.

#[cfg(test)]
mod tests;

use stroma_kernel_models::Outcome;
use stroma_verbs::{Sge, Status};

use crate::{Error, Result};

/// A place, for one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket {
    place: u32,
    /// Counts the calls of the place: what comes for an earlier one is nobody's.
    lap: u32,
}

impl Ticket {
    pub(crate) fn place(self) -> usize {
        self.place as usize
    }

    /// As requests and messages carry it.
    pub(crate) fn id(self) -> u64 {
        u64::from(self.lap) << u32::BITS | u64::from(self.place)
    }

    #[expect(clippy::cast_possible_truncation, reason = "the halves of the number are meant")]
    pub(crate) fn from_id(id: u64) -> Self {
        Self { place: id as u32, lap: (id >> u32::BITS) as u32 }
    }
}

/// What is kept of a request: enough to repeat it, and to name it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Errand {
    pub(crate) operation: u16,
    /// Bytes of parameters and payload in the room.
    pub(crate) length: usize,
    /// What comes behind them.
    pub(crate) stream: Vec<Sge>,
    /// Where the answer goes on to.
    pub(crate) onward: Option<Onward>,
}

/// A place in the peer's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Onward {
    /// Its address.
    pub address: u64,
    /// The key that it is written under.
    pub key: u32,
}

impl Errand {
    /// Bytes of all of it.
    pub(crate) fn total(&self) -> u64 {
        let stream = self.stream.iter().map(|piece| u64::from(piece.length)).sum::<u64>();
        self.length as u64 + stream
    }
}

/// What there is for who wants an answer.
#[derive(Debug)]
pub(crate) enum Found {
    NotYet,
    End(Result<Outcome>),
    /// It was taken before.
    Gone,
}

#[derive(Debug, Default)]
struct Place {
    lap: u32,
    /// Somebody wants the answer.
    is_held: bool,
    /// Requests that the card has not completed.
    posted: u32,
    /// The service has not answered.
    awaits: bool,
    errand: Errand,
    /// The answer, while it goes on to the peer.
    kept: Option<Outcome>,
    end: Option<Result<Outcome>>,
}

#[derive(Debug)]
pub(crate) struct Book {
    places: Vec<Place>,
    free: Vec<u32>,
    strays: u64,
}

impl Book {
    pub(crate) fn new(places: u32) -> Self {
        let free = (0..places).rev().collect();
        Self { places: (0..places).map(|_| Place::default()).collect(), free, strays: 0 }
    }

    /// A place for a call; `None` when all are in use.
    pub(crate) fn take(&mut self, errand: Errand) -> Option<Ticket> {
        let place = self.free.pop()?;
        let found = &mut self.places[place as usize];
        (found.is_held, found.errand) = (true, errand);
        Some(Ticket { place, lap: found.lap })
    }

    /// A request that names the room goes to the card.
    pub(crate) fn posts(&mut self, ticket: Ticket) {
        if let Some(place) = self.find(ticket) {
            place.posted += 1;
        }
    }

    /// A request to the service goes to the card, if anybody still wants its answer.
    pub(crate) fn asks(&mut self, ticket: Ticket) -> Option<Errand> {
        let place = self.find(ticket).filter(|place| place.is_held)?;
        place.posted += 1;
        place.awaits = true;
        Some(place.errand.clone())
    }

    /// The card has completed a request, or never got it: it uses the room for that no more.
    pub(crate) fn completes(&mut self, ticket: Ticket) {
        if let Some(place) = self.find(ticket) {
            place.posted = place.posted.saturating_sub(1);
        }
        self.settle(ticket);
    }

    /// The card never got a request to the service.
    pub(crate) fn unasks(&mut self, ticket: Ticket) {
        if let Some(place) = self.find(ticket) {
            place.awaits = false;
        }
        self.completes(ticket);
    }

    /// What became of the call. No answer of the service is awaited behind it.
    pub(crate) fn ends(&mut self, ticket: Ticket, end: impl FnOnce(u16) -> Result<Outcome>) {
        if let Some(place) = self.find(ticket) {
            place.awaits = false;
            if place.is_held {
                place.end.get_or_insert_with(|| end(place.errand.operation));
            }
        }
        self.settle(ticket);
    }

    /// The answer of a call goes on to the peer from the room, if anybody still wants it to: where to.
    pub(crate) fn sends_on(&mut self, ticket: Ticket, outcome: Outcome) -> Option<Onward> {
        let place = self.find(ticket).filter(|place| place.is_held)?;
        let onward = place.errand.onward?;
        place.posted += 1;
        place.kept = Some(outcome);
        Some(onward)
    }

    /// Does its answer go on to the peer?
    pub(crate) fn is_on_its_way(&mut self, ticket: Ticket) -> bool {
        self.find(ticket).is_some_and(|place| place.kept.is_some())
    }

    /// The answer is with the peer, or is not: what became of the call.
    pub(crate) fn sent_on(&mut self, ticket: Ticket, failed: Option<(Status, u8)>) {
        let kept = self.find(ticket).and_then(|place| place.kept.take());
        self.completes(ticket);
        self.ends(ticket, |operation| match (failed, kept) {
            (Some((status, vendor)), _) => Err(Error::Completion { operation, status, vendor }),
            (None, Some(outcome)) => Ok(outcome),
            (None, None) => Err(Error::NoStatus { operation }),
        });
    }

    /// The service has answered. An answer that nobody awaits is counted.
    pub(crate) fn answered(&mut self, ticket: Ticket, outcome: Outcome) {
        match self.find(ticket) {
            Some(place) if place.awaits => self.ends(ticket, |_| Ok(outcome)),
            _ => self.strays += 1,
        }
    }

    /// The service will not answer any more.
    pub(crate) fn service_ends(&mut self, end: impl Fn(u16) -> Error) {
        let numbered = self.places.iter().zip(0..).filter(|(place, _)| place.awaits);
        let waiting: Vec<Ticket> =
            numbered.map(|(place, number)| Ticket { place: number, lap: place.lap }).collect();
        for ticket in waiting {
            self.ends(ticket, |operation| Err(end(operation)));
        }
    }

    /// Something that came and is nobody's.
    pub(crate) fn stray(&mut self) {
        self.strays += 1;
    }

    pub(crate) fn strays(&self) -> u64 {
        self.strays
    }

    /// Does anybody want the answer?
    pub(crate) fn is_held(&mut self, ticket: Ticket) -> bool {
        self.find(ticket).is_some_and(|place| place.is_held)
    }

    /// What became of the call. Who has that holds the place no more.
    pub(crate) fn take_end(&mut self, ticket: Ticket) -> Found {
        let Some(place) = self.find(ticket).filter(|place| place.is_held) else { return Found::Gone };
        match place.end.take() {
            None => Found::NotYet,
            Some(end) => {
                self.let_go(ticket);
                Found::End(end)
            }
        }
    }

    /// Nobody wants the answer any more.
    pub(crate) fn let_go(&mut self, ticket: Ticket) {
        if let Some(place) = self.find(ticket) {
            (place.is_held, place.end) = (false, None);
        }
        self.settle(ticket);
    }

    fn find(&mut self, ticket: Ticket) -> Option<&mut Place> {
        self.places.get_mut(ticket.place()).filter(|place| place.lap == ticket.lap)
    }

    /// Gives the place back if nothing can come of its call any more.
    fn settle(&mut self, ticket: Ticket) {
        let done = |place: &&mut Place| !place.is_held && place.posted == 0 && !place.awaits;
        if let Some(place) = self.find(ticket).filter(done) {
            *place = Place { lap: ticket.lap.wrapping_add(1), ..Place::default() };
            self.free.push(ticket.place);
        }
    }
}
