//! What crosses PCI Express by DMA: rings of work requests, receives, completions and events, and the command a kernel
//! sees. All of it is little-endian; bits without a name are written as zero and ignored when read.

pub mod address_handle;
pub mod completion_queue;
pub mod cqe;
pub mod eqe;
pub mod mailbox;
pub mod queue_pair;
pub mod receive;
pub mod region;
pub mod request;
pub mod rpc;
pub mod sge;
pub mod shared_queue;
pub mod statistics;
pub mod wqe;

pub use address_handle::AddressHandle;
pub use completion_queue::CompletionQueue;
pub use cqe::{Cqe, Status};
pub use eqe::{Eqe, Event};
pub use mailbox::{Command, CommandStatus, ObjectKind, Reply, Verb};
pub use queue_pair::{QueuePair, QueuePairKind, QueuePairState};
pub use receive::{Receive, ReceiveHead};
pub use region::Region;
pub use request::{Body, Wqe, WqeError};
pub use rpc::{Parameters, SlotCommand};
pub use sge::{Sge, SgeList};
pub use shared_queue::SharedQueue;
pub use statistics::Statistics;
pub use wqe::{AtomicOperands, UdTarget, WindowBind, WorkOp, WqeHead};

/// log2 of what the rings' DMA addresses are multiples of: those of queue pairs, completion queues and events.
pub const RING_ALIGN_LOG: usize = 12;
/// What the rings' DMA addresses are multiples of.
pub const RING_ALIGN: u64 = 1 << RING_ALIGN_LOG;

/// The phase bit of entry number `position` (counted from creation, never wrapped) in a ring of `1 << log`
/// entries. The first lap writes ones over the zeroes the driver left, the next zeroes, and so on, so an entry is
/// new exactly when its bit equals this.
#[must_use]
pub const fn phase(position: u32, log: u32) -> bool {
    position >> log & 1 == 0
}

#[cfg(test)]
mod tests {
    use super::phase;

    #[test]
    fn the_phase_flips_with_every_lap_and_begins_with_one() {
        assert!((0..8).all(|position| phase(position, 3)));
        assert!((8..16).all(|position| !phase(position, 3)));
        assert!(phase(16, 3));
    }
}
