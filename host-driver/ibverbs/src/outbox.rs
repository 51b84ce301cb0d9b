//! Events on their way to the program, and a descriptor that is readable while there are any.

use std::collections::VecDeque;

use crate::{failure::Outcome, flag::Flag, lock, sync::Mutex};

/// Events in their order. The flag is raised while there are any, but for the moment in which a thread has waited for it, and comes to take
/// one.
#[derive(Debug)]
pub(crate) struct Outbox<T> {
    flag: Flag,
    events: Mutex<VecDeque<T>>,
}

impl<T> Outbox<T> {
    pub(crate) fn new(flag: Flag) -> Self {
        Self { flag, events: Mutex::default() }
    }

    /// What programs wait at.
    pub(crate) fn flag(&self) -> &Flag {
        &self.flag
    }

    /// Adds an event.
    pub(crate) fn push(&self, event: T) {
        let mut events = lock(&self.events);
        if events.is_empty() {
            self.flag.raise();
        }
        events.push_back(event);
    }

    /// The next event; waits for one, unless the program does not want to wait.
    pub(crate) fn take(&self) -> Outcome<T> {
        let mut has_waited = false;
        loop {
            let mut events = lock(&self.events);
            if let Some(event) = events.pop_front() {
                if events.is_empty() {
                    self.flag.lower();
                } else if has_waited {
                    self.flag.raise();
                }
                return Ok(event);
            }
            drop(events);
            // Another thread may take what this one has seen, or it may be withdrawn.
            self.flag.wait()?;
            has_waited = true;
        }
    }

    /// Takes events back that nobody has seen: what they are about ends.
    pub(crate) fn withdraw(&self, is_it: impl Fn(&T) -> bool) {
        let mut events = lock(&self.events);
        events.retain(|event| !is_it(event));
        if events.is_empty() {
            self.flag.lower();
        }
    }
}
