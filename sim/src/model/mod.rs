//! The golden endpoint: a reliable connection in plain Rust, the card's peer and judge in randomised tests.
//!
//! It is written from the IBTA specification and from recorded Soft-RoCE traffic, and shares nothing with the RTL but the
//! layouts of `stroma-abi`. It aims to be right, not fast: one packet at a time, no state that is not needed.
//!
//! ```text
//!   post ─> Requester ─┐                       ┌─> Responder ─> Memory
//!                      ├─> Endpoint <─ frames ─┤
//!   poll <─ Requester <┘   (ports, QPs, path)  └─> CNPs counted
//! ```
//!
//! Spoken so far: WRITE and READ. An operation to come is one more row in each of two matches:
//! [`Responder`] names what a request's op-code does, [`Requester`] what packets an operation has.

mod completion;
mod dropped;
mod endpoint;
mod memory;
mod packet;
mod path;
mod queue_pair;
mod reads;
mod requester;
mod responder;
mod settings;
#[cfg(test)]
mod tests;
mod work;

pub use completion::Completion;
pub use dropped::Dropped;
pub use endpoint::Endpoint;
pub use memory::{Access, Denied, Memory, Region};
pub use packet::Packet;
pub use path::{Addresses, Path};
pub use queue_pair::QueuePair;
pub use requester::Requester;
pub use responder::Responder;
pub use settings::Settings;
pub use work::{Operation, Work};
