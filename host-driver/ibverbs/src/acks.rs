//! Events that were handed to the program, and those it has acknowledged: an object ends when both are the same.

use std::sync::PoisonError;

use crate::{
    lock,
    sync::{Condvar, Mutex},
};

/// Counts events of an object.
#[derive(Debug, Default)]
pub(crate) struct Acks {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Handed over, and not acknowledged.
    open: u64,
    /// The object ends: nothing of it is handed over any more.
    is_over: bool,
}

impl Acks {
    /// May one more be handed over? Then it is open. `false` when the object ends: who has taken an event of it forgets it.
    pub(crate) fn deliver(&self) -> bool {
        let mut state = lock(&self.state);
        if !state.is_over {
            state.open += 1;
        }
        !state.is_over
    }

    /// So many were acknowledged; more than there are count as all.
    pub(crate) fn acknowledge(&self, count: u64) {
        let mut state = lock(&self.state);
        state.open = state.open.saturating_sub(count);
        self.changed.notify_all();
    }

    /// Waits until all of them are, for the program may be looking at the object in another thread. None is handed over afterwards.
    pub(crate) fn settle(&self) {
        let mut state = lock(&self.state);
        while state.open > 0 {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.is_over = true;
    }
}
