//! A simulated card whose clock the rig moves.
//!
//! A driver that finds nothing in memory lets simulated time pass. With several completion queues that is wrong: a look at one that is empty would
//! make who waits at another wait longer. So while tasks run, a look takes no time, and the rig lets it pass when all wait.

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use stroma_device::{Backend, BarId, DmaMemory, Identity, Iova, Result, Wake};
use stroma_sim::{Shared, SimBackend};

use super::{CLIENTS, SERVER};
use crate::Time;

/// The card.
pub(super) struct Paced {
    card: SimBackend,
    is_held: AtomicBool,
}

impl Paced {
    pub(super) fn new(shared: &Arc<Shared>, index: usize) -> Self {
        Self { card: SimBackend::new(shared, index), is_held: AtomicBool::new(false) }
    }

    /// Does a look at memory take no time from now on?
    pub(super) fn hold(&self, is_held: bool) {
        self.is_held.store(is_held, Ordering::Relaxed);
    }
}

impl Backend for Paced {
    fn identity(&self) -> &Identity {
        self.card.identity()
    }

    fn bar_len(&self, bar: BarId) -> usize {
        self.card.bar_len(bar)
    }

    fn read32(&self, bar: BarId, offset: usize) -> Result<u32> {
        self.card.read32(bar, offset)
    }

    fn read64(&self, bar: BarId, offset: usize) -> Result<u64> {
        self.card.read64(bar, offset)
    }

    fn write32(&self, bar: BarId, offset: usize, value: u32) -> Result<()> {
        self.card.write32(bar, offset, value)
    }

    fn write64(&self, bar: BarId, offset: usize, value: u64) -> Result<()> {
        self.card.write64(bar, offset, value)
    }

    fn map(&self, iova: Iova, memory: &Arc<DmaMemory>) -> Result<()> {
        self.card.map(iova, memory)
    }

    fn unmap(&self, iova: Iova) -> Result<()> {
        self.card.unmap(iova)
    }

    fn vectors(&self) -> usize {
        self.card.vectors()
    }

    fn wait(&self, vector: usize, timeout: Duration) -> Result<Wake> {
        self.card.wait(vector, timeout)
    }

    fn event_fd(&self, vector: usize) -> Option<BorrowedFd<'_>> {
        self.card.event_fd(vector)
    }

    fn idle(&self) {
        if !self.is_held.load(Ordering::Relaxed) {
            self.card.idle();
        }
    }

    fn reset(&self) -> Result<()> {
        self.card.reset()
    }
}

/// The time of the world that both cards live in.
pub(super) struct SimTime(Arc<Shared>);

impl SimTime {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        Self(Arc::clone(shared))
    }
}

impl Time for SimTime {
    fn now(&self) -> u64 {
        self.0.world().now()
    }

    fn pass(&self, cycles: u64) {
        let mut world = self.0.world();
        let before = [CLIENTS, SERVER].map(|index| world.card(index).visible());
        world.run_until(cycles, |world| [CLIENTS, SERVER].map(|index| world.card(index).visible()) != before);
    }
}
