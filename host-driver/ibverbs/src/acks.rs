//! Events that were handed to the program, and those it has acknowledged: an object ends when both are the same.

use std::sync::{Condvar, Mutex};

use crate::lock;

/// Counts events of an object.
#[derive(Debug, Default)]
pub(crate) struct Acks {
    open: Mutex<u64>,
    changed: Condvar,
}

impl Acks {
    /// One more was handed over.
    pub(crate) fn deliver(&self) {
        *lock(&self.open) += 1;
    }

    /// So many were acknowledged; more than there are count as all.
    pub(crate) fn acknowledge(&self, count: u64) {
        let mut open = lock(&self.open);
        *open = open.saturating_sub(count);
        self.changed.notify_all();
    }

    /// Waits until all of them are: the program may be looking at the object in another thread.
    pub(crate) fn settle(&self) {
        let open = lock(&self.open);
        drop(self.changed.wait_while(open, |open| *open > 0));
    }
}
