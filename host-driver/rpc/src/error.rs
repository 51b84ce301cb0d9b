//! What can go wrong, with the operation and its values.

use std::time::Duration;

use stroma_kernel_client::Failed;
use stroma_verbs::Status;

/// The crate's result.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// What happened below: queues, memory, the card.
    #[error(transparent)]
    Verbs(#[from] stroma_verbs::Error),
    /// The kernel ran, or was refused, and there is no answer of the kind that was asked for.
    #[error(transparent)]
    Failed(#[from] Failed),
    /// As many calls are under way, or answered and not taken, as there are places.
    #[error("RPC {operation:#x}: all {places} places are in use until answers are taken or given up")]
    NoRoom {
        /// RPC op-code.
        operation: u16,
        /// How many there are.
        places: usize,
    },
    /// A request that no room holds.
    #[error("RPC {operation:#x}: parameters and payload have {length} bytes, a room has {max}")]
    RequestTooLong {
        /// RPC op-code.
        operation: u16,
        /// Bytes of parameters and payload.
        length: usize,
        /// Bytes that a room has for them.
        max: usize,
    },
    /// An answer that no room holds.
    #[error("RPC {operation:#x}: the answer may have {asked} bytes, a room has {max}")]
    AnswerTooLong {
        /// RPC op-code.
        operation: u16,
        /// Most bytes of the answer.
        asked: u32,
        /// Bytes that a room has for it.
        max: usize,
    },
    /// A stream that the service does not take. The card does.
    #[error(
        "RPC {operation:#x}: parameters, payload and stream have {length} bytes, the service takes {max}"
    )]
    MessageTooLong {
        /// RPC op-code.
        operation: u16,
        /// Bytes of all that would be sent.
        length: u64,
        /// Most that the service takes.
        max: usize,
    },
    /// The request failed on its way, or the queue pair did before it: it ran once or not at all.
    #[error("RPC {operation:#x}: its request ended as {status:?}, vendor code {vendor:#04x}")]
    Completion {
        /// RPC op-code.
        operation: u16,
        /// How the request ended.
        status: Status,
        /// Detail, for people.
        vendor: u8,
    },
    /// A completion that does not tell how the kernel ended: card and driver disagree.
    #[error("RPC {operation:#x}: its completion has no status of a kernel")]
    NoStatus {
        /// RPC op-code.
        operation: u16,
    },
    /// Nothing came in time. The call is given up; whether it runs is not known.
    #[error("RPC {operation:#x}: no answer after {waited:?}")]
    TimedOut {
        /// RPC op-code.
        operation: u16,
        /// Time waited.
        waited: Duration,
    },
    /// The answer was taken before.
    #[error("RPC {operation:#x}: its answer was taken before")]
    Taken {
        /// RPC op-code.
        operation: u16,
    },
    /// A call of another caller.
    #[error("RPC {operation:#x} was posted by another caller")]
    OtherCaller {
        /// RPC op-code.
        operation: u16,
    },
    /// A call of a kernel of this card, by a caller that was not made for it.
    #[error("RPC {operation:#x}: the caller was made without its own card")]
    NoOwnCard {
        /// RPC op-code.
        operation: u16,
    },
    /// The two queue pairs of a caller would not reach the same memory.
    #[error("queue pair {service} for the service is of another domain than queue pair {number}")]
    OtherDomain {
        /// The queue pair for kernels.
        number: u32,
        /// The one for the service.
        service: u32,
    },
    /// A queue in which not all that may be under way has room.
    #[error("{what} {number} has room for {have}, and {need} may be under way")]
    TooSmall {
        /// Which kind of queue.
        what: &'static str,
        /// Its number, or that of its queue pair.
        number: u32,
        /// What it has.
        have: usize,
        /// What it needs.
        need: usize,
    },
    /// The connection of a service has ended.
    #[error(
        "service on queue pair {number}: its connection ended with {status:?}, vendor code {vendor:#04x}"
    )]
    Ended {
        /// The queue pair.
        number: u32,
        /// The first failure.
        status: Status,
        /// Detail, for people.
        vendor: u8,
    },
}
