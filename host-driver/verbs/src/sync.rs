//! Locks. `tests/loom` compiles the files that take them from here once more, with locks that try all orders of their threads.

pub(crate) use std::sync::{Mutex, MutexGuard};
