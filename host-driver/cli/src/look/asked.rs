//! A card whose registers are read through its fabric.

use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use stroma_abi::regs::map::{DOORBELL_PAGE, capabilities};
use stroma_control::{Client, Request};
use stroma_device::{Backend, BarId, DmaMemory, Error, Identity, Iova, Result, Wake, check};

/// BAR0 of a card of a fabric, to be read. All else is the client's.
pub(super) struct Asked {
    identity: Identity,
    number: usize,
    client: Mutex<Client>,
    bar2_len: usize,
}

impl Asked {
    /// A card of the fabric in a folder.
    pub(super) fn new(folder: &Path, number: usize) -> anyhow::Result<Self> {
        let identity = Identity { name: format!("stroma{number}"), numa_node: None };
        let client = Mutex::new(Client::connect(folder)?);
        let mut asked = Self { identity, number, client, bar2_len: 0 };
        let pages = asked.load(capabilities::BLOCK.address(&capabilities::DOORBELL_PAGES), 4)?;
        asked.bar2_len = usize::try_from(pages)?.saturating_mul(DOORBELL_PAGE);
        Ok(asked)
    }

    fn load(&self, offset: usize, width: usize) -> std::result::Result<u64, stroma_control::Error> {
        let request = Request::Read { card: self.number, offset: offset as u64, width };
        self.client.lock().unwrap_or_else(PoisonError::into_inner).ask(&request)
    }

    fn read(&self, bar: BarId, offset: usize, width: usize) -> Result<u64> {
        check("read", bar, offset, width, self.bar_len(bar))?;
        if bar == BarId::Bar2 {
            return Err(Self::refuse("reading doorbells"));
        }
        self.load(offset, width)
            .map_err(|source| failed(format!("reading {width} bytes at {bar} + {offset:#x}"), source))
    }

    fn refuse(operation: &str) -> Error {
        failed(operation.to_owned(), "a card that is looked at is not touched")
    }
}

fn failed(operation: String, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::Backend { operation, advice: None, source: source.into() }
}

impl Backend for Asked {
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
        let value = self.read(bar, offset, 4)?;
        u32::try_from(value).map_err(|error| failed(format!("reading 4 bytes at {bar} + {offset:#x}"), error))
    }

    fn read64(&self, bar: BarId, offset: usize) -> Result<u64> {
        self.read(bar, offset, 8)
    }

    fn write32(&self, _: BarId, _: usize, _: u32) -> Result<()> {
        Err(Self::refuse("storing to a register"))
    }

    fn write64(&self, _: BarId, _: usize, _: u64) -> Result<()> {
        Err(Self::refuse("storing to a register"))
    }

    fn map(&self, _: Iova, _: &Arc<DmaMemory>) -> Result<()> {
        Err(Self::refuse("mapping memory"))
    }

    fn unmap(&self, _: Iova) -> Result<()> {
        Err(Self::refuse("unmapping memory"))
    }

    fn vectors(&self) -> usize {
        0
    }

    fn wait(&self, _: usize, _: Duration) -> Result<Wake> {
        Err(Self::refuse("waiting for an interrupt"))
    }

    fn event_fd(&self, _: usize) -> Option<BorrowedFd<'_>> {
        None
    }

    fn reset(&self) -> Result<()> {
        Err(Self::refuse("a reset"))
    }
}
