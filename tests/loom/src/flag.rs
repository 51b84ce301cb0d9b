//! In place of the descriptor that programs wait at.

use crate::failure::Outcome;
use crate::lock;
use crate::sync::{Condvar, Mutex};

/// Raised, or not.
#[derive(Debug, Default)]
pub(crate) struct Flag {
    is_raised: Mutex<bool>,
    changed: Condvar,
}

impl Flag {
    pub(crate) fn raise(&self) {
        *lock(&self.is_raised) = true;
        self.changed.notify_all();
    }

    pub(crate) fn lower(&self) {
        *lock(&self.is_raised) = false;
    }

    pub(crate) fn wait(&self) -> Outcome<()> {
        let mut is_raised = lock(&self.is_raised);
        while !*is_raised {
            is_raised = self.changed.wait(is_raised).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        *is_raised = false;
        Ok(())
    }

    /// Would a program that polls the descriptor be told that there is something?
    pub(crate) fn is_raised(&self) -> bool {
        *lock(&self.is_raised)
    }
}
