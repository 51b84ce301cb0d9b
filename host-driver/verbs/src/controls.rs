//! What a card is asked through: its registers, its mailbox, and the numbers of what is on it.
//!
//! A device shares them with who tells others what is on the card, and who has no share of the device: nobody but the program decides when the
//! card is let go.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard},
    time::Duration,
};

use stroma_abi::desc::{CommandStatus, ObjectKind, Verb, mailbox::BODY_LEN};
use stroma_device::Card;

use crate::{
    Error, Result,
    inventory::Inventory,
    lock,
    mailbox::{Mailbox, Order},
};

/// What a card is asked through.
pub(crate) struct Controls {
    pub(crate) card: Card,
    pub(crate) numbers: Inventory,
    mailbox: Mutex<Mailbox>,
    /// Where the first page is of each region that has had a list of pages; the others follow it. The card knows where the list is.
    lists: Mutex<HashMap<u32, u64>>,
}

impl Controls {
    pub(crate) fn new(card: Card, timeout: Duration) -> Self {
        let numbers = Inventory::new(card.capabilities());
        Self { card, numbers, mailbox: Mutex::new(Mailbox::new(timeout)), lists: Mutex::default() }
    }

    pub(crate) fn command(&self, order: &Order<'_>) -> Result<[u8; BODY_LEN]> {
        lock(&self.mailbox).run(&self.card, order)
    }

    /// What the card shows of an object; `None` if there is none.
    pub(crate) fn show(&self, kind: ObjectKind, number: u32) -> Result<Option<[u8; BODY_LEN]>> {
        match self.command(&Order { verb: Verb::Query, kind, number, attributes: 0, body: &[] }) {
            Ok(body) => Ok(Some(body)),
            Err(Error::CommandRefused { status: CommandStatus::NoObject, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn lists(&self) -> MutexGuard<'_, HashMap<u32, u64>> {
        lock(&self.lists)
    }
}
