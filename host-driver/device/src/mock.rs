//! A card of arrays, for tests: what it answers is what the test wrote.

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    os::fd::BorrowedFd,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use stroma_abi::regs::map::{VECTORS, capabilities, identity};

use crate::{Backend, BarId, DmaMemory, Error, Identity, Iova, Result, Wake, check};

/// What can be made to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// [`Backend::map`].
    Map,
    /// [`Backend::unmap`].
    Unmap,
    /// [`Backend::reset`].
    Reset,
}

/// A store the driver made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Store {
    /// The BAR.
    pub bar: BarId,
    /// Byte in it.
    pub offset: usize,
    /// Bytes stored, 4 or 8.
    pub width: usize,
    /// What was stored.
    pub value: u64,
}

#[derive(Default)]
struct State {
    bars: [Vec<u8>; 2],
    answers: HashMap<(usize, usize), VecDeque<u64>>,
    stores: Vec<Store>,
    mapped: BTreeMap<Iova, Arc<DmaMemory>>,
    fired: HashSet<usize>,
    faults: HashSet<Fault>,
    resets: usize,
}

/// A card of arrays. Stores change the arrays, whatever the register allows, and are noted.
pub struct Mock {
    identity: Identity,
    state: Mutex<State>,
    interrupt: Condvar,
}

impl Mock {
    /// A card that holds the register map's reset values, has one doorbell page, and is ready.
    #[must_use]
    pub fn card() -> Self {
        let identity = Identity { name: "mock".into(), numa_node: None };
        let bars = [BarId::Bar0, BarId::Bar2].map(|bar| vec![0; bar.layout().len]);
        let state = Mutex::new(State { bars, ..State::default() });
        let mock = Self { identity, state, interrupt: Condvar::new() };
        for block in BarId::Bar0.layout().blocks {
            for reg in block.regs {
                let value = reg.reset.unwrap_or(0).to_le_bytes();
                for index in 0..reg.count {
                    mock.poke(BarId::Bar0, block.offset + reg.element(index), &value[..reg.width / 8]);
                }
            }
        }
        mock.poke32(BarId::Bar0, identity::BLOCK.address(&identity::STATUS), 1);
        mock.poke32(BarId::Bar0, capabilities::BLOCK.address(&capabilities::DOORBELL_PAGES), 1);
        mock
    }

    /// Makes a BAR `len` bytes long; bytes added are zero.
    pub fn resize(&self, bar: BarId, len: usize) {
        self.state().bars[index(bar)].resize(len, 0);
    }

    /// Puts 32 bits into a BAR, as the card would.
    ///
    /// # Panics
    /// When they do not fit the BAR.
    pub fn poke32(&self, bar: BarId, offset: usize, value: u32) {
        self.poke(bar, offset, &value.to_le_bytes());
    }

    fn poke(&self, bar: BarId, offset: usize, bytes: &[u8]) {
        self.state().bars[index(bar)][offset..offset + bytes.len()].copy_from_slice(bytes);
    }

    /// Answers the next reads of a place with these values, one each, before the array answers again.
    pub fn answer(&self, bar: BarId, offset: usize, values: impl IntoIterator<Item = u64>) {
        self.state().answers.entry((index(bar), offset)).or_default().extend(values);
    }

    /// How many scripted answers nobody has asked for.
    #[must_use]
    pub fn answers_left(&self) -> usize {
        self.state().answers.values().map(VecDeque::len).sum()
    }

    /// Stores of the driver so far.
    #[must_use]
    pub fn stores(&self) -> Vec<Store> {
        self.state().stores.clone()
    }

    /// Makes all further calls fail.
    pub fn fail(&self, fault: Fault) {
        self.state().faults.insert(fault);
    }

    /// Raises an interrupt.
    pub fn fire(&self, vector: usize) {
        self.state().fired.insert(vector);
        self.interrupt.notify_all();
    }

    /// How often the function was reset.
    #[must_use]
    pub fn resets(&self) -> usize {
        self.state().resets
    }

    /// Writes to mapped memory, as the card would.
    ///
    /// # Errors
    /// [`Error::NotMapped`] and [`Error::OutsideMemory`]: the IOMMU's faults.
    pub fn dma_write(&self, iova: Iova, bytes: &[u8]) -> Result<()> {
        let (memory, offset) = self.find(iova)?;
        memory.write(offset, bytes)
    }

    /// Reads from mapped memory, as the card would.
    ///
    /// # Errors
    /// [`Error::NotMapped`] and [`Error::OutsideMemory`]: the IOMMU's faults.
    pub fn dma_read(&self, iova: Iova, bytes: &mut [u8]) -> Result<()> {
        let (memory, offset) = self.find(iova)?;
        memory.read(offset, bytes)
    }

    fn find(&self, iova: Iova) -> Result<(Arc<DmaMemory>, usize)> {
        let state = self.state();
        let below = state.mapped.range(..=iova).next_back();
        let (start, memory) = below.ok_or(Error::NotMapped { iova })?;
        let offset = usize::try_from(iova.0 - start.0).map_err(|_| Error::NotMapped { iova })?;
        Ok((Arc::clone(memory), offset))
    }

    /// The state, also after a test thread has panicked with it: tests look at what is there.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self, bar: BarId, offset: usize, width: usize) -> Result<u64> {
        let mut state = self.state();
        let bytes = &state.bars[index(bar)];
        check("read", bar, offset, width, bytes.len())?;
        let mut value = [0; 8];
        value[..width].copy_from_slice(&bytes[offset..offset + width]);
        let scripted = state.answers.get_mut(&(index(bar), offset)).and_then(VecDeque::pop_front);
        Ok(scripted.unwrap_or(u64::from_le_bytes(value)))
    }

    fn write(&self, bar: BarId, offset: usize, width: usize, value: u64) -> Result<()> {
        let mut state = self.state();
        let bytes = &mut state.bars[index(bar)];
        check("write", bar, offset, width, bytes.len())?;
        bytes[offset..offset + width].copy_from_slice(&value.to_le_bytes()[..width]);
        state.stores.push(Store { bar, offset, width, value });
        Ok(())
    }
}

const fn index(bar: BarId) -> usize {
    match bar {
        BarId::Bar0 => 0,
        BarId::Bar2 => 1,
    }
}

impl State {
    fn refuse(&self, fault: Fault) -> Result<()> {
        if self.faults.contains(&fault) {
            let operation = format!("{fault:?} of the mock");
            return Err(Error::Backend { operation, advice: None, source: "told to fail".into() });
        }
        Ok(())
    }
}

impl Backend for Mock {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn bar_len(&self, bar: BarId) -> usize {
        self.state().bars[index(bar)].len()
    }

    fn read32(&self, bar: BarId, offset: usize) -> Result<u32> {
        let value = self.read(bar, offset, 4)?;
        Ok(u32::try_from(value).expect("an answer scripted for a 32-bit register fits it"))
    }

    fn read64(&self, bar: BarId, offset: usize) -> Result<u64> {
        self.read(bar, offset, 8)
    }

    fn write32(&self, bar: BarId, offset: usize, value: u32) -> Result<()> {
        self.write(bar, offset, 4, value.into())
    }

    fn write64(&self, bar: BarId, offset: usize, value: u64) -> Result<()> {
        self.write(bar, offset, 8, value)
    }

    fn map(&self, iova: Iova, memory: &Arc<DmaMemory>) -> Result<()> {
        let mut state = self.state();
        state.refuse(Fault::Map)?;
        let len = memory.len();
        // The last byte, so that a range may end with the address space.
        let last = iova.0.checked_add(len as u64 - 1).ok_or(Error::RangeTaken { iova, len })?;
        let below = state.mapped.range(..=Iova(last)).next_back();
        if below.is_some_and(|(start, other)| iova.0 - start.0.min(iova.0) < other.len() as u64) {
            return Err(Error::RangeTaken { iova, len });
        }
        state.mapped.insert(iova, Arc::clone(memory));
        Ok(())
    }

    fn unmap(&self, iova: Iova) -> Result<()> {
        let mut state = self.state();
        state.refuse(Fault::Unmap)?;
        state.mapped.remove(&iova).map(drop).ok_or(Error::NotMapped { iova })
    }

    fn vectors(&self) -> usize {
        VECTORS
    }

    fn wait(&self, vector: usize, timeout: Duration) -> Result<Wake> {
        if vector >= VECTORS {
            return Err(Error::NoVector { vector, count: VECTORS });
        }
        let silent = |state: &mut State| !state.fired.contains(&vector);
        let waited = self.interrupt.wait_timeout_while(self.state(), timeout, silent);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        Ok(if state.fired.remove(&vector) { Wake::Fired } else { Wake::TimedOut })
    }

    fn event_fd(&self, _vector: usize) -> Option<BorrowedFd<'_>> {
        None
    }

    fn reset(&self) -> Result<()> {
        let mut state = self.state();
        state.refuse(Fault::Reset)?;
        state.resets += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn an_interrupt_is_kept_until_somebody_waits_and_taken_once() {
        let mock = Mock::card();
        mock.fire(3);
        mock.fire(3);
        assert_eq!(mock.wait(2, Duration::ZERO).unwrap(), Wake::TimedOut);
        assert_eq!(mock.wait(3, Duration::ZERO).unwrap(), Wake::Fired);
        assert_eq!(mock.wait(3, Duration::ZERO).unwrap(), Wake::TimedOut);
        assert!(matches!(mock.wait(32, Duration::ZERO), Err(Error::NoVector { vector: 32, count: 32 })));
    }

    #[test]
    fn an_interrupt_ends_a_wait() {
        let mock = Mock::card();
        thread::scope(|scope| {
            let waiter = scope.spawn(|| mock.wait(5, Duration::from_mins(1)).unwrap());
            mock.fire(5);
            assert_eq!(waiter.join().unwrap(), Wake::Fired);
        });
    }

    #[test]
    fn the_mock_reads_what_was_mapped_and_nothing_else() {
        let mock = Mock::card();
        let memory = Arc::new(DmaMemory::allocate(4096, None).unwrap());
        memory.write(100, b"host").unwrap();
        mock.map(Iova(0x8000), &memory).unwrap();
        let mut bytes = [0; 4];
        mock.dma_read(Iova(0x8000 + 100), &mut bytes).unwrap();
        assert_eq!(&bytes, b"host");
        assert!(matches!(mock.dma_read(Iova(0x7fff), &mut bytes), Err(Error::NotMapped { .. })));
        assert!(matches!(mock.dma_read(Iova(0x8ffe), &mut bytes), Err(Error::OutsideMemory { .. })));
        mock.fail(Fault::Map);
        assert!(matches!(mock.map(Iova(0x10_0000), &memory), Err(Error::Backend { .. })));
    }

    #[test]
    fn accesses_are_checked_as_those_of_a_card() {
        let mock = Mock::card();
        assert!(matches!(mock.read32(BarId::Bar2, 2), Err(Error::Unaligned { .. })));
        assert!(matches!(mock.write64(BarId::Bar2, 0x1000, 0), Err(Error::OutsideBar { .. })));
        assert!(mock.stores().is_empty());
    }
}
