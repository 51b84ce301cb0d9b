//! The kernels of a card: which there are, how long they may run, and how often they did.

use stroma_abi::{
    Value,
    regs::{
        Reg,
        map::{CATALOGUE_MAX, KERNEL_LIMIT, KERNEL_PATIENCE, catalogue, kernels},
    },
};
use stroma_device::{Card, part};

use crate::{Device, Error, Result};

/// A kernel of the card. The programs that call it know all three numbers; where one differs, they speak of another kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// The slot it sits in.
    pub slot: usize,
    /// RPC op-code that chooses it.
    pub operation: u16,
    /// Grows with each change that a caller can notice.
    pub version: u16,
    /// Identifies the layout of its parameters: the `LAYOUT` of their structure in `stroma_abi::kernel`.
    pub parameter_layout: u32,
}

/// How often something has happened in the slot of a kernel since the card was reset. All of them wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelCounters {
    /// Commands that the kernel was given.
    pub invoked: u64,
    /// Answers with status `Ok`.
    pub succeeded: u64,
    /// Answers with another status.
    pub failed: u64,
    /// Invocations and requests that were ended from outside: by a limit, or with their queue pair.
    pub stopped: u64,
}

/// How long all kernels of a card may take, in cycles of its core clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelLimits {
    /// Cycles of an invocation, from when it is the oldest of its kernel, and 32 more for each word of the datapath that the kernel takes of
    /// its payload; 0: any number. Then the kernel is reset, and the caller is told `Limit`.
    pub limit: u32,
    /// Cycles from the first packet of a request to its last, and 32 more for each word of the datapath that has come of its payload; 0: any
    /// number. Then it is given up, and the caller is told `Aborted`.
    pub patience: u32,
}

impl Default for KernelLimits {
    /// Those of a card that was reset.
    fn default() -> Self {
        Self { limit: KERNEL_LIMIT, patience: KERNEL_PATIENCE }
    }
}

/// The kernels of a card, by slot, whoever has opened it. Slots may be empty.
///
/// # Errors
/// As [`Device::kernels`].
pub fn kernels_of(card: &Card) -> Result<Vec<Kernel>> {
    let read = |slot| {
        let entry = card.read_element(&catalogue::BLOCK, &catalogue::KERNEL, slot)?;
        // An empty slot reads zero; a kernel's version never is.
        Ok((entry != 0).then(|| Kernel {
            slot,
            operation: part(&catalogue::KERNEL, "operation", entry),
            version: part(&catalogue::KERNEL, "version", entry),
            parameter_layout: part(&catalogue::KERNEL, "parameter_layout", entry),
        }))
    };
    (0..slots_of(card)?).filter_map(|slot| read(slot).transpose()).collect()
}

/// What is counted of the kernel in a slot of a card, whoever has opened it.
///
/// # Errors
/// As [`Device::kernel_counters`].
pub fn kernel_counters_of(card: &Card, slot: usize) -> Result<KernelCounters> {
    let slots = slots_of(card)?;
    if slot >= slots {
        return Err(Error::NoKernel { slot, slots });
    }
    let read = |counter: &Reg| card.read_element(&kernels::BLOCK, counter, slot);
    Ok(KernelCounters {
        invoked: read(&kernels::INVOKED)?,
        succeeded: read(&kernels::SUCCEEDED)?,
        failed: read(&kernels::FAILED)?,
        stopped: read(&kernels::STOPPED)?,
    })
}

fn slots_of(card: &Card) -> Result<usize> {
    let slots = card.read(&catalogue::BLOCK, &catalogue::SLOTS)?;
    let bad = || Error::BadCatalogue { slots, room: CATALOGUE_MAX };
    usize::try_from(slots).ok().filter(|slots| *slots <= CATALOGUE_MAX).ok_or_else(bad)
}

impl Device {
    /// The kernels of the card, by slot.
    ///
    /// # Errors
    /// [`Error::BadCatalogue`] when the card tells of more than a catalogue has room for; when it cannot be reached.
    pub fn kernels(&self) -> Result<Vec<Kernel>> {
        kernels_of(self.card())
    }

    /// What is counted of the kernel in a slot. The numbers are read one after the other, while the kernel goes on.
    ///
    /// # Errors
    /// [`Error::NoKernel`] when the card has no such slot; as [`Self::kernels`].
    pub fn kernel_counters(&self, slot: usize) -> Result<KernelCounters> {
        kernel_counters_of(self.card(), slot)
    }

    /// How long kernels may take.
    ///
    /// # Errors
    /// When the card cannot be reached.
    pub fn kernel_limits(&self) -> Result<KernelLimits> {
        let read = |reg| self.card().read(&kernels::BLOCK, reg).map(|value| u32::from_bits(value.into()));
        Ok(KernelLimits { limit: read(&kernels::LIMIT)?, patience: read(&kernels::PATIENCE)? })
    }

    /// Sets it, for what is under way, too.
    ///
    /// # Errors
    /// When the card cannot be reached.
    pub fn set_kernel_limits(&self, limits: KernelLimits) -> Result<()> {
        self.card().write(&kernels::BLOCK, &kernels::LIMIT, limits.limit.into())?;
        Ok(self.card().write(&kernels::BLOCK, &kernels::PATIENCE, limits.patience.into())?)
    }
}
