//! Why a received frame changed nothing.

use stroma_abi::Qpn;
use stroma_abi::wire::Reject;

/// Why a frame was dropped without an answer. On a wire that loses and repeats, all but a few are everyday events;
/// a test on a perfect wire may demand that there are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Dropped {
    /// It is no sound RoCE v2 frame.
    #[error("no RoCE v2 frame: {0}")]
    Frame(Reject),
    /// No queue pair has this number.
    #[error("no queue pair has number {number}")]
    QueuePair {
        /// The number.
        number: Qpn,
    },
    /// It came from or went to an address that is not the connection's.
    #[error("the frame is not from the peer")]
    Peer,
    /// It is for another station, address or group.
    #[error("the datagram is for another station or group")]
    Elsewhere,
    /// Its `Q_Key` is not the queue pair's.
    #[error("the key is {found:#x}, not {wanted:#x}")]
    Key {
        /// In the datagram.
        found: u32,
        /// Of the queue pair.
        wanted: u32,
    },
    /// A datagram for which there is no receive, or whose receive is too short.
    #[error("a datagram of {bytes} bytes, and no receive for it")]
    NoReceive {
        /// Its bytes, with those in front of the payload.
        bytes: u64,
    },
    /// Its `P_Key` is not the connection's.
    #[error("the partition is {found:#x}, not {wanted:#x}")]
    Partition {
        /// In the frame.
        found: u16,
        /// Of the queue pair.
        wanted: u16,
    },
    /// The op-code belongs to another service.
    #[error("{opcode} is not of this kind of connection")]
    Service {
        /// Name of the op-code.
        opcode: &'static str,
    },
    /// The queue pair is in error.
    #[error("the queue pair is in error")]
    Failed,
    /// One more request behind a gap that was reported already.
    #[error("a request behind a gap that was reported before")]
    Gap,
    /// A packet of an unreliable connection that has no place, or of which nothing can come.
    #[error("a packet of a message that is not whole")]
    Broken,
    /// A repeated request that is not a part of a request executed before.
    #[error("a repeated request that matches none")]
    Repeated,
    /// An answer to what was answered before.
    #[error("an answer to what was answered before")]
    Stale,
    /// An answer to what was never asked.
    #[error("an answer to what was never asked")]
    Unasked,
    /// An acknowledgement with a meaning that no request spoken here has.
    #[error("syndrome {syndrome:#04x} has no meaning here")]
    Syndrome {
        /// Its eight bits.
        syndrome: u8,
    },
}
