//! Events that belong to no completion queue.

use stroma_abi::desc::{Eqe, Event, Status};

/// What happened on the card, completions apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AsyncEvent {
    /// A completion queue was full when a completion came. Its queue pairs are in error.
    CqOverflow {
        /// The completion queue.
        completion_queue: u32,
    },
    /// A queue pair went into error without a request to tell it.
    QueuePairError {
        /// The queue pair.
        queue_pair: u32,
        /// Why; `None` for a code this driver does not know.
        status: Option<Status>,
    },
    /// A shared receive queue fell below the limit it was armed with.
    SrqLimit {
        /// The shared receive queue.
        shared_receive_queue: u32,
    },
    /// A queue pair in error has completed the last receive it took from a shared receive queue.
    LastReceive {
        /// The queue pair.
        queue_pair: u32,
    },
    /// The first request of its peer has come to a queue pair that is not ready to send yet.
    CommunicationUp {
        /// The queue pair.
        queue_pair: u32,
    },
    /// A queue pair in Drained has completed all requests that it had begun, as it was asked to tell.
    SendQueueDrained {
        /// The queue pair.
        queue_pair: u32,
    },
    /// The link went up or down.
    Port {
        /// It is up.
        is_up: bool,
    },
    /// A DMA of the card itself failed.
    CardError {
        /// The address.
        address: u64,
    },
    /// Events were lost: any queue may have something new, and has been announced.
    Lost,
    /// An event that this driver does not know or cannot use yet.
    Other {
        /// Its code.
        kind: u8,
        /// The object it is about.
        object: u32,
    },
}

impl AsyncEvent {
    pub(crate) fn new(entry: &Eqe) -> Self {
        match Event::from_code(entry.kind) {
            Some(Event::CqOverflow) => Self::CqOverflow { completion_queue: entry.object },
            Some(Event::QueuePairError) => {
                Self::QueuePairError { queue_pair: entry.object, status: Status::from_code(entry.subkind) }
            }
            Some(Event::SrqLimit) => Self::SrqLimit { shared_receive_queue: entry.object },
            Some(Event::LastReceive) => Self::LastReceive { queue_pair: entry.object },
            Some(Event::CommunicationUp) => Self::CommunicationUp { queue_pair: entry.object },
            Some(Event::SendQueueDrained) => Self::SendQueueDrained { queue_pair: entry.object },
            Some(Event::Port) => Self::Port { is_up: entry.subkind == 1 },
            Some(Event::CardError) => Self::CardError { address: entry.data },
            _ => Self::Other { kind: entry.kind, object: entry.object },
        }
    }
}
