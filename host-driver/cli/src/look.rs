//! A card that is looked at, and not taken: what others do with it goes on.
//!
//! Registers of a card of a fabric are read through the fabric. A board is opened as ever, because the kernel lets nobody look over
//! a shoulder; its registers are left as they are, though the kernel may reset a board that it opens.

mod asked;

use std::sync::Arc;
use std::time::Duration;

use stroma_control::Status;
use stroma_device::{Backend, Card};

use crate::card::{self, Target};
use crate::devices;
use asked::Asked;

/// How long a card may take to be ready.
const PATIENCE: Duration = Duration::from_secs(30);

/// A card, and what its fabric says of it.
pub(crate) struct Look {
    pub(crate) card: Card,
    /// The fabric, and the card's number in it.
    pub(crate) fabric: Option<(Status, usize)>,
}

impl Look {
    /// Looks at a card.
    pub(crate) fn at(target: &Target) -> anyhow::Result<Self> {
        let Some((folder, number)) = target.of_fabric()? else {
            let card = Card::open(target.open()?, PATIENCE)?;
            return Ok(Self { card, fabric: None });
        };
        let status = card::find(&folder, number)?;
        let backend: Arc<dyn Backend> = Arc::new(Asked::new(&folder, number)?);
        Ok(Self { card: Card::open(backend, PATIENCE)?, fabric: Some((status, number)) })
    }

    /// What people call it.
    pub(crate) fn name(&self) -> String {
        self.card.backend().identity().name.clone()
    }

    /// Who has it, as far as anybody knows.
    pub(crate) fn user(&self) -> Option<String> {
        let (status, number) = self.fabric.as_ref()?;
        status.cards.get(*number).map(devices::user)
    }
}
