//! Interrupts that are to be told, and the thread that tells them.

use std::sync::{Arc, PoisonError};

use crate::sync::{Condvar, Mutex, MutexGuard};

/// Of `N` interrupts, each with a bell of type `B` or none.
pub(crate) struct Rings<B, const N: usize> {
    state: Mutex<State<B, N>>,
    changed: Condvar,
}

struct State<B, const N: usize> {
    bells: [Option<Arc<B>>; N],
    /// Interrupts that are to be told; one that nobody is connected to waits until somebody is.
    rung: [u64; N],
    /// Where the thread is writing.
    writing: Option<Arc<B>>,
    is_over: bool,
}

impl<B, const N: usize> Default for Rings<B, N> {
    fn default() -> Self {
        let state = State { bells: [const { None }; N], rung: [0; N], writing: None, is_over: false };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }
}

impl<B, const N: usize> Rings<B, N> {
    fn state(&self) -> MutexGuard<'_, State<B, N>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Connects interrupts from `start` on, each to its bell or to none; `false` when there are not as many.
    pub(crate) fn connect(&self, start: usize, bells: Vec<Option<B>>) -> bool {
        let mut state = self.state();
        let Some(places) = state.bells.get_mut(start..start + bells.len()) else { return false };
        for (place, bell) in places.iter_mut().zip(bells) {
            *place = bell.map(Arc::new);
        }
        self.changed.notify_one();
        true
    }

    /// Has an interrupt told, now or when somebody is connected to it.
    pub(crate) fn ring(&self, vector: usize) {
        let state = &mut *self.state();
        if let (Some(rung), Some(bell)) = (state.rung.get_mut(vector), state.bells.get(vector)) {
            // Those that nobody heard are told as one.
            *rung = if bell.is_some() { *rung + 1 } else { 1 };
            self.changed.notify_one();
        }
    }

    /// Forgets what was not told yet.
    pub(crate) fn forget(&self) {
        self.state().rung = [0; N];
    }

    /// Lets the thread end; where it is writing, for it may wait there.
    pub(crate) fn end(&self) -> Option<Arc<B>> {
        let mut state = self.state();
        state.is_over = true;
        self.changed.notify_one();
        state.writing.take()
    }

    /// Where the thread is writing.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn writing(&self) -> Option<Arc<B>> {
        self.state().writing.clone()
    }

    /// Has `write` tell what was rung, each vector in its turn, until it is over. It may wait for as long as it likes: nobody else does.
    pub(crate) fn run(&self, write: impl Fn(&B, u64)) {
        let mut state = self.state();
        let mut turn = 0;
        while !state.is_over {
            let is_due = |vector: &usize| state.rung[*vector] > 0 && state.bells[*vector].is_some();
            let Some(vector) = (turn..N).chain(0..turn).find(is_due) else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            turn = vector + 1;
            let count = std::mem::take(&mut state.rung[vector]);
            let bell = state.bells[vector].clone();
            state.writing.clone_from(&bell);
            drop(state);
            if let Some(bell) = bell {
                write(&bell, count);
            }
            state = self.state();
            state.writing = None;
        }
    }
}
