//! Event descriptors: waited for, and taken once.

#![expect(unsafe_code, reason = "poll takes a pointer")]

use std::{
    io,
    os::fd::RawFd,
    time::{Duration, Instant},
};

use crate::Wake;

/// Waits until `fd` can be read, `timeout` at most.
fn readable(fd: RawFd, timeout: Duration) -> io::Result<bool> {
    let start = Instant::now();
    loop {
        let left = timeout.saturating_sub(start.elapsed());
        // Rounded up: a wait must not end early and spin.
        let millis = left.as_nanos().div_ceil(1_000_000);
        let mut wanted = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        // SAFETY: one pollfd, which lives through the call.
        let count = unsafe { libc::poll(&raw mut wanted, 1, i32::try_from(millis).unwrap_or(i32::MAX)) };
        match count {
            1 => return Ok(true),
            0 if start.elapsed() >= timeout => return Ok(false),
            0 => {}
            _ => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => {}
                error => return Err(error),
            },
        }
    }
}

/// Waits until the event at `fd` is there and `read` has taken it.
///
/// # Errors
/// When the system refuses to wait or to read.
pub(crate) fn take_by(
    mut read: impl FnMut() -> io::Result<u64>,
    fd: RawFd,
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
