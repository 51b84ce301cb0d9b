//! A store in plain memory, reached through models of the kernels after delays by chance: thousands of schedules in the time of one on cards.

mod races;
mod tests;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use stroma_abi::desc::SlotCommand;
use stroma_abi::kernel::{consistency, get, prism};
use stroma_kernel_client::Call;
use stroma_kernel_client::get::hash;
use stroma_kernel_models::{self as models, Failure, Invocation};
use stroma_verilate::SplitMix64;

use crate::history::Bytes;
use crate::{Client, Clock, Error, Layout, Memory, Reach, Result, Store, Task, Time, Way, run, server};

/// Address and key of the memory.
pub(crate) const BASE: u64 = 0x7f00_0000_0000;
pub(crate) const KEY: u32 = 5;
/// Cycles that anything takes at least, and how many more at most.
const DELAY: u64 = 20;
const SPREAD: u64 = 30;

/// Memory that many have a share of.
#[derive(Clone)]
pub(crate) struct Shared(Rc<RefCell<Vec<u8>>>);

impl Shared {
    pub(crate) fn place(va: u64) -> usize {
        usize::try_from(va - BASE).expect("inside the memory")
    }
}

impl Memory for Shared {
    fn address(&self) -> Result<u64> {
        Ok(BASE)
    }

    fn key(&self) -> u32 {
        KEY
    }

    fn read(&self, at: usize, bytes: &mut [u8]) -> Result<()> {
        bytes.copy_from_slice(&self.0.borrow()[at..at + bytes.len()]);
        Ok(())
    }

    fn write(&self, at: usize, bytes: &[u8]) -> Result<()> {
        self.0.borrow_mut()[at..at + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }
}

impl models::Memory for Shared {
    fn read(&mut self, key: u32, va: u64, len: usize) -> std::result::Result<Vec<u8>, Failure> {
        let at =
            usize::try_from(va.checked_sub(BASE).ok_or(Failure::Refused)?).map_err(|_| Failure::Refused)?;
        let memory = self.0.borrow();
        let bytes = memory.get(at..at.saturating_add(len)).filter(|_| key == KEY);
        bytes.map(<[u8]>::to_vec).ok_or(Failure::Refused)
    }

    fn write(&mut self, key: u32, va: u64, bytes: &[u8]) -> std::result::Result<(), Failure> {
        models::Memory::read(self, key, va, bytes.len())?;
        Memory::write(self, Self::place(va), bytes).map_err(|_| Failure::Host)
    }
}

/// Time that passes when asked to.
#[derive(Default)]
pub(crate) struct Counted(Cell<u64>);

impl Time for Counted {
    fn now(&self) -> u64 {
        self.0.get()
    }

    fn pass(&self, cycles: u64) {
        self.0.set(self.0.get() + cycles);
    }
}

/// The store, and the clock of its clients.
pub(crate) struct World {
    pub(crate) store: Rc<RefCell<Store<Shared>>>,
    pub(crate) clock: Rc<Clock>,
}

impl World {
    pub(crate) fn new(layout: Layout) -> Self {
        let memory = Shared(Rc::new(RefCell::new(vec![0xa5; layout.bytes()])));
        let store = Store::within(memory, layout).expect("a layout");
        Self { store: Rc::new(RefCell::new(store)), clock: Clock::new(Box::new(Counted::default())) }
    }

    pub(crate) fn reach(&self, seed: u64) -> Fake {
        let memory = self.store.borrow().memory().clone();
        let (store, clock) = (Rc::clone(&self.store), Rc::clone(&self.clock));
        Fake { store, clock, memory, random: SplitMix64::new(seed) }
    }
}

/// A client's way to the store.
pub(crate) struct Fake {
    store: Rc<RefCell<Store<Shared>>>,
    clock: Rc<Clock>,
    memory: Shared,
    random: SplitMix64,
}

impl Fake {
    async fn delay(&mut self) {
        let cycles = DELAY + self.random.below(SPREAD);
        self.clock.sleep(cycles).await;
    }
}

impl Reach for Fake {
    async fn call<C: Call>(&mut self, call: &C) -> Result<C::Answer> {
        self.delay().await;
        let command = SlotCommand { key: KEY, response_max: call.response_max(), ..SlotCommand::default() };
        let invocation = Invocation::new(command, call.parameters(), call.payload().to_vec());
        let outcome = match C::OPERATION {
            get::OPERATION => models::get::run(&invocation, &mut self.memory),
            prism::OPERATION => models::prism::run(&invocation, &mut self.memory),
            consistency::OPERATION => models::consistency::run(&invocation, &mut self.memory),
            other => panic!("no client calls kernel {other:#x}"),
        };
        self.delay().await;
        Ok(call.answer(outcome.status, &outcome.data)?)
    }

    async fn read(&mut self, address: u64, length: usize) -> Result<Vec<u8>> {
        self.delay().await;
        let bytes = models::Memory::read(&mut self.memory, KEY, address, length);
        self.delay().await;
        bytes.map_err(|_| Error::Torn { address, length: u32::try_from(length).expect("small") })
    }

    async fn write(&mut self, places: &[(u64, &[u8])]) -> Result<()> {
        for (address, bytes) in places {
            self.delay().await;
            Memory::write(&self.memory, Shared::place(*address), bytes)?;
        }
        self.delay().await;
        Ok(())
    }

    async fn compare_swap(&mut self, address: u64, compare: u64, swap: u64) -> Result<u64> {
        self.delay().await;
        let mut word = [0; 8];
        Memory::read(&self.memory, Shared::place(address), &mut word)?;
        if u64::from_le_bytes(word) == compare {
            Memory::write(&self.memory, Shared::place(address), &swap.to_le_bytes())?;
        }
        self.delay().await;
        Ok(u64::from_le_bytes(word))
    }

    async fn exchange(&mut self, message: &[u8]) -> Result<Vec<u8>> {
        self.delay().await;
        let answer = server::answer(&mut self.store.borrow_mut(), message).to_bytes();
        self.delay().await;
        Ok(answer)
    }

    async fn pause(&self, attempt: u32) {
        self.clock.sleep(u64::from(attempt.min(4)) * DELAY).await;
    }
}

/// A store of two buckets.
const SMALL: Layout = Layout { log_buckets: 1, log_buffers: 9, buffer_bytes: 128 };
/// Cycles after which a run counts as stuck.
const LIMIT: u64 = 10_000_000;

/// Keys of one bucket of a small store, so that each is in the way of the others.
fn neighbours(count: usize) -> Vec<Bytes> {
    let all = (0..100_u32).map(|number| format!("key {number}").into_bytes());
    all.filter(|key| hash(key) & 1 == 0).take(count).collect()
}

/// Does one thing, alone.
fn alone<T>(world: &World, work: impl Future<Output = Result<T>>) -> Result<T> {
    let result = RefCell::new(None);
    let task: Task<'_> = Box::pin(async {
        *result.borrow_mut() = Some(work.await?);
        Ok(())
    });
    run(&world.clock, &[], vec![task], Vec::new(), LIMIT)?;
    Ok(result.into_inner().expect("it is done"))
}

fn client(world: &World, way: Way, seed: u64) -> Client<Fake> {
    Client::new(world.reach(seed), world.store.borrow().directory(), way)
}
