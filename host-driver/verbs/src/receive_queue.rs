//! Receive queues: a ring of buffers that messages fill, of one queue pair or shared by many.

use std::sync::{Arc, Mutex, MutexGuard};

use stroma_abi::desc::{Receive, ReceiveHead, Sge, SgeList};
use stroma_device::{DmaMemory, barrier};

use crate::{DoorbellPage, Error, Result, lock};

/// Whose the ring is, for doorbells and for messages to people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    QueuePair(u32),
    Shared(u32),
}

/// What the queue's owner and completion queues share.
#[derive(Debug)]
pub(crate) struct ReceiveQueue {
    owner: Owner,
    /// Most pieces of one receive.
    pieces: usize,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    /// Index behind the last entry.
    producer: u16,
    /// Each entry that is posted and not completed, by slot. Those of a shared queue complete in any order.
    posted: Vec<Option<Posted>>,
    memory: Arc<DmaMemory>,
    stride: usize,
}

/// A receive that waits for its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Posted {
    pub(crate) wr_id: u64,
    /// Address of its first piece, if it has one.
    pub(crate) buffer: Option<u64>,
}

/// Buffers to be posted together.
///
/// Nothing is posted before [`post`](Self::post), and then either all of it or nothing. A mistake on the way is told
/// there.
#[derive(Debug)]
#[must_use = "nothing is posted before `post`"]
pub struct ReceiveBatch<'a> {
    queue: &'a ReceiveQueue,
    page: &'a DoorbellPage,
    receives: Vec<(u64, Receive)>,
    failed: Option<Error>,
}

impl<'a> ReceiveBatch<'a> {
    pub(crate) fn new(queue: &'a ReceiveQueue, page: &'a DoorbellPage) -> Self {
        Self { queue, page, receives: Vec::new(), failed: None }
    }

    /// The next message fills `pieces`, one behind the other, and completes with this number.
    pub fn receive(mut self, wr_id: u64, pieces: &[Sge]) -> Self {
        let (position, count, max) = (self.receives.len(), pieces.len(), self.queue.pieces);
        match SgeList::new(pieces).filter(|_| count <= max) {
            Some(list) => self.receives.push((wr_id, Receive(list))),
            None => self.failed = self.failed.or(Some(Error::TooManyPieces { position, count, max })),
        }
        self
    }

    /// Posts the buffers: writes them to the receive queue and tells the card.
    ///
    /// # Errors
    /// [`Error::TooManyPieces`], [`Error::ReceiveQueueFull`]: nothing was posted. When the card cannot be reached, it may have been.
    pub fn post(self) -> Result<()> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        if self.receives.is_empty() {
            return Ok(());
        }
        self.queue.post(&self.receives, self.page)
    }
}

impl ReceiveQueue {
    /// A ring of `1 << log` entries in `memory`, each for up to `pieces` pieces.
    pub(crate) fn new(owner: Owner, log: u8, pieces: usize, memory: Arc<DmaMemory>) -> Arc<Self> {
        let inner = Inner { producer: 0, posted: vec![None; 1 << log], memory, stride: stride(pieces) };
        Arc::new(Self { owner, pieces, inner: Mutex::new(inner) })
    }

    /// The queue stays as it is while this is held.
    pub(crate) fn hold(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }

    pub(crate) fn is_shared(&self) -> bool {
        matches!(self.owner, Owner::Shared(_))
    }

    /// Frees the entry `index`; `None` when there is no such.
    pub(crate) fn complete(&self, index: u16) -> Option<Posted> {
        let mut inner = self.hold();
        let slot = inner.slot(index);
        inner.posted[slot].take()
    }

    fn post(&self, receives: &[(u64, Receive)], page: &DoorbellPage) -> Result<()> {
        let mut inner = self.hold();
        let room = inner.room(receives.len());
        if room < receives.len() {
            let (wanted, size) = (receives.len(), inner.posted.len());
            return Err(Error::ReceiveQueueFull { queue: self.owner.to_string(), wanted, room, size });
        }
        for (wr_id, receive) in receives {
            inner.write(*wr_id, receive)?;
        }
        barrier::to_device();
        // Told while the queue is held, so that the card is told in the order of the ring.
        match self.owner {
            Owner::QueuePair(number) => page.receive(number, inner.producer),
            Owner::Shared(number) => page.shared_receive(number, inner.producer),
        }
    }
}

impl Inner {
    fn slot(&self, index: u16) -> usize {
        usize::from(index) % self.posted.len()
    }

    /// Free entries behind the last one, up to `wanted`: a ring is filled in its order.
    fn room(&self, wanted: usize) -> usize {
        let first = self.slot(self.producer);
        let slots = (0..self.posted.len()).map(|place| (first + place) % self.posted.len());
        slots.take(wanted).take_while(|slot| self.posted[*slot].is_none()).count()
    }

    fn write(&mut self, wr_id: u64, receive: &Receive) -> Result<()> {
        let slot = self.slot(self.producer);
        let mut entry = vec![0; receive.encoded_len()];
        receive.encode(&mut entry);
        self.memory.write(slot * self.stride, &entry)?;
        let buffer = receive.0.as_slice().first().map(|piece| piece.address);
        self.posted[slot] = Some(Posted { wr_id, buffer });
        self.producer = self.producer.wrapping_add(1);
        Ok(())
    }

    /// After a reset of the queue pair: its indices begin anew.
    pub(crate) fn restart(&mut self) {
        self.producer = 0;
        self.posted.fill(None);
    }

    pub(crate) fn size(&self) -> usize {
        self.posted.len()
    }
}

/// log2 of the bytes of an entry with so many pieces, in units of its head.
pub(crate) fn stride_code(pieces: usize) -> u8 {
    u8::try_from(Receive::stride_log(pieces)).expect("the logarithm of a number of 64 bits")
}

/// Bytes of an entry with so many pieces.
pub(crate) fn stride(pieces: usize) -> usize {
    ReceiveHead::LEN << stride_code(pieces)
}

impl std::fmt::Display for Owner {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::QueuePair(number) => write!(out, "queue pair {number}"),
            Self::Shared(number) => write!(out, "shared receive queue {number}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue() -> Arc<ReceiveQueue> {
        let memory = Arc::new(DmaMemory::allocate(4096, None).unwrap());
        ReceiveQueue::new(Owner::Shared(3), 4, 2, memory)
    }

    fn fill(queue: &ReceiveQueue, wr_ids: std::ops::Range<u64>) {
        let receive = Receive(SgeList::new(&[]).unwrap());
        let mut inner = queue.hold();
        wr_ids.for_each(|wr_id| inner.write(wr_id, &receive).unwrap());
    }

    #[test]
    fn entries_complete_in_any_order_and_once() {
        let queue = queue();
        let wr_id = |index| queue.complete(index).map(|posted| posted.wr_id);
        fill(&queue, 0..16);
        assert_eq!(queue.hold().room(1), 0);
        assert_eq!((wr_id(5), wr_id(5)), (Some(5), None));
        // The ring goes on with its oldest entry, which is still posted.
        assert_eq!(queue.hold().room(1), 0);
        assert_eq!((wr_id(0), wr_id(1)), (Some(0), Some(1)));
        assert_eq!(queue.hold().room(9), 2);
        fill(&queue, 16..18);
        assert_eq!((wr_id(16), wr_id(17)), (Some(16), Some(17)));
    }

    #[test]
    fn indices_go_on_behind_the_last_of_sixteen_bits() {
        let queue = queue();
        for round in 0..(1_u64 << 17) / 16 {
            fill(&queue, round * 16..round * 16 + 16);
            for index in round * 16..round * 16 + 16 {
                let index16 = u16::try_from(index % (1 << 16)).unwrap();
                assert_eq!(queue.complete(index16).map(|posted| posted.wr_id), Some(index));
            }
        }
    }

    #[test]
    fn an_entry_has_room_for_its_pieces() {
        assert_eq!([stride(1), stride(2), stride(3), stride(4), stride(16)], [32, 64, 64, 128, 512]);
    }
}
