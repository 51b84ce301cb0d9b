//! The host of a card, as the simulation knows it.

use std::collections::VecDeque;
use std::sync::mpsc::SyncSender;

use stroma_abi::regs::map::VECTORS;
use stroma_vfio_user::Errno;
use stroma_vfio_user::server::Faults;

use crate::bell::Bell;
use crate::order::Answer;

/// What a card's host waits for, and how it is told.
#[derive(Default)]
pub(crate) struct Host {
    /// Somebody is attached, and hears of accesses that led nowhere.
    pub(crate) client: Option<Faults>,
    /// Loads in their order, each by its address. The first is under way: a card has one at a time.
    pub(crate) loads: VecDeque<(u64, SyncSender<Answer>)>,
    /// The cycle by which that one should have ended.
    pub(crate) limit: u64,
    /// A store that waits for room.
    pub(crate) store: Option<SyncSender<Answer>>,
    pub(crate) bells: [Option<Bell>; VECTORS],
    /// Interrupts that nobody was connected to.
    pub(crate) pending: [bool; VECTORS],
    pub(crate) faults: u64,
}

impl Host {
    /// Tells of an interrupt, now or when somebody is connected to it.
    pub(crate) fn interrupt(&mut self, vector: usize) {
        match &self.bells[vector] {
            Some(bell) => bell.ring(),
            None => self.pending[vector] = true,
        }
    }

    /// Connects interrupts; one that came before is told now.
    pub(crate) fn connect(&mut self, start: usize, bells: Vec<Option<Bell>>) -> Answer {
        let places = self.bells.get_mut(start..start + bells.len()).ok_or(Errno::INVAL)?;
        for ((place, pending), bell) in places.iter_mut().zip(&mut self.pending[start..]).zip(bells) {
            if let Some(bell) = &bell
                && std::mem::take(pending)
            {
                bell.ring();
            }
            *place = bell;
        }
        Ok(0)
    }
}
