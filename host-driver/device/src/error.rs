//! What can go wrong, with the operation and its values.

use std::{io, path::PathBuf, time::Duration};

use crate::{BarId, Iova, Version};

/// The crate's result.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An access that does not lie on a multiple of its width.
    #[error("{operation} of {width} bytes at {bar} + {offset:#x}: the offset is no multiple of {width}")]
    Unaligned {
        /// "read" or "write".
        operation: &'static str,
        /// The BAR.
        bar: BarId,
        /// Byte in it.
        offset: usize,
        /// Bytes asked for.
        width: usize,
    },
    /// An access behind the end of a BAR.
    #[error("{operation} of {width} bytes at {bar} + {offset:#x}: the BAR ends at {len:#x}")]
    OutsideBar {
        /// "read" or "write".
        operation: &'static str,
        /// The BAR.
        bar: BarId,
        /// Byte in it.
        offset: usize,
        /// Bytes asked for.
        width: usize,
        /// Bytes of the BAR.
        len: usize,
    },
    /// A temperature that the sensor of a board cannot tell.
    #[error("{degrees} degrees Celsius: the sensor of the board tells between -280 and 229")]
    NoTemperature {
        /// What was asked for.
        degrees: f64,
    },
    /// A BAR smaller than the registers it should hold.
    #[error("{bar} has {len:#x} bytes, its registers need {needed:#x}")]
    BarTooShort {
        /// The BAR.
        bar: BarId,
        /// Bytes it has.
        len: usize,
        /// Bytes it should have.
        needed: usize,
    },
    /// Register access against the register's direction.
    #[error("{operation} of register {block}.{register}, which is {access}")]
    Direction {
        /// "read" or "write".
        operation: &'static str,
        /// Block of the register.
        block: &'static str,
        /// The register.
        register: &'static str,
        /// What it allows, as the register map writes it.
        access: &'static str,
    },
    /// A value wider than its register.
    #[error("write of {value:#x} to register {block}.{register}, which has {width} bits")]
    TooWide {
        /// Block of the register.
        block: &'static str,
        /// The register.
        register: &'static str,
        /// The value.
        value: u64,
        /// Bits of the register.
        width: usize,
    },
    /// Reads return ones only: no device answers behind the BAR.
    #[error("{register} reads all ones: the card has left the bus, or its memory decoding is off")]
    Gone {
        /// The register read.
        register: &'static str,
    },
    /// Another device.
    #[error("magic is {found:#010x} instead of {expected:#010x}: this is no Stroma card")]
    BadMagic {
        /// What the register holds.
        found: u32,
        /// What a Stroma card holds.
        expected: u32,
    },
    /// A card this driver does not understand.
    #[error("the card speaks version {card}, this driver {driver}: build both from one source")]
    AbiVersion {
        /// Version of the card.
        card: Version,
        /// Version of the driver.
        driver: Version,
    },
    /// A register block that does not fit into BAR0.
    #[error("register block at {offset:#x} needs {needed:#x} bytes, BAR0 ends at {len:#x}")]
    BlockOutside {
        /// Where the chain points to.
        offset: usize,
        /// Bytes of the block.
        needed: usize,
        /// Bytes of BAR0.
        len: usize,
    },
    /// A register block at an odd place.
    #[error("register block at {offset:#x}: no multiple of 8")]
    BlockUnaligned {
        /// Where the chain points to.
        offset: usize,
    },
    /// A chain of register blocks that returns to itself.
    #[error("register block {from:#x} points back to {to:#x}: the chain has no end")]
    EndlessChain {
        /// The last block.
        from: usize,
        /// A block seen before.
        to: usize,
    },
    /// A register block the driver needs.
    #[error("the card has no register block `{block}` of version {version} (major)")]
    MissingBlock {
        /// The block.
        block: &'static str,
        /// Major version the driver knows.
        version: u16,
    },
    /// A card that does not get ready.
    #[error("the card was not ready after {waited:?}; status is {status:#010x}")]
    NotReady {
        /// Time waited.
        waited: Duration,
        /// The status register, last read.
        status: u32,
    },
    /// An interrupt vector the card does not have.
    #[error("wait for vector {vector}: the card has {count}")]
    NoVector {
        /// The vector.
        vector: usize,
        /// How many there are.
        count: usize,
    },
    /// Memory of no length, or more than can be addressed.
    #[error("DMA memory of {len:#x} bytes cannot be had")]
    BadLength {
        /// Bytes asked for.
        len: usize,
    },
    /// Lent memory that does not consist of whole pages.
    #[error("memory at {address:#x} of {len:#x} bytes: both must be multiples of {page:#x} and not 0")]
    NotWholePages {
        /// First byte.
        address: usize,
        /// Bytes.
        len: usize,
        /// Bytes of a page.
        page: usize,
    },
    /// The kernel has no memory left for us.
    #[error("allocation of {len:#x} bytes of DMA memory: {source}")]
    Allocate {
        /// Bytes asked for.
        len: usize,
        /// What the kernel said.
        source: io::Error,
    },
    /// An access behind the end of DMA memory.
    #[error("access to {len:#x} bytes at {offset:#x} of DMA memory that has {memory:#x}")]
    OutsideMemory {
        /// First byte.
        offset: usize,
        /// Bytes.
        len: usize,
        /// Bytes of the memory.
        memory: usize,
    },
    /// A mapping over another, or beyond the last address.
    #[error("mapping of {len:#x} bytes at {iova}: the range is taken or does not exist")]
    RangeTaken {
        /// First address.
        iova: Iova,
        /// Bytes.
        len: usize,
    },
    /// Unmapping of what is not mapped.
    #[error("unmapping of {iova}: no mapping begins there")]
    NotMapped {
        /// The address.
        iova: Iova,
    },
    /// A PCI address without a device.
    #[error("no PCI device at {path}: addresses look like 0000:41:00.0, `lspci -D` lists them")]
    NoDevice {
        /// Where the device should be.
        path: PathBuf,
    },
    /// A device that cannot be used as it is.
    #[error("{operation} for {device}: {advice}")]
    Setup {
        /// What was tried.
        operation: &'static str,
        /// The device.
        device: String,
        /// What to do.
        advice: Advice,
    },
    /// What the system below refused.
    #[error("{operation}: {source}{}", .advice.map(|advice| format!(" ({advice})")).unwrap_or_default())]
    Backend {
        /// What was tried, with its values.
        operation: String,
        /// What to do, where we know.
        advice: Option<Advice>,
        /// What the system said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl Error {
    /// Has another process the card?
    #[must_use]
    pub fn is_busy(&self) -> bool {
        matches!(self, Self::Backend { advice: Some(Advice::Busy), .. })
    }
}

/// What a person can do about an error of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Advice {
    /// The device has another driver, or none.
    #[error(
        "bind the device to vfio-pci: `stroma bind ADDRESS`, or `driverctl set-override ADDRESS vfio-pci`"
    )]
    Bind,
    /// There is no IOMMU.
    #[error(
        "switch the IOMMU on: in the firmware, and with intel_iommu=on or amd_iommu=on on the kernel's command line"
    )]
    Iommu,
    /// There is no VFIO.
    #[error("load the module vfio-pci, and let this user read and write /dev/vfio")]
    Modules,
    /// This user may not open what VFIO has for the card.
    #[error(
        "let this user read and write /dev/vfio/GROUP: `chown USER /dev/vfio/GROUP`, or a rule of udev that does so at every start"
    )]
    Permission,
    /// The group is missing, foreign or shared.
    #[error(
        "bind every device of the IOMMU group to vfio-pci, let this user read and write /dev/vfio/GROUP, \
         and end other users of the group"
    )]
    Group,
    /// The IOMMU does not remap interrupts.
    #[error(
        "VFIO needs interrupt remapping: switch it on in the firmware (in QEMU: intel-iommu,intremap=on)"
    )]
    InterruptRemapping,
    /// Too little memory may be locked.
    #[error("raise the limit of locked memory: `ulimit -l`, or LimitMEMLOCK= of the service")]
    LockedMemory,
    /// Nobody serves a card there.
    #[error("start the cards first: `stroma fabric` tells where it serves them")]
    Fabric,
    /// The socket of a card is another user's.
    #[error("let this user read and write the socket, which is of whoever runs the cards")]
    Socket,
    /// Somebody else has the card.
    #[error("a card serves one process at a time: end the one that has it, or take another card")]
    Busy,
    /// The server keeps no more for one client.
    #[error(
        "a served card keeps so much for one client and no more: map less at a time, docs/vfio.md tells how much"
    )]
    Budget,
    /// This process cannot lend its memory.
    #[error(
        "mount /proc, and let the process open /proc/self/mem: it cannot as an ordinary user when it is not dumpable"
    )]
    OwnMemory,
    /// The server does not take the memory for ours.
    #[error("run this process and the cards in one PID namespace, with one /proc")]
    Namespace,
}
