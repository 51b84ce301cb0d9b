//! libibverbs for programs that know nothing of Stroma: they are started with this library in place of theirs, and find cards.
//!
//! ```text
//!   program ── ibv_* ──▶ shells (handle) ──▶ objects of this crate ──▶ stroma-verbs ──▶ card
//!                              ▲                                          │
//!          descriptors (outbox)└──── two threads a card (card) ◀── events ┘
//! ```
//!
//! The types are those of `rdma-sys`. `cargo xtask install` makes `libibverbs.so.1` of it, with the versions of symbols that
//! `versions.map` gives; `stroma exec` starts programs with it.
//!
//! # What holds
//!
//! 1. A pointer that a program gives is looked up before it is followed: one that is none of ours, or was destroyed, is answered with `EINVAL`.
//! 2. What others stand on is not destroyed under them: `EBUSY`.
//! 3. What cards do not have is answered with `EOPNOTSUPP`.
//! 4. All calls may be made from all threads, as libibverbs has it. A child of the process must not use a card of its parent.
//! 5. `STROMA_DEBUG` set to anything makes calls that fail say why.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod absent;
mod acks;
mod address;
mod attributes;
mod builder;
mod card;
mod chains;
mod channel;
mod context;
mod device;
mod domain;
mod extended;
mod failure;
mod flag;
mod handle;
mod kernels;
mod lists;
mod manager;
mod maps;
mod names;
mod outbox;
mod pair;
mod places;
mod poll;
mod post;
mod query;
mod queue;
mod region;
mod shared;
mod sync;
mod told;
mod window;
mod work;

pub use absent::*;
pub use address::*;
pub use chains::*;
pub use channel::*;
pub use context::*;
pub use device::*;
pub use domain::*;
pub use kernels::*;
pub use manager::*;
pub use names::*;
pub use pair::*;
pub use query::*;
pub use queue::*;
pub use region::*;
pub use shared::*;

use std::sync::{MutexGuard, PoisonError};

use crate::sync::Mutex;

/// Locks, also after a thread has panicked with the lock: what it guards is changed in steps that each leave it whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
