//! Locks that try all orders.

use std::sync::{LockResult, OnceLock};
use std::time::Duration;

pub(crate) use loom::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};
pub(crate) use loom::sync::{Arc, MutexGuard, RwLockReadGuard, RwLockWriteGuard};
pub(crate) use loom::thread;

/// A lock of loom's belongs to a run of a model, and cannot be made by a constant; so it is made when it is first taken.
#[derive(Debug)]
struct Late<T, L> {
    value: std::sync::Mutex<Option<T>>,
    lock: OnceLock<L>,
}

impl<T, L> Late<T, L> {
    const fn new(value: T) -> Self {
        Self { value: std::sync::Mutex::new(Some(value)), lock: OnceLock::new() }
    }

    fn lock(&self, make: impl FnOnce(T) -> L) -> &L {
        self.lock.get_or_init(|| {
            let value = self.value.lock().ok().and_then(|mut value| value.take());
            make(value.expect("it is made once"))
        })
    }
}

/// As the one of the standard library.
#[derive(Debug)]
pub(crate) struct Mutex<T>(Late<T, loom::sync::Mutex<T>>);

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(Late::new(value))
    }

    pub(crate) fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        self.0.lock(loom::sync::Mutex::new).lock()
    }

    pub(crate) fn into_inner(self) -> LockResult<T> {
        // Of loom's type from here on, if it was not before.
        self.0.lock(loom::sync::Mutex::new);
        self.0.lock.into_inner().expect("it was made").into_inner()
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

/// As the one of the standard library.
#[derive(Debug)]
pub(crate) struct RwLock<T>(Late<T, loom::sync::RwLock<T>>);

impl<T> RwLock<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(Late::new(value))
    }

    pub(crate) fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        self.0.lock(loom::sync::RwLock::new).read()
    }

    pub(crate) fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        self.0.lock(loom::sync::RwLock::new).write()
    }
}

/// As the one of the standard library, but that no time passes: nobody gives up.
#[derive(Debug, Default)]
pub(crate) struct Condvar(loom::sync::Condvar);

impl Condvar {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn notify_one(&self) {
        self.0.notify_one();
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }

    pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        self.0.wait(guard)
    }

    pub(crate) fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        _patience: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, ())> {
        Ok((self.0.wait(guard).unwrap_or_else(std::sync::PoisonError::into_inner), ()))
    }

    pub(crate) fn wait_timeout_while<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        _patience: Duration,
        mut is_waited_for: impl FnMut(&mut T) -> bool,
    ) -> LockResult<(MutexGuard<'a, T>, ())> {
        while is_waited_for(&mut guard) {
            guard = self.0.wait(guard).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        Ok((guard, ()))
    }
}
