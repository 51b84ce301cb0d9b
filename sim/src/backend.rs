//! A simulated card as a [`Backend`]: the driver that runs a board runs this card.
//!
//! Card and application share a process and a clock. Simulated time passes in calls to the backend alone: a store to a BAR
//! costs the processor what the timing says, a load waits for its value, a wait runs until the interrupt is there, and a
//! driver that polls memory lets time pass by saying so ([`Backend::idle`]). With one thread of the application every run
//! is the same to the cycle; with several, they take turns as the system schedules them.

use std::collections::BTreeSet;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use stroma_abi::regs::map::{BAR2_AT, VECTORS};
use stroma_device::{Backend, BarId, DmaMemory, Error, Identity, Iova, Result, Wake, check};

use crate::World;
use crate::host::bars::Access;
use crate::host::timing::Timing;

/// Cycles that one turn of a wait lasts at most, so that other threads get theirs.
const TURN_CYCLES: u64 = 4096;
/// Cycles that a look at memory which found nothing lasts at most: a microsecond or two.
const IDLE_CYCLES: u64 = 256;
/// Cycles after which a load without an answer is a fault of the card.
const LOAD_LIMIT: u64 = 100_000;

/// The world that the cards of a process share.
pub struct Shared {
    world: Mutex<World>,
    /// Something was done to the world from outside.
    stirred: Condvar,
}

impl Shared {
    /// Shares a world.
    #[must_use]
    pub fn new(world: World) -> Arc<Self> {
        Arc::new(Self { world: Mutex::new(world), stirred: Condvar::new() })
    }

    /// The world, for as long as the guard lives. A panic of another thread leaves it as it was.
    pub fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One card of a shared world.
pub struct SimBackend {
    identity: Identity,
    shared: Arc<Shared>,
    card: usize,
    bar2_len: usize,
    fired: Mutex<BTreeSet<u8>>,
}

impl SimBackend {
    /// The card of this index.
    #[must_use]
    pub fn new(shared: &Arc<Shared>, card: usize) -> Self {
        let pages = shared.world().card(card).profile().capacity().doorbell_pages();
        Self {
            identity: Identity { name: format!("sim{card}"), numa_node: None },
            shared: Arc::clone(shared),
            card,
            bar2_len: pages * BarId::Bar2.layout().len,
            fired: Mutex::default(),
        }
    }

    /// The world this card lives in.
    #[must_use]
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    fn address(&self, operation: &'static str, bar: BarId, offset: usize, width: usize) -> Result<u64> {
        check(operation, bar, offset, width, self.bar_len(bar))?;
        let base = match bar {
            BarId::Bar0 => 0,
            BarId::Bar2 => BAR2_AT,
        };
        Ok((base + offset) as u64)
    }

    fn load(&self, address: u64) -> u64 {
        let mut world = self.shared.world();
        world.card(self.card).access(Access::Load { address });
        let mut value = None;
        world.run_until(LOAD_LIMIT, |world| {
            value = world.card(self.card).loaded();
            value.is_some()
        });
        value.unwrap_or_else(|| {
            panic!("the card does not answer a load of {address:#x} in {LOAD_LIMIT} cycles")
        })
    }

    fn store(&self, address: u64, data: u64, strobe: u8) {
        let mut world = self.shared.world();
        let card = world.card(self.card);
        card.access(Access::Store { address, data, strobe });
        let cost = Timing::cycles(card.timing().store_cost_ns, card.profile().clock_khz());
        world.run(cost);
        self.shared.stirred.notify_all();
    }

    /// Notes interrupts that have arrived; was `vector` among them, now or before?
    fn takes(&self, world: &mut World, vector: usize) -> bool {
        let mut fired = self.fired.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(arrived) = world.card(self.card).interrupt() {
            fired.insert(arrived);
        }
        u8::try_from(vector).is_ok_and(|vector| fired.remove(&vector))
    }
}

impl Backend for SimBackend {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn bar_len(&self, bar: BarId) -> usize {
        match bar {
            BarId::Bar0 => bar.layout().len,
            BarId::Bar2 => self.bar2_len,
        }
    }

    fn read32(&self, bar: BarId, offset: usize) -> Result<u32> {
        let address = self.address("read", bar, offset, 4)?;
        let half = self.load(address) >> (address % 8 * 8) & u64::from(u32::MAX);
        Ok(u32::try_from(half).expect("32 bits"))
    }

    fn read64(&self, bar: BarId, offset: usize) -> Result<u64> {
        Ok(self.load(self.address("read", bar, offset, 8)?))
    }

    fn write32(&self, bar: BarId, offset: usize, value: u32) -> Result<()> {
        let address = self.address("write", bar, offset, 4)?;
        let (shift, strobe) = if address % 8 == 0 { (0, 0x0f) } else { (32, 0xf0) };
        self.store(address - address % 8, u64::from(value) << shift, strobe);
        Ok(())
    }

    fn write64(&self, bar: BarId, offset: usize, value: u64) -> Result<()> {
        self.store(self.address("write", bar, offset, 8)?, value, 0xff);
        Ok(())
    }

    fn map(&self, iova: Iova, memory: &Arc<DmaMemory>) -> Result<()> {
        let taken = |_| Error::RangeTaken { iova, len: memory.len() };
        self.shared.world().card(self.card).iommu().map(iova.0, memory).map_err(taken)
    }

    fn unmap(&self, iova: Iova) -> Result<()> {
        let found = self.shared.world().card(self.card).iommu().unmap(iova.0);
        found.map(drop).ok_or(Error::NotMapped { iova })
    }

    fn vectors(&self) -> usize {
        VECTORS
    }

    fn wait(&self, vector: usize, timeout: Duration) -> Result<Wake> {
        if vector >= VECTORS {
            return Err(Error::NoVector { vector, count: VECTORS });
        }
        let started = Instant::now();
        let mut world = self.shared.world();
        let end = world.now().saturating_add(world.cycles(timeout));
        loop {
            let turn = TURN_CYCLES.min(end.saturating_sub(world.now()));
            let mut is_fired = false;
            world.run_until(turn, |world| {
                is_fired = self.takes(world, vector);
                is_fired || world.is_idle()
            });
            if is_fired {
                return Ok(Wake::Fired);
            }
            if world.is_idle() {
                // Nothing will come by itself: another thread has to stir the world, in the time of the real clock.
                let left = timeout.saturating_sub(started.elapsed());
                if left.is_zero() {
                    return Ok(Wake::TimedOut);
                }
                let stirred = self.shared.stirred.wait_timeout(world, left);
                world = stirred.unwrap_or_else(PoisonError::into_inner).0;
            } else if world.now() >= end {
                return Ok(Wake::TimedOut);
            } else {
                drop(world);
                std::thread::yield_now();
                world = self.shared.world();
            }
        }
    }

    fn event_fd(&self, _vector: usize) -> Option<BorrowedFd<'_>> {
        None
    }

    fn reset(&self) -> Result<()> {
        self.shared.world().reset(self.card);
        Ok(())
    }

    fn idle(&self) {
        let mut world = self.shared.world();
        let before = world.card(self.card).visible();
        world.run_until(IDLE_CYCLES, |world| world.card(self.card).visible() != before);
    }
}
