//! vfio-user: a PCI function lives in one process, its driver in another, and a Unix socket lies between them.
//!
//! ```text
//!   driver ── Client ── messages and descriptors ── Server ──▶ Function
//!     │                                                           │
//!     └── memory of its own, lent as a descriptor ◀── reads and writes ──┘
//! ```
//!
//! The protocol is QEMU's (`docs/interop/vfio-user.rst`): a [message] is a header and a [body]; the first one
//! settles the [version]. [`Server`] takes one client at a time, believes nothing it says, and has the function forget it when
//! it is gone, however that came about. [`Client`] is the other end.
//!
//! Memory for DMA comes as a descriptor that the server reads and writes like a file, at an offset: shared memory, as a virtual
//! machine has it, or `/proc/self/mem` of an ordinary process, where the offset is an address. Neither needs a privilege, a
//! pinned page or a signal handler: what is no longer there is an error of one call ([`memory`](server::memory)).

#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod body;
pub mod client;
pub mod message;
pub mod server;
pub mod socket;
pub mod version;

mod sync;

pub use client::Client;
pub use rustix::io::Errno;
pub use server::{Function, Server};
