//! Extended verbs: kernels of the peer are called like functions, and their answers have types.
//!
//! ```text
//!   Caller ── QueuePair ──── RPC ─────▶ card of the peer: its kernels
//!     │                      answer, status
//!     └────── QueuePair ──── SEND ────▶ Service: the same kernels in plain Rust, in the peer's driver
//!                            SEND
//! ```
//!
//! A [`Caller`] posts requests that know what their answers mean ([`Call`]), and gives a [`Pending`] for each:
//!
//! ```no_run
//! use stroma_abi::kernel::traversal::Traversal;
//! use stroma_rpc::{Caller, Result, Shape};
//! use stroma_verbs::QueuePair;
//!
//! /// Looks for two keys at once in the list that begins at `root` in the peer's memory.
//! fn find(queue_pair: QueuePair, root: u64, key: u32) -> Result<[Option<Vec<u8>>; 2]> {
//!     let caller = Caller::new(queue_pair, Shape::default())?;
//!     let list = Traversal {
//!         root, mask: u64::MAX, hop_limit: 1000, key_words: 1, element_words: 3, next_at: 1, value_at: 2,
//!         value_length: 64, ..Traversal::default()
//!     };
//!     let one = caller.post_rpc(Traversal { sought: 100, ..list }, key)?;
//!     let other = caller.post_rpc(Traversal { sought: 107, ..list }, key)?;
//!     Ok([caller.wait(one)?, caller.wait(other)?])
//! }
//! ```
//!
//! # When the card lacks a kernel
//!
//! A card answers [`UnknownOperation`](stroma_abi::wire::RpcStatus::UnknownOperation), and nothing ran. A caller
//! [with a service](Caller::with_service) then sends the same request to the peer's driver, and the same [`Pending`] has its
//! answer:
//!
//! ```no_run
//! # use std::sync::Arc;
//! # use stroma_rpc::{Caller, Result, Route, Service, Shape};
//! # use stroma_verbs::{MemoryRegion, QueuePair};
//! // At the peer, in any thread that it likes:
//! fn serve(queue_pair: QueuePair, memory: Arc<MemoryRegion>) -> Result<()> {
//!     let mut service = Service::new(queue_pair, Shape::default())?.with_region(memory);
//!     loop {
//!         service.poll()?;
//!     }
//! }
//!
//! // Here:
//! fn caller(queue_pair: QueuePair, second: QueuePair) -> Result<Caller> {
//!     Caller::new(queue_pair, Shape::default())?.with_service(second, Route::CardFirst)
//! }
//! ```
//!
//! # Kernels of one's own card
//!
//! A caller [with its own card](Caller::with_own_card) has [`post_rpc_local`](Caller::post_rpc_local), too: the same kernels and
//! answers, on memory of this host. Its connection joins two queue pairs of the card; frames between them do not leave it.
//! [`post_rpc_onward`](Caller::post_rpc_onward) puts such a kernel on the sending side: what it answers goes on to the peer's memory.
//!
//! # What holds
//!
//! 1. A request runs at most once: on the card by the protocol of RPCs, in software because a reliable connection delivers a message once,
//!    and never on both, because the service is asked only when nothing ran.
//! 2. A room is given to another call only when the card is done with it: a [`Pending`] that is dropped leaves its place to the card until then.
//! 3. A service acts on regions that it was given, of its queue pair's domain, with the right
//!    [`RPC`](stroma_verbs::Access::RPC), and reads and writes where a READ and a WRITE of its caller could, as the card does. Memory
//!    windows open nothing to it.
//! 4. Whatever bytes come, a service answers or counts them.
//!
//! Kernels in software and on the card do not know of each other: what one of them compares and swaps is whole towards other calls of the same
//! one alone, and each has a sketch of its own. Nothing watches how long a call in software takes.

#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod book;
mod caller;
mod error;
mod kernels;
mod message;
mod pending;
mod queues;
mod regions;
mod service;
mod shape;
mod slots;

pub use book::Onward;
pub use caller::{Caller, Route};
pub use error::{Error, Result};
pub use pending::Pending;
pub use regions::Regions;
pub use service::{Counts, Service};
pub use shape::Shape;
pub use stroma_kernel_client::{Call, Failed};
pub use stroma_kernel_models::{Failure, Invocation, Memory, Outcome};

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, also after a thread has panicked with the lock: what it guards is changed in steps that each leave it whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
