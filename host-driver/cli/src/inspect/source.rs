//! Where a program's driver is asked.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::bail;
use stroma_control::inspect::{self, Question, Told};
use stroma_control::{CardStatus, Error};

use crate::bind::System;
use crate::card::{self, CardName, Place, Target};
use crate::devices;

/// How long an answer may take: simulated cards with much on them are slow.
const PATIENCE: Duration = Duration::from_mins(1);

/// A card that a program may have.
#[derive(Debug)]
pub(super) struct Source {
    /// What people call it.
    pub(super) card: String,
    /// Where its program's driver listens.
    socket: PathBuf,
    /// Who has it, where the fabric knows.
    user: Option<String>,
}

impl Source {
    /// Of a card by its name.
    pub(super) fn of(name: &CardName, place: &Place) -> anyhow::Result<Self> {
        let target = Target { name: name.clone(), place: place.clone() };
        if let Some((folder, number)) = target.of_fabric()? {
            let status = card::find(&folder, number)?;
            return Self::of_fabric(&folder, &status.cards[number]).ok_or_else(|| nobody(&name.to_string()));
        }
        let socket = match name {
            CardName::Pci(address) => stroma_control::board_inspection(address),
            CardName::Socket(path) => stroma_control::inspection(path),
            _ => bail!("{name} would be a card of this command's own, with nothing on it"),
        };
        Ok(Self { card: name.to_string(), socket, user: None })
    }

    /// All that are taken, and boards that have been.
    pub(super) fn all(folder: &Path) -> anyhow::Result<Vec<Self>> {
        let fabric = stroma_control::find(folder)?;
        let boards = System::here().boards().into_iter().map(|board| Self {
            socket: stroma_control::board_inspection(&board.address),
            card: board.address,
            user: None,
        });
        let boards: Vec<Self> = boards.filter(|board| board.socket.exists()).collect();
        if fabric.is_none() && boards.is_empty() {
            return Err(Error::NotRunning { folder: folder.to_path_buf() }.into());
        }
        let cards = fabric.iter().flat_map(|fabric| &fabric.cards);
        let cards = cards.filter_map(|card| Self::of_fabric(folder, card));
        Ok(cards.chain(boards).collect())
    }

    /// `None` when nobody has it.
    fn of_fabric(folder: &Path, card: &CardStatus) -> Option<Self> {
        let socket = stroma_control::inspection(&stroma_control::card(folder, card.number));
        let name = format!("stroma{}", card.number);
        card.is_taken.then(|| Self { card: name, socket, user: Some(devices::user(card)) })
    }

    /// Asks its program.
    pub(super) fn ask(&self, question: &Question) -> anyhow::Result<Told> {
        match (inspect::ask(&self.socket, question, PATIENCE), &self.user) {
            (Err(Error::NoProgram { path }), Some(user)) => bail!(
                "{}: {user} has it, and tells nothing at {}: it is about to open or to close it, has a driver that is not ours, or could make no socket there",
                self.card,
                path.display()
            ),
            (Err(Error::NoProgram { .. }), None) => Err(nobody(&self.card)),
            (told, _) => Ok(told?),
        }
    }
}

fn nobody(card: &str) -> anyhow::Error {
    anyhow::anyhow!(
        "{card}: no program has it open, so there is nothing on it; `stroma info {card}` tells of the card itself"
    )
}
