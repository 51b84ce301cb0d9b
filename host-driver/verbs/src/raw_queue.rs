//! The raw Ethernet queue: frames that are not RoCE, for software to answer.

use crate::{Attributes, QueuePair, QueuePairBuilder, QueuePairKind, Result};

/// Code of the path MTU that raw queue pairs have: their packets are whole frames.
const PATH_MTU: u8 = 5;

/// A queue pair that gets the frames that are well formed, not RoCE, and at most 4096 bytes long, whoever they are
/// addressed to; a SEND puts a frame of 14 to 4096 bytes on the wire as it is. Neither has an FCS.
///
/// Each frame takes a receive, whose completion says how long it is. Without one it is lost, and counted. A receive that is
/// too short ends the queue pair, as it does with SEND. There is one such queue a card: the last that was opened.
/// Dropped, frames are not wanted any more.
#[derive(Debug)]
pub struct RawQueue {
    queue_pair: QueuePair,
}

impl RawQueue {
    /// Makes the queue pair, whatever its kind was to be, leads it to ready-to-send, and has frames sent to it. Nothing is
    /// posted yet.
    ///
    /// # Errors
    /// As [`QueuePairBuilder::build`] and [`QueuePair::modify`].
    pub fn open(builder: QueuePairBuilder) -> Result<Self> {
        let queue_pair = builder.kind(QueuePairKind::Raw).build()?;
        let queue = Self { queue_pair };
        queue.begin()?;
        Ok(queue)
    }

    /// From Reset, where an error may have led to, to ready-to-send again.
    ///
    /// # Errors
    /// As [`QueuePair::modify`].
    pub fn begin(&self) -> Result<()> {
        self.queue_pair.to_init(Attributes::default())?;
        self.queue_pair.to_rtr(Attributes::default().path_mtu(PATH_MTU))?;
        self.queue_pair.to_rts(Attributes::default())?;
        self.queue_pair.device().port().set_raw_queue_pair(Some(self.queue_pair.number()))
    }

    /// Where frames and receives are posted.
    #[must_use]
    pub fn queue_pair(&self) -> &QueuePair {
        &self.queue_pair
    }
}

impl Drop for RawQueue {
    fn drop(&mut self) {
        let port = self.queue_pair.device().port();
        // Another may have been opened since. A card that cannot be reached sends nothing either.
        if port.raw_queue_pair().is_ok_and(|number| number == Some(self.queue_pair.number())) {
            let _ = port.set_raw_queue_pair(None);
        }
    }
}
