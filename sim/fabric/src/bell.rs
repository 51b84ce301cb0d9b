//! The event descriptor of an interrupt.

use std::os::fd::{AsRawFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::{Errno, write};

/// What the system calls an event descriptor.
const KIND: &str = "anon_inode:[eventfd]";

/// An event descriptor of a client. Ringing it never waits: the simulation of all cards would wait with it.
#[derive(Debug)]
pub(crate) struct Bell(OwnedFd);

impl Bell {
    /// Takes a client's descriptor.
    ///
    /// # Errors
    /// When it is no event descriptor.
    pub(crate) fn new(descriptor: OwnedFd) -> Result<Self, Errno> {
        let link = std::fs::read_link(format!("/proc/self/fd/{}", descriptor.as_raw_fd()));
        if link.map_err(|_| Errno::BADF)?.as_os_str() != KIND {
            return Err(Errno::INVAL);
        }
        let flags = fcntl_getfl(&descriptor)?;
        fcntl_setfl(&descriptor, flags | OFlags::NONBLOCK)?;
        Ok(Self(descriptor))
    }

    /// Tells of an interrupt. One that cannot be told because of all those that were not taken is one of them.
    pub(crate) fn ring(&self) {
        let mut watched = [PollFd::new(&self.0, PollFlags::OUT)];
        if poll(&mut watched, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) == Ok(1) {
            let _ = write(&self.0, &1_u64.to_ne_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::event::{EventfdFlags, eventfd};
    use rustix::io::read;

    use super::*;

    #[test]
    fn rings_are_counted_and_a_full_count_does_not_hold_up() {
        let event = eventfd(0, EventfdFlags::empty()).unwrap();
        let bell = Bell::new(event.try_clone().unwrap()).unwrap();
        bell.ring();
        bell.ring();
        let mut count = [0; 8];
        read(&event, &mut count).unwrap();
        assert_eq!(u64::from_ne_bytes(count), 2);
        write(&event, &(u64::MAX - 1).to_ne_bytes()).unwrap();
        // The client would have us wait.
        fcntl_setfl(&event, OFlags::empty()).unwrap();
        bell.ring();
    }

    #[test]
    fn what_is_no_event_descriptor_is_refused() {
        let (reader, writer) = std::io::pipe().unwrap();
        for descriptor in [OwnedFd::from(reader), OwnedFd::from(writer), tempfile::tempfile().unwrap().into()]
        {
            assert_eq!(Bell::new(descriptor).unwrap_err(), Errno::INVAL);
        }
    }
}
