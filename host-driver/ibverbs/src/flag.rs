//! A descriptor that programs wait at: readable while the flag is raised.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use rustix::{
    io::Errno,
    net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair},
};

use crate::failure::{Failure, Outcome};

/// Bytes that are taken at a time: each time it was raised is one.
const CHUNK: usize = 64;

/// Two sockets, one of which programs have. They poll it, and may make it non-blocking; it is read from here without waiting all the
/// same, which no event descriptor allows. A program that reads from it itself lowers the flag, and still finds the events.
#[derive(Debug)]
pub(crate) struct Flag {
    ours: OwnedFd,
    programs: OwnedFd,
}

fn failed(source: Errno) -> Failure {
    Failure::Call { errno: source.raw_os_error(), why: "the descriptor of events" }
}

impl Flag {
    pub(crate) fn new() -> Outcome<Self> {
        let pair = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None);
        pair.map(|(ours, programs)| Self { ours, programs }).map_err(failed)
    }

    /// What programs are given.
    pub(crate) fn descriptor(&self) -> RawFd {
        self.programs.as_raw_fd()
    }

    /// Raises it, if it is not raised.
    pub(crate) fn raise(&self) {
        // Where there is no room for a byte there is one.
        let _ = send(&self.ours, &[1], SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
    }

    /// Lowers it, if it is raised.
    pub(crate) fn lower(&self) {
        while recv(&self.programs, &mut [0; CHUNK], RecvFlags::DONTWAIT).is_ok_and(|(count, _)| count > 0) {}
    }

    /// Waits until it is raised, and lowers it. Where the program has made the descriptor non-blocking this fails, and a signal ends it or
    /// not as the program has said: so it is with the descriptors of other adapters.
    pub(crate) fn wait(&self) -> Outcome<()> {
        recv(&self.programs, &mut [0; CHUNK], RecvFlags::empty()).map(drop).map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use rustix::{
        event::{PollFd, PollFlags, Timespec, poll},
        fs::{OFlags, fcntl_setfl},
    };

    use super::*;

    fn is_readable(flag: &Flag) -> bool {
        poll(&mut [PollFd::new(&flag.programs, PollFlags::IN)], Some(&Timespec::default())) == Ok(1)
    }

    #[test]
    fn a_raised_flag_is_readable_and_lowering_it_never_waits() {
        let flag = Flag::new().unwrap();
        flag.lower();
        assert!(!is_readable(&flag));
        for _ in 0..=CHUNK {
            flag.raise();
        }
        assert!(is_readable(&flag));
        flag.lower();
        assert!(!is_readable(&flag));
        flag.raise();
        flag.wait().unwrap();
        assert!(!is_readable(&flag));
    }

    #[test]
    fn a_program_that_does_not_want_to_wait_is_told() {
        let flag = Flag::new().unwrap();
        fcntl_setfl(&flag.programs, OFlags::NONBLOCK).unwrap();
        assert_eq!(flag.wait().unwrap_err().errno(), libc::EAGAIN);
        flag.raise();
        flag.wait().unwrap();
    }
}
