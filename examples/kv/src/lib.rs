//! A key-value store over two cards: a server's memory, and clients that reach it by kernels, by plain READs, or by messages.
//!
//! ```text
//!   clients ── Client ── Line ── QueuePair ═══ cable ═══ card of the server ── Store: one region, laid out once
//!      │                            │                      get · prism · consistency        │
//!      └ Recorder ── check          └ Inbox ── run       Server: one core, for messages ────┘
//! ```
//!
//! [`layout`] draws the memory. [`client`] has the three ways, and what may be mixed; `client/kernels.rs` tells why changes by kernels need no lock.
//! [`history`] takes down what clients saw, and judges whether it can be explained by a plain map.
//!
//! # What holds
//!
//! 1. An operation that succeeds was carried out once, at one moment between its invocation and its return, whatever the wire loses, doubles or
//!    reorders: RPCs, atomics and WRITEs of a reliable connection are. `tests/kv.rs` holds histories on bad wires against that.
//! 2. An object is whole before an entry points to it, and stays as it is until the store is [swept](Store::sweep). A GET that meets a replacement
//!    has the old value or the new one. What is torn all the same, by a broken host or a sweep at the wrong time, is told by its CRC:
//!    [`Error::Torn`], or the value once the card's `consistency` finds it whole.
//! 3. A key is in its bucket once. Changes that lose a race are tried again, 64 times at most: [`Error::Contended`].
//! 4. Buffers of replaced and deleted values are free again after a sweep, not before: [`Error::OutOfSpace`].
//!
//! It is assumed that the host's memory takes an aligned write of 16 bytes, and gives an aligned read of 64, in one piece. PCIe does not promise that;
//! hosts with cache lines of 64 bytes do it, and the simulated one does.

#![forbid(unsafe_code)]

mod bucket;
pub mod client;
mod error;
#[cfg(test)]
mod fake;
pub mod flawed;
pub mod history;
pub mod layout;
mod line;
pub mod message;
pub mod mix;
mod object;
mod reach;
pub mod rig;
mod server;
mod store;
mod turns;

pub use client::{Client, Map, Way};
pub use error::{Error, Result};
pub use layout::{Directory, Layout};
pub use line::{Line, ROOM};
pub use reach::Reach;
pub use server::{DESK, Server};
pub use store::{Memory, Store};
pub use turns::{Clock, Inbox, Task, Time, run};
