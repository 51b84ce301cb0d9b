//! Safe verbs over a card: the objects of libibverbs, each owned, each usable from every thread.
//!
//! ```text
//!   Device ──┬── ProtectionDomain ──┬── MemoryRegion     memory, and the key that opens it
//!            │                      ├── MemoryWindow       a part of it, for one peer, by request
//!            │                      ├── AddressHandle      a way that datagrams take
//!            │                      ├── SharedReceiveQueue ── ReceiveBatch ── post
//!            │                      └── QueuePair ── Batch, ReceiveBatch ── post
//!            ├── CompletionQueue ◀─────────┘   poll, request_notify
//!            ├── Port ── Membership            who the card is to its peers; a group it belongs to
//!            ├── Neighbours                    ARP, neighbour discovery, echoes, over the raw queue
//!            └── CompletionChannel             sleep until a completion queue has something
//! ```
//!
//! ```
//! # use std::sync::Arc;
//! # use stroma_device::Backend;
//! use stroma_verbs::{Access, Device, Result, WorkCompletion};
//!
//! fn copy(backend: Arc<dyn Backend>) -> Result<Vec<u8>> {
//!     let device = Device::open(backend)?;
//!     let domain = device.protection_domain()?;
//!     let memory = domain.allocate(4096, Access::LOCAL_WRITE)?;
//!     let completions = device.completion_queue(16)?;
//!     let queue_pair = domain.queue_pair(&completions).build()?;
//!     queue_pair.activate()?;
//!
//!     memory.write(0, b"from here")?;
//!     let source = memory.piece(0, 9)?;
//!     queue_pair.start().wr_id(7).signaled().gather(&[source], memory.address(2048)?, memory.lkey()).post()?;
//!
//!     let mut found = [WorkCompletion::default()];
//!     while completions.poll(&mut found)? == 0 {}
//!     let mut copied = vec![0; 9];
//!     memory.read(2048, &mut copied)?;
//!     Ok(copied)
//! }
//! ```
//!
//! # Safety model
//!
//! 1. There is no unsafe code here. Memory that the card can reach is touched through the atomics of
//!    [`DmaMemory`](stroma_device::DmaMemory) alone.
//! 2. Every object holds a share of what it stands on, so nothing can be ended under it: a queue pair keeps its
//!    completion queues and its domain, a region its domain and its memory, and all of them the device.
//! 3. Dropping an object ends it on the card first. The card answers when nothing begun for it is under way any more;
//!    then its memory is unmapped and its number is free. When the card does not answer, memory and number are never
//!    used again: memory is lost, nothing else.
//! 4. Keys and addresses in requests may be wrong. The card checks them against the domain, the bounds and the rights,
//!    and completes the request with a status.
//! 5. Every object is `Send` and `Sync`, as those of libibverbs are. Requests of several threads on one queue pair are
//!    posted one batch at a time.

#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod access;
mod address_handle;
mod async_event;
mod completion_channel;
mod completion_queue;
mod connection;
mod context;
mod controls;
mod datagrams;
mod doorbell;
mod dump;
mod error;
mod events;
#[cfg(feature = "fuzz")]
#[doc(hidden)]
pub mod fuzz;
mod grh;
mod groups;
mod inspection;
mod inventory;
mod iova;
mod kernels;
mod mailbox;
mod memory_region;
mod memory_window;
mod neighbours;
mod numbers;
mod object;
mod port;
mod protection_domain;
mod queue_pair;
mod raw_queue;
mod receive_queue;
#[cfg(feature = "scenarios")]
pub mod scenarios;
mod send_queue;
mod shared_receive_queue;
mod state;
mod sync;
mod way;
mod work_completion;
mod work_request;

pub use access::Access;
pub use address_handle::AddressHandle;
pub use async_event::AsyncEvent;
pub use completion_channel::CompletionChannel;
pub use completion_queue::{CompletionQueue, CompletionQueueBuilder};
pub use connection::Connection;
pub use context::{Device, DeviceBuilder};
pub use datagrams::{Datagrams, OWN_KEY};
pub use doorbell::DoorbellPage;
pub use dump::{Dump, View};
pub use error::{Error, Result};
pub use grh::Grh;
pub use groups::Membership;
pub use kernels::{Kernel, KernelCounters, KernelLimits, kernel_counters_of, kernels_of};
pub use memory_region::{MemoryRegion, RegionBuilder};
pub use memory_window::MemoryWindow;
pub use neighbours::Neighbours;
pub use port::Port;
pub use protection_domain::ProtectionDomain;
pub use queue_pair::{QueuePair, QueuePairBuilder, QueuePairView};
pub use raw_queue::RawQueue;
pub use receive_queue::ReceiveBatch;
pub use shared_receive_queue::SharedReceiveQueue;
pub use state::{Address, Attributes};
pub use stroma_abi::desc::{
    CommandStatus, ObjectKind, Parameters, QueuePairKind, QueuePairState, Sge, Statistics, Status, Verb,
    WorkOp,
};
pub use stroma_abi::wire::deth::GROUP_QP;
pub use stroma_abi::wire::{RpcStatus, RpcTarget};
pub use work_completion::WorkCompletion;
pub use work_request::Batch;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, also after a thread has panicked with the lock: what it guards is changed in steps that each leave it whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
