//! The golden endpoint: connections and datagrams in plain Rust, the card's peer and judge in randomised tests.
//!
//! It is written from the IBTA specification and from recorded Soft-RoCE traffic, and shares nothing with the RTL but the
//! layouts of `stroma-abi`. It aims to be right, not fast: one packet at a time, no state that is not needed.
//!
//! ```text
//!   post ─> Requester ─┐                       ┌─> Responder ─> Memory
//!                      ├─> Endpoint <─ frames ─┤
//!   poll <─ Requester <┘   (ports, QPs, path)  ├─> Receives ─> poll
//!                                              └─> CNPs counted
//! ```
//!
//! Spoken is all of a reliable connection: SEND and WRITE with and without immediate data, SEND that ends the key of a memory
//! window, READ, `CMP_SWAP`, `FETCH_ADD`, receives of one queue pair or of several, RNR NAKs; and the local work of binding
//! windows and ending their keys; SEND and WRITE of an unreliable connection; datagrams. Kernels are called as docs/wire.md has it. An operation to come is one more row in each of two matches: [`Responder`] names what a
//! request's op-code does, `job.rs` what packets an operation has.

mod completion;
mod datagram;
mod datagrams;
mod dropped;
mod endpoint;
mod job;
mod kernels;
mod list;
mod memory;
mod packet;
mod path;
mod queue_pair;
mod receive;
mod requester;
mod responder;
mod settings;
#[cfg(test)]
mod tests;
mod work;

pub use completion::Completion;
pub use datagram::{Datagram, DatagramSettings};
pub use datagrams::Datagrams;
pub use dropped::Dropped;
pub use endpoint::Endpoint;
pub use kernels::{Kernel, Kernels, Reach};
pub use memory::{Access, Denied, Memory, Region, Window};
pub use packet::Packet;
pub use path::{Addresses, Path};
pub use queue_pair::QueuePair;
pub use receive::{Receive, ReceiveQueue, Received};
pub use requester::Requester;
pub use responder::Responder;
pub use settings::Settings;
pub use work::{Operation, Work};
