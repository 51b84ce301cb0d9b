//! Event descriptors: waited for, and taken once.

use std::{
    io,
    os::fd::BorrowedFd,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};

use crate::Wake;

/// Waits until `fd` can be read, `timeout` at most.
fn readable(fd: BorrowedFd<'_>, timeout: Duration) -> io::Result<bool> {
    let start = Instant::now();
    loop {
        // What is too long for the system is for ever.
        let left = Timespec::try_from(timeout.saturating_sub(start.elapsed())).ok();
        match poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], left.as_ref()) {
            Err(Errno::INTR) => {}
            outcome => return Ok(outcome? > 0),
        }
    }
}

/// Waits until the event at `fd` is there and `read` has taken it.
///
/// # Errors
/// When the system refuses to wait or to read.
pub(crate) fn take_by(
    mut read: impl FnMut() -> io::Result<u64>,
    fd: BorrowedFd<'_>,
    timeout: Duration,
) -> io::Result<Wake> {
    let start = Instant::now();
    while readable(fd, timeout.saturating_sub(start.elapsed()))? {
        match read() {
            Ok(_) => return Ok(Wake::Fired),
            // Another thread waits for the same vector and was faster: wait on.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && start.elapsed() < timeout => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) => return Err(error),
        }
    }
    Ok(Wake::TimedOut)
}
