//! The driver's end: asks, and waits for the answer.

use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use stroma_local::PeerError;

use crate::Errno;
use crate::body::{
    ACTION_TRIGGER, DATA_DESCRIPTORS, DeviceInfo, DmaMap, DmaUnmap, InterruptInfo, READ, RegionAccess,
    RegionInfo, SetInterrupts, WRITE, argsz,
};
use crate::message::{Command, Header};
use crate::socket::{self, Socket};
use crate::version::{self, Capabilities};

/// The longest that an answer may take. A simulated device on a busy machine is slow.
const PATIENCE: Duration = Duration::from_mins(1);

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Nobody serves there.
    #[error("connecting to {}: {source}", path.display())]
    Connect {
        /// The socket.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Whoever serves there is not trusted: memory and descriptors are lent to servers.
    #[error("connecting to {}: {source}", path.display())]
    Untrusted {
        /// The socket.
        path: PathBuf,
        /// What is wrong.
        source: PeerError,
    },
    /// The server said no.
    #[error("{command:?}: the server refuses: {source}")]
    Refused {
        /// What was asked.
        command: Command,
        /// Its error.
        source: io::Error,
    },
    /// The server's answer makes no sense.
    #[error("{command:?}: the answer of the server makes no sense: {what}")]
    Answer {
        /// What was asked.
        command: Command,
        /// What is wrong.
        what: &'static str,
    },
    /// The connection failed.
    #[error("{command:?}: {source}")]
    Connection {
        /// What was asked.
        command: Command,
        /// What happened.
        source: socket::Error,
    },
}

impl Error {
    /// The number of the error by which the server refused.
    #[must_use]
    pub fn refusal(&self) -> Option<Errno> {
        match self {
            Self::Refused { source, .. } => Errno::from_io_error(source),
            _ => None,
        }
    }

    /// Is the server gone, and all that it kept for us?
    #[must_use]
    pub fn is_end(&self) -> bool {
        matches!(self, Self::Connection { source: socket::Error::Closed | socket::Error::Half { .. }, .. })
    }
}

/// A connection to a device. Requests of several threads take turns, so that accesses of one thread stay in order.
#[derive(Debug)]
pub struct Client {
    socket: Socket,
    /// The number of the next request; who holds it may speak.
    next: Mutex<u16>,
    capabilities: Capabilities,
}

impl Client {
    /// Connects to the device that is served at `path` by this user or root.
    ///
    /// # Errors
    /// When nobody serves there, or another user does, or it is busy, or speaks another version.
    pub fn connect(path: &Path) -> Result<Self, Error> {
        let stream = UnixStream::connect(path);
        let stream = stream.map_err(|source| Error::Connect { path: path.to_path_buf(), source })?;
        let trusted = stroma_local::trust_peer(&stream);
        trusted.map_err(|source| Error::Untrusted { path: path.to_path_buf(), source })?;
        let socket = Socket::with_patience(stream, PATIENCE);
        let mut client = Self { socket, next: Mutex::new(0), capabilities: Capabilities::default() };
        let body = client.request(Command::Version, &[&version::ours()], &[])?;
        let wrong = |what| Error::Answer { command: Command::Version, what };
        let (numbers, capabilities) = version::parse(&body).ok_or(wrong("no version"))?;
        if numbers.major != version::NUMBERS.major {
            return Err(wrong("it speaks another version"));
        }
        client.capabilities = capabilities;
        Ok(client)
    }

    /// How much the server takes.
    #[must_use]
    pub fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    /// What kind of device it is.
    ///
    /// # Errors
    /// When it cannot be asked.
    pub fn info(&self) -> Result<DeviceInfo, Error> {
        let body = DeviceInfo { argsz: argsz(DeviceInfo::LEN), ..DeviceInfo::default() };
        let body = self.request(Command::DeviceInfo, &[&body.to_bytes()], &[])?;
        parsed(Command::DeviceInfo, DeviceInfo::parse(&body))
    }

    /// One of its regions.
    ///
    /// # Errors
    /// When there is no such region.
    pub fn region(&self, index: usize) -> Result<RegionInfo, Error> {
        let body =
            RegionInfo { argsz: argsz(RegionInfo::LEN), index: number(index), ..RegionInfo::default() };
        let body = self.request(Command::RegionInfo, &[&body.to_bytes()], &[])?;
        parsed(Command::RegionInfo, RegionInfo::parse(&body))
    }

    /// One kind of its interrupts.
    ///
    /// # Errors
    /// When there is no such kind.
    pub fn interrupts(&self, index: usize) -> Result<InterruptInfo, Error> {
        let body = InterruptInfo {
            argsz: argsz(InterruptInfo::LEN),
            index: number(index),
            ..InterruptInfo::default()
        };
        let body = self.request(Command::InterruptInfo, &[&body.to_bytes()], &[])?;
        parsed(Command::InterruptInfo, InterruptInfo::parse(&body))
    }

    /// Has interrupts of one kind told by event descriptors, from the first on.
    ///
    /// # Errors
    /// When there are not as many.
    pub fn connect_interrupts(&self, index: usize, events: &[BorrowedFd<'_>]) -> Result<(), Error> {
        let mut start = 0;
        for events in events.chunks(self.capabilities.max_msg_fds.max(1)) {
            let body = SetInterrupts {
                argsz: argsz(SetInterrupts::LEN),
                flags: DATA_DESCRIPTORS | ACTION_TRIGGER,
                index: number(index),
                start: number(start),
                count: number(events.len()),
            };
            self.request(Command::SetInterrupts, &[&body.to_bytes()], events)?;
            start += events.len();
        }
        Ok(())
    }

    /// Reads from a region.
    ///
    /// # Errors
    /// When these bytes cannot be read.
    pub fn read(&self, region: usize, offset: u64, bytes: &mut [u8]) -> Result<(), Error> {
        let access = RegionAccess { offset, region: number(region), count: number(bytes.len()) };
        let body = self.request(Command::RegionRead, &[&access.to_bytes()], &[])?;
        match RegionAccess::parse(&body) {
            Some((_, read)) if read.len() == bytes.len() => {
                bytes.copy_from_slice(read);
                Ok(())
            }
            _ => Err(Error::Answer { command: Command::RegionRead, what: "another number of bytes" }),
        }
    }

    /// Writes to a region, and waits until it is done.
    ///
    /// # Errors
    /// When these bytes cannot be written.
    pub fn write(&self, region: usize, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        let access = RegionAccess { offset, region: number(region), count: number(bytes.len()) };
        self.request(Command::RegionWrite, &[&access.to_bytes(), bytes], &[]).map(drop)
    }

    /// Writes to a region without waiting, as a store to a device does. A request behind it finds it done.
    ///
    /// # Errors
    /// When it cannot be sent. What the server says to it, nobody hears.
    pub fn post(&self, region: usize, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        let access = RegionAccess { offset, region: number(region), count: number(bytes.len()) };
        let mut next = self.turn();
        let header = Header::posted(*next, Command::RegionWrite, RegionAccess::LEN + bytes.len());
        *next = next.wrapping_add(1);
        let sent = self.socket.send(&header, &[&access.to_bytes(), bytes], &[]);
        sent.map_err(|source| Error::Connection { command: Command::RegionWrite, source })
    }

    /// Shows memory to the device: `size` bytes from `offset` on of what the descriptor stands for, as `address`.
    ///
    /// # Errors
    /// When the server cannot reach it, or something is there already.
    pub fn map(&self, memory: BorrowedFd<'_>, offset: u64, address: u64, size: u64) -> Result<(), Error> {
        let body = DmaMap { argsz: argsz(DmaMap::LEN), flags: READ | WRITE, offset, address, size };
        self.request(Command::DmaMap, &[&body.to_bytes()], &[memory]).map(drop)
    }

    /// Takes memory away from the device. When this returns without error, it does not touch it any more.
    ///
    /// # Errors
    /// When it cut a mapping in two.
    pub fn unmap(&self, address: u64, size: u64) -> Result<(), Error> {
        let body = DmaUnmap { argsz: argsz(DmaUnmap::LEN), flags: 0, address, size };
        self.request(Command::DmaUnmap, &[&body.to_bytes()], &[]).map(drop)
    }

    /// Resets the device.
    ///
    /// # Errors
    /// When it cannot be reset.
    pub fn reset(&self) -> Result<(), Error> {
        self.request(Command::DeviceReset, &[], &[]).map(drop)
    }

    /// Sends a request; the body of the answer.
    fn request(
        &self,
        command: Command,
        body: &[&[u8]],
        descriptors: &[BorrowedFd<'_>],
    ) -> Result<Vec<u8>, Error> {
        let failed = |source| Error::Connection { command, source };
        let mut next = self.turn();
        let header = Header::request(*next, command, body.iter().map(|part| part.len()).sum());
        *next = next.wrapping_add(1);
        self.socket.send(&header, body, descriptors).map_err(failed)?;
        let answer = loop {
            let message = self.socket.receive().map_err(failed)?;
            if !message.header.is_request() {
                break message;
            }
            // All memory there is was lent by descriptors: what the device asks for is none.
            let refusal = message.header.failure(number_of(Errno::FAULT));
            self.socket.send(&refusal, &[], &[]).map_err(failed)?;
        };
        if !answer.header.answers(&header) {
            return Err(Error::Answer { command, what: "it answers another request" });
        }
        match answer.header.told() {
            None => Ok(answer.body),
            Some(error) => {
                let error = i32::try_from(error).unwrap_or_default();
                Err(Error::Refused { command, source: io::Error::from_raw_os_error(error) })
            }
        }
    }

    fn turn(&self) -> std::sync::MutexGuard<'_, u16> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn parsed<T>(command: Command, found: Option<(T, &[u8])>) -> Result<T, Error> {
    found.map(|(body, _)| body).ok_or(Error::Answer { command, what: "it is too short" })
}

fn number_of(error: Errno) -> u32 {
    u32::try_from(error.raw_os_error()).unwrap_or_default()
}

/// Indices and counts of devices are small.
fn number(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
