//! A function of arrays, and a server for it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

use rustix::io::write;

use super::*;

/// Where it refuses to be read.
pub(super) const REFUSED: u64 = 0x800;
/// Where reading it is a fault of its own.
pub(super) const PANICS: u64 = 0x808;
/// More interrupts than descriptors fit into a message.
const VECTORS: usize = 40;

#[derive(Default)]
struct State {
    bar: Vec<u8>,
    ranges: BTreeMap<u64, Range>,
    events: BTreeMap<usize, OwnedFd>,
    endings: Vec<String>,
    delays: usize,
    refused: Vec<Beyond>,
    faults: Option<Faults>,
}

/// The function.
#[derive(Default)]
pub(super) struct Fake(Mutex<State>);

impl Fake {
    fn state(&self) -> MutexGuard<'_, State> {
        let mut state = self.0.lock().unwrap();
        state.bar.resize(0x1000, 0);
        state
    }

    /// Reads memory, as a device does.
    pub(super) fn read(&self, address: u64, len: usize) -> Option<Vec<u8>> {
        let state = self.state();
        let (start, range) = state.ranges.range(..=address).next_back()?;
        let mut bytes = vec![0; len];
        range.window.as_ref()?.read(address - start, &mut bytes).ok()?;
        Some(bytes)
    }

    /// Writes to memory, as a device does.
    pub(super) fn write(&self, address: u64, bytes: &[u8]) {
        let state = self.state();
        let (start, range) = state.ranges.range(..=address).next_back().expect("a mapping");
        range.window.as_ref().expect("memory").write(address - start, bytes).unwrap();
    }

    /// Tells of an access that led nowhere.
    pub(super) fn fault(&self, address: u64) -> bool {
        self.state().faults.as_ref().expect("a client").tell(address)
    }

    /// Raises an interrupt.
    pub(super) fn fire(&self, vector: usize) {
        write(&self.state().events[&vector], &1_u64.to_ne_bytes()).unwrap();
    }

    /// What a client was refused for its budget.
    pub(super) fn refused(&self) -> Vec<Beyond> {
        self.state().refused.clone()
    }

    /// How often it was told that nobody can be let in.
    pub(super) fn delays(&self) -> usize {
        self.state().delays
    }

    /// Waits until so many clients have ended; how.
    pub(super) fn ended(&self, count: usize) -> Vec<String> {
        let started = Instant::now();
        while self.state().endings.len() < count {
            assert!(started.elapsed() < Duration::from_secs(20), "{:?}", self.state().endings);
            thread::sleep(Duration::from_millis(1));
        }
        self.state().endings.clone()
    }
}

impl Function for Fake {
    fn refused(&self, beyond: Beyond) {
        self.state().refused.push(beyond);
    }

    fn delayed(&self, _error: &io::Error) {
        self.state().delays += 1;
    }

    fn region_len(&self, index: usize) -> u64 {
        match index {
            region::BAR0 => 0x1000,
            region::CONFIG => 0x100,
            _ => 0,
        }
    }

    fn interrupts(&self, index: usize) -> usize {
        if index == interrupt::MSIX { VECTORS } else { 0 }
    }

    fn attach(&self, process: Option<u32>, faults: Faults) {
        assert_eq!(process, Some(std::process::id()));
        self.state().faults = Some(faults);
    }

    fn read(&self, region: usize, offset: u64, bytes: &mut [u8]) -> Result<(), Errno> {
        if region != region::BAR0 || offset == REFUSED {
            return Err(Errno::IO);
        }
        assert_ne!(offset, PANICS, "a fault of the function");
        let at = usize::try_from(offset).unwrap();
        bytes.copy_from_slice(&self.state().bar[at..at + bytes.len()]);
        Ok(())
    }

    fn write(&self, region: usize, offset: u64, bytes: &[u8]) -> Result<(), Errno> {
        assert_eq!(region, region::BAR0);
        let at = usize::try_from(offset).unwrap();
        self.state().bar[at..at + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn map(&self, range: Range) -> Result<(), Errno> {
        let ranges = &mut self.state().ranges;
        let below = ranges.range(..=range.address + (range.size - 1)).next_back();
        if below.is_some_and(|(start, other)| start + (other.size - 1) >= range.address) {
            return Err(Errno::EXIST);
        }
        ranges.insert(range.address, range);
        Ok(())
    }

    fn unmap(&self, first: u64, last: u64) -> Result<(), Errno> {
        self.state().ranges.retain(|start, range| *start < first || start + (range.size - 1) > last);
        Ok(())
    }

    fn connect(&self, index: usize, start: usize, events: Vec<Option<OwnedFd>>) -> Result<(), Errno> {
        assert_eq!(index, interrupt::MSIX);
        for (vector, event) in (start..).zip(events) {
            assert!(vector < VECTORS);
            match event {
                Some(event) => drop(self.state().events.insert(vector, event)),
                None => drop(self.state().events.remove(&vector)),
            }
        }
        Ok(())
    }

    fn reset(&self) -> Result<(), Errno> {
        self.state().bar.fill(0);
        Ok(())
    }

    fn detach(&self, ending: &Ending) {
        let mut state = self.state();
        state.ranges.clear();
        state.events.clear();
        state.faults = None;
        state.bar.fill(0);
        state.endings.push(ending.to_string());
    }
}

/// A fake that is served until the tests end; where.
pub(super) fn served() -> (PathBuf, Arc<Fake>) {
    // The folder is left to the system: the server outlives the test.
    let path = tempfile::tempdir().unwrap().keep().join("card");
    let fake = Arc::new(Fake::default());
    let server = Server::bind(&path, fake.clone()).unwrap();
    thread::spawn(move || server.run());
    (path, fake)
}
