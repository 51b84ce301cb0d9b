//! Events on their way to the program, and a descriptor that is readable while there are any.

use std::{
    collections::VecDeque,
    os::fd::{AsRawFd, OwnedFd, RawFd},
    sync::Mutex,
};

use rustix::{
    event::{EventfdFlags, eventfd},
    io::Errno,
};

use crate::{
    failure::{Failure, Outcome},
    lock,
};

/// Events in their order. The descriptor counts them: programs poll it, and may have made it non-blocking.
#[derive(Debug)]
pub(crate) struct Outbox<T> {
    count: OwnedFd,
    events: Mutex<VecDeque<T>>,
}

fn failed(source: Errno) -> Failure {
    Failure::Call { errno: source.raw_os_error(), why: "the descriptor of events" }
}

impl<T> Outbox<T> {
    pub(crate) fn new() -> Outcome<Self> {
        let count = eventfd(0, EventfdFlags::SEMAPHORE | EventfdFlags::CLOEXEC).map_err(failed)?;
        Ok(Self { count, events: Mutex::default() })
    }

    /// What programs are given.
    pub(crate) fn descriptor(&self) -> RawFd {
        self.count.as_raw_fd()
    }

    /// Adds an event.
    pub(crate) fn push(&self, event: T) {
        let mut events = lock(&self.events);
        events.push_back(event);
        // A count of 64 bits does not overflow.
        let _ = rustix::io::write(&self.count, &1_u64.to_ne_bytes());
    }

    /// The next event; waits for one, unless the program has made the descriptor non-blocking.
    pub(crate) fn take(&self) -> Outcome<T> {
        loop {
            rustix::io::read(&self.count, &mut [0; 8]).map_err(failed)?;
            // One that was counted may have been withdrawn since.
            if let Some(event) = lock(&self.events).pop_front() {
                return Ok(event);
            }
        }
    }

    /// Takes events back that nobody has seen: what they are about ends.
    pub(crate) fn withdraw(&self, is_it: impl Fn(&T) -> bool) {
        let mut events = lock(&self.events);
        let before = events.len();
        events.retain(|event| !is_it(event));
        let count = &self.count;
        for _ in events.len()..before {
            let mut ready = [rustix::event::PollFd::new(count, rustix::event::PollFlags::IN)];
            // Another thread may be about to take what it has counted down: it finds nothing, and waits again.
            if rustix::event::poll(&mut ready, Some(&rustix::event::Timespec::default())) == Ok(1) {
                let _ = rustix::io::read(count, &mut [0; 8]);
            }
        }
    }
}
