//! Messages to a served card, with descriptors.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use stroma_vfio_user::body::{interrupt, region};
use stroma_vfio_user::message::{Command, DESCRIPTORS_MAX, Header};
use stroma_vfio_user::server::{Beyond, Ending, Faults, Range};
use stroma_vfio_user::socket::Socket;
use stroma_vfio_user::{Errno, Function, Server, version};

const BAR: u64 = 0x1000;
const CONFIG: u64 = 0x100;
const VECTORS: usize = 40;
/// Bytes of the memory that a client lends.
const MEMORY: u64 = 0x3000;
/// Nothing here takes longer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A function that touches whatever it is shown, and counts its clients.
#[derive(Default)]
struct Device {
    clients: Mutex<(u64, u64)>,
}

impl Device {
    fn clients(&self) -> (u64, u64) {
        *self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Function for Device {
    fn region_len(&self, index: usize) -> u64 {
        match index {
            region::BAR0 => BAR,
            region::CONFIG => CONFIG,
            _ => 0,
        }
    }

    fn interrupts(&self, index: usize) -> usize {
        if index == interrupt::MSIX { VECTORS } else { 0 }
    }

    fn attach(&self, _process: Option<u32>, _faults: Faults) {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner).0 += 1;
    }

    fn read(&self, region: usize, offset: u64, bytes: &mut [u8]) -> Result<(), Errno> {
        assert!(offset + bytes.len() as u64 <= self.region_len(region), "an access beyond region {region}");
        bytes.fill(0x5a);
        Ok(())
    }

    fn write(&self, region: usize, offset: u64, bytes: &[u8]) -> Result<(), Errno> {
        assert!(offset + bytes.len() as u64 <= self.region_len(region), "an access beyond region {region}");
        Ok(())
    }

    fn map(&self, range: Range) -> Result<(), Errno> {
        assert!(range.size > 0 && range.address.checked_add(range.size - 1).is_some(), "{range:?}");
        if let Some(window) = range.window {
            // What is not there, or may not be written, is an error of this access.
            let mut byte = [0];
            let _ = window.read(range.size - 1, &mut byte);
            let _ = window.write(0, &byte);
        }
        Ok(())
    }

    fn unmap(&self, first: u64, last: u64) -> Result<(), Errno> {
        assert!(first <= last);
        Ok(())
    }

    fn connect(&self, index: usize, start: usize, events: Vec<Option<OwnedFd>>) -> Result<(), Errno> {
        assert!(start + events.len() <= self.interrupts(index), "{} from {start} on", events.len());
        Ok(())
    }

    fn reset(&self) -> Result<(), Errno> {
        Ok(())
    }

    fn refused(&self, _beyond: Beyond) {}

    fn delayed(&self, error: &io::Error) {
        panic!("no client can be let in: {error}");
    }

    fn detach(&self, ending: &Ending) {
        assert!(!matches!(ending, Ending::Panicked(_)), "{ending}");
        self.clients.lock().unwrap_or_else(PoisonError::into_inner).1 += 1;
    }
}

/// A server, for as long as the process lives.
struct Served {
    device: Arc<Device>,
    path: PathBuf,
    memory: OwnedFd,
    _folder: tempfile::TempDir,
}

static SERVED: LazyLock<Served> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    let (device, path) = (Arc::new(Device::default()), folder.path().join("card"));
    let server = Server::bind(&path, Arc::clone(&device) as Arc<dyn Function>).expect("a socket");
    thread::spawn(move || server.run());
    let memory = memfd_create("lent", MemfdFlags::CLOEXEC).expect("memory");
    ftruncate(&memory, MEMORY).expect("its length");
    Served { device, path, memory, _folder: folder }
});

/// However a client talks, no access leaves its bounds, and when it has gone the next one is served.
///
/// The input: pieces, each how many descriptors it has, how long it is, and its bytes. All but the first begin with a
/// header, unless a byte says that they are no message at all.
pub fn vfio_user(bytes: &[u8]) {
    let served = &*SERVED;
    let before = served.device.clients();
    let stream = UnixStream::connect(&served.path).expect("somebody listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a patience");
    let socket = Socket::with_patience(stream.try_clone().expect("another descriptor"), PATIENCE);
    let body = version::ours();
    let settled = socket.send(&Header::request(0, Command::Version, body.len()), &[&body], &[]);
    settled.expect("the server listens to the first message");
    socket.receive().expect("an answer to it");
    let mut rest = bytes;
    while let Some((&[shape, length], more)) = rest.split_first_chunk::<2>() {
        let (piece, more) = more.split_at(more.len().min(length.into()));
        rest = more;
        // Who was sent away cannot say more.
        if !say(&socket, &stream, shape, piece) {
            break;
        }
    }
    let _ = stream.shutdown(std::net::Shutdown::Write);
    // The server answers, and closes its end.
    let mut answers = Vec::new();
    match (&stream).read_to_end(&mut answers) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {}
        Err(error) => panic!("the server does not end: {error}"),
    }
    while served.device.clients().1 == before.1 {
        thread::yield_now();
    }
    assert_eq!(served.device.clients(), (before.0 + 1, before.1 + 1));
}

fn say(socket: &Socket, mut stream: &UnixStream, shape: u8, piece: &[u8]) -> bool {
    match piece.split_first_chunk::<{ Header::LEN }>() {
        Some((header, body)) if shape & 0x80 == 0 => {
            let mut header = Header::from_bytes(header);
            // Most headers say how long the message is; else what follows is no message.
            if shape & 0x40 == 0 {
                header.size = u32::try_from(Header::LEN + body.len()).expect("a piece is short");
            }
            let count = usize::from(shape & 0x1f).min(DESCRIPTORS_MAX);
            let lent = vec![SERVED.memory.as_fd(); count];
            socket.send(&header, &[body], &lent).is_ok()
        }
        _ => stream.write_all(piece).is_ok(),
    }
}
