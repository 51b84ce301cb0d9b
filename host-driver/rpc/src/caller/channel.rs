//! The way to a service: messages out, answers in.

use std::sync::Arc;

use stroma_verbs::QueuePair;

use super::{BODY_AT, HEAD_AT};
use crate::book::{Errand, Ticket};
use crate::queues::check_units;
use crate::slots::Slots;
use crate::{Error, Result, Shape};

/// Who carries calls out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// The card, and the service what the card has no kernel for.
    CardFirst,
    /// The service, always.
    ServiceOnly,
}

#[derive(Debug)]
pub(super) struct Channel {
    pub(super) queue_pair: QueuePair,
    /// Where answers come.
    pub(super) inbox: Slots,
    route: Route,
}

impl Channel {
    pub(super) fn new(
        calling: &QueuePair,
        queue_pair: QueuePair,
        shape: &Shape,
        route: Route,
    ) -> Result<Self> {
        let (number, service) = (calling.number(), queue_pair.number());
        if !Arc::ptr_eq(calling.domain(), queue_pair.domain()) {
            return Err(Error::OtherDomain { number, service });
        }
        check_units(shape, &queue_pair)?;
        let inbox = Slots::new(queue_pair.domain(), shape.places, shape.answer_message())?;
        (0..shape.places).try_for_each(|place| inbox.receive(&queue_pair, place))?;
        Ok(Self { queue_pair, inbox, route })
    }

    pub(super) fn is_only(&self) -> bool {
        self.route == Route::ServiceOnly
    }

    /// Sends what is in a room, and the stream behind it.
    pub(super) fn send(&self, rooms: &Slots, ticket: Ticket, errand: &Errand, max: usize) -> Result<()> {
        let (operation, length) = (errand.operation, errand.total());
        if length > max as u64 {
            return Err(Error::MessageTooLong { operation, length, max });
        }
        let message = rooms.piece(ticket.place(), HEAD_AT, BODY_AT - HEAD_AT + errand.length)?;
        let pieces = [&[message], &errand.stream[..]].concat();
        Ok(self.queue_pair.start().wr_id(ticket.id()).signaled().send(&pieces).post()?)
    }
}
