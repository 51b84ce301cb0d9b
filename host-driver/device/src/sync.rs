//! Fences. `tests/loom` compiles the files that take them from here once more, with some that try all orders of their threads.

pub(crate) use std::sync::atomic::{Ordering, fence};
