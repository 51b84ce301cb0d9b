//! A queue pair of the card that is attacked: what its peer knows of it, and how far its requests have come.

use stroma_abi::Psn;
use stroma_sim::model::{Addresses, Path};
use stroma_verbs::QueuePairState;

use super::arena::Window;

/// A message that has begun and not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// A SEND, of which so many bytes have come.
    Send { received: usize },
    /// A WRITE that goes on here, for so many bytes more.
    Write { address: u64, key: u32, left: u32 },
}

/// A request of the card's own that nobody has answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    /// PSN of its first packet.
    pub psn: Psn,
    /// Its bytes.
    pub length: u32,
}

/// A queue pair.
#[derive(Clone, Debug)]
pub(crate) struct Victim {
    /// Its number.
    pub number: u32,
    /// From the attacker to it.
    pub path: Path,
    /// Bytes of a full packet.
    pub mtu: u32,
    /// Its `P_Key`.
    pub partition: u16,
    /// What its peer may do.
    pub rights: u8,
    /// Its state.
    pub state: QueuePairState,
    /// What its peer may reach.
    pub open: Window,
    /// First byte of its slot.
    pub slot: usize,
    /// PSN of the next request.
    pub expected: Psn,
    /// The message under way.
    pub message: Option<Message>,
    /// The peer was told to send again from the expected PSN.
    pub told: bool,
    /// The last request that was thrown away since.
    pub last_early: Psn,
    /// Receives posted and not taken.
    pub receives: usize,
    /// Its own request.
    pub asked: Option<Asked>,
    /// Its request has been answered, somehow: nothing is known of it any more.
    pub spent: bool,
}

impl Victim {
    /// Both ends of the wire, when a frame comes from its peer.
    pub(crate) fn addresses(&self) -> Addresses {
        self.path.addresses
    }

    /// Does it know who its peer is?
    pub(crate) fn has_peer(&self) -> bool {
        !matches!(self.state, QueuePairState::Reset | QueuePairState::Init)
    }

    /// Does it take requests?
    pub(crate) fn takes_requests(&self) -> bool {
        use QueuePairState::{Drained, ReadyToReceive, ReadyToSend};
        matches!(self.state, ReadyToReceive | ReadyToSend | Drained)
    }

    /// Does it take answers?
    pub(crate) fn takes_answers(&self) -> bool {
        matches!(self.state, QueuePairState::ReadyToSend | QueuePairState::Drained)
    }
}
