//! A card, opened: identified, measured, ready.

use std::{
    fmt,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use stroma_abi::{
    Value,
    regs::{
        Access, Block, Reg,
        map::{DOORBELL_PAGE, MAGIC, identity},
    },
};

use crate::{
    Backend, BarId, Capabilities, Error, Features, Result, Version,
    chain::{self, Found},
    compose, part,
};

/// Between two looks at a card that is not ready. Scrubbing its tables takes tens of microseconds.
const POLL: Duration = Duration::from_micros(50);

/// A Stroma card of a version this driver understands.
pub struct Card {
    backend: Arc<dyn Backend>,
    chain: Vec<Found>,
    version: Version,
    capabilities: Capabilities,
}

impl Card {
    /// Asks the device behind `backend` who it is, finds its register blocks, waits for it to be ready, and reads how
    /// large it is.
    ///
    /// # Errors
    /// When it is no Stroma card, speaks another version, has registers in disorder, or is not ready after `timeout`.
    pub fn open(backend: Arc<dyn Backend>, timeout: Duration) -> Result<Self> {
        enough(&*backend, BarId::Bar0, BarId::Bar0.layout().len)?;
        let version = identify(&*backend)?;
        let chain = chain::walk(&*backend)?;
        let mut card = Self { backend, chain, version, capabilities: Capabilities::default() };
        card.wait_ready(timeout)?;
        card.capabilities = Capabilities::read(&card)?;
        let pages = usize::try_from(card.capabilities.doorbell_pages).unwrap_or(usize::MAX);
        enough(&*card.backend, BarId::Bar2, pages.saturating_mul(DOORBELL_PAGE))?;
        Ok(card)
    }

    /// How it is reached.
    #[must_use]
    pub fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }

    /// What it speaks.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// How large it is.
    #[must_use]
    pub fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    /// What it can do.
    #[must_use]
    pub fn features(&self) -> &Features {
        &self.capabilities.features
    }

    /// Is the network port up?
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn link_is_up(&self) -> Result<bool> {
        Ok(part(&identity::STATUS, "link", self.status()?.into()))
    }

    /// Drops all queue pairs, keys and rings, and waits until the card is ready again.
    ///
    /// # Errors
    /// [`Error::NotReady`] when that takes longer than `timeout`.
    pub fn reset(&self, timeout: Duration) -> Result<()> {
        let reset = compose(&identity::CONTROL, [("reset", 1)]);
        self.write(&identity::BLOCK, &identity::CONTROL, reset)?;
        self.wait_ready(timeout)
    }

    /// Resets the whole function below the registers, and waits until the card is ready again.
    ///
    /// # Errors
    /// As [`Backend::reset`] and [`Self::reset`].
    pub fn reset_function(&self, timeout: Duration) -> Result<()> {
        self.backend.reset()?;
        self.wait_ready(timeout)
    }

    /// Waits until the card takes commands and doorbells. Looks once at least.
    ///
    /// # Errors
    /// [`Error::NotReady`] after `timeout`; [`Error::Gone`] when nobody answers.
    pub fn wait_ready(&self, timeout: Duration) -> Result<()> {
        let start = Instant::now();
        loop {
            let status = self.status()?;
            if part(&identity::STATUS, "ready", status.into()) {
                return Ok(());
            }
            let waited = start.elapsed();
            if waited >= timeout {
                return Err(Error::NotReady { waited, status });
            }
            thread::sleep(POLL);
        }
    }

    fn status(&self) -> Result<u32> {
        alive(&identity::STATUS, self.read32(&identity::BLOCK, &identity::STATUS)?)
    }

    /// Reads a register of BAR0 that is alone; see [`Self::read_element`].
    ///
    /// # Errors
    /// As [`Self::read_element`].
    pub fn read(&self, block: &Block, reg: &Reg) -> Result<u64> {
        self.read_element(block, reg, 0)
    }

    /// Reads a register of BAR0, where this card has its block.
    ///
    /// # Errors
    /// [`Error::MissingBlock`]; [`Error::Direction`] when the register cannot be read.
    ///
    /// # Panics
    /// When the register has no such element.
    pub fn read_element(&self, block: &Block, reg: &Reg, index: usize) -> Result<u64> {
        direction("read", block, reg, Access::WriteOnly)?;
        let place = self.place(block)? + reg.element(index);
        match reg.width {
            64 => self.backend.read64(BarId::Bar0, place),
            _ => Ok(self.backend.read32(BarId::Bar0, place)?.into()),
        }
    }

    pub(crate) fn read32(&self, block: &Block, reg: &Reg) -> Result<u32> {
        Ok(u32::from_bits(self.read(block, reg)?.into()))
    }

    /// Writes a register of BAR0 that is alone; see [`Self::write_element`].
    ///
    /// # Errors
    /// As [`Self::write_element`].
    pub fn write(&self, block: &Block, reg: &Reg, value: u64) -> Result<()> {
        self.write_element(block, reg, 0, value)
    }

    /// Writes a register of BAR0, where this card has its block.
    ///
    /// # Errors
    /// [`Error::MissingBlock`]; [`Error::Direction`] when the register cannot be written; [`Error::TooWide`].
    ///
    /// # Panics
    /// When the register has no such element.
    pub fn write_element(&self, block: &Block, reg: &Reg, index: usize, value: u64) -> Result<()> {
        direction("write", block, reg, Access::ReadOnly)?;
        let place = self.place(block)? + reg.element(index);
        if reg.width == 64 {
            return self.backend.write64(BarId::Bar0, place, value);
        }
        let (block, register, width) = (block.name, reg.name, reg.width);
        let value = u32::try_from(value).map_err(|_| Error::TooWide { block, register, value, width })?;
        self.backend.write32(BarId::Bar0, place, value)
    }

    /// Where this card has a block.
    fn place(&self, block: &Block) -> Result<usize> {
        let is_it = |found: &&Found| found.known.is_some_and(|known| known.name == block.name);
        let missing = || Error::MissingBlock { block: block.name, version: chain::version_of(block).major };
        self.chain.iter().find(is_it).map(|found| found.offset).ok_or_else(missing)
    }
}

impl fmt::Debug for Card {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Card({}, version {})", self.backend.identity().name, self.version)
    }
}

fn enough(backend: &dyn Backend, bar: BarId, needed: usize) -> Result<()> {
    let len = backend.bar_len(bar);
    if len < needed { Err(Error::BarTooShort { bar, len, needed }) } else { Ok(()) }
}

/// Magic and version, at the fixed place from which everything else is found.
fn identify(backend: &dyn Backend) -> Result<Version> {
    let read = |reg: &Reg| backend.read32(BarId::Bar0, identity::BLOCK.address(reg));
    let found = alive(&identity::MAGIC, read(&identity::MAGIC)?)?;
    if found != MAGIC {
        return Err(Error::BadMagic { found, expected: MAGIC });
    }
    let card = Version::from_register(read(&identity::ABI)?);
    if !card.serves(Version::DRIVER) {
        return Err(Error::AbiVersion { card, driver: Version::DRIVER });
    }
    Ok(card)
}

/// A device that has left the bus reads as ones, and would look ready.
fn alive(reg: &Reg, value: u32) -> Result<u32> {
    if value == u32::MAX { Err(Error::Gone { register: reg.name }) } else { Ok(value) }
}

fn direction(operation: &'static str, block: &Block, reg: &Reg, never: Access) -> Result<()> {
    if reg.access == never {
        let (block, register, access) = (block.name, reg.name, reg.access.name());
        return Err(Error::Direction { operation, block, register, access });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
