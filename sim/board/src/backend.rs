//! A board as a [`Backend`]: the driver that runs a board in a slot runs this one.
//!
//! Time passes in calls to the backend alone, as with a card without its board; there is no quiet time to jump over.

use std::collections::BTreeSet;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use stroma_abi::regs::map::VECTORS;
use stroma_device::{Backend, BarId, DmaMemory, Error, Identity, Iova, Result, Wake, check};
use stroma_sim::host::timing::Timing;
use stroma_top::Profile;

use crate::board::CORE_PS;
use crate::pair::Pair;
use crate::pcie::{Bar, Config, Message};

/// Cycles that a look at memory which found nothing lasts at most.
const IDLE_CYCLES: u64 = 256;
/// Cycles that one turn of a wait lasts at most, so that other threads get theirs.
const TURN_CYCLES: u64 = 1024;
/// Cycles after which something without an answer is a fault.
const LIMIT: u64 = 100_000;
/// The same for a function-level reset: the shell waits 2^20 cycles for requests that the host does not let out any more.
const RESET_LIMIT: u64 = 1_200_000;
/// Where the host has its messages go; the vector is the word.
const MESSAGES_AT: u64 = 0xfee0_0000;
/// Bytes of an entry of the table of MSI-X.
const ENTRY: u64 = 16;

/// One board of a pair.
pub struct BoardBackend {
    identity: Identity,
    pair: Arc<Mutex<Pair>>,
    index: usize,
    config: Config,
    fired: Mutex<BTreeSet<usize>>,
}

impl BoardBackend {
    /// The board of this index, set up by its host as `config` says, with a table of messages.
    #[must_use]
    pub fn new(pair: &Arc<Mutex<Pair>>, index: usize, config: Config) -> Self {
        let backend = Self {
            identity: Identity { name: format!("board{index}"), numa_node: None },
            pair: Arc::clone(pair),
            index,
            config,
            fired: Mutex::default(),
        };
        backend.set_up();
        backend
    }

    /// The pair, for as long as the guard lives. A panic of another thread leaves it as it was.
    pub fn pair(&self) -> MutexGuard<'_, Pair> {
        self.pair.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_up(&self) {
        let mut pair = self.pair();
        let pci = &mut pair.board(self.index).pci;
        pci.set_config(self.config);
        for vector in 0..VECTORS as u64 {
            let words = [MESSAGES_AT, 0, vector, 0].map(|word| u32::try_from(word).expect("32 bits"));
            for (at, word) in (0..).zip(words) {
                pci.store(Bar::Bar4, vector * ENTRY + at * 4, &word.to_le_bytes());
            }
        }
        let is_there = pair.run_until(LIMIT, |pair| pair.board(self.index).pci.accesses_under_way() == 0);
        assert!(is_there, "the board does not take stores to its table of MSI-X");
    }

    fn place(&self, operation: &'static str, bar: BarId, offset: usize, width: usize) -> Result<(Bar, u64)> {
        check(operation, bar, offset, width, self.bar_len(bar))?;
        let bar = match bar {
            BarId::Bar0 => Bar::Bar0,
            BarId::Bar2 => Bar::Bar2,
        };
        Ok((bar, offset as u64))
    }

    fn load(&self, (bar, offset): (Bar, u64), width: usize) -> Vec<u8> {
        let mut pair = self.pair();
        let id = pair.board(self.index).pci.load(bar, offset, width);
        let mut value = None;
        pair.run_until(LIMIT, |pair| {
            value = pair.board(self.index).pci.loaded(id);
            value.is_some()
        });
        value.unwrap_or_else(|| {
            panic!("the board does not answer a load of {bar:?} at {offset:#x} in {LIMIT} cycles")
        })
    }

    fn store(&self, (bar, offset): (Bar, u64), bytes: &[u8]) {
        let mut pair = self.pair();
        pair.board(self.index).pci.store(bar, offset, bytes);
        let timing = Timing::ALVEO_GEN3X16;
        pair.run(Timing::cycles(timing.store_cost_ns, Profile::HundredGig.clock_khz()));
    }

    /// Notes messages that have arrived; was `vector` among them, now or before?
    fn takes(&self, pair: &mut Pair, vector: usize) -> bool {
        let mut fired = self.fired.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(Message { address, data }) = pair.board(self.index).pci.message() {
            assert_eq!(address, MESSAGES_AT, "a message of {data:#x} to where none belongs");
            assert!((data as usize) < VECTORS, "a message for vector {data}");
            fired.insert(data as usize);
        }
        fired.remove(&vector)
    }
}

impl Backend for BoardBackend {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn bar_len(&self, bar: BarId) -> usize {
        let pages = Profile::HundredGig.capacity().doorbell_pages();
        match bar {
            BarId::Bar0 => bar.layout().len,
            BarId::Bar2 => pages * bar.layout().len,
        }
    }

    fn read32(&self, bar: BarId, offset: usize) -> Result<u32> {
        let bytes = self.load(self.place("read", bar, offset, 4)?, 4);
        Ok(u32::from_le_bytes(bytes.try_into().expect("four bytes")))
    }

    fn read64(&self, bar: BarId, offset: usize) -> Result<u64> {
        let bytes = self.load(self.place("read", bar, offset, 8)?, 8);
        Ok(u64::from_le_bytes(bytes.try_into().expect("eight bytes")))
    }

    fn write32(&self, bar: BarId, offset: usize, value: u32) -> Result<()> {
        self.store(self.place("write", bar, offset, 4)?, &value.to_le_bytes());
        Ok(())
    }

    fn write64(&self, bar: BarId, offset: usize, value: u64) -> Result<()> {
        self.store(self.place("write", bar, offset, 8)?, &value.to_le_bytes());
        Ok(())
    }

    fn map(&self, iova: Iova, memory: &Arc<DmaMemory>) -> Result<()> {
        let taken = |_| Error::RangeTaken { iova, len: memory.len() };
        self.pair().board(self.index).pci.iommu().map(iova.0, memory).map_err(taken)
    }

    fn unmap(&self, iova: Iova) -> Result<()> {
        let found = self.pair().board(self.index).pci.iommu().unmap(iova.0);
        found.map(drop).ok_or(Error::NotMapped { iova })
    }

    fn vectors(&self) -> usize {
        VECTORS
    }

    fn wait(&self, vector: usize, timeout: Duration) -> Result<Wake> {
        if vector >= VECTORS {
            return Err(Error::NoVector { vector, count: VECTORS });
        }
        let picoseconds = u64::try_from(timeout.as_nanos().saturating_mul(1000)).unwrap_or(u64::MAX);
        let end = self.pair().now().saturating_add(picoseconds);
        loop {
            let mut pair = self.pair();
            let turn = TURN_CYCLES.min(end.saturating_sub(pair.now()).div_ceil(CORE_PS));
            if pair.run_until(turn, |pair| self.takes(pair, vector)) {
                return Ok(Wake::Fired);
            }
            if pair.now() >= end {
                return Ok(Wake::TimedOut);
            }
            drop(pair);
            std::thread::yield_now();
        }
    }

    fn event_fd(&self, _vector: usize) -> Option<BorrowedFd<'_>> {
        None
    }

    /// A function-level reset, as a system does it, and the function set up again.
    fn reset(&self) -> Result<()> {
        let mut pair = self.pair();
        pair.board(self.index).pci.start_function_reset();
        let is_done = pair.run_until(RESET_LIMIT, |pair| !pair.board(self.index).pci.is_resetting());
        assert!(is_done, "the board does not end a function-level reset in {RESET_LIMIT} cycles");
        drop(pair);
        self.set_up();
        Ok(())
    }

    fn idle(&self) {
        let mut pair = self.pair();
        let before = pair.board(self.index).pci.visible();
        pair.run_until(IDLE_CYCLES, |pair| pair.board(self.index).pci.visible() != before);
    }
}
