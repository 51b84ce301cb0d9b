//! A card behind kernel VFIO.

#![expect(unsafe_code, reason = "the kernel lets the card at our memory, and takes pointers")]

use std::{
    collections::HashMap,
    io,
    os::fd::{AsRawFd, BorrowedFd},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use memmap2::MmapOptions;
use stroma_abi::regs::map::VECTORS;
use vfio_bindings::bindings::vfio::{
    VFIO_BASE, VFIO_PCI_BAR0_REGION_INDEX, VFIO_PCI_BAR2_REGION_INDEX, VFIO_PCI_CONFIG_REGION_INDEX,
    VFIO_PCI_MSIX_IRQ_INDEX, VFIO_TYPE,
};
use vfio_ioctls::{VfioContainer, VfioDevice, VfioError, VfioOps};
use vmm_sys_util::{
    eventfd::{EFD_NONBLOCK, EventFd},
    ioctl::ioctl,
    ioctl_io_nr,
};

use crate::{
    Advice, Backend, BarId, DmaMemory, Error, Identity, Iova, Mmio, Place, Result, Wake,
    command::{self, COMMAND_AT},
    event::take_by,
    pci::{self, DEVICES},
};

/// A card bound to vfio-pci, with an IOMMU between it and our memory.
pub struct Vfio {
    identity: Identity,
    bar0: Mmio,
    bar2: Mmio,
    vectors: Vec<EventFd>,
    device: VfioDevice,
    container: Arc<VfioContainer>,
    // Dropped last: the kernel ends all mappings with the container, and only then may memory go.
    mapped: Mutex<HashMap<Iova, Arc<DmaMemory>>>,
}

impl Vfio {
    /// Opens the card at a PCI address such as `0000:41:00.0`: maps its BARs, lets it answer and do DMA, and connects
    /// its interrupts.
    ///
    /// # Errors
    /// When the system is not set up for it; the error says what to do.
    pub fn open(address: &str) -> Result<Self> {
        Self::open_below(Path::new(DEVICES), address)
    }

    fn open_below(devices: &Path, address: &str) -> Result<Self> {
        let found = pci::Device::find(devices, address)?;
        let failed = |step: &str| {
            let operation = format!("{step} for {address}");
            move |source| refused(operation, source)
        };
        let container = Arc::new(VfioContainer::new(None).map_err(failed("opening the VFIO container"))?);
        let ops: Arc<dyn VfioOps> = container.clone();
        let device = VfioDevice::new(&found.path, ops, true).map_err(failed("opening the VFIO device"))?;
        let bar0 = map_bar(&device, BarId::Bar0, VFIO_PCI_BAR0_REGION_INDEX)?;
        let bar2 = map_bar(&device, BarId::Bar2, VFIO_PCI_BAR2_REGION_INDEX)?;
        enable(&device, address)?;
        let offered = device.get_irq_info(VFIO_PCI_MSIX_IRQ_INDEX).map_or(0, |irq| irq.count as usize);
        let events = (0..offered.min(VECTORS)).map(|_| EventFd::new(EFD_NONBLOCK | libc::EFD_CLOEXEC));
        let vectors = events.collect::<io::Result<Vec<_>>>().map_err(|source| Error::Backend {
            operation: format!("creating event descriptors for {address}"),
            advice: None,
            source: source.into(),
        })?;
        device.enable_msix(vectors.iter().collect()).map_err(failed("enabling MSI-X"))?;
        let identity = Identity { name: address.into(), numa_node: found.numa_node };
        Ok(Self { identity, bar0, bar2, vectors, device, container, mapped: Mutex::default() })
    }

    fn bar(&self, bar: BarId) -> &Mmio {
        match bar {
            BarId::Bar0 => &self.bar0,
            BarId::Bar2 => &self.bar2,
        }
    }
}

/// An error of VFIO with what a person can do about it.
fn refused(operation: String, source: VfioError) -> Error {
    let advice = match &source {
        VfioError::OpenContainer(error) | VfioError::OpenGroup(error, _)
            if error.kind() == io::ErrorKind::PermissionDenied =>
        {
            Some(Advice::Permission)
        }
        VfioError::OpenGroup(error, _) if error.kind() == io::ErrorKind::ResourceBusy => Some(Advice::Busy),
        VfioError::OpenContainer(_) | VfioError::VfioExtension | VfioError::VfioApiVersion => {
            Some(Advice::Modules)
        }
        VfioError::OpenGroup(..)
        | VfioError::GetGroupStatus
        | VfioError::GroupViable
        | VfioError::GroupSetContainer => Some(Advice::Group),
        VfioError::GroupGetDeviceFD(_) => Some(Advice::Bind),
        VfioError::ContainerSetIOMMU(error) if error.errno() == libc::EPERM => {
            Some(Advice::InterruptRemapping)
        }
        VfioError::IommuDmaMap(error) if error.errno() == libc::ENOMEM => Some(Advice::LockedMemory),
        _ => None,
    };
    Error::Backend { operation, advice, source: Box::new(source) }
}

fn map_bar(device: &VfioDevice, bar: BarId, region: u32) -> Result<Mmio> {
    let (len, needed) = (device.get_region_size(region), bar.layout().len);
    let len = usize::try_from(len).unwrap_or(usize::MAX);
    if len < needed {
        return Err(Error::BarTooShort { bar, len, needed });
    }
    let map = MmapOptions::new().offset(device.get_region_offset(region)).len(len).map_raw(device);
    let map = map.map_err(|source| Error::Backend {
        operation: format!("mapping {bar}, {len:#x} bytes"),
        advice: None,
        source: source.into(),
    })?;
    Mmio::new(bar, map)
}

/// Lets the card answer and do DMA. Region accesses of vfio-ioctls return nothing, so the register is read again.
fn enable(device: &VfioDevice, address: &str) -> Result<()> {
    let read = || {
        let mut bytes = [0; 2];
        device.region_read(VFIO_PCI_CONFIG_REGION_INDEX, &mut bytes, COMMAND_AT);
        u16::from_le_bytes(bytes)
    };
    let wanted = command::enabled(read());
    device.region_write(VFIO_PCI_CONFIG_REGION_INDEX, &wanted.to_le_bytes(), COMMAND_AT);
    let found = read();
    if found != command::enabled(found) {
        return Err(Error::Backend {
            operation: format!("setting Memory and Bus Master for {address}"),
            advice: None,
            source: format!("the command register reads {found:#06x}").into(),
        });
    }
    Ok(())
}

/// Waits for an event and takes it.
fn take(event: &EventFd, timeout: Duration) -> io::Result<Wake> {
    take_by(|| event.read(), borrowed(event), timeout)
}

fn borrowed(event: &EventFd) -> BorrowedFd<'_> {
    // SAFETY: the descriptor is open while `event` lives, and the result borrows `event`.
    unsafe { BorrowedFd::borrow_raw(event.as_raw_fd()) }
}

// `VfioDevice::reset` keeps to itself whether anything was reset.
ioctl_io_nr!(VFIO_DEVICE_RESET, VFIO_TYPE.into(), VFIO_BASE + 11);

impl Backend for Vfio {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn place(&self) -> Option<Place<'_>> {
        Some(Place::Pci(&self.identity.name))
    }

    fn bar_len(&self, bar: BarId) -> usize {
        self.bar(bar).len()
    }

    fn read32(&self, bar: BarId, offset: usize) -> Result<u32> {
        self.bar(bar).read32(offset)
    }

    fn read64(&self, bar: BarId, offset: usize) -> Result<u64> {
        self.bar(bar).read64(offset)
    }

    fn write32(&self, bar: BarId, offset: usize, value: u32) -> Result<()> {
        self.bar(bar).write32(offset, value)
    }

    fn write64(&self, bar: BarId, offset: usize, value: u64) -> Result<()> {
        self.bar(bar).write64(offset, value)
    }

    fn map(&self, iova: Iova, memory: &Arc<DmaMemory>) -> Result<()> {
        let mut mapped = self.mapped.lock().unwrap_or_else(PoisonError::into_inner);
        let (start, len) = (memory.start().as_ptr(), memory.len());
        // SAFETY: `mapped` keeps a share of the memory until it is unmapped, so it stays allocated, and nobody gets a
        // slice of it, which needs `&mut DmaMemory`; what `&DmaMemory` gives are atomics.
        let outcome = unsafe { self.container.vfio_dma_map(iova.0, len, start) };
        match outcome {
            Ok(()) => {
                mapped.insert(iova, Arc::clone(memory));
                Ok(())
            }
            Err(VfioError::IommuDmaMap(error)) if error.errno() == libc::EEXIST => {
                Err(Error::RangeTaken { iova, len })
            }
            Err(source) => Err(refused(format!("mapping {len:#x} bytes at {iova}"), source)),
        }
    }

    fn unmap(&self, iova: Iova) -> Result<()> {
        let mut mapped = self.mapped.lock().unwrap_or_else(PoisonError::into_inner);
        let len = mapped.get(&iova).ok_or(Error::NotMapped { iova })?.len();
        let unmapped = self.container.vfio_dma_unmap(iova.0, len);
        unmapped.map_err(|source| refused(format!("unmapping {len:#x} bytes at {iova}"), source))?;
        mapped.remove(&iova);
        Ok(())
    }

    fn vectors(&self) -> usize {
        self.vectors.len()
    }

    fn wait(&self, vector: usize, timeout: Duration) -> Result<Wake> {
        let count = self.vectors.len();
        let event = self.vectors.get(vector).ok_or(Error::NoVector { vector, count })?;
        take(event, timeout).map_err(|source| Error::Backend {
            operation: format!("waiting for vector {vector}"),
            advice: None,
            source: source.into(),
        })
    }

    fn event_fd(&self, vector: usize) -> Option<BorrowedFd<'_>> {
        self.vectors.get(vector).map(borrowed)
    }

    fn reset(&self) -> Result<()> {
        // SAFETY: the request takes no argument and acts on the device behind the descriptor alone.
        if unsafe { ioctl(&self.device, VFIO_DEVICE_RESET()) } != 0 {
            return Err(Error::Backend {
                operation: format!("function reset of {}", self.identity.name),
                advice: None,
                source: io::Error::last_os_error().into(),
            });
        }
        // A reset clears the command register where the kernel does not restore it.
        enable(&self.device, &self.identity.name)
    }
}

#[cfg(test)]
mod tests;
