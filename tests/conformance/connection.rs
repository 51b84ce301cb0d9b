//! A connection, what its ends have agreed on, and the receives of the far one.

use std::sync::Arc;

use stroma_abi::Psn;
use stroma_tests::pair::Pair;
use stroma_verbs::{Access, QueuePair, QueuePairKind, SharedReceiveQueue};

use crate::operation::Operation;

/// 256 bytes a packet, so that short messages have a First, a Middle and a Last.
const PATH_MTU: u8 = 1;
/// An answer is overdue after 4.096 us << 3: 33 us.
const TIMEOUT: u8 = 3;
/// Requests are repeated so often without any progress.
const RETRY: u8 = 3;
/// The code of 10 us: so long the far end asks for silence when it has no receive.
const SILENCE: u8 = 1;
/// Units of the send queue.
const UNITS: usize = 64;
/// Entries of a shared receive queue.
const SHARED_ENTRIES: usize = 32;

/// What ends agree on, where rows differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    /// Refusals for want of a receive that the near end bears; 7 for any number.
    pub(crate) rnr_retry: u8,
    /// READs and atomics that the far end takes at a time. The near end is not told, and sends up to 16.
    pub(crate) reads_in: u8,
    /// The far end's queue pair lets its peer do atomics.
    pub(crate) may_apply: bool,
    /// The far end takes its receives from a shared queue.
    pub(crate) is_shared: bool,
}

impl Terms {
    pub(crate) const USUAL: Self = Self { rnr_retry: 7, reads_in: 16, may_apply: true, is_shared: false };
}

/// Two queue pairs, and where the far one has its receives.
pub(crate) struct Connection {
    pub(crate) terms: Terms,
    pub(crate) sender: QueuePair,
    receiver: QueuePair,
    shared: Option<Arc<SharedReceiveQueue>>,
}

impl Connection {
    /// A connection whose near end begins with this PSN.
    pub(crate) fn new(pair: &Pair, terms: Terms, psn: u32) -> Self {
        let [near, far] = &pair.ends;
        let shared =
            terms.is_shared.then(|| far.domain.shared_receive_queue(SHARED_ENTRIES, 1).expect("an SRQ"));
        let receiver = shared.as_ref().map(|queue| {
            let builder = far.domain.queue_pair(&far.completions).kind(QueuePairKind::Reliable);
            builder.shared_receive_queue(queue).build().expect("a queue pair")
        });
        let receiver = receiver.unwrap_or_else(|| far.queue_pair(UNITS));
        let sender = near.queue_pair(UNITS);
        pair.join([&sender, &receiver], |end, connection| {
            (connection.path_mtu, connection.timeout, connection.retry) = (PATH_MTU, TIMEOUT, RETRY);
            (connection.rnr_retry, connection.min_rnr) = (terms.rnr_retry, SILENCE);
            if end == 0 {
                connection.send_psn = Psn::new(psn);
            } else {
                (connection.receive_psn, connection.reads_in) = (Psn::new(psn), terms.reads_in);
                if !terms.may_apply {
                    connection.rights = Access::REMOTE_WRITE | Access::REMOTE_READ;
                }
            }
        });
        Self { terms, sender, receiver, shared }
    }

    /// Posts a receive for each operation that takes one, with its index as `wr_id`, of `room` bytes or as many as it needs.
    pub(crate) fn post_receives(&self, pair: &Pair, operations: &[Operation], room: Option<usize>) {
        for (index, operation) in operations.iter().enumerate() {
            if operation.received(index).is_none() {
                continue;
            }
            let room = room.unwrap_or(operation.room());
            let piece = [pair.ends[1].piece(Operation::receive_place(index), room)];
            let list = if room == 0 { &[] } else { &piece[..] };
            let batch = match &self.shared {
                Some(queue) => queue.receives(),
                None => self.receiver.receives().expect("a connected queue pair"),
            };
            batch.receive(index as u64, list).post().expect("room for a few");
        }
    }
}
