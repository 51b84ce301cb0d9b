//! An object on the card: made by a command, ended by another when dropped.

use std::{mem, sync::Arc};

use stroma_abi::desc::{ObjectKind, Verb, mailbox::BODY_LEN};

use crate::{Device, Error, Result, iova::Mapped, mailbox::Order, numbers::Number};

/// An object on the card, with its number and the memory it works on.
#[derive(Debug)]
pub(crate) struct Object {
    device: Arc<Device>,
    kind: ObjectKind,
    /// `None` when the card did not confirm the object's end, or did not say whether it began.
    number: Option<Number>,
    memory: Vec<Mapped>,
    lives: bool,
}

impl Object {
    /// Makes the object of `body`.
    pub(crate) fn create(
        device: &Arc<Device>,
        kind: ObjectKind,
        number: Number,
        body: &[u8],
        memory: Vec<Mapped>,
    ) -> Result<Self> {
        let mut object =
            Self { device: Arc::clone(device), kind, number: Some(number), memory, lives: false };
        match object.command(Verb::Create, 0, body) {
            Ok(_) => {
                object.lives = true;
                Ok(object)
            }
            Err(error) => {
                // What the card refused does not exist. Anything else may have happened after the object was made.
                if !matches!(error, Error::CommandRefused { .. }) {
                    object.abandon();
                }
                Err(error)
            }
        }
    }

    pub(crate) fn device(&self) -> &Arc<Device> {
        &self.device
    }

    pub(crate) fn number(&self) -> u32 {
        self.number.as_ref().map_or(u32::MAX, Number::value)
    }

    /// The memory the object was made with, in the order it was given.
    pub(crate) fn memory(&self, index: usize) -> &Mapped {
        &self.memory[index]
    }

    pub(crate) fn command(&self, verb: Verb, attributes: u64, body: &[u8]) -> Result<[u8; BODY_LEN]> {
        let (kind, number) = (self.kind, self.number());
        self.device.command(&Order { verb, kind, number, attributes, body })
    }

    /// Ends the object on the card; its number stays taken until it is dropped. Tried once.
    pub(crate) fn destroy(&mut self) -> Result<()> {
        if !mem::take(&mut self.lives) {
            return Ok(());
        }
        let ended = self.command(Verb::Destroy, 0, &[]);
        if ended.is_err() {
            self.abandon();
        }
        ended.map(drop)
    }

    /// Ends the object, and gives its number for another in its place. A card that does not confirm keeps both.
    pub(crate) fn end(mut self) -> Result<Number> {
        self.destroy()?;
        Ok(self.number.take().expect("an object whose end was confirmed has its number"))
    }

    fn abandon(&mut self) {
        self.number.take().into_iter().for_each(Number::retire);
        self.memory.drain(..).for_each(Mapped::abandon);
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        // What it failed with is lost; what it means was dealt with: memory and number are not used again.
        let _ = self.destroy();
    }
}
