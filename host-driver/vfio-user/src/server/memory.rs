//! Which descriptors are memory, and how it is reached.
//!
//! A descriptor is read and written like a file, and never mapped: a client that shortens its file would else end the server by
//! a signal. A client that has ended leaves nothing behind but errors. A call costs a microsecond or two, less than a
//! simulated cycle.
//!
//! Two kinds are memory, and nothing else is taken. Other files could make the server wait, or have it do with its rights what the
//! client may not:
//! - shared memory (`memfd`, `/dev/shm`): a virtual machine's;
//! - `/proc/PID/mem` of the very process that connected. It can open that itself, whatever is set in `ptrace_scope` and
//!   whoever the server runs as; the offset is then an address of the process. The descriptor stands for this memory and not for
//!   the number of the process: when the process ends or runs another program, there is nothing behind it any more.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::{Arc, Weak};

use rustix::fs::{OFlags, fcntl_getfl, fstatfs};
use rustix::io::Errno;

use super::budget::{Beyond, FILES_MAX};

/// What the system calls the file systems of shared memory and of processes.
const TMPFS: u64 = 0x0102_1994;
const PROC: u64 = 0x9fa0;
/// Bytes that are stored last.
const WORD: usize = 8;

/// Memory from an offset on.
#[derive(Clone, Debug)]
pub struct Window {
    file: Arc<File>,
    offset: u64,
}

impl Window {
    /// Copies from byte `at` on.
    ///
    /// # Errors
    /// When it is not all there, or its process is not.
    pub fn read(&self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(bytes, self.place(at)?)
    }

    /// Copies to byte `at` and on. The last word is stored last: who sees it sees all of them, as behind a bus.
    ///
    /// # Errors
    /// When it is not all there, or its process is not.
    pub fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let place = self.place(at)?;
        let (head, word) = bytes.split_at(bytes.len().saturating_sub(WORD));
        if !head.is_empty() {
            self.file.write_all_at(head, place)?;
        }
        self.file.write_all_at(word, place + head.len() as u64)
    }

    fn place(&self, at: u64) -> io::Result<u64> {
        self.offset.checked_add(at).ok_or(io::ErrorKind::InvalidInput.into())
    }
}

/// Why memory is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// There is none.
    Error(Errno),
    /// There is no room for it.
    Beyond(Beyond),
}

impl From<Errno> for Refusal {
    fn from(error: Errno) -> Self {
        Self::Error(error)
    }
}

impl From<Beyond> for Refusal {
    fn from(beyond: Beyond) -> Self {
        Self::Beyond(beyond)
    }
}

/// Which file, and how it is open.
type Key = (u64, u64, u32);

/// The files of one client. A virtual machine shows each of its pages with a descriptor of its own, and all of them are the same file.
#[derive(Debug, Default)]
pub(super) struct Files {
    process: Option<u32>,
    open: HashMap<Key, Weak<File>>,
}

impl Files {
    /// Of this process.
    pub(super) fn of(process: Option<u32>) -> Self {
        Self { process, open: HashMap::new() }
    }

    /// The memory that a descriptor stands for, of which `size` bytes from `offset` on are wanted.
    ///
    /// # Errors
    /// `EPERM` when it is no memory of this client, `EINVAL` when it has no such bytes; and when it is one file more than a client may
    /// show.
    pub(super) fn window(&mut self, descriptor: OwnedFd, offset: u64, size: u64) -> Result<Window, Refusal> {
        let kind = fstatfs(&descriptor)?.f_type;
        let mode = fcntl_getfl(&descriptor)? & OFlags::ACCMODE;
        let file = File::from(descriptor);
        let found = file.metadata().map_err(|_| Errno::BADF)?;
        let end = offset.checked_add(size).filter(|end| i64::try_from(*end).is_ok()).ok_or(Errno::INVAL)?;
        match u64::try_from(kind) {
            Ok(TMPFS) if found.is_file() => {
                if found.len() < end {
                    return Err(Errno::INVAL.into());
                }
            }
            Ok(PROC) => {
                let own = self.process.and_then(|pid| std::fs::metadata(format!("/proc/{pid}/mem")).ok());
                if own.is_none_or(|own| (own.dev(), own.ino()) != (found.dev(), found.ino())) {
                    return Err(Errno::PERM.into());
                }
            }
            _ => return Err(Errno::PERM.into()),
        }
        let key = (found.dev(), found.ino(), mode.bits());
        if let Some(file) = self.open.get(&key).and_then(Weak::upgrade) {
            return Ok(Window { file, offset });
        }
        let file = Arc::new(file);
        self.open.retain(|_, file| file.strong_count() > 0);
        if self.open.len() >= FILES_MAX {
            return Err(Beyond::Files.into());
        }
        self.open.insert(key, Arc::downgrade(&file));
        Ok(Window { file, offset })
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use rustix::fs::{MemfdFlags, memfd_create};

    use super::*;

    fn shared(len: u64) -> File {
        let file = File::from(memfd_create("memory", MemfdFlags::CLOEXEC).unwrap());
        file.set_len(len).unwrap();
        file
    }

    fn copy(file: &impl AsFd) -> OwnedFd {
        file.as_fd().try_clone_to_owned().unwrap()
    }

    #[test]
    fn shared_memory_is_read_and_written_from_its_offset_on() {
        let file = shared(8192);
        let window = Files::default().window(copy(&file), 4096, 4096).unwrap();
        window.write(10, b"eleven bytes, and more").unwrap();
        let mut bytes = [0; 22];
        file.read_exact_at(&mut bytes, 4106).unwrap();
        assert_eq!(&bytes, b"eleven bytes, and more");
        let mut part = [0; 5];
        window.read(17, &mut part).unwrap();
        assert_eq!(&part, b"bytes");
        window.write(4095, b"x").unwrap();
        window.read(4095, &mut part[..1]).unwrap();
        assert_eq!(part[0], b'x');
    }

    #[test]
    fn memory_that_is_cut_off_is_an_error_and_no_signal() {
        let file = shared(8192);
        let window = Files::default().window(copy(&file), 0, 8192).unwrap();
        file.set_len(0).unwrap();
        assert!(window.read(4096, &mut [0; 8]).is_err());
    }

    #[test]
    fn a_file_shown_page_by_page_is_kept_open_once() {
        let (file, other) = (shared(8192), shared(4096));
        let mut files = Files::default();
        let pages = [0, 4096].map(|offset| files.window(copy(&file), offset, 4096).unwrap());
        assert!(Arc::ptr_eq(&pages[0].file, &pages[1].file));
        let third = files.window(copy(&other), 0, 4096).unwrap();
        assert!(!Arc::ptr_eq(&pages[0].file, &third.file));
        drop(pages);
        files.window(copy(&shared(4096)), 0, 4096).unwrap();
        assert_eq!(files.open.len(), 2, "what is no longer used is forgotten");
    }

    #[test]
    fn memory_of_a_process_is_reached_by_its_addresses() {
        let mut bytes = vec![7_u8; 64];
        let own = File::options().read(true).write(true).open("/proc/self/mem").unwrap();
        let mut files = Files::of(Some(std::process::id()));
        let address = bytes.as_ptr().addr() as u64;
        let window = files.window(copy(&own), address, 64).unwrap();
        window.write(8, b"written from outside").unwrap();
        // The compiler cannot know that they changed.
        assert_eq!(&std::hint::black_box(&mut bytes)[8..28], b"written from outside");
        let nowhere = files.window(copy(&own), 0x1000, 64).unwrap();
        assert!(nowhere.read(0, &mut [0; 8]).is_err() && nowhere.write(0, &[0; 8]).is_err());
    }

    #[test]
    fn what_is_no_memory_of_the_client_is_refused() {
        let own = File::options().read(true).write(true).open("/proc/self/mem").unwrap();
        let this = Some(std::process::id());
        let refused = |files: &mut Files, file: &File, offset, size| {
            files.window(copy(file), offset, size).unwrap_err()
        };
        assert_eq!(
            refused(&mut Files::of(Some(1)), &own, 0x1000, 64),
            Errno::PERM.into(),
            "of another process"
        );
        assert_eq!(
            refused(&mut Files::default(), &own, 0x1000, 64),
            Errno::PERM.into(),
            "of we do not know whom"
        );
        let mut files = Files::of(this);
        for path in ["/proc/self/stat", "/dev/zero", "/", "/proc/self/exe"] {
            assert_eq!(refused(&mut files, &File::open(path).unwrap(), 0, 64), Errno::PERM.into(), "{path}");
        }
        assert_eq!(refused(&mut files, &shared(4096), 0, 4097), Errno::INVAL.into());
        assert_eq!(refused(&mut files, &shared(4096), u64::MAX, 2), Errno::INVAL.into());
        assert_eq!(refused(&mut files, &own, 1 << 63, 64), Errno::INVAL.into());
    }
}
