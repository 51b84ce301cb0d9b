//! The device's end: one client at a time, each of them a stranger.
//!
//! 1. A function has one client. Another one that connects meanwhile is left waiting for [`PATIENCE`], because a client that has
//!    just ended may not be cleared away yet, and is then refused: `EBUSY`. It has as long again to hear that. Of those who wait
//!    there are [`WAITING_MAX`]; the connection of one more is closed.
//! 2. However a client ends (it closes the socket, it dies, it says what is no message, serving it panics), the function is told, and
//!    takes care that nothing of the client is left before the next one is let in.
//! 3. Of what costs the server something a client has a budget ([`FILES_MAX`], [`MAPS_MAX`](crate::version::MAPS_MAX), [`BYTES_MAX`]).
//!    Beyond it requests are refused.
//! 4. A request that makes no sense is answered with an error and changes nothing. Where the bytes cannot even be taken for
//!    a message, the connection ends. Neither concerns any other server.

mod budget;
mod faults;
pub mod memory;
mod session;
mod turn;

use std::fmt;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::Errno;
use crate::socket::{self, Socket};
pub use budget::{BYTES_MAX, Beyond, FILES_MAX};
pub use faults::Faults;
use memory::Window;
use turn::Turn;

/// How long a client waits for the one before it.
pub const PATIENCE: Duration = Duration::from_secs(1);
/// Clients that wait for the one before them, or are being refused; one more is let go without a word.
pub const WAITING_MAX: usize = 64;
/// How long a client may take to tell its version.
const VERSION_PATIENCE: Duration = Duration::from_secs(5);

/// Memory that a client shows to the device.
#[derive(Clone, Debug)]
pub struct Range {
    /// Where the device sees it.
    pub address: u64,
    /// Bytes; not none.
    pub size: u64,
    /// May the device read it?
    pub is_read: bool,
    /// May it write to it?
    pub is_written: bool,
    /// Where it is. `None` for a range that cannot be reached: accesses to it fail.
    pub window: Option<Window>,
}

/// How a client ended.
#[derive(Debug)]
pub enum Ending {
    /// It closed the connection, or died.
    Left,
    /// It broke the rules, or the connection broke.
    Broken(socket::Error),
    /// Its first message did not settle the version.
    Version,
    /// To serve it was a fault of the function, or of the server, which said so.
    Panicked(String),
}

impl fmt::Display for Ending {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Left => out.write_str("has left"),
            Self::Broken(error) => write!(out, "was sent away: {error}"),
            Self::Version => out.write_str("was sent away: it did not begin with a version we speak"),
            Self::Panicked(says) => write!(out, "was sent away: serving it has panicked: {says}"),
        }
    }
}

/// A PCI function that can be served. Calls come from one thread at a time, those of a client between
/// [`attach`](Self::attach) and [`detach`](Self::detach).
pub trait Function: Send + Sync + 'static {
    /// Bytes of its region of this index, below [`region::COUNT`](crate::body::region::COUNT); 0 where there is none.
    fn region_len(&self, index: usize) -> u64;

    /// How many interrupts of the kind of this index, below [`interrupt::COUNT`](crate::body::interrupt::COUNT), it has.
    fn interrupts(&self, index: usize) -> usize;

    /// A client has come, a process of this number if the system knows. It wants to hear of accesses that led to no mapping.
    fn attach(&self, process: Option<u32>, faults: Faults);

    /// Reads from a region, within its length.
    ///
    /// # Errors
    /// When an access of this kind is not possible there.
    fn read(&self, region: usize, offset: u64, bytes: &mut [u8]) -> Result<(), Errno>;

    /// Writes to a region, within its length.
    ///
    /// # Errors
    /// When an access of this kind is not possible there.
    fn write(&self, region: usize, offset: u64, bytes: &[u8]) -> Result<(), Errno>;

    /// Lets the device at memory.
    ///
    /// # Errors
    /// When something is mapped there already (`EEXIST`), or the range is none.
    fn map(&self, range: Range) -> Result<(), Errno>;

    /// Takes the mappings away that lie between these addresses, both included. The device touches them no more.
    ///
    /// # Errors
    /// When this would cut one in two; then nothing is taken away.
    fn unmap(&self, first: u64, last: u64) -> Result<(), Errno>;

    /// Connects interrupts of a kind, from `start` on, within their number: each to its descriptor, or to none.
    ///
    /// # Errors
    /// When they cannot be connected.
    fn connect(&self, index: usize, start: usize, events: Vec<Option<OwnedFd>>) -> Result<(), Errno>;

    /// Resets the function; mappings and connections stay.
    ///
    /// # Errors
    /// When it cannot be reset.
    fn reset(&self) -> Result<(), Errno>;

    /// The client wanted more than its budget has, and was refused.
    fn refused(&self, beyond: Beyond);

    /// No client can be let in for a while: the system refuses what serving one takes. It is tried again.
    fn delayed(&self, error: &io::Error);

    /// The client has ended. When this returns, nothing of it can be reached, and the function is as after power-up.
    fn detach(&self, ending: &Ending);
}

/// A function at a socket.
pub struct Server {
    listener: UnixListener,
    path: PathBuf,
    function: Arc<dyn Function>,
}

impl Server {
    /// Binds a socket at `path`, in place of one that a server left there. It is its user's alone.
    ///
    /// # Errors
    /// When somebody serves there, or something else is there, or the socket cannot be made.
    pub fn bind(path: &Path, function: Arc<dyn Function>) -> io::Result<Self> {
        match UnixStream::connect(path) {
            Ok(_) => return Err(ErrorKind::AddrInUse.into()),
            // A connection to a file of any other kind is refused as well.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => stroma_local::remove_socket(path)?,
            Err(_) => {}
        }
        Ok(Self { listener: stroma_local::listen(path)?, path: path.to_path_buf(), function })
    }

    /// Where it serves.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Serves one client after the other, for as long as the process lives.
    pub fn run(&self) -> ! {
        let turn = Arc::new(Turn::default());
        loop {
            let stream = stroma_local::accept(&self.listener, |error| self.function.delayed(error));
            let Some(place) = turn.wait(WAITING_MAX) else { continue };
            let (function, turn) = (Arc::clone(&self.function), Arc::clone(&turn));
            // A thread of its own, so that whoever waits, or takes his time to be refused, holds nobody else up.
            let served = thread::Builder::new().name("vfio-user".to_owned()).spawn(move || {
                let Some(_seat) = turn.take(PATIENCE) else {
                    session::refuse(stream, Errno::BUSY);
                    drop(place);
                    return;
                };
                drop(place);
                session::serve(Socket::of_server(stream), &*function);
            });
            if let Err(error) = served {
                self.function.delayed(&error);
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Whoever finds it later finds nobody behind it, and may remove it.
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests;
