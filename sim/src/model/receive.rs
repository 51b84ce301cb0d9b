//! Receives: buffers posted for messages that are to come, in the queue of one queue pair or of several.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stroma_abi::Qpn;
use stroma_abi::desc::{SgeList, Status, WorkOp};

/// A buffer for one message. A message fills its pieces one behind the other; one with immediate data alone takes it and
/// leaves it as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receive {
    /// The poster's own number, back in the completion.
    pub id: u64,
    /// Where the message goes, 0 to 16 pieces.
    pub pieces: SgeList,
}

/// What became of a receive. Each one that was taken or flushed has exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// The poster's own number.
    pub id: u64,
    /// How it ended. Without success, the rest is empty.
    pub status: Status,
    /// What the peer posted: `Send`, `SendImm`, `SendInv` or `WriteImm`.
    pub operation: WorkOp,
    /// Bytes of the message: of a WRITE, those that went where the peer said; of a datagram, those in front of it too.
    pub bytes: u32,
    /// Immediate data.
    pub immediate: Option<u32>,
    /// The key that the message ended.
    pub invalidated: Option<u32>,
    /// Does the peer want the receiver to be woken?
    pub solicited: bool,
    /// The queue pair that has sent it, of a datagram.
    pub source: Option<Qpn>,
}

impl Received {
    /// A receive that no message filled.
    #[must_use]
    pub const fn failed(id: u64, status: Status) -> Self {
        let (operation, bytes, immediate, invalidated) = (WorkOp::Send, 0, None, None);
        Self { id, status, operation, bytes, immediate, invalidated, solicited: false, source: None }
    }
}

/// A queue of receives, taken in the order of posting. Clones are the same queue, so queue pairs may share one.
#[derive(Clone, Debug)]
pub struct ReceiveQueue {
    /// Protection domain of its buffers.
    pub domain: u16,
    posted: Arc<Mutex<VecDeque<Receive>>>,
}

impl ReceiveQueue {
    /// An empty queue whose buffers are of this protection domain.
    #[must_use]
    pub fn new(domain: u16) -> Self {
        Self { domain, posted: Arc::default() }
    }

    /// Adds a buffer.
    pub fn post(&self, receive: Receive) {
        self.posted().push_back(receive);
    }

    /// Buffers not yet taken.
    #[must_use]
    pub fn len(&self) -> usize {
        self.posted().len()
    }

    /// Are all taken?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.posted().is_empty()
    }

    pub(super) fn take(&self) -> Option<Receive> {
        self.posted().pop_front()
    }

    /// No change is made in two steps, so a panic elsewhere leaves nothing half done.
    fn posted(&self) -> MutexGuard<'_, VecDeque<Receive>> {
        self.posted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
