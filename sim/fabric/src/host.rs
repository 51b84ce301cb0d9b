//! The host of a card, as the simulation knows it.

use std::collections::VecDeque;
use std::sync::mpsc::SyncSender;

use stroma_vfio_user::server::Faults;

use crate::bell::Bells;
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
    /// Where interrupts are told.
    pub(crate) bells: Bells,
    pub(crate) faults: u64,
}
