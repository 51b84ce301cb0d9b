//! A card in another process, reached over vfio-user.
//!
//! A store is a message that nobody waits for, a load one that is answered: so loads find the stores before them done. Our memory
//! is lent as `/proc/self/mem`: the other process reads and writes what is mapped like a file, at our addresses, and needs no
//! rights of its own for that. It could reach the rest of our memory as well, and is trusted not to, as a card without an
//! IOMMU is.

use std::{
    collections::HashMap,
    fs::File,
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use rustix::event::{EventfdFlags, eventfd};
use stroma_abi::regs::map::VECTORS;
use stroma_vfio_user::{
    Client, Errno,
    body::{PCI, interrupt, region},
    client,
};

use crate::{
    Advice, Backend, BarId, DmaMemory, Error, Identity, Iova, Place, Result, Wake, check,
    command::{COMMAND_AT, enabled},
    event::take_by,
};

/// The memory of this process, at its own addresses.
const OWN_MEMORY: &str = "/proc/self/mem";
/// A look at memory that found nothing is followed by a pause: on few processors the card needs the time more than we do.
const PAUSE: Duration = Duration::from_micros(20);

/// Memory that cards could not be kept from, for as long as the process lives.
static LEFT: Mutex<Vec<Arc<DmaMemory>>> = Mutex::new(Vec::new());

/// A card that another process serves.
pub struct VfioUser {
    identity: Identity,
    /// From the root on, for programs that go elsewhere.
    socket: PathBuf,
    client: Client,
    bars: [usize; 2],
    vectors: Vec<OwnedFd>,
    memory: File,
    mapped: Mutex<HashMap<Iova, Arc<DmaMemory>>>,
}

impl VfioUser {
    /// Opens the card that is served at a socket: lets it answer and do DMA, and connects its interrupts.
    ///
    /// # Errors
    /// When nobody serves there, another user does or decides who does, somebody else has the card, or it is none; the error says what
    /// to do.
    pub fn open(socket: &Path) -> Result<Self> {
        let name = socket.display().to_string();
        let failed = |step: &str| {
            let operation = format!("{step} {name}");
            move |source: client::Error| refused(operation, source)
        };
        // Before anything is said: whoever decides which socket this is gets the memory that is lent to it.
        stroma_local::trust_path(socket).map_err(|source| Error::Backend {
            operation: format!("opening the card at {name}"),
            advice: None,
            source: source.into(),
        })?;
        let client = Client::connect(socket).map_err(failed("opening the card at"))?;
        let info = client.info().map_err(failed("asking what is at"))?;
        if info.flags & PCI == 0 {
            let source = "it is no PCI function".into();
            return Err(Error::Backend {
                operation: format!("opening the card at {name}"),
                advice: None,
                source,
            });
        }
        let bars = [bar_len(&client, BarId::Bar0)?, bar_len(&client, BarId::Bar2)?];
        enable(&client, &name)?;
        let offered = client.interrupts(interrupt::MSIX).map_err(failed("asking for the interrupts of"))?;
        let count = VECTORS.min(offered.count as usize);
        let events = (0..count).map(|_| eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC));
        let vectors: Vec<OwnedFd> =
            events.collect::<std::result::Result<_, _>>().map_err(|source: Errno| Error::Backend {
                operation: format!("creating event descriptors for {name}"),
                advice: None,
                source: source.into(),
            })?;
        let borrowed: Vec<BorrowedFd<'_>> = vectors.iter().map(AsFd::as_fd).collect();
        client
            .connect_interrupts(interrupt::MSIX, &borrowed)
            .map_err(failed("connecting the interrupts of"))?;
        let memory = File::options().read(true).write(true).open(OWN_MEMORY);
        let memory = memory.map_err(|source| Error::Backend {
            operation: format!("opening {OWN_MEMORY}, to lend it to {name}"),
            advice: Some(Advice::OwnMemory),
            source: source.into(),
        })?;
        let identity = Identity { name, numa_node: None };
        let socket = std::path::absolute(socket).unwrap_or_else(|_| socket.to_path_buf());
        Ok(Self { identity, socket, client, bars, vectors, memory, mapped: Mutex::default() })
    }

    fn read<const WIDTH: usize>(&self, bar: BarId, offset: usize) -> Result<[u8; WIDTH]> {
        check("read", bar, offset, WIDTH, self.bar_len(bar))?;
        let mut bytes = [0; WIDTH];
        let read = self.client.read(region_of(bar), offset as u64, &mut bytes);
        read.map_err(|source| refused(format!("read of {WIDTH} bytes at {bar} + {offset:#x}"), source))?;
        Ok(bytes)
    }

    fn write(&self, bar: BarId, offset: usize, bytes: &[u8]) -> Result<()> {
        check("write", bar, offset, bytes.len(), self.bar_len(bar))?;
        let posted = self.client.post(region_of(bar), offset as u64, bytes);
        let width = bytes.len();
        posted.map_err(|source| refused(format!("write of {width} bytes at {bar} + {offset:#x}"), source))
    }
}

/// An error of the connection with what a person can do about it.
fn refused(operation: String, source: client::Error) -> Error {
    let advice = match (&source, source.refusal()) {
        (client::Error::Connect { source, .. }, _)
            if source.kind() == std::io::ErrorKind::PermissionDenied =>
        {
            Some(Advice::Socket)
        }
        (client::Error::Connect { .. }, _) => Some(Advice::Fabric),
        (_, Some(Errno::BUSY)) => Some(Advice::Busy),
        (_, Some(Errno::PERM)) => Some(Advice::Namespace),
        (_, Some(Errno::NOMEM | Errno::NOSPC | Errno::MFILE)) => Some(Advice::Budget),
        _ => None,
    };
    Error::Backend { operation, advice, source: source.into() }
}

const fn region_of(bar: BarId) -> usize {
    match bar {
        BarId::Bar0 => region::BAR0,
        BarId::Bar2 => region::BAR0 + 2,
    }
}

fn bar_len(client: &Client, bar: BarId) -> Result<usize> {
    let info =
        client.region(region_of(bar)).map_err(|source| refused(format!("asking for {bar}"), source))?;
    let (len, needed) = (usize::try_from(info.size).unwrap_or(usize::MAX), bar.layout().len);
    if len < needed { Err(Error::BarTooShort { bar, len, needed }) } else { Ok(len) }
}

/// Lets the card answer and do DMA.
fn enable(client: &Client, name: &str) -> Result<()> {
    let mut bytes = [0; 2];
    let read = client.read(region::CONFIG, COMMAND_AT, &mut bytes);
    let wanted = enabled(u16::from_le_bytes(bytes)).to_le_bytes();
    let written = read.and_then(|()| client.write(region::CONFIG, COMMAND_AT, &wanted));
    written.map_err(|source| refused(format!("setting Memory and Bus Master for {name}"), source))
}

impl Backend for VfioUser {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn place(&self) -> Option<Place<'_>> {
        Some(Place::Socket(&self.socket))
    }

    fn bar_len(&self, bar: BarId) -> usize {
        match bar {
            BarId::Bar0 => self.bars[0],
            BarId::Bar2 => self.bars[1],
        }
    }

    fn read32(&self, bar: BarId, offset: usize) -> Result<u32> {
        self.read(bar, offset).map(u32::from_le_bytes)
    }

    fn read64(&self, bar: BarId, offset: usize) -> Result<u64> {
        self.read(bar, offset).map(u64::from_le_bytes)
    }

    fn write32(&self, bar: BarId, offset: usize, value: u32) -> Result<()> {
        self.write(bar, offset, &value.to_le_bytes())
    }

    fn write64(&self, bar: BarId, offset: usize, value: u64) -> Result<()> {
        self.write(bar, offset, &value.to_le_bytes())
    }

    fn map(&self, iova: Iova, memory: &Arc<DmaMemory>) -> Result<()> {
        let mut mapped = self.mapped.lock().unwrap_or_else(PoisonError::into_inner);
        let (start, len) = (memory.start().as_ptr().expose_provenance() as u64, memory.len());
        match self.client.map(self.memory.as_fd(), start, iova.0, len as u64) {
            Ok(()) => {
                mapped.insert(iova, Arc::clone(memory));
                Ok(())
            }
            Err(error) if matches!(error.refusal(), Some(Errno::EXIST | Errno::INVAL)) => {
                Err(Error::RangeTaken { iova, len })
            }
            Err(source) => Err(refused(format!("mapping {len:#x} bytes at {iova}"), source)),
        }
    }

    fn unmap(&self, iova: Iova) -> Result<()> {
        let mut mapped = self.mapped.lock().unwrap_or_else(PoisonError::into_inner);
        let len = mapped.get(&iova).ok_or(Error::NotMapped { iova })?.len();
        let unmapped = self.client.unmap(iova.0, len as u64);
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
        let mut told = [0; 8];
        let read = || Ok(rustix::io::read(event, &mut told).map(|_| u64::from_ne_bytes(told))?);
        take_by(read, event.as_fd(), timeout).map_err(|source: io::Error| Error::Backend {
            operation: format!("waiting for vector {vector}"),
            advice: None,
            source: source.into(),
        })
    }

    fn event_fd(&self, vector: usize) -> Option<BorrowedFd<'_>> {
        self.vectors.get(vector).map(AsFd::as_fd)
    }

    fn idle(&self) {
        thread::sleep(PAUSE);
    }

    fn reset(&self) -> Result<()> {
        let operation = format!("function reset of {}", self.identity.name);
        self.client.reset().map_err(|source| refused(operation, source))?;
        enable(&self.client, &self.identity.name)
    }
}

impl Drop for VfioUser {
    /// Takes all memory back before any of it may be freed: the card goes on until its process has heard that we left.
    fn drop(&mut self) {
        let mapped = self.mapped.get_mut().unwrap_or_else(PoisonError::into_inner);
        for (iova, memory) in mapped.drain() {
            match self.client.unmap(iova.0, memory.len() as u64) {
                Ok(()) => {}
                Err(error) if error.is_end() => {}
                // The card may write to it still, so nobody gets it any more.
                Err(_) => LEFT.lock().unwrap_or_else(PoisonError::into_inner).push(memory),
            }
        }
    }
}

#[cfg(test)]
mod tests;
