//! Whose turn it is: a function has one client at a time.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use crate::sync::{AtomicUsize, Condvar, Mutex, Ordering};

/// Is the function taken, and who would like to have it?
#[derive(Default)]
pub(super) struct Turn {
    is_taken: Mutex<bool>,
    freed: Condvar,
    waiting: AtomicUsize,
}

/// The function, had by who holds this. However that ends, a panic included, the function is free then.
pub(super) struct Seat(Arc<Turn>);

/// A place among those who wait.
pub(super) struct Place(Arc<Turn>);

impl Turn {
    /// Takes the function, if it becomes free in time.
    pub(super) fn take(self: &Arc<Self>, patience: Duration) -> Option<Seat> {
        let taken = self.is_taken.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.freed.wait_timeout_while(taken, patience, |taken| *taken);
        let mut taken = waited.unwrap_or_else(PoisonError::into_inner).0;
        (!std::mem::replace(&mut *taken, true)).then(|| Seat(Arc::clone(self)))
    }

    /// Joins those who wait, if there are fewer than `most`.
    pub(super) fn wait(self: &Arc<Self>, most: usize) -> Option<Place> {
        let place = Place(Arc::clone(self));
        (self.waiting.fetch_add(1, Ordering::Relaxed) < most).then_some(place)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        *self.0.is_taken.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.0.freed.notify_one();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}
